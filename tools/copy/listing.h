/* SPDX-License-Identifier: BSD-3-Clause */
/* A directory of the server's as a client has fetched it, and how what is in it
 * is shown. */
#ifndef COPY_LISTING_H
#define COPY_LISTING_H

#include <jansson.h>

#include "copy/client.h"

struct copy_line {
    copy_meta_t meta;
    char *name;
};

struct copy_listing {
    struct copy_line *lines;
    size_t count;
    size_t room;
};

/* Appends a line. Returns 0 or ENOMEM. */
int copy_listing_add(
    struct copy_listing *listing, const copy_meta_t *meta, const char *name);

/* Fetches all of a directory, page by page, into an empty listing, which is to
 * be freed in any case. Returns NULL, or why that can't be done. Blocks. */
const char *copy_listing_fetch(
    struct copy_client *client, const char *path, struct copy_listing *listing);

void copy_listing_free(struct copy_listing *listing);

/* Asks what stands at a path; the type is a known one. Returns NULL, or why
 * that isn't known. Blocks. */
const char *copy_listing_stat(
    struct copy_client *client, const char *path, copy_meta_t *meta_p);

/* Writes a time as a date (UTC), or "?". */
void copy_listing_time(char *text, size_t size, const copy_time_t *time);

/* An entry as JSON: name, type ("file", "directory", "link" or "special"), mode
 * (a number), size, mtime (seconds since 1970) and mtime_nanos. NULL: no
 * memory. */
json_t *copy_listing_json(const char *name, const copy_meta_t *meta);

#endif /* COPY_LISTING_H */
