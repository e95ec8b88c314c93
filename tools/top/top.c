/* SPDX-License-Identifier: BSD-3-Clause */
/* `talaria top`: what the processes that publish their statistics do. */
#include <argp.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "common/output.h"
#include "common/tool.h"
#include "top/show.h"

#define INTERVAL_DEFAULT 1.0
#define INTERVAL_MIN 0.2
#define INTERVAL_MAX 5.0
/* Longer than an interval. */
#define LOOK_S 8U
/* A process that was just asked publishes within this time. */
#define FIRST_MS 250

#define CLEAR "\033[H\033[J"
#define SCREEN_ON "\033[?1049h\033[?25l"
#define SCREEN_OFF "\033[?25h\033[?1049l"

struct top {
    struct reader reader;
    double interval; /* s */
    bool once;
    bool json;
};

static volatile sig_atomic_t stopped;

static void
stop(int number)
{
    stopped = number;
}

static double
seconds(struct argp_state *state, const char *arg)
{
    char *end;
    double value = strtod(arg, &end);

    if (end == arg || *end != '\0' ||
        !(value >= INTERVAL_MIN && value <= INTERVAL_MAX))
        argp_error(state, "'%s' is not a number of seconds from %g to %g", arg,
            INTERVAL_MIN, INTERVAL_MAX);
    return value;
}

static pid_t
process_id(struct argp_state *state, const char *arg)
{
    char *end;
    long value = strtol(arg, &end, 10);

    if (end == arg || *end != '\0' || value < 1 || value > INT32_MAX)
        argp_error(state, "'%s' is not the id of a process", arg);
    return (pid_t) value;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    struct top *top = state->input;

    switch (key) {
    case 'i':
        top->interval = seconds(state, arg);
        return 0;
    case 'j':
        top->json = true;
        return 0;
    case 'o':
        top->once = true;
        return 0;
    case 'p':
        top->reader.only = process_id(state, arg);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "too many arguments");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Waits; in a terminal until 'q' is typed. Returns false to stop. */
static bool
wait_ms(int ms, bool keys)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    char key;

    if (poll(&input, keys ? 1 : 0, ms) > 0 &&
        (read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 4))
        return false;
    return !stopped;
}

static bool
search(struct top *top)
{
    if (!reader_search(&top->reader)) {
        fprintf(stderr, "talaria top: /proc: %s\n", strerror(errno));
        return false;
    }
    reader_look(&top->reader, LOOK_S);
    return true;
}

static void
print_text(FILE *stream, const struct top *top, struct view *view)
{
    if (top->reader.count == 0)
        fputs("No process publishes. Start one with TALARIA_PUBLISH=1.\n",
            stream);
    for (size_t i = 0; i < top->reader.count; i++) {
        view_make(view, top->reader.processes[i]);
        if (i > 0)
            fputc('\n', stream);
        show_text(stream, view);
    }
}

static int
print_json(const struct top *top, struct view *view)
{
    json_t *processes = json_array();

    for (size_t i = 0; i < top->reader.count; i++) {
        view_make(view, top->reader.processes[i]);
        output_json_append(&processes, show_json(view));
    }
    return output_json(json_pack("{s:o}", "processes", processes));
}

/* Two snapshots, an interval apart. */
static int
run_once(struct top *top, struct view *view)
{
    if (!search(top))
        return TOOL_FAILED;
    if (top->reader.only != 0 && top->reader.count == 0) {
        fprintf(stderr, "talaria top: process %ld does not publish\n",
            (long) top->reader.only);
        return TOOL_FAILED;
    }
    if (top->reader.count > 0) {
        wait_ms(FIRST_MS, false);
        reader_take(&top->reader);
        wait_ms((int) (top->interval * 1000), false);
        reader_take(&top->reader);
    }
    if (top->json)
        return print_json(top, view);
    print_text(stdout, top, view);
    return TOOL_OK;
}

/* Prints as many lines as the terminal has, each cut to its width. */
static void
print_frame(const char *text)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    unsigned row = 0;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0)
        size = (struct winsize){.ws_row = 24, .ws_col = 80};
    fputs(CLEAR, stdout);
    while (*text && row + 1 < size.ws_row) {
        size_t column = 0;

        for (; *text && *text != '\n'; text++) {
            /* Bytes of a character after the first take no column. */
            column += ((unsigned char) *text & 0xc0) != 0x80;
            if (column <= size.ws_col)
                fputc(*text, stdout);
        }
        text += *text == '\n';
        fputc('\n', stdout);
        row++;
    }
    fflush(stdout);
}

static bool
show_frame(const struct top *top, struct view *view)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);

    if (!stream)
        return false;
    fprintf(stream, "talaria top: %zu process%s, every %g s, q quits\n\n",
        top->reader.count, top->reader.count == 1 ? "" : "es", top->interval);
    print_text(stream, top, view);
    fclose(stream);
    if (text)
        print_frame(text);
    free(text);
    return text != NULL;
}

static bool
show_frames(struct top *top, struct view *view)
{
    int ms = FIRST_MS;

    for (;;) {
        if (!search(top))
            return false;
        if (!wait_ms(ms, true))
            return true;
        ms = (int) (top->interval * 1000);
        reader_take(&top->reader);
        if (!show_frame(top, view))
            return false;
    }
}

static int
run_live(struct top *top, struct view *view)
{
    const struct sigaction action = {.sa_handler = stop};
    struct termios old, raw;
    bool keys = tcgetattr(STDIN_FILENO, &old) == 0;
    bool done;

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    if (keys) {
        raw = old;
        raw.c_lflag &= ~(tcflag_t) (ICANON | ECHO);
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    fputs(SCREEN_ON, stdout);
    done = show_frames(top, view);
    fputs(SCREEN_OFF, stdout);
    fflush(stdout);
    if (keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &old);
    return done ? TOOL_OK : TOOL_FAILED;
}

int
tool_top(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {.name = "interval",
            .key = 'i',
            .arg = "SECONDS",
            .doc = "Time between two looks, 0.2 to 5 (default 1)"},
        {.name = "json", .key = 'j', .doc = "Print JSON, once"},
        {.name = "once", .key = 'o', .doc = "Print one interval and end"},
        {.name = "pid", .key = 'p', .arg = "PID", .doc = "This process only"},
        {0}};
    static const struct argp argp = {.options = options,
        .parser = parse,
        .doc = "Shows the RPCs, transports and peers of the processes that "
               "were started with TALARIA_PUBLISH=1. Without a terminal it "
               "prints once.\v" TOOL_EXIT_CODES};
    struct top top = {.interval = INTERVAL_DEFAULT};
    struct view *view;
    int status;

    if (argp_parse(&argp, argc, argv, 0, NULL, &top) != 0)
        return TOOL_USAGE;
    view = malloc(sizeof *view);
    if (!view) {
        fputs("talaria top: out of memory\n", stderr);
        return TOOL_FAILED;
    }
    status = top.once || top.json || !isatty(STDOUT_FILENO)
                 ? run_once(&top, view)
                 : run_live(&top, view);
    reader_finish(&top.reader);
    free(view);
    return status;
}
