/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel and the C library give. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/system.h"
#include "na_plugin.h"

#define LINE ((size_t) 64)

/* At most 256 bytes come whole: getrandom(2) says so. */
static bool
refill(struct tp_random *random)
{
    ssize_t got;

    do {
        got = getrandom(random->numbers, sizeof(random->numbers), 0);
    } while (got < 0 && errno == EINTR);
    if (got != (ssize_t) sizeof(random->numbers))
        return false;
    random->left = TP_RANDOM_NUMBERS;
    return true;
}

bool
tp_random_draw(struct tp_random *random, uint64_t *number_p)
{
    uint64_t number = 0;

    while (number == 0) {
        if (random->left == 0 && !refill(random))
            return false;
        number = random->numbers[--random->left];
        /* erased here: a number is a key once it has been given out */
        random->numbers[random->left] = 0;
    }
    *number_p = number;
    return true;
}

bool
tp_close_on_exec(int fd)
{
    int flags = fcntl(fd, F_GETFD);

    if (flags < 0)
        return false;
    return (flags & FD_CLOEXEC) != 0 ||
           fcntl(fd, F_SETFD, flags | FD_CLOEXEC) == 0;
}

int32_t
tp_error_code(int error)
{
    switch (error) {
    case 0:
        return NA_PLUGIN_OK;
    case EAGAIN:
        return NA_PLUGIN_E_AGAIN;
    case EKEYREJECTED:
    case EACCES:
    case EPERM:
        return NA_PLUGIN_E_PERMISSION;
    case EMSGSIZE:
        return NA_PLUGIN_E_MSGSIZE;
    case ENODEV:
    case ENODATA:
        return NA_PLUGIN_E_NODEV;
    case EADDRINUSE:
        return NA_PLUGIN_E_ADDRINUSE;
    case EADDRNOTAVAIL:
        return NA_PLUGIN_E_ADDRNOTAVAIL;
    case ENOMEM:
    case ENOBUFS:
    case EMFILE:
    case ENFILE:
        return NA_PLUGIN_E_NOMEM;
    case EOPNOTSUPP:
    case ENOSYS:
        return NA_PLUGIN_E_OPNOTSUPPORTED;
    case EINVAL:
        return NA_PLUGIN_E_INVALID_ARG;
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENETUNREACH:
    case ECONNREFUSED:
    case ECONNRESET:
    case ECONNABORTED:
    case ENOTCONN:
    case ESHUTDOWN:
    case ETIMEDOUT:
    case EPIPE:
        return NA_PLUGIN_E_HOSTUNREACH;
    default:
        return NA_PLUGIN_E_IO_ERROR;
    }
}

void *
tp_alloc_lines(size_t size)
{
    if (size > SIZE_MAX - LINE)
        return NULL;
    size_t rounded = (size + LINE - 1) & ~(LINE - 1);
    void *memory = aligned_alloc(LINE, rounded != 0 ? rounded : LINE);
    if (memory != NULL)
        memset(memory, 0, rounded);
    return memory;
}
