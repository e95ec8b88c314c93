/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets in the abstract namespace: the names of classes, and the process at the
 * other end. Every descriptor is close-on-exec and does not block. */
#ifndef SM_SOCKET_H
#define SM_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The process at the other end, as the kernel tells it. */
struct sm_process {
    pid_t pid; /* 0: in a process namespace that cannot be seen from here */
    uid_t uid;
    int pidfd; /* -1: there is none */
    bool dead;
};

/* Binds a socket to a name, and listens if wanted. *fd_p; 0, or an errno. */
int sm_socket_bind(const char *name, bool listens, int *fd_p);

/* Connects to a name. *fd_p; 0, or an errno: EAGAIN when the listener's backlog
 * is full, ECONNREFUSED when there is no listener. */
int sm_socket_connect(const char *name, int *fd_p);

/* Accepts a connection. *fd_p; 0, or an errno: EAGAIN when there is none. */
int sm_socket_accept(int listener, int *fd_p);

/* Ends a socket for all processes that have it, a forked child included, and
 * closes it. */
void sm_socket_close(int fd);

/* The process at the other end of a connected socket. *process_p; 0, or an errno.
 * The pidfd is the caller's to close. */
int sm_socket_process(int fd, struct sm_process *process_p);

/* Whether the process of a pidfd has ended. */
bool sm_socket_process_ended(int pidfd);

/* Whether process may call itself claimed: as the kernel numbers it here, or in
 * a process namespace of its own below ours. Where the kernel knows no number
 * for it, its user must be ours. */
bool sm_socket_name_plausible(
    const struct sm_process *process, uint32_t claimed);

/* Whether the other end of a connection has closed it. */
bool sm_socket_ended(int fd);

/* Sends one byte, which wakes a thread that waits for the other end. */
void sm_socket_wake(int fd);

/* Descriptors in one packet at the most. */
#define SM_SOCKET_PASSED 2U

/* Sends a packet with count descriptors, at most SM_SOCKET_PASSED, which stay the
 * caller's. 0, or an errno. */
int sm_socket_pass(int fd, const void *packet, size_t length, const int *passed,
    uint32_t count);

/* Reads the next packet, up to room bytes of it, and the first wanted descriptors
 * that it brings, at most SM_SOCKET_PASSED, the caller's to close; those that it
 * does not bring are -1, and no more than wanted enter the process. How many
 * bytes; 0: there is no packet; -1: the other end has hung up, or sent an empty
 * packet, which looks the same. */
int sm_socket_next(
    int fd, void *packet, size_t room, int *passed, uint32_t wanted);

/* Closes those of descriptors that are not -1. */
void sm_socket_close_passed(const int *passed, uint32_t count);

#endif /* SM_SOCKET_H */
