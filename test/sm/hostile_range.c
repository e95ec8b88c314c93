/* SPDX-License-Identifier: BSD-3-Clause */
/* The claim word of a range, memory that is copied piece by piece, and the owner:
 * its hello, its registry, and a descriptor of its memory. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hostile_range.h"
#include "registration.h"

#define OWNER 77U /* see good_hello */
#define KEY 7U
#define REGISTRY (4U << 20)
#define SLOT 64U

unsigned char *range_source;
unsigned char *range_destination;

void
allocate_range(void)
{
    range_source = malloc(LENGTH);
    range_destination = malloc(LENGTH);
    ck_assert_ptr_nonnull(range_source);
    ck_assert_ptr_nonnull(range_destination);
    memset(range_source, 0x77, LENGTH);
    memset(range_destination, 0x11, LENGTH);
}

_Atomic uint64_t *
word_at(unsigned char *ring, uint32_t offset)
{
    return (_Atomic uint64_t *) (void *) (ring + offset);
}

uint64_t
claim(uint32_t number, uint32_t front, uint32_t back)
{
    return (uint64_t) number << 32 | (uint64_t) front << 16 | back;
}

uint32_t
count_pieces(const unsigned char *memory, unsigned char value)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < PIECES; i++) {
        const unsigned char *piece = memory + (size_t) i * PIECE;
        ck_assert_int_eq(memcmp(piece, piece + 1, PIECE - 1), 0);
        count += piece[0] == value;
    }
    return count;
}

/* The peer's end of a connection, with a registry that has its memory. */
static struct hostile_peer
open_hostile(uint32_t assists)
{
    struct hostile_peer peer = {.socket = call(&hostile_target),
        .memory = make_ring_memory(),
        .registry = -1};
    const uint64_t entry[4] = {
        KEY, UINT64_C(1) << 32 | 3, (uintptr_t) range_source, LENGTH};
    struct hello hello = good_hello();
    int fds[2] = {peer.memory, make_memory(REGISTRY, SEALS)};

    hello.flags |= HELLO_EMULATES | assists;
    ck_assert_int_eq(pwrite(fds[1], entry, sizeof(entry), SLOT), sizeof(entry));
    peer.ring = mmap(NULL, PAGE + CAPACITY, PROT_READ | PROT_WRITE, MAP_SHARED,
        peer.memory, 0);
    ck_assert_ptr_ne(peer.ring, MAP_FAILED);
    send_with(peer.socket, &hello, sizeof(hello), fds, 2);
    close(fds[1]);
    return peer;
}

void
open_range_owner(struct range_owner *owner, uint32_t assists)
{
    struct form form = {.bytes = {3, 3, 1, 0, 2}, .size = 42};
    const uint64_t rest[4] = {OWNER, KEY, (uintptr_t) range_source, LENGTH};
    char buffer[64];

    memcpy(form.bytes + 8, rest, sizeof(rest));
    form.bytes[40] = 1; /* the slot */
    owner->hostile = open_hostile(assists);
    hostile_await_answer(&owner->hostile);
    void *recv = post_unexpected(&hostile_target, buffer, sizeof(buffer));
    put_word(owner->hostile.ring, 0, UNEXPECTED, 0, 6, 9);
    owner->hostile.position = 64;
    owner->peer = await_message(&hostile_target, 0, recv, 6, 9, true).source;
    free(recv);
    owner->local = register_region(&hostile_target, range_destination, LENGTH,
        NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE);
    owner->remote = unpack(&hostile_target, &form);
}

void
free_range_owner(struct range_owner *owner)
{
    hostile_target.ops->mem_remote_free(hostile_target.cls, owner->remote);
    hostile_target.ops->mem_deregister(hostile_target.cls, owner->local);
    hostile_target.ops->addr_free(hostile_target.cls, owner->peer);
}

void *
submit_range(
    const struct range_owner *owner, bool put, uint64_t offset, uint64_t length)
{
    void *op = op_new(&hostile_target);

    ck_assert_int_eq((put ? hostile_target.ops->put : hostile_target.ops->get)(
                         hostile_target.ctx[0], op, owner->local, offset,
                         owner->remote, offset, length, owner->peer, 0, 0),
        NA_PLUGIN_PENDING);
    return op;
}
