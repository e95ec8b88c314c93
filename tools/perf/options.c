/* SPDX-License-Identifier: BSD-3-Clause */
/* Parses the options of lat, rate and bw. */
#include "perf/options.h"

#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/token.h"
#include "common/tool.h"
#include "perf/clock.h"
#include "perf/sizes.h"

#define ROUNDS_DEFAULT 5
#define ROUND_NS_DEFAULT (PERF_SECOND_NS / 2)
#define WARM_UP_DEFAULT 1000
#define WARM_UP_NS_DEFAULT (PERF_SECOND_NS / 2)

enum {
    KEY_LEVEL = 256,
    KEY_LOCAL,
    KEY_VIA,
    KEY_TOKEN,
    KEY_READ,
    KEY_WRITE,
    KEY_SIZE,
    KEY_INFLIGHT,
    KEY_THREADS,
    KEY_CONTEXTS,
    KEY_CLASSES,
    KEY_CLIENTS,
    KEY_SEGMENTS,
    KEY_IN_PROCESS,
    KEY_BUSY,
    KEY_SINGLE,
    KEY_PIN,
    KEY_PROGRESS,
    KEY_VERIFY,
    KEY_MEM_ALLOC,
    KEY_WARM_UP,
    KEY_ROUNDS,
    KEY_OPERATIONS,
    KEY_DURATION,
    KEY_LABEL,
    KEY_AGAINST,
    KEY_CALLGRIND,
    KEY_KEEP_SLOW,
    KEY_CSV,
    KEY_JSON
};

struct input {
    enum perf_action action;
    struct perf_options *options;
    const char *sizes;
    bool level_given;
    bool read;
    bool write;
};

static const struct argp_option options[] = {
    {.doc = "What to measure:", .group = 1},
    {"level", KEY_LEVEL, "LEVEL", 0,
        "na: messages, put and get of the transport; rpc: calls; bulk: calls "
        "for which the target pulls or pushes (default rpc, for bw bulk)",
        0},
    {"local", KEY_LOCAL, "INFO", 0,
        "Start a server of its own over the transport INFO", 0},
    {"via", KEY_VIA, "INFO", 0,
        "Open this side by INFO, such as ofi+tcp://eth1 (default: the "
        "beginning "
        "of the address)",
        0},
    {"token-file", KEY_TOKEN, "FILE", 0, TOKEN_CLIENT_DOC, 0},
    {"read", KEY_READ, NULL, 0, "bw: only from the target", 0},
    {"write", KEY_WRITE, NULL, 0, "bw: only to the target", 0},
    {"size", KEY_SIZE, "N[,N...]", 0,
        "Bytes of an operation, also 4K or 1M, or A:B for A, 2 A, 4 A ... B "
        "(default 64, for bw 1M, for bw of level rpc 2K)",
        0},
    {.doc = "Amounts:", .group = 2},
    {"inflight", KEY_INFLIGHT, "N", 0,
        "Operations in flight of each thread (default 1, for rate 32, for bw "
        "4)",
        0},
    {"threads", KEY_THREADS, "N", 0,
        "Threads of each class, at both sides; they share contexts if there "
        "are fewer contexts (default: one for each context)",
        0},
    {"contexts", KEY_CONTEXTS, "N", 0,
        "Contexts of each class, at both sides (default 1)", 0},
    {"classes", KEY_CLASSES, "N", 0,
        "Classes of each client, and of the server (default 1)", 0},
    {"clients", KEY_CLIENTS, "N", 0, "Measuring processes (default 1)", 0},
    {"segments", KEY_SEGMENTS, "N", 0,
        "Level bulk: segments of this side's memory, of equal size (default 1)",
        0},
    {"in-process", KEY_IN_PROCESS, NULL, 0,
        "With ADDRESS: measure by one client in this process, since a child "
        "process cannot be part of an MPI job",
        0},
    {.doc = "Mode:", .group = 3},
    {"busy", KEY_BUSY, NULL, 0,
        "Poll instead of waiting (with ADDRESS: as the server does)", 0},
    {"single-thread", KEY_SINGLE, NULL, 0,
        "Use NA_THREAD_MODE_SINGLE, without locks (with ADDRESS: as the server "
        "does)",
        0},
    {"progress-thread", KEY_PROGRESS, NULL, 0,
        "lat and rate of level rpc: one more thread for each context, at both "
        "sides, makes progress; --threads call and wait, or respond",
        0},
    {"mem-alloc", KEY_MEM_ALLOC, NULL, 0,
        "bw of levels na and bulk: Talaria allocates the memory, at both "
        "sides; peers over na+sm map it (default: the C library does)",
        0},
    {"pin", KEY_PIN, "ORIGIN[,TARGET]", 0,
        "Processors of the measuring and the serving side", 0},
    {"verify", KEY_VERIFY, NULL, 0,
        "Check all bytes at both sides, which takes part of the measured time",
        0},
    {"warm-up", KEY_WARM_UP, "N", 0,
        "Operations before each size (default 1000, or half a second)", 0},
    {"rounds", KEY_ROUNDS, "N", 0, "Repetitions (default 5)", 0},
    {"operations", KEY_OPERATIONS, "N", 0, "Operations of a round", 0},
    {"duration", KEY_DURATION, "SECONDS", 0,
        "Duration of a round, instead (default 0.5)", 0},
    {"against", KEY_AGAINST, "COMMAND", 0,
        "Run a peer's benchmark after each round and print the ratio: "
        "fi_pingpong, ucx_perftest, hg_rate, hg_bw_read, hg_bw_write",
        0},
    {"callgrind", KEY_CALLGRIND, NULL, 0,
        "With --local: also count the instructions of an operation, both sides "
        "in one thread under valgrind",
        0},
    {.doc = "Output:", .group = 4},
    {"label", KEY_LABEL, "TEXT", 0, "Name of this run in pictures", 0},
    {"keep-slow", KEY_KEEP_SLOW, NULL, 0,
        "Count rounds in which the machine was slow, too", 0},
    {"csv", KEY_CSV, NULL, 0, "Print comma-separated values", 0},
    {"json", KEY_JSON, NULL, 0, "Print JSON", 0}, {0}};

static uint64_t
number(struct argp_state *state, const char *option, const char *arg,
    uint64_t least, uint64_t most)
{
    uint64_t value = least;

    if (!perf_number_read(arg, false, least, most, &value))
        argp_error(state, "%s: \"%s\" is not a number from %ju to %ju", option,
            arg, (uintmax_t) least, (uintmax_t) most);
    return value;
}

static uint32_t
small(struct argp_state *state, const char *option, const char *arg,
    uint32_t most)
{
    return (uint32_t) number(state, option, arg, 1, most);
}

static enum perf_level
level(struct argp_state *state, const char *arg)
{
    for (int i = 0; i < PERF_LEVELS; i++)
        if (strcmp(perf_level_name((enum perf_level) i), arg) == 0)
            return (enum perf_level) i;
    argp_error(state, "--level: \"%s\" is not na, rpc or bulk", arg);
    return PERF_RPC;
}

static uint64_t
seconds(struct argp_state *state, const char *arg)
{
    char *end;
    double value = strtod(arg, &end);

    if (end == arg || *end != 0 || !(value >= 0.001 && value <= 3600))
        argp_error(state,
            "--duration: \"%s\" is not a number from 0.001 to 3600", arg);
    return (uint64_t) llround(value * 1e9);
}

static void
pin(struct argp_state *state, const char *arg, struct perf_options *result)
{
    char *copy = strdup(arg), *rest = copy;
    const char *origin = strsep(&rest, ",");

    if (!copy)
        argp_failure(state, TOOL_FAILED, 0, "out of memory");
    result->settings.origin_cpu =
        (int32_t) number(state, "--pin", origin ? origin : "", 0, 1023);
    if (rest) {
        result->settings.target_cpu =
            (int32_t) number(state, "--pin", rest, 0, 1023);
        result->target_cpu_asked = true;
    }
    free(copy);
}

/* The options of amounts. */
static error_t
parse_amount(int key, char *arg, struct argp_state *state)
{
    struct perf_options *result = ((struct input *) state->input)->options;
    struct perf_settings *settings = &result->settings;

    switch (key) {
    case KEY_INFLIGHT:
        settings->inflight = small(state, "--inflight", arg, PERF_INFLIGHT_MAX);
        return 0;
    case KEY_THREADS:
        settings->threads = small(state, "--threads", arg, PERF_THREADS_MAX);
        return 0;
    case KEY_CONTEXTS:
        settings->contexts = small(state, "--contexts", arg, PERF_THREADS_MAX);
        return 0;
    case KEY_CLASSES:
        settings->classes = small(state, "--classes", arg, PERF_CLASSES_MAX);
        return 0;
    case KEY_SEGMENTS:
        settings->segments = small(state, "--segments", arg, PERF_SEGMENTS_MAX);
        return 0;
    case KEY_CLIENTS:
        settings->clients = small(state, "--clients", arg, PERF_CLIENTS_MAX);
        return 0;
    case KEY_IN_PROCESS:
        result->in_process = true;
        return 0;
    case KEY_WARM_UP:
        settings->warm_up = number(state, "--warm-up", arg, 0, 1U << 30);
        result->warm_up_ns = UINT64_MAX;
        return 0;
    case KEY_ROUNDS:
        settings->rounds = small(state, "--rounds", arg, 100000);
        return 0;
    case KEY_OPERATIONS:
        settings->operations =
            number(state, "--operations", arg, 1, UINT64_C(1) << 40);
        return 0;
    case KEY_DURATION:
        settings->round_ns = seconds(state, arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The options of the output. */
static error_t
parse_result(int key, char *arg, struct argp_state *state)
{
    struct input *input = state->input;
    struct perf_options *result = input->options;

    switch (key) {
    case KEY_LABEL:
        result->settings.label = arg;
        return 0;
    case KEY_AGAINST:
        result->settings.against = arg;
        return 0;
    case KEY_CALLGRIND:
        result->callgrind = true;
        return 0;
    case KEY_KEEP_SLOW:
        result->keep_slow = true;
        return 0;
    case KEY_CSV:
        result->form = PERF_FORM_CSV;
        return 0;
    case KEY_JSON:
        result->form = PERF_FORM_JSON;
        return 0;
    default:
        return parse_amount(key, arg, state);
    }
}

/* The other options. */
static error_t
parse_mode(int key, char *arg, struct argp_state *state)
{
    struct input *input = state->input;
    struct perf_options *result = input->options;
    struct perf_settings *settings = &result->settings;

    switch (key) {
    case KEY_LEVEL:
        settings->level = level(state, arg);
        input->level_given = true;
        return 0;
    case KEY_LOCAL:
        settings->info = arg;
        settings->local = true;
        return 0;
    case KEY_VIA:
        result->via = arg;
        return 0;
    case KEY_TOKEN:
        result->token_file = arg;
        return 0;
    case KEY_READ:
        input->read = true;
        return 0;
    case KEY_WRITE:
        input->write = true;
        return 0;
    case KEY_SIZE:
        input->sizes = arg;
        return 0;
    case KEY_BUSY:
        settings->busy = result->busy_asked = true;
        return 0;
    case KEY_SINGLE:
        settings->single = result->single_asked = true;
        return 0;
    case KEY_PIN:
        pin(state, arg, result);
        return 0;
    case KEY_PROGRESS:
        settings->progress_thread = true;
        return 0;
    case KEY_MEM_ALLOC:
        settings->mem_alloc = true;
        return 0;
    case KEY_VERIFY:
        settings->verify = true;
        return 0;
    default:
        return parse_result(key, arg, state);
    }
}

static void
set_tests(struct argp_state *state, struct input *input)
{
    struct perf_options *result = input->options;

    if (input->action != PERF_ACTION_BW) {
        if (input->read || input->write)
            argp_error(state, "--read and --write are options of bw");
        result->tests[0] =
            input->action == PERF_ACTION_LAT ? PERF_LAT : PERF_RATE;
        result->test_count = 1;
        return;
    }
    if (input->read || !input->write)
        result->tests[result->test_count++] = PERF_BW_READ;
    if (input->write || !input->read)
        result->tests[result->test_count++] = PERF_BW_WRITE;
    if (!input->level_given)
        result->settings.level = PERF_BULK;
}

static void
set_sizes(struct argp_state *state, const struct input *input)
{
    struct perf_options *result = input->options;
    enum perf_level at = result->settings.level;
    const char *text = input->sizes;

    if (!text)
        text = input->action != PERF_ACTION_BW ? "64"
               : at == PERF_RPC                ? "2K"
                                               : "1M";
    if (!perf_sizes_read(
            text, result->sizes, PERF_SIZES_MAX, &result->size_count))
        argp_error(state,
            "--size: \"%s\" is not a list of at most %d sizes up to 1G", text,
            PERF_SIZES_MAX);
    for (uint32_t i = 0; i < result->size_count; i++)
        if (result->sizes[i] == 0 &&
            (at != PERF_RPC || input->action == PERF_ACTION_BW))
            argp_error(state, "--size: only calls can be of 0 bytes");
}

/* Sets defaults and refuses combinations. */
static void
complete(struct argp_state *state, struct input *input)
{
    static const uint32_t inflight[] = {
        [PERF_ACTION_LAT] = 1, [PERF_ACTION_RATE] = 32, [PERF_ACTION_BW] = 4};
    struct perf_options *result = input->options;
    struct perf_settings *settings = &result->settings;
    struct perf_plan plan;
    const char *wrong;

    if (!settings->info)
        argp_error(state, "the server's ADDRESS is missing, or --local INFO");
    set_tests(state, input);
    set_sizes(state, input);
    if (settings->inflight == 0)
        settings->inflight = inflight[input->action];
    if (settings->threads == 0)
        settings->threads = settings->contexts;
    if (settings->operations != 0 && settings->round_ns != 0)
        argp_error(state, "--operations and --duration exclude each other");
    if (settings->operations == 0 && settings->round_ns == 0)
        settings->round_ns = ROUND_NS_DEFAULT;
    if (result->token_file && settings->local)
        argp_error(state, "--token-file is for ADDRESS; --local needs none");
    if (settings->segments > 1 && settings->level != PERF_BULK)
        argp_error(state, "--segments is for level bulk");
    if (settings->segments > 1 && settings->mem_alloc)
        argp_error(state, "--mem-alloc is for one segment");
    for (uint32_t i = 0; i < result->size_count; i++)
        if (settings->segments > 1 && result->sizes[i] < settings->segments)
            argp_error(state, "--size: fewer bytes than --segments");
    if (result->in_process && (settings->local || settings->clients != 1))
        argp_error(state, "--in-process needs ADDRESS and has one client");
    if (result->callgrind && !settings->local)
        argp_error(state, "--callgrind needs --local");
    if (result->callgrind && settings->segments > 1)
        argp_error(state, "--callgrind is for one segment");
    if (result->callgrind && settings->progress_thread)
        argp_error(state, "--callgrind has both sides in one thread");
    perf_options_plan(result, &plan);
    wrong = perf_plan_check(&plan);
    if (wrong)
        argp_error(state, "%s", wrong);
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    struct input *input = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (input->options->settings.info)
            argp_error(state, "one of ADDRESS and --local INFO, once");
        input->options->settings.info = arg;
        return 0;
    case ARGP_KEY_END:
        complete(state, input);
        return 0;
    default:
        return parse_mode(key, arg, state);
    }
}

void
perf_options_parse(enum perf_action action, int argc, char **argv,
    struct perf_options *options_p)
{
    static const char *const docs[] = {
        [PERF_ACTION_LAT] =
            "Measures the latency of operations, one at a time by default.",
        [PERF_ACTION_RATE] = "Measures operations per second.",
        [PERF_ACTION_BW] = "Measures bytes read and written per second.",
    };
    char doc[1024];
    const struct argp argp = {.options = options,
        .parser = parse,
        .args_doc = "--local INFO\nADDRESS",
        .doc = doc};
    struct input input = {.action = action, .options = options_p};

    snprintf(doc, sizeof doc,
        "%s ADDRESS is what \"talaria perf serve INFO\" prints.\v"
        "A round in which the machine itself was slow, as measured by a cache "
        "line passed between two processors, is not counted. " TOOL_EXIT_CODES,
        docs[action]);
    *options_p = (struct perf_options){.warm_up_ns = WARM_UP_NS_DEFAULT,
        .settings = {.level = PERF_RPC,
            .contexts = 1,
            .classes = 1,
            .clients = 1,
            .segments = 1,
            .rounds = ROUNDS_DEFAULT,
            .warm_up = WARM_UP_DEFAULT,
            .origin_cpu = -1,
            .target_cpu = -1}};
    argp_err_exit_status = TOOL_USAGE;
    if (argp_parse(&argp, argc, argv, 0, NULL, &input) != 0)
        exit(TOOL_FAILED);
}

void
perf_options_plan(
    const struct perf_options *options_used, struct perf_plan *plan_p)
{
    const struct perf_settings *settings = &options_used->settings;

    *plan_p = (struct perf_plan){.level = settings->level,
        .bandwidth = options_used->tests[0] == PERF_BW_READ ||
                     options_used->tests[0] == PERF_BW_WRITE,
        .busy = settings->busy,
        .single = settings->single,
        .verify = settings->verify,
        .progress_thread = settings->progress_thread,
        .mem_alloc = settings->mem_alloc,
        .inflight = settings->inflight,
        .threads = settings->threads,
        .contexts = settings->contexts,
        .classes = settings->classes,
        .clients = settings->clients,
        .segments = settings->segments};
    for (uint32_t i = 0; i < options_used->size_count; i++)
        if (options_used->sizes[i] > plan_p->size_max)
            plan_p->size_max = options_used->sizes[i];
}
