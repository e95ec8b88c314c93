/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process may do around the library: have two copies of it, have classes
 * of all transports, fork, change folder and user, and unload it.
 *
 *   test_process SHARED STATIC INFO...
 *
 * The modules of node.c by how the library is linked to them, and the
 * transports. This program itself is not linked to the library. */
#include "entries.h"
#include "node.h"
#include "runner.h"

#include <check.h>
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRANSPORTS_MAX 8
#define TEXT_SIZE 256
#define NOBODY 65534
#define CYCLES 20U
#define UNLOADED_MAX 8192 /* bytes */

static const char *shared_path, *static_path;
static char **transports;
static int transport_count;

/* Loads a module; its library searches plugins as the environment sets.
 * handle_p may be NULL. */
static const struct node_ops *
load(const char *path, void **handle_p)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct node_ops *ops = handle ? dlsym(handle, NODE_OPS) : NULL;

    ck_assert_msg(ops, "%s", dlerror());
    if (handle_p)
        *handle_p = handle;
    return ops;
}

/* A node that serves, and one that calls it; not always of the same copy. */
struct pair {
    const struct node_ops *target_ops, *origin_ops;
    struct node *target, *origin;
    char address[TEXT_SIZE];
};

static void
pair_open(struct pair *pair, const struct node_ops *target_ops,
    const struct node_ops *origin_ops, const char *info)
{
    *pair = (struct pair){.target_ops = target_ops, .origin_ops = origin_ops};
    pair->target = target_ops->open(info, true);
    ck_assert_msg(pair->target, "%s: target", info);
    pair->origin = origin_ops->open(info, false);
    ck_assert_msg(pair->origin, "%s: origin", info);
    ck_assert(
        target_ops->address(pair->target, pair->address, sizeof pair->address));
}

static void
pair_call(struct pair *pair)
{
    ck_assert(pair->origin_ops->call(pair->origin, pair->address));
}

static void
pair_close(struct pair *pair)
{
    ck_assert(pair->origin_ops->close(pair->origin));
    ck_assert(pair->target_ops->close(pair->target));
}

/* Whether an object is mapped whose path contains a text. */
static bool
mapped(const char *text)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1024];
    bool found = false;

    ck_assert_ptr_nonnull(maps);
    while (!found && fgets(line, sizeof line, maps))
        found = strstr(line, text) != NULL;
    (void) fclose(maps);
    return found;
}

START_TEST(two_copies_in_one_process_call_each_other)
{
    const struct node_ops *shared = load(shared_path, NULL);
    const struct node_ops *own = load(static_path, NULL);
    struct pair there, back;

    ck_assert_ptr_ne(shared, own);
    pair_open(&there, shared, own, transports[_i]);
    pair_open(&back, own, shared, transports[_i]);
    for (int i = 0; i < 3; i++) {
        pair_call(&there);
        pair_call(&back);
    }
    /* one copy's classes end, the other's continue */
    pair_close(&there);
    pair_call(&back);
    pair_close(&back);
}
END_TEST

START_TEST(one_process_has_classes_of_all_transports)
{
    const struct node_ops *ops = load(shared_path, NULL);
    struct pair pairs[TRANSPORTS_MAX];

    for (int i = 0; i < transport_count; i++)
        pair_open(&pairs[i], ops, ops, transports[i]);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < transport_count; i++)
            pair_call(&pairs[i]);
    for (int i = 0; i < transport_count; i++)
        pair_close(&pairs[i]);
}
END_TEST

START_TEST(opening_one_transport_maps_no_other)
{
    const struct node_ops *ops = load(shared_path, NULL);
    struct pair pair;

    pair_open(&pair, ops, ops, "na+sm");
    pair_call(&pair);
    ck_assert(mapped("libna_sm"));
    ck_assert(!mapped("libna_ofi") && !mapped("libfabric"));
    ck_assert(!mapped("libna_ucx") && !mapped("libucp"));
    pair_close(&pair);
}
END_TEST

static void
await_success(pid_t child)
{
    int status = -1;

    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(
        WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %#x", status);
}

/* exit() also runs what the library and the transports' libraries registered
 * for the end of the process. */
START_TEST(child_that_exits_or_execs_leaves_the_classes_as_they_are)
{
    const struct node_ops *ops = load(shared_path, NULL);
    struct pair pair;
    struct node *later;
    pid_t child;

    pair_open(&pair, ops, ops, transports[_i]);
    pair_call(&pair);
    child = fork();
    if (child == 0)
        exit(0);
    await_success(child);
    child = fork();
    if (child == 0) {
        /* a copy of the address space, of which nothing may be left open */
        (void) execl("/bin/sh", "sh", "-c",
            "ls -l /proc/self/fd | grep -E 'memfd|socket|eventfd|eventpoll' >&2"
            " && exit 1; exit 0",
            (char *) NULL);
        _exit(127);
    }
    await_success(child);
    pair_call(&pair);
    later = ops->open(transports[_i], false);
    ck_assert_ptr_nonnull(later);
    ck_assert(ops->call(later, pair.address));
    ck_assert(ops->close(later));
    pair_close(&pair);
}
END_TEST

/* Only na+sm: the libraries below the others don't promise it. */
START_TEST(child_opens_anew_when_all_classes_were_closed)
{
    const struct node_ops *ops = load(shared_path, NULL);
    struct pair pair;
    pid_t child;

    pair_open(&pair, ops, ops, "na+sm");
    pair_call(&pair);
    pair_close(&pair);
    child = fork();
    if (child == 0) {
        pair_open(&pair, ops, ops, "na+sm");
        pair_call(&pair);
        pair_close(&pair);
        _exit(0);
    }
    await_success(child);
    pair_open(&pair, ops, ops, "na+sm");
    pair_call(&pair);
    pair_close(&pair);
}
END_TEST

START_TEST(folder_may_change_and_vanish)
{
    char folder[] = "/tmp/talaria-process-XXXXXX";
    const struct node_ops *ops = load(shared_path, NULL);
    struct pair pair, later;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    pair_open(&pair, ops, ops, transports[_i]);
    ck_assert_int_eq(rmdir(folder), 0);
    pair_call(&pair);
    pair_open(&later, ops, ops, transports[_i]);
    pair_call(&later);
    ck_assert_int_eq(chdir("/"), 0);
    pair_call(&pair);
    pair_close(&later);
    pair_close(&pair);
}
END_TEST

static void
drop_rights(void)
{
    ck_assert_int_eq(setresgid(NOBODY, NOBODY, NOBODY), 0);
    ck_assert_int_eq(setresuid(NOBODY, NOBODY, NOBODY), 0);
}

/* A service that opens its classes as root, and then drops its rights. */
START_TEST(classes_go_on_after_rights_are_dropped)
{
    const struct node_ops *ops = load(shared_path, NULL);
    struct pair pair;

    pair_open(&pair, ops, ops, transports[_i]);
    pair_call(&pair);
    drop_rights();
    pair_call(&pair);
    pair_close(&pair);
}
END_TEST

/* The same where the caller is another process, whose memory the service may
 * not read any more. */
START_TEST(service_that_dropped_rights_serves_others)
{
    char address[TEXT_SIZE] = "";
    int to_parent[2], to_child[2];
    struct node *node;
    pid_t child;

    ck_assert_int_eq(pipe(to_parent), 0);
    ck_assert_int_eq(pipe(to_child), 0);
    child = fork();
    if (child == 0) {
        const struct node_ops *ops = load(shared_path, NULL);

        node = ops->open(transports[_i], true);
        ck_assert(node && ops->address(node, address, sizeof address));
        drop_rights();
        ck_assert_int_eq(
            write(to_parent[1], address, sizeof address), sizeof address);
        (void) close(to_child[1]);
        (void) !read(to_child[0], address, 1); /* until the parent closes */
        ck_assert(ops->close(node));
        _exit(0);
    }
    (void) close(to_child[0]);
    (void) close(to_parent[1]);
    ck_assert_int_eq(
        read(to_parent[0], address, sizeof address), sizeof address);
    const struct node_ops *ops = load(shared_path, NULL);
    node = ops->open(transports[_i], false);
    ck_assert_ptr_nonnull(node);
    ck_assert(ops->call(node, address));
    ck_assert(ops->close(node));
    (void) close(to_child[1]);
    await_success(child);
}
END_TEST

/* Uses a module in a thread, which ends after the module was unloaded. */
struct visit {
    const struct node_ops *ops;
    const char *info;
    pthread_barrier_t used, unloaded;
};

static void *
visit_run(void *arg)
{
    struct visit *visit = arg;
    struct pair pair;

    pair_open(&pair, visit->ops, visit->ops, visit->info);
    pair_call(&pair);
    pair_close(&pair);
    (void) pthread_barrier_wait(&visit->used);
    (void) pthread_barrier_wait(&visit->unloaded);
    return NULL;
}

static void
use_and_unload(const char *path, const char *info)
{
    struct visit visit = {.info = info};
    pthread_t thread;
    void *handle;

    visit.ops = load(path, &handle);
    ck_assert_int_eq(pthread_barrier_init(&visit.used, NULL, 2), 0);
    ck_assert_int_eq(pthread_barrier_init(&visit.unloaded, NULL, 2), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, visit_run, &visit), 0);
    (void) pthread_barrier_wait(&visit.used);
    ck_assert_int_eq(dlclose(handle), 0);
    (void) pthread_barrier_wait(&visit.unloaded);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    (void) pthread_barrier_destroy(&visit.used);
    (void) pthread_barrier_destroy(&visit.unloaded);
}

/* Plugins stay loaded, and with them the libraries below them. */
START_TEST(library_is_unloaded_and_loaded_again)
{
    /* libtalaria-watch has pointers into the first copy */
    bool stays = getenv("TALARIA_PUBLISH") != NULL;
    uint32_t descriptors;

    use_and_unload(shared_path, transports[_i]);
    descriptors = count_descriptors();
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(mapped("libtalaria.so"), stays);
        use_and_unload(shared_path, transports[_i]);
        use_and_unload(static_path, transports[_i]);
    }
    ck_assert(!mapped(static_path));
    ck_assert_uint_eq(count_descriptors(), descriptors);
}
END_TEST

/* What an unloaded library leaves allocated: paths of plugins, and the last
 * report of a thread. Only na+sm: other libraries keep more. */
START_TEST(unloading_leaves_little_memory)
{
    size_t before;

    for (unsigned int i = 0; i < CYCLES; i++) /* pools of glibc grow at first */
        use_and_unload(shared_path, "na+sm");
    before = mallinfo2().uordblks;
    for (unsigned int i = 0; i < CYCLES; i++)
        use_and_unload(shared_path, "na+sm");
    ck_assert_uint_lt(mallinfo2().uordblks - before, CYCLES * UNLOADED_MAX);
}
END_TEST

/* Set under a leak checker: these cases leave memory without a pointer. */
void __lsan_do_leak_check(void) __attribute__((weak));

int
main(int argc, char **argv)
{
    TCase *tcase = tcase_create("process");

    if (argc < 4 || argc > 3 + TRANSPORTS_MAX) {
        fprintf(stderr, "usage: test_process SHARED STATIC INFO...\n");
        return 2;
    }
    shared_path = argv[1];
    static_path = argv[2];
    transports = argv + 3;
    transport_count = argc - 3;
    tcase_add_loop_test(
        tcase, two_copies_in_one_process_call_each_other, 0, transport_count);
    tcase_add_test(tcase, one_process_has_classes_of_all_transports);
    tcase_add_test(tcase, opening_one_transport_maps_no_other);
    tcase_add_loop_test(tcase,
        child_that_exits_or_execs_leaves_the_classes_as_they_are, 0,
        transport_count);
    tcase_add_test(tcase, child_opens_anew_when_all_classes_were_closed);
    tcase_add_loop_test(
        tcase, folder_may_change_and_vanish, 0, transport_count);
    if (geteuid() == 0) {
        tcase_add_loop_test(
            tcase, classes_go_on_after_rights_are_dropped, 0, transport_count);
        tcase_add_loop_test(tcase, service_that_dropped_rights_serves_others, 0,
            transport_count);
    }
    if (!__lsan_do_leak_check) {
        tcase_add_loop_test(
            tcase, library_is_unloaded_and_loaded_again, 0, transport_count);
        tcase_add_test(tcase, unloading_leaves_little_memory);
    }
    return run_tcase("process", tcase);
}
