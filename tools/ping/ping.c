/* SPDX-License-Identifier: BSD-3-Clause */
/* `talaria ping`: measures an RPC, or reports which step fails. A server
 * without the RPC also answers: with an error. */
#include <argp.h>
#include <mercury.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/tool.h"
#include "ping/ping.h"

#define COUNT_DEFAULT 3
#define COUNT_MAX 1000000
#define TIMEOUT_DEFAULT 5
#define TIMEOUT_MAX 3600
#define SCHEME_SIZE 128
#define PROGRESS_MS 50

struct ping {
    const char *address;
    unsigned int count;
    unsigned int timeout; /* s, of one call */
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_addr_t addr;
    hg_handle_t handle;
    bool answered;
    hg_return_t ret;
    double shortest; /* s */
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

/* Reports the step that failed. */
static int
failed(const struct ping *ping, const char *step, const char *reason)
{
    fprintf(stderr, "talaria ping: %s: %s: %s\n", ping->address, step, reason);
    return -1;
}

static int
open_transport(struct ping *ping)
{
    char info[SCHEME_SIZE];
    const char *mark = strstr(ping->address, "://");
    size_t length = mark == NULL ? 0 : (size_t) (mark - ping->address);

    if (length == 0 || length >= sizeof(info))
        return failed(
            ping, "address", "invalid: expected one such as na+sm://...");
    memcpy(info, ping->address, length);
    info[length] = 0;
    ping->hg_class = HG_Init(info, HG_FALSE);
    if (ping->hg_class == NULL)
        return failed(
            ping, "transport", "no plugin opened it; see \"talaria info\"");
    ping->context = HG_Context_create(ping->hg_class);
    if (ping->context == NULL)
        return failed(ping, "transport", "cannot create a context");
    return 0;
}

static int
prepare(struct ping *ping)
{
    hg_id_t id;
    hg_return_t ret =
        HG_Addr_lookup2(ping->hg_class, ping->address, &ping->addr);

    if (ret != HG_SUCCESS)
        return failed(ping, "lookup", HG_Error_to_string(ret));
    id = HG_Register_name(ping->hg_class, PING_RPC, NULL, NULL, NULL);
    ret = id == 0 ? HG_NOMEM
                  : HG_Create(ping->context, ping->addr, id, &ping->handle);
    if (ret != HG_SUCCESS)
        return failed(ping, "call", HG_Error_to_string(ret));
    return 0;
}

static hg_return_t
on_answer(const struct hg_cb_info *info)
{
    struct ping *ping = info->arg;

    ping->answered = true;
    ping->ret = info->ret;
    return HG_SUCCESS;
}

static void
progress(struct ping *ping, unsigned int timeout)
{
    unsigned int count;

    HG_Progress(ping->context, timeout);
    do {
        count = 0;
        HG_Trigger(ping->context, 0, 1, &count);
    } while (count > 0);
}

static int
call(struct ping *ping, double *seconds_p)
{
    double start = clock_seconds();
    double deadline = start + ping->timeout;
    bool late = false;
    char text[64];

    ping->answered = false;
    ping->ret = HG_Forward(ping->handle, on_answer, ping, NULL);
    if (ping->ret != HG_SUCCESS)
        return failed(ping, "connection", HG_Error_to_string(ping->ret));
    while (!ping->answered) {
        progress(ping, PROGRESS_MS);
        if (!ping->answered && !late && clock_seconds() > deadline) {
            late = true;
            HG_Cancel(ping->handle);
        }
    }
    *seconds_p = clock_seconds() - start;
    if (late) {
        snprintf(text, sizeof(text), "none within %u s", ping->timeout);
        return failed(ping, "answer", text);
    }
    /* NOENTRY: the server is alive and does not have the RPC. */
    if (ping->ret != HG_SUCCESS && ping->ret != HG_NOENTRY)
        return failed(ping, "connection", HG_Error_to_string(ping->ret));
    return 0;
}

static int
measure(struct ping *ping)
{
    for (unsigned int i = 0; i < ping->count; i++) {
        double seconds;
        if (call(ping, &seconds) < 0)
            return -1;
        ping->sum += seconds;
        if (i == 0 || seconds < ping->shortest)
            ping->shortest = seconds;
        if (seconds > ping->longest)
            ping->longest = seconds;
    }
    printf("%u call%s: %.2f µs shortest, %.2f µs mean, %.2f µs longest%s\n",
        ping->count, ping->count == 1 ? "" : "s", ping->shortest * 1e6,
        ping->sum / ping->count * 1e6, ping->longest * 1e6,
        ping->ret == HG_NOENTRY ? " (the server has no \"" PING_RPC
                                  "\" and returned an error)"
                                : "");
    return 0;
}

static void
close_all(struct ping *ping)
{
    if (ping->handle != HG_HANDLE_NULL)
        HG_Destroy(ping->handle);
    if (ping->addr != HG_ADDR_NULL)
        HG_Addr_free(ping->hg_class, ping->addr);
    if (ping->context != NULL)
        HG_Context_destroy(ping->context);
    if (ping->hg_class != NULL)
        HG_Finalize(ping->hg_class);
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
    int status = TOOL_FAILED;

    if (argp_parse(&argp, argc, argv, 0, NULL, &ping) != 0)
        return TOOL_USAGE;
    if (open_transport(&ping) == 0 && prepare(&ping) == 0 &&
        measure(&ping) == 0)
        status = TOOL_OK;
    close_all(&ping);
    return status;
}
