/* SPDX-License-Identifier: BSD-3-Clause */
/* `talaria copy ls` and `talaria copy stat`: what stands at the server, printed
 * in the order of the names. */
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
print(const struct copy_listing *listing, bool json)
{
    json_t *array = json ? json_array() : NULL;

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

/* Returns NULL, or why there is nothing to print. */
static const char *
list(struct copy_client *client, struct copy_listing *listing, const char *path)
{
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

int
copy_ls(const struct copy_options *options)
{
    char *path = strdup(options->path_count > 0 ? options->paths[0] : "");
    struct copy_listing listing = {0};
    struct copy_client *client;
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
        const char *reason = list(client, &listing, path);
        if (reason == NULL)
            status = TOOL_OK;
        else
            copy_report_error(path, reason);
    }
    copy_client_close(client);
    if (listing.count > 1)
        qsort(listing.lines, listing.count, sizeof(*listing.lines), compare);
    if (status == TOOL_OK)
        status = print(&listing, options->json);
    copy_listing_free(&listing);
    free(path);
    return status;
}

/* What a stat has found. */
struct found {
    copy_meta_t meta;
    char target[COPY_PATH_SIZE]; /* of a link, otherwise "" */
};

/* Returns NULL, or why there is nothing to print. */
static const char *
find(struct copy_client *client, const char *path, struct found *found)
{
    union copy_in in;
    union copy_out out;
    enum copy_status status;
    const char *reason = copy_listing_stat(client, path, &found->meta);

    found->target[0] = 0;
    if (reason != NULL || found->meta.type != COPY_LINK)
        return reason;
    copy_proto_path(&in.path.path, path);
    status = copy_client_call(client, COPY_LINK_READ, &in, &out, NULL);
    if (status != COPY_OK)
        return copy_status_text(status);
    memcpy(found->target, out.link.target.bytes, out.link.target.length + 1u);
    return NULL;
}

static int
print_found(const char *path, const struct found *found, bool json)
{
    static const char *const types[COPY_TYPE_COUNT] = {
        [COPY_FILE] = "file",
        [COPY_DIRECTORY] = "directory",
        [COPY_LINK] = "symbolic link",
        [COPY_SPECIAL_FILE] = "special file",
    };
    const copy_meta_t *meta = &found->meta;
    json_t *value;
    char when[32];

    if (json) {
        value = copy_listing_json(path, meta);
        if (value != NULL && found->target[0] != 0 &&
            json_object_set_new(
                value, "target", output_json_text(found->target)) != 0) {
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
    if (found->target[0] != 0) {
        printf("to:    ");
        copy_text_name(stdout, found->target);
        putchar('\n');
    }
    return TOOL_OK;
}

int
copy_stat(const struct copy_options *options)
{
    char *path = strdup(options->paths[0]);
    struct copy_client *client;
    struct found found;
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
        reason = find(client, path, &found);
        if (reason == NULL)
            status = print_found(path, &found, options->json);
        else
            copy_report_error(path, reason);
    }
    copy_client_close(client);
    free(path);
    return status;
}
