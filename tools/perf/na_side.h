/* SPDX-License-Identifier: BSD-3-Clause */
/* One side of the level na: an NA class, its contexts, and messages between
 * buffers that are allocated once. */
#ifndef PERF_NA_SIDE_H
#define PERF_NA_SIDE_H

#include "na.h"
#include "perf/origin.h"

/* Tags tell the origin's context in the bits above these. */
#define PERF_NA_TAG_BITS 16U

struct perf_na {
    na_class_t *na_class;
    na_context_t *contexts[PERF_THREADS_MAX];
    size_t unexpected_header; /* bytes before the data of a message */
    size_t expected_header;
    size_t data_max;  /* bytes that fit both kinds of messages */
    uint32_t at_once; /* callbacks between two polls */
    struct perf_failure *failure;
};

/* A buffer for messages, and the operation that uses it. */
struct perf_na_buffer {
    na_op_id_t *op;
    char *start;
    char *data; /* after the header */
    void *plugin_data;
};

enum perf_na_kind { PERF_NA_UNEXPECTED, PERF_NA_EXPECTED };

/* Opens one side for messages of the plan's sizes. false: the failure is set,
 * nothing is open. */
bool perf_na_open(struct perf_na *na, const char *info, bool listen,
    const struct perf_plan *plan, struct perf_failure *failure);

void perf_na_close(struct perf_na *na, const struct perf_plan *plan);

enum perf_poll perf_na_poll(
    struct perf_na *na, uint32_t context, unsigned int timeout_ms);

/* Bytes of data in the messages of a plan: its own, or commands. */
uint64_t perf_na_message_size(const struct perf_plan *plan);

/* A buffer for so much data, to be sent (NA_SEND) or received (NA_RECV). */
na_return_t perf_na_buffer_create(struct perf_na *na, enum perf_na_kind kind,
    unsigned long direction, uint64_t size, struct perf_na_buffer *buffer);
void perf_na_buffer_finish(struct perf_na *na, struct perf_na_buffer *buffer);

/* With --verify, messages that ask the target about its memory. In the order of
 * bytes of the machine that sends them: a target that understands none of it
 * finds another magic number. */
#define PERF_NA_MAGIC UINT32_C(0x74504e41)

struct perf_na_command {
    uint32_t magic;
    uint32_t fill; /* 1: fill the slot with the key, 0: check it */
    uint64_t slot;
    uint64_t size;
    uint64_t key;
};

struct perf_na_reply {
    uint64_t refused; /* 1: not a command that the target follows */
    uint64_t offset;  /* of the first wrong byte; size: none is */
};

#endif /* PERF_NA_SIDE_H */
