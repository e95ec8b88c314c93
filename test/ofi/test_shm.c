/* SPDX-License-Identifier: BSD-3-Clause */
/* Over libfabric's shm, which never reports a refused put or get and leaks some
 * of the owner's room for each, and whose files remain when a process is
 * killed. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pair.h"

#define BYTES 4096U
#define REFUSALS 600U /* exceeds a class's buffers for gets */
#define PLACES 65536U /* registrations visible to peers */

static const struct node_options over_shm = {
    .protocol = "shm", .anywhere = true};
static unsigned char here[BYTES], there[BYTES];

static na_plugin_mem *
expose(struct node *node, void *bytes)
{
    const na_plugin_segment segment = {bytes, BYTES};
    na_plugin_mem *mem = NULL;

    ck_assert_int_eq(
        node->ops->mem_register(node->cls,
            &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0, &segment, 1,
                NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE, 0, 0},
            &mem),
        NA_PLUGIN_OK);
    return mem;
}

/* A get of everything; asserts success. */
static void
get_all(struct pair *pair, na_plugin_mem *local, na_plugin_mem *remote)
{
    static uint32_t seed;

    fill(there, BYTES, ++seed);
    ck_assert_int_eq(
        pair_transfer(pair, local, remote, 0, BYTES, false), NA_PLUGIN_OK);
    ck_assert(is_filled(here, BYTES, seed));
}

START_TEST(shm_transfers_of_deregistered_memory_are_refused)
{
    struct pair pair;

    pair_open_as(&pair, &over_shm);
    na_plugin_mem *local = expose(&pair.a, here);
    na_plugin_mem *mem = expose(&pair.b, there);
    na_plugin_mem *remote = pair_describe(&pair, mem);
    get_all(&pair, local, remote);
    pair.b.ops->mem_deregister(pair.b.cls, mem);
    for (uint32_t i = 0; i < REFUSALS; i++)
        ck_assert_int_eq(pair_transfer(&pair, local, remote, 0,
                             i % 3 == 0 ? 100 : BYTES, i % 2 == 0),
            NA_PLUGIN_E_PERMISSION);
    pair.a.ops->mem_remote_free(pair.a.cls, remote);

    mem = expose(&pair.b, there);
    remote = pair_describe(&pair, mem);
    get_all(&pair, local, remote);
    pair.a.ops->mem_remote_free(pair.a.cls, remote);
    pair.b.ops->mem_deregister(pair.b.cls, mem);
    pair.a.ops->mem_deregister(pair.a.cls, local);
    pair_close(&pair);
}
END_TEST

/* Its owner does not poll before it deregisters the memory. */
START_TEST(shm_pending_transfers_end_with_deregistration)
{
    struct pair pair;
    bool put = _i != 0;

    pair_open_as(&pair, &over_shm);
    na_plugin_mem *local = expose(&pair.a, here);
    na_plugin_mem *mem = expose(&pair.b, there);
    na_plugin_mem *remote = pair_describe(&pair, mem);
    get_all(&pair, local, remote);
    fill(put ? here : there, BYTES, 200);
    ck_assert_int_eq(
        (put ? pair.a.ops->put : pair.a.ops->get)(
            pair.a.ctx, pair.a_op, local, 0, remote, 0, BYTES, pair.to_b, 0, 0),
        NA_PLUGIN_PENDING);
    pair.b.ops->mem_deregister(pair.b.cls, mem);
    ck_assert_int_eq(
        pair_await(&pair, &pair.a, pair.a_op).status, NA_PLUGIN_OK);
    ck_assert(is_filled(put ? there : here, BYTES, 200));
    pair.a.ops->mem_remote_free(pair.a.cls, remote);
    pair.a.ops->mem_deregister(pair.a.cls, local);
    pair_close(&pair);
}
END_TEST

START_TEST(shm_registrations_beyond_the_visible_ones_work)
{
    static na_plugin_mem *mems[PLACES + 2];
    struct pair pair;

    pair_open_as(&pair, &over_shm);
    na_plugin_mem *local = expose(&pair.a, here);
    for (uint32_t i = 0; i < PLACES + 2; i++)
        mems[i] = expose(&pair.b, there);
    na_plugin_mem *first = pair_describe(&pair, mems[0]);
    na_plugin_mem *last = pair_describe(&pair, mems[PLACES + 1]);
    get_all(&pair, local, first);
    get_all(&pair, local, last);
    pair.b.ops->mem_deregister(pair.b.cls, mems[PLACES + 1]);
    pair.b.ops->mem_deregister(pair.b.cls, mems[PLACES]);
    get_all(&pair, local, first);
    ck_assert_int_eq(pair_transfer(&pair, local, last, 0, BYTES, false),
        NA_PLUGIN_E_PERMISSION);
    /* one slot, which the next number does not use */
    pair.b.ops->mem_deregister(pair.b.cls, mems[PLACES / 2]);
    mems[PLACES / 2] = expose(&pair.b, there);
    pair.a.ops->mem_remote_free(pair.a.cls, last);
    last = pair_describe(&pair, mems[PLACES / 2]);
    get_all(&pair, local, last);

    for (uint32_t i = 0; i < PLACES; i++)
        pair.b.ops->mem_deregister(pair.b.cls, mems[i]);
    ck_assert_int_eq(pair_transfer(&pair, local, first, 0, BYTES, false),
        NA_PLUGIN_E_PERMISSION);
    pair.a.ops->mem_remote_free(pair.a.cls, first);
    pair.a.ops->mem_remote_free(pair.a.cls, last);
    pair.a.ops->mem_deregister(pair.a.cls, local);
    pair_close(&pair);
}
END_TEST

/* A process with an open class, which may have sent a message. */
static pid_t
start_process(const char *target)
{
    int ready[2];
    char byte = 0;

    ck_assert_int_eq(pipe(ready), 0);
    pid_t process = fork();
    if (process == 0) {
        struct node node;
        node_open(&node, &over_shm);
        if (target != NULL) {
            na_plugin_addr *to = lookup(&node, target);
            void *op = op_new(&node);
            na_plugin_event event;
            if (node.ops->send_unexpected(node.ctx, op, &byte, 1, NULL, to, 0,
                    7, 0) == NA_PLUGIN_PENDING)
                while (!poll_one(&node, &event))
                    ;
        }
        ck_assert_int_eq(write(ready[1], &byte, 1), 1);
        for (;;)
            pause();
    }
    ck_assert_int_gt(process, 0);
    close(ready[1]);
    if (target == NULL)
        ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return process;
}

static void
kill_process(pid_t process)
{
    kill(process, SIGKILL);
    ck_assert_int_eq(waitpid(process, NULL, 0), process);
}

/* Number of files that a process has in shared memory. */
static uint32_t
files_of(pid_t process)
{
    DIR *folder = opendir("/dev/shm");
    const struct dirent *entry = NULL;
    char prefix[32];
    uint32_t count = 0;

    ck_assert_ptr_nonnull(folder);
    int length = snprintf(
        prefix, sizeof(prefix), "%d:%d:", (int) process, (int) getuid());
    while ((entry = readdir(folder)) != NULL)
        count += strncmp(entry->d_name, prefix, (size_t) length) == 0;
    closedir(folder);
    return count;
}

START_TEST(shm_files_of_a_killed_process_are_removed_by_the_next)
{
    struct node node;
    pid_t dead = start_process(NULL), living = start_process(NULL);

    ck_assert_uint_eq(files_of(dead), 1);
    kill_process(dead); /* from now on any process may remove them */
    node_open(&node, &over_shm);
    ck_assert_uint_eq(files_of(dead), 0);
    ck_assert_uint_eq(files_of(living), 1);
    kill_process(living);
    node_close(&node);
    ck_assert_uint_eq(files_of(living), 0);
}
END_TEST

/* Processes that it has connected to may still open them by name. */
START_TEST(shm_files_of_a_killed_process_stay_while_peers_use_them)
{
    struct node node, other;
    char byte, text[TEXT];
    na_plugin_event event;

    node_open(&node, &over_shm);
    self_string(&node, text);
    void *op = op_new(&node);
    ck_assert_int_eq(node.ops->recv_unexpected(node.ctx, op, &byte, 1, NULL, 0),
        NA_PLUGIN_PENDING);
    pid_t process = start_process(text);
    while (!poll_one(&node, &event))
        ;
    ck_assert_int_eq(event.status, NA_PLUGIN_OK);
    node.ops->addr_free(node.cls, event.source);
    kill_process(process);
    ck_assert_uint_eq(files_of(process), 1);
    node_open(&other, &over_shm);
    node_close(&other);
    ck_assert_uint_eq(files_of(process), 1);
    node_close(&node);
    ck_assert_uint_eq(files_of(process), 0);
    free(op);
}
END_TEST

/* By a name as libfabric gives it, also to endpoints of others. */
START_TEST(shm_files_of_other_programs_are_kept)
{
    static const char zeros[16384];
    char path[64];
    struct node node;
    pid_t process = fork();

    if (process == 0)
        _exit(0);
    ck_assert_int_eq(waitpid(process, NULL, 0), process);
    snprintf(
        path, sizeof(path), "/dev/shm/%d:%d:0", (int) process, (int) getuid());
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, zeros, sizeof(zeros)), sizeof(zeros));
    close(fd);
    node_open(&node, &over_shm);
    node_close(&node);
    ck_assert_uint_eq(files_of(process), 1);
    unlink(path);
}
END_TEST

/* What another process publishes about itself. */
struct introduction {
    char address[TEXT];
    unsigned char mem[256];
    uint64_t size;
};

/* A process that registers memory, and polls. */
static pid_t
start_owner(struct introduction *introduction)
{
    int ready[2];

    ck_assert_int_eq(pipe(ready), 0);
    pid_t process = fork();
    if (process == 0) {
        struct node node;
        na_plugin_event event;
        node_open(&node, &over_shm);
        self_string(&node, introduction->address);
        introduction->size = sizeof(introduction->mem);
        ck_assert_int_eq(node.ops->mem_serialize(node.cls, expose(&node, there),
                             introduction->mem, &introduction->size),
            NA_PLUGIN_OK);
        ck_assert_int_eq(write(ready[1], introduction, sizeof(*introduction)),
            sizeof(*introduction));
        for (;;)
            poll_one(&node, &event);
    }
    ck_assert_int_gt(process, 0);
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], introduction, sizeof(*introduction)),
        sizeof(*introduction));
    close(ready[0]);
    return process;
}

#define COUNT 6U /* concurrent transfers */

/* A pair, and an owner in another process. */
struct crowd {
    struct pair pair;
    pid_t owner;
    na_plugin_addr *to_owner;
    na_plugin_mem *local; /* a's */
    na_plugin_mem *mem;   /* b's; and its remote form at a: */
    na_plugin_mem *remote;
    na_plugin_mem *apart; /* the owner's, in its remote form at a */
    void *ops[COUNT];
    bool pending[COUNT];
};

static void
crowd_open(struct crowd *crowd)
{
    struct introduction introduction;
    struct pair *pair = &crowd->pair;

    crowd->owner = start_owner(&introduction);
    pair_open_as(pair, &over_shm);
    crowd->local = expose(&pair->a, here);
    crowd->mem = expose(&pair->b, there);
    crowd->remote = pair_describe(pair, crowd->mem);
    crowd->to_owner = lookup(&pair->a, introduction.address);
    ck_assert_int_eq(pair->a.ops->mem_deserialize(pair->a.cls, introduction.mem,
                         introduction.size, &crowd->apart),
        NA_PLUGIN_OK);
    for (uint32_t i = 0; i < COUNT; i++)
        crowd->ops[i] = op_new(&pair->a);
    get_all(pair, crowd->local, crowd->remote);
}

static void
crowd_close(struct crowd *crowd)
{
    const struct node *a = &crowd->pair.a, *b = &crowd->pair.b;

    for (uint32_t i = 0; i < COUNT; i++)
        free(crowd->ops[i]);
    a->ops->addr_free(a->cls, crowd->to_owner);
    a->ops->mem_remote_free(a->cls, crowd->remote);
    a->ops->mem_remote_free(a->cls, crowd->apart);
    a->ops->mem_deregister(a->cls, crowd->local);
    b->ops->mem_deregister(b->cls, crowd->mem);
    pair_close(&crowd->pair);
}

/* Every second one is with the owner. */
static bool
is_apart(uint32_t index)
{
    return index % 2 != 0;
}

static void
crowd_begin(struct crowd *crowd, uint32_t index, bool put)
{
    const struct node *a = &crowd->pair.a;
    bool apart = is_apart(index);

    int32_t ret = (put ? a->ops->put : a->ops->get)(a->ctx, crowd->ops[index],
        crowd->local, 0, apart ? crowd->apart : crowd->remote, 0, BYTES,
        apart ? crowd->to_owner : crowd->pair.to_b, 0, 0);
    crowd->pending[index] = ret == NA_PLUGIN_PENDING;
    if (!crowd->pending[index])
        ck_assert(apart && ret == NA_PLUGIN_E_HOSTUNREACH);
}

/* All end: those with b succeed, those with the owner may fail. */
static void
crowd_await(struct crowd *crowd, bool may_work)
{
    uint64_t end = now_ns() + DEADLINE_NS;
    na_plugin_event event;
    uint32_t index = 0;

    while (index < COUNT) {
        index = crowd->pending[index] ? index : index + 1;
        ck_assert_msg(now_ns() < end, "transfer %u has no end", index);
        ck_assert(!poll_one(&crowd->pair.b, &event));
        if (!poll_one(&crowd->pair.a, &event))
            continue;
        for (uint32_t i = 0; i < COUNT; i++)
            if (event.op == crowd->ops[i]) {
                crowd->pending[i] = false;
                ck_assert_msg(event.status == NA_PLUGIN_OK
                                  ? !is_apart(i) || may_work
                                  : is_apart(i) &&
                                        event.status == NA_PLUGIN_E_HOSTUNREACH,
                    "transfer %u: %d", i, event.status);
            }
    }
}

/* The owner is stopped before it serves them, which it has to for puts, and for
 * gets where its memory cannot be read directly. Or they are submitted after
 * its death, which was not noticed yet. */
START_TEST(shm_transfers_with_a_killed_process_end)
{
    bool put = (_i & 1) != 0, late = (_i & 2) != 0;
    static struct crowd crowd;

    crowd_open(&crowd);
    crowd_begin(&crowd, 1, put);
    crowd_await(&crowd, true);
    /* it is idle first: a lock of libfabric that it held when stopped would
     * block all others */
    usleep(20000);
    ck_assert_int_eq(kill(crowd.owner, SIGSTOP), 0);
    ck_assert_int_eq(waitpid(crowd.owner, NULL, WUNTRACED), crowd.owner);
    if (late) {
        crowd_begin(&crowd, 1, false); /* it still counts as alive */
        kill_process(crowd.owner);
    }
    for (uint32_t i = 0; i < COUNT; i++)
        if (!crowd.pending[i])
            crowd_begin(&crowd, i, put);
    if (!late)
        kill_process(crowd.owner);
    crowd_await(&crowd, late || !put);
    for (uint32_t i = 0; i < COUNT; i++)
        crowd_begin(&crowd, i, put);
    crowd_await(&crowd, false);
    crowd_close(&crowd);
}
END_TEST

/* Whether a get completes while its owner does not poll: some versions read
 * memory of the same process through its owner, which would crash. */
static bool
is_read_without_owner(
    struct pair *pair, na_plugin_mem *local, na_plugin_mem *remote)
{
    const struct node *a = &pair->a;
    na_plugin_event event;
    void *op = op_new(a);

    int32_t ret =
        a->ops->get(a->ctx, op, local, 0, remote, 0, BYTES, pair->to_b, 0, 0);
    ck_assert_int_ge(ret, 0);
    bool ended = ret == NA_PLUGIN_DONE;
    for (uint32_t i = 0; i < 100 && !ended; i++)
        ended = poll_one(&pair->a, &event);
    if (!ended)
        pair_await(pair, &pair->a, op);
    free(op);
    return ended;
}

/* The owner has unmapped it: reading fails at once, and libfabric does not
 * report which operation failed. */
START_TEST(shm_get_of_unmapped_memory_ends)
{
    struct pair pair;
    char byte;
    const struct iovec from = {&byte, 1}, to = {there, 1};

    if (getenv("FI_SHM_DISABLE_CMA") != NULL ||
        process_vm_readv(getpid(), &to, 1, &from, 1, 0) != 1)
        return; /* its owner would have to read it, and crash */
    void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(memory != MAP_FAILED);
    pair_open_as(&pair, &over_shm);
    na_plugin_mem *local = expose(&pair.a, here);
    na_plugin_mem *mem = expose(&pair.b, there);
    na_plugin_mem *remote = pair_describe(&pair, mem);
    na_plugin_mem *empty = expose(&pair.b, memory);
    na_plugin_mem *nothing = pair_describe(&pair, empty);
    get_all(&pair, local, remote);
    bool alone = is_read_without_owner(&pair, local, remote);
    munmap(memory, BYTES);
    if (alone)
        ck_assert_int_lt(
            pair_transfer(&pair, local, nothing, 0, BYTES, false), 0);
    get_all(&pair, local, remote);
    pair.a.ops->mem_remote_free(pair.a.cls, remote);
    pair.a.ops->mem_remote_free(pair.a.cls, nothing);
    pair.b.ops->mem_deregister(pair.b.cls, mem);
    pair.b.ops->mem_deregister(pair.b.cls, empty);
    pair.a.ops->mem_deregister(pair.a.cls, local);
    pair_close(&pair);
}
END_TEST

/* An owner in its own thread, which deregisters each registration after a
 * moment. */
struct fickle {
    struct node *node;
    pthread_mutex_t lock; /* guards the next two */
    unsigned char bytes[256];
    uint64_t size;
    atomic_bool stop;
};

static void *
deregister_often(void *arg)
{
    struct fickle *fickle = arg;
    struct node *node = fickle->node;
    na_plugin_event event;

    for (uint32_t i = 0; !atomic_load(&fickle->stop); i++) {
        na_plugin_mem *mem = expose(node, there);
        pthread_mutex_lock(&fickle->lock);
        fickle->size = sizeof(fickle->bytes);
        ck_assert_int_eq(node->ops->mem_serialize(
                             node->cls, mem, fickle->bytes, &fickle->size),
            NA_PLUGIN_OK);
        pthread_mutex_unlock(&fickle->lock);
        for (uint32_t j = 0; j < i % 64; j++)
            poll_one(node, &event);
        node->ops->mem_deregister(node->cls, mem);
    }
    return NULL;
}

START_TEST(shm_puts_racing_with_deregistration_end)
{
    static struct fickle fickle;
    struct pair pair;
    pthread_t thread;

    pair_open_as(&pair, &over_shm);
    na_plugin_mem *local = expose(&pair.a, here);
    na_plugin_mem *mem = expose(&pair.b, there);
    na_plugin_mem *remote = pair_describe(&pair, mem);
    get_all(&pair, local, remote);
    fickle.node = &pair.b;
    ck_assert_int_eq(pthread_mutex_init(&fickle.lock, NULL), 0);
    ck_assert_int_eq(
        pthread_create(&thread, NULL, deregister_often, &fickle), 0);
    uint64_t until = now_ns() + UINT64_C(2000000000);
    uint32_t count = 0;
    for (; now_ns() < until; count++) {
        const struct node *a = &pair.a;
        na_plugin_mem *passing = NULL;
        na_plugin_event event;
        pthread_mutex_lock(&fickle.lock);
        int32_t ret = fickle.size == 0
                          ? NA_PLUGIN_E_AGAIN
                          : a->ops->mem_deserialize(
                                a->cls, fickle.bytes, fickle.size, &passing);
        pthread_mutex_unlock(&fickle.lock);
        if (ret != NA_PLUGIN_OK)
            continue;
        ck_assert_int_eq(a->ops->put(a->ctx, pair.a_op, local, 0, passing, 0,
                             BYTES, pair.to_b, 0, 0),
            NA_PLUGIN_PENDING);
        uint64_t end = now_ns() + DEADLINE_NS;
        while (!poll_one(&pair.a, &event))
            ck_assert_msg(now_ns() < end, "put %u has no end", count);
        ck_assert(event.status == NA_PLUGIN_OK ||
                  event.status == NA_PLUGIN_E_PERMISSION);
        a->ops->mem_remote_free(a->cls, passing);
    }
    atomic_store(&fickle.stop, true);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    pair.a.ops->mem_remote_free(pair.a.cls, remote);
    pair.b.ops->mem_deregister(pair.b.cls, mem);
    pair.a.ops->mem_deregister(pair.a.cls, local);
    pair_close(&pair);
}
END_TEST

int
main(void)
{
    warm_up();
    if (is_refused(&over_shm))
        return 77;
    TCase *cases = tcase_create("shm");

    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, shm_transfers_of_deregistered_memory_are_refused);
    tcase_add_loop_test(
        cases, shm_pending_transfers_end_with_deregistration, 0, 2);
    tcase_add_test(cases, shm_registrations_beyond_the_visible_ones_work);
    tcase_add_test(
        cases, shm_files_of_a_killed_process_are_removed_by_the_next);
    tcase_add_test(
        cases, shm_files_of_a_killed_process_stay_while_peers_use_them);
    tcase_add_test(cases, shm_files_of_other_programs_are_kept);
    tcase_add_test(cases, shm_get_of_unmapped_memory_ends);
    tcase_add_test(cases, shm_puts_racing_with_deregistration_end);
    tcase_add_loop_test(cases, shm_transfers_with_a_killed_process_end, 0, 4);
    return run_tcase("ofi_shm", cases);
}
