/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The seccomp filter, and the thread that answers its notifications. To learn
 * the caller's stack, it sends a signal to the thread in the call: the kernel
 * restarts the call afterwards and notifies again.
 */
#include "calls.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ASK_MS 200 /* a thread that blocks signals cannot report its stack */

static struct calls_rule rule;
static int listener = -1;
static atomic_bool over, failed, asked;
static atomic_long count;
static struct frames stack;

static void
tell(int number)
{
    /* The handler's return address, which the kernel put on top of the call. */
    frames_take(&stack, __builtin_return_address(0));
    atomic_store(&asked, true);
}

static void
answer(uint64_t id, int error)
{
    struct seccomp_notif_resp response = {.id = id, .error = -error};

    if (error == 0)
        response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

static bool
next(struct seccomp_notif *notice)
{
    memset(notice, 0, sizeof *notice);
    return ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, notice) == 0;
}

/* Gets the stack of a thread in its system call, and the next notification of
 * that call. Calls of other threads are answered meanwhile. */
static bool
ask(struct seccomp_notif *notice)
{
    struct pollfd ready = {.fd = listener, .events = POLLIN};
    pid_t thread = (pid_t) notice->pid;
    uint64_t id = notice->id;

    atomic_store(&asked, false);
    if (syscall(SYS_tgkill, getpid(), thread, SIGUSR1) != 0)
        return false;
    while (poll(&ready, 1, ASK_MS) == 1) {
        if (!next(notice))
            continue;
        if ((pid_t) notice->pid == thread)
            return atomic_load(&asked);
        answer(notice->id, 0);
    }
    notice->id = id;
    return false;
}

static void
decide(struct seccomp_notif *notice)
{
    bool due = false;
    long at;

    if (rule.ours_only) {
        if (!ask(notice) || frames_owner(&stack) != OWNER_OURS) {
            answer(notice->id, 0);
            return;
        }
    }
    at = atomic_fetch_add(&count, 1);
    due = rule.fail_at >= 0 && at >= rule.fail_at &&
          at <= rule.fail_at + rule.fail_more;
    if (due && !atomic_load(&failed)) {
        if (!rule.ours_only && ask(notice))
            frames_owner(&stack);
        frames_print(&stack, rule.stack_text, rule.size);
        atomic_store(&failed, true);
    }
    answer(notice->id, due ? rule.error : 0);
}

static void *
answer_all(void *arg)
{
    struct seccomp_notif notice;

    pthread_barrier_wait(arg);
    while (listener >= 0) {
        if (!next(&notice))
            continue;
        if (atomic_load(&over))
            answer(notice.id, 0);
        else
            decide(&notice);
    }
    return NULL;
}

bool
calls_begin(const struct calls_rule *wanted)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned) wanted->number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {
        .len = sizeof filter / sizeof filter[0], .filter = filter};
    struct sigaction action = {.sa_handler = tell, .sa_flags = SA_RESTART};
    static pthread_barrier_t barrier;
    pthread_t thread;

    rule = *wanted;
    frames_begin();
    sigaction(SIGUSR1, &action, NULL);
    pthread_barrier_init(&barrier, NULL, 2);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return false;
    /* Start the thread first: the filter must not apply to it. */
    if (pthread_create(&thread, NULL, answer_all, &barrier) != 0)
        return false;
    pthread_detach(thread);
    listener = (int) syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
        SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    pthread_barrier_wait(&barrier);
    return listener >= 0;
}

void
calls_end(void)
{
    atomic_store(&over, true);
}

long
calls_count(void)
{
    return atomic_load(&count);
}

bool
calls_failed(void)
{
    return atomic_load(&failed);
}
