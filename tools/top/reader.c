/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the statistics that processes publish. */
#include "top/reader.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LINK_NAME "/memfd:" WATCH_NAME " (deleted)"
#define NS_PER_S UINT64_C(1000000000)

/* More calls, bytes or nanoseconds than a process gets to. */
#define VALUE_MAX (UINT64_C(1) << 54)

/* The longest time that a reader asks for. */
#define LOOK_MAX_S 10U

/* The time that processes have together to finish the snapshots that they are
 * writing, which takes a fraction of a millisecond every 100 ms. */
#define TAKE_NS (NS_PER_S / 10)

static uint64_t
now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t) time.tv_sec * NS_PER_S + (uint64_t) time.tv_nsec;
}

/* Replaces all but printable ASCII. */
static void
clean(char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

static void
read_command(pid_t pid, char *command, size_t size)
{
    char path[64];
    FILE *file;

    snprintf(command, size, "?");
    snprintf(path, sizeof path, "/proc/%ld/comm", (long) pid);
    file = fopen(path, "re");
    if (!file)
        return;
    if (fgets(command, (int) size, file))
        command[strcspn(command, "\n")] = '\0';
    fclose(file);
    clean(command);
}

/* Returns the process's id in its own namespace of processes; 0: it has ended.
 */
static uint64_t
own_pid(pid_t pid)
{
    char path[64], line[512];
    unsigned long long own = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%ld/status", (long) pid);
    file = fopen(path, "re");
    if (!file)
        return 0;
    while (fgets(line, sizeof line, file)) {
        char *last;

        if (strncmp(line, "NSpid:", 6) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        last = strrchr(line, '\t');
        own = strtoull(last ? last : line + 6, NULL, 10);
        break;
    }
    fclose(file);
    return own;
}

/* Maps a page. The seals of the file fix its size, so no access to the mapping
 * fails. Returns NULL if it is not a page. */
static struct watch_page *
map(int fd, const struct stat *st)
{
    struct watch_page *page;
    int seals = fcntl(fd, F_GET_SEALS);
    void *memory;

    if (!S_ISREG(st->st_mode) || seals < 0 || (seals & F_SEAL_SHRINK) == 0 ||
        st->st_size != (off_t) sizeof *page)
        return NULL;
    memory =
        mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return NULL;
    page = memory;
    if (__atomic_load_n(&page->magic, __ATOMIC_ACQUIRE) == WATCH_MAGIC &&
        __atomic_load_n(&page->size, __ATOMIC_RELAXED) == sizeof *page)
        return page;
    munmap(memory, sizeof *page);
    return NULL;
}

static struct reader_process *
find(const struct reader *reader, pid_t pid, const struct stat *st)
{
    for (size_t i = 0; i < reader->count; i++) {
        struct reader_process *process = reader->processes[i];

        if (process->pid == pid && process->device == st->st_dev &&
            process->inode == st->st_ino)
            return process;
    }
    return NULL;
}

static bool
add(struct reader *reader, pid_t pid, const struct stat *st,
    struct watch_page *page)
{
    struct reader_process *process = calloc(1, sizeof *process);
    struct reader_process **more = reallocarray(
        reader->processes, reader->count + 1, sizeof(struct reader_process *));

    if (more)
        reader->processes = more;
    if (!process || !more) {
        free(process);
        return false;
    }
    process->pid = pid;
    process->device = st->st_dev;
    process->inode = st->st_ino;
    process->page = page;
    process->seen = true;
    read_command(pid, process->command, sizeof process->command);
    more[reader->count++] = process;
    return true;
}

/* Takes a descriptor of a process. Returns whether it is its page: a child may
 * have that of its parent. */
static bool
take_file(struct reader *reader, pid_t pid, const char *path)
{
    struct reader_process *known;
    struct watch_page *page;
    struct stat st;
    int fd;

    if (stat(path, &st) != 0)
        return false;
    known = find(reader, pid, &st);
    if (known) {
        known->seen = true;
        return true;
    }
    fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    page = fstat(fd, &st) == 0 ? map(fd, &st) : NULL;
    close(fd);
    if (!page)
        return false;
    if (__atomic_load_n(&page->pid, __ATOMIC_RELAXED) == own_pid(pid) &&
        add(reader, pid, &st, page))
        return true;
    munmap(page, sizeof *page);
    return false;
}

/* Finds the page of a process: the first one. */
static void
search_process(struct reader *reader, pid_t pid)
{
    char folder[64], path[384], target[sizeof LINK_NAME + 1];
    struct dirent *entry;
    bool found = false;
    DIR *files;

    snprintf(folder, sizeof folder, "/proc/%ld/fd", (long) pid);
    files = opendir(folder);
    if (!files)
        return; /* of another user, or ended */
    while (!found && (entry = readdir(files)) != NULL) {
        ssize_t length;

        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        length = readlink(path, target, sizeof target - 1);
        if (length != sizeof LINK_NAME - 1 ||
            memcmp(target, LINK_NAME, sizeof LINK_NAME - 1) != 0)
            continue;
        found = take_file(reader, pid, path);
    }
    closedir(files);
}

static void
forget(struct reader_process *process)
{
    munmap(process->page, sizeof *process->page);
    free(process);
}

static int
compare(const void *a, const void *b)
{
    const struct reader_process *const *x = a, *const *y = b;

    return ((*x)->pid > (*y)->pid) - ((*x)->pid < (*y)->pid);
}

static void
forget_ended(struct reader *reader)
{
    size_t kept = 0;

    for (size_t i = 0; i < reader->count; i++)
        if (reader->processes[i]->seen)
            reader->processes[kept++] = reader->processes[i];
        else
            forget(reader->processes[i]);
    reader->count = kept;
    if (kept > 1)
        qsort(reader->processes, kept, sizeof *reader->processes, compare);
}

bool
reader_search(struct reader *reader)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;

    if (!proc)
        return false;
    for (size_t i = 0; i < reader->count; i++)
        reader->processes[i]->seen = false;
    while ((entry = readdir(proc)) != NULL) {
        long pid = strtol(entry->d_name, NULL, 10);

        if (isdigit((unsigned char) entry->d_name[0]) && pid > 0 &&
            (reader->only == 0 || reader->only == pid))
            search_process(reader, (pid_t) pid);
    }
    closedir(proc);
    forget_ended(reader);
    return true;
}

void
reader_look(struct reader *reader, unsigned seconds)
{
    uint64_t until = now() + seconds * NS_PER_S;

    for (size_t i = 0; i < reader->count; i++) {
        struct watch_page *page = reader->processes[i]->page;

        /* Another reader may have asked for longer. */
        uint64_t there =
            atomic_load_explicit(&page->look_until, memory_order_relaxed);

        if (there < until || there - until > LOOK_MAX_S * NS_PER_S)
            atomic_store_explicit(
                &page->look_until, until, memory_order_relaxed);
        atomic_fetch_add_explicit(&page->look, 1, memory_order_release);
        syscall(SYS_futex, &page->look, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

static void
copy_words(void *to, const void *from, size_t size)
{
    uint64_t *words = to;
    const uint64_t *source = from;

    for (size_t i = 0; i < size / sizeof *words; i++)
        words[i] = __atomic_load_n(&source[i], __ATOMIC_RELAXED);
}

/* Copies the tables as far as they are filled. Returns false if the counts are
 * invalid. */
static bool
copy_body(struct watch_body *to, const struct watch_body *from)
{
    copy_words(to, from, offsetof(struct watch_body, rpcs));
    if (to->rpc_count > WATCH_RPCS || to->peer_count > WATCH_PEERS ||
        to->transport_count > WATCH_TRANSPORTS)
        return false;
    copy_words(to->rpcs, from->rpcs, to->rpc_count * sizeof to->rpcs[0]);
    copy_words(to->peers, from->peers, to->peer_count * sizeof to->peers[0]);
    copy_words(to->transports, from->transports,
        to->transport_count * sizeof to->transports[0]);
    return true;
}

/* Returns whether sums of the numbers cannot overflow. */
static bool
are_sane(const uint64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] > VALUE_MAX)
            return false;
    return true;
}

static bool
is_sane(const struct watch_body *body)
{
    bool sane = body->watched_ns <= VALUE_MAX && body->counted_ns <= VALUE_MAX;

    for (size_t i = 0; sane && i < body->rpc_count; i++)
        sane = are_sane(
            body->rpcs[i].values, (size_t) WATCH_SIDES * WATCH_RPC_FIELDS);
    for (size_t i = 0; sane && i < body->peer_count; i++)
        sane = are_sane(
            body->peers[i].values, (size_t) WATCH_SIDES * WATCH_PEER_FIELDS);
    for (size_t i = 0; sane && i < body->transport_count; i++)
        sane = are_sane(body->transports[i].values,
            (size_t) WATCH_SIDES * WATCH_PEER_FIELDS);
    return sane;
}

static void
clean_name(char *name)
{
    name[WATCH_NAME_SIZE - 1] = '\0';
    clean(name);
}

static void
clean_body(struct watch_body *body)
{
    for (size_t i = 0; i < body->rpc_count; i++)
        clean_name(body->rpcs[i].name);
    for (size_t i = 0; i < body->peer_count; i++)
        clean_name(body->peers[i].name);
    for (size_t i = 0; i < body->transport_count; i++)
        clean_name(body->transports[i].name);
}

/* Takes a snapshot; tries again, until a time, while one is being written. */
static bool
take(struct reader_process *process, uint64_t until)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    const struct watch_page *page = process->page;

    for (;;) {
        /* Acquire pairs with the release at the end of write_page. */
        uint32_t before =
            atomic_load_explicit(&page->sequence, memory_order_acquire);
        bool copied = (before & 1) == 0 && before > 0 &&
                      copy_body(&process->now, &page->body);

        atomic_thread_fence(memory_order_acquire);
        if (copied && atomic_load_explicit(
                          &page->sequence, memory_order_relaxed) == before) {
            clean_body(&process->now);
            return is_sane(&process->now);
        }
        if (before == 0 || now() >= until) /* 0: nothing was published yet */
            return false;
        nanosleep(&pause, NULL);
    }
}

void
reader_take(struct reader *reader)
{
    uint64_t until = now() + TAKE_NS;

    for (size_t i = 0; i < reader->count; i++) {
        struct reader_process *process = reader->processes[i];

        process->before = process->now;
        process->valid_before = process->valid;
        process->valid = take(process, until);
    }
}

void
reader_finish(struct reader *reader)
{
    for (size_t i = 0; i < reader->count; i++)
        forget(reader->processes[i]);
    free(reader->processes);
    *reader = (struct reader){.count = 0};
}
