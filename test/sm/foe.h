/* SPDX-License-Identifier: BSD-3-Clause */
/* A neighbour that does not keep to the protocol, by accident or not, written
 * against the layout in the plugin's README.md; the class that it attacks, and
 * one that must not suffer from it. */
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

/* A ring of ours, and our end of a connection. */
struct foe {
    int socket;
    int memory;
    unsigned char *ring; /* control page, then records */
};

extern struct node foe_target;
extern struct node foe_friend;
extern na_plugin_addr *foe_friend_to_target;

/* A hello that is all right, with a new name. */
struct hello good_hello(void);

/* Sealed memory of its own. */
int make_memory(uint64_t length, int seals);

/* The same as an empty ring. */
int make_ring_memory(void);

/* The abstract socket address of a name. */
struct sockaddr_un;
socklen_t address_of(const char *name, struct sockaddr_un *address);

/* A connection to a class: its socket. */
int call(struct node *target);

/* Sends bytes with any number of descriptors, at most 64. */
void send_with(
    int fd, const void *bytes, size_t length, const int *fds, size_t count);

/* A connection with a good hello and a ring. */
struct foe foe_open(struct node *target);
void foe_close(struct foe *foe);

/* Waits until the class has answered: the hello it sends. */
struct hello await_answer(const struct foe *foe);

/* Announces a record at a position of a ring. */
void put_word(unsigned char *ring, uint32_t position, uint32_t kind,
    uint32_t target, uint32_t length, uint32_t tag);

/* Target and friend. */
void open_both(void);
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
