/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends control requests, one at a time. */
#include "perf/client.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "perf/challenge.h"
#include "perf/clock.h"
#include "perf/process.h"

#define ANSWER_NS (30 * PERF_SECOND_NS)
#define LAST_ANSWER_NS (3 * PERF_SECOND_NS) /* after a failure */
#define POLL_MS 100

struct call {
    bool done;
    hg_return_t ret;
};

static hg_return_t
answered(const struct hg_cb_info *info)
{
    struct call *call = info->arg;

    call->done = true;
    call->ret = info->ret;
    return HG_SUCCESS;
}

static void
progress(struct perf_client *client)
{
    unsigned int count;

    if (HG_Progress(client->context, POLL_MS) == HG_SUCCESS)
        HG_Trigger(client->context, 0, 1, &count);
}

/* Sends one request and waits for its answer. */
static hg_return_t
ask(struct perf_client *client, enum perf_control which, uint64_t patience_ns,
    void *in, void *out)
{
    /* After a failure the server may not answer. */
    uint64_t deadline =
        perf_clock_now() +
        (perf_failure_is_set(client->failure) ? LAST_ANSWER_NS : patience_ns);
    struct call call = {false, HG_SUCCESS};
    bool canceled = false;
    hg_handle_t handle;
    hg_return_t ret =
        HG_Create(client->context, client->addr, client->ids[which], &handle);

    if (ret != HG_SUCCESS)
        return ret;
    ret = HG_Forward(handle, answered, &call, in);
    while (ret == HG_SUCCESS && !call.done) {
        progress(client);
        if (!call.done && !canceled &&
            (perf_clock_now() > deadline || perf_process_interrupted())) {
            HG_Cancel(handle);
            canceled = true;
        }
    }
    if (ret == HG_SUCCESS)
        ret = canceled && call.ret == HG_CANCELED ? HG_TIMEOUT : call.ret;
    if (ret == HG_SUCCESS)
        ret = HG_Get_output(handle, out);
    if (ret == HG_SUCCESS)
        ret = HG_Free_output(handle, out);
    HG_Destroy(handle);
    client->last_ns = perf_clock_now();
    return ret;
}

/* Sets the failure to the error of a request, ours or the server's. */
static bool
is_answered(
    struct perf_client *client, hg_return_t ret, const perf_text_t *error)
{
    char text[PERF_TEXT_SIZE];

    if (ret == HG_TIMEOUT)
        perf_failure_set(client->failure, "the server does not answer");
    else if (ret == HG_HOSTUNREACH)
        perf_failure_set(client->failure, "the server is not reachable");
    else if (ret == HG_NOENTRY)
        perf_failure_set(
            client->failure, "the server is not a talaria perf serve");
    else if (ret != HG_SUCCESS)
        perf_failure_set(
            client->failure, "the request failed: %s", HG_Error_to_string(ret));
    if (ret != HG_SUCCESS || !error || error->text[0] == 0)
        return ret == HG_SUCCESS;
    perf_text_copy(text, sizeof text, error->text, sizeof error->text);
    perf_failure_set(client->failure, "the server refuses: %s", text);
    return false;
}

bool
perf_client_connect(struct perf_client *client, const char *info,
    const char *address, const struct token *token,
    struct perf_failure *failure, perf_hello_out_t *hello_p)
{
    perf_hello_in_t in = {PERF_CONTROL_VERSION};
    hg_return_t ret;

    *client = (struct perf_client){.failure = failure, .token = token};
    client->hg_class = HG_Init(info, false);
    if (client->hg_class && perf_control_register(client->hg_class, NULL,
                                client->ids) == HG_SUCCESS)
        client->context = HG_Context_create(client->hg_class);
    if (!client->context) {
        perf_failure_set(failure, "cannot open the transport %s", info);
        return false;
    }
    ret = HG_Addr_lookup2(client->hg_class, address, &client->addr);
    if (ret != HG_SUCCESS) {
        perf_failure_set(failure, "cannot look up \"%s\": %s", address,
            HG_Error_to_string(ret));
        return false;
    }
    ret = ask(client, PERF_CONTROL_HELLO, ANSWER_NS, &in, hello_p);
    if (!is_answered(client, ret, NULL))
        return false;
    if (hello_p->version == PERF_CONTROL_VERSION)
        return true;
    perf_failure_set(failure,
        "the server's protocol is version %u, ours is version %u",
        hello_p->version, PERF_CONTROL_VERSION);
    return false;
}

/* Gets the address and the memory key of one of the server's classes. */
static bool
describe(struct perf_client *client, uint32_t index, struct perf_remote *remote)
{
    perf_remote_in_t in = {client->session, index};
    perf_remote_out_t *out = calloc(1, sizeof *out);
    hg_return_t ret =
        out ? ask(client, PERF_CONTROL_REMOTE, ANSWER_NS, &in, out) : HG_NOMEM;
    bool good = is_answered(client, ret, out ? &out->error : NULL);

    if (good) {
        perf_text_copy(remote->address, sizeof remote->address,
            out->address.text, sizeof out->address.text);
        remote->key_size = out->key.size;
        memcpy(remote->key, out->key.bytes, out->key.size);
    }
    free(out);
    return good;
}

/* Gets a challenge and adds its proof to the open request. */
static bool
prove(struct perf_client *client, struct token_binding *binding,
    perf_open_in_t *open_in)
{
    perf_challenge_in_t in;
    perf_challenge_out_t out;
    const char *reason;
    hg_return_t ret;

    if (!token_nonce(&in.nonce)) {
        perf_failure_set(client->failure, "no random numbers");
        return false;
    }
    ret = ask(client, PERF_CONTROL_CHALLENGE, ANSWER_NS, &in, &out);
    if (!is_answered(client, ret, NULL))
        return false;
    reason = token_mismatch(out.wants_proof != 0, client->token != NULL);
    if (reason) {
        perf_failure_set(client->failure, "%s", reason);
        return false;
    }
    if (!client->token)
        return true;
    perf_challenge_binding(out.id, &in.nonce, &out.nonce, binding);
    open_in->proof.challenge = out.id;
    token_prove(client->token, TOKEN_CLIENT, binding, &open_in->proof.key);
    return true;
}

/* Whether the server opened the session and has the token, too. */
static bool
is_opened(struct perf_client *client, const struct token_binding *binding,
    const perf_open_out_t *out)
{
    if (out->denied) {
        perf_failure_set(client->failure, TOKEN_MISMATCH);
        return false;
    }
    if (!client->token ||
        token_check(client->token, TOKEN_SERVER, binding, &out->proof))
        return true;
    perf_failure_set(client->failure, TOKEN_SERVER_UNPROVEN);
    return false;
}

bool
perf_client_open(struct perf_client *client, const struct perf_plan *plan,
    struct perf_remote *remotes)
{
    perf_open_in_t in = {.level = (uint8_t) plan->level,
        .bandwidth = plan->bandwidth,
        .way = {plan->verify, plan->progress_thread, plan->mem_alloc},
        .load = {plan->size_max, {plan->inflight, plan->threads, plan->contexts,
                                     plan->classes, plan->clients}}};
    perf_open_out_t out = {.session = 0};
    struct token_binding binding = {0};
    hg_return_t ret;

    if (!prove(client, &binding, &in))
        return false;
    ret = ask(client, PERF_CONTROL_OPEN, ANSWER_NS, &in, &out);
    if (!is_answered(client, ret, NULL) || !is_opened(client, &binding, &out) ||
        !is_answered(client, ret, &out.error))
        return false;
    client->session = out.session;
    for (uint32_t i = 0; i < plan->classes; i++)
        if (!describe(client, i, &remotes[i]))
            return false;
    return true;
}

bool
perf_client_run(
    struct perf_client *client, enum perf_run what, uint64_t *cpu_ns_p)
{
    perf_run_in_t in = {client->session, (uint8_t) what};
    perf_run_out_t out;
    hg_return_t ret = ask(client, PERF_CONTROL_RUN, ANSWER_NS, &in, &out);

    if (!is_answered(client, ret, &out.error))
        return false;
    *cpu_ns_p = out.cpu_ns;
    if (out.faults == 0)
        return true;
    perf_failure_set(client->failure,
        "verification: %" PRIu64 " of the operations brought the target wrong "
        "bytes; in the first, byte %" PRIu64,
        out.faults, out.fault_offset);
    return false;
}

void
perf_client_finish(struct perf_client *client)
{
    perf_close_in_t in = {client->session};
    perf_close_out_t out;

    if (client->session != 0)
        ask(client, PERF_CONTROL_CLOSE, LAST_ANSWER_NS, &in, &out);
    if (client->hg_class)
        HG_Addr_free(client->hg_class, client->addr);
    if (client->context)
        HG_Context_destroy(client->context);
    if (client->hg_class)
        HG_Finalize(client->hg_class);
    *client = (struct perf_client){.hg_class = NULL};
}
