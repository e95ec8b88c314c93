/* SPDX-License-Identifier: BSD-3-Clause */
/* A server of `talaria perf` with a token: sessions need a challenge's proof,
 * which is valid once and for one client. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "perf_client.h"

static struct token *token;

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
    server_start(NULL, "--token-file", path);
}

static void
teardown_token(void)
{
    token_free(token);
    server_end();
}

/* A challenge and its proof. */
static uint64_t
get_challenge(struct client *caller, token_key_t *proof_p)
{
    perf_challenge_in_t in;
    perf_challenge_out_t out;
    struct token_binding binding;

    memset(&in, 7, sizeof(in));
    ck_assert_int_eq(
        client_call(caller, caller->ids[PERF_CONTROL_CHALLENGE], &in, &out),
        HG_SUCCESS);
    ck_assert_uint_eq(out.wants_proof, 1);
    ck_assert_uint_ne(out.id, 0);
    perf_challenge_binding(out.id, &in.nonce, &out.nonce, &binding);
    token_prove(token, TOKEN_CLIENT, &binding, proof_p);
    return out.id;
}

static bool
opens(struct client *caller, uint64_t challenge, const token_key_t *proof)
{
    perf_open_out_t out =
        client_open_session(caller, &small_plan, challenge, proof);

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
    /* There is no second attempt. */
    ck_assert(!opens(&client, id, &proof));
    ck_assert(!opens(&client, id, &proof));
    server_await_log("talaria perf serve: ");
    ck_assert(server_logged("without the right token"));
}
END_TEST

START_TEST(proof_overheard_denied)
{
    token_key_t proof;
    token_key_t next;
    uint64_t id = get_challenge(&client, &proof);
    struct client other;

    client_open(&other, server_address);
    ck_assert(!opens(&other, id, &proof));
    ck_assert(opens(&client, id, &proof));
    ck_assert(!opens(&client, id, &proof));
    /* Nor for the same client's next challenge. */
    id = get_challenge(&client, &next);
    ck_assert_mem_ne(&proof, &next, sizeof(proof));
    ck_assert(!opens(&client, id, &proof));
    client_close(&other);
}
END_TEST

/* One challenge each, up to a limit. */
START_TEST(challenges_bounded)
{
    enum { CLIENTS = PERF_CHALLENGES_MAX };
    static struct client clients[CLIENTS];
    token_key_t first;
    token_key_t proof;
    uint64_t oldest = get_challenge(&client, &first);
    uint64_t id = 0;

    for (int i = 0; i < CLIENTS - 1; i++) {
        client_open(&clients[i], server_address);
        id = get_challenge(&clients[i], &proof);
        id = get_challenge(&clients[i], &proof);
    }
    ck_assert(opens(&client, oldest, &first));
    ck_assert_str_eq(client_close_session(&client), "");
    oldest = get_challenge(&clients[0], &first);
    client_open(&clients[CLIENTS - 1], server_address);
    get_challenge(&clients[CLIENTS - 1], &proof);
    id = get_challenge(&client, &proof);
    ck_assert(opens(&client, id, &proof));
    ck_assert(opens(&clients[0], oldest, &first));
    for (int i = 0; i < CLIENTS; i++)
        client_close(&clients[i]);
}
END_TEST

static Suite *
perf_challenge_suite(void)
{
    Suite *suite = suite_create("perf_challenge");
    TCase *tcase = tcase_create("token");

    if (strstr(token_read("/", &token), "libsodium") != NULL) {
        printf("skipped: no libsodium\n");
        return suite;
    }
    tcase_add_checked_fixture(tcase, setup_token, teardown_token);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, open_without_proof_denied);
    tcase_add_test(tcase, proof_wrong_denied_and_spent);
    tcase_add_test(tcase, proof_overheard_denied);
    tcase_add_test(tcase, challenges_bounded);
    suite_add_tcase(suite, tcase);
    return suite;
}

int
main(void)
{
    return peer_run(perf_challenge_suite());
}
