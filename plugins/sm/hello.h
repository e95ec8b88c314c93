/* SPDX-License-Identifier: BSD-3-Clause */
/* The first packet on a connection, from either side: who speaks, and the
 * memory of the ring that it will send into. */
#ifndef SM_HELLO_H
#define SM_HELLO_H

#include <assert.h>
#include <stdint.h>

#include "sm.h"
#include "socket.h"

#define SM_HELLO_MAGIC 0x314D5354U /* "TSM1" */
#define SM_HELLO_MAJOR 1
#define SM_HELLO_MINOR 0

#define SM_HELLO_MEMBARRIER 0x1U /* registered for global expedited ones */
#define SM_HELLO_HELPS 0x2U      /* understands records of help.h */

#define SM_PROOF_SIZE 32

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

/* The longest payload that a class puts into its rings. */
uint32_t sm_hello_longest(const na_plugin_class *cls);

/* Sends it with the memory of the ring, or with a refusal and no memory
 * (ring -1). peer: the process it is for; owner: its class's number in an answer,
 * 0 in a call. 0, or an errno. */
int sm_hello_send(const na_plugin_class *cls, int fd, int32_t status, int ring,
    pid_t peer, uint64_t owner);

/* Receives one. 1: *hello_p, name ended by a zero if it is no longer than
 * allowed, and *ring_p, -1 without one, the caller's to close; 0: not there
 * yet; -1: the peer has hung up, or sent something else. */
int sm_hello_recv(int fd, struct sm_hello *hello_p, int *ring_p);

/* Checks what can be checked without mapping the ring. NULL, or what is wrong.
 * The name has its zero then. */
const char *sm_hello_check(
    struct sm_hello *hello, const struct sm_process *process);

#endif /* SM_HELLO_H */
