/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_calls TRANSPORT: each system call of a workload fails, one per run, with
 * each error that it may return. The run continues or reports an error; nothing
 * is lost, leaked or left waiting, and nothing crashes. Over na+sm every call,
 * those of the dynamic linker and the C library included; over other transports
 * only those made for libtalaria and the plugins.
 */
#include "calls.h"
#include "counts.h"
#include "run.h"
#include "runner.h"
#include "workload.h"

#include <check.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#define RUN_MS 20000
#define ERRORS_MAX 6

static const struct fault {
    const char *name;
    int number;
    int errors[ERRORS_MAX]; /* terminated by 0 */
} calls[] = {
/* AddressSanitizer maps memory too, and aborts when that fails. */
#ifndef __SANITIZE_ADDRESS__
    {"mmap", SYS_mmap, {ENOMEM}},
    {"mprotect", SYS_mprotect, {ENOMEM}},
#endif
    {"openat", SYS_openat, {EMFILE, EACCES, EINTR}},
    {"read", SYS_read, {EINTR, EIO}},
    {"fcntl", SYS_fcntl, {EMFILE, EPERM}},
    {"getrandom", SYS_getrandom, {EAGAIN, EINTR, ENOSYS}},
    {"socket", SYS_socket, {EMFILE, ENFILE, ENOBUFS, EACCES}},
    {"setsockopt", SYS_setsockopt, {ENOMEM}},
    {"getsockopt", SYS_getsockopt, {ENOBUFS, ENOPROTOOPT}},
    {"getsockname", SYS_getsockname, {ENOBUFS}},
    {"bind", SYS_bind, {EADDRINUSE, EACCES, ENOMEM}},
    {"listen", SYS_listen, {EADDRINUSE}},
    {"connect", SYS_connect, {ECONNREFUSED, EAGAIN, EINTR, ENOMEM, EPERM}},
    {"accept4", SYS_accept4,
        {EMFILE, ENFILE, ENOMEM, ECONNABORTED, EINTR, EPERM}},
    {"sendmsg", SYS_sendmsg, {ENOBUFS, ENOMEM, EAGAIN, EINTR, ETOOMANYREFS}},
    {"recvmsg", SYS_recvmsg, {ENOMEM, EAGAIN, EINTR, ECONNRESET}},
    {"sendto", SYS_sendto, {ENOBUFS, EAGAIN, EINTR}},
    {"recvfrom", SYS_recvfrom, {ENOMEM, EAGAIN, EINTR}},
    {"write", SYS_write, {EAGAIN, EINTR}},
    {"eventfd2", SYS_eventfd2, {EMFILE, ENFILE, ENOMEM}},
    {"memfd_create", SYS_memfd_create, {EMFILE, ENOMEM, EACCES, ENOSYS}},
    {"ftruncate", SYS_ftruncate, {ENOSPC, EINTR, ENOMEM}},
    {"fallocate", SYS_fallocate, {ENOSPC, EINTR, EOPNOTSUPP}},
    {"epoll_create1", SYS_epoll_create1, {EMFILE, ENFILE, ENOMEM}},
    {"epoll_ctl", SYS_epoll_ctl, {ENOMEM, ENOSPC}},
#ifdef SYS_epoll_wait /* newer architectures have epoll_pwait only */
    {"epoll_wait", SYS_epoll_wait, {EINTR}},
#endif
    {"epoll_pwait2", SYS_epoll_pwait2, {EINTR, ENOSYS}},
#ifdef SYS_poll /* or ppoll */
    {"poll", SYS_poll, {EINTR, ENOMEM}},
#endif
    {"ppoll", SYS_ppoll, {EINTR, ENOMEM}},
    {"clone", SYS_clone, {EAGAIN, ENOMEM}},
    {"clone3", SYS_clone3, {EAGAIN, ENOMEM, ENOSYS}},
    {"pidfd_open", SYS_pidfd_open, {EMFILE, EPERM, ENOMEM, ENOSYS, ESRCH}},
    {"capget", SYS_capget, {EPERM, ENOSYS}},
    {"capset", SYS_capset, {EPERM, ENOSYS}},
    {"pread64", SYS_pread64, {EIO, ENOMEM}},
    {"pwrite64", SYS_pwrite64, {EIO, ENOMEM}},
    {"process_vm_readv", SYS_process_vm_readv, {EPERM, ENOMEM, ENOSYS}},
    {"process_vm_writev", SYS_process_vm_writev, {EPERM, ENOMEM, ENOSYS}},
    {"membarrier", SYS_membarrier, {EPERM, ENOSYS, ENOMEM}},
    {"prlimit64", SYS_prlimit64, {EPERM}},
    {"getdents64", SYS_getdents64, {ENOMEM}},
#ifdef SYS_newfstatat /* 64-bit variant */
    {"newfstatat", SYS_newfstatat, {EACCES, ENOMEM}},
#else
    {"fstatat64", SYS_fstatat64, {EACCES, ENOMEM}},
#endif
};

struct what {
    const struct fault *call;
    int error;
    long fail_at;
};

static struct workload_rule rule = {.failed = calls_failed};

static bool
is_sm(void)
{
    return strncmp(rule.transport, "na+sm", 5) == 0;
}

static void
body(void *arg)
{
    const struct what *what = arg;
    struct calls_rule calls_rule = {.number = what->call->number,
        .error = what->error,
        .fail_at = what->fail_at,
        .stack_text = run_current->fault,
        .size = sizeof run_current->fault,
        .ours_only = !is_sm()};
    struct holdings before;

    workload_prepare();
    holdings_take(&before);
    before.descriptors++; /* used by the filter */
    if (!calls_begin(&calls_rule)) {
        run_fail("cannot filter system calls: %s", strerror(errno));
        run_current->not_permitted = true;
        return;
    }
    workload_run(&rule);
    calls_end();
    run_current->count = calls_count();
    run_current->failed = calls_failed();
    holdings_compare(&before);
}

static bool
run(const struct fault *call, int error, long fail_at)
{
    struct what what = {call, error, fail_at};

    return run_apart(body, &what, RUN_MS);
}

static void
describe(char *text, size_t size, const struct fault *call, int error, long at)
{
    snprintf(text, size,
        "%s %ld with %s, while it was to %s:\n%srequested by"
        "%s\n%s",
        call->name, at, strerror(error), run_current->doing, run_current->text,
        run_current->fault, run_current->log);
}

static void
ck_run(const struct fault *call, int error, long at)
{
    char text[3 * RUN_TEXT];

    if (run(call, error, at))
        return;
    describe(text, sizeof text, call, error, at);
    ck_abort_msg("%s", text);
}

START_TEST(failed_system_call_is_reported_and_leaks_nothing)
{
    const struct fault *call = &calls[_i];
    long count, stride,
        runs = test_count(is_sm() ? TEST_FAULT_CALLS : TEST_FAULT_CALLS_HOSTS);

    if (!is_sm() && _i % (int) test_count(TEST_FAULT_KINDS) != 0)
        return;
    ck_run(call, 0, -1);
    count = run_current->count;
    stride = count > runs ? count / runs + 1 : 1;
    for (int i = 0; i < ERRORS_MAX && call->errors[i] != 0; i++)
        for (long at = i % stride; at < count; at += stride)
            ck_run(call, call->errors[i], at);
}
END_TEST

int
main(int argc, char **argv)
{
    TCase *tcase = tcase_create("calls");
    const int count = (int) (sizeof calls / sizeof calls[0]);

    if (argc < 2)
        return 2;
    rule.transport = argv[1];
    run(&calls[0], 0, -1);
    if (run_current->not_permitted) {
        printf("skipped: %s", run_current->text);
        return 77;
    }
    tcase_set_timeout(tcase, 3600);
    tcase_add_loop_test(
        tcase, failed_system_call_is_reported_and_leaks_nothing, 0, count);
    return run_tcase("calls", tcase);
}
