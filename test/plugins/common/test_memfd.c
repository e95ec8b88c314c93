/* SPDX-License-Identifier: BSD-3-Clause */
/* Sealed memory: what its seals permit, and which memory is rejected. */
#include "common/memfd.h"
#include "runner.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define LENGTH 8192U

static int
create(bool read_only, void **memory_p)
{
    int fd = -1;

    ck_assert_int_eq(tp_memfd_create("test", LENGTH, &fd), 0);
    *memory_p = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(*memory_p, MAP_FAILED);
    ck_assert_int_eq(tp_memfd_seal(fd, read_only), 0);
    return fd;
}

START_TEST(memfd_keeps_its_size_and_seals)
{
    void *memory;
    int fd = create(false, &memory);

    ck_assert_ptr_null(tp_memfd_check(fd, LENGTH));
    ck_assert((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    ck_assert_int_eq(ftruncate(fd, LENGTH / 2), -1);
    ck_assert_int_eq(ftruncate(fd, (off_t) 2 * LENGTH), -1);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    memset(memory, 1, LENGTH);
    munmap(memory, LENGTH);
    close(fd);
}
END_TEST

/* A receiver can read what the creator keeps writing. */
START_TEST(memfd_read_only_is_writable_by_its_creator_only)
{
    void *memory;
    int fd = create(true, &memory);
    const unsigned char *seen =
        mmap(NULL, LENGTH, PROT_READ, MAP_SHARED, fd, 0);

    ck_assert_ptr_null(tp_memfd_check(fd, LENGTH));
    ck_assert_ptr_ne(seen, MAP_FAILED);
    ck_assert_ptr_eq(
        mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
        MAP_FAILED);
    memset(memory, 7, LENGTH);
    ck_assert_uint_eq(seen[LENGTH - 1], 7);
    close(fd);
}
END_TEST

START_TEST(memfd_of_another_kind_is_rejected)
{
    void *memory;
    int fd = create(false, &memory);
    int loose = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    FILE *file = tmpfile();

    ck_assert_ptr_nonnull(tp_memfd_check(fd, LENGTH - 1));
    ck_assert_ptr_nonnull(tp_memfd_check(fd, LENGTH + 1));
    ck_assert_int_eq(ftruncate(loose, LENGTH), 0);
    ck_assert_ptr_nonnull(tp_memfd_check(loose, LENGTH));
    fcntl(loose, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SEAL);
    ck_assert_ptr_nonnull(tp_memfd_check(loose, LENGTH));
    ck_assert_int_eq(ftruncate(fileno(file), LENGTH), 0);
    ck_assert_ptr_nonnull(tp_memfd_check(fileno(file), LENGTH));
    ck_assert_ptr_nonnull(tp_memfd_check(-1, LENGTH));
    fclose(file);
    close(loose);
    close(fd);
}
END_TEST

START_TEST(memfd_beyond_the_file_size_limit_fails)
{
    const struct rlimit limit = {LENGTH, LENGTH};
    int fd = -1;

    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(tp_memfd_create("test", LENGTH + 1, &fd), EFBIG);
    ck_assert_ptr_nonnull(strstr(tp_memfd_error(EFBIG), "RLIMIT_FSIZE"));
    ck_assert_str_eq(tp_memfd_error(ENOMEM), strerror(ENOMEM));
    ck_assert_int_eq(fd, -1);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("all");

    tcase_add_test(tcase, memfd_keeps_its_size_and_seals);
    tcase_add_test(tcase, memfd_read_only_is_writable_by_its_creator_only);
    tcase_add_test(tcase, memfd_of_another_kind_is_rejected);
    tcase_add_test(tcase, memfd_beyond_the_file_size_limit_fails);
    return run_tcase("common memfd", tcase);
}
