/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The measuring side of a level: one class with its contexts, and the
 * operations of its threads. Each level fills in the table of functions.
 */
#ifndef PERF_ORIGIN_H
#define PERF_ORIGIN_H

#include "perf/failure.h"
#include "perf/plan.h"

#define PERF_ADDRESS_SIZE 256U
#define PERF_MEMORY_KEY_SIZE 1024U

/* Where a class of the target is, and the serialized handle of its memory. */
struct perf_remote {
    char address[PERF_ADDRESS_SIZE];
    uint32_t key_size; /* 0: it has out of memory */
    char key[PERF_MEMORY_KEY_SIZE];
};

struct perf_caller;

/* One operation, over and over again; part of what the level keeps of it. */
struct perf_op {
    struct perf_origin *origin;
    struct perf_caller *caller; /* who waits for it, or NULL: who progresses */
    struct perf_op *next;       /* that has ended, of the caller's */
    bool failed;                /* this one has */
    uint64_t start_ns;          /* 0: this time is not a sample */
    uint64_t key;               /* of the pattern, another one each time */
    uint32_t slot;              /* among those of the target's class */
    uint32_t context;           /* at both sides */
};

enum perf_poll {
    PERF_POLL_WORK,  /* something was done */
    PERF_POLL_IDLE,  /* nothing came in time */
    PERF_POLL_FAILED /* for good; the failure is set */
};

struct perf_origin_setup {
    const struct perf_plan *plan;
    const char *info;
    const struct perf_remote *remote;
    struct perf_failure *failure;
    uint32_t client; /* which one of all */
};

struct perf_origin_ops {
    /* NULL: the failure is set. */
    struct perf_origin *(*open)(const struct perf_origin_setup *setup);

    /* Before the first operation of a test at a size, when none is under way.
     * false: the failure is set. */
    bool (*prepare)(
        struct perf_origin *origin, enum perf_test test, uint64_t size);

    /* The operation with an index below perf_plan_ops. */
    struct perf_op *(*op)(struct perf_origin *origin, uint32_t index);

    /* Starts an operation; if that fails, ends it by perf_op_fail. In its
     * last callback, perf_op_repeat says whether it starts again. */
    void (*start)(struct perf_op *op);

    /* Progresses a context and runs callbacks. */
    enum perf_poll (*poll)(
        struct perf_origin *origin, uint32_t context, unsigned int timeout_ms);

    /* Asks the operation to end early, if it is under way. */
    void (*cancel)(struct perf_op *op);

    /* NULL is not allowed. */
    void (*close)(struct perf_origin *origin);
};

/* Begins what a level keeps of its origin. */
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

/* Fills in what all levels have, but for the table. */
void perf_origin_init(
    struct perf_origin *origin, const struct perf_origin_setup *setup);

/* Fills in the operation with an index. */
void perf_origin_init_op(
    struct perf_origin *origin, uint32_t index, struct perf_op *op);

/* Sets the failure to a code of the library for an operation, with what it
 * probably means. limit: bytes of a message, 0: not known. */
void perf_origin_explain(struct perf_origin *origin, const char *code,
    bool too_large, uint64_t limit);

/* Memory for what is sent and received, of either side: whole pages that are
 * there already, so that no operation is the first to touch one. Freed by free;
 * NULL: out of memory. */
char *perf_memory_create(uint64_t size);

#endif /* PERF_ORIGIN_H */
