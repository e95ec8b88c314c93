/* SPDX-License-Identifier: BSD-3-Clause */
/* libfabric's errors as codes of the ABI. */
#include <errno.h>

#include <rdma/fi_errno.h>

#include "error.h"
#include "na_plugin.h"

int32_t
ofi_error_code(int error)
{
    switch (error) {
    case FI_SUCCESS:
        return NA_PLUGIN_OK;
    case FI_EAGAIN:
        return NA_PLUGIN_E_AGAIN;
    case FI_EKEYREJECTED:
    case FI_EACCES:
    case FI_EPERM:
        return NA_PLUGIN_E_PERMISSION;
    case FI_ETRUNC:
    case FI_EMSGSIZE:
        return NA_PLUGIN_E_MSGSIZE;
    case FI_ENODEV:
    case FI_ENODATA:
        return NA_PLUGIN_E_NODEV;
    case FI_EADDRINUSE:
        return NA_PLUGIN_E_ADDRINUSE;
    case FI_EADDRNOTAVAIL:
        return NA_PLUGIN_E_ADDRNOTAVAIL;
    case FI_ENOMEM:
        return NA_PLUGIN_E_NOMEM;
    case FI_EOPNOTSUPP:
    case FI_ENOSYS:
        return NA_PLUGIN_E_OPNOTSUPPORTED;
    case FI_EINVAL:
        return NA_PLUGIN_E_INVALID_ARG;
#ifdef FI_EFIREWALLADDR
    case FI_EFIREWALLADDR:
        return NA_PLUGIN_E_HOSTFIREWALL;
#endif
    default:
        return ofi_error_is_loss(error) ? NA_PLUGIN_E_HOSTUNREACH
                                        : NA_PLUGIN_E_IO_ERROR;
    }
}

bool
ofi_error_is_loss(int error)
{
    switch (error) {
    case FI_ECANCELED: /* of a closed connection: the plugin cancels nothing */
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
    case EIO:
    case ENOENT: /* of sockets, when it could not connect */
        return true;
    default:
        return false;
    }
}
