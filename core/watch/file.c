/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file with an array of JSON values.
 *
 * Each process that writes it has a shared lock (flock). The first one, which
 * gets an exclusive lock, empties it and begins the array; the last one ends it.
 * Writes append whole lines. After a process was killed the end of the array may
 * be missing, which viewers accept.
 */
#include "watch/file.h"

#include "watch/call.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define VALUE_MAX 1024U
#define BUFFER_SIZE 65536U
/* The beginning of each such file. */
#define HEAD "[\n{\"ph\":\"M\",\"name\":\"process_name\""

static int file = -1;
static char buffer[BUFFER_SIZE];
static size_t filled;

void
watch_file_escape(const char *text, char *to, size_t size)
{
    size_t length = 0;

    for (; *text && length + 2 < size; text++) {
        if (*text == '"' || *text == '\\')
            to[length++] = '\\';
        to[length++] = (char) (*text >= ' ' && *text < 127 ? *text : '?');
    }
    to[length] = '\0';
}

/* Replaces "%p" and "%%". Returns false if the path is too long. */
static bool
expand(const char *path, char *to, size_t size)
{
    size_t length = 0;

    for (; *path; path++) {
        int more;

        if (length + 1 >= size)
            return false;
        if (path[0] != '%' || (path[1] != 'p' && path[1] != '%')) {
            to[length++] = *path;
            continue;
        }
        path++;
        more = *path == 'p' ? snprintf(to + length, size - length, "%ld",
                                  (long) getpid())
                            : snprintf(to + length, size - length, "%%");
        if (more < 0 || (size_t) more >= size - length)
            return false;
        length += (size_t) more;
    }
    to[length] = '\0';
    return true;
}

static bool
write_bytes(const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(file, bytes, size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        bytes += written;
        size -= (size_t) written;
    }
    return true;
}

/* Returns false with errno set. Beyond RLIMIT_FSIZE the kernel also sends SIGXFSZ,
 * which would end the process: it is blocked, and taken back unless one was
 * pending before. */
static bool
write_without_signal(const char *bytes, size_t size)
{
    const struct timespec at_once = {0};
    sigset_t limit, old, pending;
    bool written;
    int err;

    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &limit, &old);
    written = write_bytes(bytes, size);
    err = errno;
    if (!written && err == EFBIG && !sigismember(&pending, SIGXFSZ))
        sigtimedwait(&limit, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    errno = err;
    return written;
}

/* Returns whether an open file is one of these, or empty. */
static bool
is_trace(off_t size)
{
    char head[sizeof HEAD - 1];

    return size == 0 || (pread(file, head, sizeof head, 0) == sizeof head &&
                            memcmp(head, HEAD, sizeof head) == 0);
}

/* Takes the lock: exclusive if no other process writes the file. Waits while
 * another process begins or ends it. Returns false if it is locked. */
static bool
lock(bool *exclusive_p)
{
    const struct timespec pause = {.tv_nsec = 10000000};

    for (int i = 0; i < 10; i++) {
        *exclusive_p = flock(file, LOCK_EX | LOCK_NB) == 0;
        if (*exclusive_p || flock(file, LOCK_SH | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK)
            return false;
        nanosleep(&pause, NULL);
    }
    return false;
}

/* Returns NULL, or why the file is not written. Its name may be in a folder that
 * other users may write. */
static const char *
refusal(const struct stat *st)
{
    if (!S_ISREG(st->st_mode))
        return "it is no regular file";
    if (st->st_uid != geteuid())
        return "it is another user's";
    if (st->st_nlink != 1)
        return "it has another name, too";
    return is_trace(st->st_size) ? NULL : "it exists and is no trace";
}

/* Returns NULL, or why not. */
static const char *
begin(const char *value)
{
    const char *why;
    struct stat st;
    bool first;

    if (fstat(file, &st) != 0)
        return strerror(errno);
    if (!S_ISREG(st.st_mode))
        return "it is no regular file";
    if (!lock(&first))
        return "it is locked";
    if (fstat(file, &st) != 0)
        return strerror(errno);
    why = refusal(&st);
    if (why)
        return why;
    if (first && ftruncate(file, 0) != 0)
        return strerror(errno);
    first = first || st.st_size == 0;
    filled = (size_t) snprintf(
        buffer, sizeof buffer, "%s%s", first ? "[\n" : ",\n", value);
    if (!write_without_signal(buffer, filled))
        return strerror(errno);
    filled = 0;
    return flock(file, LOCK_SH) == 0 ? NULL : strerror(errno);
}

bool
watch_file_open(
    const char *path, char *reason, size_t reason_size, const char *format, ...)
{
    char name[4096], value[VALUE_MAX];
    const char *why;
    va_list args;

    if (!expand(path, name, sizeof name)) {
        snprintf(reason, reason_size, "the name of the file is too long");
        return false;
    }
    va_start(args, format);
    vsnprintf(value, sizeof value, format, args);
    va_end(args);
    file = open(name,
        O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
            O_NOCTTY,
        S_IRUSR | S_IWUSR);
    why = file < 0 ? strerror(errno) : begin(value);
    if (!why)
        return true;
    snprintf(reason, reason_size, "%s: %s", name, why);
    if (file >= 0)
        close(file);
    file = -1;
    return false;
}

void
watch_file_flush(void)
{
    char text[128];

    if (filled > 0 && file >= 0 && !write_without_signal(buffer, filled)) {
        snprintf(text, sizeof text, "TALARIA_TRACE: the trace ends here: %s",
            strerror(errno));
        watch_core.log(text);
        close(file);
        file = -1;
    }
    filled = 0;
}

void
watch_file_add(const char *format, ...)
{
    va_list args;
    int length;

    if (filled + VALUE_MAX + 2 > sizeof buffer)
        watch_file_flush();
    if (file < 0)
        return;
    buffer[filled] = ',';
    buffer[filled + 1] = '\n';
    va_start(args, format);
    length = vsnprintf(buffer + filled + 2, VALUE_MAX, format, args);
    va_end(args);
    if (length > 0 && (unsigned) length < VALUE_MAX)
        filled += (size_t) length + 2;
}

void
watch_file_close(void)
{
    watch_file_flush();
    if (file < 0)
        return;
    if (flock(file, LOCK_EX | LOCK_NB) == 0)
        write_without_signal("\n]\n", 3);
    close(file);
    file = -1;
}
