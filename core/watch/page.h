/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page in which a process publishes its statistics, and which readers map.
 *
 * It is a memory file (memfd_create) without a name in any folder: readers find
 * it among the descriptors of a process, under /proc/PID/fd, which the kernel
 * shows to the same user and to root. It ends with the process, and is sealed so
 * that nobody can change its size under a mapping.
 *
 * A reader writes look_until and increments look, which wakes the process by a
 * futex. Until then the process counts nothing but forwards that fail and
 * responses with an error. What else a reader writes has no effect: the process
 * reads only these two words.
 *
 * The process writes the tables; `sequence` is odd meanwhile. Readers check
 * everything that they read.
 */
#ifndef WATCH_PAGE_H
#define WATCH_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

/* Name of the memory file. */
#define WATCH_NAME "talaria-watch"
#define WATCH_MAGIC UINT64_C(0x3168637461772d74) /* "t-watch1" */

#define WATCH_RPCS 128U
#define WATCH_PEERS 64U
#define WATCH_TRANSPORTS 8U
#define WATCH_NAME_SIZE 128U

/* Buckets of a latency: four in each power of two of nanoseconds. */
#define WATCH_BUCKETS 168U

/* The kinds of failures of talaria.h. */
#define WATCH_FAILURES 6U

/* Sides of calls. */
enum watch_side { WATCH_ORIGIN, WATCH_TARGET, WATCH_SIDES };

/* Numbers of an RPC, for each side. */
enum {
    WATCH_RPC_REQUESTS,
    WATCH_RPC_REQUEST_BYTES,
    WATCH_RPC_ANSWERS,
    WATCH_RPC_ANSWER_BYTES,
    WATCH_RPC_DROPPED,
    WATCH_RPC_LATENCY_NS, /* sum */
    WATCH_RPC_FAILURE,
    WATCH_RPC_LATENCY = WATCH_RPC_FAILURE + WATCH_FAILURES,
    WATCH_RPC_FIELDS = WATCH_RPC_LATENCY + WATCH_BUCKETS
};

/* Numbers of a peer and of a transport, for each side; bulk transfers are the
 * origin's. */
enum {
    WATCH_PEER_REQUESTS,
    WATCH_PEER_BYTES_SENT,
    WATCH_PEER_BYTES_RECEIVED,
    WATCH_PEER_FAILURES,
    WATCH_PEER_BULK_TRANSFERS,
    WATCH_PEER_BULK_SENT,
    WATCH_PEER_BULK_RECEIVED,
    WATCH_PEER_FIELDS
};

/* key: the id of an RPC; 0: all that found no place in the table. name: ends
 * with a zero. */
struct watch_rpc {
    uint64_t key;
    char name[WATCH_NAME_SIZE];
    uint64_t values[WATCH_SIDES * WATCH_RPC_FIELDS];
};

struct watch_peer {
    uint64_t key;
    char name[WATCH_NAME_SIZE];
    uint64_t values[WATCH_SIDES * WATCH_PEER_FIELDS];
};

/* What a snapshot has. */
struct watch_body {
    uint64_t taken_ns;   /* CLOCK_MONOTONIC */
    uint64_t watched_ns; /* time in which calls were counted or estimated */
    uint64_t counted_ns; /* part of it in which every call was counted */
    uint64_t rpc_count;
    uint64_t peer_count;
    uint64_t transport_count;
    struct watch_rpc rpcs[WATCH_RPCS];
    struct watch_peer peers[WATCH_PEERS];
    struct watch_peer transports[WATCH_TRANSPORTS];
};

struct watch_page {
    uint64_t magic;
    uint64_t size;               /* of this struct */
    uint64_t pid;                /* in the process's own namespace */
    _Atomic uint64_t look_until; /* CLOCK_MONOTONIC, nanoseconds */
    _Atomic uint32_t look;       /* a futex */
    _Atomic uint32_t sequence;
    struct watch_body body;
};

_Static_assert(
    sizeof(struct watch_body) % sizeof(uint64_t) == 0, "it is copied by words");

/* Index of a latency's bucket. */
static inline unsigned
watch_bucket(uint64_t ns)
{
    unsigned power, index;

    if (ns < 4)
        return (unsigned) ns;
    power = 63U - (unsigned) __builtin_clzll(ns);
    index = (power - 1) * 4 + (unsigned) (ns >> (power - 2) & 3);
    return index < WATCH_BUCKETS ? index : WATCH_BUCKETS - 1;
}

/* Least latency of a bucket, in nanoseconds; that of the next one is its upper
 * end. */
static inline uint64_t
watch_bucket_start(unsigned index)
{
    if (index < 4)
        return index;
    return (UINT64_C(4) + index % 4) << (index / 4 - 1);
}

#endif /* WATCH_PAGE_H */
