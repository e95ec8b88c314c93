/* SPDX-License-Identifier: BSD-3-Clause */
/* The first packet on a connection, from either side: the class, the memory of
 * the ring that it will send into, and, between processes of one user, its
 * registry. */
#ifndef SM_HELLO_H
#define SM_HELLO_H

#include <assert.h>
#include <stdint.h>

#include "access.h"
#include "class.h"
#include "socket.h"

#define SM_HELLO_MAGIC 0x314D5354U /* "TSM1" */
#define SM_HELLO_MAJOR 3
#define SM_HELLO_MINOR 0

#define SM_HELLO_MEMBARRIER 0x1U /* registered for global expedited ones */
#define SM_HELLO_EMULATES 0x2U   /* understands records of emulated_rma.h */
/* 0x4 and 0x8 were said by those whose pieces had one size. */
#define SM_HELLO_ASSISTS 0x10U      /* those of range.h for gets as well, */
#define SM_HELLO_ASSISTS_PUTS 0x20U /* and for puts */

/* 160 bytes in the machine's byte order. A minor may append: what is longer is
 * accepted and the rest not looked at. */
struct sm_hello {
    uint32_t magic;
    uint16_t major;
    uint16_t minor;
    uint32_t size; /* bytes of this packet */
    uint32_t flags;
    int32_t status;    /* of an answer: a refusal, as NA_PLUGIN_E code */
    uint32_t capacity; /* of the ring in bytes; its memory is a page more */
    uint32_t longest;  /* payload in bytes that will be put into it */
    uint32_t name_length;
    uint64_t owner; /* random number of the class */
    char name[SM_NAME_MAX + 1];
    uint8_t proof[SM_PROOF_SIZE]; /* of the authorization key; zeros: none */
};

static_assert(sizeof(struct sm_hello) == 160, "layout of the hello");

/* The descriptors that come with it; -1: it brings none. */
struct sm_hello_fds {
    int ring;
    int registry;
};

/* Sends it to a process with the memory of the ring. owner: the number of that
 * process's class in an answer, 0 in a call. 0, or an errno. */
int sm_hello_send(const na_plugin_class *cls, int fd, int ring,
    const struct sm_process *peer, uint64_t owner);

/* Sends a refusal, status as NA_PLUGIN_E code, which shows nothing of this
 * class but its name. Whether it arrives does not matter. */
void sm_hello_refuse(const na_plugin_class *cls, int fd, int32_t status);

/* Receives one. 1: *hello_p, name ended by a zero if it is no longer than
 * allowed, and *fds_p, the caller's to close; 0: not there yet; -1: the peer has
 * hung up, or sent something else. */
int sm_hello_recv(int fd, struct sm_hello *hello_p, struct sm_hello_fds *fds_p);

/* Closes what a hello brought. */
void sm_hello_close(const struct sm_hello_fds *fds);

/* Checks what can be checked without mapping the ring. NULL, or what is wrong.
 * The name has its zero then. */
const char *sm_hello_check(
    struct sm_hello *hello, const struct sm_process *process);

/* Logs that a peer has refused this class. */
void sm_hello_log_refusal(const na_plugin_class *cls, const char *name);

/* Whether a peer that has hung up, perhaps before our hello, has refused us. */
bool sm_hello_refused(int fd);

/* Tells a caller that it is refused, counts, and logs why. */
void sm_hello_refuse_caller(na_plugin_class *cls, int fd,
    const struct sm_process *process, const char *why);

#endif /* SM_HELLO_H */
