/* SPDX-License-Identifier: BSD-3-Clause */
/* talaria perf serve: handles control requests. The threads of sessions serve
 * the measurements. */
#include "perf/serve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/listen.h"
#include "common/tool.h"
#include "perf/challenge.h"
#include "perf/clock.h"
#include "perf/control.h"
#include "perf/process.h"
#include "perf/session.h"

#define SESSIONS_MAX 16
#define POLL_MS 200 /* between checks for signals and idle sessions */
#define STOP_NS (2 * PERF_SECOND_NS)

struct entry {
    uint64_t id; /* 0: free */
    uint64_t last_ns;
    uint64_t memory; /* bytes */
    uint32_t threads;
    hg_addr_t addr; /* of the client */
    struct perf_session *session;
};

struct server {
    const struct perf_serve_options *options;
    struct listen listen;
    char *info; /* of sessions: without port */
    char address[PERF_ADDRESS_SIZE];
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_id_t ids[PERF_CONTROLS];
    struct perf_failure failure;
    struct entry entries[SESSIONS_MAX];
    uint32_t responses; /* in flight */
    uint64_t closed;    /* number of closed sessions */
    struct perf_challenges challenges;
    struct token_refusals refusals;
};

static void
log_error(const char *text)
{
    fprintf(stderr, "talaria perf serve: %s\n", text);
}

static struct server *
server_of(hg_handle_t handle)
{
    return HG_Class_get_data(HG_Get_info(handle)->hg_class);
}

static struct entry *
find(struct server *server, uint64_t id)
{
    for (int i = 0; i < SESSIONS_MAX; i++)
        if (server->entries[i].id == id)
            return &server->entries[i];
    return NULL;
}

/* Returns the session with an id if it belongs to the sender. */
static struct entry *
find_named(hg_handle_t handle, uint64_t id, perf_text_t *error)
{
    struct server *server = server_of(handle);
    struct entry *entry = id != 0 ? find(server, id) : NULL;

    if (entry &&
        !HG_Addr_cmp(server->hg_class, entry->addr, HG_Get_info(handle)->addr))
        entry = NULL;
    if (entry)
        entry->last_ns = perf_clock_now();
    else
        snprintf(error->text, sizeof error->text, "no such session");
    return entry;
}

static void
drop(struct server *server, struct entry *entry)
{
    perf_session_close(entry->session);
    HG_Addr_free(server->hg_class, entry->addr);
    *entry = (struct entry){.id = 0};
    server->closed++;
}

static hg_return_t
responded(const struct hg_cb_info *info)
{
    struct server *server = info->arg;

    server->responses--;
    return HG_SUCCESS;
}

/* Ends a handler: sends a response, or returns the error to send. */
static hg_return_t
respond(hg_handle_t handle, hg_return_t ret, void *out)
{
    struct server *server = server_of(handle);

    if (ret == HG_SUCCESS)
        ret = HG_Respond(handle, responded, server, out);
    if (ret == HG_SUCCESS)
        server->responses++;
    HG_Destroy(handle);
    return ret;
}

/* Decodes an input that owns no memory. */
static hg_return_t
get_input(hg_handle_t handle, void *in)
{
    hg_return_t ret = HG_Get_input(handle, in);

    if (ret == HG_SUCCESS)
        ret = HG_Free_input(handle, in);
    return ret;
}

static hg_return_t
hello(hg_handle_t handle)
{
    const struct perf_serve_options *options = server_of(handle)->options;
    perf_hello_in_t in;
    perf_hello_out_t out = {.version = PERF_CONTROL_VERSION,
        .busy = options->busy,
        .single = options->single,
        .cpu = options->cpu};

    return respond(handle, get_input(handle, &in), &out);
}

static hg_return_t
challenge(hg_handle_t handle)
{
    struct server *server = server_of(handle);
    const struct perf_challenge *made;
    perf_challenge_in_t in;
    perf_challenge_out_t out = {.wants_proof = server->options->token != NULL};
    hg_return_t ret = get_input(handle, &in);

    if (ret == HG_SUCCESS && out.wants_proof) {
        made = perf_challenge_create(
            &server->challenges, HG_Get_info(handle)->addr, &in.nonce);
        if (!made)
            return respond(handle, HG_NOMEM, NULL);
        out.id = made->id;
        out.nonce = made->server_nonce;
    }
    return respond(handle, ret, &out);
}

static const char *
check(const struct server *server, const struct perf_plan *plan)
{
    const char *wrong = perf_plan_check(plan);
    uint64_t memory = 0;
    uint32_t threads = 0;

    for (int i = 0; i < SESSIONS_MAX; i++) {
        memory += server->entries[i].memory;
        threads += server->entries[i].threads;
    }
    return wrong ? wrong : perf_plan_fits(plan, memory, threads);
}

/* Closes the client's previous sessions: it has restarted. */
static void
drop_previous(struct server *server, hg_addr_t addr)
{
    for (int i = 0; i < SESSIONS_MAX; i++)
        if (server->entries[i].id != 0 &&
            HG_Addr_cmp(server->hg_class, server->entries[i].addr, addr))
            drop(server, &server->entries[i]);
}

/* A host name may resolve differently than for the server itself. */
static const char *
check_addresses(const struct server *server, struct perf_session *session)
{
    const char *wrong = NULL;
    struct perf_remote remote;

    for (uint32_t i = 0; !wrong && perf_session_describe(session, i, &remote);
         i++)
        wrong = listen_check(&server->listen, remote.address);
    return wrong;
}

/* Opens the session of an entry. Returns NULL, or an error message. */
static const char *
begin(struct server *server, struct entry *entry, const struct perf_plan *plan,
    hg_addr_t addr)
{
    static struct perf_failure failure;
    const char *wrong = NULL;

    failure = (struct perf_failure){0};
    entry->session = perf_session_open(plan, server->info, &failure);
    if (!entry->session)
        return perf_failure_text(&failure);
    wrong = check_addresses(server, entry->session);
    if (!wrong &&
        HG_Addr_dup(server->hg_class, addr, &entry->addr) != HG_SUCCESS)
        wrong = "out of memory";
    if (wrong) {
        perf_session_close(entry->session);
        *entry = (struct entry){.id = 0};
    }
    return wrong;
}

/* Opens a session if the plan is within the limits. */
static void
admit(struct server *server, hg_addr_t addr, const struct perf_plan *plan,
    perf_open_out_t *out)
{
    struct entry *entry;
    const char *wrong;
    uint64_t id = 0;

    drop_previous(server, addr);
    entry = find(server, 0);
    wrong = check(server, plan);
    if (!entry)
        wrong = "the server has too many sessions already";
    while (!wrong && id == 0)
        if (getrandom(&id, sizeof id, 0) < 0)
            wrong = "the server has no random numbers";
    if (!wrong)
        wrong = begin(server, entry, plan, addr);
    if (wrong) {
        perf_text_copy(
            out->error.text, sizeof out->error.text, wrong, strlen(wrong));
        return;
    }
    entry->id = out->session = id;
    entry->last_ns = perf_clock_now();
    entry->memory = perf_plan_memory(plan);
    entry->threads = perf_plan_threads(plan);
}

/* Whether a client has authenticated, if required. */
static bool
is_proven(hg_handle_t handle, const perf_open_in_t *in, perf_open_out_t *out)
{
    struct server *server = server_of(handle);

    if (!server->options->token ||
        perf_challenge_answer(&server->challenges, HG_Get_info(handle)->addr,
            in->proof.challenge, server->options->token, &in->proof.key,
            &out->proof))
        return true;
    out->denied = 1;
    server->refusals.count++;
    return false;
}

static hg_return_t
open_session(hg_handle_t handle)
{
    struct server *server = server_of(handle);
    perf_open_out_t *out = calloc(1, sizeof *out);
    perf_open_in_t in;
    hg_return_t ret = out ? get_input(handle, &in) : HG_NOMEM;

    if (ret == HG_SUCCESS && is_proven(handle, &in, out)) {
        struct perf_plan plan = {.level = (enum perf_level) in.level,
            .bandwidth = in.bandwidth != 0,
            .busy = server->options->busy,
            .single = server->options->single,
            .verify = in.way.verify != 0,
            .progress_thread = in.way.progress_thread != 0,
            .mem_alloc = in.way.mem_alloc != 0,
            .inflight = in.load.amounts.inflight,
            .threads = in.load.amounts.threads,
            .contexts = in.load.amounts.contexts,
            .classes = in.load.amounts.classes,
            .clients = in.load.amounts.clients,
            .size_max = in.load.size_max};

        admit(server, HG_Get_info(handle)->addr, &plan, out);
    }
    ret = respond(handle, ret, out);
    free(out);
    return ret;
}

static hg_return_t
describe_target(hg_handle_t handle)
{
    perf_remote_out_t *out = calloc(1, sizeof *out);
    struct perf_remote remote;
    struct entry *entry = NULL;
    perf_remote_in_t in;
    hg_return_t ret = out ? get_input(handle, &in) : HG_NOMEM;

    if (ret == HG_SUCCESS)
        entry = find_named(handle, in.session, &out->error);
    if (entry && !perf_session_describe(entry->session, in.index, &remote)) {
        snprintf(out->error.text, sizeof out->error.text, "no such class");
    } else if (entry) {
        perf_text_copy(out->address.text, sizeof out->address.text,
            remote.address, sizeof remote.address);
        out->key.size = remote.key_size;
        memcpy(out->key.bytes, remote.key, remote.key_size);
    }
    ret = respond(handle, ret, out);
    free(out);
    return ret;
}

static hg_return_t
run(hg_handle_t handle)
{
    perf_run_out_t out = {.faults = 0};
    const struct perf_faults *faults;
    struct entry *entry = NULL;
    perf_run_in_t in;
    hg_return_t ret = get_input(handle, &in);

    out.error.text[0] = 0;
    if (ret == HG_SUCCESS)
        entry = find_named(handle, in.session, &out.error);
    if (entry && in.what >= PERF_RUNS) {
        snprintf(out.error.text, sizeof out.error.text, "no such request");
    } else if (entry) {
        if (in.what != PERF_RUN_ASK)
            perf_session_run(entry->session, in.what == PERF_RUN_START);
        faults = perf_session_faults(entry->session);
        out.faults = atomic_load_explicit(&faults->count, memory_order_relaxed);
        out.fault_offset =
            atomic_load_explicit(&faults->offset, memory_order_relaxed);
        perf_text_copy(out.error.text, sizeof out.error.text,
            perf_failure_text(perf_session_failure(entry->session)),
            sizeof out.error.text);
    }
    out.cpu_ns = perf_clock_cpu(0);
    return respond(handle, ret, &out);
}

static hg_return_t
close_session(hg_handle_t handle)
{
    struct server *server = server_of(handle);
    perf_close_out_t out = {.error = {.text = ""}};
    struct entry *entry = NULL;
    perf_close_in_t in;
    hg_return_t ret = get_input(handle, &in);

    if (ret == HG_SUCCESS)
        entry = find_named(handle, in.session, &out.error);
    ret = respond(handle, ret, &out);
    if (entry)
        drop(server, entry);
    return ret;
}

/* Closes the sessions of idle clients. */
static void
drop_silent(struct server *server)
{
    uint64_t now = perf_clock_now(), silence;
    uint64_t idle = server->options->idle * PERF_SECOND_NS;

    for (int i = 0; i < SESSIONS_MAX; i++) {
        struct entry *entry = &server->entries[i];

        if (entry->id == 0)
            continue;
        silence = idle;
        if (perf_session_is_running(entry->session) &&
            silence > PERF_RUNNING_SILENCE_NS)
            silence = PERF_RUNNING_SILENCE_NS;
        if (now - entry->last_ns > silence) {
            log_error("a client is idle for too long; its session is closed");
            drop(server, entry);
        }
    }
}

static bool
progress(struct server *server)
{
    hg_return_t ret = HG_Progress(server->context, POLL_MS);
    unsigned int count;

    if (ret != HG_SUCCESS && ret != HG_TIMEOUT && ret != HG_INTERRUPT) {
        perf_failure_set(&server->failure, "the transport failed: %s",
            HG_Error_to_string(ret));
        return false;
    }
    do {
        count = 0;
        HG_Trigger(server->context, 0, 16, &count);
    } while (count > 0);
    return true;
}

static bool
is_over(const struct server *server)
{
    if (perf_process_interrupted())
        return true;
    if (server->options->once == 0 || server->closed < server->options->once)
        return false;
    for (int i = 0; i < SESSIONS_MAX; i++)
        if (server->entries[i].id != 0)
            return false;
    return true;
}

static void
loop(struct server *server)
{
    uint64_t deadline;

    while (!is_over(server) && progress(server)) {
        drop_silent(server);
        token_refusals_log(&server->refusals, "talaria perf serve", false);
    }
    for (int i = 0; i < SESSIONS_MAX; i++)
        if (server->entries[i].id != 0)
            drop(server, &server->entries[i]);
    deadline = perf_clock_now() + STOP_NS;
    while (server->responses > 0 && perf_clock_now() < deadline)
        if (!progress(server))
            break;
    token_refusals_log(&server->refusals, "talaria perf serve", true);
}

/* Gets the server's address and checks that it may be served. */
static bool
check_address(struct server *server)
{
    const char *reason;
    hg_return_t ret = listen_address(
        server->hg_class, server->address, sizeof server->address);

    if (ret != HG_SUCCESS) {
        perf_failure_set(&server->failure, "the transport has no address: %s",
            HG_Error_to_string(ret));
        return false;
    }
    reason = listen_check(&server->listen, server->address);
    if (reason)
        perf_failure_set(&server->failure, "%s: %s", server->address, reason);
    return reason == NULL;
}

/* Writes the address as a line. */
static bool
announce(struct server *server)
{
    if (dprintf(server->options->fd, "%s\n", server->address) > 0)
        return true;
    perf_failure_set(
        &server->failure, "cannot write the address: %s", strerror(errno));
    return false;
}

/* Removes the port, which the server itself uses, from an info string. */
static char *
strip_port(const char *info)
{
    char *copy = strdup(info), *host, *colon, *end;

    host = copy ? strstr(copy, "://") : NULL;
    if (!host)
        return copy;
    host += 3;
    colon = strrchr(host, ':');
    end = strrchr(host, ']');
    /* Several colons without brackets belong to an IPv6 address. */
    if (colon && (end ? colon > end : strchr(host, ':') == colon))
        *colon = 0;
    return copy;
}

static bool
open_class(struct server *server)
{
    const char *info = server->options->info;
    const char *reason = listen_decide(
        info, server->options->token != NULL, false, &server->listen);

    if (reason) {
        perf_failure_set(&server->failure, "%s: %s", info, reason);
        return false;
    }
    server->info = strip_port(server->listen.info);
    if (server->info)
        server->hg_class = HG_Init(server->listen.info, true);
    if (server->hg_class)
        return check_address(server);
    perf_failure_set(
        &server->failure, "cannot open the transport %s", server->listen.info);
    return false;
}

static bool
start(struct server *server)
{
    static const hg_rpc_cb_t handlers[PERF_CONTROLS] = {
        [PERF_CONTROL_HELLO] = hello,
        [PERF_CONTROL_CHALLENGE] = challenge,
        [PERF_CONTROL_OPEN] = open_session,
        [PERF_CONTROL_REMOTE] = describe_target,
        [PERF_CONTROL_RUN] = run,
        [PERF_CONTROL_CLOSE] = close_session,
    };

    if (!perf_process_pin(server->options->cpu, &server->failure))
        return false;
    if (!open_class(server))
        return false;
    server->challenges.hg_class = server->hg_class;
    HG_Class_set_data(server->hg_class, server, NULL);
    /* The context receives requests as soon as it exists. */
    if (perf_control_register(server->hg_class, handlers, server->ids) ==
        HG_SUCCESS)
        server->context = HG_Context_create(server->hg_class);
    if (server->context)
        return true;
    perf_failure_set(
        &server->failure, "cannot start the transport %s", server->listen.info);
    return false;
}

static void
stop(struct server *server)
{
    hg_return_t ret = HG_SUCCESS;

    if (server->hg_class)
        perf_challenges_clear(&server->challenges);
    if (server->context)
        ret = HG_Context_destroy(server->context);
    if (server->hg_class && ret == HG_SUCCESS)
        ret = HG_Finalize(server->hg_class);
    if (ret != HG_SUCCESS)
        perf_failure_set(&server->failure, "cannot close the transport: %s",
            HG_Error_to_string(ret));
    free(server->info);
    free(server->listen.info);
}

int
perf_serve(const struct perf_serve_options *options)
{
    struct server *server = calloc(1, sizeof *server);
    bool failed;

    if (!server) {
        log_error("out of memory");
        return TOOL_FAILED;
    }
    server->options = options;
    perf_process_catch();
    if (start(server) && announce(server))
        loop(server);
    stop(server);
    failed = perf_failure_is_set(&server->failure);
    if (failed)
        log_error(perf_failure_text(&server->failure));
    free(server);
    return failed ? TOOL_FAILED : TOOL_OK;
}
