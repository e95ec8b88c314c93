/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands before the data of an active message, and what a hello says. All
 * numbers are in the byte order of the machine: UCX does not work between two
 * machines that differ in it. */
#ifndef UCX_WIRE_H
#define UCX_WIRE_H

#include <assert.h>
#include <stdint.h>

#define UCX_AM_ID 9U /* the one active message, so that others are noticed */
#define UCX_FRAGMENT_MAX 61440U /* bytes of a put or get in one message */
#define UCX_HELLO_MAGIC 0x58435554U
#define UCX_HELLO_VERSION 1U

enum ucx_message {
    UCX_UNEXPECTED = 1,
    UCX_EXPECTED = 2,
    UCX_HELLO = 3,  /* data: struct ucx_hello */
    UCX_CREDIT = 4, /* tag: bytes of unexpected messages that were received */
    UCX_CLOSE = 5,  /* the last message by this connection */
    UCX_GET = 6,    /* wants fragments; answered by DATA */
    UCX_DATA = 7,   /* brings one, or a status of all */
    UCX_PUT = 8,    /* brings a fragment; tag: whether an answer is wanted */
    UCX_DONE = 9,   /* status of fragments, of one put */
};

struct ucx_head {
    uint64_t token; /* the receiver's name for the connection; hello of who
                       called: 0 */
    uint32_t tag;
    uint8_t kind; /* enum ucx_message */
    uint8_t from; /* context */
    uint8_t to;
    uint8_t zero;
};

/* GET, DATA, PUT, DONE go on. */
struct ucx_fragment {
    struct ucx_head head;
    uint64_t number; /* of the put or get, the asker's */
    uint64_t mem;    /* of the registration, the owner's */
    uint64_t at;     /* DATA, GET: where in the put or get it belongs */
    uint64_t offset; /* into the registration */
    uint32_t length; /* bytes wanted, brought, or answered */
    int32_t status;  /* DATA, DONE */
};

union ucx_header {
    struct ucx_head head;
    struct ucx_fragment fragment;
};

#define UCX_HELLO_NAME 128U

struct ucx_hello {
    uint32_t magic;
    uint16_t version;
    uint16_t bytes;   /* of this hello; a later one may be longer */
    uint64_t number;  /* of the class, not 0 */
    uint64_t token;   /* what messages to it by this connection carry */
    uint64_t serial;  /* of who called: counts its calls */
    uint64_t process; /* random number of the process */
    uint32_t window;  /* bytes of unexpected messages it has room for */
    int32_t status;   /* 0, or a refusal */
    char name[UCX_HELLO_NAME]; /* of a class that listens, with zeros behind */
};

static_assert(sizeof(struct ucx_head) == 16, "layout");
static_assert(sizeof(struct ucx_fragment) == 56, "layout");
static_assert(sizeof(struct ucx_hello) == 176, "layout");

/* The room that an unexpected message takes. */
static inline uint64_t
ucx_cost(uint64_t length)
{
    return length + 64;
}

#endif /* UCX_WIRE_H */
