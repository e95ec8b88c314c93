/* SPDX-License-Identifier: BSD-3-Clause */
/* Puts and gets that follow each other without a poll between them. Each test runs as
 * the user of the process and, if that is root, as another one as well, since the
 * ways of copying differ; both with class a for any threads, and for one. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "registration.h"

#define OPS 40U
#define EACH 4096U /* bytes of an operation, and its distance from the next */
#define SPACE ((size_t) OPS * EACH)
#define CUTS 300U /* segments, more than one call of the kernel takes */

/* Class a transfers between its memory and that of others. */
static struct node a, b, c;
static unsigned char here[SPACE], there[SPACE], elsewhere[SPACE];

/* An operation and what its submission returned, then how it ended. */
struct act {
    void *op;
    int32_t status;
};

/* A registration of another class, as a sees it. */
struct remote {
    na_plugin_addr *peer;
    na_plugin_mem *owned; /* NULL: it is in another process */
    na_plugin_mem *mem;
};

static na_plugin_mem *local;

static int users; /* 1, or 2 if this process may become another user */

static void
change_user(int mode)
{
    if (mode % users == 0)
        return;
    ck_assert_int_eq(setgid(65534), 0);
    ck_assert_int_eq(setuid(65534), 0);
    /* as any program of that user, which this one was not when it began */
    ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 1), 0);
}

static void
open_a(int mode)
{
    node_open(&a,
        &(struct node_options){
            .threads = mode / users != 0 ? NA_PLUGIN_THREAD_SINGLE_CLASS : 0});
}

static void
fill(void)
{
    for (size_t i = 0; i < SPACE; i++) {
        here[i] = (unsigned char) (i * 7 + i / EACH);
        there[i] = (unsigned char) (i * 11 + i / EACH + 1);
        elsewhere[i] = (unsigned char) (i * 13 + i / EACH + 2);
    }
}

static void
remote_fini(struct node *node, struct remote *remote)
{
    a.ops->mem_remote_free(a.cls, remote->mem);
    a.ops->addr_free(a.cls, remote->peer);
    if (remote->owned != NULL)
        node->ops->mem_deregister(node->cls, remote->owned);
}

static struct remote
remote_of(struct node *node, na_plugin_mem *owned)
{
    struct form form = form_of(node, owned);
    struct remote remote = {.owned = owned, .mem = unpack(&a, &form)};
    char text[TEXT];

    self_string(node, text);
    remote.peer = lookup(&a, text);
    return remote;
}

/* Transfers until the connection is up, and polls once more. */
static void
connect_to(struct remote *remote)
{
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(
            transfer(&a, true, local, remote->mem, 1, remote->peer), 0);
    pump();
}

/* Opens a and one owner of memory, connected. */
static struct remote
open_two(int mode)
{
    change_user(mode);
    open_a(mode);
    node_open(&b, NULL);
    local = register_region(&a, here, SPACE, 3);
    struct remote remote = remote_of(&b, register_region(&b, there, SPACE, 3));
    connect_to(&remote);
    fill();
    return remote;
}

static void
close_two(struct remote *remote)
{
    remote_fini(&b, remote);
    a.ops->mem_deregister(a.cls, local);
    node_close(&a);
    node_close(&b);
}

/* Submits number i. */
static void
submit(struct act *act, uint32_t i, bool put, struct remote *remote,
    uint64_t offset, uint64_t length)
{
    act->op = op_new(&a);
    act->status = (put ? a.ops->put : a.ops->get)(a.ctx[0], act->op, local,
        (uint64_t) i * EACH, remote->mem, offset, length, remote->peer, 0, 0);
}

/* Submits operations on consecutive bytes, without a poll between them: all but the
 * first wait. */
static void
submit_all(struct act *acts, uint32_t count, bool put, struct remote *remote)
{
    for (uint32_t i = 0; i < count; i++)
        submit(&acts[i], i, put, remote, (uint64_t) i * EACH, EACH);
    ck_assert_int_eq(acts[0].status, NA_PLUGIN_DONE);
    for (uint32_t i = 1; i < count; i++)
        ck_assert_int_eq(acts[i].status, NA_PLUGIN_PENDING);
}

/* Waits for the end of all. */
static void
finish(struct act *acts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (acts[i].status == NA_PLUGIN_PENDING)
            acts[i].status = await_op(&a, 0, acts[i].op).status;
        else if (acts[i].status == NA_PLUGIN_DONE)
            acts[i].status = NA_PLUGIN_OK;
        free(acts[i].op);
    }
}

START_TEST(burst_is_copied_in_one_call)
{
    struct remote remote = open_two(_i);
    struct act acts[OPS];

    for (int round = 0; round < 2; round++) {
        bool put = round == 0;
        uint64_t before = node_counter(&a, "burst_bytes");
        submit_all(acts, OPS, put, &remote);
        finish(acts, OPS);
        for (uint32_t i = 0; i < OPS; i++)
            ck_assert_int_eq(acts[i].status, NA_PLUGIN_OK);
        ck_assert_mem_eq(here, there, SPACE);
        ck_assert_uint_eq(node_counter(&a, "burst_bytes") - before,
            (uint64_t) (OPS - 1) * EACH);
        for (size_t i = 0; i < SPACE; i++)
            there[i]++;
    }
    close_two(&remote);
}
END_TEST

START_TEST(burst_does_not_delay_single_operations)
{
    struct remote remote = open_two(_i);
    struct act act;

    for (uint32_t i = 0; i < 8; i++) {
        submit(&act, i, true, &remote, (uint64_t) i * EACH, EACH);
        ck_assert_int_eq(act.status, NA_PLUGIN_DONE);
        free(act.op);
        pump();
    }
    ck_assert_mem_eq(here, there, (size_t) 8 * EACH);
    ck_assert_uint_eq(node_counter(&a, "burst_bytes"), 0);
    close_two(&remote);
}
END_TEST

START_TEST(burst_of_sleeping_context_is_copied_at_once)
{
    struct remote remote = open_two(_i);
    struct act acts[4];
    uint64_t sleep_ns = 0;

    for (int i = 0; i < 100 && sleep_ns == 0; i++) {
        pump();
        a.wait->arm(a.ctx[0], &sleep_ns);
    }
    ck_assert_uint_gt(sleep_ns, 0);
    for (uint32_t i = 0; i < 4; i++) {
        submit(&acts[i], i, true, &remote, (uint64_t) i * EACH, EACH);
        ck_assert_int_eq(acts[i].status, NA_PLUGIN_DONE);
    }
    finish(acts, 4);
    ck_assert_mem_eq(here, there, (size_t) 4 * EACH);
    close_two(&remote);
}
END_TEST

START_TEST(burst_that_waits_keeps_context_awake)
{
    struct remote remote = open_two(_i);
    struct act acts[2];
    uint64_t sleep_ns = 1;

    submit_all(acts, 2, true, &remote);
    ck_assert_int_eq(a.wait->arm(a.ctx[0], &sleep_ns), NA_PLUGIN_DONE);
    finish(acts, 2);
    ck_assert_mem_eq(here, there, (size_t) 2 * EACH);
    close_two(&remote);
}
END_TEST

/* Directions and peers in turn, of odd lengths. */
START_TEST(burst_of_mixed_operations_is_right)
{
    struct remote first = open_two(_i);
    struct act acts[OPS];

    node_open(&c, NULL);
    struct remote second =
        remote_of(&c, register_region(&c, elsewhere, SPACE, 3));
    connect_to(&second);
    fill();
    for (uint32_t i = 0; i < OPS; i++)
        submit(&acts[i], i, i % 2 == 0, i % 4 < 2 ? &first : &second,
            (uint64_t) (OPS - 1 - i) * EACH, EACH - i);
    finish(acts, OPS);
    for (uint32_t i = 0; i < OPS; i++) {
        const unsigned char *far = i % 4 < 2 ? there : elsewhere;
        ck_assert_int_eq(acts[i].status, NA_PLUGIN_OK);
        ck_assert_mem_eq(here + (size_t) i * EACH,
            far + (size_t) (OPS - 1 - i) * EACH, EACH - i);
        ck_assert_uint_eq(here[(size_t) i * EACH + EACH - i / 2 - 1],
            (unsigned char) (((size_t) i * EACH + EACH - i / 2 - 1) * 7 + i));
    }
    ck_assert_uint_gt(node_counter(&a, "burst_bytes"), 0);
    remote_fini(&c, &second);
    close_two(&first);
    node_close(&c);
}
END_TEST

/* Some operations have more parts than a call takes, the others do not fit into
 * one call together. */
START_TEST(burst_with_many_segments_is_right)
{
    struct remote remote = open_two(_i);
    na_plugin_segment cuts[CUTS];
    struct act acts[6];
    na_plugin_mem *owned;
    uint32_t part = SPACE / CUTS;

    for (uint32_t i = 0; i < CUTS; i++)
        cuts[i] = (na_plugin_segment){
            .base = there + (size_t) (CUTS - 1 - i) * part, .length = part};
    ck_assert_int_eq(b.ops->mem_register(b.cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             cuts, CUTS, 3, 0, 0},
                         &owned),
        NA_PLUGIN_OK);
    unsigned char *bytes = malloc(65536);
    uint64_t size = 65536;
    struct remote cut = {.owned = owned};
    char text[TEXT];
    ck_assert_ptr_nonnull(bytes);
    ck_assert_int_eq(b.ops->mem_serialize(b.cls, owned, bytes, &size), 0);
    ck_assert_int_eq(a.ops->mem_deserialize(a.cls, bytes, size, &cut.mem), 0);
    free(bytes);
    self_string(&b, text);
    cut.peer = lookup(&a, text);

    static const uint32_t parts[6] = {1, 290, 120, 120, 120, 290};
    for (uint32_t i = 0; i < 6; i++) {
        memset(there, (int) i + 1, SPACE);
        submit(&acts[i], 0, true, &cut, 0, (uint64_t) parts[i] * part);
    }
    finish(acts, 6);
    for (uint32_t i = 0; i < 6; i++)
        ck_assert_int_eq(acts[i].status, NA_PLUGIN_OK);
    for (uint32_t i = 0; i < 290; i++)
        ck_assert_mem_eq(here + (size_t) i * part,
            there + (size_t) (CUTS - 1 - i) * part, part);
    remote_fini(&b, &cut);
    close_two(&remote);
}
END_TEST

START_TEST(burst_with_ended_registration_fails_alone)
{
    struct remote first = open_two(_i);
    struct remote second =
        remote_of(&b, register_region(&b, elsewhere, SPACE, 3));
    struct act acts[OPS];

    for (uint32_t i = 0; i < OPS; i++)
        submit(&acts[i], i, true, i % 4 == 3 ? &second : &first,
            (uint64_t) i * EACH, EACH);
    b.ops->mem_deregister(b.cls, second.owned);
    second.owned = NULL;
    finish(acts, OPS);
    ck_assert_uint_eq(
        node_counter(&a, "burst_bytes"), (uint64_t) (OPS - OPS / 4 - 1) * EACH);
    for (uint32_t i = 0; i < OPS; i++) {
        ck_assert_int_eq(acts[i].status,
            i % 4 == 3 ? NA_PLUGIN_E_INVALID_ARG : NA_PLUGIN_OK);
        if (i % 4 == 3)
            ck_assert_mem_ne(
                here + (size_t) i * EACH, elsewhere + (size_t) i * EACH, EACH);
        else
            ck_assert_mem_eq(
                here + (size_t) i * EACH, there + (size_t) i * EACH, EACH);
    }
    remote_fini(&b, &second);
    close_two(&first);
}
END_TEST

/* Makes a page one that no process can access, and that nothing else can get. */
static void
punch(unsigned char *page)
{
    int fd = memfd_create("hole", MFD_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_ptr_eq(
        mmap(page, EACH, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0),
        page);
    close(fd);
}

/* The owner has taken two pages away: the operations on them fail, no others. */
START_TEST(burst_with_missing_memory_fails_alone)
{
    struct remote remote = open_two(_i);
    struct act acts[OPS];
    unsigned char *holey = mmap(NULL, SPACE, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    ck_assert_ptr_ne(holey, MAP_FAILED);
    struct remote hole = remote_of(&b, register_region(&b, holey, SPACE, 3));
    punch(holey + (size_t) 5 * EACH);
    punch(holey + (size_t) 20 * EACH);
    submit_all(acts, OPS, true, &hole);
    uint64_t before = node_counter(&a, "put_bytes");
    finish(acts, OPS);
    /* all but the first, and those that fail */
    ck_assert_uint_eq(
        node_counter(&a, "put_bytes") - before, (uint64_t) (OPS - 3) * EACH);
    for (uint32_t i = 0; i < OPS; i++) {
        bool gone = i == 5 || i == 20;
        ck_assert_int_eq(
            acts[i].status, gone ? NA_PLUGIN_E_FAULT : NA_PLUGIN_OK);
        if (!gone)
            ck_assert_mem_eq(
                here + (size_t) i * EACH, holey + (size_t) i * EACH, EACH);
    }
    node_warnings(&a);
    remote_fini(&b, &hole);
    munmap(holey, SPACE);
    close_two(&remote);
}
END_TEST

/* Bytes move while another context of the class is polled. */
START_TEST(burst_is_copied_by_polls_of_other_context)
{
    struct remote remote = open_two(_i);
    uint64_t until = now_ns() + UINT64_C(2000000000);
    na_plugin_event event;
    na_plugin_ctx *other;
    struct act acts[2];

    ck_assert_int_eq(a.ops->ctx_create(a.cls, 1, NULL, &other), NA_PLUGIN_OK);
    submit_all(acts, 2, true, &remote);
    while (memcmp(here, there, (size_t) 2 * EACH) != 0) {
        ck_assert_int_eq(a.ops->poll(other, &event, 1), 0);
        ck_assert_msg(now_ns() < until, "nothing is copied");
    }
    finish(acts, 2);
    a.ops->ctx_destroy(other);
    close_two(&remote);
}
END_TEST

START_TEST(burst_operations_can_be_cancelled)
{
    struct remote remote = open_two(_i);
    struct act acts[OPS];

    submit_all(acts, OPS, true, &remote);
    for (uint32_t i = 1; i < OPS; i += 2)
        for (int twice = 0; twice < 2; twice++)
            ck_assert_int_eq(a.ops->cancel(a.ctx[0], acts[i].op), NA_PLUGIN_OK);
    finish(acts, OPS);
    for (uint32_t i = 0; i < OPS; i++) {
        ck_assert_int_eq(
            acts[i].status, i % 2 == 1 ? NA_PLUGIN_E_CANCELED : NA_PLUGIN_OK);
        ck_assert_int_eq(memcmp(here + (size_t) i * EACH,
                             there + (size_t) i * EACH, EACH) == 0,
            i % 2 == 0);
    }
    expect_silence(&a, 0, 5);
    close_two(&remote);
}
END_TEST

START_TEST(burst_ends_with_its_context)
{
    struct remote remote = open_two(_i);
    struct act acts[OPS];

    submit_all(acts, OPS, true, &remote);
    a.ops->ctx_destroy(a.ctx[0]);
    for (uint32_t i = 0; i < OPS; i++) {
        memset(acts[i].op, 0xFF, a.opened.op_size);
        free(acts[i].op);
    }
    ck_assert_int_eq(
        a.ops->ctx_create(a.cls, 0, NULL, &a.ctx[0]), NA_PLUGIN_OK);
    fill();
    connect_to(&remote);
    expect_silence(&a, 0, 5);
    ck_assert_mem_ne(here + EACH, there + EACH, EACH);
    close_two(&remote);
}
END_TEST

/* Shows its memory, and is killed. */
static int
owner(const struct parent *parent)
{
    struct form *form = *(struct form *const *) parent->arg;
    int mode = form->bytes[0];
    char text[TEXT];

    change_user(mode);
    node_open(&b, NULL);
    na_plugin_mem *mem = register_region(&b, there, SPACE, 3);
    *form = form_of(&b, mem);
    self_string(&b, text);
    send_line(parent->out, text);
    while (getppid() != 1)
        pump();
    return 0;
}

START_TEST(burst_to_killed_process_fails)
{
    struct form *form = mmap(NULL, sizeof(*form), PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct act acts[OPS];
    char text[TEXT];

    ck_assert_ptr_ne(form, MAP_FAILED);
    form->bytes[0] = (unsigned char) _i;
    struct child child = child_start(owner, &form);
    recv_line(child.in, text);
    change_user(_i);
    open_a(_i);
    local = register_region(&a, here, SPACE, 3);
    struct remote remote = {.peer = lookup(&a, text), .mem = unpack(&a, form)};
    connect_to(&remote);
    submit_all(acts, OPS, false, &remote);
    child_kill(&child);
    finish(acts, OPS);
    for (uint32_t i = 1; i < OPS; i++)
        ck_assert_int_eq(acts[i].status, NA_PLUGIN_E_HOSTUNREACH);
    remote_fini(NULL, &remote);
    a.ops->mem_deregister(a.cls, local);
    node_close(&a);
    munmap(form, sizeof(*form));
}
END_TEST

static atomic_bool stopped;

/* Behind each operation: whether it has ended. */
static _Atomic uint32_t *
ended(void *op)
{
    return (_Atomic uint32_t *) ((char *) op + a.opened.op_size);
}

static void
poll_once(void)
{
    /* polls of a context do not overlap */
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    na_plugin_event events[16];
    int32_t count;

    pthread_mutex_lock(&turn);
    count = a.ops->poll(a.ctx[0], events, 16);
    pthread_mutex_unlock(&turn);
    for (int32_t i = 0; i < count; i++) {
        if (events[i].status != NA_PLUGIN_OK)
            ck_abort_msg("status %d", (int) events[i].status);
        /* release: what was copied is there */
        atomic_store_explicit(ended(events[i].op), 1, memory_order_release);
    }
}

static void *
poll_all(void *arg)
{
    (void) arg;
    while (!atomic_load(&stopped))
        poll_once();
    return NULL;
}

static void
get_one(void *op, uint64_t at, struct remote *remote)
{
    memset(op, 0, a.opened.op_size);
    atomic_store_explicit(ended(op), 0, memory_order_relaxed);
    int32_t ret = a.ops->get(
        a.ctx[0], op, local, at, remote->mem, at, EACH, remote->peer, 0, 0);
    if (ret == NA_PLUGIN_DONE)
        atomic_store_explicit(ended(op), 1, memory_order_relaxed);
    else if (ret != NA_PLUGIN_PENDING)
        ck_abort_msg("get: %d", (int) ret);
}

/* One thread polls and submits, another one polls the same context. */
START_TEST(burst_is_polled_by_two_threads)
{
    struct remote remote = open_two(_i);
    pthread_t thread;
    void *ops[8];

    for (uint32_t i = 0; i < 8; i++)
        ops[i] = aligned_alloc(64, ((size_t) a.opened.op_size + 127) / 64 * 64);
    ck_assert_int_eq(pthread_create(&thread, NULL, poll_all, NULL), 0);
    for (uint32_t round = 0; round < 300; round++) {
        memset(there, (int) round, (size_t) 8 * EACH);
        poll_once();
        for (uint32_t i = 0; i < 8; i++)
            get_one(ops[i], (uint64_t) i * EACH, &remote);
        for (uint32_t i = 0; i < 8; i++)
            while (
                atomic_load_explicit(ended(ops[i]), memory_order_acquire) == 0)
                poll_once();
        if (memcmp(here, there, (size_t) 8 * EACH) != 0)
            ck_abort_msg("round %u: bytes differ", (unsigned) round);
    }
    atomic_store(&stopped, true);
    pthread_join(thread, NULL);
    for (uint32_t i = 0; i < 8; i++)
        free(ops[i]);
    close_two(&remote);
}
END_TEST

/* In every mode. */
static const TTest *const *const tests[] = {&burst_is_copied_in_one_call,
    &burst_does_not_delay_single_operations,
    &burst_of_sleeping_context_is_copied_at_once,
    &burst_that_waits_keeps_context_awake, &burst_of_mixed_operations_is_right,
    &burst_with_many_segments_is_right,
    &burst_with_ended_registration_fails_alone,
    &burst_with_missing_memory_fails_alone,
    &burst_is_copied_by_polls_of_other_context,
    &burst_operations_can_be_cancelled, &burst_ends_with_its_context,
    &burst_to_killed_process_fails};

int
main(void)
{
    users = geteuid() == 0 ? 2 : 1;
    if (!kernel_copies()) {
        puts("skipped: bursts need process_vm_readv, which is refused");
        return 77;
    }
    TCase *cases = tcase_create("burst");
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        tcase_add_loop_test(cases, *tests[i], 0, 2 * users);
    tcase_add_loop_test(cases, burst_is_polled_by_two_threads, 0, users);
    return run_cases("burst", &cases, 1);
}
