/* SPDX-License-Identifier: BSD-3-Clause */
/* `talaria copy serve`: starts a server, prints its address, runs it until a
 * signal is received, and stops it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/listen.h"
#include "copy/chunk.h"
#include "copy/copy.h"
#include "copy/report.h"
#include "copy/signal.h"
#include "ping/ping.h"

#define OPEN_DESCRIPTORS 2  /* of an upload: the file and its directory */
#define PROGRESS_MS 250     /* between checks for signals and idle clients */
#define STOP_SECONDS 5.0    /* for running operations to end */
#define HANDLERS_AT_ONCE 32 /* between two polls of the transport */
#define ADDRESS_SIZE 1024   /* bytes, terminated */

/* The address file. It is removed only if no other file has replaced it. */
struct address_file {
    const char *path; /* NULL: not written */
    dev_t device;
    ino_t inode;
};

static void
run_due(struct copy_server *server)
{
    unsigned int count;

    do {
        count = 0;
        HG_Trigger(server->context, 0, HANDLERS_AT_ONCE, &count);
    } while (count > 0);
}

static int
progress(struct copy_server *server)
{
    hg_return_t ret;

    run_due(server);
    ret = HG_Progress(server->context, PROGRESS_MS);
    if (ret != HG_SUCCESS && ret != HG_TIMEOUT && ret != HG_INTERRUPT) {
        copy_report_error("the transport failed", HG_Error_to_string(ret));
        return -1;
    }
    run_due(server);
    return 0;
}

/* Ends all sessions and waits for running operations, which use memory. */
static void
drain(struct copy_server *server)
{
    double deadline = clock_seconds() + STOP_SECONDS;

    server->stopping = true;
    while (server->sessions != NULL)
        copy_session_drop(server->sessions, NULL);
    while (server->pending > 0 && clock_seconds() < deadline)
        if (progress(server) < 0)
            break;
}

static int
run(struct copy_server *server)
{
    int status = TOOL_OK;

    while (!copy_signal_received() && status == TOOL_OK) {
        if (progress(server) < 0)
            status = TOOL_FAILED;
        copy_session_tick(server);
    }
    drain(server);
    return status;
}

/* Writes a temporary file and renames it, so that readers never see a part. */
static int
write_address_file(
    struct address_file *file, const char *path, const char *address)
{
    char *temp;
    struct stat st;
    FILE *stream;
    int fd;
    int error = 0;

    if (asprintf(&temp, "%s.XXXXXX", path) < 0)
        return ENOMEM;
    fd = mkostemp(temp, O_CLOEXEC);
    stream = fd < 0 ? NULL : fdopen(fd, "w");
    if (stream == NULL) {
        error = errno;
        if (fd >= 0)
            close(fd);
    } else {
        if (fchmod(fd, 0644) < 0 || fstat(fd, &st) < 0 ||
            fprintf(stream, "%s\n", address) < 0)
            error = errno;
        if (fclose(stream) != 0 && error == 0)
            error = errno;
    }
    if (error == 0 && rename(temp, path) < 0)
        error = errno;
    if (error == 0)
        *file = (struct address_file){path, st.st_dev, st.st_ino};
    else if (fd >= 0)
        unlink(temp);
    free(temp);
    return error;
}

static void
remove_address_file(const struct address_file *file)
{
    struct stat st;

    if (file->path != NULL && stat(file->path, &st) == 0 &&
        st.st_dev == file->device && st.st_ino == file->inode)
        unlink(file->path);
}

/* Prints the address. Returns 0, or -1 after an error message. */
static int
announce(struct copy_server *server, struct address_file *file,
    const char *address_file)
{
    char address[ADDRESS_SIZE];
    int error = 0;

    if (listen_address(server->hg_class, address, sizeof(address)) !=
        HG_SUCCESS) {
        copy_report_error("the transport", "has no address");
        return -1;
    }
    if (address_file != NULL) {
        error = write_address_file(file, address_file, address);
        if (error != 0)
            copy_report_error(address_file, copy_status_error_text(error));
    }
    if (error == 0 && (printf("%s\n", address) < 0 || fflush(stdout) != 0)) {
        error = errno;
        copy_report_error("standard output", copy_status_error_text(error));
    }
    return error == 0 ? 0 : -1;
}

static int
check_address(struct copy_server *server, const struct listen *listen)
{
    char address[ADDRESS_SIZE];
    bool known = listen_address(server->hg_class, address, sizeof(address)) ==
                 HG_SUCCESS;
    const char *reason = listen_check(listen, known ? address : NULL);

    if (reason != NULL)
        copy_report_error(known ? address : listen->info, reason);
    return reason == NULL ? 0 : -1;
}

static int
open_class(struct copy_server *server, const char *info)
{
    struct listen listen;
    const char *reason =
        listen_decide(info, server->token != NULL, true, &listen);
    int result = 0;

    if (reason != NULL) {
        copy_report_error(info, reason);
        return -1;
    }
    server->hg_class = copy_proto_init(listen.info, true);
    if (server->hg_class == NULL) {
        copy_report_error(listen.info, "cannot open the transport");
        result = -1;
    } else {
        result = check_address(server, &listen);
    }
    free(listen.info);
    return result;
}

static int
start(struct copy_server *server, const char *info)
{
    if (open_class(server, info) < 0)
        return -1;
    copy_signal_catch();
    HG_Class_set_data(server->hg_class, server, NULL);
    /* The context receives requests as soon as it exists. */
    if (copy_proto_register(
            server->hg_class, copy_server_handle, server->ids) == HG_SUCCESS &&
        ping_register(server->hg_class) == 0)
        server->context = HG_Context_create(server->hg_class);
    if (server->context == NULL) {
        copy_report_error(info, "cannot start the transport");
        return -1;
    }
    return 0;
}

/* Returns 0, or -1: something is still in use and was not freed. */
static int
stop(struct copy_server *server)
{
    hg_return_t ret = HG_SUCCESS;

    copy_chunk_free_buffers(server);
    if (server->context != NULL)
        ret = HG_Context_destroy(server->context);
    if (ret == HG_SUCCESS && server->hg_class != NULL)
        ret = HG_Finalize(server->hg_class);
    if (ret == HG_SUCCESS)
        return 0;
    copy_report_error("cannot close the transport", HG_Error_to_string(ret));
    return -1;
}

/* Limits the files of all clients to half of the descriptors; the transport
 * needs the others for connections. */
static void
allow_descriptors(struct copy_server *server)
{
    struct rlimit limit = {.rlim_cur = 1024, .rlim_max = 1024};

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    server->open_max =
        limit.rlim_cur / 2 / OPEN_DESCRIPTORS < UINT_MAX
            ? (unsigned int) (limit.rlim_cur / 2 / OPEN_DESCRIPTORS)
            : UINT_MAX;
}

/* Opens the files of the command line. Returns 0, or -1 after an error. */
static int
open_files(struct copy_server *server, const struct copy_options *options)
{
    const char *reason = NULL;

    if (options->token_file != NULL)
        reason = token_read(options->token_file, &server->token);
    if (reason != NULL) {
        copy_report_error(options->token_file, reason);
        return -1;
    }
    server->root = open(options->target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (server->root >= 0)
        return 0;
    copy_report_error(options->target, copy_status_error_text(errno));
    token_free(server->token);
    return -1;
}

int
copy_serve(const struct copy_options *options)
{
    struct copy_server server = {.idle = options->idle};
    struct address_file file = {0};
    int status = TOOL_FAILED;

    server.waiting_end = &server.waiting;
    if (open_files(&server, options) < 0)
        return TOOL_FAILED;
    allow_descriptors(&server);
    copy_signal_catch();
    if (start(&server, options->info) == 0 &&
        announce(&server, &file, options->address_file) == 0)
        status = run(&server);
    remove_address_file(&file);
    token_refusals_log(&server.refusals, "talaria copy", true);
    if (stop(&server) < 0)
        status = TOOL_FAILED;
    close(server.root);
    token_free(server.token);
    return status;
}
