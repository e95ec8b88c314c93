/* SPDX-License-Identifier: BSD-3-Clause */
/* A node of a service chain: forwards calls along a path. */
#include "compose_node.h"

#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEP_MS 20U

/* A call that passes through this node. */
struct hop {
    SIMPLEQ_ENTRY(hop) next; /* link in node.later */
    hg_handle_t handle;
    hg_handle_t forwarded;
    hg_return_t ret;
    hop_out_t out;
    bool answered;
};

struct burst {
    hg_handle_t handle;
    _Atomic uint32_t left;
    _Atomic uint32_t right;
    uint32_t length; /* hops of the path */
};

static struct {
    enum compose_kind kind;
    hg_class_t *hg_class;
    hg_context_t *context;
    struct compose_ids ids;
    _Atomic bool stop;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    SIMPLEQ_HEAD(, hop) later;
} node = {.lock = PTHREAD_MUTEX_INITIALIZER,
    .changed = PTHREAD_COND_INITIALIZER,
    .later = SIMPLEQ_HEAD_INITIALIZER(node.later)};

struct compose_ids
compose_register(hg_class_t *hg_class, hg_rpc_cb_t on_hop, hg_rpc_cb_t on_burst)
{
    return (struct compose_ids){.hop = MERCURY_REGISTER(hg_class, "compose_hop",
                                    hop_in_t, hop_out_t, on_hop),
        .burst = MERCURY_REGISTER(
            hg_class, "compose_burst", burst_in_t, burst_out_t, on_burst)};
}

static void
require(hg_return_t ret, const char *what)
{
    if (ret == HG_SUCCESS)
        return;
    fprintf(stderr, "%s: %s\n", what, HG_Error_to_string(ret));
    _exit(1);
}

static void
hop_answer(struct hop *hop)
{
    if (hop->ret == HG_SUCCESS)
        hop->ret = HG_Respond(hop->handle, NULL, NULL, &hop->out);
    require(hop->ret, "HG_Respond");
    HG_Destroy(hop->forwarded);
    HG_Destroy(hop->handle);
    free(hop);
}

/* Hands the call to the worker, or wakes the handler that waits for it. */
static void
hop_hand_over(struct hop *hop)
{
    pthread_mutex_lock(&node.lock);
    if (node.kind == COMPOSE_LATER)
        SIMPLEQ_INSERT_TAIL(&node.later, hop, next);
    else
        hop->answered = true;
    pthread_cond_broadcast(&node.changed);
    pthread_mutex_unlock(&node.lock);
}

static hg_return_t
hop_answered(const struct hg_cb_info *info)
{
    struct hop *hop = info->arg;

    hop->ret = info->ret;
    if (hop->ret == HG_SUCCESS)
        hop->ret = HG_Get_output(hop->forwarded, &hop->out);
    if (hop->ret == HG_SUCCESS)
        hop->ret = HG_Free_output(hop->forwarded, &hop->out);
    hop->out.hops++;
    if (node.kind == COMPOSE_PLAIN)
        hop_answer(hop);
    else
        hop_hand_over(hop);
    return HG_SUCCESS;
}

/* Forwards the call to the first address of path, with the rest of the path as
 * its argument. */
static void
path_forward(
    const char *path, hg_cb_t callback, void *arg, hg_handle_t *handle_p)
{
    const char *end = strchr(path, ' ');
    char *first = strndup(path, (size_t) (end - path));
    hop_in_t in = {.path = end + 1};
    hg_addr_t addr;

    require(HG_Addr_lookup2(node.hg_class, first, &addr), "HG_Addr_lookup2");
    require(HG_Create(node.context, addr, node.ids.hop, handle_p), "HG_Create");
    require(HG_Forward(*handle_p, callback, arg, &in), "HG_Forward");
    HG_Addr_free(node.hg_class, addr);
    free(first);
}

/* Forwards the call to the next node. Returns false at the end of the path. */
static bool
hop_go_on(struct hop *hop)
{
    hop_in_t in;
    bool more;

    require(HG_Get_input(hop->handle, &in), "HG_Get_input");
    more = in.path[0] != '\0';
    if (more)
        path_forward(in.path, hop_answered, hop, &hop->forwarded);
    require(HG_Free_input(hop->handle, &in), "HG_Free_input");
    return more;
}

static void
hop_wait(struct hop *hop)
{
    pthread_mutex_lock(&node.lock);
    while (!hop->answered)
        pthread_cond_wait(&node.changed, &node.lock);
    pthread_mutex_unlock(&node.lock);
}

static hg_return_t
on_hop(hg_handle_t handle)
{
    struct hop *hop = calloc(1, sizeof *hop);

    if (!hop)
        abort();
    hop->handle = handle;
    if (node.kind == COMPOSE_LATER) {
        hop_hand_over(hop);
        return HG_SUCCESS;
    }
    if (!hop_go_on(hop)) {
        hop->out.hops = 1;
        hop_answer(hop);
    } else if (node.kind == COMPOSE_POOL) {
        hop_wait(hop);
        hop_answer(hop);
    }
    return HG_SUCCESS;
}

/* Worker step of a queued call: forwards it first; answers it once the next
 * node has answered. */
static void *
worker(void *arg)
{
    struct hop *hop;

    pthread_mutex_lock(&node.lock);
    while (!node.stop || !SIMPLEQ_EMPTY(&node.later)) {
        hop = SIMPLEQ_FIRST(&node.later);
        if (!hop) {
            pthread_cond_wait(&node.changed, &node.lock);
            continue;
        }
        SIMPLEQ_REMOVE_HEAD(&node.later, next);
        pthread_mutex_unlock(&node.lock);
        if (hop->forwarded) {
            hop_answer(hop);
        } else if (!hop_go_on(hop)) {
            hop->out.hops = 1;
            hop_answer(hop);
        }
        pthread_mutex_lock(&node.lock);
    }
    pthread_mutex_unlock(&node.lock);
    return arg;
}

static hg_return_t
burst_answered(const struct hg_cb_info *info)
{
    struct burst *burst = info->arg;
    burst_out_t answer;
    hop_out_t out;

    require(info->ret, "call of a burst");
    require(HG_Get_output(info->info.forward.handle, &out), "HG_Get_output");
    if (out.hops == burst->length)
        atomic_fetch_add(&burst->right, 1);
    HG_Free_output(info->info.forward.handle, &out);
    HG_Destroy(info->info.forward.handle);
    if (atomic_fetch_sub(&burst->left, 1) != 1)
        return HG_SUCCESS;
    answer.right = burst->right;
    require(HG_Respond(burst->handle, NULL, NULL, &answer),
        "HG_Respond to a burst");
    HG_Destroy(burst->handle);
    free(burst);
    return HG_SUCCESS;
}

static hg_return_t
on_burst(hg_handle_t handle)
{
    struct burst *burst = calloc(1, sizeof *burst);
    hg_handle_t forwarded;
    burst_in_t in;

    if (!burst)
        abort();
    require(HG_Get_input(handle, &in), "HG_Get_input of a burst");
    burst->handle = handle;
    atomic_init(&burst->left, in.count);
    for (const char *c = in.path; *c; c++)
        burst->length += *c == ' ';
    /* The last answer frees the struct, maybe before this loop returns. */
    for (uint32_t i = 0, count = in.count; i < count; i++)
        path_forward(in.path, burst_answered, burst, &forwarded);
    return HG_Free_input(handle, &in);
}

static void
trigger(unsigned timeout_ms)
{
    unsigned count;

    while (HG_Trigger(node.context, timeout_ms, 1, &count) == HG_SUCCESS)
        timeout_ms = 0;
}

static void *
triggerer(void *arg)
{
    while (!node.stop)
        trigger(STEP_MS);
    return arg;
}

static void
node_loop(int in)
{
    struct pollfd ended = {.fd = in, .events = POLLIN};

    while (poll(&ended, 1, 0) == 0) {
        hg_return_t ret = HG_Progress(node.context, STEP_MS);

        if (ret != HG_TIMEOUT)
            require(ret, "progress");
        if (node.kind != COMPOSE_POOL)
            trigger(0);
    }
}

static int
node_main(const char *info, int in, int out)
{
    pthread_t threads[COMPOSE_POOL_THREADS];
    unsigned count = node.kind == COMPOSE_POOL    ? COMPOSE_POOL_THREADS
                     : node.kind == COMPOSE_LATER ? 1
                                                  : 0;
    hg_size_t size = sizeof((struct compose_process *) 0)->address;
    char address[sizeof((struct compose_process *) 0)->address] = "";
    hg_addr_t self;

    node.hg_class = HG_Init(info, HG_TRUE);
    node.context = HG_Context_create(node.hg_class);
    if (!node.context)
        return 1;
    node.ids = compose_register(node.hg_class, on_hop, on_burst);
    require(HG_Addr_self(node.hg_class, &self), "self");
    require(HG_Addr_to_string(node.hg_class, address, &size, self),
        "HG_Addr_to_string");
    HG_Addr_free(node.hg_class, self);
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL,
                node.kind == COMPOSE_POOL ? triggerer : worker, NULL) != 0)
            return 1;
    if (write(out, address, sizeof address) != (ssize_t) sizeof address)
        return 1;
    node_loop(in);
    pthread_mutex_lock(&node.lock);
    node.stop = true;
    pthread_cond_broadcast(&node.changed);
    pthread_mutex_unlock(&node.lock);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    require(HG_Context_destroy(node.context), "HG_Context_destroy");
    require(HG_Finalize(node.hg_class), "HG_Finalize");
    return 0;
}

void
compose_start(
    struct compose_process *process, const char *info, enum compose_kind kind)
{
    int in[2], out[2];
    pid_t parent = getpid();

    ck_assert_int_eq(pipe2(in, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
    process->pid = fork();
    ck_assert_int_ge(process->pid, 0);
    if (process->pid == 0) {
        close(in[1]);
        close(out[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        node.kind = kind;
        exit(node_main(info, in[0], out[1]));
    }
    close(in[0]);
    close(out[1]);
    process->in = in[1];
    ck_assert_int_eq(read(out[0], process->address, sizeof process->address),
        (ssize_t) sizeof process->address);
    close(out[0]);
}

void
compose_stop(struct compose_process *process)
{
    int status;

    /* Closing the pipe would not end the child: nodes forked later hold the
     * write end too. */
    ck_assert_int_eq(write(process->in, "", 1), 1);
    close(process->in);
    ck_assert_int_eq(waitpid(process->pid, &status, 0), process->pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
        "node ended with status %#x", status);
}
