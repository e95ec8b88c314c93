/* SPDX-License-Identifier: BSD-3-Clause */
/* A network in memory for common/transport.h: pipes between the classes of this
 * process, and to a peer that a test plays by hand. One thread. */
#ifndef TEST_PIPE_H
#define TEST_PIPE_H

#include <check.h>

#include "common/memory.h"
#include "common/transport.h"

#define PIPE_ROOM (1U << 20)
#define PIPE_FRAGMENT 1000U
#define PIPE_MESSAGE 500U
#define PIPE_CLASSES 4U

struct na_plugin_class {
    struct tp_transport base;
    uint32_t number; /* its name */
};

struct na_plugin_addr {
    struct tp_peer base;
    uint32_t number;
};

/* One end of a connection. */
struct pipe {
    struct tp_channel base;
    struct pipe *other; /* NULL: the test, or closed */
    bool closed;        /* by the other end */
    unsigned char in[PIPE_ROOM];
    size_t in_used;
    unsigned char out[PIPE_ROOM]; /* to the test */
    size_t out_used;
};

/* What went to the log. */
extern char pipe_log[1024];
extern uint32_t pipe_warnings, pipe_wakes;
/* Bytes that a flush puts into a pipe at most. */
extern size_t pipe_most;
/* The operations of all classes. */
extern const na_plugin_ops *pipe_ops;

/* A class of a number, with context 0; freed by pipe_close with its context. */
na_plugin_class *pipe_open(uint32_t number, uint64_t window);
void pipe_close(na_plugin_class *cls);
na_plugin_ctx *pipe_ctx(const na_plugin_class *cls);
na_plugin_addr *pipe_addr(na_plugin_class *cls, uint32_t number);

/* Memory for an operation, zeroed; freed by pipe_close of the last class. */
void *pipe_op(void);

/* Polls all classes until nothing happens any more. What ended is counted, and the
 * status of an operation kept. */
void pipe_run(void);
bool pipe_ended(const void *op, int32_t *status_p);
const na_plugin_event *pipe_event(const void *op);

/* A peer that the test plays: it has connected, and sends a hello if number is
 * not 0. */
struct pipe *pipe_attacker(na_plugin_class *cls, uint32_t number);
/* Whether the class still has the connection, whose number is given. */
bool pipe_is_there(const na_plugin_class *cls, uint64_t number);
/* Sends a frame with bytes behind it, and polls. */
void pipe_say(struct pipe *pipe, struct tp_frame frame, const void *data);
/* The next frame of a kind that the class has sent to it; false: none. */
bool pipe_hear(
    struct pipe *pipe, enum tp_frame_kind kind, struct tp_frame *frame);

#endif /* TEST_PIPE_H */
