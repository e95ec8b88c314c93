/* SPDX-License-Identifier: BSD-3-Clause */
/* Visiting the descriptors of the process. */
#include "common/descriptor.h"
#include "runner.h"

#include <check.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY 300U /* more than one read of the folder returns */

struct seen {
    bool fds[2 * MANY];
    uint32_t count;
};

static void
see(int fd, void *arg)
{
    struct seen *seen = arg;

    ck_assert_int_ge(fd, 0);
    ck_assert_uint_lt((uint32_t) fd, 2 * MANY);
    ck_assert_msg(!seen->fds[fd], "%d twice", fd);
    seen->fds[fd] = true;
    seen->count++;
}

static uint32_t
count_open(void)
{
    uint32_t count = 0;

    for (int fd = 0; fd < (int) (2 * MANY); fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

START_TEST(descriptors_are_visited_once_each)
{
    struct seen seen = {.count = 0};

    for (uint32_t i = 0; i < MANY; i++)
        ck_assert_int_ge(dup(0), 0);
    tp_descriptors_each(see, &seen);
    ck_assert_uint_eq(seen.count, count_open());
    for (int fd = 0; fd < (int) (2 * MANY); fd++)
        ck_assert_int_eq(seen.fds[fd], fcntl(fd, F_GETFD) >= 0);
}
END_TEST

START_TEST(descriptors_seen_before_are_not_new)
{
    struct tp_descriptors noted = {0};
    struct seen seen = {.count = 0};

    int closed = dup(0);
    tp_descriptors_note(&noted);
    tp_descriptors_each_new(&noted, see, &seen);
    ck_assert_uint_eq(seen.count, 0);
    close(closed);
    int again = dup(0), added = dup(0);
    ck_assert_int_eq(again, closed);
    tp_descriptors_each_new(&noted, see, &seen);
    ck_assert_uint_eq(seen.count, 1);
    ck_assert(seen.fds[added]);
}
END_TEST

/* What another thread does while a library opens: it closes a file, and the
 * library gets its number. */
START_TEST(number_that_was_open_for_another_file_is_new)
{
    struct tp_descriptors noted = {0};
    struct seen seen = {.count = 0};
    int ends[2];

    int event = eventfd(0, EFD_CLOEXEC);
    int file = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(folder, 0);
    tp_descriptors_note(&noted);
    close(event);
    close(file);
    close(folder);
    ck_assert_int_eq(epoll_create1(0), event);
    ck_assert_int_eq(epoll_create1(0), file);
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(ends[0], folder);
    tp_descriptors_each_new(&noted, see, &seen);
    ck_assert_uint_eq(seen.count, 4);
    ck_assert(seen.fds[event] && seen.fds[file]);
    ck_assert(seen.fds[ends[0]] && seen.fds[ends[1]]);
    memset(&seen, 0, sizeof(seen));
    tp_descriptors_note(&noted);
    tp_descriptors_each_new(&noted, see, &seen);
    ck_assert_uint_eq(seen.count, 0);
}
END_TEST

static void
close_one(int fd, void *arg)
{
    if (fd > 2)
        close(fd);
}

START_TEST(descriptors_can_be_closed_in_a_child)
{
    int status;

    for (uint32_t i = 0; i < MANY; i++)
        ck_assert_int_ge(dup(0), 0);
    pid_t pid = fork();
    if (pid == 0) {
        tp_descriptors_each(close_one, NULL);
        _exit(count_open() <= 3 ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_gt(count_open(), MANY);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("all");

    tcase_add_test(tcase, descriptors_are_visited_once_each);
    tcase_add_test(tcase, descriptors_seen_before_are_not_new);
    tcase_add_test(tcase, number_that_was_open_for_another_file_is_new);
    tcase_add_test(tcase, descriptors_can_be_closed_in_a_child);
    return run_tcase("common descriptor", tcase);
}
