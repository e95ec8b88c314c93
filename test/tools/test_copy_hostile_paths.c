/* SPDX-License-Identifier: BSD-3-Clause */
/* A server of `talaria copy` with hostile clients: paths that lead out of its
 * folder, and invalid requests to list, create, link and remove. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy_attack.h"

START_TEST(path_with_parent_folder_refused)
{
    static const char *const outside[] = {"..", "../x", "/", "/etc/passwd",
        "a/..", "a/../..", "a/../../x", "../exported/a"};
    static const char *const invalid[] = {".", "./a", "a/.", "a//b", "a/"};
    static const enum copy_rpc rpcs[] = {COPY_STAT, COPY_LIST, COPY_MKDIR,
        COPY_ATTR, COPY_CREATE, COPY_OPEN, COPY_LINK_READ, COPY_LINK_MAKE,
        COPY_REMOVE};

    ck_assert_int_eq(mkdir(peer_path("exported/a"), 0755), 0);
    for (size_t r = 0; r < sizeof(rpcs) / sizeof(rpcs[0]); r++) {
        for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
            ck_assert_uint_eq(attack_path(rpcs[r], outside[i]), COPY_OUTSIDE);
        for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++)
            ck_assert_uint_eq(attack_path(rpcs[r], invalid[i]), COPY_INVALID);
    }
}
END_TEST

START_TEST(path_too_long_refused)
{
    char name[COPY_NAME_MAX + 2];

    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    ck_assert_uint_eq(attack_path(COPY_MKDIR, name), COPY_TOO_LONG);
    name[COPY_NAME_MAX] = 0;
    ck_assert_uint_eq(attack_path(COPY_MKDIR, name), COPY_OK);
}
END_TEST

START_TEST(create_too_large_refused)
{
    union copy_in in = {.create = {.size = (uint64_t) INT64_MAX + 1}};
    union copy_out out;

    copy_proto_path(&in.create.path, "file");
    ck_assert_uint_eq(
        peer_status(&attack.peer, COPY_CREATE, &in, &out), COPY_TOO_LARGE);
    ck_assert_uint_eq(attack_path(COPY_CREATE, ""), COPY_IS_DIRECTORY);
}
END_TEST

/* Before anything is uploaded. */
START_TEST(create_of_existing_path_refused)
{
    union copy_in in = {.create = {.size = 1}};
    union copy_out out;
    FILE *file = fopen(peer_path("exported/file"), "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(mkdir(peer_path("exported/folder"), 0755), 0);
    copy_proto_path(&in.create.path, "file");
    ck_assert_uint_eq(
        peer_status(&attack.peer, COPY_CREATE, &in, &out), COPY_EXISTS);
    in.create.how = COPY_HOW_REPLACE;
    ck_assert_uint_eq(
        peer_status(&attack.peer, COPY_CREATE, &in, &out), COPY_OK);
    copy_proto_path(&in.create.path, "folder");
    ck_assert_uint_eq(
        peer_status(&attack.peer, COPY_CREATE, &in, &out), COPY_IS_DIRECTORY);
}
END_TEST

static unsigned int
make_link(const char *path, const char *target, unsigned int how)
{
    union copy_in in = {.link = {.how = (uint8_t) how}};
    union copy_out out;

    copy_proto_path(&in.link.path, path);
    copy_proto_path(&in.link.target, target);
    return peer_status(&attack.peer, COPY_LINK_MAKE, &in, &out);
}

START_TEST(link_with_parent_folder_refused)
{
    static const char *const targets[] = {"/", "/etc/passwd", "..", "../..",
        "./../..", "a/../..", "../a/..", "../../exported", "..//../x"};

    ck_assert_int_eq(mkdir(peer_path("exported/a"), 0755), 0);
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        unsigned int how = i % 4;
        ck_assert_uint_eq(make_link("link", targets[i], how), COPY_OUTSIDE);
        if (strcmp(targets[i], "..") != 0)
            ck_assert_uint_eq(
                make_link("a/link", targets[i], how), COPY_OUTSIDE);
    }
    ck_assert_uint_eq(make_link("link", "", 0), COPY_INVALID);
    ck_assert_uint_eq(make_link("", "a", 0), COPY_IS_DIRECTORY);
    ck_assert_uint_eq(make_link("a", "b", COPY_HOW_REPLACE), COPY_IS_DIRECTORY);
    ck_assert_uint_eq(make_link("a/up", "..", 0), COPY_OK);
    ck_assert_uint_eq(make_link("a/up", "..", 0), COPY_EXISTS);
    ck_assert_uint_eq(make_link("a/up", "..", COPY_HOW_RESUME), COPY_OK);
    /* Nothing can be written through it. */
    ck_assert_uint_eq(attack_path(COPY_CREATE, "a/up/x"), COPY_SYMLINK);
    ck_assert_uint_eq(attack_path(COPY_REMOVE, "a/up/a"), COPY_SYMLINK);
    ck_assert_uint_eq(attack_path(COPY_LIST, "a/up"), COPY_SYMLINK);
}
END_TEST

START_TEST(remove_invalid_refused)
{
    union copy_in in = {.remove = {.directory = 1}};
    union copy_out out;

    ck_assert_int_eq(mkdir(peer_path("exported/a"), 0755), 0);
    ck_assert_int_eq(mkdir(peer_path("exported/a/b"), 0755), 0);
    ck_assert_uint_eq(attack_path(COPY_REMOVE, ""), COPY_DENIED);
    copy_proto_path(&in.remove.path, "");
    ck_assert_uint_eq(
        peer_status(&attack.peer, COPY_REMOVE, &in, &out), COPY_DENIED);
    ck_assert_uint_eq(attack_path(COPY_REMOVE, "a"), COPY_IS_DIRECTORY);
    copy_proto_path(&in.remove.path, "a");
    ck_assert_uint_eq(
        peer_status(&attack.peer, COPY_REMOVE, &in, &out), COPY_NOT_EMPTY);
    ck_assert_int_eq(access(peer_path("exported/a/b"), F_OK), 0);
}
END_TEST

START_TEST(list_invalid_refused)
{
    hg_size_t size = COPY_PAGE_SIZE - 1;
    union copy_in in = {.list = {.id = 77, .bulk = attack.bulk}};
    union copy_out out;
    hg_bulk_t small;

    ck_assert_uint_eq(
        peer_status(&attack.peer, COPY_LIST, &in, &out), COPY_NO_ID);
    in.list.id = attack_create("file", 5);
    ck_assert_uint_eq(
        peer_status(&attack.peer, COPY_LIST, &in, &out), COPY_NO_ID);
    ck_assert_int_eq(HG_Bulk_create(attack.peer.hg_class, 1, NULL, &size,
                         HG_BULK_READWRITE, &small),
        HG_SUCCESS);
    in.list.id = 0;
    in.list.bulk = small;
    ck_assert_uint_eq(
        peer_status(&attack.peer, COPY_LIST, &in, &out), COPY_INVALID);
    in.list.bulk = HG_BULK_NULL;
    ck_assert_uint_eq(
        peer_status(&attack.peer, COPY_LIST, &in, &out), COPY_INVALID);
    HG_Bulk_free(small);
}
END_TEST

static Suite *
copy_hostile_paths_suite(void)
{
    Suite *suite = suite_create("copy_hostile_paths");
    TCase *tcase = tcase_create("server");

    tcase_add_checked_fixture(tcase, attack_setup, attack_teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, path_with_parent_folder_refused);
    tcase_add_test(tcase, path_too_long_refused);
    tcase_add_test(tcase, create_too_large_refused);
    tcase_add_test(tcase, create_of_existing_path_refused);
    tcase_add_test(tcase, link_with_parent_folder_refused);
    tcase_add_test(tcase, remove_invalid_refused);
    tcase_add_test(tcase, list_invalid_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}

int
main(void)
{
    return peer_run(copy_hostile_paths_suite());
}
