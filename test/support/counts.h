/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts and durations of all tests. The first column is for soaking
 * (TALARIA_TEST_SOAK=1), the second for every other run. Durations are in ms.
 */
#ifndef COUNTS_H
#define COUNTS_H

#include <stdint.h>

#define TEST_COUNTS(X)                                                         \
    X(WAIT_MS, 60000, 20000)         /* limit for an expected event */         \
    X(QUIET_MS, 200, 50)             /* time to watch that nothing happens */  \
    X(DEATH_MS, 5000, 5000)          /* limit after the death of a peer */     \
    X(HOST_MODES, 9, 3)              /* modes over transports between hosts */ \
    X(FORWARD_REPEATS, 20000, 2000)  /* calls with one handle */               \
    X(FORWARD_ROUNDS, 100, 10)       /* rounds of 64 calls in flight */        \
    X(PROGRESS_CALLS, 10000, 1000)   /* calls per thread */                    \
    X(EVENT_CALLS, 5000, 500)        /* calls in an external event loop */     \
    X(DRIVEN_CALLS, 1000000, 100000) /* calls to a server's event loop */      \
    X(TRIGGER_CALLS, 2000, 200)      /* calls that another thread triggers */  \
    X(CANCEL_ROUNDS, 1000, 100)      /* cancels racing with answers */         \
    X(COMPOSE_ROUNDS, 1000, 100)     /* calls along chains of processes */     \
    X(COMPOSE_BURST, 2000, 200)      /* calls around a ring, per process */    \
    X(KILL_ROUNDS, 20, 2)            /* peers killed */                        \
    X(RESTARTS, 50, 4)               /* restarts of a server at one port */    \
    X(MEETINGS, 1000, 15)            /* rounds of two peers calling at once */ \
    X(CROWD_TCP_IN_TURN, 30, 3)      /* classes per process, of 10 */          \
    X(CROWD_TCP_AT_ONCE, 30, 30)     /* classes per process, of 10 */          \
    X(CROWD_ALL_AT_ONCE, 30, 5)      /* classes per process, of 10 */          \
    X(CROWD_TCP_APART, 1, 0)         /* classes per process, of 300 */         \
    X(CLOSED_WHILE_CALLED, 2000, 64) /* classes */                             \
    X(SLEEPS, 200000, 20000)         /* messages to a sleeping receiver */     \
    X(KILL_MATRIX_ROUNDS, 28, 3)     /* kills in each situation */             \
    X(NA_MESSAGES, 10000, 1000)      /* messages with one operation */         \
    X(OVERFLOW_MIB, 64, 6)           /* largest arguments and results */       \
    X(TRANSFER_ROUNDS, 1000, 100)    /* random descriptors */                  \
    X(TRANSFER_MAX_MIB, 64, 4)       /* largest transfer */                    \
    X(TRANSFERS_IN_FLIGHT, 64, 32)                                             \
    X(WIRE_MUTATIONS, 2000000, 200000)  /* of a serialized descriptor */       \
    X(TABLE_ROUNDS, 1000000, 100000)    /* uses of transfer ids */             \
    X(QUEUE_ENTRIES, 1000000, 100000)   /* through a completion queue */       \
    X(REGISTRY_IDS, 100000, 10000)      /* registered RPCs */                  \
    X(FAULT_STEPS, 360, 36)             /* operations that fail in turn */     \
    X(SOAK_CALLS_SM, 100000000, 200000) /* calls while peers die */            \
    X(SOAK_CALLS, 10000000, 20000)      /* the same, not over na+sm */         \
    X(FLOOD_CALLS, 100000, 5000)        /* requests, answers unread */         \
    X(FLOOD_LARGE, 2000, 200)           /* unacknowledged answers */           \
    X(FAULT_ALLOCATIONS, 100000, 8)     /* failing, not over na+sm */          \
    X(FAULT_CALLS, 100000, 2)           /* failing system calls per kind */    \
    X(FAULT_CALLS_HOSTS, 100000, 1)     /* the same, not over na+sm */         \
    X(FAULT_KINDS, 1, 8)                /* every nth kind, not over na+sm */   \
    X(ALTERED_CLIENTS, 200, 8)          /* clients with altered messages */    \
    X(SILENT, 5000, 150)                /* connections that stay silent */     \
    X(SILENT_UCX, 900, 150)             /* the same, per port of UCX */

enum test_count {
#define TEST_COUNT_NAME(name, soak, normal) TEST_##name,
    TEST_COUNTS(TEST_COUNT_NAME)
#undef TEST_COUNT_NAME
};

uint32_t test_count(enum test_count count);

/* test_count for peers that need `each` descriptors. Raises the process's limit
 * as far as allowed; returns fewer, and prints that, if it does not suffice. */
uint32_t test_count_open(enum test_count count, uint32_t descriptors);

/* Bytes allocated by this process; 0 with a sanitizer's allocator. */
uint64_t test_heap(void);

#endif /* COUNTS_H */
