/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts, commands, watches and ends the processes of a run. */
#include "perf/crew.h"

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
#define END_MS 10000 /* for a process to end that was asked to */

/* After a failure, for the others to notice. */
#define PATIENCE_NS (4 * PERF_SECOND_NS)

static bool
start_server(struct perf_crew *crew, const struct perf_options *options,
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
        perf_failure_set(
            &crew->board->failure, "can't make a pipe: %s", strerror(errno));
        return false;
    }
    crew->server = perf_process_fork();
    if (crew->server == 0) {
        close(fds[0]);
        serve.fd = fds[1];
        exit(perf_serve(&serve));
    }
    close(fds[1]);
    crew->address_fd = fds[0];
    if (crew->server > 0)
        return true;
    perf_failure_set(
        &crew->board->failure, "can't start a server: %s", strerror(errno));
    return false;
}

bool
perf_crew_start(struct perf_crew *crew, const struct perf_options *options,
    const struct perf_plan *plan, const struct token *token)
{
    if (options->settings.local && !start_server(crew, options, token))
        return false;
    for (; crew->count < plan->clients; crew->count++) {
        pid_t pid = perf_process_fork();

        if (pid == 0)
            exit(perf_worker_run(
                crew->board, crew->count, options->settings.origin_cpu));
        if (pid < 0) {
            perf_failure_set(&crew->board->failure, "can't start a client: %s",
                strerror(errno));
            return false;
        }
        crew->clients[crew->count] = pid;
    }
    return true;
}

bool
perf_crew_read_address(struct perf_crew *crew, char *address, size_t size)
{
    struct pollfd poll_fd = {.fd = crew->address_fd, .events = POLLIN};
    ssize_t length = 0;

    if (poll(&poll_fd, 1, ADDRESS_MS) == 1)
        length = read(crew->address_fd, address, size - 1);
    close(crew->address_fd);
    crew->address_fd = -1;
    if (length > 1 && address[length - 1] == '\n') {
        address[length - 1] = 0;
        return true;
    }
    perf_failure_set(&crew->board->failure, "the server did not start");
    return false;
}

/* A process that has ended by itself has done so in disorder. */
static void
look_after(struct perf_crew *crew)
{
    struct perf_failure *failure = &crew->board->failure;
    int status;

    for (uint32_t i = 0; i < crew->count; i++)
        if (crew->clients[i] > 0 &&
            waitpid(crew->clients[i], &status, WNOHANG) == crew->clients[i]) {
            crew->clients[i] = 0;
            if (WIFSIGNALED(status))
                perf_failure_set(failure, "a client was killed: %s",
                    strsignal(WTERMSIG(status)));
            else
                perf_failure_set(failure, "a client ended by itself");
        }
    if (crew->server > 0 &&
        waitpid(crew->server, &status, WNOHANG) == crew->server) {
        crew->server = 0;
        perf_failure_set(failure, "the server ended by itself");
    }
    if (perf_process_interrupted())
        perf_failure_set(failure, "interrupted");
}

bool
perf_crew_do(struct perf_crew *crew, enum perf_command command)
{
    struct perf_board *board = crew->board;
    uint32_t wanted = crew->count;
    uint64_t cpu_ns, deadline = 0;

    if (perf_failure_is_set(&board->failure))
        return false;
    if (command == PERF_COMMAND_GO)
        wanted *= perf_plan_threads(&board->plan);
    perf_board_tell(board, command);
    while (!perf_board_wait(board, wanted)) {
        look_after(crew);
        if (perf_clock_now() - crew->control->last_ns > PERF_PING_NS)
            perf_client_run(crew->control, PERF_RUN_ASK, &cpu_ns);
        if (!perf_failure_is_set(&board->failure))
            continue;
        if (deadline == 0)
            deadline = perf_clock_now() + PATIENCE_NS;
        else if (perf_clock_now() > deadline)
            break;
    }
    return !perf_failure_is_set(&board->failure);
}

uint64_t
perf_crew_cpu(const struct perf_crew *crew)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < crew->count; i++)
        if (crew->clients[i] > 0)
            sum += perf_clock_cpu(crew->clients[i]);
    return sum;
}

void
perf_crew_end_clients(struct perf_crew *crew)
{
    if (crew->count > 0)
        perf_board_tell(crew->board, PERF_COMMAND_END);
    for (uint32_t i = 0; i < crew->count; i++)
        perf_process_end(crew->clients[i], false, END_MS);
    crew->count = 0;
}

void
perf_crew_end_server(struct perf_crew *crew)
{
    if (crew->address_fd >= 0)
        close(crew->address_fd);
    perf_process_end(crew->server, true, END_MS);
    crew->server = 0;
    crew->address_fd = -1;
}
