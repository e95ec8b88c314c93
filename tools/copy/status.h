/* SPDX-License-Identifier: BSD-3-Clause */
/* The result of a request, as a number that is the same on all machines. Inside
 * a process errors are errno values; some have a special meaning: EXDEV, the
 * path leaves the directory; ELOOP, a symbolic link in the path; ENXIO, neither
 * a file nor a directory; ESTALE, changed while it was read; EBADMSG, the
 * checksums differ. */
#ifndef COPY_STATUS_H
#define COPY_STATUS_H

/* Sent between machines: append only. */
enum copy_status {
    COPY_OK,
    COPY_INVALID,
    COPY_OTHER_VERSION,
    COPY_NO_SESSION,
    COPY_NO_ID,
    COPY_LIMIT,
    COPY_BUSY,
    COPY_STOPPING,
    COPY_NOT_FOUND,
    COPY_EXISTS,
    COPY_DENIED,
    COPY_NOT_DIRECTORY,
    COPY_IS_DIRECTORY,
    COPY_TOO_LONG,
    COPY_TOO_LARGE,
    COPY_NO_SPACE,
    COPY_READ_ONLY,
    COPY_NO_MEMORY,
    COPY_NO_DESCRIPTORS,
    COPY_OUTSIDE,
    COPY_SYMLINK,
    COPY_SPECIAL,
    COPY_CHANGED,
    COPY_CHECKSUM,
    COPY_NOT_EMPTY,
    COPY_IO,
    COPY_OTHER,
    COPY_STATUS_COUNT,
    COPY_LOST = COPY_STATUS_COUNT, /* never sent: no answer */
    COPY_PENDING                   /* never sent: answered later */
};

/* Returns the status of an errno value; 0 is COPY_OK. */
enum copy_status copy_status_of(int error);

/* Returns the message of a status, which may be any number. */
const char *copy_status_text(unsigned int status);

/* Returns the message of an errno value. */
const char *copy_status_error_text(int error);

#endif /* COPY_STATUS_H */
