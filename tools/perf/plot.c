/* SPDX-License-Identifier: BSD-3-Clause */
/* talaria perf plot: reads results, runs gnuplot with a script, and writes its
 * output. */
#include "perf/plot.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/tool.h"
#include "perf/plot_script.h"

#define FILES_MAX 32

struct request {
    const char *paths[FILES_MAX];
    size_t count;
    const char *output;
    struct perf_plot plot;
    struct perf_result results[FILES_MAX];
    struct perf_series series[FILES_MAX * PERF_TESTS * 2];
};

static bool
ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), n = strlen(end);

    return length > n && strcasecmp(text + length - n, end) == 0;
}

/* Returns the label, or the file name without its folder. */
static const char *
name_of(const struct request *request, size_t i)
{
    const char *label = request->results[i].settings.label;
    const char *slash = strrchr(request->paths[i], '/');

    if (label && *label)
        return label;
    return slash ? slash + 1 : request->paths[i];
}

static bool
has_test(const struct perf_result *result, enum perf_test test, bool peer)
{
    for (size_t i = 0; i < result->count; i++) {
        struct perf_summary summary;

        if (result->points[i].test != test)
            continue;
        perf_point_summarize(&result->points[i], &summary);
        if (isfinite(peer ? summary.peer_median : summary.median))
            return true;
    }
    return false;
}

static void
add_series(struct request *request, size_t i)
{
    for (int test = 0; test < PERF_TESTS; test++)
        for (int peer = 0; peer < 2; peer++)
            if (has_test(&request->results[i], (enum perf_test) test, peer))
                request->series[request->plot.count++] =
                    (struct perf_series){.result = &request->results[i],
                        .test = (enum perf_test) test,
                        .peer = peer,
                        .name = name_of(request, i)};
}

/* Returns an unnamed file with the script, for gnuplot's standard input, or
 * -1. */
static int
open_script(const struct perf_plot *plot)
{
    int fd = memfd_create("script", MFD_CLOEXEC), copy;
    FILE *stream;
    bool good;

    if (fd < 0)
        return -1;
    copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    stream = copy >= 0 ? fdopen(copy, "w") : NULL;
    if (!stream) {
        if (copy >= 0)
            close(copy);
        close(fd);
        return -1;
    }
    perf_plot_script(plot, stream);
    good = !ferror(stream);
    if (fclose(stream) != 0 || !good || lseek(fd, 0, SEEK_SET) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Runs gnuplot. Returns its exit status, or -1: it did not start. */
static int
run_gnuplot(int script, int picture)
{
    /* Without the user's settings. */
    static char name[] = "gnuplot", option[] = "--default-settings";
    static char *const arguments[] = {name, option, NULL};
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (dup2(script, STDIN_FILENO) < 0 || dup2(picture, STDOUT_FILENO) < 0)
            _exit(126);
        execvp(name, arguments);
        _exit(errno == ENOENT ? 127 : 126);
    }
    if (pid < 0)
        return -1;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

static bool
write_picture(int picture, const char *path)
{
    struct stat stat;
    off_t offset = 0;
    int fd;

    if (fstat(picture, &stat) != 0 || stat.st_size == 0) {
        fputs("talaria perf plot: gnuplot drew nothing\n", stderr);
        return false;
    }
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    while (fd >= 0 && offset < stat.st_size)
        if (sendfile(fd, picture, &offset, (size_t) (stat.st_size - offset)) <=
            0)
            break;
    if (fd >= 0 && close(fd) == 0 && offset == stat.st_size)
        return true;
    fprintf(stderr, "talaria perf plot: %s: %s\n", path, strerror(errno));
    return false;
}

static int
draw(const struct request *request)
{
    int script = open_script(&request->plot), code = TOOL_FAILED, result;
    int picture = memfd_create("picture", MFD_CLOEXEC);

    if (script < 0 || picture < 0) {
        fprintf(stderr, "talaria perf plot: %s\n", strerror(errno));
        goto close_files;
    }
    result = run_gnuplot(script, picture);
    if (result == 127)
        fputs("talaria perf plot: gnuplot is not installed\n", stderr);
    else if (result != 0)
        fprintf(stderr, "talaria perf plot: gnuplot failed\n");
    else if (write_picture(picture, request->output))
        code = TOOL_OK;
close_files:
    if (script >= 0)
        close(script);
    if (picture >= 0)
        close(picture);
    return code;
}

enum { KEY_TITLE = 1000 };

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "Write the picture to FILE, .svg or .png", 0},
    {"title", KEY_TITLE, "TEXT", 0, "Title of the picture", 0}, {0}};

static void
check(const struct request *request, struct argp_state *state)
{
    if (request->count == 0)
        argp_error(state, "a result is needed");
    if (!request->output)
        argp_error(state, "-o FILE is missing");
    else if (!ends_in(request->output, ".svg") &&
             !ends_in(request->output, ".png"))
        argp_error(
            state, "\"%s\" ends in neither .svg nor .png", request->output);
}

static error_t
parse_option(int key, char *arg, struct argp_state *state)
{
    struct request *request = state->input;

    switch (key) {
    case 'o':
        request->output = arg;
        request->plot.svg = ends_in(arg, ".svg");
        return 0;
    case KEY_TITLE:
        request->plot.title = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (request->count == FILES_MAX)
            argp_error(state, "more than %d results", FILES_MAX);
        else
            request->paths[request->count++] = arg;
        return 0;
    case ARGP_KEY_END:
        check(request, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int
perf_plot(int argc, char **argv)
{
    static const struct argp argp = {options, parse_option,
        "A.json [B.json...]",
        "Draws results with gnuplot: medians with their 95 % intervals over "
        "sizes, all results in one picture; bars if each has one size "
        "only.\v" TOOL_EXIT_CODES,
        NULL, NULL, NULL};
    struct request *request = calloc(1, sizeof *request);
    int code = TOOL_FAILED;
    size_t i;

    if (!request) {
        fputs("talaria perf plot: out of memory\n", stderr);
        return code;
    }
    argp_err_exit_status = TOOL_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, request);
    request->plot.series = request->series;
    for (i = 0; i < request->count; i++) {
        if (!perf_read_json(request->paths[i], &request->results[i]))
            break;
        add_series(request, i);
    }
    if (i == request->count && request->plot.count == 0)
        fputs("talaria perf plot: there is nothing to draw\n", stderr);
    else if (i == request->count)
        code = draw(request);
    while (i-- > 0)
        perf_result_finish(&request->results[i]);
    free(request);
    return code;
}
