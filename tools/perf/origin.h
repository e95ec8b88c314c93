/* SPDX-License-Identifier: BSD-3-Clause */
/* The measuring side of a level: one class with its contexts, and the
 * operations of its threads. Each level implements perf_origin_ops. */
#ifndef PERF_ORIGIN_H
#define PERF_ORIGIN_H

#include "perf/failure.h"
#include "perf/plan.h"

#define PERF_ADDRESS_SIZE 256U
#define PERF_MEMORY_KEY_SIZE 1024U

/* Address of a class of the target, and its serialized memory handle. */
struct perf_remote {
    char address[PERF_ADDRESS_SIZE];
    uint32_t key_size; /* 0: it has no memory */
    char key[PERF_MEMORY_KEY_SIZE];
};

struct perf_caller;

/* An operation, repeated during a round. The first member of the level's
 * operation. */
struct perf_op {
    struct perf_origin *origin;
    struct perf_caller *caller; /* waits for it; NULL: the loop progresses */
    struct perf_op *next; /* in the caller's list of completed operations */
    bool failed;          /* it has failed */
    uint64_t start_ns;    /* 0: not a sample */
    uint64_t key;         /* of the pattern, different each time */
    uint32_t slot;        /* among those of the target's class */
    uint32_t context;     /* at both sides */
};

enum perf_poll {
    PERF_POLL_WORK,  /* something was done */
    PERF_POLL_IDLE,  /* timeout */
    PERF_POLL_FAILED /* permanently; the failure is set */
};

struct perf_origin_setup {
    const struct perf_plan *plan;
    const char *info;
    const struct perf_remote *remote;
    struct perf_failure *failure;
    uint32_t client; /* index of this client */
};

struct perf_origin_ops {
    /* NULL: the failure is set. */
    struct perf_origin *(*open)(const struct perf_origin_setup *setup);

    /* Called before the first operation of a test at a size, when none is in
     * flight. false: the failure is set. */
    bool (*prepare)(
        struct perf_origin *origin, enum perf_test test, uint64_t size);

    /* Returns the operation at an index below perf_plan_ops. */
    struct perf_op *(*op)(struct perf_origin *origin, uint32_t index);

    /* Starts an operation, or ends it by perf_op_fail. Its last callback starts
     * it again if perf_op_repeat returns true. */
    void (*start)(struct perf_op *op);

    /* Progresses a context and runs callbacks. */
    enum perf_poll (*poll)(
        struct perf_origin *origin, uint32_t context, unsigned int timeout_ms);

    /* Cancels the operation if it is in flight. */
    void (*cancel)(struct perf_op *op);

    /* NULL is not allowed. */
    void (*close)(struct perf_origin *origin);
};

/* The first member of the level's origin. */
struct perf_origin {
    const struct perf_origin_ops *ops;
    const struct perf_plan *plan;
    struct perf_failure *failure;
    uint32_t client;
    enum perf_test test; /* of the last prepare */
    uint64_t size;
    uint64_t stride;
};

extern const struct perf_origin_ops perf_na_origin;
extern const struct perf_origin_ops perf_rpc_origin;
extern const struct perf_origin_ops perf_bulk_origin;

const struct perf_origin_ops *perf_origin_ops(enum perf_level level);

/* Sets the members that all levels have, except ops. */
void perf_origin_init(
    struct perf_origin *origin, const struct perf_origin_setup *setup);

/* Initializes the operation at an index. */
void perf_origin_init_op(
    struct perf_origin *origin, uint32_t index, struct perf_op *op);

/* Sets the failure to the error code of an operation with its likely cause.
 * limit: bytes of a message, 0: not known. */
void perf_origin_explain(struct perf_origin *origin, const char *code,
    bool too_large, uint64_t limit);

/* Allocates memory to send or receive, page-aligned and touched already, so
 * that no operation has page faults. Free it by free. NULL: out of memory. */
char *perf_memory_create(uint64_t size);

#endif /* PERF_ORIGIN_H */
