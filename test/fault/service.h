/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Servers and clients in processes of their own, children of one process that
 * uses no library itself, and the memory that they share.
 */
#ifndef SERVICE_H
#define SERVICE_H

#include "mercury.h"
#include "rpcs.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/wait.h>

#define SERVICE_PEERS 8U /* servers and clients */
#define SERVICE_PATTERN (1U << 21)

/* Resources of a server. */
struct service_sample {
    uint64_t heap;     /* bytes allocated */
    uint64_t resident; /* resident set size in bytes */
    uint64_t descriptors;
    uint64_t active; /* active requests */
};

/* One server. */
struct service {
    _Atomic uint32_t generation; /* 0: not started yet; length of address */
    char address[256];
    bool lenient; /* requests may have been altered in transit */
    _Atomic bool stop;
    _Atomic uint64_t handled;
    _Atomic uint64_t accepted; /* submitted answers and transfers, */
    _Atomic uint64_t called;   /* and callbacks that have run */
    _Atomic uint64_t failed;   /* that failed */
    _Atomic uint32_t asked;    /* requests a sample */
    _Atomic uint32_t answered;
    struct service_sample sample;
};

/* Arguments of a call. */
typedef struct {
    uint32_t seed; /* offset of its bytes in the pattern */
    uint32_t size; /* size of the answer */
    blob_t bytes;
} ask_t;
hg_return_t hg_proc_ask_t(hg_proc_t proc, void *data);

typedef struct {
    uint32_t seed;
    uint32_t size;
    hg_bulk_t bulk;
} fetch_t;
hg_return_t hg_proc_fetch_t(hg_proc_t proc, void *data);

struct service_ids {
    hg_id_t ask;   /* ask_t in, blob_t out */
    hg_id_t fetch; /* fetch_t in, int32_t out: result of the pull */
};

/* Pattern that all payloads are parts of; identical in all processes. Before
 * any fork. */
void service_pattern_make(void);
extern unsigned char service_pattern[SERVICE_PATTERN];

bool service_register(
    hg_class_t *hg_class, bool serves, struct service_ids *ids_p);

/* Zeroed memory that children share with their parent. */
void *service_shared(size_t size);

/* Starts body(arg) in a child that is killed when this process ends. */
pid_t service_start(void (*body)(void *arg), void *arg);

/* Waits for a child to exit with status 0, or to die by signal if that is not
 * 0; fails the test otherwise. */
void service_end(pid_t child, int signal);

/* Main of a server; arg is its struct service. */
void service_run(void *service);
extern const char *service_transport;

/* Resources of a server once it is idle, with at most so many descriptors. At a
 * timeout, the last sample. */
struct service_sample service_measure(
    struct service *service, uint64_t descriptors);

/* Waits for a server of a later generation. */
void service_await(struct service *service, uint32_t generation);

/* Samples its resources now. */
struct service_sample service_sample(struct service *service);

uint64_t service_random(uint64_t *state);

#endif /* SERVICE_H */
