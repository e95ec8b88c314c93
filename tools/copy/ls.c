/* SPDX-License-Identifier: BSD-3-Clause */
/* `talaria copy ls`, which prints entries in the order of their names, and
 * `talaria copy stat`. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/output.h"
#include "copy/copy.h"
#include "copy/listing.h"
#include "copy/path.h"
#include "copy/report.h"
#include "copy/signal.h"
#include "copy/text.h"

/* What a subcommand fetches and prints about a path. */
struct query {
    struct copy_listing listing; /* ls */
    copy_meta_t meta;            /* stat */
    char target[COPY_PATH_SIZE]; /* stat: of a link, otherwise "" */
};

static int
compare(const void *a, const void *b)
{
    const struct copy_line *left = a;
    const struct copy_line *right = b;

    return strcmp(left->name, right->name);
}

static void
print_line(const struct copy_line *line)
{
    static const char types[COPY_TYPE_COUNT] = {
        [COPY_FILE] = '-',
        [COPY_DIRECTORY] = 'd',
        [COPY_LINK] = 'l',
        [COPY_SPECIAL_FILE] = '?',
    };
    char when[32];

    copy_listing_time(when, sizeof(when), &line->meta.mtime);
    printf(
        "%c %12" PRIu64 " %s ", types[line->meta.type], line->meta.size, when);
    copy_text_name(stdout, line->name);
    putchar('\n');
}

static int
print_list(const char *path, const struct query *query, bool json)
{
    const struct copy_listing *listing = &query->listing;
    json_t *array = json ? json_array() : NULL;

    (void) path;
    if (listing->count > 1)
        qsort(listing->lines, listing->count, sizeof(*listing->lines), compare);
    for (size_t i = 0; i < listing->count; i++) {
        const struct copy_line *line = &listing->lines[i];
        if (json)
            output_json_append(
                &array, copy_listing_json(line->name, &line->meta));
        else
            print_line(line);
    }
    return json ? output_json(array) : TOOL_OK;
}

/* Returns NULL, or an error message. */
static const char *
fetch_list(struct copy_client *client, const char *path, struct query *query)
{
    struct copy_listing *listing = &query->listing;
    copy_meta_t meta;
    const char *reason = copy_listing_stat(client, path, &meta);

    if (reason != NULL)
        return reason;
    if (meta.type == COPY_DIRECTORY)
        return copy_listing_fetch(client, path, listing);
    if (copy_listing_add(listing, &meta, path) != 0)
        return copy_status_error_text(ENOMEM);
    return NULL;
}

/* Returns NULL, or an error message. */
static const char *
fetch_stat(struct copy_client *client, const char *path, struct query *query)
{
    union copy_in in;
    union copy_out out;
    enum copy_status status;
    const char *reason = copy_listing_stat(client, path, &query->meta);

    if (reason != NULL || query->meta.type != COPY_LINK)
        return reason;
    copy_proto_path(&in.path.path, path);
    status = copy_client_call(client, COPY_LINK_READ, &in, &out, NULL);
    if (status != COPY_OK)
        return copy_status_text(status);
    memcpy(query->target, out.link.target.bytes, out.link.target.length + 1u);
    return NULL;
}

static int
print_stat(const char *path, const struct query *query, bool json)
{
    static const char *const types[COPY_TYPE_COUNT] = {
        [COPY_FILE] = "file",
        [COPY_DIRECTORY] = "directory",
        [COPY_LINK] = "symbolic link",
        [COPY_SPECIAL_FILE] = "special file",
    };
    const copy_meta_t *meta = &query->meta;
    json_t *value;
    char when[32];

    if (json) {
        value = copy_listing_json(path, meta);
        if (value != NULL && query->target[0] != 0 &&
            json_object_set_new(
                value, "target", output_json_text(query->target)) != 0) {
            json_decref(value);
            value = NULL;
        }
        return output_json(value);
    }
    copy_listing_time(when, sizeof(when), &meta->mtime);
    printf("name:  ");
    copy_text_name(stdout, path[0] == 0 ? "." : path);
    printf("\ntype:  %s\nsize:  %" PRIu64 "\nmode:  %04o\nmtime: %s\n",
        types[meta->type], meta->size, (unsigned int) meta->mode & 0777, when);
    if (query->target[0] != 0) {
        printf("to:    ");
        copy_text_name(stdout, query->target);
        putchar('\n');
    }
    return TOOL_OK;
}

/* Fetches what the subcommand needs of a path, disconnects and prints it. */
static int
run(const struct copy_options *options, const char *text,
    const char *(*fetch)(struct copy_client *, const char *, struct query *),
    int (*print)(const char *, const struct query *, bool))
{
    char *path = strdup(text);
    struct copy_client *client;
    struct query query = {.target = ""};
    const char *reason;
    int status = TOOL_FAILED;

    if (path == NULL) {
        copy_report_error("", copy_status_error_text(ENOMEM));
        return status;
    }
    copy_path_clean(path);
    copy_signal_catch();
    client = copy_client_open(
        options->address, options->token_file, 1, HG_BULK_WRITE_ONLY);
    if (client != NULL) {
        reason = fetch(client, path, &query);
        if (reason == NULL)
            status = TOOL_OK;
        else
            copy_report_error(path, reason);
    }
    copy_client_close(client);
    if (status == TOOL_OK)
        status = print(path, &query, options->json);
    copy_listing_free(&query.listing);
    free(path);
    return status;
}

int
copy_ls(const struct copy_options *options)
{
    return run(options, options->path_count > 0 ? options->paths[0] : "",
        fetch_list, print_list);
}

int
copy_stat(const struct copy_options *options)
{
    return run(options, options->paths[0], fetch_stat, print_stat);
}
