/* SPDX-License-Identifier: BSD-3-Clause */
/* Over libfabric's shm: processes that are killed, or stopped, while they hold the
 * lock of an endpoint's memory. Here another process takes it as libfabric does. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pair.h"

#define PAGE 4096
#define ROOM 48   /* libfabric 1.17: places left in its queue of messages */
#define QUEUE 128 /* the queue: size, mask, messages taken, messages put */
#define MESSAGE 256
#define KIND 16 /* offset of a message's kind */
#define WRITE 4 /* a kind that is followed by a second part */

#define QUIET_NS UINT64_C(300000000)
#define LONG_NS UINT64_C(2500000000) /* exceeds the time for unknown holders */

static const struct node_options over_shm = {.protocol = "shm",
    .anywhere = true,
    .word = "what it had begun was undone"};

/* The page behind an endpoint's memory. */
struct guard {
    _Atomic uint64_t holder;
    uint64_t room_before;
    uint64_t tail_before;
};

/* Offset of the lock in an endpoint's memory, by the number of the layout, which
 * is the first byte there: libfabric 1.17 to 2.4 have 4 to 8. */
static const size_t lock_offsets[] = {[4] = 24, 24, 64, 56, 56};

/* An endpoint's memory, mapped from its file. */
struct memory_file {
    unsigned char *first;
    struct guard *guard;
};

/* What another process does, a byte each; it answers with the same. */
enum order {
    HOLD = 'h', /* takes guard and lock */
    LOCK_ALONE = 'l',
    HALF = 'w', /* the same as HOLD, and puts half of a put into the queue */
    RELEASE = 'r',
    SEND = 's' /* a message */
};

struct process {
    pid_t pid;
    int orders;
    int answers;
    char address[TEXT];
};

/* "PROCESS:USER:NUMBER" of an address. */
static const char *
file_of(const char *address)
{
    const char *file = strrchr(address, '/');

    ck_assert_ptr_nonnull(file);
    return file + 1;
}

/* How an endpoint is called in a guard. */
static uint64_t
holder_of(const char *address)
{
    const char *file = file_of(address), *number = strrchr(file, ':');

    return (uint64_t) strtoul(file, NULL, 10) << 32 |
           strtoul(number + 1, NULL, 10);
}

static uint64_t *
count_at(const struct memory_file *memory, size_t offset)
{
    return (void *) (memory->first + offset);
}

static pthread_spinlock_t *
lock_of(const struct memory_file *memory)
{
    size_t layout = memory->first[0];

    ck_assert_msg(layout >= 4 && layout < sizeof(lock_offsets) / sizeof(size_t),
        "the layout %zu is not known", layout);
    return (void *) (memory->first + lock_offsets[layout]);
}

static void
map_file(const char *address, struct memory_file *memory)
{
    char path[TEXT + 16];
    struct stat status;
    off_t region = PAGE;

    snprintf(path, sizeof(path), "/dev/shm/%s", file_of(address));
    int fd = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_msg(fd >= 0, "%s", path);
    ck_assert_int_eq(fstat(fd, &status), 0);
    while (2 * region <= status.st_size)
        region *= 2;
    ck_assert_msg(status.st_size > region, "no page behind the memory");
    memory->first = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    memory->guard =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, region);
    ck_assert(memory->first != MAP_FAILED && memory->guard != MAP_FAILED);
    close(fd);
}

/* Whether half a put can be put into its queue: libfabric 1.17. */
static bool
has_queue(const struct memory_file *memory)
{
    return *count_at(memory, 64) == QUEUE &&
           *count_at(memory, QUEUE) == *count_at(memory, QUEUE + 8) + 1;
}

static void
take_guard(struct memory_file *memory, uint64_t self)
{
    uint64_t nobody = 0;

    while (!atomic_compare_exchange_weak(&memory->guard->holder, &nobody, self))
        nobody = 0;
    if (!has_queue(memory))
        return;
    memory->guard->room_before = *count_at(memory, ROOM);
    memory->guard->tail_before = *count_at(memory, QUEUE + 24);
}

/* The first of two parts, as if killed before the second. */
static void
put_half(struct memory_file *memory)
{
    uint64_t *tail = count_at(memory, QUEUE + 24);
    uint64_t index = *tail & *count_at(memory, QUEUE + 8);
    uint32_t kind = WRITE;

    if (QUEUE + 32 + (index + 1) * MESSAGE > PAGE)
        abort();
    memcpy(memory->first + QUEUE + 32 + index * MESSAGE + KIND, &kind,
        sizeof(kind));
    *tail += 1;
}

static void
send_one(struct node *node, na_plugin_addr *to)
{
    na_plugin_event event;
    void *op = op_new(node);
    char byte = 0;
    int32_t ret = NA_PLUGIN_E_AGAIN;

    while (ret == NA_PLUGIN_E_AGAIN)
        ret = node->ops->send_unexpected(
            node->ctx, op, &byte, 1, NULL, to, 0, 7, 0);
    if (ret == NA_PLUGIN_PENDING)
        while (!poll_one(node, &event))
            ;
    free(op);
}

static void
obey(enum order order, struct memory_file *memory, uint64_t self)
{
    if (order == HOLD || order == HALF)
        take_guard(memory, self);
    if (order == HOLD || order == HALF || order == LOCK_ALONE)
        pthread_spin_lock(lock_of(memory));
    if (order == HALF)
        put_half(memory);
    if (order == RELEASE) {
        pthread_spin_unlock(lock_of(memory));
        atomic_store(&memory->guard->holder, 0);
    }
}

/* Polls until there is one. */
static bool
next_order(struct node *node, int orders, char *order)
{
    struct pollfd wanted = {.fd = orders, .events = POLLIN};
    na_plugin_event event;

    while (poll(&wanted, 1, 1) == 0)
        poll_one(node, &event);
    return read(orders, order, 1) == 1;
}

/* Obeys orders about the memory of an endpoint: that of `target`, or its own. */
static void
run(const char *target, bool own, int orders, int answers)
{
    struct node node;
    struct memory_file memory;
    char address[TEXT], order = 0;

    node_open(&node, &over_shm);
    self_string(&node, address);
    na_plugin_addr *to = lookup(&node, target);
    map_file(own ? address : target, &memory);
    if (write(answers, address, sizeof(address)) != sizeof(address))
        _exit(1);
    while (next_order(&node, orders, &order)) {
        if (order == SEND)
            send_one(&node, to);
        else
            obey(order, &memory, holder_of(address));
        if (write(answers, &order, 1) != 1)
            _exit(1);
    }
    _exit(0);
}

static void
start(struct process *process, const char *target, bool own)
{
    int orders[2], answers[2];

    ck_assert_int_eq(pipe(orders), 0);
    ck_assert_int_eq(pipe(answers), 0);
    process->pid = fork();
    if (process->pid == 0) {
        close(orders[1]);
        run(target, own, orders[0], answers[1]);
    }
    ck_assert_int_gt(process->pid, 0);
    close(orders[0]);
    close(answers[1]);
    process->orders = orders[1];
    process->answers = answers[0];
    ck_assert_int_eq(
        read(process->answers, process->address, sizeof(process->address)),
        sizeof(process->address));
}

static void
order(struct process *process, char what)
{
    ck_assert_int_eq(write(process->orders, &what, 1), 1);
}

static void
await_answer(struct process *process, char what)
{
    char answer = 0;

    ck_assert_int_eq(read(process->answers, &answer, 1), 1);
    ck_assert_int_eq(answer, what);
}

static void
kill_process(struct process *process)
{
    kill(process->pid, SIGKILL);
    ck_assert_int_eq(waitpid(process->pid, NULL, 0), process->pid);
    close(process->orders);
    close(process->answers);
}

static void
stop_process(struct process *process)
{
    ck_assert_int_eq(kill(process->pid, SIGSTOP), 0);
    ck_assert_int_eq(waitpid(process->pid, NULL, WUNTRACED), process->pid);
}

/* A class that receives, a process that will take its lock, and one that only
 * sends. */
struct scene {
    struct node node;
    struct memory_file memory;
    void *op;
    struct process holder;
    struct process sender;
};

/* A message arrives. It may take long: no lock of unknown holders is broken while
 * another test of this user has a stopped process. */
static void
receive(struct scene *scene, struct process *from)
{
    struct node *node = &scene->node;
    na_plugin_event event;
    char byte = 1;
    uint64_t end = now_ns() + 4 * DEADLINE_NS;

    ck_assert_int_eq(
        node->ops->recv_unexpected(node->ctx, scene->op, &byte, 1, NULL, 0),
        NA_PLUGIN_PENDING);
    order(from, SEND);
    while (!poll_one(node, &event))
        if (now_ns() > end)
            ck_abort_msg("no message arrives");
    ck_assert_int_eq(event.status, NA_PLUGIN_OK);
    node->ops->addr_free(node->cls, event.source);
    await_answer(from, SEND);
}

static void
open_scene(struct scene *scene)
{
    char text[TEXT];

    memset(scene, 0, sizeof(*scene));
    node_open(&scene->node, &over_shm);
    self_string(&scene->node, text);
    map_file(text, &scene->memory);
    scene->op = op_new(&scene->node);
    start(&scene->holder, text, false);
    start(&scene->sender, text, false);
    receive(scene, &scene->holder);
    receive(scene, &scene->sender);
}

static void
close_scene(struct scene *scene)
{
    kill_process(&scene->sender);
    free(scene->op);
    node_close(&scene->node);
}

/* Polls for a while, in which nothing happens. */
static void
poll_quietly(struct node *node, uint64_t time_ns)
{
    na_plugin_event event;

    for (uint64_t end = now_ns() + time_ns; now_ns() < end;)
        ck_assert(!poll_one(node, &event));
}

/* One line: which process it was, or that this is not known. */
static void
ck_broken(const struct scene *scene, bool known)
{
    ck_assert_uint_eq(scene->node.matched, known);
    ck_assert_uint_eq(scene->node.warnings, !known);
}

START_TEST(shm_lock_of_a_killed_process_is_broken)
{
    static const enum order orders[] = {HOLD, LOCK_ALONE, HALF};
    struct scene scene;

    open_scene(&scene);
    uint64_t tail = *count_at(&scene.memory, QUEUE + 24);
    enum order what = orders[_i] == HALF && !has_queue(&scene.memory)
                          ? HOLD
                          : orders[_i]; /* since libfabric 1.18 */
    order(&scene.holder, (char) what);
    await_answer(&scene.holder, (char) what);
    kill_process(&scene.holder);
    receive(&scene, &scene.sender);
    ck_broken(&scene, orders[_i] != LOCK_ALONE);
    if (has_queue(&scene.memory)) /* nothing of the dead, and one message */
        ck_assert_uint_eq(*count_at(&scene.memory, QUEUE + 24), tail + 1);
    for (uint32_t i = 0; i < 3; i++)
        receive(&scene, &scene.sender);
    ck_broken(&scene, orders[_i] != LOCK_ALONE);
    close_scene(&scene);
}
END_TEST

/* A zombie is dead: its parent may never wait for it. */
START_TEST(shm_lock_of_a_killed_process_without_a_waiting_parent_is_broken)
{
    struct scene scene;

    open_scene(&scene);
    order(&scene.holder, HOLD);
    await_answer(&scene.holder, HOLD);
    kill(scene.holder.pid, SIGKILL);
    receive(&scene, &scene.sender);
    ck_broken(&scene, true);
    kill_process(&scene.holder);
    close_scene(&scene);
}
END_TEST

/* The page says who writes: killed in between, without the lock. */
START_TEST(shm_guard_of_a_killed_process_is_taken_back)
{
    struct scene scene;

    open_scene(&scene);
    atomic_store(&scene.memory.guard->holder, holder_of(scene.holder.address));
    kill_process(&scene.holder);
    receive(&scene, &scene.sender);
    ck_assert_uint_eq(scene.node.warnings + scene.node.matched, 0);
    close_scene(&scene);
}
END_TEST

START_TEST(shm_lock_of_a_stopped_process_stays)
{
    static const enum order orders[] = {HOLD, LOCK_ALONE};
    struct scene scene;
    struct process other;
    char text[TEXT];

    open_scene(&scene);
    self_string(&scene.node, text);
    start(&other, text, false);
    receive(&scene, &other);
    order(&scene.holder, (char) orders[_i]);
    await_answer(&scene.holder, (char) orders[_i]);
    stop_process(&scene.holder);
    kill_process(&other);
    poll_quietly(&scene.node, orders[_i] == HOLD ? QUIET_NS : LONG_NS);
    ck_assert_int_ne(pthread_spin_trylock(lock_of(&scene.memory)), 0);
    ck_assert_int_eq(kill(scene.holder.pid, SIGCONT), 0);
    order(&scene.holder, RELEASE);
    await_answer(&scene.holder, RELEASE);
    receive(&scene, &scene.sender);
    receive(&scene, &scene.holder);
    ck_assert_uint_eq(scene.node.warnings + scene.node.matched, 0);
    kill_process(&scene.holder);
    close_scene(&scene);
}
END_TEST

/* The peer is in the middle of looking for messages: whoever sends to it must not
 * wait for its lock. */
START_TEST(shm_send_to_a_process_that_is_killed_with_its_lock_ends)
{
    struct node node;
    struct process peer;
    na_plugin_event event;
    char text[TEXT], bytes[64] = {0};

    node_open(&node, &over_shm);
    self_string(&node, text);
    start(&peer, text, true);
    na_plugin_addr *to = lookup(&node, peer.address);
    void *op = op_new(&node);
    send_one(&node, to);
    order(&peer, HOLD);
    await_answer(&peer, HOLD);
    stop_process(&peer);
    ck_assert_int_eq(
        node.ops->send_unexpected(node.ctx, op, bytes, 64, NULL, to, 0, 7, 0),
        NA_PLUGIN_PENDING);
    poll_quietly(&node, QUIET_NS);
    kill_process(&peer);
    uint64_t end = now_ns() + DEADLINE_NS;
    while (!poll_one(&node, &event))
        if (now_ns() > end)
            ck_abort_msg("the message does not end");
    ck_assert_int_eq(event.status, NA_PLUGIN_E_HOSTUNREACH);
    free(op);
    node.ops->addr_free(node.cls, to);
    node_close(&node);
}
END_TEST

int
main(void)
{
    warm_up();
    if (is_refused(&over_shm))
        return 77;
    TCase *cases = tcase_create("shm_lock");

    tcase_set_timeout(cases, 120);
    tcase_add_loop_test(cases, shm_lock_of_a_killed_process_is_broken, 0, 3);
    tcase_add_test(
        cases, shm_lock_of_a_killed_process_without_a_waiting_parent_is_broken);
    tcase_add_test(cases, shm_guard_of_a_killed_process_is_taken_back);
    tcase_add_loop_test(cases, shm_lock_of_a_stopped_process_stays, 0, 2);
    tcase_add_test(
        cases, shm_send_to_a_process_that_is_killed_with_its_lock_ends);
    return run_tcase("ofi_shm_lock", cases);
}
