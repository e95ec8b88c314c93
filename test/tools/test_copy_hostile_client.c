/* SPDX-License-Identifier: BSD-3-Clause */
/* A server of `talaria copy` with hostile clients: sessions, transfers and
 * limits. Everything invalid is refused, and others are served. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "copy/hash.h"
#include "copy_attack.h"
#include "entries.h"

START_TEST(session_unknown_refused)
{
    uint64_t session = attack.peer.session;

    attack.peer.session = session + 1;
    for (int rpc = COPY_BYE; rpc < COPY_RPC_COUNT; rpc++) {
        union copy_in in;
        union copy_out out;
        memset(&in, 0, sizeof(in));
        ck_assert_uint_eq(
            peer_status(&attack.peer, (enum copy_rpc) rpc, &in, &out),
            COPY_NO_SESSION);
    }
    attack.peer.session = session;
    ck_assert_uint_eq(attack_path(COPY_STAT, ""), COPY_OK);
}
END_TEST

/* A server without a token requires no proof, and rejects any. */
START_TEST(proof_unwanted_refused)
{
    union copy_in in;
    union copy_out out;

    memset(&in, 0, sizeof(in));
    ck_assert_uint_eq(
        peer_status(&attack.peer, COPY_AUTH, &in, &out), COPY_INVALID);
    ck_assert_uint_eq(attack_path(COPY_STAT, ""), COPY_OK);
}
END_TEST

START_TEST(session_of_another_refused)
{
    uint64_t id = attack_create("mine", 5);
    struct peer other;
    union copy_in in = {.commit = {.id = id}};
    union copy_out out;

    peer_open(&other, attack.address, NULL);
    other.session = attack.peer.session;
    ck_assert_uint_eq(
        peer_status(&other, COPY_COMMIT, &in, &out), COPY_NO_SESSION);
    /* Ids are not valid in another session. */
    peer_hello(&other, NULL);
    ck_assert_uint_ne(other.session, attack.peer.session);
    ck_assert_uint_eq(peer_status(&other, COPY_COMMIT, &in, &out), COPY_NO_ID);
    in.close.id = id;
    ck_assert_uint_eq(peer_status(&other, COPY_CLOSE, &in, &out), COPY_NO_ID);
    peer_close(&other);
    ck_assert_uint_eq(attack_close(id), COPY_OK);
}
END_TEST

START_TEST(hello_invalid_refused)
{
    union copy_in in = {.hello = {.version = COPY_PROTOCOL_VERSION + 1,
                            .beacon = attack.peer.beacon}};
    union copy_out out;
    hg_size_t size = 7;
    hg_bulk_t small;

    ck_assert_uint_eq(
        peer_status(&attack.peer, COPY_HELLO, &in, &out), COPY_OTHER_VERSION);
    ck_assert_uint_eq(out.hello.version, COPY_PROTOCOL_VERSION);
    in.hello.version = COPY_PROTOCOL_VERSION;
    in.hello.beacon = HG_BULK_NULL;
    ck_assert_uint_eq(
        peer_status(&attack.peer, COPY_HELLO, &in, &out), COPY_INVALID);
    ck_assert_int_eq(HG_Bulk_create(attack.peer.hg_class, 1, NULL, &size,
                         HG_BULK_READWRITE, &small),
        HG_SUCCESS);
    in.hello.beacon = small;
    ck_assert_uint_eq(
        peer_status(&attack.peer, COPY_HELLO, &in, &out), COPY_INVALID);
    HG_Bulk_free(small);
    /* The existing session is not affected. */
    ck_assert_uint_eq(attack_path(COPY_STAT, ""), COPY_OK);
}
END_TEST

START_TEST(hello_twice_drops_uploads)
{
    uint64_t id = attack_create("mine", 5);
    uint64_t session = attack.peer.session;

    peer_hello(&attack.peer, NULL);
    ck_assert_uint_ne(attack.peer.session, session);
    ck_assert_uint_eq(attack_close(id), COPY_NO_ID);
    attack.peer.session = session;
    ck_assert_uint_eq(attack_path(COPY_STAT, ""), COPY_NO_SESSION);
}
END_TEST

START_TEST(write_invalid_refused)
{
    uint64_t size = COPY_CHUNK_SIZE + 10;
    uint64_t id = attack_create("file", size);
    hg_size_t small_size = 9;
    hg_bulk_t small;

    ck_assert_int_eq(HG_Bulk_create(attack.peer.hg_class, 1, NULL, &small_size,
                         HG_BULK_READWRITE, &small),
        HG_SUCCESS);
    ck_assert_uint_eq(
        attack_move(COPY_WRITE, id + 1, 0, COPY_CHUNK_SIZE, attack.bulk),
        COPY_NO_ID);
    ck_assert_uint_eq(
        attack_move(COPY_READ, id, 0, COPY_CHUNK_SIZE, attack.bulk),
        COPY_NO_ID);
    ck_assert_uint_eq(
        attack_move(COPY_WRITE, id, 1, 10, attack.bulk), COPY_INVALID);
    ck_assert_uint_eq(
        attack_move(COPY_WRITE, id, 0, 10, attack.bulk), COPY_INVALID);
    ck_assert_uint_eq(
        attack_move(COPY_WRITE, id, 0, 0, attack.bulk), COPY_INVALID);
    ck_assert_uint_eq(
        attack_move(COPY_WRITE, id, 0, COPY_CHUNK_SIZE + 1, attack.bulk),
        COPY_INVALID);
    ck_assert_uint_eq(
        attack_move(COPY_WRITE, id, 0, UINT32_MAX, attack.bulk), COPY_INVALID);
    ck_assert_uint_eq(
        attack_move(COPY_WRITE, id, COPY_CHUNK_SIZE, 11, attack.bulk),
        COPY_INVALID);
    ck_assert_uint_eq(attack_move(COPY_WRITE, id,
                          2 * (uint64_t) COPY_CHUNK_SIZE, 10, attack.bulk),
        COPY_INVALID);
    ck_assert_uint_eq(
        attack_move(COPY_WRITE, id, UINT64_MAX - COPY_CHUNK_SIZE + 1,
            COPY_CHUNK_SIZE, attack.bulk),
        COPY_INVALID);
    ck_assert_uint_eq(
        attack_move(COPY_WRITE, id, COPY_CHUNK_SIZE, 10, HG_BULK_NULL),
        COPY_INVALID);
    ck_assert_uint_eq(
        attack_move(COPY_WRITE, id, COPY_CHUNK_SIZE, 10, small), COPY_INVALID);
    ck_assert_uint_eq(
        attack_move(COPY_WRITE, id, COPY_CHUNK_SIZE, 10, attack.bulk), COPY_OK);
    HG_Bulk_free(small);
}
END_TEST

START_TEST(commit_invalid_keeps_no_file)
{
    copy_sum_t sum = {0, 0};
    uint64_t id = attack_create("file", 10);

    /* Before all data are there. */
    ck_assert_uint_eq(attack_commit(id, sum), COPY_INVALID);
    ck_assert_uint_eq(attack_commit(id, sum), COPY_NO_ID);
    ck_assert_int_ne(access(peer_path("exported/file"), F_OK), 0);

    /* Wrong checksum. */
    id = attack_create("file", 10);
    ck_assert_uint_eq(attack_move(COPY_WRITE, id, 0, 10, attack.bulk), COPY_OK);
    ck_assert_uint_eq(attack_commit(id, sum), COPY_CHECKSUM);
    ck_assert_int_ne(access(peer_path("exported/file"), F_OK), 0);

    /* The same chunk twice instead of two chunks. */
    id = attack_create("file", 2 * (uint64_t) COPY_CHUNK_SIZE);
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(
            attack_move(COPY_WRITE, id, 0, COPY_CHUNK_SIZE, attack.bulk),
            COPY_OK);
        copy_hash_add(&sum, i * (uint64_t) COPY_CHUNK_SIZE, attack.chunk,
            COPY_CHUNK_SIZE);
    }
    ck_assert_uint_eq(attack_commit(id, sum), COPY_CHECKSUM);
    ck_assert_int_ne(access(peer_path("exported/file"), F_OK), 0);

    /* A valid commit; then a second one. */
    id = attack_create("file", 10);
    ck_assert_uint_eq(attack_move(COPY_WRITE, id, 0, 10, attack.bulk), COPY_OK);
    sum = (copy_sum_t){0, 0};
    copy_hash_add(&sum, 0, attack.chunk, 10);
    ck_assert_uint_eq(attack_commit(id, sum), COPY_OK);
    ck_assert_int_eq(access(peer_path("exported/file"), F_OK), 0);
    ck_assert_uint_eq(attack_commit(id, sum), COPY_NO_ID);
    ck_assert_uint_eq(attack_path(COPY_CREATE, "file"), COPY_EXISTS);
}
END_TEST

START_TEST(time_invalid_refused)
{
    union copy_in in = {.mode = {.mode = 0755, .mtime = {0, 1000000000}}};
    union copy_out out;
    uint64_t id = attack_create("file", 0);

    ck_assert_int_eq(mkdir(peer_path("exported/a"), 0755), 0);
    copy_proto_path(&in.mode.path, "a");
    ck_assert_uint_eq(
        peer_status(&attack.peer, COPY_ATTR, &in, &out), COPY_INVALID);
    in = (union copy_in){.commit = {.id = id, .mtime = {0, UINT32_MAX - 1}}};
    ck_assert_uint_eq(
        peer_status(&attack.peer, COPY_COMMIT, &in, &out), COPY_INVALID);
    ck_assert_int_ne(access(peer_path("exported/file"), F_OK), 0);
}
END_TEST

START_TEST(hash_request_invalid_refused)
{
    FILE *stream = fopen(peer_path("exported/file"), "w");
    union copy_in in;
    union copy_out out;
    uint64_t id;

    ck_assert_int_ge(fputs("0123456789", stream), 0);
    fclose(stream);
    copy_proto_path(&in.path.path, "file");
    ck_assert_uint_eq(peer_status(&attack.peer, COPY_OPEN, &in, &out), COPY_OK);
    id = out.open.id;
    ck_assert_uint_eq(attack_move(COPY_HASH, id + 1, 0, 10, NULL), COPY_NO_ID);
    ck_assert_uint_eq(attack_move(COPY_HASH, id, 0, 11, NULL), COPY_INVALID);
    ck_assert_uint_eq(attack_move(COPY_HASH, id, 10, 0, NULL), COPY_INVALID);
    ck_assert_uint_eq(
        attack_move(COPY_HASH, id, UINT64_MAX, 10, NULL), COPY_INVALID);
    ck_assert_uint_eq(
        attack_move(COPY_HASH, attack_create("new", 10), 0, 10, NULL),
        COPY_NO_ID);
    ck_assert_uint_eq(attack_move(COPY_HASH, id, 0, 10, NULL), COPY_OK);
    ck_assert_uint_eq(attack_move(COPY_HASH, id, 0, 10, attack.bulk), COPY_OK);
    ck_assert_uint_eq(attack_close(id), COPY_OK);
}
END_TEST

START_TEST(opens_too_many_refused)
{
    unsigned int status = COPY_OK;
    char name[16];
    int count = 0;

    for (; status == COPY_OK && count < 1000; count++) {
        snprintf(name, sizeof(name), "file%d", count);
        status = attack_path(COPY_CREATE, name);
    }
    ck_assert_uint_eq(status, COPY_LIMIT);
    ck_assert_int_eq(count - 1, (int) (2 * COPY_OPEN_MAX));
}
END_TEST

static uint32_t
server_descriptors(void)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/fd", (int) attack.server);
    return count_entries(path);
}

/* Refused requests hold no descriptor. */
START_TEST(opens_refused_leak_no_descriptors)
{
    static const enum copy_rpc rpcs[] = {COPY_OPEN, COPY_CREATE, COPY_LIST};
    static const char *const paths[] = {"file", "new", ""};
    FILE *stream = fopen(peer_path("exported/file"), "w");
    unsigned int status = COPY_OK;
    uint32_t before;

    ck_assert_ptr_nonnull(stream);
    fclose(stream);
    while (status == COPY_OK)
        status = attack_path(COPY_OPEN, "file");
    ck_assert_uint_eq(status, COPY_LIMIT);
    before = server_descriptors();
    for (size_t r = 0; r < sizeof(rpcs) / sizeof(rpcs[0]); r++)
        for (int i = 0; i < 20; i++)
            ck_assert_uint_eq(attack_path(rpcs[r], paths[r]), COPY_LIMIT);
    ck_assert_uint_eq(server_descriptors(), before);
}
END_TEST

/* A server with so few descriptors that one client could use them all. */
static void
setup_scarce(void)
{
    struct rlimit limit = {.rlim_cur = 256, .rlim_max = 256};

    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    attack_setup();
}

START_TEST(opens_of_one_client_leave_descriptors_for_others)
{
    unsigned int status = COPY_OK;
    struct peer other;
    char name[16];
    int count = 0;

    for (; status == COPY_OK && count < 1000; count++) {
        snprintf(name, sizeof(name), "file%d", count);
        status = attack_path(COPY_CREATE, name);
    }
    ck_assert_uint_eq(status, COPY_NO_DESCRIPTORS);
    ck_assert_int_eq(count - 1, 64);
    /* Others are still admitted, if only to list. */
    peer_open(&other, attack.address, NULL);
    peer_hello(&other, NULL);
    peer_close(&other);
    /* Closed descriptors are available again. */
    peer_hello(&attack.peer, NULL);
    ck_assert_uint_eq(attack_close(attack_create("mine", 5)), COPY_OK);
}
END_TEST

/* Lengths, zeros and descriptors that no proc would encode. */
START_TEST(bytes_invalid_refused)
{
    unsigned char bytes[8 + 2 + 100] = {0};

    for (int rpc = 0; rpc < COPY_RPC_COUNT; rpc++) {
        ck_assert_uint_eq(peer_raw(&attack.peer, (enum copy_rpc) rpc, bytes, 1),
            COPY_INVALID);
        memset(bytes, 0xff, sizeof(bytes));
        ck_assert_uint_ne(
            peer_raw(&attack.peer, (enum copy_rpc) rpc, bytes, sizeof(bytes)),
            COPY_OK);
        memset(bytes, 0, sizeof(bytes));
    }
    /* A path with an embedded zero, in a valid session. */
    memcpy(bytes, &attack.peer.session, 8);
    bytes[8] = 3;
    memcpy(bytes + 10, "a\0b", 3);
    ck_assert_uint_eq(
        peer_raw(&attack.peer, COPY_STAT, bytes, 13), COPY_INVALID);
    bytes[8] = 0xff;
    bytes[9] = 0xff;
    ck_assert_uint_eq(
        peer_raw(&attack.peer, COPY_STAT, bytes, sizeof(bytes)), COPY_INVALID);
    ck_assert_uint_eq(attack_path(COPY_STAT, ""), COPY_OK);
}
END_TEST

/* The transfer fails and ends the session; other sessions are not affected. */
START_TEST(memory_forbidden_ends_session)
{
    uint64_t id = attack_create("file", 10);
    hg_size_t size = COPY_CHUNK_SIZE;
    struct peer other;
    hg_bulk_t memory;

    ck_assert_int_eq(HG_Bulk_create(attack.peer.hg_class, 1, NULL, &size,
                         HG_BULK_WRITE_ONLY, &memory),
        HG_SUCCESS);
    ck_assert_uint_eq(
        attack_move(COPY_WRITE, id, 0, 10, memory), COPY_NO_SESSION);
    HG_Bulk_free(memory);
    ck_assert_uint_eq(attack_close(id), COPY_NO_SESSION);
    peer_open(&other, attack.address, NULL);
    peer_hello(&other, NULL);
    peer_close(&other);
}
END_TEST

/* A beacon with other content than announced belongs to another process. */
START_TEST(beacon_wrong_ends_session)
{
    double deadline = peer_clock() + 10;

    ck_assert_uint_eq(attack_path(COPY_STAT, ""), COPY_OK);
    attack.peer.light++;
    for (;;) {
        struct timespec nap = {.tv_sec = 2};
        nanosleep(&nap, NULL);
        if (attack_path(COPY_STAT, "") == COPY_NO_SESSION)
            break;
        ck_assert_msg(peer_clock() < deadline, "the session is still there");
    }
}
END_TEST

static Suite *
copy_hostile_client_suite(void)
{
    Suite *suite = suite_create("copy_hostile_client");
    TCase *tcase = tcase_create("server");
    TCase *scarce = tcase_create("scarce");

    tcase_add_checked_fixture(tcase, attack_setup, attack_teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, session_unknown_refused);
    tcase_add_test(tcase, session_of_another_refused);
    tcase_add_test(tcase, proof_unwanted_refused);
    tcase_add_test(tcase, hello_invalid_refused);
    tcase_add_test(tcase, hello_twice_drops_uploads);
    tcase_add_test(tcase, write_invalid_refused);
    tcase_add_test(tcase, commit_invalid_keeps_no_file);
    tcase_add_test(tcase, time_invalid_refused);
    tcase_add_test(tcase, hash_request_invalid_refused);
    tcase_add_test(tcase, opens_too_many_refused);
    tcase_add_test(tcase, opens_refused_leak_no_descriptors);
    tcase_add_test(tcase, bytes_invalid_refused);
    tcase_add_test(tcase, memory_forbidden_ends_session);
    tcase_add_test(tcase, beacon_wrong_ends_session);
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(scarce, setup_scarce, attack_teardown);
    tcase_set_timeout(scarce, 60);
    tcase_add_test(scarce, opens_of_one_client_leave_descriptors_for_others);
    suite_add_tcase(suite, scarce);
    return suite;
}

int
main(void)
{
    return peer_run(copy_hostile_client_suite());
}
