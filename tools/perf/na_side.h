/* SPDX-License-Identifier: BSD-3-Clause */
/* One side of the level na: an NA class, its contexts, and preallocated message
 * buffers. */
#ifndef PERF_NA_SIDE_H
#define PERF_NA_SIDE_H

#include "na.h"
#include "perf/origin.h"

/* The bits of a tag above these are the origin's context. */
#define PERF_NA_TAG_BITS 16U

struct perf_na {
    na_class_t *na_class;
    na_context_t *contexts[PERF_THREADS_MAX];
    size_t unexpected_header; /* bytes before the data of a message */
    size_t expected_header;
    size_t data_max;  /* bytes that fit in both kinds of messages */
    uint32_t at_once; /* callbacks between two polls */
    struct perf_failure *failure;
};

/* A message buffer and its operation. */
struct perf_na_buffer {
    na_op_id_t *op;
    char *start;
    char *data; /* after the header */
    void *plugin_data;
};

enum perf_na_kind { PERF_NA_UNEXPECTED, PERF_NA_EXPECTED };

/* Opens one side for the message sizes of the plan. false: the failure is set,
 * nothing is open. */
bool perf_na_open(struct perf_na *na, const char *info, bool listen,
    const struct perf_plan *plan, struct perf_failure *failure);

/* Allocates memory for put and get as perf_memory_create does, or by
 * talaria_mem_alloc, as the plan says. NULL: out of memory. */
char *perf_na_memory_alloc(
    struct perf_na *na, const struct perf_plan *plan, uint64_t size);

void perf_na_close(struct perf_na *na, const struct perf_plan *plan);

enum perf_poll perf_na_poll(
    struct perf_na *na, uint32_t context, unsigned int timeout_ms);

/* Returns the bytes of data in a message of the plan, or of a command. */
uint64_t perf_na_message_size(const struct perf_plan *plan);

/* Creates a buffer of `size` data bytes to send (NA_SEND) or receive
 * (NA_RECV). */
na_return_t perf_na_buffer_create(struct perf_na *na, enum perf_na_kind kind,
    unsigned long direction, uint64_t size, struct perf_na_buffer *buffer);
void perf_na_buffer_finish(struct perf_na *na, struct perf_na_buffer *buffer);

/* With --verify, commands ask the target to check its memory. They have the
 * sender's byte order; for a target with another one the magic number
 * differs. */
#define PERF_NA_MAGIC UINT32_C(0x74504e41)

struct perf_na_command {
    uint32_t magic;
    uint32_t fill; /* 1: fill the slot with the key, 0: check it */
    uint64_t slot;
    uint64_t size;
    uint64_t key;
};

struct perf_na_reply {
    uint64_t refused; /* 1: invalid command */
    uint64_t offset;  /* of the first wrong byte; size: all are right */
};

#endif /* PERF_NA_SIDE_H */
