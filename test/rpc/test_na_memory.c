/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the NA interface: handles, serialization, put and get. */
#include "counts.h"
#include "log_watch.h"
#include "na_pair.h"
#include "talaria.h"

#include <stdlib.h>
#include <string.h>

/* What a case needs to move data: local memory, the peer's memory, and
 * endpoints. */
struct mover {
    struct na_pair pair;
    struct na_end send;
    struct na_end recv;
    struct na_end rma;
    char *memory;
    na_mem_handle_t *local;
    na_mem_handle_t *remote;
};

static na_mem_handle_t *
expose(struct na_pair *pair, void *memory, size_t size, unsigned long flags)
{
    na_mem_handle_t *handle = NULL;

    ck_assert_int_eq(
        NA_Mem_handle_create(pair->na_class, memory, size, flags, &handle),
        NA_SUCCESS);
    ck_assert_int_eq(
        NA_Mem_register(pair->na_class, handle, NA_MEM_TYPE_HOST, 0),
        NA_SUCCESS);
    return handle;
}

static void
hide(struct na_pair *pair, na_mem_handle_t *handle)
{
    ck_assert_int_eq(NA_Mem_deregister(pair->na_class, handle), NA_SUCCESS);
    NA_Mem_handle_free(pair->na_class, handle);
}

static void
mover_begin(struct mover *mover, int mode)
{
    struct na_pair *pair = &mover->pair;

    memset(mover, 0, sizeof *mover);
    na_pair_begin(pair, mode);
    na_end_open(
        pair, &mover->send, NA_Msg_get_max_unexpected_size(pair->na_class));
    na_end_open(
        pair, &mover->recv, NA_Msg_get_max_expected_size(pair->na_class));
    na_end_open(pair, &mover->rma, 0);
    mover->memory = malloc(NA_PAIR_MEMORY);
    for (size_t i = 0; i < NA_PAIR_MEMORY; i++)
        mover->memory[i] = (char) (i * 31 >> 3);
    mover->local =
        expose(pair, mover->memory, NA_PAIR_MEMORY, NA_MEM_READWRITE);
    mover->send.buffer[na_send_header(pair)] = NA_ASK_MEMORY;
    ck_assert_int_eq(
        na_pair_call(pair, &mover->send, &mover->recv, 1, 1), NA_SUCCESS);
    ck_assert_int_eq(NA_Mem_handle_deserialize(pair->na_class, &mover->remote,
                         mover->recv.buffer + na_recv_header(pair),
                         mover->recv.length - na_recv_header(pair)),
        NA_SUCCESS);
}

static void
mover_end(struct mover *mover)
{
    struct na_pair *pair = &mover->pair;

    NA_Mem_handle_free(pair->na_class, mover->remote);
    hide(pair, mover->local);
    free(mover->memory);
    na_end_close(pair, &mover->rma);
    na_end_close(pair, &mover->send);
    na_end_close(pair, &mover->recv);
    na_pair_end(pair);
}

/* Starts a transfer and waits. Returns its result, from the submission or the
 * callback. */
static na_return_t
move(struct mover *mover, bool put, na_mem_handle_t *local, size_t local_offset,
    size_t remote_offset, size_t size)
{
    struct na_pair *pair = &mover->pair;
    uint32_t called = mover->rma.called;
    na_return_t ret =
        put ? NA_Put(pair->na_class, pair->context, na_end_called, &mover->rma,
                  local, local_offset, mover->remote, remote_offset, size,
                  pair->addr, 0, mover->rma.op)
            : NA_Get(pair->na_class, pair->context, na_end_called, &mover->rma,
                  local, local_offset, mover->remote, remote_offset, size,
                  pair->addr, 0, mover->rma.op);

    if (ret != NA_SUCCESS)
        return ret;
    na_pair_wait(pair, &mover->rma, called + 1);
    ck_assert_int_eq(mover->rma.type, put ? NA_CB_PUT : NA_CB_GET);
    return mover->rma.ret;
}

/* Asks the peer for its memory: a message sent after a completed put sees the
 * data. */
static void
ck_peer_has(
    struct mover *mover, const char *expected, uint32_t offset, uint32_t length)
{
    struct na_pair *pair = &mover->pair;
    char *out = mover->send.buffer + na_send_header(pair);

    out[0] = NA_ASK_BYTES;
    memcpy(out + 1, &offset, 4);
    memcpy(out + 5, &length, 4);
    ck_assert_int_eq(
        na_pair_call(pair, &mover->send, &mover->recv, 9, 2), NA_SUCCESS);
    ck_assert_uint_eq(mover->recv.length, na_recv_header(pair) + length);
    ck_assert_mem_eq(
        mover->recv.buffer + na_recv_header(pair), expected, length);
}

static size_t
largest(const struct mover *mover)
{
    /* Maximum size of one put or get, which the loop plugin may limit. */
    return mover->pair.mode->limits && mover->pair.mode->limits->max_rma_size
               ? mover->pair.mode->limits->max_rma_size
               : NA_PAIR_MEMORY;
}

START_TEST(memory_put_is_visible_to_the_next_message)
{
    static const size_t sizes[] = {1, 2, 3, 63, 64, 65, 500, 1000, 4095, 4096,
        65536, 100001, NA_PAIR_MEMORY};
    struct mover mover;

    mover_begin(&mover, _i);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t size = sizes[i], at = (NA_PAIR_MEMORY - size) / 3;
        uint32_t piece = size < 500 ? (uint32_t) size : 500;

        if (size > largest(&mover))
            continue;
        for (size_t j = 0; j < size; j++)
            mover.memory[at + j] = (char) (j + i);
        ck_assert_int_eq(
            move(&mover, true, mover.local, at, at, size), NA_SUCCESS);
        ck_peer_has(&mover, mover.memory + at, (uint32_t) at, piece);
        ck_peer_has(&mover, mover.memory + at + size - piece,
            (uint32_t) (at + size - piece), piece);
    }
    mover_end(&mover);
}
END_TEST

START_TEST(memory_get_returns_what_was_put)
{
    struct mover mover;
    char *back;
    na_mem_handle_t *sink;

    mover_begin(&mover, _i);
    ck_assert_int_eq(
        talaria_mem_alloc(mover.pair.na_class, NA_PAIR_MEMORY, (void **) &back),
        NA_SUCCESS);
    ck_assert_uint_eq((uintptr_t) back % 64, 0);
    /* one assertion: libcheck writes each to a file */
    size_t zeros = 0;
    while (zeros < NA_PAIR_MEMORY && back[zeros] == 0)
        zeros++;
    ck_assert_uint_eq(zeros, NA_PAIR_MEMORY);
    sink = expose(&mover.pair, back, NA_PAIR_MEMORY, NA_MEM_WRITE_ONLY);
    for (size_t size = 1; size <= largest(&mover); size = size * 3 + 1) {
        size_t from = size / 2 % 17, to = NA_PAIR_MEMORY - size;

        if (from + size > NA_PAIR_MEMORY)
            from = 0;
        memset(back, 0, NA_PAIR_MEMORY);
        ck_assert_int_eq(
            move(&mover, true, mover.local, from, to, size), NA_SUCCESS);
        ck_assert_int_eq(move(&mover, false, sink, from, to, size), NA_SUCCESS);
        ck_assert_mem_eq(back + from, mover.memory + from, size);
        if (from > 0)
            ck_assert_int_eq(back[from - 1], 0);
        if (from + size < NA_PAIR_MEMORY)
            ck_assert_int_eq(back[from + size], 0);
    }
    hide(&mover.pair, sink);
    talaria_mem_free(mover.pair.na_class, back);
    mover_end(&mover);
}
END_TEST

START_TEST(memory_out_of_range_invalid)
{
    struct mover mover;
    size_t end = NA_PAIR_MEMORY;

    mover_begin(&mover, _i);
    log_expect("out of range", 0, 12);
    log_expect("registration, which has", 0, 12);
    for (int put = 0; put < 2; put++) {
        ck_assert_int_eq(
            move(&mover, put, mover.local, end - 10, 0, 11), NA_INVALID_ARG);
        ck_assert_int_eq(
            move(&mover, put, mover.local, 0, end - 10, 11), NA_INVALID_ARG);
        ck_assert_int_eq(
            move(&mover, put, mover.local, end, 0, 1), NA_INVALID_ARG);
        ck_assert_int_eq(
            move(&mover, put, mover.local, 0, end, 1), NA_INVALID_ARG);
        ck_assert_int_eq(
            move(&mover, put, mover.local, SIZE_MAX, 0, 2), NA_INVALID_ARG);
        ck_assert_int_eq(
            move(&mover, put, mover.local, 0, SIZE_MAX, 2), NA_INVALID_ARG);
        ck_assert_int_eq(
            move(&mover, put, mover.local, end - 10, end - 10, 10), NA_SUCCESS);
        ck_assert_int_eq(move(&mover, put, mover.local, 0, 0, 0), NA_SUCCESS);
        ck_assert_int_eq(
            move(&mover, put, mover.local, end, end, 0), NA_SUCCESS);
    }
    mover_end(&mover);
}
END_TEST

START_TEST(memory_flags_are_kept)
{
    struct mover mover;
    na_mem_handle_t *source, *sink;

    mover_begin(&mover, _i);
    log_expect("does not permit", 0, 2);
    source = expose(&mover.pair, mover.memory, 100, NA_MEM_READ_ONLY);
    sink = expose(&mover.pair, mover.memory + 100, 100, NA_MEM_WRITE_ONLY);
    ck_assert_int_eq(move(&mover, true, source, 0, 0, 100), NA_SUCCESS);
    ck_assert_int_eq(move(&mover, false, sink, 0, 0, 100), NA_SUCCESS);
    ck_assert_int_eq(move(&mover, false, source, 0, 0, 100), NA_PERMISSION);
    ck_assert_int_eq(move(&mover, true, sink, 0, 0, 100), NA_PERMISSION);
    hide(&mover.pair, source);
    hide(&mover.pair, sink);
    mover_end(&mover);
}
END_TEST

START_TEST(memory_of_several_segments_is_contiguous)
{
    enum { PIECES = 5 };
    struct mover mover;
    struct na_segment segments[PIECES];
    na_mem_handle_t *pieces = NULL;
    size_t max;

    mover_begin(&mover, _i);
    max = NA_Mem_handle_get_max_segments(mover.pair.na_class);
    ck_assert_uint_ge(max, 1);
    for (size_t i = 0; i < PIECES; i++)
        segments[i] = (struct na_segment){
            .base = mover.memory + 1000 * (PIECES - i), .len = 100 + i};
    if (max >= PIECES) {
        ck_assert_int_eq(NA_Mem_handle_create_segments(mover.pair.na_class,
                             segments, PIECES, NA_MEM_READWRITE, &pieces),
            NA_SUCCESS);
        ck_assert_int_eq(
            NA_Mem_register(mover.pair.na_class, pieces, NA_MEM_TYPE_HOST, 0),
            NA_SUCCESS);
        /* From the middle of the first segment to the middle of the last. */
        ck_assert_int_eq(move(&mover, true, pieces, 50, 7, 400), NA_SUCCESS);
        ck_peer_has(&mover, mover.memory + 5000 + 50, 7, 50);
        ck_peer_has(&mover, mover.memory + 4000, 57, 101);
        ck_peer_has(&mover, mover.memory + 3000, 158, 102);
        ck_peer_has(&mover, mover.memory + 2000, 260, 103);
        ck_peer_has(&mover, mover.memory + 1000, 363, 44);
        hide(&mover.pair, pieces);
    } else {
        log_expect("segments in one handle", 1, 1);
        ck_assert_int_eq(NA_Mem_handle_create_segments(mover.pair.na_class,
                             segments, PIECES, NA_MEM_READWRITE, &pieces),
            max == 1 ? NA_OPNOTSUPPORTED : NA_INVALID_ARG);
        ck_assert_ptr_null(pieces);
    }
    mover_end(&mover);
}
END_TEST

START_TEST(memory_several_transfers_in_flight_and_cancelled)
{
    enum { MANY = 16 };
    struct mover mover;
    struct na_end ends[MANY];
    size_t size;

    mover_begin(&mover, _i);
    size = largest(&mover) / MANY;
    for (unsigned i = 0; i < MANY; i++) {
        na_end_open(&mover.pair, &ends[i], 0);
        ck_assert_int_eq(
            NA_Put(mover.pair.na_class, mover.pair.context, na_end_called,
                &ends[i], mover.local, i * size, mover.remote, i * size, size,
                mover.pair.addr, 0, ends[i].op),
            NA_SUCCESS);
        if (i % 2 == 1)
            ck_assert_int_eq(
                NA_Cancel(mover.pair.na_class, mover.pair.context, ends[i].op),
                NA_SUCCESS);
    }
    for (unsigned i = 0; i < MANY; i++) {
        na_pair_wait(&mover.pair, &ends[i], 1);
        if (ends[i].ret == NA_SUCCESS)
            ck_peer_has(&mover, mover.memory + i * size, (uint32_t) (i * size),
                (uint32_t) (size < 400 ? size : 400));
        else
            ck_assert_int_eq(ends[i].ret, NA_CANCELED);
        ck_assert(i % 2 == 1 || ends[i].ret == NA_SUCCESS);
        na_end_close(&mover.pair, &ends[i]);
    }
    mover_end(&mover);
}
END_TEST

START_TEST(memory_handle_invalid_arguments)
{
    struct mover mover;
    na_class_t *c;
    na_mem_handle_t *handle = NULL;
    struct na_segment bad[2] = {{NULL, 10}, {NULL, 0}};
    char bytes[64] = "";

    mover_begin(&mover, _i);
    c = mover.pair.na_class;
    log_expect("of type 1", 0, 1);
    ck_assert_int_eq(
        NA_Mem_handle_create(NULL, bytes, 64, NA_MEM_READWRITE, &handle),
        NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Mem_handle_create(c, NULL, 64, NA_MEM_READWRITE, &handle),
        NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Mem_handle_create(c, bytes, 0, NA_MEM_READWRITE, &handle),
        NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Mem_handle_create(c, bytes, 64, 0, &handle), NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Mem_handle_create(c, bytes, 64, 8, &handle), NA_INVALID_ARG);
    ck_assert_int_eq(NA_Mem_handle_create(c, bytes, 64, NA_MEM_READWRITE, NULL),
        NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Mem_handle_create_segments(c, NULL, 1, NA_MEM_READWRITE, &handle),
        NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Mem_handle_create_segments(c, bad, 0, NA_MEM_READWRITE, &handle),
        NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Mem_handle_create_segments(c, bad, 1, NA_MEM_READWRITE, &handle),
        NA_INVALID_ARG);
    ck_assert_ptr_null(handle);
    NA_Mem_handle_free(c, NULL);
    ck_assert_uint_eq(NA_Mem_handle_get_max_segments(NULL), 0);
    ck_assert_int_eq(
        NA_Mem_register(c, NULL, NA_MEM_TYPE_HOST, 0), NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Mem_register(c, mover.remote, NA_MEM_TYPE_HOST, 0), NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Mem_register(c, mover.local, NA_MEM_TYPE_HOST, 0), NA_BUSY);
    ck_assert_int_eq(NA_Mem_deregister(c, mover.remote), NA_INVALID_ARG);
    ck_assert_int_eq(NA_Mem_deregister(c, NULL), NA_INVALID_ARG);
    /* An unregistered handle cannot be used. */
    ck_assert_int_eq(
        NA_Mem_handle_create(c, bytes, 64, NA_MEM_READWRITE, &handle),
        NA_SUCCESS);
    ck_assert_uint_eq(NA_Mem_handle_get_serialize_size(c, handle), 0);
    ck_assert_int_eq(
        NA_Mem_handle_serialize(c, bytes, 64, handle), NA_INVALID_ARG);
    ck_assert_int_eq(move(&mover, true, handle, 0, 0, 10), NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Mem_register(c, handle, NA_MEM_TYPE_MAX, 0), NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Mem_register(c, handle, NA_MEM_TYPE_CUDA, 0), NA_OPNOTSUPPORTED);
    ck_assert_int_eq(
        NA_Mem_register(c, handle, NA_MEM_TYPE_HOST, 0), NA_SUCCESS);
    ck_assert_int_eq(move(&mover, true, handle, 0, 0, 10), NA_SUCCESS);
    hide(&mover.pair, handle);
    /* Local and remote handle must not be swapped. */
    ck_assert_int_eq(
        move(&mover, true, mover.remote, 0, 0, 10), NA_INVALID_ARG);
    ck_assert_int_eq(NA_Get(c, mover.pair.context, NULL, NULL, mover.local, 0,
                         mover.local, 0, 10, mover.pair.addr, 0, mover.rma.op),
        NA_INVALID_ARG);
    ck_assert_int_eq(NA_Put(c, mover.pair.context, NULL, NULL, mover.local, 0,
                         mover.remote, 0, 10, NULL, 0, mover.rma.op),
        NA_INVALID_ARG);
    mover_end(&mover);
}
END_TEST

/* Hostile serialized handles: each is rejected, or yields a handle that
 * transfers reject. */
START_TEST(memory_handle_from_hostile_bytes)
{
    struct mover mover;
    na_class_t *c;
    na_mem_handle_t *handle;
    size_t size;
    char *bytes, *exact;

    mover_begin(&mover, _i);
    c = mover.pair.na_class;
    log_expect("serialized registration", 0, 1000);
    size = NA_Mem_handle_get_serialize_size(c, mover.local);
    ck_assert_uint_gt(size, 0);
    bytes = malloc(size);
    ck_assert_int_eq(
        NA_Mem_handle_serialize(c, bytes, size - 1, mover.local), NA_OVERFLOW);
    ck_assert_int_eq(
        NA_Mem_handle_serialize(c, bytes, size, mover.local), NA_SUCCESS);
    for (size_t length = 0; length < size; length++) {
        exact = malloc(length > 0 ? length : 1);
        memcpy(exact, bytes, length);
        handle = NULL;
        ck_assert_int_eq(NA_Mem_handle_deserialize(c, &handle, exact, length),
            NA_PROTOCOL_ERROR);
        ck_assert_ptr_null(handle);
        free(exact);
    }
    for (size_t i = 0; i < size * 8; i++) {
        na_return_t ret;

        bytes[i / 8] ^= (char) (1 << i % 8);
        handle = NULL;
        ret = NA_Mem_handle_deserialize(c, &handle, bytes, size);
        ck_assert(ret == NA_SUCCESS || ret == NA_PROTOCOL_ERROR);
        ck_assert_int_eq(ret == NA_SUCCESS, handle != NULL);
        if (handle)
            NA_Mem_handle_free(c, handle);
        bytes[i / 8] ^= (char) (1 << i % 8);
    }
    ck_assert_int_eq(
        NA_Mem_handle_deserialize(c, NULL, bytes, size), NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Mem_handle_deserialize(c, &handle, NULL, size), NA_INVALID_ARG);
    free(bytes);
    mover_end(&mover);
}
END_TEST

START_TEST(memory_deregistered_at_the_peer_fails_the_transfer)
{
    struct mover mover;
    na_return_t ret;

    mover_begin(&mover, _i);
    if (mover.pair.peer) {
        struct na_pair *pair = &mover.pair;
        na_mem_handle_t *brief, *stale = NULL;
        char memory[256], bytes[512];
        size_t size;

        /* Memory of the own class, deregistered while a serialized copy still
         * exists. */
        brief = expose(pair, memory, sizeof memory, NA_MEM_READWRITE);
        size = NA_Mem_handle_get_serialize_size(pair->na_class, brief);
        ck_assert_uint_le(size, sizeof bytes);
        ck_assert_int_eq(
            NA_Mem_handle_serialize(pair->na_class, bytes, sizeof bytes, brief),
            NA_SUCCESS);
        ck_assert_int_eq(
            NA_Mem_handle_deserialize(pair->na_class, &stale, bytes, size),
            NA_SUCCESS);
        hide(pair, brief);
        if (session_is_loop()) {
            NA_Mem_handle_free(pair->na_class, mover.remote);
            mover.remote = stale;
            ret = move(&mover, true, mover.local, 0, 0, 10);
            ck_assert_int_ne(ret, NA_SUCCESS);
        } else {
            NA_Mem_handle_free(pair->na_class, stale);
        }
    }
    mover_end(&mover);
}
END_TEST

START_TEST(memory_alloc_invalid_arguments)
{
    struct mover mover;
    void *memory = &mover;

    mover_begin(&mover, _i);
    ck_assert_int_eq(talaria_mem_alloc(NULL, 1, &memory), NA_INVALID_ARG);
    ck_assert_int_eq(
        talaria_mem_alloc(mover.pair.na_class, 0, &memory), NA_INVALID_ARG);
    ck_assert_int_eq(
        talaria_mem_alloc(mover.pair.na_class, 1, NULL), NA_INVALID_ARG);
    ck_assert_int_eq(talaria_mem_alloc(mover.pair.na_class, SIZE_MAX, &memory),
        NA_INVALID_ARG);
    ck_assert_ptr_eq(memory, &mover);
    talaria_mem_free(mover.pair.na_class, NULL);
    talaria_mem_free(NULL, &mover);
    mover_end(&mover);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, memory_put_is_visible_to_the_next_message);
    session_add(tcase, memory_get_returns_what_was_put);
    session_add(tcase, memory_alloc_invalid_arguments);
    session_add(tcase, memory_out_of_range_invalid);
    session_add(tcase, memory_flags_are_kept);
    session_add(tcase, memory_of_several_segments_is_contiguous);
    session_add(tcase, memory_several_transfers_in_flight_and_cancelled);
    session_add(tcase, memory_handle_invalid_arguments);
    session_add(tcase, memory_handle_from_hostile_bytes);
    session_add(tcase, memory_deregistered_at_the_peer_fails_the_transfer);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "na_memory", add);
}
