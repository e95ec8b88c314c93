/* SPDX-License-Identifier: BSD-3-Clause */
/* A server's directory as fetched by a client, and the text and JSON form of
 * its entries. */
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

/* Fetches a directory page by page into an empty listing, which must be freed
 * in any case. Returns NULL, or an error message. Blocks. */
const char *copy_listing_fetch(
    struct copy_client *client, const char *path, struct copy_listing *listing);

void copy_listing_free(struct copy_listing *listing);

/* Fetches the metadata of a path and checks its type. Returns NULL, or an error
 * message. Blocks. */
const char *copy_listing_stat(
    struct copy_client *client, const char *path, copy_meta_t *meta_p);

/* Writes a time as ISO 8601 (UTC), or "?". */
void copy_listing_time(char *text, size_t size, const copy_time_t *time);

/* Returns an entry as JSON: name, type ("file", "directory", "link" or
 * "special"), mode (a number), size, mtime (seconds since 1970), mtime_nanos.
 * NULL: out of memory. */
json_t *copy_listing_json(const char *name, const copy_meta_t *meta);

#endif /* COPY_LISTING_H */
