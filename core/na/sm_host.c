/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The id of a host. Two processes can share memory when they run under the same
 * boot of one kernel, see the same abstract sockets (network namespace) and
 * each other's process ids (pid namespace).
 */
#include "na_sm.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"

struct host_facts {
    char boot_id[40];
    uint64_t net_namespace[2]; /* device and inode */
    uint64_t pid_namespace[2];
};

static bool
read_boot_id(char *text, size_t size)
{
    int fd = open(BOOT_ID_PATH, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, size - 1) : -1;

    if (fd >= 0)
        close(fd);
    return got > 0;
}

static bool
read_namespace(const char *path, uint64_t id[2])
{
    struct stat info;

    if (stat(path, &info) != 0)
        return false;
    id[0] = info.st_dev;
    id[1] = info.st_ino;
    return true;
}

na_return_t
NA_SM_Host_id_get(na_sm_id_t *id_p)
{
    struct host_facts facts;
    XXH128_hash_t hash;

    if (!id_p)
        return NA_INVALID_ARG;
    memset(&facts, 0, sizeof facts);
    if (!read_boot_id(facts.boot_id, sizeof facts.boot_id) ||
        !read_namespace("/proc/self/ns/net", facts.net_namespace) ||
        !read_namespace("/proc/self/ns/pid", facts.pid_namespace)) {
        LOG_ERROR(NA, "the id of this host needs /proc: errno %d", errno);
        return NA_OPNOTSUPPORTED;
    }
    hash = XXH3_128bits(&facts, sizeof facts);
    *id_p = (na_sm_id_t){.high = hash.high64, .low = hash.low64};
    return NA_SUCCESS;
}

/* Formats it like a UUID: 8-4-4-4-12 digits. */
na_return_t
NA_SM_Host_id_to_string(na_sm_id_t id, char *string)
{
    if (!string)
        return NA_INVALID_ARG;
    snprintf(string, NA_SM_HOST_ID_LEN + 1,
        "%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64,
        id.high >> 32, id.high >> 16 & 0xffff, id.high & 0xffff, id.low >> 48,
        id.low & 0xffffffffffff);
    return NA_SUCCESS;
}

static int
digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

na_return_t
NA_SM_String_to_host_id(const char *string, na_sm_id_t *id_p)
{
    uint64_t parts[2] = {0, 0};
    unsigned digits = 0;

    if (!string || !id_p ||
        strnlen(string, NA_SM_HOST_ID_LEN + 1) != NA_SM_HOST_ID_LEN)
        return NA_INVALID_ARG;
    for (unsigned i = 0; i < NA_SM_HOST_ID_LEN; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        int value = digit(string[i]);

        if (dash && string[i] == '-')
            continue;
        if (dash || value < 0)
            return NA_INVALID_ARG;
        parts[digits / 16] = parts[digits / 16] << 4 | (uint64_t) value;
        digits++;
    }
    *id_p = (na_sm_id_t){.high = parts[0], .low = parts[1]};
    return NA_SUCCESS;
}

void
NA_SM_Host_id_copy(na_sm_id_t *dst_p, na_sm_id_t src)
{
    if (dst_p)
        *dst_p = src;
}

bool
NA_SM_Host_id_cmp(na_sm_id_t id1, na_sm_id_t id2)
{
    return id1.high == id2.high && id1.low == id2.low;
}
