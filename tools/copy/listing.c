/* SPDX-License-Identifier: BSD-3-Clause */
/* Fetches listings and single entries, one request at a time. */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "common/output.h"
#include "copy/listing.h"
#include "copy/page.h"

int
copy_listing_add(
    struct copy_listing *listing, const copy_meta_t *meta, const char *name)
{
    struct copy_line *line;

    if (listing->count == listing->room) {
        size_t room = listing->room == 0 ? 256 : listing->room * 2;
        line = realloc(listing->lines, room * sizeof(*line));
        if (line == NULL)
            return ENOMEM;
        listing->lines = line;
        listing->room = room;
    }
    line = &listing->lines[listing->count];
    line->meta = *meta;
    line->name = strdup(name);
    if (line->name == NULL)
        return ENOMEM;
    listing->count++;
    return 0;
}

static int
add_entry(void *listing, const copy_entry_t *entry)
{
    return copy_listing_add(listing, &entry->meta, entry->name.bytes);
}

const char *
copy_listing_fetch(
    struct copy_client *client, const char *path, struct copy_listing *listing)
{
    union copy_in in = {.list = {.id = 0}};
    union copy_out out;

    if (copy_client_path_check(client, path) != 0)
        return copy_status_error_text(ENAMETOOLONG);
    copy_proto_path(&in.list.path, path);
    do {
        void *memory;
        enum copy_status status =
            copy_client_call(client, COPY_LIST, &in, &out, &memory);
        int error;

        if (status != COPY_OK)
            return copy_status_text(status);
        error = copy_page_read(client->hg_class, memory, client->chunk_size,
            &out.list, add_entry, listing);
        if (error != 0)
            return copy_status_error_text(error);
        in.list.id = out.list.id;
        in.list.path.length = 0;
    } while (in.list.id != 0);
    return NULL;
}

void
copy_listing_free(struct copy_listing *listing)
{
    for (size_t i = 0; i < listing->count; i++)
        free(listing->lines[i].name);
    free(listing->lines);
    *listing = (struct copy_listing){0};
}

const char *
copy_listing_stat(
    struct copy_client *client, const char *path, copy_meta_t *meta_p)
{
    union copy_in in;
    union copy_out out;
    enum copy_status status;

    if (copy_client_path_check(client, path) != 0)
        return copy_status_error_text(ENAMETOOLONG);
    copy_proto_path(&in.path.path, path);
    status = copy_client_call(client, COPY_STAT, &in, &out, NULL);
    if (status != COPY_OK)
        return copy_status_text(status);
    if (out.stat.meta.type >= COPY_TYPE_COUNT)
        return copy_status_error_text(EPROTO);
    *meta_p = out.stat.meta;
    return NULL;
}

void
copy_listing_time(char *text, size_t size, const copy_time_t *time)
{
    time_t seconds = (time_t) time->seconds;
    struct tm tm;

    if (gmtime_r(&seconds, &tm) == NULL ||
        strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        snprintf(text, size, "?");
}

json_t *
copy_listing_json(const char *name, const copy_meta_t *meta)
{
    static const char *const types[COPY_TYPE_COUNT] = {
        [COPY_FILE] = "file",
        [COPY_DIRECTORY] = "directory",
        [COPY_LINK] = "link",
        [COPY_SPECIAL_FILE] = "special",
    };

    return json_pack("{s:o s:s s:i s:I s:I s:I}", "name",
        output_json_text(name), "type", types[meta->type], "mode",
        (int) (meta->mode & 0777), "size", (json_int_t) meta->size, "mtime",
        (json_int_t) meta->mtime.seconds, "mtime_nanos",
        (json_int_t) meta->mtime.nanos);
}
