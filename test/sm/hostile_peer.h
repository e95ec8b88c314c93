/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer that violates the protocol, written against the layout in the plugin's
 * README.md; the class that it attacks, and one that must not be affected. */
#ifndef HOSTILE_PEER_H
#define HOSTILE_PEER_H

#include <fcntl.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"

#define PAGE ((uint32_t) sysconf(_SC_PAGESIZE))
#define CAPACITY (7 * PAGE)
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define RING_MAGIC 0x31676E52U
#define HELLO_MAGIC 0x314D5354U
#define UNEXPECTED 1U
#define EXPECTED 2U
#define RMA 3U
#define SHARED_MAGIC 0x31417253U
#define HELLO_EMULATES 0x2U      /* flag: copies on request */
#define HELLO_ASSISTS 0x10U      /* flag: copies ranges of large gets, */
#define HELLO_ASSISTS_PUTS 0x20U /* and of large puts */
#define CLAIM 256U               /* offsets of words in a control page */
#define DECLINED 264U
#define COPIED 272U

struct hello {
    uint32_t magic;
    uint16_t major;
    uint16_t minor;
    uint32_t size;
    uint32_t flags;
    int32_t status;
    uint32_t capacity;
    uint32_t longest;
    uint32_t name_length;
    uint64_t owner;
    char name[88];
    uint8_t proof[32];
};

/* Payload of an RMA record, before its data. */
enum rma_verb {
    RMA_GET = 1,
    RMA_PUT = 2,
    RMA_DATA = 3,
    RMA_DONE = 4,
    RMA_MAP = 5,
    RMA_ASSIST = 6,
    RMA_ASSIST_PUT = 7,
};

struct rma_record {
    uint8_t verb, last, reply_to, zero;
    int32_t status;
    uint64_t number, mem, offset;
    uint32_t length, zero_too;
};

/* Packet that transfers a shared segment. */
struct shared_packet {
    uint32_t magic, access;
    uint64_t id, length;
};

/* This end of a connection: its own ring and the position of its next record;
 * after hostile_await_answer the class's ring, the position of its next record, and
 * its registry, -1 if it sent none. */
struct hostile_peer {
    int socket;
    int memory;
    unsigned char *ring; /* control page, then records */
    uint32_t position;
    unsigned char *theirs;
    uint32_t received;
    int registry;
};

extern struct node hostile_target;
extern struct node hostile_friend;
extern na_plugin_addr *hostile_friend_to_target;

/* A valid hello with a new name. */
struct hello good_hello(void);

/* A memfd with all required seals. */
int make_memory(uint64_t length, int seals);

/* The same, initialized as an empty ring; with the given seals. */
int make_ring_memory(void);
int make_ring_memory_sealed(int seals);

/* Whether descriptors in a packet for which the receiver has no room are
 * closed, as on Linux. */
bool descriptors_without_room_are_closed(void);

/* The abstract socket address for a name. */
struct sockaddr_un;
socklen_t address_of(const char *name, struct sockaddr_un *address);

/* Connects to a class. Returns the socket. */
int call(struct node *target);

/* Sends bytes with at most 64 descriptors. One returns sendmsg's result, the
 * other asserts success. */
ssize_t try_send_with(
    int fd, const void *bytes, size_t length, const int *fds, size_t count);
void send_with(
    int fd, const void *bytes, size_t length, const int *fds, size_t count);

/* Receives a packet with up to count descriptors, at most 8; missing ones are
 * -1. Returns recvmsg's result. */
ssize_t receive_with(
    int fd, void *bytes, size_t length, int flags, int *fds, size_t count);

/* Connects with a valid hello and ring. */
struct hostile_peer hostile_open(struct node *target);
struct hostile_peer hostile_open_as(
    struct node *target, const struct hello *hello);
void hostile_close(struct hostile_peer *peer);

/* Waits for the class's answer, and maps its ring. */
void hostile_await_answer(struct hostile_peer *peer);

/* Writes an RMA record with length bytes of data after the last record. */
void hostile_put_rma(struct hostile_peer *peer, const struct rma_record *record,
    const void *data, uint32_t length);

/* Waits for the class's next record, which must be of kind RMA. *data_p points
 * to its data in the ring. */
struct rma_record hostile_await_rma(
    struct hostile_peer *peer, const unsigned char **data_p);

/* Waits for the class's answer and returns its hello. */
struct hello await_answer(const struct hostile_peer *peer);

/* Publishes a record at a position of a ring. */
void put_word(unsigned char *ring, uint32_t position, uint32_t kind,
    uint32_t target, uint32_t length, uint32_t tag);

/* Opens target and friend with these options (NULL: all zero). */
void open_both(void);
void open_both_as(const struct node_options *options);
void close_both(void);

/* Checks that target and friend can exchange messages. */
void check_friend(void);

/* Waits until the class closes this socket. */
void expect_hangup(int fd);

/* A listener that does not follow the protocol. Accepts a connection of the
 * class. */
struct trap {
    int listener;
    int socket;
    struct hello received;
    int memory;
    unsigned char *ring; /* the class's */
};

void trap_open(struct trap *trap, char text[TEXT]);
void trap_accept(struct trap *trap);
void trap_close(struct trap *trap);

#endif /* HOSTILE_PEER_H */
