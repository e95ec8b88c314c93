/* SPDX-License-Identifier: BSD-3-Clause */
/* A server of `talaria copy` with clients whose batches of small files are
 * invalid: no file of these is created. The status of a file that cannot be
 * created is returned. */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "copy/batch.h"
#include "copy/hash.h"
#include "copy_attack.h"

/* Appends a file of the first `size` bytes of "abcdefgh". */
static void
add_file(struct copy_batch *batch, const char *path, uint32_t size)
{
    static const char contents[] = "abcdefgh";
    copy_file_t file = {
        .mode = 0644, .mtime = {0, COPY_TIME_NONE}, .size = size};

    copy_proto_path(&file.path, path);
    if (size > 0)
        copy_hash_add(&file.sum, 0, contents, size);
    copy_batch_append(batch, &file, contents);
}

static void
begin_batch(struct copy_batch *batch)
{
    ck_assert_int_eq(copy_batch_write(attack.peer.hg_class, attack.chunk,
                         COPY_CHUNK_SIZE, batch),
        HG_SUCCESS);
}

static unsigned int
store(uint32_t count, uint32_t size, bool replace, union copy_out *out_p)
{
    union copy_in in = {.store = {
                            .replace = replace,
                            .count = count,
                            .size = size,
                            .bulk = attack.bulk,
                        }};

    return peer_status(&attack.peer, COPY_STORE, &in, out_p);
}

/* Stores one file. Returns its own status. */
static unsigned int
store_one(copy_file_t *file, const void *contents, bool replace)
{
    struct copy_batch batch;
    union copy_out out;

    begin_batch(&batch);
    copy_batch_append(&batch, file, contents);
    ck_assert_uint_eq(store(1, copy_batch_end(&batch), replace, &out), COPY_OK);
    ck_assert_uint_eq(out.store.results.count, 1);
    return out.store.results.status[0];
}

/* Of an invalid batch nothing is made, not even the valid files before. */
START_TEST(store_invalid_makes_nothing)
{
    struct copy_batch batch;
    union copy_in in = {.store = {.count = 1, .size = 100}};
    union copy_out out;
    hg_size_t small_size = 99;
    uint32_t size;

    begin_batch(&batch);
    add_file(&batch, "a", 8);
    add_file(&batch, "b", 8);
    size = copy_batch_end(&batch);
    ck_assert_uint_eq(store(0, size, false, &out), COPY_INVALID);
    ck_assert_uint_eq(store(2, 0, false, &out), COPY_INVALID);
    ck_assert_uint_eq(store(1, size, false, &out), COPY_INVALID);
    ck_assert_uint_eq(store(3, size, false, &out), COPY_INVALID);
    ck_assert_uint_eq(store(2, size - 1, false, &out), COPY_INVALID);
    ck_assert_uint_eq(store(2, size + 1, false, &out), COPY_INVALID);
    ck_assert_uint_eq(
        store(COPY_STORE_MAX + 1, size, false, &out), COPY_INVALID);
    ck_assert_uint_eq(store(UINT32_MAX, size, false, &out), COPY_INVALID);
    ck_assert_uint_eq(store(2, COPY_CHUNK_SIZE + 1, false, &out), COPY_INVALID);
    ck_assert_uint_eq(store(2, UINT32_MAX, false, &out), COPY_INVALID);
    ck_assert_uint_eq(
        peer_status(&attack.peer, COPY_STORE, &in, &out), COPY_INVALID);
    ck_assert_int_eq(HG_Bulk_create(attack.peer.hg_class, 1, NULL, &small_size,
                         HG_BULK_READWRITE, &in.store.bulk),
        HG_SUCCESS);
    ck_assert_uint_eq(
        peer_status(&attack.peer, COPY_STORE, &in, &out), COPY_INVALID);
    HG_Bulk_free(in.store.bulk);
    ck_assert_int_ne(access(peer_path("exported/a"), F_OK), 0);
    ck_assert_uint_eq(store(2, size, false, &out), COPY_OK);
    ck_assert_uint_eq(out.store.results.count, 2);
    ck_assert_int_eq(access(peer_path("exported/b"), F_OK), 0);
}
END_TEST

/* Contents that end outside of the memory. */
START_TEST(store_size_beyond_memory_refused)
{
    struct copy_batch batch;
    copy_file_t file = {.size = 8};
    union copy_out out;
    uint32_t size;

    copy_proto_path(&file.path, "a");
    for (int i = 0; i < 2; i++) {
        begin_batch(&batch);
        copy_batch_append(&batch, &file, "abcdefgh");
        size = copy_batch_end(&batch);
        /* The size follows mode and time. */
        memset(attack.chunk + 16, i == 0 ? 0xff : 9, i == 0 ? 4 : 1);
        ck_assert_uint_eq(store(1, size, false, &out), COPY_INVALID);
    }
    ck_assert_int_ne(access(peer_path("exported/a"), F_OK), 0);
}
END_TEST

/* Each file has its own status; the others are created. */
START_TEST(store_path_refused)
{
    static const struct {
        const char *path;
        unsigned int status;
    } paths[] = {{"good", COPY_OK}, {"", COPY_IS_DIRECTORY},
        {"..", COPY_OUTSIDE}, {"../x", COPY_OUTSIDE}, {"/x", COPY_OUTSIDE},
        {"dir/../../x", COPY_OUTSIDE}, {"dir//x", COPY_INVALID},
        {"none/x", COPY_NOT_FOUND}, {"dir", COPY_EXISTS},
        {"dir/up/x", COPY_SYMLINK}, {"good", COPY_EXISTS},
        {"dir/good", COPY_OK}};
    struct copy_batch batch;
    union copy_out out;

    ck_assert_int_eq(mkdir(peer_path("exported/dir"), 0755), 0);
    ck_assert_int_eq(symlink("..", peer_path("exported/dir/up")), 0);
    begin_batch(&batch);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        add_file(&batch, paths[i].path, 8);
    ck_assert_uint_eq(
        store(batch.count, copy_batch_end(&batch), false, &out), COPY_OK);
    ck_assert_uint_eq(
        out.store.results.count, sizeof(paths) / sizeof(paths[0]));
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        ck_assert_uint_eq(out.store.results.status[i], paths[i].status);
    ck_assert_int_eq(access(peer_path("exported/dir/good"), F_OK), 0);
    ck_assert_int_ne(access(peer_path("x"), F_OK), 0);
}
END_TEST

/* Files of several directories in turn, whose paths are of the same length. */
START_TEST(store_files_in_their_directories)
{
    static const char *const directories[] = {"aa", "bb", "aa/c", "aa/d"};
    static const char *const paths[] = {"aa/1", "bb/2", "bb/3", "aa/4", "5",
        "aa/c/6", "aa/d/7", "aa/8", "9", "bb/x", "aa/d/y"};
    const size_t count = sizeof(paths) / sizeof(paths[0]);
    struct copy_batch batch;
    union copy_out out;
    char exported[64];

    for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
        snprintf(exported, sizeof(exported), "exported/%s", directories[i]);
        ck_assert_int_eq(mkdir(peer_path(exported), 0755), 0);
    }
    begin_batch(&batch);
    for (size_t i = 0; i < count; i++)
        add_file(&batch, paths[i], 8);
    ck_assert_uint_eq(
        store(batch.count, copy_batch_end(&batch), false, &out), COPY_OK);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(out.store.results.status[i], COPY_OK);
        snprintf(exported, sizeof(exported), "exported/%s", paths[i]);
        ck_assert_int_eq(access(peer_path(exported), F_OK), 0);
    }
}
END_TEST

START_TEST(store_attributes_invalid_keep_no_file)
{
    copy_file_t file = {.mode = 06755, .size = 3};
    struct stat st;

    copy_proto_path(&file.path, "file");
    ck_assert_uint_eq(store_one(&file, "abc", false), COPY_CHECKSUM);
    copy_hash_add(&file.sum, 0, "abc", 3);
    ck_assert_uint_eq(store_one(&file, "abd", false), COPY_CHECKSUM);
    file.mtime.nanos = 1000000000;
    ck_assert_uint_eq(store_one(&file, "abc", false), COPY_INVALID);
    ck_assert_int_ne(access(peer_path("exported/file"), F_OK), 0);
    file.mtime = (copy_time_t){5, 7};
    ck_assert_uint_eq(store_one(&file, "abc", false), COPY_OK);
    ck_assert_int_eq(stat(peer_path("exported/file"), &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0755);
    ck_assert_int_eq(st.st_size, 3);
    ck_assert_int_eq(st.st_mtim.tv_sec, 5);
    ck_assert_int_eq(st.st_mtim.tv_nsec, 7);
    /* Replaced only if that is asked for; never a directory. */
    file.mode = 0600;
    ck_assert_uint_eq(store_one(&file, "abc", false), COPY_EXISTS);
    ck_assert_uint_eq(store_one(&file, "abc", true), COPY_OK);
    ck_assert_int_eq(stat(peer_path("exported/file"), &st), 0);
    ck_assert_int_eq(st.st_mode & 07777, 0600);
    ck_assert_int_eq(mkdir(peer_path("exported/dir"), 0755), 0);
    copy_proto_path(&file.path, "dir");
    ck_assert_uint_eq(store_one(&file, "abc", true), COPY_IS_DIRECTORY);
}
END_TEST

static Suite *
copy_hostile_store_suite(void)
{
    Suite *suite = suite_create("copy_hostile_store");
    TCase *tcase = tcase_create("server");

    tcase_add_checked_fixture(tcase, attack_setup, attack_teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, store_invalid_makes_nothing);
    tcase_add_test(tcase, store_size_beyond_memory_refused);
    tcase_add_test(tcase, store_path_refused);
    tcase_add_test(tcase, store_files_in_their_directories);
    tcase_add_test(tcase, store_attributes_invalid_keep_no_file);
    suite_add_tcase(suite, tcase);
    return suite;
}

int
main(void)
{
    return peer_run(copy_hostile_store_suite());
}
