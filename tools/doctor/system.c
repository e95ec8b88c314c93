/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits and permissions, each tried rather than only read where possible. */
#include "doctor/doctor.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)

/* A connection takes one to three descriptors, a class some ten. */
#define DESCRIPTORS_LEAST 64
#define DESCRIPTORS_GOOD 1024

/* What a small RDMA program registers. */
#define LOCKED_GOOD (64 * MIB)

/* A class of na+sm, and its peers, have a few MiB. */
#define SHARED_GOOD (64 * MIB)

static void
check_descriptors(struct doctor *doctor)
{
    struct rlimit limit;
    char advice[128];
    uint64_t count;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    count = limit.rlim_cur;
    if (count >= DESCRIPTORS_GOOD) {
        doctor_report(doctor, DOCTOR_OK, "descriptors", NULL, "at most %ju",
            (uintmax_t) count);
        return;
    }
    if (limit.rlim_max >= DESCRIPTORS_GOOD)
        snprintf(advice, sizeof advice, "type: ulimit -n %ju",
            (uintmax_t) (limit.rlim_max < 65536 ? limit.rlim_max : 65536));
    else
        snprintf(
            advice, sizeof advice, "raise nofile in /etc/security/limits.conf");
    doctor_report(doctor,
        count < DESCRIPTORS_LEAST ? DOCTOR_FAILED : DOCTOR_WARNING,
        "descriptors", advice,
        "at most %ju, of which a class takes some ten, and each connection up "
        "to three",
        (uintmax_t) count);
}

static bool
has_rdma(void)
{
    DIR *folder = opendir("/sys/class/infiniband");
    bool found = false;

    for (const struct dirent *entry;
         folder && (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.')
            found = true;
    if (folder)
        closedir(folder);
    return found;
}

/* A process with CAP_IPC_LOCK has no limit. */
static bool
can_lock(size_t size)
{
    void *memory = mmap(
        NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool locked = memory != MAP_FAILED && mlock(memory, size) == 0;

    if (memory != MAP_FAILED)
        munmap(memory, size);
    return locked;
}

static void
check_locked(struct doctor *doctor)
{
    static const char advice[] = "type: ulimit -l unlimited, or set memlock in "
                                 "/etc/security/limits.conf";
    size_t page = (size_t) sysconf(_SC_PAGESIZE);
    struct rlimit limit;
    bool rdma = has_rdma();

    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
        return;
    if (limit.rlim_cur == RLIM_INFINITY)
        doctor_report(doctor, DOCTOR_OK, "locked memory", NULL, "unlimited");
    else if (limit.rlim_cur >= LOCKED_GOOD ||
             can_lock((size_t) limit.rlim_cur / page * page + page))
        doctor_report(doctor, DOCTOR_OK, "locked memory", NULL,
            "%ju KiB, or more with CAP_IPC_LOCK",
            (uintmax_t) limit.rlim_cur / 1024);
    else
        doctor_report(doctor, rdma ? DOCTOR_FAILED : DOCTOR_WARNING,
            "locked memory", advice,
            "at most %ju KiB: RDMA devices cannot register more%s",
            (uintmax_t) limit.rlim_cur / 1024,
            rdma ? "" : " (this machine has none)");
}

/* The limit on file sizes also holds for shared memory. */
static void
check_shared(struct doctor *doctor)
{
    int fd = memfd_create("talaria-doctor", MFD_CLOEXEC);
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    int error;

    getrlimit(RLIMIT_FSIZE, &limit);
    if (fd < 0) {
        doctor_report(doctor, DOCTOR_FAILED, "shared memory",
            errno == EMFILE ? "raise ulimit -n"
                            : "permit memfd_create in the container's profile",
            "memfd_create: %s", strerror(errno));
        return;
    }
    error = ftruncate(fd, (off_t) SHARED_GOOD) == 0 ? 0 : errno;
    close(fd);
    if (error == 0)
        doctor_report(
            doctor, DOCTOR_OK, "shared memory", NULL, "memfd of 64 MiB");
    else if (error == EFBIG)
        doctor_report(doctor, DOCTOR_FAILED, "shared memory",
            "type: ulimit -f unlimited",
            "files, and shared memory, may have %ju KiB at most (ulimit -f)",
            (uintmax_t) limit.rlim_cur / 1024);
    else
        doctor_report(doctor, DOCTOR_FAILED, "shared memory", NULL,
            "memfd of 64 MiB: %s", strerror(error));
}

static void
check_dev_shm(struct doctor *doctor)
{
    static const char advice[] =
        "type: mount -o remount,size=1G /dev/shm, or docker run "
        "--shm-size=1g";
    struct statvfs fs;
    uint64_t available;

    if (statvfs("/dev/shm", &fs) != 0) {
        doctor_report(doctor, DOCTOR_WARNING, "/dev/shm", NULL,
            "%s: libfabric and UCX have no shared memory", strerror(errno));
        return;
    }
    available = (uint64_t) fs.f_bavail * fs.f_frsize / MIB;
    if (available >= SHARED_GOOD / MIB)
        doctor_report(doctor, DOCTOR_OK, "/dev/shm", NULL, "%ju MiB available",
            (uintmax_t) available);
    else
        doctor_report(doctor, DOCTOR_WARNING, "/dev/shm", advice,
            "%ju MiB available for the shared memory of libfabric and UCX",
            (uintmax_t) available);
}

/* Reads the parent's memory. Yama restricts that like the memory of any process
 * that is not a descendant. Exits with errno, or 0. */
__attribute__((noreturn)) static void
read_parent(pid_t parent, const char *word)
{
    char copy[8];
    struct iovec here = {copy, sizeof copy};
    struct iovec there = {(void *) (uintptr_t) word, sizeof copy};

    _exit(process_vm_readv(parent, &here, 1, &there, 1, 0) == sizeof copy
              ? 0
              : errno);
}

static int
yama_scope(void)
{
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    int scope = 0;

    if (file && fscanf(file, "%d", &scope) != 1)
        scope = 0;
    if (file)
        fclose(file);
    return scope;
}

static void
check_vm_read(struct doctor *doctor)
{
    static const char word[8] = "talaria";
    pid_t parent = getpid(), child;
    int status = 0, scope = yama_scope();

    fflush(stdout);
    child = fork();
    if (child == 0)
        read_parent(parent, word);
    if (child < 0 || waitpid(child, &status, 0) != child ||
        !WIFEXITED(status)) {
        doctor_report(doctor, DOCTOR_WARNING, "process_vm_readv", NULL,
            "cannot be tried: %s", strerror(errno));
        return;
    }
    if (WEXITSTATUS(status) == 0)
        doctor_report(doctor, DOCTOR_OK, "process_vm_readv", NULL,
            "permitted between processes of this user");
    else
        doctor_report(doctor, DOCTOR_WARNING, "process_vm_readv",
            scope > 0 ? "type as root: sysctl kernel.yama.ptrace_scope=0"
                      : "permit it in the container's profile",
            "%s (ptrace_scope %d): na+sm emulates puts and gets, which are "
            "slower",
            strerror(WEXITSTATUS(status)), scope);
}

void
doctor_check_system(struct doctor *doctor)
{
    check_descriptors(doctor);
    check_locked(doctor);
    check_shared(doctor);
    check_dev_shm(doctor);
    check_vm_read(doctor);
}
