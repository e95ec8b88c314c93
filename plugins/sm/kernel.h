/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel has for a class: callers, packets, ends of peers. */
#ifndef SM_KERNEL_H
#define SM_KERNEL_H

#include "class.h"

/* Asks the kernel what is new, and acts on it. [progress] */
void sm_kernel_check(na_plugin_class *cls, uint64_t now);

/* How long until sm_kernel_check has something to do by the clock, in
 * nanoseconds; UINT64_MAX: never. [progress] */
uint64_t sm_kernel_sleep(const na_plugin_class *cls);

#endif /* SM_KERNEL_H */
