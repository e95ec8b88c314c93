/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hostile serialized descriptors, against the static library, with wrapped
 * allocations: bytes are either rejected or yield a descriptor, and the memory
 * allocated for them is bounded by their number.
 */
#include "counts.h"
#include "log_watch.h"
#include "remote.h"
#include "second.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Limit of allocations: a descriptor, what the loop plugin allocates per
 * segment (which takes at least 12 bytes), and a copy of the bytes. */
#define ALLOCATION_MAX(size) (1024U + (size) *9U)

/* Threads of both sides add to it. */
static atomic_size_t allocated;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *
__wrap_malloc(size_t size)
{
    atomic_fetch_add_explicit(&allocated, size, memory_order_relaxed);
    return __real_malloc(size);
}

void *
__wrap_calloc(size_t count, size_t size)
{
    atomic_fetch_add_explicit(&allocated, count * size, memory_order_relaxed);
    return __real_calloc(count, size);
}

static const struct session_setup setup = {.origin_listens = true};

/* An invalid range fails here or at the owner. */
static void
pull(struct remote *remote, hg_bulk_t bulk)
{
    hg_size_t size = HG_Bulk_get_size(bulk);
    struct call call = {.called = 0};
    hg_return_t ret = HG_Bulk_transfer(remote->s.context, call_done, &call,
        HG_BULK_PULL, remote->owner, bulk, 0, remote->local, 0,
        size < REMOTE_SIZE ? size : REMOTE_SIZE, HG_OP_ID_IGNORE);

    if (ret == HG_SUCCESS)
        session_drain(remote->s.context);
    ck_assert_uint_eq(call.called, ret == HG_SUCCESS);
}

/* Deserializes bytes in an allocation of their exact size, and uses the
 * result. */
static bool
try_bytes(struct remote *remote, const unsigned char *bytes, size_t size)
{
    unsigned char *copy = __real_malloc(size > 0 ? size : 1);
    hg_bulk_t bulk = HG_BULK_NULL, before = bulk;
    hg_return_t ret;
    void *data = NULL;
    hg_size_t length = 0;
    uint32_t count = 0;

    memcpy(copy, bytes, size);
    allocated = 0;
    ret = HG_Bulk_deserialize(remote->s.hg_class, &bulk, copy, size);
    ck_assert_uint_le(allocated, ALLOCATION_MAX(size));
    free(copy);
    if (ret != HG_SUCCESS) {
        ck_assert_ptr_eq(bulk, before);
        return false;
    }
    ck_assert_uint_gt(HG_Bulk_get_segment_count(bulk), 0);
    ck_assert_uint_ne(HG_Bulk_get_flags(bulk), 0);
    ck_assert_uint_le(HG_Bulk_get_serialize_size(bulk, 0), size);
    if (HG_Bulk_access(bulk, 0, HG_Bulk_get_size(bulk), HG_BULK_READ_ONLY, 1,
            &data, &length, &count) == HG_SUCCESS &&
        count > 0 && data && length > 0)
        ck_assert_uint_le(
            *(unsigned char *) data + ((unsigned char *) data)[length - 1],
            510);
    pull(remote, bulk);
    HG_Bulk_free(bulk);
    return true;
}

static uint32_t
next_random(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 8;
}

static void
try_mutations(struct remote *remote, const unsigned char *bytes, size_t size)
{
    static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
    uint32_t rounds = test_count(TEST_WIRE_MUTATIONS) / 100, state = 1;
    unsigned char *altered = __real_malloc(size);

    ck_assert(try_bytes(remote, bytes, size));
    for (size_t cut = 0; cut < size; cut++)
        ck_assert(!try_bytes(remote, bytes, cut));
    for (size_t at = 0; at < size; at++)
        for (unsigned i = 0; i < 8 + sizeof values; i++) {
            memcpy(altered, bytes, size);
            if (i < 8)
                altered[at] ^= (unsigned char) (1U << i);
            else
                altered[at] = values[i - 8];
            try_bytes(remote, altered, size);
        }
    for (size_t at = 0; at + 8 <= size; at++)
        for (unsigned width = 4; width <= 8; width += 4)
            for (unsigned fill = 0; fill <= 0xff; fill += 0xff) {
                memcpy(altered, bytes, size);
                memset(altered + at, (int) fill, width);
                try_bytes(remote, altered, size);
            }
    for (uint32_t round = 0; round < rounds; round++) {
        memcpy(altered, bytes, size);
        for (uint32_t n = 0; n <= round % 4; n++)
            altered[next_random(&state) % size] ^=
                (unsigned char) (1 + next_random(&state));
        try_bytes(remote, altered, size);
    }
    free(altered);
}

/* Bound or not, with data or not. */
static void
try_forms(struct remote *remote, hg_context_t *context)
{
    hg_size_t sizes[3] = {70, 0, 80};

    for (unsigned form = 0; form < 4; form++) {
        unsigned long flags = form & 2 ? HG_BULK_EAGER : 0;
        unsigned char *bytes;
        hg_size_t size;
        hg_bulk_t bulk;

        ck_assert_int_eq(HG_Bulk_create(remote->owner_class, 3, NULL, sizes,
                             HG_BULK_READ_ONLY, &bulk),
            HG_SUCCESS);
        if (form & 1)
            ck_assert_int_eq(HG_Bulk_bind(bulk, context), HG_SUCCESS);
        size = HG_Bulk_get_serialize_size(bulk, flags);
        bytes = malloc(size);
        ck_assert_int_eq(
            HG_Bulk_serialize(bytes, size, flags, bulk), HG_SUCCESS);
        try_mutations(remote, bytes, size);
        free(bytes);
        HG_Bulk_free(bulk);
    }
}

/* With one transport, with two, and with two at the sender only. */
START_TEST(hostile_bytes_are_rejected_or_a_descriptor)
{
    struct remote remote;
    hg_context_t *context;
    struct second owner, local;

    remote_begin(&remote, _i, &setup);
    context = HG_Context_create(remote.owner_class);
    ck_assert_ptr_nonnull(context);
    HG_Set_log_level("none"); /* each rejection may log a line */
    try_forms(&remote, context);
    second_open(&owner, "loop+mem", remote.owner_class, NULL);
    try_forms(&remote, context);
    second_open(&local, "loop+mem", remote.s.hg_class, NULL);
    try_forms(&remote, context);
    second_close(&local);
    ck_assert_int_eq(HG_Context_destroy(context), HG_SUCCESS);
    second_close(&owner);
    HG_Set_log_level("warning");
    remote_end(&remote);
}
END_TEST

/* Each header field, invalid by itself. */
START_TEST(hostile_header_is_rejected)
{
    static const struct {
        unsigned at, width;
        uint64_t value;
    } cases[] = {
        {0, 1, 1}, /* unknown version */
        {0, 1, 3},
        {1, 1, 0},    /* neither readable nor writable */
        {1, 1, 0x43}, /* unknown flag */
        {1, 1, 0x13}, /* data of a writable descriptor */
        {1, 1, 0x11}, /* missing data */
        {1, 1, 0x83}, /* bound without an address */
        {2, 1, 1},    /* context id of an unbound descriptor */
        {3, 1, 2},    /* missing section */
        {3, 1, 255},
        {4, 4, 0}, /* no segments */
        {8, 8, 0}, /* size smaller than the segments */
        {8, 8, REMOTE_SIZE - 1},
        {8, 8, REMOTE_SIZE + 1},
        {8, 8, UINT64_MAX},
        {8, 8, (uint64_t) INT64_MAX + 1},
        {34, 2, 1},          /* reserved, not zero */
        {36, 4, UINT32_MAX}, /* number of registrations */
        {36, 4, REMOTE_PIECES + 1},
        {40, 4, UINT32_MAX}, /* length of the section */
        {40, 4, 0},
        {48, 8, 0}, /* size of the first registration */
        {48, 8, UINT64_MAX},
        {56, 4, UINT32_MAX}, /* length of its serialized form */
        {56, 4, 0},
    };
    struct remote remote;
    hg_size_t size;
    unsigned char *bytes, *altered;

    remote_begin(&remote, _i, &setup);
    size = HG_Bulk_get_serialize_size(remote.owned, 0);
    bytes = malloc(size);
    altered = malloc(size + 1);
    ck_assert_int_eq(
        HG_Bulk_serialize(bytes, size, 0, remote.owned), HG_SUCCESS);
    HG_Set_log_level("none");
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool bound = cases[i].at == 1 && cases[i].value == 0x83;

        memcpy(altered, bytes, size);
        for (unsigned n = 0; n < cases[i].width; n++)
            altered[cases[i].at + n] =
                (unsigned char) (cases[i].value >> (8 * n));
        ck_assert_msg(try_bytes(&remote, altered, size) == bound, "case %u", i);
    }
    /* One byte after the registrations, with a matching section length. */
    memcpy(altered, bytes, size);
    ck_assert_uint_lt(altered[40], 255);
    altered[40]++;
    altered[size] = 0;
    ck_assert(!try_bytes(&remote, altered, size + 1));
    /* The number of segments is informational. */
    memcpy(altered, bytes, size);
    memset(altered + 4, 0xff, 4);
    ck_assert(try_bytes(&remote, altered, size));
    HG_Set_log_level("warning");
    free(bytes);
    free(altered);
    remote_end(&remote);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, hostile_bytes_are_rejected_or_a_descriptor);
    session_add(tcase, hostile_header_is_rejected);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "hostile", add);
}
