/* SPDX-License-Identifier: BSD-3-Clause */
/* The observers of calls. */
#include "base/watch.h"

#include <stddef.h>

/* In the file, where tracers find it, and not in .bss. */
__attribute__((section(".probes"))) _Atomic uint16_t base_observers = 0;

_Atomic(const struct base_watch *) base_watch = NULL;
