/* SPDX-License-Identifier: BSD-3-Clause */
/* Moving a piece of an operation between the memories of two processes. */
#ifndef SM_MOVE_H
#define SM_MOVE_H

#include "conn.h"
#include "op.h"
#include "privilege.h"

#define SM_MOVE_EMULATED 1 /* instead of a code: the peer has to copy */

#define SM_MOVE_SMALL (16U << 10) /* bytes that go by target.memory_fd */

/* Whose memory: a process, or this one's. Of one thread, for one slice. */
struct sm_target {
    pid_t pid;            /* 0: this class's own memory, or mapped */
    int64_t displacement; /* mapped: how much higher than at the owner */
    int pidfd;
    int memory_fd; /* proven memory of a peer of a privileged class, or -1 */
    bool proves;   /* a copy proves conn->memory_fd */
    struct sm_conn *conn;
    struct sm_privilege *privilege; /* of this thread, for several slices */
};

/* The process of a peer, held, to be copied from or to. Whether its number still
 * leads to the peer tells its pidfd, which is looked at before copies.
 * [conn->lock] */
struct sm_target sm_target_process(const na_plugin_class *cls,
    struct sm_conn *conn, struct sm_privilege *privilege);

/* Lets go of what is held, if anything is; copied: something was copied. */
void sm_target_release(struct sm_target *target, bool copied);

/* Moves the next length bytes of a put or get, and its offsets on: OK, EMULATED,
 * or an error, which is logged. May leave the privilege dropped if it returns
 * OK. */
int32_t sm_move(na_plugin_class *cls, struct sm_target *target,
    struct sm_op *op, uint64_t length);

/* Moves operations of one direction, with a process as the target, by one call of the
 * kernel: the first *tried_p of them, all of whose parts it has room for. Bytes, or
 * -1; the last operation that they reach may be copied in part. Changes no
 * operation, counts and logs nothing; may leave the privilege dropped. */
int64_t sm_move_several(na_plugin_class *cls, struct sm_target *target,
    struct sm_op *const *ops, uint32_t count, uint32_t *tried_p);

#endif /* SM_MOVE_H */
