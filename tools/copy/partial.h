/* SPDX-License-Identifier: BSD-3-Clause */
/* Partial files: what --resume keeps of an interrupted copy. A partial file is
 * beside its final name, under a hidden name derived from it
 * (".talaria-resume-*.part"), belongs to the user who runs the process, has the
 * mode 0600 and one name, and is locked while it is in use. Nothing in it is
 * trusted: the chunks are compared before they are kept (COPY_VERIFY). */
#ifndef COPY_PARTIAL_H
#define COPY_PARTIAL_H

#include "copy/temp.h"

/* Opens the partial file for `name` in the directory `dir`, or creates it, and
 * takes over that descriptor, unless it fails. If it cannot be used, because
 * another process does, or another user has made it, the file is a new one as
 * copy_temp_create makes it, and will not be kept. *have_p: its size in bytes.
 * Returns 0 or an errno value. */
int copy_partial_create(
    int dir, const char *name, struct copy_temp *temp_p, uint64_t *have_p);

/* Removes the partial file for `name`, if there is one that is not in use. */
void copy_partial_remove(int dir, const char *name);

/* Whether the last component of a path is the name of a partial file. */
bool copy_partial_is_name(const char *path);

/* Makes zeros of the `size` bytes at `offset`. Returns 0 or an errno value. */
int copy_partial_clear(int fd, size_t size, uint64_t offset);

#endif /* COPY_PARTIAL_H */
