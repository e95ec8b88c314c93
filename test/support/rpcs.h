/* SPDX-License-Identifier: BSD-3-Clause */
/* A few RPCs that many cases need, and what their handlers count. */
#ifndef RPCS_H
#define RPCS_H

#include "mercury_macros.h"
#include "session.h"

/* Bytes of any number. Decoded ones are from malloc. */
typedef struct {
    uint32_t size;
    unsigned char *data;
} blob_t;
hg_return_t hg_proc_blob_t(hg_proc_t proc, void *data);

enum rpc {
    RPC_EMPTY,   /* nothing in, nothing out */
    RPC_ECHO,    /* blob_t in, the same out */
    RPC_CODE,    /* int32_t in: what the handler returns, without an answer */
    RPC_KEEP,    /* blob_t in, nothing out: unanswered until RPC_LET_GO */
    RPC_LET_GO,  /* uint32_t in: how many kept ones to answer; out: how many
                   there were */
    RPC_NOTIFY,  /* uint64_t in, never answered */
    RPC_MISSING, /* known to the origin alone */
    RPC_COUNT
};

/* At the beginning of session_user(). */
struct rpcs_shared {
    _Atomic uint32_t handled[RPC_COUNT];
    _Atomic uint64_t notified;      /* sum */
    _Atomic uint32_t responded;     /* what rpcs_on_responded has seen */
    _Atomic uint32_t responded_ret; /* of the last one */
};

#define RPCS_USER_OFFSET 1024U /* what follows is the case's own */

/* Registers them all, for session_setup.open; answers what is still kept, for
 * session_setup.stopping. Their ids. */
void rpcs_open(hg_class_t *hg_class);
void rpcs_stopping(void);

/* In the target's process: answers the requests that are kept. */
void rpcs_answer_all(void);
hg_id_t rpcs_id(enum rpc rpc);
struct rpcs_shared *rpcs_shared(void);

/* Counts an answer whose callback comes, and destroys its handle. */
hg_return_t rpcs_on_responded(const struct hg_cb_info *info);

/* Steps the origin until a handler has been called so often. */
#define rpcs_wait_handled(session, rpc, count)                                 \
    rpcs_wait_handled_at(session, rpc, count, __FILE__, __LINE__)
void rpcs_wait_handled_at(struct session *session, enum rpc rpc, uint32_t count,
    const char *file, int line);

/* A blob of size bytes (the count of them included, at least 4 when encoded),
 * whose contents follow from seed; freed with blob_free. */
blob_t blob_make(uint32_t encoded_size, uint32_t seed);
void blob_free(blob_t *blob);
bool blob_equal(const blob_t *a, const blob_t *b);

/* RPC_LET_GO as a call of its own; how many were kept. */
uint32_t rpcs_let_go(struct session *session, uint32_t count);

/* Stops a target that may be asleep for long: it is called once more, and may
 * be gone before it answers. */
void rpcs_stop(struct session *session);

/* Calls the target, which works as it should. */
void rpcs_ck_works(struct session *session);

/* One call on a handle of its own, which may fail: by the submission, without a
 * callback, or by the callback, once. What it was. */
#define rpcs_try(session, rpc, in)                                             \
    rpcs_try_at(session, rpc, in, __FILE__, __LINE__)
hg_return_t rpcs_try_at(struct session *session, enum rpc rpc, void *in,
    const char *file, int line);

#endif /* RPCS_H */
