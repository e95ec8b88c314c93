/* SPDX-License-Identifier: BSD-3-Clause */
/* `talaria copy ls`: fetches a listing page by page, and prints it in the order
 * of the names. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "copy.h"
#include "copy_client.h"
#include "copy_page.h"
#include "copy_path.h"
#include "copy_report.h"
#include "copy_signal.h"
#include "copy_text.h"

struct line {
    copy_meta_t meta;
    char *name;
};

struct listing {
    struct line *lines;
    size_t count;
    size_t room;
};

static int
add_line(struct listing *listing, const copy_meta_t *meta, const char *name)
{
    struct line *line;

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
compare(const void *a, const void *b)
{
    const struct line *left = a;
    const struct line *right = b;

    return strcmp(left->name, right->name);
}

static void
print_line(const struct line *line)
{
    static const char types[COPY_TYPE_COUNT] = {
        [COPY_FILE] = '-',
        [COPY_DIRECTORY] = 'd',
        [COPY_LINK] = 'l',
        [COPY_SPECIAL_FILE] = '?',
    };
    char when[32] = "?";
    time_t seconds = (time_t) line->meta.mtime;
    struct tm tm;

    if (gmtime_r(&seconds, &tm) != NULL)
        strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
    printf(
        "%c %12" PRIu64 " %s ", types[line->meta.type], line->meta.size, when);
    copy_text_name(stdout, line->name);
    putchar('\n');
}

static int
read_page(struct copy_client *client, struct listing *listing,
    const copy_list_out_t *out, void *memory)
{
    struct copy_page page;
    copy_entry_t entry;
    int more = -1;
    int error = 0;

    if (out->bytes > client->chunk_size)
        return EPROTO;
    if (copy_page_read(client->hg_class, memory, out->bytes, out->count,
            &page) != HG_SUCCESS)
        return ENOMEM;
    while (error == 0 && (more = copy_page_next(&page, &entry)) > 0)
        error = add_line(listing, &entry.meta, entry.name.bytes);
    copy_page_end(&page);
    return error != 0 ? error : more < 0 ? EPROTO : 0;
}

/* Returns NULL, or why the directory can't be listed. */
static const char *
list_directory(
    struct copy_client *client, struct listing *listing, const char *path)
{
    union copy_in in = {.list = {.id = 0}};
    union copy_out out;

    copy_proto_path(&in.list.path, path);
    do {
        void *memory;
        enum copy_status status =
            copy_client_call(client, COPY_LIST, &in, &out, &memory);
        int error;

        if (status != COPY_OK)
            return copy_status_text(status);
        error = read_page(client, listing, &out.list, memory);
        if (error != 0)
            return copy_status_error_text(error);
        in.list.id = out.list.id;
        in.list.path.length = 0;
    } while (in.list.id != 0);
    return NULL;
}

/* Returns NULL, or why there is nothing to print. */
static const char *
list(struct copy_client *client, struct listing *listing, const char *path)
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
    if (out.stat.meta.type == COPY_DIRECTORY)
        return list_directory(client, listing, path);
    if (out.stat.meta.type >= COPY_TYPE_COUNT)
        return copy_status_error_text(EPROTO);
    if (add_line(listing, &out.stat.meta, path) != 0)
        return copy_status_error_text(ENOMEM);
    return NULL;
}

int
copy_ls(const struct copy_options *options)
{
    char *path = strdup(options->path_count > 0 ? options->paths[0] : "");
    struct listing listing = {0};
    struct copy_client *client;
    int status = TOOL_FAILED;

    if (path == NULL) {
        copy_report_error("", copy_status_error_text(ENOMEM));
        return status;
    }
    copy_path_clean(path);
    copy_signal_catch();
    client = copy_client_open(options->address, 1, HG_BULK_WRITE_ONLY);
    if (client != NULL) {
        const char *reason = list(client, &listing, path);
        if (reason == NULL)
            status = TOOL_OK;
        else
            copy_report_error(path, reason);
    }
    copy_client_close(client);
    if (listing.count > 1)
        qsort(listing.lines, listing.count, sizeof(*listing.lines), compare);
    for (size_t i = 0; i < listing.count; i++) {
        if (status == TOOL_OK)
            print_line(&listing.lines[i]);
        free(listing.lines[i].name);
    }
    free(listing.lines);
    free(path);
    return status;
}
