/* SPDX-License-Identifier: BSD-3-Clause */
/* A server of `talaria copy` with clients that resume uploads and downloads
 * against the rules: what they claim to have is compared, and nothing beyond the
 * partial file is accepted. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy/hash.h"
#include "copy_attack.h"

#define CHUNKS 3u
#define FILE_SIZE ((uint64_t) CHUNKS * COPY_CHUNK_SIZE)

static unsigned int
create(uint64_t size, unsigned int how, copy_create_out_t *out_p)
{
    union copy_in in = {.create = {.size = size, .how = (uint8_t) how}};
    union copy_out out;
    unsigned int status;

    copy_proto_path(&in.create.path, "large");
    status = peer_status(&attack.peer, COPY_CREATE, &in, &out);
    *out_p = out.create;
    return status;
}

static copy_create_out_t
resume(void)
{
    copy_create_out_t out;

    ck_assert_uint_eq(create(FILE_SIZE, COPY_HOW_RESUME, &out), COPY_OK);
    return out;
}

/* The chunk of zeros at `offset`, whose sum `wrong` falsifies. */
static copy_sum_t
sum_of(uint64_t offset, bool wrong)
{
    copy_sum_t sum = {0, wrong};

    copy_hash_add(&sum, offset, attack.chunk, COPY_CHUNK_SIZE);
    return sum;
}

static unsigned int
verify(uint64_t id, uint64_t offset, uint32_t size, bool wrong)
{
    union copy_in in = {.verify = {.id = id,
                            .offset = offset,
                            .size = size,
                            .sum = sum_of(offset, wrong)}};
    union copy_out out;

    return peer_status(&attack.peer, COPY_VERIFY, &in, &out);
}

static unsigned int
write_chunk(uint64_t id, uint64_t offset)
{
    union copy_in in = {.chunk = {.id = id,
                            .offset = offset,
                            .size = COPY_CHUNK_SIZE,
                            .bulk = attack.bulk}};
    union copy_out out;

    return peer_status(&attack.peer, COPY_WRITE, &in, &out);
}

static unsigned int
commit(uint64_t id, copy_sum_t sum)
{
    union copy_in in = {
        .commit = {
            .id = id, .mode = 0644, .mtime = {0, COPY_TIME_NONE}, .sum = sum}};
    union copy_out out;

    return peer_status(&attack.peer, COPY_COMMIT, &in, &out);
}

static unsigned int
close_id(uint64_t id, copy_sum_t *sum_p)
{
    union copy_in in = {.close = {.id = id}};
    union copy_out out;
    unsigned int status = peer_status(&attack.peer, COPY_CLOSE, &in, &out);

    if (sum_p != NULL)
        *sum_p = out.close.sum;
    return status;
}

/* Leaves a partial file of one chunk. */
static void
leave_chunk(void)
{
    copy_create_out_t upload = resume();

    memset(attack.chunk, 'x', COPY_CHUNK_SIZE);
    ck_assert_uint_eq(upload.have, 0);
    ck_assert_uint_eq(write_chunk(upload.id, 0), COPY_OK);
    ck_assert_uint_eq(close_id(upload.id, NULL), COPY_OK);
}

static const char *
final_path(void)
{
    return peer_path("exported/large");
}

START_TEST(how_unknown_refused)
{
    copy_create_out_t out;

    ck_assert_uint_eq(create(FILE_SIZE, 4, &out), COPY_INVALID);
    ck_assert_uint_eq(create(FILE_SIZE, 255, &out), COPY_INVALID);
    ck_assert_uint_eq(
        create(UINT64_MAX, COPY_HOW_RESUME, &out), COPY_TOO_LARGE);
}
END_TEST

START_TEST(verify_of_unknown_id_refused)
{
    ck_assert_uint_eq(verify(0, 0, COPY_CHUNK_SIZE, false), COPY_NO_ID);
    ck_assert_uint_eq(
        verify(UINT64_MAX, 0, COPY_CHUNK_SIZE, false), COPY_NO_ID);
}
END_TEST

/* Nothing of a new file can be verified, and nothing outside of any. */
START_TEST(verify_outside_of_partial_file_refused)
{
    static const uint64_t offsets[] = {COPY_CHUNK_SIZE, 2u * COPY_CHUNK_SIZE,
        FILE_SIZE, 1, UINT64_MAX, UINT64_MAX - COPY_CHUNK_SIZE + 1,
        (uint64_t) INT64_MAX + 1};
    static const uint32_t sizes[] = {
        0, 1, COPY_CHUNK_SIZE - 1, COPY_CHUNK_SIZE + 1, UINT32_MAX};
    copy_create_out_t upload;

    leave_chunk();
    upload = resume();
    ck_assert_uint_eq(upload.have, COPY_CHUNK_SIZE);
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
        ck_assert_uint_eq(verify(upload.id, offsets[i], COPY_CHUNK_SIZE, false),
            COPY_INVALID);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        ck_assert_uint_eq(verify(upload.id, 0, sizes[i], false), COPY_INVALID);
    ck_assert_uint_eq(verify(upload.id, 0, COPY_CHUNK_SIZE, false), COPY_OK);
}
END_TEST

/* A chunk that differs does not count; the file appears when it is written. */
START_TEST(chunk_that_differs_is_not_kept)
{
    copy_sum_t sum = {0, 0};
    copy_create_out_t upload;
    struct stat st;

    leave_chunk();
    upload = resume();
    ck_assert_uint_eq(
        verify(upload.id, 0, COPY_CHUNK_SIZE, true), COPY_CHECKSUM);
    memset(attack.chunk, 0, COPY_CHUNK_SIZE);
    ck_assert_uint_eq(
        verify(upload.id, 0, COPY_CHUNK_SIZE, false), COPY_CHECKSUM);
    for (uint64_t at = 0; at < FILE_SIZE; at += COPY_CHUNK_SIZE) {
        ck_assert_uint_eq(write_chunk(upload.id, at), COPY_OK);
        copy_hash_add(&sum, at, attack.chunk, COPY_CHUNK_SIZE);
    }
    ck_assert_uint_eq(commit(upload.id, sum), COPY_OK);
    ck_assert_int_eq(stat(final_path(), &st), 0);
    ck_assert_uint_eq((uint64_t) st.st_size, FILE_SIZE);
    /* The zeros replace what the partial file had. */
    ck_assert_int_eq(st.st_blocks, 0);
}
END_TEST

/* Missing chunks; and a failed commit keeps nothing. */
START_TEST(commit_of_verified_part_refused)
{
    copy_create_out_t upload;

    leave_chunk();
    upload = resume();
    ck_assert_uint_eq(verify(upload.id, 0, COPY_CHUNK_SIZE, false), COPY_OK);
    ck_assert_uint_eq(commit(upload.id, sum_of(0, false)), COPY_INVALID);
    ck_assert_int_ne(access(final_path(), F_OK), 0);
    upload = resume();
    ck_assert_uint_eq(upload.have, 0);
}
END_TEST

/* Each of two uploads to one path has a file of its own. */
START_TEST(partial_file_in_use_is_not_shared)
{
    copy_create_out_t first;
    copy_create_out_t second;

    leave_chunk();
    first = resume();
    second = resume();
    ck_assert_uint_eq(first.have, COPY_CHUNK_SIZE);
    ck_assert_uint_eq(second.have, 0);
    ck_assert_uint_eq(
        verify(second.id, 0, COPY_CHUNK_SIZE, false), COPY_INVALID);
    ck_assert_uint_eq(write_chunk(second.id, 0), COPY_OK);
    ck_assert_uint_eq(close_id(second.id, NULL), COPY_OK);
    ck_assert_uint_eq(verify(first.id, 0, COPY_CHUNK_SIZE, false), COPY_OK);
}
END_TEST

START_TEST(download_sum_has_equal_chunks_only)
{
    union copy_in in;
    union copy_out out;
    copy_sum_t sum;
    copy_sum_t expected = sum_of(0, false);
    int fd = open(final_path(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

    ck_assert_int_eq(ftruncate(fd, (off_t) FILE_SIZE), 0);
    close(fd);
    copy_proto_path(&in.path.path, "large");
    ck_assert_uint_eq(peer_status(&attack.peer, COPY_OPEN, &in, &out), COPY_OK);
    ck_assert_uint_eq(
        verify(out.open.id, 0, COPY_CHUNK_SIZE, true), COPY_CHECKSUM);
    ck_assert_uint_eq(verify(out.open.id, 0, COPY_CHUNK_SIZE, false), COPY_OK);
    ck_assert_uint_eq(
        verify(out.open.id, FILE_SIZE, COPY_CHUNK_SIZE, false), COPY_INVALID);
    ck_assert_uint_eq(close_id(out.open.id, &sum), COPY_OK);
    ck_assert(copy_hash_equal(&sum, &expected));
}
END_TEST

static Suite *
copy_hostile_resume_suite(void)
{
    Suite *suite = suite_create("copy_hostile_resume");
    TCase *tcase = tcase_create("server");

    tcase_add_checked_fixture(tcase, attack_setup, attack_teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, how_unknown_refused);
    tcase_add_test(tcase, verify_of_unknown_id_refused);
    tcase_add_test(tcase, verify_outside_of_partial_file_refused);
    tcase_add_test(tcase, chunk_that_differs_is_not_kept);
    tcase_add_test(tcase, commit_of_verified_part_refused);
    tcase_add_test(tcase, partial_file_in_use_is_not_shared);
    tcase_add_test(tcase, download_sum_has_equal_chunks_only);
    suite_add_tcase(suite, tcase);
    return suite;
}

int
main(void)
{
    return peer_run(copy_hostile_resume_suite());
}
