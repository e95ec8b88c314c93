/* SPDX-License-Identifier: BSD-3-Clause */
/* Static probes at the stages of a call, for perf, bpftrace, SystemTap and gdb.
 * Provider talaria; arguments: the tag and the cookie of the call, the id of its
 * RPC, a return code. Tracers that attach increment base_observers. Nothing
 * without <sys/sdt.h>. */
#ifndef HG_PROBE_H
#define HG_PROBE_H

#ifdef TALARIA_HAVE_SDT

#include "base/watch.h"

/* NOLINTNEXTLINE(bugprone-reserved-identifier): asks the header for them */
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

/* DTRACE_PROBE4 passes no variable arguments on, of which clang warns. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#if __has_warning("-Wc23-extensions")
#pragma clang diagnostic ignored "-Wc23-extensions"
#endif
#endif

/* All probes share one semaphore. */
#define talaria_forward_semaphore base_observers
#define talaria_answer_semaphore base_observers
#define talaria_forwarded_semaphore base_observers
#define talaria_received_semaphore base_observers
#define talaria_handler_semaphore base_observers
#define talaria_respond_semaphore base_observers
#define talaria_not_responded_semaphore base_observers
#define talaria_dropped_semaphore base_observers
#define talaria_released_semaphore base_observers

#define HG_PROBE(handle, name, ret)                                            \
    DTRACE_PROBE4(talaria, name, (handle)->tag, (handle)->cookie,              \
        (handle)->info.id, (int) (ret))

#else

#define HG_PROBE(handle, name, ret) ((void) 0)

#endif

#endif /* HG_PROBE_H */
