/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Servers and clients in processes of their own, all children of one process
 * that has opened nothing itself, and the memory that they share.
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

/* What a server holds. */
struct service_sample {
    uint64_t heap;     /* bytes allocated */
    uint64_t resident; /* bytes of the process in memory */
    uint64_t descriptors;
    uint64_t active; /* requests that it has not done with */
};

/* One server. */
struct service {
    _Atomic uint32_t generation; /* 0: not there yet; of address */
    char address[256];
    bool lenient; /* requests need not be what was sent */
    _Atomic bool stop;
    _Atomic uint64_t handled;
    _Atomic uint64_t accepted; /* answers and transfers, */
    _Atomic uint64_t called;   /* and their callbacks */
    _Atomic uint64_t failed;   /* that ended in an error */
    _Atomic uint32_t asked;    /* for a sample */
    _Atomic uint32_t answered;
    struct service_sample sample;
};

/* What a caller asks with. */
typedef struct {
    uint32_t seed; /* where in the pattern its bytes begin */
    uint32_t size; /* of the answer */
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
    hg_id_t fetch; /* fetch_t in, int32_t out: what the pull ended with */
};

/* The bytes that all messages are pieces of; the same everywhere. Before any
 * fork. */
void service_pattern_make(void);
extern unsigned char service_pattern[SERVICE_PATTERN];

bool service_register(
    hg_class_t *hg_class, bool serves, struct service_ids *ids_p);

/* Memory that children share with their parent, zeroed. */
void *service_shared(size_t size);

/* Starts body(arg) in a child that ends with this process. */
pid_t service_start(void (*body)(void *arg), void *arg);

/* Waits for a child that is to end by itself, or by signal if that is not 0;
 * fails the test if it does not, or with another status than 0. */
void service_end(pid_t child, int signal);

/* The life of a server: arg is its struct service. */
void service_run(void *service);
extern const char *service_transport;

/* What a server holds once it has come to rest: nothing is under way, and it has
 * no more than so many descriptors; or not, after the longest wait. */
struct service_sample service_measure(
    struct service *service, uint64_t descriptors);

/* Waits until a server of a later generation is there. */
void service_await(struct service *service, uint32_t generation);

/* What it holds now. */
struct service_sample service_sample(struct service *service);

uint64_t service_random(uint64_t *state);

#endif /* SERVICE_H */
