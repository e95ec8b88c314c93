/* SPDX-License-Identifier: BSD-3-Clause */
/* Status numbers of the copy protocol, from errno values and as messages. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "copy/status.h"

static const char *const texts[] = {
    [COPY_OK] = "done",
    [COPY_INVALID] = "the server rejected the request as invalid",
    [COPY_OTHER_VERSION] = "the server has another protocol version",
    [COPY_NO_SESSION] = "the server has closed the session",
    [COPY_NO_ID] = "the server does not know the transfer",
    [COPY_LIMIT] = "the server has reached a limit",
    [COPY_BUSY] = "the transfer is still running",
    [COPY_STOPPING] = "the server is stopping",
    [COPY_NOT_FOUND] = "no such file or directory",
    [COPY_EXISTS] = "exists already; --force replaces files",
    [COPY_DENIED] = "permission denied",
    [COPY_NOT_DIRECTORY] = "not a directory",
    [COPY_IS_DIRECTORY] = "is a directory",
    [COPY_TOO_LONG] = "name too long",
    [COPY_TOO_LARGE] = "file too large",
    [COPY_NO_SPACE] = "no space left",
    [COPY_READ_ONLY] = "read-only file system",
    [COPY_NO_MEMORY] = "out of memory",
    [COPY_NO_DESCRIPTORS] = "too many open files",
    [COPY_OUTSIDE] = "leaves the directory",
    [COPY_SYMLINK] = "a symbolic link is in the way",
    [COPY_SPECIAL] = "neither a file nor a directory",
    [COPY_CHANGED] = "changed while it was copied",
    [COPY_CHECKSUM] = "the checksums differ",
    [COPY_NOT_EMPTY] = "directory not empty",
    [COPY_IO] = "input/output error",
    [COPY_OTHER] = "failed at the server",
    [COPY_LOST] = "the server is lost",
};

static const struct {
    int error;
    enum copy_status status;
} errors[] = {
    {0, COPY_OK},
    {EINVAL, COPY_INVALID},
    {EBUSY, COPY_BUSY},
    {ENOENT, COPY_NOT_FOUND},
    {EEXIST, COPY_EXISTS},
    {EACCES, COPY_DENIED},
    {EPERM, COPY_DENIED},
    {ENOTDIR, COPY_NOT_DIRECTORY},
    {EISDIR, COPY_IS_DIRECTORY},
    {ENAMETOOLONG, COPY_TOO_LONG},
    {EFBIG, COPY_TOO_LARGE},
    {EOVERFLOW, COPY_TOO_LARGE},
    {ENOSPC, COPY_NO_SPACE},
    {EDQUOT, COPY_NO_SPACE},
    {EROFS, COPY_READ_ONLY},
    {ENOMEM, COPY_NO_MEMORY},
    {EMFILE, COPY_NO_DESCRIPTORS},
    {ENFILE, COPY_NO_DESCRIPTORS},
    {EXDEV, COPY_OUTSIDE},
    {ELOOP, COPY_SYMLINK},
    {ENXIO, COPY_SPECIAL},
    {ESTALE, COPY_CHANGED},
    {EBADMSG, COPY_CHECKSUM},
    {ENOTEMPTY, COPY_NOT_EMPTY},
    {EIO, COPY_IO},
};

enum copy_status
copy_status_of(int error)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
        if (errors[i].error == error)
            return errors[i].status;
    return COPY_OTHER;
}

const char *
copy_status_text(unsigned int status)
{
    if (status >= sizeof(texts) / sizeof(texts[0]))
        return "the server returned an unknown status";
    return texts[status];
}

const char *
copy_status_error_text(int error)
{
    enum copy_status status = copy_status_of(error);

    /* These messages are about the server. */
    if (status < COPY_NOT_FOUND || status == COPY_OTHER)
        return strerror(error);
    return texts[status];
}
