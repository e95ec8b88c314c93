/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Serialized descriptors of a stranger, against the static library, linked so
 * that what is allocated comes by here: bytes are refused, or are a descriptor,
 * and never make more to be allocated than they are themselves worth.
 */
#include "counts.h"
#include "far.h"
#include "log_watch.h"
#include "second.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A descriptor and what the loop makes of a part, for each part of 12 bytes at
 * least, and once the bytes themselves. */
#define WORTH(size) (1024U + (size) *9U)

/* Both sides' threads add to it. */
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

/* What cannot be right ends with an error, there or at the owner. */
static void
pull(struct far *far, hg_bulk_t bulk)
{
    hg_size_t size = HG_Bulk_get_size(bulk);
    struct call call = {.called = 0};
    hg_return_t ret = HG_Bulk_transfer(far->s.context, call_done, &call,
        HG_BULK_PULL, far->owner, bulk, 0, far->local, 0,
        size < FAR_SIZE ? size : FAR_SIZE, HG_OP_ID_IGNORE);

    if (ret == HG_SUCCESS)
        session_drain(far->s.context);
    ck_assert_uint_eq(call.called, ret == HG_SUCCESS);
}

/* Deserializes bytes that end where memory ends, and looks at what comes. */
static bool
feed(struct far *far, const unsigned char *bytes, size_t size)
{
    unsigned char *copy = __real_malloc(size > 0 ? size : 1);
    hg_bulk_t bulk = HG_BULK_NULL, before = bulk;
    hg_return_t ret;
    void *data = NULL;
    hg_size_t length = 0;
    uint32_t count = 0;

    memcpy(copy, bytes, size);
    allocated = 0;
    ret = HG_Bulk_deserialize(far->s.hg_class, &bulk, copy, size);
    ck_assert_uint_le(allocated, WORTH(size));
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
    pull(far, bulk);
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
try_mutations(struct far *far, const unsigned char *bytes, size_t size)
{
    static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
    uint32_t rounds = test_count(TEST_WIRE_MUTATIONS) / 100, state = 1;
    unsigned char *altered = __real_malloc(size);

    ck_assert(feed(far, bytes, size));
    for (size_t cut = 0; cut < size; cut++)
        ck_assert(!feed(far, bytes, cut));
    for (size_t at = 0; at < size; at++)
        for (unsigned i = 0; i < 8 + sizeof values; i++) {
            memcpy(altered, bytes, size);
            if (i < 8)
                altered[at] ^= (unsigned char) (1U << i);
            else
                altered[at] = values[i - 8];
            feed(far, altered, size);
        }
    for (size_t at = 0; at + 8 <= size; at++)
        for (unsigned width = 4; width <= 8; width += 4)
            for (unsigned fill = 0; fill <= 0xff; fill += 0xff) {
                memcpy(altered, bytes, size);
                memset(altered + at, (int) fill, width);
                feed(far, altered, size);
            }
    for (uint32_t round = 0; round < rounds; round++) {
        memcpy(altered, bytes, size);
        for (uint32_t n = 0; n <= round % 4; n++)
            altered[next_random(&state) % size] ^=
                (unsigned char) (1 + next_random(&state));
        feed(far, altered, size);
    }
    free(altered);
}

/* Bound or not, with data or not. */
static void
try_forms(struct far *far, hg_context_t *context)
{
    hg_size_t sizes[3] = {70, 0, 80};

    for (unsigned form = 0; form < 4; form++) {
        unsigned long flags = form & 2 ? HG_BULK_EAGER : 0;
        unsigned char *bytes;
        hg_size_t size;
        hg_bulk_t bulk;

        ck_assert_int_eq(HG_Bulk_create(far->owner_class, 3, NULL, sizes,
                             HG_BULK_READ_ONLY, &bulk),
            HG_SUCCESS);
        if (form & 1)
            ck_assert_int_eq(HG_Bulk_bind(bulk, context), HG_SUCCESS);
        size = HG_Bulk_get_serialize_size(bulk, flags);
        bytes = malloc(size);
        ck_assert_int_eq(
            HG_Bulk_serialize(bytes, size, flags, bulk), HG_SUCCESS);
        try_mutations(far, bytes, size);
        free(bytes);
        HG_Bulk_free(bulk);
    }
}

/* Of one transport, of two, of two to who has one. */
START_TEST(hostile_bytes_are_refused_or_a_descriptor)
{
    struct far far;
    hg_context_t *context;
    struct second owner, local;

    far_begin(&far, _i, &setup);
    context = HG_Context_create(far.owner_class);
    ck_assert_ptr_nonnull(context);
    HG_Set_log_level("none"); /* a line for each would be right */
    try_forms(&far, context);
    second_open(&owner, "loop+mem", far.owner_class, NULL);
    try_forms(&far, context);
    second_open(&local, "loop+mem", far.s.hg_class, NULL);
    try_forms(&far, context);
    second_close(&local);
    ck_assert_int_eq(HG_Context_destroy(context), HG_SUCCESS);
    second_close(&owner);
    HG_Set_log_level("warning");
    far_end(&far);
}
END_TEST

/* What the header says may not be believed, each by itself. */
START_TEST(hostile_header_is_refused)
{
    static const struct {
        unsigned at, width;
        uint64_t value;
    } cases[] = {
        {0, 1, 1}, /* another version */
        {0, 1, 3},
        {1, 1, 0},    /* neither readable nor writable */
        {1, 1, 0x43}, /* a flag that nobody knows */
        {1, 1, 0x13}, /* data of what is writable */
        {1, 1, 0x11}, /* data that are not there */
        {1, 1, 0x83}, /* bound to nobody: the section ends */
        {2, 1, 1},    /* a context of what is not bound */
        {3, 1, 2},    /* a section that is not there */
        {3, 1, 255},
        {4, 4, 0}, /* no segments */
        {8, 8, 0}, /* fewer bytes than the parts */
        {8, 8, FAR_SIZE - 1},
        {8, 8, FAR_SIZE + 1},
        {8, 8, UINT64_MAX},
        {8, 8, (uint64_t) INT64_MAX + 1},
        {34, 2, 1},          /* not zero */
        {36, 4, UINT32_MAX}, /* parts */
        {36, 4, FAR_PIECES + 1},
        {40, 4, UINT32_MAX}, /* bytes of the section */
        {40, 4, 0},
        {48, 8, 0}, /* of the first part's memory */
        {48, 8, UINT64_MAX},
        {56, 4, UINT32_MAX}, /* of its form */
        {56, 4, 0},
    };
    struct far far;
    hg_size_t size;
    unsigned char *bytes, *altered;

    far_begin(&far, _i, &setup);
    size = HG_Bulk_get_serialize_size(far.owned, 0);
    bytes = malloc(size);
    altered = malloc(size + 1);
    ck_assert_int_eq(HG_Bulk_serialize(bytes, size, 0, far.owned), HG_SUCCESS);
    HG_Set_log_level("none");
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool bound = cases[i].at == 1 && cases[i].value == 0x83;

        memcpy(altered, bytes, size);
        for (unsigned n = 0; n < cases[i].width; n++)
            altered[cases[i].at + n] =
                (unsigned char) (cases[i].value >> (8 * n));
        ck_assert_msg(feed(&far, altered, size) == bound, "case %u", i);
    }
    /* A byte behind the parts of the section, which says that it is one longer. */
    memcpy(altered, bytes, size);
    ck_assert_uint_lt(altered[40], 255);
    altered[40]++;
    altered[size] = 0;
    ck_assert(!feed(&far, altered, size + 1));
    /* Segments are only counted. */
    memcpy(altered, bytes, size);
    memset(altered + 4, 0xff, 4);
    ck_assert(feed(&far, altered, size));
    HG_Set_log_level("warning");
    free(bytes);
    free(altered);
    far_end(&far);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, hostile_bytes_are_refused_or_a_descriptor);
    session_add(tcase, hostile_header_is_refused);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "hostile", add);
}
