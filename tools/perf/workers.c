/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts, commands, watches and ends the processes of a measurement. */
#include "perf/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf/process.h"
#include "perf/serve.h"
#include "perf/worker.h"

#define ADDRESS_MS 30000
#define END_MS 10000 /* for a process to end */

/* For the other processes to notice a failure. */
#define FAILURE_NS (4 * PERF_SECOND_NS)

static bool
start_server(struct perf_workers *workers, const struct perf_options *options,
    const struct token *token)
{
    struct perf_serve_options serve = {.info = options->settings.info,
        .busy = options->settings.busy,
        .single = options->settings.single,
        .idle = PERF_IDLE_DEFAULT,
        .token = token,
        .cpu = options->settings.target_cpu};
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) != 0) {
        perf_failure_set(&workers->shared->failure, "cannot make a pipe: %s",
            strerror(errno));
        return false;
    }
    workers->server = perf_process_fork();
    if (workers->server == 0) {
        close(fds[0]);
        serve.fd = fds[1];
        exit(perf_serve(&serve));
    }
    close(fds[1]);
    workers->address_fd = fds[0];
    if (workers->server > 0)
        return true;
    perf_failure_set(&workers->shared->failure, "cannot start a server: %s",
        strerror(errno));
    return false;
}

static void *
run_in_process(void *arg)
{
    struct perf_workers *workers = arg;

    perf_worker_run(workers->shared, 0, workers->cpu);
    return NULL;
}

static bool
start_in_process(struct perf_workers *workers, int32_t cpu)
{
    int error;

    workers->cpu = cpu;
    error = pthread_create(&workers->thread, NULL, run_in_process, workers);
    if (error != 0) {
        perf_failure_set(&workers->shared->failure, "cannot start a thread: %s",
            strerror(error));
        return false;
    }
    workers->in_process = true;
    workers->count = 1;
    return true;
}

bool
perf_workers_start(struct perf_workers *workers,
    const struct perf_options *options, const struct perf_plan *plan,
    const struct token *token)
{
    if (options->settings.local && !start_server(workers, options, token))
        return false;
    if (options->in_process)
        return start_in_process(workers, options->settings.origin_cpu);
    for (; workers->count < plan->clients; workers->count++) {
        pid_t pid = perf_process_fork();

        if (pid == 0)
            exit(perf_worker_run(
                workers->shared, workers->count, options->settings.origin_cpu));
        if (pid < 0) {
            perf_failure_set(&workers->shared->failure,
                "cannot start a client: %s", strerror(errno));
            return false;
        }
        workers->clients[workers->count] = pid;
    }
    return true;
}

bool
perf_workers_read_address(
    struct perf_workers *workers, char *address, size_t size)
{
    struct pollfd poll_fd = {.fd = workers->address_fd, .events = POLLIN};
    ssize_t length = 0;

    if (poll(&poll_fd, 1, ADDRESS_MS) == 1)
        length = read(workers->address_fd, address, size - 1);
    close(workers->address_fd);
    workers->address_fd = -1;
    if (length > 1 && address[length - 1] == '\n') {
        address[length - 1] = 0;
        return true;
    }
    perf_failure_set(&workers->shared->failure, "the server did not start");
    return false;
}

/* Sets the failure if a process has ended early, or after a signal. */
static void
check_children(struct perf_workers *workers)
{
    struct perf_failure *failure = &workers->shared->failure;
    int status;

    for (uint32_t i = 0; i < workers->count; i++)
        if (workers->clients[i] > 0 && waitpid(workers->clients[i], &status,
                                           WNOHANG) == workers->clients[i]) {
            workers->clients[i] = 0;
            if (WIFSIGNALED(status))
                perf_failure_set(failure, "a client was killed: %s",
                    strsignal(WTERMSIG(status)));
            else
                perf_failure_set(failure, "a client ended by itself");
        }
    if (workers->server > 0 &&
        waitpid(workers->server, &status, WNOHANG) == workers->server) {
        workers->server = 0;
        perf_failure_set(failure, "the server ended by itself");
    }
    if (perf_process_interrupted())
        perf_failure_set(failure, "interrupted");
}

bool
perf_workers_do(struct perf_workers *workers, enum perf_command command)
{
    struct perf_shared *shared = workers->shared;
    uint32_t wanted = workers->count;
    uint64_t cpu_ns, deadline = 0;

    if (perf_failure_is_set(&shared->failure))
        return false;
    if (command == PERF_COMMAND_RUN)
        wanted *= perf_plan_threads(&shared->plan);
    perf_shared_tell(shared, command);
    while (!perf_shared_wait(shared, wanted)) {
        check_children(workers);
        if (perf_clock_now() - workers->control->last_ns > PERF_PING_NS)
            perf_client_run(workers->control, PERF_RUN_ASK, &cpu_ns);
        if (!perf_failure_is_set(&shared->failure))
            continue;
        if (deadline == 0)
            deadline = perf_clock_now() + FAILURE_NS;
        else if (perf_clock_now() > deadline)
            break;
    }
    return !perf_failure_is_set(&shared->failure);
}

uint64_t
perf_workers_cpu(const struct perf_workers *workers)
{
    uint64_t sum =
        workers->in_process ? perf_clock_cpu(0 /* this process */) : 0;

    for (uint32_t i = 0; i < workers->count; i++)
        if (workers->clients[i] > 0)
            sum += perf_clock_cpu(workers->clients[i]);
    return sum;
}

void
perf_workers_end_clients(struct perf_workers *workers)
{
    if (workers->count > 0)
        perf_shared_tell(workers->shared, PERF_COMMAND_END);
    for (uint32_t i = 0; i < workers->count; i++)
        perf_process_end(workers->clients[i], false, END_MS);
    if (workers->in_process)
        pthread_join(workers->thread, NULL);
    workers->in_process = false;
    workers->count = 0;
}

void
perf_workers_end_server(struct perf_workers *workers)
{
    if (workers->address_fd >= 0)
        close(workers->address_fd);
    perf_process_end(workers->server, true, END_MS);
    workers->server = 0;
    workers->address_fd = -1;
}
