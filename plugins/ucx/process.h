/* SPDX-License-Identifier: BSD-3-Clause */
/* What UCX does to the process as a whole, and what is done about it. */
#ifndef UCX_PROCESS_H
#define UCX_PROCESS_H

#include <stdint.h>

/* A random number of this process. */
uint64_t ucx_process_number(void);

/* Gives signals back that UCX has taken when it was loaded. */
void ucx_process_restore_signals(void);

#endif /* UCX_PROCESS_H */
