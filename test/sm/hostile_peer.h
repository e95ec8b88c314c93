/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer that does not keep to the protocol, by accident or not, written against
 * the layout in the plugin's README.md; the class that it attacks, and one that
 * must not suffer from it. */
#ifndef FOE_H
#define FOE_H

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
#define HELLO_EMULATES 0x2U /* flag: copies on request */

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

/* The payload of a record of kind RMA, before its data. */
enum rma_verb {
    RMA_GET = 1,
    RMA_PUT = 2,
    RMA_DATA = 3,
    RMA_DONE = 4,
    RMA_MAP = 5,
};

struct rma_record {
    uint8_t verb, last, reply_to, zero;
    int32_t status;
    uint64_t number, mem, offset;
    uint32_t length, zero_too;
};

/* A packet that brings a shared segment. */
struct shared_packet {
    uint32_t magic, access;
    uint64_t id, length;
};

/* Our end of a connection: a ring of ours, and where its next record goes; after
 * foe_meet the class's, where its next record comes, and its registry, -1 if it
 * shows none. */
struct foe {
    int socket;
    int memory;
    unsigned char *ring; /* control page, then records */
    uint32_t position;
    unsigned char *theirs;
    uint32_t heard;
    int registry;
};

extern struct node foe_target;
extern struct node foe_friend;
extern na_plugin_addr *foe_friend_to_target;

/* A hello that is all right, with a new name. */
struct hello good_hello(void);

/* Sealed memory of its own. */
int make_memory(uint64_t length, int seals);

/* The same as an empty ring; with these seals. */
int make_ring_memory(void);
int make_ring_memory_sealed(int seals);

/* Whether descriptors in a packet for which its receiver has no room are closed, as
 * Linux does. */
bool descriptors_without_room_are_closed(void);

/* The abstract socket address of a name. */
struct sockaddr_un;
socklen_t address_of(const char *name, struct sockaddr_un *address);

/* A connection to a class: its socket. */
int call(struct node *target);

/* Sends bytes with any number of descriptors, at most 64: as sendmsg; or it must
 * work. */
ssize_t try_send_with(
    int fd, const void *bytes, size_t length, const int *fds, size_t count);
void send_with(
    int fd, const void *bytes, size_t length, const int *fds, size_t count);

/* Receives a packet with up to count descriptors, at most 8; those that did not
 * come are -1. As recvmsg. */
ssize_t receive_with(
    int fd, void *bytes, size_t length, int flags, int *fds, size_t count);

/* A connection with a good hello and a ring. */
struct foe foe_open(struct node *target);
struct foe foe_open_as(struct node *target, const struct hello *hello);
void foe_close(struct foe *foe);

/* Waits until the class has answered, and maps its ring. */
void foe_meet(struct foe *foe);

/* Puts a record of kind RMA with length bytes of data behind the last one. */
void foe_ask(struct foe *foe, const struct rma_record *record, const void *data,
    uint32_t length);

/* Waits for the next record of the class, which must be of kind RMA. *data_p:
 * what follows, in the ring. */
struct rma_record foe_hear(struct foe *foe, const unsigned char **data_p);

/* Waits until the class has answered: the hello it sends. */
struct hello await_answer(const struct foe *foe);

/* Announces a record at a position of a ring. */
void put_word(unsigned char *ring, uint32_t position, uint32_t kind,
    uint32_t target, uint32_t length, uint32_t tag);

/* Target and friend, opened with these options (NULL: all zero). */
void open_both(void);
void open_both_as(const struct node_options *options);
void close_both(void);

/* All is well between them. */
void check_friend(void);

/* The class hangs up on this socket. */
void expect_hangup(int fd);

/* A listener that is not of our kind. Answers a call of the class. */
struct trap {
    int listener;
    int socket;
    struct hello heard;
    int memory;
    unsigned char *ring; /* the class's */
};

void trap_open(struct trap *trap, char text[TEXT]);
void trap_accept(struct trap *trap);
void trap_close(struct trap *trap);

#endif /* FOE_H */
