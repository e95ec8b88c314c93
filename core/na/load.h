/* SPDX-License-Identifier: BSD-3-Clause */
/* How busy the machine is. */
#ifndef NA_LOAD_H
#define NA_LOAD_H

/* Processors that are online, counted once. [any thread] */
long na_load_processors(void);

/* Processors that the calling thread may run on. [any thread] */
long na_load_allowed(void);

/* Threads of the machine that run or could run, this one included; 0: not known.
 * Reads a file of /proc: some microseconds. [any thread] */
long na_load_runnable(void);

#endif /* NA_LOAD_H */
