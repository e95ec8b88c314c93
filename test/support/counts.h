/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often and how long: the one place for counts and durations of tests. The
 * first column is the full one, for soaking (TALARIA_TEST_SOAK=1), the second
 * is for everyday.
 */
#ifndef COUNTS_H
#define COUNTS_H

#include <stdint.h>

#define TEST_COUNTS(X)                                                         \
    X(WAIT_MS, 60000, 20000)         /* longest wait for what must come */     \
    X(QUIET_MS, 200, 50)             /* wait for what must not come */         \
    X(DEATH_MS, 5000, 5000)          /* longest wait after a peer's end */     \
    X(HOST_MODES, 9, 3)              /* of transports between hosts */         \
    X(FORWARD_REPEATS, 20000, 2000)  /* calls on one handle */                 \
    X(FORWARD_ROUNDS, 100, 10)       /* of 64 calls in flight */               \
    X(PROGRESS_CALLS, 10000, 1000)   /* of each of several threads */          \
    X(EVENT_CALLS, 5000, 500)        /* through an outside event loop */       \
    X(DRIVEN_CALLS, 1000000, 100000) /* of four clients of an event loop */    \
    X(TRIGGER_CALLS, 2000, 200)      /* that another thread triggers */        \
    X(CANCEL_ROUNDS, 1000, 100)      /* cancels that race with answers */      \
    X(COMPOSE_ROUNDS, 1000, 100)     /* walks along chains of processes */     \
    X(COMPOSE_BURST, 2000, 200)      /* calls around a ring, of each */        \
    X(KILL_ROUNDS, 20, 2)            /* peers killed */                        \
    X(RESTARTS, 50, 4)               /* of a server at its port */             \
    X(MEETINGS, 1000, 15)            /* of two that call each other at once */ \
    X(CROWD_TCP_IN_TURN, 30, 3)      /* classes of each of ten processes */    \
    X(CROWD_TCP_AT_ONCE, 30, 30)     /* likewise */                            \
    X(CROWD_ALL_AT_ONCE, 30, 5)      /* likewise */                            \
    X(CROWD_TCP_APART, 1, 0)         /* of each of 300 processes */            \
    X(SLEEPS, 200000, 20000)         /* of who is woken by a message */        \
    X(KILL_MATRIX_ROUNDS, 28, 3)     /* kills in each situation */             \
    X(NA_MESSAGES, 10000, 1000)      /* through one operation */               \
    X(OVERFLOW_MIB, 64, 6)           /* largest arguments and results */       \
    X(TRANSFER_ROUNDS, 1000, 100)    /* random descriptors */                  \
    X(TRANSFER_MAX_MIB, 64, 4)       /* largest transfer */                    \
    X(TRANSFERS_IN_FLIGHT, 64, 32)                                             \
    X(WIRE_MUTATIONS, 2000000, 200000)  /* of a serialized descriptor */       \
    X(TABLE_ROUNDS, 1000000, 100000)    /* uses of transfer ids */             \
    X(QUEUE_ENTRIES, 1000000, 100000)   /* through a completion queue */       \
    X(REGISTRY_IDS, 100000, 10000)      /* RPCs registered */                  \
    X(FAULT_STEPS, 360, 36)             /* operations failed one by one */     \
    X(SOAK_CALLS_SM, 100000000, 200000) /* among peers that die */             \
    X(SOAK_CALLS, 10000000, 20000)      /* likewise, not over na+sm */         \
    X(FLOOD_CALLS, 100000, 5000)        /* of who reads no answer */           \
    X(FLOOD_LARGE, 2000, 200)           /* answers that nobody acknowledges */ \
    X(FAULT_ALLOCATIONS, 100000, 8)     /* failed in turn, not over na+sm */   \
    X(FAULT_CALLS, 100000, 2)           /* of a kind, failed in turn */        \
    X(FAULT_CALLS_FAR, 100000, 1)       /* likewise, not over na+sm */         \
    X(FAULT_KINDS, 1, 8)                /* each so many, not over na+sm */     \
    X(ALTERED_CLIENTS, 200, 8)          /* whose messages arrive altered */    \
    X(SILENT, 5000, 150)                /* connections that say nothing */     \
    X(SILENT_UCX, 900, 150)             /* likewise, to each port of UCX */

enum test_count {
#define TEST_COUNT_NAME(name, full, everyday) TEST_##name,
    TEST_COUNTS(TEST_COUNT_NAME)
#undef TEST_COUNT_NAME
};

uint32_t test_count(enum test_count count);

/* The same, of what needs so many descriptors each; fewer, which is said, if the
 * process cannot have as many. Lets it have all that it may. */
uint32_t test_count_open(enum test_count count, uint32_t descriptors);

/* Bytes that this process has allocated; 0: a sanitizer's allocator. */
uint64_t test_heap(void);

#endif /* COUNTS_H */
