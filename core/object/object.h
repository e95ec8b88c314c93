/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a file is a whole shared object for this process, without loading it:
 * the loader maps what the file says it has, and a process that touches what is
 * missing ends by SIGBUS. Stands alone: the conformance kit is built with it.
 */
#ifndef OBJECT_OBJECT_H
#define OBJECT_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

/* false: it is not, and text says why, cut to size bytes: it is for another
 * machine, an executable, or its headers or segments do not lie in it. What they
 * contain is not looked at. [any thread] */
bool object_check(const char *path, char *text, size_t size);

#endif /* OBJECT_OBJECT_H */
