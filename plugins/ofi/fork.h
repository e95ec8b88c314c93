/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors of libfabric's that a child must not have: it would keep a dead
 * process's connections and ports alive. And those that libfabric forgets. */
#ifndef OFI_FORK_H
#define OFI_FORK_H

#include "ofi.h"

/* Notes which descriptors there are, before libfabric opens its own. */
struct ofi_fork_fds {
    uint64_t there[1024 / 64];
};
void ofi_fork_note(struct ofi_fork_fds *fds);

/* Marks what has been opened since as close-on-exec; from now on the class's
 * sockets are closed in forked children. */
void ofi_fork_join(na_plugin_class *cls, const struct ofi_fork_fds *fds);
/* False: another class of this process is not through with its memory. */
bool ofi_fork_leave(na_plugin_class *cls);

/* Lets the other classes of this process, over the same provider, take what has
 * come for them, and marks them among the peers. Without the lock. */
void ofi_fork_settle(na_plugin_class *cls);

/* Whether a class of this process had this name, over a provider of the node,
 * and was closed. */
bool ofi_fork_was_closed(const struct ofi_name *name);

/* Calls for each descriptor of the process; folder is /proc/self/fd, opened. */
void ofi_fork_each_fd(
    int folder, void (*visit)(int fd, const void *arg), const void *arg);

/* Connections that others have made to the class's port; and, after libfabric has
 * closed all that it had of the class, closes those that it has forgotten. */
struct ofi_fork_sockets {
    const na_plugin_class *cls;
    struct ofi_fork_socket *sockets;
    uint32_t count;
    uint32_t size;
};
struct ofi_fork_sockets ofi_fork_accepted(const na_plugin_class *cls);
void ofi_fork_close_left(struct ofi_fork_sockets *accepted);

/* Marks sockets of connections that have come meanwhile; now, or, if that was
 * done just before, by a later call. [lock] */
void ofi_fork_scan(na_plugin_class *cls);

#endif /* OFI_FORK_H */
