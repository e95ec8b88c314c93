/* SPDX-License-Identifier: BSD-3-Clause */
/* A server of `talaria copy` with a token and cheating clients, then cheating
 * servers and a client with a token: messages of either side cannot be replayed
 * or reflected. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/token.h"
#include "copy_peer.h"

#define WAIT_SECONDS 50.0

/* Interposes libsodium: records whether proofs are compared by its
 * constant-time function, and over how many bytes. */
static size_t compared;

/* As libsodium declares it. */
int sodium_memcmp(const void *first, const void *second, size_t size);

int
sodium_memcmp(const void *first, const void *second, size_t size)
{
    const unsigned char *a = first;
    const unsigned char *b = second;
    unsigned char differs = 0;

    compared = size;
    for (size_t i = 0; i < size; i++)
        differs |= a[i] ^ b[i];
    return differs == 0 ? 0 : -1;
}

static pid_t server;
static char address[256];
static struct peer peer;
static struct token *token;

static void
write_token(const char *name, const char *text)
{
    int fd = open(peer_path(name), O_CREAT | O_WRONLY, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t) strlen(text));
    close(fd);
}

static void
read_token(void)
{
    peer_folder_create();
    write_token("token", "the words that both sides know");
    ck_assert_ptr_null(token_read(peer_path("token"), &token));
}

static void
setup_server(void)
{
    read_token();
    server = peer_start_server("token", address, sizeof(address));
    peer_open(&peer, address, NULL);
}

/* Stops the server, which must exit normally. */
static void
teardown_server(void)
{
    int status;

    peer_close(&peer);
    ck_assert_int_eq(kill(server, SIGTERM), 0);
    ck_assert_int_eq(waitpid(server, &status, 0), server);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    token_free(token);
    peer_folder_remove();
}

/* peer_hello's nonce is all zeros. */
static struct token_binding
say_hello(struct peer *who)
{
    struct token_binding binding = {
        .protocol = COPY_PROTOCOL_NAME, .version = COPY_PROTOCOL_VERSION};
    union copy_out out;

    peer_hello(who, &out);
    ck_assert_uint_eq(out.hello.terms.wants_proof, 1);
    binding.session = out.hello.session;
    binding.server_nonce = out.hello.terms.nonce;
    return binding;
}

static unsigned int
authenticate(struct peer *who, const token_key_t *proof, token_key_t *answer_p)
{
    union copy_in in = {.auth = {.proof = *proof}};
    union copy_out out;
    unsigned int status = peer_status(who, COPY_AUTH, &in, &out);

    *answer_p = out.auth.proof;
    return status;
}

static unsigned int
stat_top(struct peer *who)
{
    union copy_in in;
    union copy_out out;

    copy_proto_path(&in.path.path, "");
    return peer_status(who, COPY_STAT, &in, &out);
}

static void
make_proof(const struct token_binding *binding, token_key_t *proof_p)
{
    token_prove(token, TOKEN_CLIENT, binding, proof_p);
}

START_TEST(proof_right_accepted)
{
    struct token_binding binding = say_hello(&peer);
    token_key_t proof;
    token_key_t answer;

    make_proof(&binding, &proof);
    ck_assert_uint_eq(authenticate(&peer, &proof, &answer), COPY_OK);
    ck_assert(token_check(token, TOKEN_SERVER, &binding, &answer));
    ck_assert_uint_eq(stat_top(&peer), COPY_OK);
    /* A session is proven once only. */
    ck_assert_uint_eq(authenticate(&peer, &proof, &answer), COPY_INVALID);
    ck_assert_uint_eq(stat_top(&peer), COPY_OK);
}
END_TEST

START_TEST(request_before_proof_denied)
{
    struct token_binding binding = say_hello(&peer);
    token_key_t proof;

    for (int rpc = COPY_STAT; rpc < COPY_RPC_COUNT; rpc++) {
        union copy_in in;
        union copy_out out;
        memset(&in, 0, sizeof(in));
        if (rpc == COPY_AUTH)
            continue;
        if (rpc == COPY_CREATE)
            copy_proto_path(&in.create.path, "made");
        if (rpc == COPY_MKDIR)
            copy_proto_path(&in.mode.path, "made");
        ck_assert_uint_eq(
            peer_status(&peer, (enum copy_rpc) rpc, &in, &out), COPY_DENIED);
    }
    ck_assert_int_ne(access(peer_path("exported/made"), F_OK), 0);
    /* None of it ended the session. */
    make_proof(&binding, &proof);
    ck_assert_uint_eq(authenticate(&peer, &proof, &proof), COPY_OK);
}
END_TEST

/* How many clients without the token the server has reported, and in how many
 * lines. */
static unsigned long
count_refusals(unsigned int *lines_p)
{
    FILE *stream = fopen(peer_path("err"), "r");
    unsigned long sum = 0;
    unsigned long count;
    char line[256];

    *lines_p = 0;
    ck_assert_ptr_nonnull(stream);
    for (; fgets(line, sizeof(line), stream) != NULL; ++*lines_p)
        if (sscanf(line, "talaria copy: %lu client", &count) == 1)
            sum += count;
    fclose(stream);
    return sum;
}

START_TEST(proof_wrong_denied_and_dropped)
{
    double started = peer_clock();
    unsigned int lines;
    struct token_binding binding;
    token_key_t proof;
    token_key_t answer;

    /* One bit of it, anywhere. */
    for (size_t i = 0; i < sizeof(proof.bytes); i++) {
        binding = say_hello(&peer);
        make_proof(&binding, &proof);
        proof.bytes[i] ^= (uint8_t) (1u << i % 8);
        ck_assert_uint_eq(authenticate(&peer, &proof, &answer), COPY_DENIED);
        for (size_t j = 0; j < sizeof(answer.bytes); j++)
            ck_assert_uint_eq(answer.bytes[j], 0);
        /* There is no second attempt. */
        make_proof(&binding, &proof);
        ck_assert_uint_eq(
            authenticate(&peer, &proof, &answer), COPY_NO_SESSION);
        ck_assert_uint_eq(stat_top(&peer), COPY_NO_SESSION);
    }
    /* All are counted, in few lines: hostile clients cannot fill a log. */
    while (count_refusals(&lines) < sizeof(proof.bytes)) {
        struct timespec nap = {.tv_nsec = 20000000};

        ck_assert_msg(peer_clock() < started + WAIT_SECONDS, "not counted");
        nanosleep(&nap, NULL);
    }
    ck_assert_uint_eq(count_refusals(&lines), sizeof(proof.bytes));
    ck_assert_uint_le(lines, (unsigned int) (peer_clock() - started) + 2);
}
END_TEST

/* A proof that was overheard. */
START_TEST(proof_of_another_session_denied)
{
    struct token_binding binding = say_hello(&peer);
    struct peer other;
    token_key_t proof;
    token_key_t answer;

    make_proof(&binding, &proof);
    peer_open(&other, address, NULL);
    say_hello(&other);
    ck_assert_uint_eq(authenticate(&other, &proof, &answer), COPY_DENIED);
    /* Not valid in that session from another client either. */
    say_hello(&other);
    other.session = peer.session;
    ck_assert_uint_eq(authenticate(&other, &proof, &answer), COPY_NO_SESSION);
    peer_close(&other);
    ck_assert_uint_eq(authenticate(&peer, &proof, &answer), COPY_OK);
    /* Nor in the same client's next session. */
    say_hello(&peer);
    ck_assert_uint_eq(authenticate(&peer, &proof, &answer), COPY_DENIED);
}
END_TEST

/* A server's proof is not valid as a client's. */
START_TEST(proof_of_server_denied)
{
    struct token_binding binding = say_hello(&peer);
    token_key_t proof;

    token_prove(token, TOKEN_SERVER, &binding, &proof);
    ck_assert_uint_eq(authenticate(&peer, &proof, &proof), COPY_DENIED);
}
END_TEST

/* A hello with another client's address does not end that client's session. */
START_TEST(hello_twice_needs_proof_to_drop)
{
    struct token_binding binding = say_hello(&peer);
    uint64_t first = peer.session;
    uint64_t second;
    token_key_t proof;

    make_proof(&binding, &proof);
    ck_assert_uint_eq(authenticate(&peer, &proof, &proof), COPY_OK);
    binding = say_hello(&peer);
    second = peer.session;
    peer.session = first;
    ck_assert_uint_eq(stat_top(&peer), COPY_OK);
    peer.session = second;
    ck_assert_uint_eq(stat_top(&peer), COPY_DENIED);
    make_proof(&binding, &proof);
    ck_assert_uint_eq(authenticate(&peer, &proof, &proof), COPY_OK);
    ck_assert_uint_eq(stat_top(&peer), COPY_OK);
    peer.session = first;
    ck_assert_uint_eq(stat_top(&peer), COPY_NO_SESSION);
}
END_TEST

START_TEST(nonces_never_repeat)
{
    token_key_t seen[64];

    for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
        seen[i] = say_hello(&peer).server_nonce;
        for (size_t j = 0; j < i; j++)
            ck_assert_int_ne(
                memcmp(seen[i].bytes, seen[j].bytes, sizeof(seen[i].bytes)), 0);
    }
}
END_TEST

/* Sessions without a proof expire after ten seconds; only in a soak, which has
 * to wait for it. */
START_TEST(session_unproven_expires)
{
    struct timespec nap = {.tv_sec = 12};
    const char *soak = getenv("TALARIA_TEST_SOAK");

    if (soak == NULL || strcmp(soak, "1") != 0)
        return;
    say_hello(&peer);
    ck_assert_uint_eq(stat_top(&peer), COPY_DENIED);
    nanosleep(&nap, NULL);
    ck_assert_uint_eq(stat_top(&peer), COPY_NO_SESSION);
}
END_TEST

/* Clients without a proof displace only each other. */
START_TEST(unproven_clients_leave_room_for_others)
{
    enum { CLIENTS = 80 };
    static struct peer clients[CLIENTS];
    struct token_binding binding = say_hello(&peer);
    token_key_t proof;
    unsigned int known = 0;

    make_proof(&binding, &proof);
    ck_assert_uint_eq(authenticate(&peer, &proof, &proof), COPY_OK);
    for (int i = 0; i < CLIENTS; i++) {
        peer_open(&clients[i], address, NULL);
        say_hello(&clients[i]);
    }
    for (int i = 0; i < CLIENTS; i++)
        known += stat_top(&clients[i]) == COPY_DENIED;
    ck_assert_uint_eq(known, 64);
    ck_assert_uint_eq(stat_top(&clients[0]), COPY_NO_SESSION);
    ck_assert_uint_eq(stat_top(&clients[CLIENTS - 1]), COPY_DENIED);
    ck_assert_uint_eq(stat_top(&peer), COPY_OK);
    for (int i = 0; i < CLIENTS; i++)
        peer_close(&clients[i]);
}
END_TEST

/* What a false server does. */
static struct {
    bool wants_proof;
    bool reflects; /* reflects the client's own proof */
    unsigned int asked[COPY_RPC_COUNT];
    token_key_t proof; /* proof that it received */
    token_key_t client_nonce;
} false_server;

static hg_return_t
on_request(hg_handle_t handle)
{
    union copy_in in;
    union copy_out out;
    int rpc = 0;

    while (peer.ids[rpc] != HG_Get_info(handle)->id)
        rpc++;
    false_server.asked[rpc]++;
    memset(&out, 0, sizeof(out));
    if (rpc == COPY_HELLO || rpc == COPY_AUTH) {
        ck_assert_int_eq(HG_Get_input(handle, &in), HG_SUCCESS);
        if (rpc == COPY_HELLO) {
            out.hello.version = COPY_PROTOCOL_VERSION;
            out.hello.session = 1;
            out.hello.terms.chunk_size = COPY_CHUNK_SIZE;
            out.hello.terms.open_max = 4;
            out.hello.terms.wants_proof = false_server.wants_proof;
            false_server.client_nonce = in.hello.nonce;
        } else {
            false_server.proof = in.auth.proof;
            if (false_server.reflects)
                out.auth.proof = in.auth.proof;
        }
        HG_Free_input(handle, &in);
    }
    HG_Respond(handle, NULL, NULL, &out);
    HG_Destroy(handle);
    return HG_SUCCESS;
}

static void
setup_false_server(void)
{
    hg_size_t size = sizeof(address);

    read_token();
    memset(&false_server, 0, sizeof(false_server));
    false_server.wants_proof = true;
    peer_open(&peer, NULL, on_request);
    ck_assert_int_eq(HG_Addr_self(peer.hg_class, &peer.addr), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Addr_to_string(peer.hg_class, address, &size, peer.addr),
        HG_SUCCESS);
}

static void
teardown_false_server(void)
{
    peer_close(&peer);
    token_free(token);
    peer_folder_remove();
}

/* A client with the token puts a file. Returns its exit code. */
static int
serve_client(void)
{
    double deadline = peer_clock() + WAIT_SECONDS;
    char path[256];
    pid_t client;
    int status;

    snprintf(path, sizeof(path), "%s", peer_path("token"));
    client =
        peer_start("put", "--token-file", path, path, address, (char *) NULL);
    while (!peer_ended(client, &status)) {
        if (peer_clock() > deadline) {
            kill(client, SIGKILL);
            ck_abort_msg("the client does not end");
        }
        peer_progress(&peer);
    }
    return status;
}

/* The client sent nothing but the proof. */
static void
assert_nothing_asked(void)
{
    for (int rpc = COPY_STAT; rpc < COPY_RPC_COUNT; rpc++)
        if (rpc != COPY_AUTH)
            ck_assert_uint_eq(false_server.asked[rpc], 0);
}

START_TEST(server_that_wants_no_proof_refused)
{
    false_server.wants_proof = false;
    ck_assert_int_eq(serve_client(), 1);
    ck_assert_uint_eq(false_server.asked[COPY_AUTH], 0);
    assert_nothing_asked();
}
END_TEST

START_TEST(server_that_accepts_all_refused)
{
    ck_assert_int_eq(serve_client(), 1);
    ck_assert_uint_eq(false_server.asked[COPY_AUTH], 1);
    assert_nothing_asked();
}
END_TEST

START_TEST(server_that_reflects_refused)
{
    false_server.reflects = true;
    ck_assert_int_eq(serve_client(), 1);
    ck_assert_uint_eq(false_server.asked[COPY_AUTH], 1);
    assert_nothing_asked();
}
END_TEST

/* The client uses a new nonce each time, so that its proof never repeats,
 * whatever the server sends. */
START_TEST(client_proof_never_repeats)
{
    struct token_binding binding = {.protocol = COPY_PROTOCOL_NAME,
        .version = COPY_PROTOCOL_VERSION,
        .session = 1};
    token_key_t first;
    token_key_t nonce;

    ck_assert_int_eq(serve_client(), 1);
    first = false_server.proof;
    nonce = false_server.client_nonce;
    binding.client_nonce = nonce;
    ck_assert(token_check(token, TOKEN_CLIENT, &binding, &first));
    ck_assert_int_eq(serve_client(), 1);
    ck_assert_int_ne(memcmp(nonce.bytes, false_server.client_nonce.bytes,
                         sizeof(nonce.bytes)),
        0);
    ck_assert_int_ne(
        memcmp(first.bytes, false_server.proof.bytes, sizeof(first.bytes)), 0);
}
END_TEST

/* The time of the comparison does not depend on where the proofs differ. */
START_TEST(proof_compared_in_constant_time)
{
    struct token_binding binding = {
        .protocol = COPY_PROTOCOL_NAME, .version = 1};
    token_key_t proof;

    make_proof(&binding, &proof);
    for (size_t i = 0; i <= TOKEN_KEY_SIZE; i++) {
        token_key_t wrong = proof;

        if (i < TOKEN_KEY_SIZE)
            wrong.bytes[i] ^= 1;
        compared = 0;
        ck_assert_int_eq(token_check(token, TOKEN_CLIENT, &binding, &wrong),
            i == TOKEN_KEY_SIZE);
        ck_assert_uint_eq(compared, TOKEN_KEY_SIZE);
    }
}
END_TEST

/* The label keeps a proof of one protocol from being valid in another. */
START_TEST(proof_of_another_protocol_differs)
{
    struct token_binding binding = {
        .protocol = COPY_PROTOCOL_NAME, .version = 1, .session = 5};
    token_key_t proof;

    make_proof(&binding, &proof);
    binding.protocol = "talaria perf";
    ck_assert(!token_check(token, TOKEN_CLIENT, &binding, &proof));
    binding.protocol = COPY_PROTOCOL_NAME;
    binding.version = 2;
    ck_assert(!token_check(token, TOKEN_CLIENT, &binding, &proof));
    binding.version = 1;
    ck_assert(token_check(token, TOKEN_CLIENT, &binding, &proof));
}
END_TEST

/* Interoperability between versions: an independent implementation of RFC
 * 2104. */
START_TEST(proof_has_its_bytes)
{
    static const uint8_t wanted[TOKEN_KEY_SIZE] = {0xac, 0xfb, 0x25, 0x47, 0xb7,
        0x4b, 0x0f, 0x28, 0x86, 0xf4, 0xb9, 0x56, 0xf9, 0x5f, 0x58, 0xb2, 0xf4,
        0x64, 0x91, 0x97, 0x9f, 0x90, 0x03, 0x11, 0xbf, 0xfa, 0x93, 0x45, 0xc9,
        0x03, 0x77, 0x1b};
    struct token_binding binding = {.protocol = COPY_PROTOCOL_NAME,
        .version = COPY_PROTOCOL_VERSION,
        .session = 0x0123456789abcdef};
    token_key_t proof;

    for (size_t i = 0; i < TOKEN_KEY_SIZE; i++) {
        binding.client_nonce.bytes[i] = (uint8_t) i;
        binding.server_nonce.bytes[i] = (uint8_t) (255 - i);
    }
    make_proof(&binding, &proof);
    ck_assert_mem_eq(proof.bytes, wanted, sizeof(wanted));
}
END_TEST

static Suite *
copy_tokens_suite(void)
{
    Suite *suite = suite_create("copy_tokens");
    TCase *served = tcase_create("server");
    TCase *lied_to = tcase_create("client");

    tcase_add_checked_fixture(served, setup_server, teardown_server);
    tcase_set_timeout(served, 60);
    tcase_add_test(served, proof_right_accepted);
    tcase_add_test(served, request_before_proof_denied);
    tcase_add_test(served, proof_wrong_denied_and_dropped);
    tcase_add_test(served, proof_of_another_session_denied);
    tcase_add_test(served, proof_of_server_denied);
    tcase_add_test(served, hello_twice_needs_proof_to_drop);
    tcase_add_test(served, nonces_never_repeat);
    tcase_add_test(served, session_unproven_expires);
    tcase_add_test(served, unproven_clients_leave_room_for_others);
    suite_add_tcase(suite, served);
    tcase_add_checked_fixture(
        lied_to, setup_false_server, teardown_false_server);
    tcase_set_timeout(lied_to, 60);
    tcase_add_test(lied_to, server_that_wants_no_proof_refused);
    tcase_add_test(lied_to, server_that_accepts_all_refused);
    tcase_add_test(lied_to, server_that_reflects_refused);
    tcase_add_test(lied_to, client_proof_never_repeats);
    tcase_add_test(lied_to, proof_has_its_bytes);
    tcase_add_test(lied_to, proof_compared_in_constant_time);
    tcase_add_test(lied_to, proof_of_another_protocol_differs);
    suite_add_tcase(suite, lied_to);
    return suite;
}

int
main(void)
{
    struct token *none = NULL;
    const char *reason = token_read("/", &none);

    if (strstr(reason, "libsodium") != NULL) {
        printf("skipped: %s\n", reason);
        return 77;
    }
    return peer_run(copy_tokens_suite());
}
