/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of the codes that are equal in NA and HG. */
#include "base/error.h"

#include "na_types.h"

#include <errno.h>
#include <stddef.h>

#define NAME(code) [NA_##code] = "NA_" #code

static const char *const names[] = {NAME(SUCCESS), NAME(PERMISSION),
    NAME(NOENTRY), NAME(INTERRUPT), NAME(AGAIN), NAME(NOMEM), NAME(ACCESS),
    NAME(FAULT), NAME(BUSY), NAME(EXIST), NAME(NODEV), NAME(INVALID_ARG),
    NAME(PROTOCOL_ERROR), NAME(OVERFLOW), NAME(MSGSIZE), NAME(PROTONOSUPPORT),
    NAME(OPNOTSUPPORTED), NAME(ADDRINUSE), NAME(ADDRNOTAVAIL),
    NAME(HOSTUNREACH), NAME(TIMEOUT), NAME(CANCELED), NAME(IO_ERROR),
    NAME(HOSTFIREWALL)};

_Static_assert(sizeof names / sizeof names[0] == NA_RETURN_MAX,
    "every shared code has a name");

const char *
base_error_name(int code)
{
    if (code < 0 || code >= NA_RETURN_MAX)
        return NULL;
    return names[code];
}

int
base_error_from_errno(int err)
{
    switch (err) {
    case 0:
        return NA_SUCCESS;
    case EPERM:
        return NA_PERMISSION;
    case ENOENT:
        return NA_NOENTRY;
    case EINTR:
        return NA_INTERRUPT;
    case EAGAIN:
        return NA_AGAIN;
    case ENOMEM:
    case EMFILE:
    case ENFILE:
        return NA_NOMEM;
    case EACCES:
        return NA_ACCESS;
    case EFAULT:
        return NA_FAULT;
    case EBUSY:
        return NA_BUSY;
    case EEXIST:
        return NA_EXIST;
    case ENODEV:
        return NA_NODEV;
    case EINVAL:
        return NA_INVALID_ARG;
    case EOVERFLOW:
        return NA_OVERFLOW;
    default:
        return NA_IO_ERROR;
    }
}
