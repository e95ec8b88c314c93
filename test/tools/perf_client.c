/* SPDX-License-Identifier: BSD-3-Clause */
/* A server of `talaria perf` and its clients, for tests. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "perf_client.h"

char server_address[256];
struct client client;
static pid_t server;

void
client_open(struct client *caller, const char *to)
{
    *caller = (struct client){.hg_class = HG_Init("na+sm", false)};
    ck_assert_ptr_nonnull(caller->hg_class);
    ck_assert_int_eq(
        perf_control_register(caller->hg_class, NULL, caller->ids), HG_SUCCESS);
    caller->context = HG_Context_create(caller->hg_class);
    ck_assert_ptr_nonnull(caller->context);
    ck_assert_int_eq(
        HG_Addr_lookup2(caller->hg_class, to, &caller->addr), HG_SUCCESS);
}

void
client_close(struct client *caller)
{
    HG_Addr_free(caller->hg_class, caller->addr);
    ck_assert_int_eq(HG_Context_destroy(caller->context), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(caller->hg_class), HG_SUCCESS);
}

hg_return_t
client_answered(const struct hg_cb_info *info)
{
    struct answer *answer = info->arg;

    answer->came = true;
    answer->ret = info->ret;
    return HG_SUCCESS;
}

hg_return_t
client_call(struct client *caller, hg_id_t id, void *in, void *out)
{
    struct answer answer = {0};
    double deadline = peer_clock() + WAIT_SECONDS;
    unsigned int count;
    hg_handle_t handle;

    ck_assert_int_eq(
        HG_Create(caller->context, caller->addr, id, &handle), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Forward(handle, client_answered, &answer, in), HG_SUCCESS);
    while (!answer.came) {
        ck_assert_msg(peer_clock() < deadline, "no answer");
        HG_Progress(caller->context, 10);
        HG_Trigger(caller->context, 0, 1, &count);
    }
    if (answer.ret == HG_SUCCESS && out != NULL) {
        ck_assert_int_eq(HG_Get_output(handle, out), HG_SUCCESS);
        ck_assert_int_eq(HG_Free_output(handle, out), HG_SUCCESS);
    }
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    return answer.ret;
}

const struct perf_plan small_plan = {.level = PERF_RPC,
    .inflight = 1,
    .threads = 1,
    .contexts = 1,
    .classes = 1,
    .clients = 1,
    .size_max = 64};

perf_open_out_t
client_open_session(struct client *caller, const struct perf_plan *plan,
    uint64_t challenge, const token_key_t *proof)
{
    perf_open_in_t in = {.level = (uint8_t) plan->level,
        .bandwidth = plan->bandwidth,
        .load = {plan->size_max, {plan->inflight, plan->threads, plan->contexts,
                                     plan->classes, plan->clients}},
        .proof = {.challenge = challenge}};
    perf_open_out_t out = {.session = 0};

    if (proof != NULL)
        in.proof.key = *proof;
    ck_assert_int_eq(
        client_call(caller, caller->ids[PERF_CONTROL_OPEN], &in, &out),
        HG_SUCCESS);
    if (out.session != 0)
        caller->session = out.session;
    return out;
}

const char *
client_try_plan(struct client *caller, const struct perf_plan *plan)
{
    static perf_open_out_t out;

    out = client_open_session(caller, plan, 0, NULL);
    ck_assert_int_eq(out.session == 0, out.error.text[0] != 0);
    return out.error.text;
}

const char *
client_place(struct client *caller, uint32_t index, perf_remote_out_t *out_p)
{
    static perf_remote_out_t out;
    perf_remote_in_t in = {caller->session, index};

    ck_assert_int_eq(
        client_call(caller, caller->ids[PERF_CONTROL_REMOTE], &in, &out),
        HG_SUCCESS);
    if (out_p != NULL)
        *out_p = out;
    return out.error.text;
}

const char *
client_run(struct client *caller, unsigned int what)
{
    static perf_run_out_t out;
    perf_run_in_t in = {caller->session, (uint8_t) what};

    ck_assert_int_eq(
        client_call(caller, caller->ids[PERF_CONTROL_RUN], &in, &out),
        HG_SUCCESS);
    return out.error.text;
}

const char *
client_close_session(struct client *caller)
{
    static perf_close_out_t out;
    perf_close_in_t in = {caller->session};

    ck_assert_int_eq(
        client_call(caller, caller->ids[PERF_CONTROL_CLOSE], &in, &out),
        HG_SUCCESS);
    return out.error.text;
}

void
server_start(const char *wrapper, const char *option, const char *value)
{
    char *const plain[] = {getenv("TALARIA"), "perf", "serve", "na+sm",
        (char *) (uintptr_t) option, (char *) (uintptr_t) value, NULL};
    char *const wrapped[] = {(char *) (uintptr_t) wrapper, getenv("TALARIA"),
        "perf", "serve", "na+sm", NULL};
    double deadline = peer_clock() + WAIT_SECONDS;
    FILE *stream;

    server = peer_start_program(wrapper != NULL ? wrapped : plain);
    server_address[0] = 0;
    while (strchr(server_address, '\n') == NULL) {
        struct timespec nap = {.tv_nsec = 10000000};

        ck_assert_msg(peer_clock() < deadline, "no server");
        nanosleep(&nap, NULL);
        stream = fopen(peer_path("out"), "r");
        if (stream == NULL)
            continue;
        if (fgets(server_address, sizeof(server_address), stream) == NULL)
            server_address[0] = 0;
        fclose(stream);
    }
    server_address[strcspn(server_address, "\n")] = 0;
    client_open(&client, server_address);
}

void
server_end(void)
{
    int status;

    client_close(&client);
    ck_assert_int_eq(kill(server, SIGTERM), 0);
    ck_assert_int_eq(waitpid(server, &status, 0), server);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    peer_folder_remove();
}

bool
server_logged(const char *text)
{
    char line[512];
    bool found = false;
    FILE *stream = fopen(peer_path("err"), "r");

    ck_assert_ptr_nonnull(stream);
    while (!found && fgets(line, sizeof(line), stream) != NULL)
        found = strstr(line, text) != NULL;
    fclose(stream);
    return found;
}

void
server_await_log(const char *text)
{
    double deadline = peer_clock() + 10;

    while (!server_logged(text)) {
        struct timespec nap = {.tv_nsec = 20000000};

        ck_assert_msg(peer_clock() < deadline, "never logged: %s", text);
        nanosleep(&nap, NULL);
    }
}
