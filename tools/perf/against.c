/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a peer's benchmark: its server, then its client, for about as long as
 * one of our rounds. */
#include "perf/against.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf/against_parse.h"
#include "perf/against_process.h"
#include "perf/clock.h"
#include "perf/process.h"

#define RUN_NS (120 * PERF_SECOND_NS)  /* of a round at most */
#define START_NS (20 * PERF_SECOND_NS) /* until a server is ready */
#define END_NS (5 * PERF_SECOND_NS) /* for a server to end after its client */
/* Repetitions of the first run, and limits. */
#define REPEAT_FIRST 100U
#define REPEAT_FIRST_HG 10U
#define REPEAT_LEAST 10U
#define REPEAT_MOST 50000000U
/* Buffers that hg_bw_* allocates for each operation in flight by default, and
 * the limit of their memory. */
#define HG_BUFFERS 64U
#define HG_MEMORY (UINT64_C(256) << 20)
#define ARGS_ADDED 16 /* beside the user's */

struct perf_against {
    enum perf_peer peer;
    char **args; /* the user's command line, with variable settings first */
    char **environment; /* ours with those settings */
    char *const *options;
    char *client;
    char *server;
    char folder[64];
    uint32_t inflight;
    uint64_t operations;
    uint64_t round_ns;
    int32_t origin_cpu;
    int32_t target_cpu;
    /* The last measurement, which determines the next number of repetitions. */
    enum perf_test test;
    uint64_t size;
    double operation_ns; /* 0: not measured yet */
    uint64_t deadline;   /* of the round */
};

/* The arguments of a process, and storage for numbers. */
struct args {
    char **args;
    size_t count;
    char texts[ARGS_ADDED][32];
    size_t text_count;
};

static bool
args_init(struct args *args, char *const *options)
{
    size_t count = 0;

    while (options[count])
        count++;
    memset(args, 0, sizeof *args);
    args->args = calloc(count + ARGS_ADDED + 1, sizeof *args->args);
    if (!args->args)
        fputs("talaria perf: out of memory\n", stderr);
    return args->args != NULL;
}

static void
add(struct args *args, const char *text)
{
    char *copy = args->texts[args->text_count++];

    snprintf(copy, sizeof args->texts[0], "%s", text);
    args->args[args->count++] = copy;
}

static void
add_number(struct args *args, const char *option, uint64_t number)
{
    char text[32];

    snprintf(text, sizeof text, "%" PRIu64, number);
    add(args, option);
    add(args, text);
}

static void
add_all(struct args *args, char *const *options)
{
    for (; *options; options++)
        args->args[args->count++] = *options;
}

static bool
is_setting(const char *word)
{
    size_t length = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz_0123456789");

    return length > 0 && word[length] == '=' &&
           !(word[0] >= '0' && word[0] <= '9');
}

/* Returns our environment with the variable settings at the beginning of args.
 * *command_p: the rest of args. NULL: out of memory. */
static char **
make_environment(char **args, char *const **command_p)
{
    size_t count = 0, settings = 0, n = 0;
    char **environment;

    while (environ[count])
        count++;
    while (args[settings] && is_setting(args[settings]))
        settings++;
    environment = calloc(count + settings + 1, sizeof *environment);
    if (!environment)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        bool replaced = false;

        for (size_t j = 0; j < settings; j++)
            replaced |=
                strncmp(environ[i], args[j], strcspn(args[j], "=") + 1) == 0;
        if (!replaced)
            environment[n++] = environ[i];
    }
    memcpy(environment + n, args, settings * sizeof *environment);
    *command_p = args + settings;
    return environment;
}

/* Finds the client, and the server in the client's folder if it is a program of
 * its own. */
static bool
find_programs(struct perf_against *against, const char *program)
{
    const char *slash = strrchr(program, '/');
    char *name = NULL;
    int length = slash ? (int) (slash - program) + 1 : 0;

    against->client = perf_process_find(program);
    if (!against->client) {
        fprintf(stderr,
            "talaria perf: --against: %s does not exist or is not executable\n",
            program);
        return false;
    }
    if (against->peer == PERF_FI_PINGPONG ||
        against->peer == PERF_UCX_PERFTEST) {
        against->server = strdup(against->client);
        return against->server != NULL;
    }
    if (asprintf(&name, "%.*shg_perf_server", length, program) < 0)
        return false;
    against->server = perf_process_find(name);
    if (!against->server)
        fprintf(stderr,
            "talaria perf: --against: %s, the server of %s, does not exist\n",
            name, perf_peer_name(against->peer));
    free(name);
    return against->server != NULL;
}

static bool
make_folder(struct perf_against *against)
{
    const char *parent = getenv("TMPDIR");
    int length = snprintf(against->folder, sizeof against->folder,
        "%s/talaria-perf-XXXXXX", parent && *parent ? parent : "/tmp");

    /* Too long: use /tmp. */
    if (length < 0 || (size_t) length >= sizeof against->folder)
        strcpy(against->folder, "/tmp/talaria-perf-XXXXXX");
    if (mkdtemp(against->folder))
        return true;
    fprintf(stderr, "talaria perf: %s: %s\n", against->folder, strerror(errno));
    against->folder[0] = '\0';
    return false;
}

/* Removes the files that the tools left in the folder. */
static void
empty_folder(const char *folder)
{
    DIR *stream = opendir(folder);
    struct dirent *entry;

    while (stream && (entry = readdir(stream)))
        unlinkat(dirfd(stream), entry->d_name, 0);
    if (stream)
        closedir(stream);
}

bool
perf_against_start(const char *command, const struct perf_settings *settings,
    struct perf_against **against_p)
{
    struct perf_against *against = calloc(1, sizeof *against);

    if (!against) {
        fputs("talaria perf: out of memory\n", stderr);
        return false;
    }
    against->inflight = settings->inflight > 0 ? settings->inflight : 1;
    against->operations = settings->operations;
    against->round_ns = settings->round_ns;
    against->origin_cpu = settings->origin_cpu;
    against->target_cpu = settings->target_cpu;
    if (!perf_args_split(command, &against->args))
        goto stop;
    against->environment = make_environment(against->args, &against->options);
    if (!against->environment)
        goto stop;
    if (!against->options[0] ||
        !perf_peer_find(against->options[0], &against->peer)) {
        fprintf(stderr,
            "talaria perf: --against: \"%s\" is not one of fi_pingpong, "
            "ucx_perftest, hg_rate, hg_bw_read, hg_bw_write\n",
            against->options[0] ? against->options[0] : command);
        goto stop;
    }
    if (!find_programs(against, against->options[0]) || !make_folder(against))
        goto stop;
    against->options++;
    *against_p = against;
    return true;
stop:
    perf_against_stop(against);
    return false;
}

/* Defaults precede the user's options, which override them; size options
 * follow, since they must be ours. */
static void
add_hg(const struct perf_against *against, uint64_t repeat, uint64_t size,
    struct args *args)
{
    uint64_t room = HG_MEMORY / (size + 1) / against->inflight;

    add_number(args, "-l", repeat);
    add_number(args, "-x", against->inflight);
    if (against->peer != PERF_HG_RATE && room < HG_BUFFERS)
        add_number(args, "-w", room > 0 ? room : 1);
    add_all(args, against->options);
    add_number(args, "-y", size);
    add_number(args, "-z", size > 0 ? size : 1);
}

/* The option -P of ucx_perftest and its value. */
static void
add_mpi_mode(char *const *options, struct args *args)
{
    for (; *options; options++) {
        if (strncmp(*options, "-P", 2) != 0)
            continue;
        args->args[args->count++] = *options;
        if ((*options)[2] == '\0' && options[1])
            args->args[args->count++] = *++options;
    }
}

static void
add_server(const struct perf_against *against, uint64_t repeat, uint64_t size,
    uint16_t port, struct args *args)
{
    add(args, against->peer == PERF_FI_PINGPONG    ? "fi_pingpong"
              : against->peer == PERF_UCX_PERFTEST ? "ucx_perftest"
                                                   : "hg_perf_server");
    switch (against->peer) {
    case PERF_FI_PINGPONG:
        add_number(args, "-I", repeat);
        add_all(args, against->options);
        add_number(args, "-S", size);
        add_number(args, "-B", port);
        break;
    case PERF_UCX_PERFTEST:
        /* The client sends all other settings, but not -P (whether it runs
         * under MPI). */
        add_mpi_mode(against->options, args);
        add_number(args, "-p", port);
        break;
    default:
        add_hg(against, repeat, size, args);
    }
}

static void
add_client(const struct perf_against *against, enum perf_test test,
    uint64_t repeat, uint64_t size, uint16_t port, struct args *args)
{
    add(args, perf_peer_name(against->peer));
    switch (against->peer) {
    case PERF_FI_PINGPONG:
        add_number(args, "-I", repeat);
        add_all(args, against->options);
        add_number(args, "-S", size);
        add_number(args, "-P", port);
        add(args, "127.0.0.1");
        break;
    case PERF_UCX_PERFTEST:
        add_number(args, "-n", repeat);
        add_number(args, "-w", repeat / 10 + 1);
        if (test != PERF_LAT)
            add_number(args, "-O", against->inflight);
        add_all(args, against->options);
        add_number(args, "-s", size);
        add_number(args, "-p", port);
        add(args, "-f");
        add(args, "-v");
        add(args, "127.0.0.1");
        break;
    default:
        add_hg(against, repeat, size, args);
    }
}

/* Whether the server accepts a client. */
static bool
is_ready(const struct perf_against *against, const struct perf_child *server,
    uint16_t port)
{
    char *output;
    bool ready;

    if (against->peer == PERF_FI_PINGPONG || against->peer == PERF_UCX_PERFTEST)
        return perf_port_listens(port);
    output = perf_child_output(server);
    ready = output && strstr(output, "Waiting for client");
    free(output);
    return ready;
}

/* Waits until the server is ready. false: it has ended, or timed out. */
static bool
wait_ready(const struct perf_against *against, struct perf_child *server,
    uint16_t port)
{
    uint64_t deadline = perf_clock_now() + START_NS;

    if (deadline > against->deadline)
        deadline = against->deadline;
    while (!is_ready(against, server, port)) {
        uint64_t now = perf_clock_now();

        if (now >= deadline || perf_process_interrupted())
            return false;
        /* Polls; returns at once if the server ends. */
        if (perf_child_wait(server, now + 2 * PERF_MS_NS))
            return false;
    }
    return true;
}

static bool
start_server(const struct perf_against *against, uint64_t repeat, uint64_t size,
    uint16_t port, struct perf_child *server)
{
    struct args args;
    struct perf_launch launch = {.path = against->server,
        .environment = against->environment,
        .folder = against->folder,
        .cpu = against->target_cpu};
    bool good;

    if (!args_init(&args, against->options))
        return false;
    add_server(against, repeat, size, port, &args);
    launch.argv = args.args;
    good = perf_child_start(server, "the peer's server", &launch);
    free(args.args);
    if (!good)
        return false;
    if (wait_ready(against, server, port))
        return true;
    if (!perf_process_interrupted()) {
        fputs("talaria perf: the peer's server did not become ready\n", stderr);
        perf_child_show(server);
    }
    return false;
}

/* Runs the client and parses its output. */
static bool
run_client(const struct perf_against *against, enum perf_test test,
    uint64_t repeat, uint64_t size, uint16_t port, struct perf_child *client,
    double *value_p)
{
    struct args args;
    struct perf_launch launch = {.path = against->client,
        .environment = against->environment,
        .folder = against->folder,
        .cpu = against->origin_cpu};
    const char *wrong = NULL;
    char *output;
    bool good;

    if (!args_init(&args, against->options))
        return false;
    add_client(against, test, repeat, size, port, &args);
    launch.argv = args.args;
    good = perf_child_start(client, "the peer's client", &launch);
    free(args.args);
    if (!good)
        return false;
    if (!perf_child_wait(client, against->deadline)) {
        if (perf_process_interrupted())
            return false;
        wrong = "did not end";
    } else if (!WIFEXITED(client->status) || WEXITSTATUS(client->status)) {
        wrong = "failed";
    }
    output = perf_child_output(client);
    if (!wrong &&
        (!output || !perf_peer_parse(against->peer,
                        perf_peer_trips(against->peer, against->options), test,
                        size, output, value_p)))
        wrong = "printed no result that is known";
    free(output);
    if (wrong) {
        fprintf(stderr, "talaria perf: the peer's %s %s\n",
            perf_peer_name(against->peer), wrong);
        perf_child_show(client);
    }
    return !wrong;
}

static bool
run_both(const struct perf_against *against, enum perf_test test,
    uint64_t repeat, uint64_t size, double *value_p)
{
    struct perf_child server = {.pidfd = -1, .output = -1}, client = server;
    uint16_t port = perf_port_choose();
    bool good;

    if (port == 0) {
        fputs("talaria perf: no free port for the peer\n", stderr);
        return false;
    }
    good = start_server(against, repeat, size, port, &server) &&
           run_client(against, test, repeat, size, port, &client, value_p);
    perf_child_end(&client);
    /* It ends by itself after its client. */
    if (good)
        perf_child_wait(&server, perf_clock_now() + END_NS);
    else if (server.pid > 0 && !perf_process_interrupted())
        perf_child_show(&server);
    perf_child_end(&server);
    empty_folder(against->folder);
    return good;
}

/* Returns the duration of one operation in ns. */
static double
operation_of(
    const struct perf_against *against, enum perf_test test, double value)
{
    switch (test) {
    case PERF_LAT:
        return against->peer == PERF_HG_RATE ? value / against->inflight
                                             : value;
    case PERF_RATE:
        return 1e9 / value;
    default:
        return (double) against->size * 1e9 / value;
    }
}

/* Returns the repetitions that take as long as one of our rounds. */
static uint64_t
repeat_of(const struct perf_against *against, uint64_t size)
{
    double each = against->operation_ns, times;

    if (against->peer >= PERF_HG_RATE) {
        uint64_t room = HG_MEMORY / (size + 1) / against->inflight;

        each *= against->inflight;
        if (against->peer != PERF_HG_RATE)
            each *= (double) (room < HG_BUFFERS ? room + !room : HG_BUFFERS);
    }
    times = against->operations > 0
                ? (double) against->operations * against->operation_ns / each
                : (double) against->round_ns / each;
    if (times < REPEAT_LEAST)
        return REPEAT_LEAST;
    return times < REPEAT_MOST ? (uint64_t) times : REPEAT_MOST;
}

bool
perf_against_round(struct perf_against *against, enum perf_test test,
    uint64_t size, double *value_p)
{
    const char *refused =
        perf_peer_refuse(against->peer, against->options, test);
    uint64_t first =
        against->peer >= PERF_HG_RATE ? REPEAT_FIRST_HG : REPEAT_FIRST;
    double value;

    if (refused) {
        fprintf(stderr, "talaria perf: --against: %s\n", refused);
        return false;
    }
    if (against->test != test || against->size != size)
        against->operation_ns = 0;
    against->test = test;
    against->size = size;
    against->deadline = perf_clock_now() + RUN_NS;
    if (against->operation_ns == 0) {
        if (!run_both(against, test, first, size, &value))
            return false;
        against->operation_ns = operation_of(against, test, value);
    }
    if (!run_both(against, test, repeat_of(against, size), size, &value))
        return false;
    against->operation_ns = operation_of(against, test, value);
    *value_p = value;
    return true;
}

void
perf_against_stop(struct perf_against *against)
{
    if (!against)
        return;
    if (against->folder[0]) {
        empty_folder(against->folder);
        rmdir(against->folder);
    }
    perf_args_free(against->args);
    free(against->environment);
    free(against->client);
    free(against->server);
    free(against);
}
