/* SPDX-License-Identifier: BSD-3-Clause */
/* `talaria ping`: measures an RPC, or reports which step fails. A server
 * without the RPC also answers: with an error. */
#include <argp.h>
#include <mercury.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/tool.h"
#include "ping/caller.h"
#include "ping/ping.h"

#define COUNT_DEFAULT 3
#define COUNT_MAX 1000000
#define TIMEOUT_DEFAULT 5
#define TIMEOUT_MAX 3600

struct ping {
    const char *address;
    unsigned int count;
    unsigned int timeout; /* s, of one call */
    double first;         /* duration of the first call in s; of the others: */
    double shortest;
    double longest;
    double sum;
};

static unsigned int
number(struct argp_state *state, const char *arg, unsigned int most)
{
    char *end;
    unsigned long value = strtoul(arg, &end, 10);

    if (end == arg || *end != 0 || arg[0] == '-' || value < 1 || value > most)
        argp_error(state, "'%s' is not a number from 1 to %u", arg, most);
    return (unsigned int) value;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    struct ping *ping = state->input;

    switch (key) {
    case 'c':
        ping->count = number(state, arg, COUNT_MAX);
        return 0;
    case 't':
        ping->timeout = number(state, arg, TIMEOUT_MAX);
        return 0;
    case ARGP_KEY_ARG:
        if (ping->address != NULL)
            argp_error(state, "too many arguments");
        ping->address = arg;
        return 0;
    case ARGP_KEY_END:
        if (ping->address == NULL)
            argp_error(state, "an address is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The first call makes the connection, so it is no measure of the others. */
static bool
measure(struct ping *ping, struct caller *caller)
{
    unsigned int others = ping->count - 1;

    if (!caller_call(caller, ping->timeout, &ping->first))
        return false;
    for (unsigned int i = 0; i < others; i++) {
        double seconds;
        if (!caller_call(caller, ping->timeout, &seconds))
            return false;
        ping->sum += seconds;
        if (i == 0 || seconds < ping->shortest)
            ping->shortest = seconds;
        if (seconds > ping->longest)
            ping->longest = seconds;
    }
    printf("first call: %.2f µs, with the connection%s\n", ping->first * 1e6,
        caller->ret == HG_NOENTRY ? " (the server has no \"" PING_RPC
                                    "\" and returned an error)"
                                  : "");
    if (others > 0)
        printf("%u more: %.2f µs shortest, %.2f µs mean, %.2f µs longest\n",
            others, ping->shortest * 1e6, ping->sum / others * 1e6,
            ping->longest * 1e6);
    return true;
}

static hg_return_t
on_ping(hg_handle_t handle)
{
    hg_return_t ret = HG_Respond(handle, NULL, NULL, NULL);

    HG_Destroy(handle);
    return ret;
}

int
ping_register(hg_class_t *hg_class)
{
    return HG_Register_name(hg_class, PING_RPC, NULL, NULL, on_ping) == 0 ? -1
                                                                          : 0;
}

int
tool_ping(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {.name = "count", .key = 'c', .arg = "N", .doc = "Calls (default 3)"},
        {.name = "timeout",
            .key = 't',
            .arg = "SECONDS",
            .doc = "Time to wait for an answer (default 5)"},
        {0}};
    static const struct argp argp = {.options = options,
        .parser = parse,
        .args_doc = "ADDRESS",
        .doc = "Calls an RPC at ADDRESS and prints its latency, or the step "
               "that fails: address, transport, lookup, call, connection or "
               "answer.\v" TOOL_EXIT_CODES};
    struct ping ping = {.count = COUNT_DEFAULT, .timeout = TIMEOUT_DEFAULT};
    struct caller caller;
    int status = TOOL_FAILED;

    if (argp_parse(&argp, argc, argv, 0, NULL, &ping) != 0)
        return TOOL_USAGE;
    if (caller_open(&caller, ping.address) && measure(&ping, &caller))
        status = TOOL_OK;
    else
        fprintf(stderr, "talaria ping: %s: %s: %s\n", ping.address, caller.step,
            caller.reason);
    caller_close(&caller);
    return status;
}
