/* SPDX-License-Identifier: BSD-3-Clause */
/* Who gets in: processes of the same user, unless the class was opened for any,
 * that hold the same authorization key, if there is one. */
#ifndef SM_ENTRY_H
#define SM_ENTRY_H

#include "hello.h"
#include "sm.h"
#include "socket.h"

/* Takes over the key of open_info, NULL for none. OPNOTSUPPORTED: this build
 * cannot prove keys. */
int32_t sm_entry_set_key(na_plugin_class *cls, const char *auth_key);

/* Whether a process may be at the other end, as far as its user goes. */
bool sm_entry_welcome(
    const na_plugin_class *cls, const struct sm_process *process);

/* Whether a process is of this class's user, and one that the kernel names: it may
 * see the registry and map areas. */
bool sm_entry_same_user(
    const na_plugin_class *cls, const struct sm_process *process);

/* Fills in the proof of a hello to process peer, whose class number is owner (0:
 * not known yet, this is a call). */
void sm_entry_prove(const na_plugin_class *cls, struct sm_hello *hello,
    pid_t peer, uint64_t owner);

/* Whether the peer of a connection has shown the key of this class: in an answer
 * to its call, or in its call. Without a key on either side it has. */
bool sm_entry_proven(const na_plugin_class *cls, const struct sm_hello *hello,
    pid_t peer, bool answer);

/* Logs that a peer has refused this class. */
void sm_entry_say_refused(const na_plugin_class *cls, const char *name);

/* Whether a peer that has hung up, maybe before our hello, has refused us. */
bool sm_entry_was_refused(int fd);

/* Tells a caller that it is not welcome, counts, and logs why. */
void sm_entry_refuse(na_plugin_class *cls, int fd,
    const struct sm_process *process, const char *why);

#endif /* SM_ENTRY_H */
