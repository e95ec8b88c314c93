/* SPDX-License-Identifier: BSD-3-Clause */
/* Access control: processes of the same user, unless the class was opened for
 * any, that hold the same authorization key, if there is one. */
#ifndef SM_ACCESS_H
#define SM_ACCESS_H

#include "class.h"
#include "socket.h"

#define SM_PROOF_SIZE 32U /* bytes that show that a peer has the key */

/* Notes the key of open_info, NULL for none. OPNOTSUPPORTED: this build
 * cannot prove keys. */
int32_t sm_access_set_key(na_plugin_class *cls, const char *auth_key);

/* Whether a process may be at the other end, as far as its user is concerned. */
bool sm_access_admits(
    const na_plugin_class *cls, const struct sm_process *process);

/* Whether a process is of this class's user, and one that the kernel names: it may
 * see the registry and map shared segments. */
bool sm_access_same_user(
    const na_plugin_class *cls, const struct sm_process *process);

/* Makes the proof for process peer, whose class number is owner (0: not known
 * yet, this is a call). Without a key it stays as it is. */
void sm_access_prove(const na_plugin_class *cls, pid_t peer, uint64_t owner,
    uint8_t proof[SM_PROOF_SIZE]);

/* Whether process peer, of class number owner, has proven the key of this class:
 * in an answer to its call, or in its call. Without a key on either side it
 * has. */
bool sm_access_proven(const na_plugin_class *cls, pid_t peer, uint64_t owner,
    bool answer, const uint8_t proof[SM_PROOF_SIZE]);

#endif /* SM_ACCESS_H */
