/* SPDX-License-Identifier: BSD-3-Clause */
/* Creating sealed memory, and checking that of a peer. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/memfd.h"

#ifndef F_SEAL_FUTURE_WRITE /* since Linux 5.1 */
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define SIZE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW)
#define SEALS (SIZE_SEALS | F_SEAL_SEAL)

/* Beyond this limit ftruncate does not just fail: the kernel sends SIGXFSZ, which
 * ends the process (setrlimit(2)). */
static bool
exceeds_file_size_limit(uint64_t length)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           limit.rlim_cur != RLIM_INFINITY && length > limit.rlim_cur;
}

int
tp_memfd_create(const char *name, uint64_t length, int *fd_p)
{
    if (length > INT64_MAX || exceeds_file_size_limit(length))
        return EFBIG;
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return errno;
    if (ftruncate(fd, (off_t) length) != 0 ||
        fcntl(fd, F_ADD_SEALS, SIZE_SEALS) != 0) {
        int error = errno;
        close(fd);
        return error;
    }
    *fd_p = fd;
    return 0;
}

int
tp_memfd_seal(int fd, bool read_only)
{
    if (read_only &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_FUTURE_WRITE) == 0)
        return 0;
    return fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL) == 0 ? 0 : errno;
}

const char *
tp_memfd_error(int error)
{
    return error == EFBIG ? "the limit on file sizes (RLIMIT_FSIZE, ulimit -f) "
                            "of this process is too low"
                          : strerror(error);
}

const char *
tp_memfd_check(int fd, uint64_t length)
{
    struct stat st;
    struct statfs fs;
    int seals = fcntl(fd, F_GET_SEALS);

    if (seals < 0 || (seals & SEALS) != SEALS)
        return "its memory is not sealed";
    if (fstat(fd, &st) != 0 || st.st_size < 0 ||
        (uint64_t) st.st_size != length)
        return "its memory has another size than it said";
    if (fstatfs(fd, &fs) != 0 || (unsigned long) fs.f_type != TMPFS_MAGIC)
        return "its memory is of an unknown kind";
    return NULL;
}
