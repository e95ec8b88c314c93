/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of libfabric's shm: an endpoint's memory is one, of a size that is a
 * power of two, behind which quirks have pages of their own. */
#ifndef OFI_SHM_FILE_H
#define OFI_SHM_FILE_H

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../ofi.h"
#include "../probe.h"

#define SHM_FOLDER "/dev/shm"
#define SHM_SCHEME "fi_shm://"
#define SHM_PAGE 4096
#define SHM_OWN_PAGES 2U /* at most */
#define SHM_PATH (sizeof(SHM_FOLDER) + OFI_NAME_MAX + 2)

/* What a file, and an endpoint, is called: "PROCESS:USER:NUMBER". */
struct shm_parts {
    uint32_t process;
    uint32_t user;
    uint32_t number;
};

static inline bool
shm_read_parts(const char *text, struct shm_parts *parts)
{
    uint32_t *const values[] = {&parts->process, &parts->user, &parts->number};

    for (uint32_t i = 0; i < 3; i++) {
        char *end = NULL;
        if (text[0] < '0' || text[0] > '9')
            return false;
        errno = 0;
        unsigned long value = strtoul(text, &end, 10);
        if (errno != 0 || value > INT32_MAX || *end != (i < 2 ? ':' : '\0'))
            return false;
        *values[i] = (uint32_t) value;
        text = end + 1;
    }
    return parts->process != 0;
}

/* Likewise from the name of an endpoint of this user. */
static inline bool
shm_read_name(const char *bytes, size_t length, struct shm_parts *parts)
{
    char text[OFI_NAME_MAX + 1];

    if (length < sizeof(SHM_SCHEME) || length > OFI_NAME_MAX ||
        memcmp(bytes, SHM_SCHEME, sizeof(SHM_SCHEME) - 1) != 0)
        return false;
    memcpy(text, bytes, length);
    text[length] = '\0';
    return shm_read_parts(text + sizeof(SHM_SCHEME) - 1, parts) &&
           parts->user == getuid();
}

/* Whether the class of an endpoint has its socket, see ofi_probe_answers. */
static inline bool
shm_answers(uint64_t peer)
{
    struct ofi_name name = {0};

    name.length = (uint32_t) snprintf((char *) name.bytes, sizeof(name.bytes),
        SHM_SCHEME "%u:%u:%u", (uint32_t) (peer >> 32), getuid(),
        (uint32_t) peer);
    return ofi_probe_answers(&name);
}

static inline bool
shm_is_gone(uint64_t peer)
{
    if (shm_answers(peer))
        return false;
    /* a class of this process is gone when its socket is; another's process may
     * end later than that */
    return peer >> 32 == (uint64_t) getpid() ||
           (kill((pid_t) (peer >> 32), 0) != 0 && errno == ESRCH);
}

/* The name of an endpoint's file, within an endpoint's name of room for that;
 * NULL: it has none that is this process's. */
static inline const char *
shm_file_of(
    struct fid_ep *fep, char name[OFI_NAME_MAX + 1], struct shm_parts *parts)
{
    size_t length = OFI_NAME_MAX + 1;

    memset(name, 0, length);
    if (fi_getname(&fep->fid, name, &length) != 0 ||
        !shm_read_name(name, strnlen(name, OFI_NAME_MAX + 1), parts) ||
        parts->process != (uint32_t) getpid())
        return NULL;
    return name + sizeof(SHM_SCHEME) - 1;
}

/* What of a file of that size is libfabric's; 0: nothing. */
static inline uint64_t
shm_region(uint64_t size)
{
    return size == 0 ? 0 : UINT64_C(1) << (63 - __builtin_clzll(size));
}

#endif /* OFI_SHM_FILE_H */
