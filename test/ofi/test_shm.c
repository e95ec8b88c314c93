/* SPDX-License-Identifier: BSD-3-Clause */
/* Over libfabric's shm, which never says that it refused a put or get, and keeps
 * some of the owner's room for each; and whose files stay when a process is
 * killed. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pair.h"

#define BYTES 4096U
#define REFUSALS 600U /* more than a class has buffers for gets */
#define PLACES 65536U /* registrations that peers can see */

static const struct node_options over_shm = {
    .protocol = "shm", .anywhere = true};
static unsigned char here[BYTES], there[BYTES];

static na_plugin_mem *
expose(struct node *node, void *bytes)
{
    const na_plugin_segment segment = {bytes, BYTES};
    na_plugin_mem *mem = NULL;

    ck_assert_int_eq(node->ops->mem_register(node->cls, &segment, 1,
                         NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE,
                         NA_PLUGIN_MEM_HOST, 0, &mem),
        NA_PLUGIN_OK);
    return mem;
}

/* A get of all, which must work. */
static void
get_all(struct pair *pair, na_plugin_mem *local, na_plugin_mem *remote)
{
    static uint32_t seed;

    fill(there, BYTES, ++seed);
    ck_assert_int_eq(
        pair_transfer(pair, local, remote, 0, BYTES, false), NA_PLUGIN_OK);
    ck_assert(is_filled(here, BYTES, seed));
}

START_TEST(shm_transfers_of_what_was_deregistered_are_refused)
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
    pair.a.ops->mem_free(pair.a.cls, remote);

    mem = expose(&pair.b, there);
    remote = pair_describe(&pair, mem);
    get_all(&pair, local, remote);
    pair.a.ops->mem_free(pair.a.cls, remote);
    pair.b.ops->mem_deregister(pair.b.cls, mem);
    pair.a.ops->mem_deregister(pair.a.cls, local);
    pair_close(&pair);
}
END_TEST

/* Its owner polls not before it takes the memory back. */
START_TEST(shm_transfers_that_were_begun_end_when_their_memory_goes)
{
    struct pair pair;
    bool put = _i != 0;

    pair_open_as(&pair, &over_shm);
    na_plugin_mem *local = expose(&pair.a, here);
    na_plugin_mem *mem = expose(&pair.b, there);
    na_plugin_mem *remote = pair_describe(&pair, mem);
    get_all(&pair, local, remote);
    fill(put ? here : there, BYTES, 200);
    ck_assert_int_eq((put ? pair.a.ops->put : pair.a.ops->get)(pair.a.ctx,
                         pair.a_op, local, 0, remote, 0, BYTES, pair.to_b, 0),
        NA_PLUGIN_PENDING);
    pair.b.ops->mem_deregister(pair.b.cls, mem);
    ck_assert_int_eq(
        pair_await(&pair, &pair.a, pair.a_op).status, NA_PLUGIN_OK);
    ck_assert(is_filled(put ? there : here, BYTES, 200));
    pair.a.ops->mem_free(pair.a.cls, remote);
    pair.a.ops->mem_deregister(pair.a.cls, local);
    pair_close(&pair);
}
END_TEST

START_TEST(shm_registrations_beyond_what_peers_can_see_are_of_use)
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
    /* one place, which is not the next number's */
    pair.b.ops->mem_deregister(pair.b.cls, mems[PLACES / 2]);
    mems[PLACES / 2] = expose(&pair.b, there);
    pair.a.ops->mem_free(pair.a.cls, last);
    last = pair_describe(&pair, mems[PLACES / 2]);
    get_all(&pair, local, last);

    for (uint32_t i = 0; i < PLACES; i++)
        pair.b.ops->mem_deregister(pair.b.cls, mems[i]);
    ck_assert_int_eq(pair_transfer(&pair, local, first, 0, BYTES, false),
        NA_PLUGIN_E_PERMISSION);
    pair.a.ops->mem_free(pair.a.cls, first);
    pair.a.ops->mem_free(pair.a.cls, last);
    pair.a.ops->mem_deregister(pair.a.cls, local);
    pair_close(&pair);
}
END_TEST

/* A process with an open class, which may have sent a message to somebody. */
static pid_t
start_neighbour(const char *target)
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
                    7) == NA_PLUGIN_PENDING)
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
kill_neighbour(pid_t process)
{
    kill(process, SIGKILL);
    ck_assert_int_eq(waitpid(process, NULL, 0), process);
}

/* How many files a process has in shared memory. */
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

START_TEST(shm_files_of_a_killed_process_go_with_the_next_one)
{
    struct node node;
    pid_t dead = start_neighbour(NULL), living = start_neighbour(NULL);

    kill_neighbour(dead);
    ck_assert_uint_eq(files_of(dead), 1);
    node_open(&node, &over_shm);
    ck_assert_uint_eq(files_of(dead), 0);
    ck_assert_uint_eq(files_of(living), 1);
    kill_neighbour(living);
    node_close(&node);
    ck_assert_uint_eq(files_of(living), 0);
}
END_TEST

/* Whom it has introduced itself to may look for them by their names. */
START_TEST(shm_files_of_a_killed_process_stay_for_whom_it_had_met)
{
    struct node node, other;
    char byte, text[TEXT];
    na_plugin_event event;

    node_open(&node, &over_shm);
    self_string(&node, text);
    void *op = op_new(&node);
    ck_assert_int_eq(node.ops->recv_unexpected(node.ctx, op, &byte, 1, NULL),
        NA_PLUGIN_PENDING);
    pid_t neighbour = start_neighbour(text);
    while (!poll_one(&node, &event))
        ;
    ck_assert_int_eq(event.status, NA_PLUGIN_OK);
    node.ops->addr_free(node.cls, event.source);
    kill_neighbour(neighbour);
    ck_assert_uint_eq(files_of(neighbour), 1);
    node_open(&other, &over_shm);
    node_close(&other);
    ck_assert_uint_eq(files_of(neighbour), 1);
    node_close(&node);
    ck_assert_uint_eq(files_of(neighbour), 0);
    free(op);
}
END_TEST

/* Of a name as libfabric gives it, also to others' endpoints. */
START_TEST(shm_files_of_others_stay)
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

int
main(void)
{
    TCase *cases = tcase_create("shm");

    warm_up();
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, shm_transfers_of_what_was_deregistered_are_refused);
    tcase_add_loop_test(
        cases, shm_transfers_that_were_begun_end_when_their_memory_goes, 0, 2);
    tcase_add_test(
        cases, shm_registrations_beyond_what_peers_can_see_are_of_use);
    tcase_add_test(cases, shm_files_of_a_killed_process_go_with_the_next_one);
    tcase_add_test(
        cases, shm_files_of_a_killed_process_stay_for_whom_it_had_met);
    tcase_add_test(cases, shm_files_of_others_stay);
    return run_case("ofi_shm", cases);
}
