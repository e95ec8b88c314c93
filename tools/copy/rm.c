/* SPDX-License-Identifier: BSD-3-Clause */
/* `talaria copy rm`: removes files, links and directories at the server, a
 * directory after its contents. Links are never followed. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/output.h"
#include "copy/copy.h"
#include "copy/listing.h"
#include "copy/path.h"
#include "copy/report.h"
#include "copy/signal.h"

/* A file, link or directory to remove. */
struct node {
    struct node *below; /* on the stack */
    struct node *dir;   /* its directory, or NULL: from the command line */
    char *path;
    bool is_directory;
    bool listed; /* its contents are on the stack above it */
    bool failed; /* it or its contents could not be removed */
};

struct rm {
    struct copy_client *client;
    struct node *top;
    uint64_t removed;
    uint64_t failed;
};

static void
fail(struct rm *rm, struct node *node, const char *reason)
{
    copy_report_error(node->path, reason);
    node->failed = true;
    rm->failed++;
}

/* Takes over the path, which may be NULL. Returns 0 or ENOMEM. */
static int
push(struct rm *rm, struct node *dir, char *path, bool is_directory)
{
    struct node *node = calloc(1, sizeof(*node));

    if (node == NULL || path == NULL) {
        free(node);
        free(path);
        return ENOMEM;
    }
    node->dir = dir;
    node->path = path;
    node->is_directory = is_directory;
    node->below = rm->top;
    rm->top = node;
    return 0;
}

static void
pop(struct rm *rm)
{
    struct node *node = rm->top;

    rm->top = node->below;
    if (node->failed && node->dir != NULL)
        node->dir->failed = true;
    free(node->path);
    free(node);
}

static void
push_entries(struct rm *rm, struct node *node)
{
    struct copy_listing listing = {0};
    const char *reason = copy_listing_fetch(rm->client, node->path, &listing);

    node->listed = true;
    if (reason != NULL)
        fail(rm, node, reason);
    for (size_t i = 0; i < listing.count && !node->failed; i++) {
        const struct copy_line *line = &listing.lines[i];
        if (push(rm, node, copy_path_join(node->path, line->name),
                line->meta.type == COPY_DIRECTORY) != 0)
            fail(rm, node, copy_status_error_text(ENOMEM));
    }
    copy_listing_free(&listing);
}

static void
remove_node(struct rm *rm, struct node *node)
{
    union copy_in in = {.remove = {.directory = node->is_directory}};
    union copy_out out;
    enum copy_status status;

    if (copy_client_path_check(rm->client, node->path) != 0) {
        fail(rm, node, copy_status_error_text(ENAMETOOLONG));
        return;
    }
    copy_proto_path(&in.remove.path, node->path);
    status = copy_client_call(rm->client, COPY_REMOVE, &in, &out, NULL);
    if (status == COPY_OK)
        rm->removed++;
    else
        fail(rm, node, copy_status_text(status));
}

static void
step(struct rm *rm)
{
    struct node *node = rm->top;

    if (rm->client->lost) {
        rm->failed++;
        pop(rm);
    } else if (node->is_directory && !node->listed) {
        push_entries(rm, node);
    } else {
        if (!node->failed)
            remove_node(rm, node);
        pop(rm);
    }
}

static void
remove_path(struct rm *rm, const char *text, bool recursive)
{
    char *path = strdup(text);
    copy_meta_t meta;
    const char *reason;

    if (path == NULL) {
        reason = copy_status_error_text(ENOMEM);
    } else {
        copy_path_clean(path);
        reason = copy_listing_stat(rm->client, path, &meta);
        if (reason == NULL && path[0] == 0)
            reason = "is the exported directory itself";
        else if (reason == NULL && meta.type == COPY_DIRECTORY && !recursive)
            reason = "is a directory; -r removes it";
    }
    if (path != NULL && reason == NULL &&
        push(rm, NULL, strdup(path), meta.type == COPY_DIRECTORY) != 0)
        reason = copy_status_error_text(ENOMEM);
    if (reason != NULL) {
        copy_report_error(text, reason);
        rm->failed++;
    }
    free(path);
    while (rm->top != NULL)
        step(rm);
}

/* Returns the exit status. */
static int
print_summary(const struct rm *rm, bool json)
{
    if (!json)
        printf("rm: %" PRIu64 " removed, %" PRIu64 " failed\n", rm->removed,
            rm->failed);
    else if (output_json(json_pack("{s:s s:I s:I}", "command", "rm", "removed",
                 (json_int_t) rm->removed, "failed",
                 (json_int_t) rm->failed)) != TOOL_OK)
        return TOOL_FAILED;
    return rm->failed > 0 ? TOOL_FAILED : TOOL_OK;
}

int
copy_rm(const struct copy_options *options)
{
    struct rm rm = {0};

    copy_signal_catch();
    rm.client = copy_client_open(
        options->address, options->token_file, 1, HG_BULK_WRITE_ONLY);
    if (rm.client == NULL)
        return TOOL_FAILED;
    for (int i = 0; i < options->path_count; i++)
        if (!rm.client->lost)
            remove_path(&rm, options->paths[i], options->recursive);
    if (rm.client->lost && rm.failed == 0)
        rm.failed = 1;
    copy_client_close(rm.client);
    return print_summary(&rm, options->json);
}
