/* SPDX-License-Identifier: BSD-3-Clause */
/* A hostile peer uses the claim word of large gets and puts. As the initiator it
 * reads and writes nothing that was not granted; as the owner it makes no get end
 * with bytes that were not copied, and none that has ended be written. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "hostile_peer.h"

#define PIECE ((uint64_t) 256 << 10)
#define PIECES 16U /* more than a poll copies */
#define LENGTH (PIECES * PIECE)
#define MOST (64U * PIECE)
#define FOE_OWNER 77U /* see good_hello */
#define FOE_KEY 7U
#define REGISTRY (4U << 20)
#define SLOT 64U
#define POLLS 1000U

struct place {
    uint64_t to;
    uint64_t marks;
};

static unsigned char *source; /* of a get: the class's memory, or the peer's */
static unsigned char *destination;
static uint64_t marks[64];

static _Atomic uint64_t *
word(unsigned char *ring, uint32_t offset)
{
    return (_Atomic uint64_t *) (void *) (ring + offset);
}

static uint64_t
claim(uint32_t number, uint32_t front, uint32_t back)
{
    return (uint64_t) number << 32 | (uint64_t) front << 16 | back;
}

static void
allocate(void)
{
    source = malloc(LENGTH);
    destination = malloc(LENGTH);
    memset(source, 0x77, LENGTH);
    memset(destination, 0x11, LENGTH);
    memset(marks, 0, sizeof(marks));
}

static na_plugin_mem *
expose(unsigned char *base, uint32_t access)
{
    const na_plugin_segment segment = {base, LENGTH};
    const na_plugin_mem_info info = {
        sizeof(na_plugin_mem_info), 0, &segment, 1, access, 0, 0};
    na_plugin_mem *mem;

    ck_assert_int_eq(
        hostile_target.ops->mem_register(hostile_target.cls, &info, &mem),
        NA_PLUGIN_OK);
    return mem;
}

static uint64_t
key_of(const na_plugin_mem *mem)
{
    unsigned char bytes[256];
    uint64_t size = sizeof(bytes), key;

    ck_assert_int_eq(hostile_target.ops->mem_serialize(
                         hostile_target.cls, mem, bytes, &size),
        NA_PLUGIN_OK);
    memcpy(&key, bytes + 16, sizeof(key));
    return key;
}

static uint32_t
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

/* Asks the class to help with a get, or a put from the same place; polls. */
static void
ask(struct hostile_peer *hostile, uint8_t verb, uint32_t number, uint64_t key,
    uint64_t offset, uint32_t length, uint64_t claimed)
{
    const struct place place = {(uintptr_t) destination, (uintptr_t) marks};
    const struct rma_record record = {.verb = verb,
        .number = number,
        .mem = key,
        .offset = offset,
        .length = length};

    *word(hostile->ring, CLAIM) = claimed;
    hostile_put_rma(hostile, &record, &place, sizeof(place));
    for (uint32_t i = 0; i < POLLS; i++)
        pump();
}

/* The class's registration of source, and a peer that is the initiator. */
struct granted {
    na_plugin_mem *mem;
    struct hostile_peer hostile;
};

static struct granted
grant(uint32_t access)
{
    struct granted granted;

    open_both();
    allocate();
    granted.mem = expose(source, access);
    granted.hostile = hostile_open(&hostile_target);
    hostile_await_answer(&granted.hostile);
    return granted;
}

static void
end_grant(struct granted *granted)
{
    hostile_target.ops->mem_deregister(hostile_target.cls, granted->mem);
    hostile_close(&granted->hostile);
    close_both();
}

START_TEST(hostile_assist_initiator_gets_what_is_granted)
{
    struct granted granted = grant(NA_PLUGIN_MEM_READ);
    /* the initiator has taken one piece, and the last */
    ask(&granted.hostile, RMA_ASSIST, 5, key_of(granted.mem), 0, LENGTH,
        claim(5, 1, 3));
    ck_assert_uint_eq(count_pieces(destination, 0x77), 2);
    ck_assert_uint_eq(destination[0], 0x11);
    ck_assert_uint_eq(destination[LENGTH - 1], 0x11);
    ck_assert_uint_eq(*word(granted.hostile.ring, CLAIM), claim(5, 1, 1));
    ck_assert_uint_eq(*word(granted.hostile.ring, DECLINED), 0);
    ck_assert_uint_eq(marks[1], UINT64_C(5) << 32 | 2);
    ck_assert_uint_eq(marks[2], UINT64_C(5) << 32 | 3);
    ck_assert_uint_eq(marks[0] | marks[3], 0);
    end_grant(&granted);
}
END_TEST

START_TEST(hostile_assist_initiator_puts_what_is_granted)
{
    struct granted granted = grant(NA_PLUGIN_MEM_WRITE);
    ask(&granted.hostile, RMA_ASSIST_PUT, 5, key_of(granted.mem), 0, LENGTH,
        claim(5, 1, 3));
    ck_assert_uint_eq(count_pieces(source, 0x11), 2);
    ck_assert_uint_eq(source[PIECE], 0x11);
    ck_assert_uint_eq(source[2 * PIECE], 0x11);
    ck_assert_uint_eq(count_pieces(destination, 0x11), PIECES);
    ck_assert_uint_eq(*word(granted.hostile.ring, CLAIM), claim(5, 1, 1));
    ck_assert_uint_eq(*word(granted.hostile.ring, DECLINED), 0);
    ck_assert_uint_eq(*word(granted.hostile.ring, COPIED), 6);
    end_grant(&granted);
}
END_TEST

/* Into a registration without the right, into none, beyond its end, or from where
 * nothing is mapped. */
START_TEST(hostile_assist_initiator_puts_nothing_else)
{
    struct granted granted =
        grant(_i == 0 ? NA_PLUGIN_MEM_READ : NA_PLUGIN_MEM_WRITE);
    uint64_t offset = _i == 2 ? 1 : _i == 3 ? UINT64_MAX - PIECE : 0;
    unsigned char *kept = destination;
    if (_i == 4)
        destination = (unsigned char *) (uintptr_t) 4096;
    ask(&granted.hostile, RMA_ASSIST_PUT, 5, key_of(granted.mem) ^ (_i == 1),
        offset, LENGTH, claim(5, 0, PIECES));
    destination = kept;
    ck_assert_uint_eq(count_pieces(source, 0x77), PIECES);
    ck_assert_uint_eq(*word(granted.hostile.ring, DECLINED), 5);
    ck_assert_uint_eq(*word(granted.hostile.ring, COPIED), 0);
    check_friend();
    end_grant(&granted);
}
END_TEST

/* Of a registration without the right, of none, or beyond its end. */
START_TEST(hostile_assist_initiator_gets_nothing_else)
{
    struct granted granted =
        grant(_i == 0 ? NA_PLUGIN_MEM_WRITE : NA_PLUGIN_MEM_READ);
    uint64_t offset = _i == 2 ? 1 : _i == 3 ? UINT64_MAX - PIECE : 0;
    ask(&granted.hostile, RMA_ASSIST, 5, key_of(granted.mem) ^ (_i == 1),
        offset, LENGTH, claim(5, 0, PIECES));
    ck_assert_uint_eq(count_pieces(destination, 0x77), 0);
    ck_assert_uint_eq(*word(granted.hostile.ring, DECLINED), 5);
    check_friend();
    end_grant(&granted);
}
END_TEST

START_TEST(hostile_assist_initiator_with_an_invalid_claim_gets_nothing)
{
    static const uint64_t claims[] = {0, (uint64_t) 6 << 32 | 4,
        (uint64_t) 5 << 32 | (PIECES + 1), (uint64_t) 5 << 32 | 0xFFFF,
        (uint64_t) 5 << 32 | 4 << 16 | 4, (uint64_t) 5 << 32 | 5 << 16 | 4};

    struct granted granted = grant(NA_PLUGIN_MEM_READ);
    ask(&granted.hostile, RMA_ASSIST, 5, key_of(granted.mem), 0, LENGTH,
        claims[_i]);
    ck_assert_uint_eq(count_pieces(destination, 0x77), 0);
    ck_assert_uint_eq(*word(granted.hostile.ring, CLAIM), claims[_i]);
    end_grant(&granted);
}
END_TEST

/* Nothing is mapped there. */
START_TEST(hostile_assist_initiator_with_an_invalid_address_is_declined)
{
    struct granted granted = grant(NA_PLUGIN_MEM_READ);
    unsigned char *kept = destination;
    destination = (unsigned char *) (uintptr_t) 4096;
    ask(&granted.hostile, RMA_ASSIST, 5, key_of(granted.mem), 0, LENGTH,
        claim(5, 0, PIECES));
    destination = kept;
    ck_assert_uint_eq(*word(granted.hostile.ring, DECLINED), 5);
    end_grant(&granted);
}
END_TEST

START_TEST(hostile_assist_of_invalid_length_ends_connection)
{
    static const uint32_t lengths[] = {0, MOST + 1, UINT32_MAX};
    static const unsigned char data[16];
    struct rma_record record = {
        .verb = RMA_ASSIST, .number = 1, .length = LENGTH};

    open_both();
    struct hostile_peer hostile = hostile_open(&hostile_target);
    hostile_await_answer(&hostile);
    if (_i < 3)
        record.length = lengths[_i];
    hostile_put_rma(&hostile, &record, data, _i == 3 ? 15 : 16);
    expect_hangup(hostile.socket);
    ck_assert_uint_eq(node_warnings(&hostile_target), 1);
    hostile_close(&hostile);
    check_friend();
    close_both();
}
END_TEST

/* The peer's end of a connection, with a registry that has its memory. assists:
 * flags of its hello. */
static struct hostile_peer
open_owner(uint32_t assists)
{
    struct hostile_peer peer = {.socket = call(&hostile_target),
        .memory = make_ring_memory(),
        .registry = -1};
    const uint64_t entry[4] = {
        FOE_KEY, UINT64_C(1) << 32 | 3, (uintptr_t) source, LENGTH};
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

/* A get by the class from the peer, or a put to it. */
struct asked {
    struct hostile_peer hostile;
    na_plugin_addr *peer;
    na_plugin_mem *local;
    na_plugin_mem *remote;
    void *op;
};

/* Submits it; assists: whether the peer offers to help. */
static void
begin_with(struct asked *asked, bool put, uint32_t assists)
{
    unsigned char bytes[42] = {3, 3, 1, 0, 2};
    const uint64_t rest[4] = {FOE_OWNER, FOE_KEY, (uintptr_t) source, LENGTH};
    char buffer[64];

    memcpy(bytes + 8, rest, sizeof(rest));
    bytes[40] = 1; /* the slot */
    asked->hostile = open_owner(assists);
    hostile_await_answer(&asked->hostile);
    void *recv = post_unexpected(&hostile_target, buffer, sizeof(buffer));
    put_word(asked->hostile.ring, 0, UNEXPECTED, 0, 6, 9);
    asked->hostile.position = 64;
    asked->peer = await_message(&hostile_target, 0, recv, 6, 9, true).source;
    free(recv);
    asked->local =
        expose(destination, NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE);
    ck_assert_int_eq(hostile_target.ops->mem_deserialize(hostile_target.cls,
                         bytes, sizeof(bytes), &asked->remote),
        NA_PLUGIN_OK);
    asked->op = op_new(&hostile_target);
    ck_assert_int_eq((put ? hostile_target.ops->put : hostile_target.ops->get)(
                         hostile_target.ctx[0], asked->op, asked->local, 0,
                         asked->remote, 0, LENGTH, asked->peer, 0, 0),
        NA_PLUGIN_PENDING);
}

/* A get with which the peer has been asked to help. */
static void
begin(struct asked *asked)
{
    begin_with(asked, false, HELLO_ASSISTS);
}

static void
finish(struct asked *asked)
{
    hostile_target.ops->mem_remote_free(hostile_target.cls, asked->remote);
    hostile_target.ops->mem_deregister(hostile_target.cls, asked->local);
    hostile_target.ops->addr_free(hostile_target.cls, asked->peer);
    free(asked->op);
}

/* The peer has not taken anything: the class copies alone. */
START_TEST(hostile_assist_owner_that_does_nothing)
{
    struct asked asked;

    open_both();
    allocate();
    begin(&asked);
    ck_assert_int_eq(
        await_op(&hostile_target, 0, asked.op).status, NA_PLUGIN_OK);
    ck_assert_uint_eq(count_pieces(destination, 0x77), PIECES);
    finish(&asked);
    hostile_close(&asked.hostile);
    close_both();
}
END_TEST

/* A put to a peer that helps with gets alone, or that does not do what it offers:
 * the class copies alone. */
START_TEST(hostile_assist_owner_that_does_nothing_for_a_put)
{
    struct asked asked;

    open_both();
    allocate();
    begin_with(&asked, true, _i == 0 ? HELLO_ASSISTS : HELLO_ASSISTS_PUTS);
    pump();
    ck_assert_uint_eq(*word(asked.hostile.theirs, CLAIM) != 0, _i != 0);
    ck_assert_int_eq(
        await_op(&hostile_target, 0, asked.op).status, NA_PLUGIN_OK);
    ck_assert_uint_eq(count_pieces(source, 0x11), PIECES);
    finish(&asked);
    hostile_close(&asked.hostile);
    close_both();
}
END_TEST

/* It overwrites the claim word while the class copies. Whatever it writes, a get
 * that succeeds has all bytes, and one that the peer keeps from ending ends with
 * its connection. */
START_TEST(hostile_assist_owner_that_overwrites_the_claim)
{
    struct asked asked;

    open_both();
    allocate();
    begin(&asked);
    _Atomic uint64_t *theirs = word(asked.hostile.theirs, CLAIM);
    na_plugin_event event = {.op = NULL};
    for (uint32_t i = 0; i < 50 && event.op == NULL; i++) {
        uint64_t now = *theirs;
        uint32_t number = (uint32_t) (now >> 32);
        switch (_i) {
        case 0:
            *theirs = claim(number, 0, 1);
            break;
        case 1:
            *theirs = claim(number, 3, 2);
            break;
        case 2:
            *theirs = claim(number + 1, 0, 4);
            break;
        case 3:
            *theirs = UINT64_MAX;
            break;
        case 4:
            *theirs = 0;
            break;
        default:
            *word(asked.hostile.theirs, DECLINED) = number;
            break;
        }
        if (hostile_target.ops->poll(hostile_target.ctx[0], &event, 1) != 1)
            event.op = NULL;
    }
    if (event.op == NULL) {
        hostile_close(&asked.hostile);
        event = await_op(&hostile_target, 0, asked.op);
        ck_assert_int_ne(event.status, NA_PLUGIN_OK);
    } else {
        ck_assert_ptr_eq(event.op, asked.op);
        ck_assert_int_eq(event.status, NA_PLUGIN_OK);
        hostile_close(&asked.hostile);
    }
    if (event.status == NA_PLUGIN_OK)
        ck_assert_uint_eq(count_pieces(destination, 0x77), PIECES);
    check_friend();
    finish(&asked);
    close_both();
}
END_TEST

/* It takes a piece and copies nothing: the get or put waits, also when it is
 * cancelled, as the piece may still be copied, until the peer has declined or
 * ended. */
START_TEST(hostile_assist_owner_that_takes_a_piece_and_waits)
{
    struct asked asked;
    bool cancelled = _i % 4 >= 2;
    bool put = _i >= 4;

    open_both();
    allocate();
    begin_with(&asked, put, put ? HELLO_ASSISTS_PUTS : HELLO_ASSISTS);
    _Atomic uint64_t *theirs = word(asked.hostile.theirs, CLAIM);
    na_plugin_event event;
    while (*theirs == 0)
        ck_assert_int_eq(
            hostile_target.ops->poll(hostile_target.ctx[0], &event, 1), 0);
    uint64_t now = *theirs;
    *theirs = now - 1;
    if (cancelled)
        hostile_target.ops->cancel(hostile_target.ctx[0], asked.op);
    expect_silence(&hostile_target, 0, 50);
    if (_i % 2 == 0)
        *word(asked.hostile.theirs, DECLINED) = now >> 32;
    else
        hostile_close(&asked.hostile);
    event = await_op(&hostile_target, 0, asked.op);
    if (cancelled) {
        ck_assert_int_eq(event.status, NA_PLUGIN_E_CANCELED);
    } else if (_i % 2 == 0) {
        ck_assert_int_eq(event.status, NA_PLUGIN_OK);
        ck_assert_uint_eq(
            put ? count_pieces(source, 0x11) : count_pieces(destination, 0x77),
            PIECES);
    } else {
        ck_assert_int_eq(event.status, NA_PLUGIN_E_HOSTUNREACH);
    }
    if (_i % 2 == 0)
        hostile_close(&asked.hostile);
    finish(&asked);
    close_both();
}
END_TEST

/* Submits another get of the same bytes. */
static void *
get_again(const struct asked *asked)
{
    void *op = op_new(&hostile_target);

    ck_assert_int_eq(
        hostile_target.ops->get(hostile_target.ctx[0], op, asked->local, 0,
            asked->remote, 0, LENGTH, asked->peer, 0, 0),
        NA_PLUGIN_PENDING);
    return op;
}

/* The next operation to end, after a number of polls, is this one. */
static void
expect_end(const void *op)
{
    na_plugin_event event;

    while (hostile_target.ops->poll(hostile_target.ctx[0], &event, 1) != 1)
        ;
    ck_assert_ptr_eq(event.op, op);
    ck_assert_int_eq(event.status, NA_PLUGIN_OK);
}

/* It takes a piece and is slow to copy it: the next get goes on meanwhile, and the
 * one it delays ends before those behind, so that one of them can be helped with. */
START_TEST(hostile_assist_owner_that_is_slow_delays_one_get)
{
    struct asked asked;
    na_plugin_event event = {.op = NULL};

    open_both();
    allocate();
    begin(&asked);
    void *second = get_again(&asked), *third = get_again(&asked);
    _Atomic uint64_t *theirs = word(asked.hostile.theirs, CLAIM);
    while (*theirs == 0)
        ck_assert_int_eq(
            hostile_target.ops->poll(hostile_target.ctx[0], &event, 1), 0);
    uint64_t now = *theirs;
    *theirs = now - 1;
    expect_end(second);
    ck_assert_uint_eq(count_pieces(destination, 0x77), PIECES);
    memset(destination + LENGTH - PIECE, 0x11, PIECE); /* the piece taken */
    *word(asked.hostile.theirs, DECLINED) = now >> 32;
    expect_end(asked.op);
    /* by the first get: the third has not come so far */
    ck_assert_uint_eq(count_pieces(destination, 0x77), PIECES);
    expect_end(third);
    free(second);
    free(third);
    finish(&asked);
    hostile_close(&asked.hostile);
    close_both();
}
END_TEST

/* While a piece may be written its context is not destroyed. Beside it, in a
 * thread, the peer hangs up, as it does after its last access. */
static _Atomic bool hung_up;

static void *
hang_up_later(void *arg)
{
    const struct timespec pause = {.tv_nsec = 200000000};

    nanosleep(&pause, NULL);
    atomic_store(&hung_up, true);
    hostile_close(arg);
    return NULL;
}

START_TEST(hostile_assist_context_is_destroyed_after_the_last_access)
{
    struct asked asked;
    pthread_t thread;

    open_both();
    allocate();
    begin(&asked);
    _Atomic uint64_t *theirs = word(asked.hostile.theirs, CLAIM);
    na_plugin_event event;
    while (*theirs == 0)
        ck_assert_int_eq(
            hostile_target.ops->poll(hostile_target.ctx[0], &event, 1), 0);
    *theirs = *theirs - 1;
    if (_i == 1) /* the connection ends, and the peer takes no notice yet */
        hostile_target.ops->addr_forget(hostile_target.cls, asked.peer);
    ck_assert_int_eq(
        pthread_create(&thread, NULL, hang_up_later, &asked.hostile), 0);
    hostile_target.ops->ctx_destroy(hostile_target.ctx[0]);
    ck_assert(atomic_load(&hung_up));
    pthread_join(thread, NULL);
    finish(&asked);
    ck_assert_int_eq(hostile_target.ops->ctx_create(hostile_target.cls, 0,
                         &hostile_target, &hostile_target.ctx[0]),
        NA_PLUGIN_OK);
    close_both();
}
END_TEST

/* Marks that one peer has left must not pass for another's. */
START_TEST(hostile_assist_ranges_of_two_peers_differ)
{
    uint32_t numbers[2];

    open_both();
    for (uint32_t i = 0; i < 2; i++) {
        struct asked asked;
        allocate();
        begin(&asked);
        _Atomic uint64_t *theirs = word(asked.hostile.theirs, CLAIM);
        na_plugin_event event;
        while (*theirs == 0)
            ck_assert_int_eq(
                hostile_target.ops->poll(hostile_target.ctx[0], &event, 1), 0);
        numbers[i] = (uint32_t) (*theirs >> 32);
        ck_assert_int_eq(
            await_op(&hostile_target, 0, asked.op).status, NA_PLUGIN_OK);
        finish(&asked);
        hostile_close(&asked.hostile);
        free(source);
        free(destination);
    }
    ck_assert_uint_ne(numbers[0], numbers[1]);
    close_both();
}
END_TEST

int
main(void)
{
    if (!kernel_copies())
        return 77;
    TCase *initiator = tcase_create("initiator");
    TCase *owner = tcase_create("owner");
    tcase_add_test(initiator, hostile_assist_initiator_gets_what_is_granted);
    tcase_add_test(initiator, hostile_assist_initiator_puts_what_is_granted);
    tcase_add_loop_test(
        initiator, hostile_assist_initiator_gets_nothing_else, 0, 4);
    tcase_add_loop_test(
        initiator, hostile_assist_initiator_puts_nothing_else, 0, 5);
    tcase_add_loop_test(initiator,
        hostile_assist_initiator_with_an_invalid_claim_gets_nothing, 0, 6);
    tcase_add_test(initiator,
        hostile_assist_initiator_with_an_invalid_address_is_declined);
    tcase_add_loop_test(
        initiator, hostile_assist_of_invalid_length_ends_connection, 0, 4);
    tcase_add_test(owner, hostile_assist_owner_that_does_nothing);
    tcase_add_loop_test(
        owner, hostile_assist_owner_that_overwrites_the_claim, 0, 6);
    tcase_add_loop_test(
        owner, hostile_assist_owner_that_takes_a_piece_and_waits, 0, 8);
    tcase_add_test(owner, hostile_assist_owner_that_is_slow_delays_one_get);
    tcase_add_loop_test(
        owner, hostile_assist_owner_that_does_nothing_for_a_put, 0, 2);
    tcase_add_loop_test(
        owner, hostile_assist_context_is_destroyed_after_the_last_access, 0, 2);
    tcase_add_test(owner, hostile_assist_ranges_of_two_peers_differ);
    return run_cases("hostile_assist", (TCase *const[]){initiator, owner}, 2);
}
