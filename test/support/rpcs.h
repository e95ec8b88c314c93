/* SPDX-License-Identifier: BSD-3-Clause */
/* Common RPCs of many cases, and counters of their handlers. */
#ifndef RPCS_H
#define RPCS_H

#include "mercury_macros.h"
#include "session.h"

/* A byte array. Decoded data are allocated with malloc. */
typedef struct {
    uint32_t size;
    unsigned char *data;
} blob_t;
hg_return_t hg_proc_blob_t(hg_proc_t proc, void *data);

enum rpc {
    RPC_EMPTY, /* no input, no output */
    RPC_ECHO,  /* blob_t in, the same blob out */
    RPC_CODE,  /* int32_t in: the handler returns it without responding */
    RPC_KEEP,  /* blob_t in, no output; answered by RPC_ANSWER_KEPT */
    /* uint32_t in: number of kept requests to answer; out: number that were
     * kept */
    RPC_ANSWER_KEPT,
    RPC_NOTIFY,  /* uint64_t in, no response */
    RPC_MISSING, /* registered at the origin only */
    RPC_COUNT
};

/* At the beginning of session_user(). */
struct rpcs_shared {
    _Atomic uint32_t handled[RPC_COUNT];
    _Atomic uint64_t notified;      /* sum of the inputs */
    _Atomic uint32_t responded;     /* calls of rpcs_on_responded */
    _Atomic uint32_t responded_ret; /* result of the last one */
};

#define RPCS_USER_OFFSET 1024U /* the case's own area begins here */

/* rpcs_open: registers all RPCs; for session_setup.open. rpcs_stopping: answers
 * the kept requests; for session_setup.stopping. */
void rpcs_open(hg_class_t *hg_class);
void rpcs_stopping(void);

/* Answers all kept requests. In the target's process only. */
void rpcs_answer_all(void);
hg_id_t rpcs_id(enum rpc rpc);
struct rpcs_shared *rpcs_shared(void);

/* Respond callback: counts, and destroys the handle. */
hg_return_t rpcs_on_responded(const struct hg_cb_info *info);

/* Progresses the origin until the handler has run count times. */
#define rpcs_wait_handled(session, rpc, count)                                 \
    rpcs_wait_handled_at(session, rpc, count, __FILE__, __LINE__)
void rpcs_wait_handled_at(struct session *session, enum rpc rpc, uint32_t count,
    const char *file, int line);

/* A blob with an encoded size of encoded_size bytes (at least 4, its length
 * field included) and contents generated from seed. Free with blob_free. */
blob_t blob_make(uint32_t encoded_size, uint32_t seed);
void blob_free(blob_t *blob);
bool blob_equal(const blob_t *a, const blob_t *b);

/* Calls RPC_ANSWER_KEPT. Returns how many requests were kept. */
uint32_t rpcs_answer_kept(struct session *session, uint32_t count);

/* Stops a target that may be asleep: it is woken by one more call, which it may
 * not answer before it ends. */
void rpcs_stop(struct session *session);

/* Checks that a call to the target succeeds. */
void rpcs_ck_works(struct session *session);

/* Makes one call with a new handle. It may fail in the submission, without a
 * callback, or in its one callback. Returns the result. */
#define rpcs_try(session, rpc, in)                                             \
    rpcs_try_at(session, rpc, in, __FILE__, __LINE__)
hg_return_t rpcs_try_at(struct session *session, enum rpc rpc, void *in,
    const char *file, int line);

#endif /* RPCS_H */
