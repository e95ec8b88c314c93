/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs this program under valgrind twice, with loops of different length. The
 * difference of the counts is that of the operations alone. */
#include "perf/callgrind.h"

#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf/process.h"
#include "perf/progress.h"

#define LOOP_SHORT 1000U
#define LOOP_LONG 3000U

extern char **environ;

bool
perf_callgrind_is_available(void)
{
    char *valgrind = perf_process_find("valgrind");
    bool found = valgrind != NULL;

    free(valgrind);
    if (!found)
        fputs("talaria perf: --callgrind needs valgrind, which is not "
              "installed\n",
            stderr);
    return found;
}

/* Starts a command with its standard error connected to a stream. */
static pid_t
spawn(char *const argv[], FILE **stream_p)
{
    posix_spawn_file_actions_t actions;
    int fds[2], error;
    pid_t pid;

    if (pipe(fds) != 0)
        return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], STDERR_FILENO);
    posix_spawn_file_actions_addclose(&actions, fds[0]);
    posix_spawn_file_actions_addclose(&actions, fds[1]);
    error = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(fds[1]);
    *stream_p = error == 0 ? fdopen(fds[0], "r") : NULL;
    if (!*stream_p) {
        close(fds[0]);
        return -1;
    }
    return pid;
}

/* Runs a command and reads the count from valgrind's output; prints the output
 * if there is no count. */
static bool
collect(char *const argv[], double *collected_p)
{
    char *line = NULL, *said = NULL;
    size_t size = 0, said_size = 0;
    FILE *stream, *log = open_memstream(&said, &said_size);
    const char *mark;
    int status = -1;
    pid_t pid = log ? spawn(argv, &stream) : -1;
    bool found = false;

    if (pid > 0) {
        while (getline(&line, &size, stream) > 0) {
            fputs(line, log);
            mark = strstr(line, "Collected :");
            if (mark) {
                *collected_p = strtod(mark + strlen("Collected :"), NULL);
                found = true;
            }
        }
        fclose(stream);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
    }
    if (log)
        fclose(log);
    if (!found || status != 0) {
        perf_progress_clear();
        fprintf(stderr, "talaria perf: counting under valgrind failed\n%s",
            said ? said : "");
    }
    free(line);
    free(said);
    return found && status == 0;
}

bool
perf_callgrind_count(const char *info, const struct perf_plan *plan,
    enum perf_test test, uint64_t size, double *instructions_p)
{
    char exe[4096], size_text[24], inflight[16], count[16], flags[4];
    char *argv[] = {"valgrind", "--tool=callgrind",
        "--callgrind-out-file=/dev/null", exe, "perf", PERF_CALLGRIND_ACTION,
        NULL, NULL, size_text, inflight, count, flags, NULL, NULL};
    ssize_t length = readlink("/proc/self/exe", exe, sizeof exe - 1);
    double few, many;

    if (length < 0) {
        fputs("talaria perf: /proc is missing\n", stderr);
        return false;
    }
    exe[length] = 0;
    /* Read only; the cast is for the type of argv. */
    argv[6] = (char *) (uintptr_t) perf_level_name(plan->level);
    argv[7] = (char *) (uintptr_t) perf_test_name(test);
    argv[12] = (char *) (uintptr_t) info;
    snprintf(size_text, sizeof size_text, "%" PRIu64, size);
    snprintf(inflight, sizeof inflight, "%" PRIu32, plan->inflight);
    snprintf(flags, sizeof flags, "%d",
        (plan->busy ? 1 : 0) | (plan->single ? 2 : 0) | (plan->verify ? 4 : 0));
    snprintf(count, sizeof count, "%u", LOOP_SHORT);
    if (!collect(argv, &few))
        return false;
    snprintf(count, sizeof count, "%u", LOOP_LONG);
    if (!collect(argv, &many))
        return false;
    *instructions_p = (many - few) / (LOOP_LONG - LOOP_SHORT);
    return true;
}
