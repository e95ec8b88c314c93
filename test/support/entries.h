/* SPDX-License-Identifier: BSD-3-Clause */
/* Counting what a process has, by folders of /proc. Needs neither libcheck nor
 * the library: a failure aborts the process. */
#ifndef ENTRIES_H
#define ENTRIES_H

#include <stdint.h>

/* Entries of a folder, which must exist, without "." and "..". */
uint32_t count_entries(const char *path);

/* Open descriptors of this process. */
uint32_t count_descriptors(void);

#endif /* ENTRIES_H */
