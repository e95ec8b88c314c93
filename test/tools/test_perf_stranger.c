/* SPDX-License-Identifier: BSD-3-Clause */
/* A server of `talaria perf` and clients that keep no rule: what they hold is
 * bounded, what they send is refused, and others are served on. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "copy_peer.h"
#include "perf/challenge.h"
#include "perf/control.h"
#include "perf/hg_side.h"

#define WAIT_SECONDS 50.0
#define SESSIONS 16 /* that a server has at a time */

/* A class that asks, and what it asks. */
struct client {
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_addr_t addr; /* of the server, or of a session's class */
    hg_id_t ids[PERF_CONTROLS];
    uint64_t session;
};

static pid_t server;
static char address[256];
static struct client client;
static struct token *token;

static void
client_open(struct client *who, const char *to)
{
    *who = (struct client){.hg_class = HG_Init("na+sm", false)};
    ck_assert_ptr_nonnull(who->hg_class);
    ck_assert_int_eq(
        perf_control_register(who->hg_class, NULL, who->ids), HG_SUCCESS);
    who->context = HG_Context_create(who->hg_class);
    ck_assert_ptr_nonnull(who->context);
    ck_assert_int_eq(
        HG_Addr_lookup2(who->hg_class, to, &who->addr), HG_SUCCESS);
}

static void
client_close(struct client *who)
{
    HG_Addr_free(who->hg_class, who->addr);
    ck_assert_int_eq(HG_Context_destroy(who->context), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(who->hg_class), HG_SUCCESS);
}

struct answer {
    bool came;
    hg_return_t ret;
};

static hg_return_t
on_answer(const struct hg_cb_info *info)
{
    struct answer *answer = info->arg;

    answer->came = true;
    answer->ret = info->ret;
    return HG_SUCCESS;
}

/* Calls and waits; out is decoded if the call succeeds. */
static hg_return_t
ask(struct client *who, hg_id_t id, void *in, void *out)
{
    struct answer answer = {0};
    double deadline = peer_clock() + WAIT_SECONDS;
    unsigned int count;
    hg_handle_t handle;

    ck_assert_int_eq(
        HG_Create(who->context, who->addr, id, &handle), HG_SUCCESS);
    ck_assert_int_eq(HG_Forward(handle, on_answer, &answer, in), HG_SUCCESS);
    while (!answer.came) {
        ck_assert_msg(peer_clock() < deadline, "no answer");
        HG_Progress(who->context, 10);
        HG_Trigger(who->context, 0, 1, &count);
    }
    if (answer.ret == HG_SUCCESS && out != NULL) {
        ck_assert_int_eq(HG_Get_output(handle, out), HG_SUCCESS);
        ck_assert_int_eq(HG_Free_output(handle, out), HG_SUCCESS);
    }
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    return answer.ret;
}

static const struct perf_plan small_plan = {.level = PERF_RPC,
    .inflight = 1,
    .threads = 1,
    .contexts = 1,
    .classes = 1,
    .clients = 1,
    .size_max = 64};

/* Opens as a client that has been challenged, or not: 0. */
static perf_open_out_t
open_by(struct client *who, const struct perf_plan *plan, uint64_t challenge,
    const token_key_t *proof)
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
        ask(who, who->ids[PERF_CONTROL_OPEN], &in, &out), HG_SUCCESS);
    if (out.session != 0)
        who->session = out.session;
    return out;
}

/* "" or why no session was opened. */
static const char *
open_plan(struct client *who, const struct perf_plan *plan)
{
    static perf_open_out_t out;

    out = open_by(who, plan, 0, NULL);
    ck_assert_int_eq(out.session == 0, out.error.text[0] != 0);
    return out.error.text;
}

static const char *
place_of(struct client *who, uint32_t index, perf_remote_out_t *out_p)
{
    static perf_remote_out_t out;
    perf_remote_in_t in = {who->session, index};

    ck_assert_int_eq(
        ask(who, who->ids[PERF_CONTROL_REMOTE], &in, &out), HG_SUCCESS);
    if (out_p != NULL)
        *out_p = out;
    return out.error.text;
}

static const char *
run_it(struct client *who, unsigned int what)
{
    static perf_run_out_t out;
    perf_run_in_t in = {who->session, (uint8_t) what};

    ck_assert_int_eq(
        ask(who, who->ids[PERF_CONTROL_RUN], &in, &out), HG_SUCCESS);
    return out.error.text;
}

static const char *
close_it(struct client *who)
{
    static perf_close_out_t out;
    perf_close_in_t in = {who->session};

    ck_assert_int_eq(
        ask(who, who->ids[PERF_CONTROL_CLOSE], &in, &out), HG_SUCCESS);
    return out.error.text;
}

/* Starts a server with an option, NULL if none, in front of which stands another
 * program, NULL if none. */
static void
start_server(const char *wrapper, const char *option, const char *value)
{
    char *const plain[] = {getenv("TALARIA"), "perf", "serve", "na+sm",
        (char *) (uintptr_t) option, (char *) (uintptr_t) value, NULL};
    char *const wrapped[] = {(char *) (uintptr_t) wrapper, getenv("TALARIA"),
        "perf", "serve", "na+sm", NULL};
    double deadline = peer_clock() + WAIT_SECONDS;
    FILE *stream;

    server = peer_start_program(wrapper != NULL ? wrapped : plain);
    address[0] = 0;
    while (strchr(address, '\n') == NULL) {
        struct timespec nap = {.tv_nsec = 10000000};

        ck_assert_msg(peer_clock() < deadline, "no server");
        nanosleep(&nap, NULL);
        stream = fopen(peer_path("out"), "r");
        if (stream == NULL)
            continue;
        if (fgets(address, sizeof(address), stream) == NULL)
            address[0] = 0;
        fclose(stream);
    }
    address[strcspn(address, "\n")] = 0;
    client_open(&client, address);
}

/* However it was treated, the server ends as it should. */
static void
end_server(void)
{
    int status;

    client_close(&client);
    ck_assert_int_eq(kill(server, SIGTERM), 0);
    ck_assert_int_eq(waitpid(server, &status, 0), server);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    peer_folder_remove();
}

static void
setup(void)
{
    peer_folder_create();
    start_server(NULL, NULL, NULL);
}

static void
setup_token(void)
{
    static const char words[] = "the words that both sides know";
    char path[256];
    int fd;

    peer_folder_create();
    snprintf(path, sizeof(path), "%s", peer_path("token"));
    fd = open(path, O_CREAT | O_WRONLY, 0600);
    ck_assert_int_eq(write(fd, words, strlen(words)), (ssize_t) strlen(words));
    close(fd);
    ck_assert_ptr_null(token_read(path, &token));
    start_server(NULL, "--token-file", path);
}

static void
teardown_token(void)
{
    token_free(token);
    end_server();
}

static void
setup_idle(void)
{
    peer_folder_create();
    start_server(NULL, "--idle", "1");
}

static void
setup_no_vm(void)
{
    peer_folder_create();
    start_server(getenv("NO_VM"), NULL, NULL);
}

static bool
server_said(const char *text)
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

static void
wait_until_said(const char *text)
{
    double deadline = peer_clock() + 10;

    while (!server_said(text)) {
        struct timespec nap = {.tv_nsec = 20000000};

        ck_assert_msg(peer_clock() < deadline, "never said: %s", text);
        nanosleep(&nap, NULL);
    }
}

START_TEST(plan_beyond_limits_refused)
{
    struct perf_plan plan = small_plan;

    plan.inflight = UINT32_MAX;
    ck_assert_str_ne(open_plan(&client, &plan), "");
    plan = small_plan;
    plan.classes = PERF_CLASSES_MAX + 1;
    ck_assert_str_ne(open_plan(&client, &plan), "");
    plan = small_plan;
    plan.level = (enum perf_level) 200;
    ck_assert_str_ne(open_plan(&client, &plan), "");
    plan = small_plan;
    plan.size_max = UINT64_MAX;
    ck_assert_str_ne(open_plan(&client, &plan), "");
    ck_assert_str_eq(open_plan(&client, &small_plan), "");
}
END_TEST

/* Each receive of level na has a buffer, and one for its answer. */
START_TEST(receives_beyond_memory_refused)
{
    struct perf_plan plan = {.level = PERF_NA,
        .inflight = 1024,
        .threads = 64,
        .contexts = 64,
        .classes = 16,
        .clients = 1,
        .size_max = 32768};

    ck_assert_ptr_nonnull(strstr(open_plan(&client, &plan), "of memory"));
}
END_TEST

START_TEST(threads_of_all_sessions_bounded)
{
    struct perf_plan plan = small_plan;
    struct client others[3];
    const char *error = "";

    plan.threads = 64;
    plan.classes = 15;
    for (int i = 0; i < 3; i++)
        client_open(&others[i], address);
    ck_assert_str_eq(open_plan(&others[0], &plan), "");
    ck_assert_str_eq(open_plan(&others[1], &plan), "");
    error = open_plan(&others[2], &plan);
    ck_assert_ptr_nonnull(strstr(error, "2048 threads"));
    ck_assert_str_eq(close_it(&others[0]), "");
    ck_assert_str_eq(open_plan(&others[2], &plan), "");
    for (int i = 0; i < 3; i++)
        client_close(&others[i]);
}
END_TEST

START_TEST(sessions_too_many_refused)
{
    static struct client others[SESSIONS];

    for (int i = 0; i < SESSIONS; i++) {
        client_open(&others[i], address);
        ck_assert_str_eq(open_plan(&others[i], &small_plan), "");
    }
    ck_assert_ptr_nonnull(
        strstr(open_plan(&client, &small_plan), "too many sessions"));
    /* Who has one may begin anew; and there is room when one ends. */
    ck_assert_str_eq(open_plan(&others[0], &small_plan), "");
    ck_assert_str_eq(close_it(&others[1]), "");
    ck_assert_str_eq(open_plan(&client, &small_plan), "");
    for (int i = 0; i < SESSIONS; i++)
        client_close(&others[i]);
}
END_TEST

START_TEST(session_of_another_refused)
{
    struct client other;

    ck_assert_str_eq(open_plan(&client, &small_plan), "");
    client_open(&other, address);
    other.session = client.session;
    ck_assert_str_eq(place_of(&other, 0, NULL), "no such session");
    ck_assert_str_eq(run_it(&other, PERF_RUN_START), "no such session");
    ck_assert_str_eq(close_it(&other), "no such session");
    client_close(&other);
    ck_assert_str_eq(place_of(&client, 0, NULL), "");
    ck_assert_str_eq(close_it(&client), "");
    ck_assert_str_eq(close_it(&client), "no such session");
    client.session = 0;
    ck_assert_str_eq(run_it(&client, PERF_RUN_START), "no such session");
}
END_TEST

START_TEST(open_twice_ends_former)
{
    uint64_t former;

    ck_assert_str_eq(open_plan(&client, &small_plan), "");
    former = client.session;
    ck_assert_str_eq(open_plan(&client, &small_plan), "");
    ck_assert_uint_ne(client.session, former);
    ck_assert_str_eq(run_it(&client, PERF_RUN_ASK), "");
    client.session = former;
    ck_assert_str_eq(run_it(&client, PERF_RUN_ASK), "no such session");
}
END_TEST

START_TEST(requests_senseless_refused)
{
    ck_assert_str_eq(open_plan(&client, &small_plan), "");
    ck_assert_str_eq(place_of(&client, 1, NULL), "no such class");
    ck_assert_str_eq(place_of(&client, UINT32_MAX, NULL), "no such class");
    ck_assert_str_eq(run_it(&client, PERF_RUNS), "no such request");
    ck_assert_str_eq(run_it(&client, 255), "no such request");
    /* Fewer bytes than a request has. */
    for (int i = PERF_CONTROL_CHALLENGE; i < PERF_CONTROLS; i++) {
        hg_id_t id = client.ids[i];

        ck_assert_int_eq(
            HG_Register(client.hg_class, id, NULL, NULL, NULL), HG_SUCCESS);
        ck_assert_int_ne(ask(&client, id, NULL, NULL), HG_SUCCESS);
    }
    perf_control_register(client.hg_class, NULL, client.ids);
    ck_assert_str_eq(close_it(&client), "");
}
END_TEST

/* A session's class, as a stranger reaches it. */
static void
open_class(
    struct client *who, const struct perf_plan *plan, hg_id_t rpcs[PERF_RPCS])
{
    perf_remote_out_t place;

    ck_assert_str_eq(open_plan(&client, plan), "");
    ck_assert_str_eq(place_of(&client, 0, &place), "");
    ck_assert_str_eq(run_it(&client, PERF_RUN_START), "");
    client_open(who, place.address.text);
    rpcs[PERF_RPC_READ] = HG_Register_name(
        who->hg_class, "talaria.perf.read", hg_proc_perf_read_in_t, NULL, NULL);
    rpcs[PERF_RPC_PULL] = HG_Register_name(who->hg_class, "talaria.perf.pull",
        hg_proc_perf_bulk_in_t, hg_proc_perf_bulk_out_t, NULL);
    rpcs[PERF_RPC_PUSH] = HG_Register_name(who->hg_class, "talaria.perf.push",
        hg_proc_perf_bulk_in_t, hg_proc_perf_bulk_out_t, NULL);
}

START_TEST(read_beyond_plan_refused)
{
    perf_read_in_t in = {.size = 64};
    hg_id_t rpcs[PERF_RPCS];
    struct client other;

    open_class(&other, &small_plan, rpcs);
    ck_assert_int_eq(ask(&other, rpcs[PERF_RPC_READ], &in, NULL), HG_SUCCESS);
    in.size = 65;
    ck_assert_int_eq(ask(&other, rpcs[PERF_RPC_READ], &in, NULL), HG_OVERFLOW);
    in.size = UINT64_MAX;
    ck_assert_int_eq(ask(&other, rpcs[PERF_RPC_READ], &in, NULL), HG_OVERFLOW);
    client_close(&other);
}
END_TEST

START_TEST(transfer_beyond_plan_refused)
{
    struct perf_plan plan = small_plan;
    perf_bulk_in_t in = {.size = 64, .slot = 1};
    hg_id_t rpcs[PERF_RPCS];
    hg_size_t size = 4096;
    struct client other;
    perf_bulk_out_t out;

    plan.level = PERF_BULK;
    plan.inflight = 2;
    open_class(&other, &plan, rpcs);
    ck_assert_int_eq(HG_Bulk_create(other.hg_class, 1, NULL, &size,
                         HG_BULK_READWRITE, &in.memory),
        HG_SUCCESS);
    for (int i = PERF_RPC_PULL; i <= PERF_RPC_PUSH; i++) {
        static const uint64_t wrong[][2] = {{2, 64}, {UINT64_MAX, 64}, {1, 65},
            {0, UINT64_MAX}, {UINT64_MAX / 64, 64}};

        in.slot = 1;
        in.size = 64;
        ck_assert_int_eq(ask(&other, rpcs[i], &in, &out), HG_SUCCESS);
        ck_assert_int_eq(out.ret, HG_SUCCESS);
        for (size_t j = 0; j < sizeof(wrong) / sizeof(wrong[0]); j++) {
            in.slot = wrong[j][0];
            in.size = wrong[j][1];
            ck_assert_int_eq(ask(&other, rpcs[i], &in, &out), HG_SUCCESS);
            ck_assert_int_eq(out.ret, HG_INVALID_ARG);
        }
    }
    HG_Bulk_free(in.memory);
    in = (perf_bulk_in_t){.size = 8};
    ck_assert_int_eq(ask(&other, rpcs[PERF_RPC_PULL], &in, &out), HG_SUCCESS);
    ck_assert_int_eq(out.ret, HG_INVALID_ARG);
    client_close(&other);
}
END_TEST

/* A transfer that its peer lets hang is over before its memory is freed. */
START_TEST(transfer_hanging_ends_with_session)
{
    struct perf_plan plan = small_plan;
    perf_bulk_in_t in = {.size = 1 << 16};
    hg_size_t size = 1 << 16;
    struct answer answer = {0};
    double deadline = peer_clock() + WAIT_SECONDS;
    hg_id_t rpcs[PERF_RPCS];
    struct client other;
    perf_bulk_out_t out;
    hg_handle_t handle;
    unsigned int count;
    void *memory;

    plan.level = PERF_BULK;
    plan.size_max = 1 << 16;
    open_class(&other, &plan, rpcs);
    memory = calloc(1, size);
    ck_assert_int_eq(HG_Bulk_create(other.hg_class, 1, &memory, &size,
                         HG_BULK_READWRITE, &in.memory),
        HG_SUCCESS);
    ck_assert_int_eq(
        HG_Create(other.context, other.addr, rpcs[PERF_RPC_PULL], &handle),
        HG_SUCCESS);
    ck_assert_int_eq(HG_Forward(handle, on_answer, &answer, &in), HG_SUCCESS);
    /* A second request for the slot is refused: the first one holds it. Asked
     * from another class, since this one doesn't move. */
    for (;;) {
        struct client third;
        perf_remote_out_t place;
        perf_bulk_in_t again = {.size = 8};
        hg_id_t pull;

        ck_assert_str_eq(place_of(&client, 0, &place), "");
        client_open(&third, place.address.text);
        pull = HG_Register_name(third.hg_class, "talaria.perf.pull",
            hg_proc_perf_bulk_in_t, hg_proc_perf_bulk_out_t, NULL);
        ck_assert_int_eq(HG_Bulk_create(third.hg_class, 1, NULL, &size,
                             HG_BULK_READWRITE, &again.memory),
            HG_SUCCESS);
        ck_assert_int_eq(ask(&third, pull, &again, &out), HG_SUCCESS);
        HG_Bulk_free(again.memory);
        client_close(&third);
        if (out.ret == HG_BUSY)
            break;
        ck_assert_msg(peer_clock() < deadline, "the slot is never taken");
    }
    ck_assert_str_eq(close_it(&client), "");
    /* The server is still there, and so it is once the stranger moves. */
    ck_assert_str_eq(open_plan(&client, &plan), "");
    while (!answer.came && peer_clock() < deadline) {
        HG_Progress(other.context, 10);
        HG_Trigger(other.context, 0, 1, &count);
    }
    ck_assert(answer.came);
    ck_assert_str_eq(close_it(&client), "");
    ck_assert(!server_said("not freed"));
    HG_Destroy(handle);
    HG_Bulk_free(in.memory);
    free(memory);
    client_close(&other);
}
END_TEST

START_TEST(client_silent_frees_seat)
{
    ck_assert_str_eq(open_plan(&client, &small_plan), "");
    ck_assert_str_eq(run_it(&client, PERF_RUN_START), "");
    wait_until_said("is idle for too long");
    ck_assert_str_eq(run_it(&client, PERF_RUN_ASK), "no such session");
}
END_TEST

START_TEST(client_asking_keeps_seat)
{
    double started = peer_clock();
    struct timespec nap = {.tv_nsec = 50000000};

    ck_assert_str_eq(open_plan(&client, &small_plan), "");
    while (peer_clock() < started + 2.5) {
        ck_assert_str_eq(run_it(&client, PERF_RUN_ASK), "");
        nanosleep(&nap, NULL);
    }
    ck_assert(!server_said("is idle for too long"));
}
END_TEST

/* Decodes a length and as many bytes. */
static hg_return_t
decode(hg_proc_cb_t proc_of, void *bytes, size_t size, void *into)
{
    hg_return_t ret;
    hg_proc_t proc;

    ck_assert_int_eq(hg_proc_create_set(client.hg_class, bytes, size, HG_DECODE,
                         HG_NOHASH, &proc),
        HG_SUCCESS);
    ret = proc_of(proc, into);
    hg_proc_free(proc);
    return ret;
}

/* What a lying server or client sends has no more than there is room for. */
START_TEST(lengths_beyond_room_refused)
{
    static char bytes[4096];
    static perf_bytes_t key;
    perf_text_t text;
    uint16_t length = PERF_TEXT_SIZE - 1;
    uint32_t size = PERF_MEMORY_KEY_SIZE;

    memset(bytes, 'x', sizeof(bytes));
    memcpy(bytes, &length, sizeof(length));
    ck_assert_int_eq(
        decode(hg_proc_perf_text_t, bytes, sizeof(bytes), &text), HG_SUCCESS);
    ck_assert_uint_eq(strlen(text.text), length);
    length++;
    memcpy(bytes, &length, sizeof(length));
    ck_assert_int_eq(decode(hg_proc_perf_text_t, bytes, sizeof(bytes), &text),
        HG_PROTOCOL_ERROR);
    memcpy(bytes, &size, sizeof(size));
    ck_assert_int_eq(
        decode(hg_proc_perf_bytes_t, bytes, sizeof(bytes), &key), HG_SUCCESS);
    ck_assert_uint_eq(key.size, size);
    size++;
    memcpy(bytes, &size, sizeof(size));
    ck_assert_int_eq(decode(hg_proc_perf_bytes_t, bytes, sizeof(bytes), &key),
        HG_PROTOCOL_ERROR);
}
END_TEST

/* A challenge and the proof that answers it. */
static uint64_t
get_challenge(struct client *who, token_key_t *proof_p)
{
    perf_challenge_in_t in;
    perf_challenge_out_t out;
    struct token_binding binding;

    memset(&in, 7, sizeof(in));
    ck_assert_int_eq(
        ask(who, who->ids[PERF_CONTROL_CHALLENGE], &in, &out), HG_SUCCESS);
    ck_assert_uint_eq(out.wants_proof, 1);
    ck_assert_uint_ne(out.id, 0);
    perf_challenge_binding(out.id, &in.nonce, &out.nonce, &binding);
    token_prove(token, TOKEN_CLIENT, &binding, proof_p);
    return out.id;
}

static bool
opens(struct client *who, uint64_t challenge, const token_key_t *proof)
{
    perf_open_out_t out = open_by(who, &small_plan, challenge, proof);

    ck_assert_int_eq(out.session == 0, out.denied != 0);
    return out.session != 0;
}

START_TEST(open_without_proof_denied)
{
    token_key_t proof = {{0}};
    uint64_t id;

    ck_assert(!opens(&client, 0, NULL));
    id = get_challenge(&client, &proof);
    ck_assert(!opens(&client, 0, &proof));
    ck_assert(opens(&client, id, &proof));
}
END_TEST

START_TEST(proof_wrong_denied_and_spent)
{
    token_key_t proof;
    token_key_t wrong;
    uint64_t id = get_challenge(&client, &proof);

    wrong = proof;
    wrong.bytes[31] ^= 1;
    ck_assert(!opens(&client, id, &wrong));
    /* There is no second try. */
    ck_assert(!opens(&client, id, &proof));
    ck_assert(!opens(&client, id, &proof));
    wait_until_said("talaria perf serve: ");
    ck_assert(server_said("without the right token"));
}
END_TEST

START_TEST(proof_overheard_denied)
{
    token_key_t proof;
    token_key_t next;
    uint64_t id = get_challenge(&client, &proof);
    struct client other;

    client_open(&other, address);
    ck_assert(!opens(&other, id, &proof));
    ck_assert(opens(&client, id, &proof));
    ck_assert(!opens(&client, id, &proof));
    /* Nor for the same client's next one. */
    id = get_challenge(&client, &next);
    ck_assert_mem_ne(&proof, &next, sizeof(proof));
    ck_assert(!opens(&client, id, &proof));
    client_close(&other);
}
END_TEST

/* One challenge each, and so many of them. */
START_TEST(challenges_bounded)
{
    enum { STRANGERS = PERF_CHALLENGES_MAX };
    static struct client strangers[STRANGERS];
    token_key_t first;
    token_key_t proof;
    uint64_t oldest = get_challenge(&client, &first);
    uint64_t id = 0;

    for (int i = 0; i < STRANGERS - 1; i++) {
        client_open(&strangers[i], address);
        id = get_challenge(&strangers[i], &proof);
        id = get_challenge(&strangers[i], &proof);
    }
    ck_assert(opens(&client, oldest, &first));
    ck_assert_str_eq(close_it(&client), "");
    oldest = get_challenge(&strangers[0], &first);
    client_open(&strangers[STRANGERS - 1], address);
    get_challenge(&strangers[STRANGERS - 1], &proof);
    id = get_challenge(&client, &proof);
    ck_assert(opens(&client, id, &proof));
    ck_assert(opens(&strangers[0], oldest, &first));
    for (int i = 0; i < STRANGERS; i++)
        client_close(&strangers[i]);
}
END_TEST

static Suite *
perf_stranger_suite(void)
{
    Suite *suite = suite_create("perf_stranger");
    TCase *open_to_all = tcase_create("server");
    TCase *idle = tcase_create("idle");
    TCase *no_vm = tcase_create("no_vm");
    TCase *with_token = tcase_create("token");

    tcase_add_checked_fixture(open_to_all, setup, end_server);
    tcase_set_timeout(open_to_all, 60);
    tcase_add_test(open_to_all, plan_beyond_limits_refused);
    tcase_add_test(open_to_all, receives_beyond_memory_refused);
    tcase_add_test(open_to_all, threads_of_all_sessions_bounded);
    tcase_add_test(open_to_all, sessions_too_many_refused);
    tcase_add_test(open_to_all, session_of_another_refused);
    tcase_add_test(open_to_all, open_twice_ends_former);
    tcase_add_test(open_to_all, requests_senseless_refused);
    tcase_add_test(open_to_all, lengths_beyond_room_refused);
    tcase_add_test(open_to_all, read_beyond_plan_refused);
    tcase_add_test(open_to_all, transfer_beyond_plan_refused);
    suite_add_tcase(suite, open_to_all);
    tcase_add_checked_fixture(idle, setup_idle, end_server);
    tcase_set_timeout(idle, 60);
    tcase_add_test(idle, client_silent_frees_seat);
    tcase_add_test(idle, client_asking_keeps_seat);
    suite_add_tcase(suite, idle);
    tcase_add_checked_fixture(no_vm, setup_no_vm, end_server);
    tcase_set_timeout(no_vm, 60);
    tcase_add_test(no_vm, transfer_hanging_ends_with_session);
    suite_add_tcase(suite, no_vm);
    if (strstr(token_read("/", &token), "libsodium") != NULL) {
        printf("left out: tokens, without libsodium\n");
        return suite;
    }
    tcase_add_checked_fixture(with_token, setup_token, teardown_token);
    tcase_set_timeout(with_token, 60);
    tcase_add_test(with_token, open_without_proof_denied);
    tcase_add_test(with_token, proof_wrong_denied_and_spent);
    tcase_add_test(with_token, proof_overheard_denied);
    tcase_add_test(with_token, challenges_bounded);
    suite_add_tcase(suite, with_token);
    return suite;
}

int
main(void)
{
    return peer_run(perf_stranger_suite());
}
