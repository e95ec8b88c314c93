/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers at the server: a chunk waits for one of a bounded number of
 * buffers, is pulled or pushed, and its request is answered. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/clock.h"
#include "copy/chunk.h"
#include "copy/hash.h"
#include "copy/io.h"
#include "copy/page.h"
#include "copy/partial.h"
#include "copy/path.h"
#include "copy/store.h"

#define BUFFERS_MAX 64         /* of COPY_CHUNK_SIZE bytes, for all clients */
#define SESSION_MOVING_MAX 16  /* transfers at a time of one client */
#define SESSION_CHUNKS_MAX 128 /* requests of one client */

struct copy_buffer {
    struct copy_buffer *next;
    hg_bulk_t bulk;
    char *memory;
};

struct copy_chunk {
    struct copy_chunk *next; /* in server->waiting or session->chunks */
    struct copy_session *session;
    struct copy_open *open; /* NULL: of a store */
    hg_handle_t handle;
    enum copy_rpc rpc;
    hg_bulk_t remote; /* the client's memory */
    uint64_t offset;  /* in the file */
    uint32_t size;    /* bytes to transfer */
    copy_sum_t sum;   /* verify: of the client's chunk */
    uint32_t count;   /* store: files */
    bool replace;     /* store */
    struct copy_buffer *buffer;
    hg_op_id_t transfer;
    union copy_out out;
};

/* Returns a buffer, or NULL: *status_p is COPY_PENDING if one will be free. */
static struct copy_buffer *
take_buffer(struct copy_server *server, enum copy_status *status_p)
{
    struct copy_buffer *buffer = server->buffers;
    hg_size_t size = COPY_CHUNK_SIZE;
    void *memory;

    if (buffer != NULL) {
        server->buffers = buffer->next;
        return buffer;
    }
    *status_p = COPY_PENDING;
    if (server->buffer_count >= BUFFERS_MAX)
        return NULL;
    *status_p = COPY_NO_MEMORY;
    buffer = calloc(1, sizeof(*buffer));
    if (buffer == NULL)
        return NULL;
    if (HG_Bulk_create(server->hg_class, 1, NULL, &size, HG_BULK_READWRITE,
            &buffer->bulk) != HG_SUCCESS) {
        free(buffer);
        return NULL;
    }
    if (HG_Bulk_access(buffer->bulk, 0, size, HG_BULK_READWRITE, 1, &memory,
            NULL, NULL) != HG_SUCCESS) {
        HG_Bulk_free(buffer->bulk);
        free(buffer);
        return NULL;
    }
    buffer->memory = memory;
    server->buffer_count++;
    return buffer;
}

void
copy_chunk_free_buffers(struct copy_server *server)
{
    while (server->buffers != NULL) {
        struct copy_buffer *buffer = server->buffers;
        server->buffers = buffer->next;
        server->buffer_count--;
        HG_Bulk_free(buffer->bulk);
        free(buffer);
    }
}

static void start_waiting(struct copy_server *server);

/* Answers the request and releases all that the chunk holds. */
static void
finish(struct copy_chunk *chunk, enum copy_status status)
{
    struct copy_session *session = chunk->session;
    struct copy_server *server = session->server;

    if (chunk->buffer != NULL) {
        chunk->buffer->next = server->buffers;
        server->buffers = chunk->buffer;
    }
    chunk->out.status = status;
    session->chunk_count--;
    if (chunk->open != NULL)
        copy_open_unref(chunk->open);
    HG_Bulk_free(chunk->remote);
    copy_server_respond(server, session, chunk->handle, &chunk->out);
    copy_session_unref(session);
    free(chunk);
}

/* Writes a page of entries; the one that doesn't fit is read again for the next
 * page. */
static enum copy_status
fill_page(struct copy_chunk *chunk)
{
    struct copy_server *server = chunk->session->server;
    struct copy_open *open = chunk->open;
    copy_list_out_t *out = &chunk->out.list;
    struct copy_page page;
    copy_entry_t entry;
    struct stat st;
    bool full = false;
    int error = 0;

    if (copy_page_write(server->hg_class, chunk->buffer->memory, COPY_PAGE_SIZE,
            &page) != HG_SUCCESS)
        return COPY_NO_MEMORY;
    while (!full) {
        long before = telldir(open->dir);
        struct dirent *found;

        errno = 0;
        found = readdir(open->dir);
        error = errno;
        if (found == NULL)
            break;
        /* An entry that was removed meanwhile is not listed. */
        if (copy_name_check(found->d_name, strlen(found->d_name)) != 0 ||
            fstatat(dirfd(open->dir), found->d_name, &st, AT_SYMLINK_NOFOLLOW) <
                0)
            continue;
        copy_proto_path(&entry.name, found->d_name);
        entry.meta = copy_page_meta(&st);
        full = !copy_page_append(&page, &entry);
        if (full)
            seekdir(open->dir, before);
    }
    out->id = full ? open->id : 0;
    out->count = page.count;
    out->bytes = copy_page_end(&page);
    chunk->size = out->bytes;
    if (!full)
        copy_open_close(open);
    return copy_status_of(error);
}

static bool
is_pulled(const struct copy_chunk *chunk)
{
    return chunk->rpc == COPY_WRITE || chunk->rpc == COPY_STORE;
}

/* Compares a chunk of an upload or download with the client's. */
static enum copy_status
verify(struct copy_chunk *chunk)
{
    struct copy_open *open = chunk->open;
    copy_sum_t sum = {0, 0};
    int error =
        copy_io_read(open->kind == COPY_UPLOAD ? open->temp.fd : open->fd,
            chunk->buffer->memory, chunk->size, chunk->offset);

    if (error != 0)
        return copy_status_of(error);
    copy_hash_add(&sum, chunk->offset, chunk->buffer->memory, chunk->size);
    if (!copy_hash_equal(&sum, &chunk->sum))
        return COPY_CHECKSUM;
    copy_hash_join(&open->sum, &sum);
    open->received += chunk->size;
    return COPY_OK;
}

/* Fills the buffer that will be pushed. */
static enum copy_status
prepare(struct copy_chunk *chunk)
{
    struct copy_open *open = chunk->open;
    int error;

    if (open == NULL) /* a store */
        return COPY_OK;
    if (open->closed) /* while the chunk waited */
        return COPY_NO_ID;
    if (chunk->rpc == COPY_WRITE)
        return COPY_OK;
    if (chunk->rpc == COPY_LIST)
        return fill_page(chunk);
    if (chunk->rpc == COPY_VERIFY)
        return verify(chunk);
    error = copy_io_read(
        open->fd, chunk->buffer->memory, chunk->size, chunk->offset);
    if (error == 0)
        copy_hash_add(
            &open->sum, chunk->offset, chunk->buffer->memory, chunk->size);
    return copy_status_of(error);
}

/* Writes a chunk of an upload. Zeros are left out, so what a partial file has in
 * their place is removed first. */
static int
write_chunk(struct copy_chunk *chunk)
{
    int fd = chunk->open->temp.fd;
    int error = 0;

    if (chunk->offset < chunk->open->have)
        error = copy_partial_clear(fd, chunk->size, chunk->offset);
    return error != 0 ? error
                      : copy_io_write(fd, chunk->buffer->memory, chunk->size,
                            chunk->offset);
}

/* Writes the buffer that was pulled. */
static enum copy_status
complete(struct copy_chunk *chunk)
{
    struct copy_open *open = chunk->open;
    int error;

    if (chunk->rpc == COPY_STORE)
        return copy_store_files(chunk->session->server, chunk->buffer->memory,
            chunk->size, chunk->count, chunk->replace,
            &chunk->out.store.results);
    if (chunk->rpc != COPY_WRITE)
        return COPY_OK;
    if (open->closed)
        return COPY_NO_ID;
    copy_hash_add(
        &open->sum, chunk->offset, chunk->buffer->memory, chunk->size);
    error = write_chunk(chunk);
    if (error == 0)
        open->received += chunk->size;
    else if (open->failure == COPY_OK)
        open->failure = copy_status_of(error);
    return copy_status_of(error);
}

/* The answer to a client whose session was dropped. */
static enum copy_status
dropped_status(const struct copy_server *server)
{
    return server->stopping ? COPY_STOPPING : COPY_NO_SESSION;
}

static void
link_moving(struct copy_chunk *chunk)
{
    chunk->next = chunk->session->chunks;
    chunk->session->chunks = chunk;
    chunk->session->moving++;
    chunk->session->server->pending++;
}

static void
unlink_moving(struct copy_chunk *chunk)
{
    struct copy_chunk **at = &chunk->session->chunks;

    while (*at != chunk)
        at = &(*at)->next;
    *at = chunk->next;
    chunk->session->moving--;
    chunk->session->server->pending--;
}

static hg_return_t
on_transfer(const struct hg_cb_info *info)
{
    struct copy_chunk *chunk = info->arg;
    struct copy_session *session = chunk->session;
    struct copy_server *server = session->server;

    unlink_moving(chunk);
    if (info->ret != HG_SUCCESS) {
        copy_session_drop(session, HG_Error_to_string(info->ret));
        finish(chunk, dropped_status(server));
    } else {
        session->last_alive = clock_seconds();
        finish(chunk, complete(chunk));
    }
    start_waiting(server);
    return HG_SUCCESS;
}

/* Transfers a chunk that has a buffer. */
static void
start_transfer(struct copy_chunk *chunk)
{
    struct copy_session *session = chunk->session;
    struct copy_server *server = session->server;
    enum copy_status status = prepare(chunk);
    hg_return_t ret;

    if (status != COPY_OK || chunk->size == 0 || chunk->rpc == COPY_HASH ||
        chunk->rpc == COPY_VERIFY) {
        finish(chunk, status);
        return;
    }
    link_moving(chunk);
    ret = HG_Bulk_transfer(server->context, on_transfer, chunk,
        is_pulled(chunk) ? HG_BULK_PULL : HG_BULK_PUSH, session->addr,
        chunk->remote, 0, chunk->buffer->bulk, 0, chunk->size,
        &chunk->transfer);
    if (ret == HG_SUCCESS)
        return;
    unlink_moving(chunk);
    copy_session_drop(session, HG_Error_to_string(ret));
    finish(chunk, dropped_status(server));
}

/* Removes the first waiting chunk: of a session, or, if that is NULL, of any
 * session below its transfer limit. */
static struct copy_chunk *
pop_waiting(struct copy_server *server, const struct copy_session *session)
{
    for (struct copy_chunk **at = &server->waiting; *at != NULL;
         at = &(*at)->next) {
        struct copy_chunk *chunk = *at;
        if (session != NULL ? chunk->session != session
                            : chunk->session->moving >= SESSION_MOVING_MAX)
            continue;
        *at = chunk->next;
        if (chunk->next == NULL)
            server->waiting_end = at;
        return chunk;
    }
    return NULL;
}

static void
start_waiting(struct copy_server *server)
{
    while (server->buffers != NULL) {
        struct copy_chunk *chunk = pop_waiting(server, NULL);
        enum copy_status status;

        if (chunk == NULL)
            return;
        chunk->buffer = take_buffer(server, &status);
        start_transfer(chunk);
    }
}

/* Starts or queues a chunk. Takes the handle over if it returns
 * COPY_PENDING. */
static enum copy_status
start(struct copy_session *session, struct copy_open *open, hg_handle_t handle,
    const struct copy_chunk *request)
{
    struct copy_server *server = session->server;
    enum copy_status status = COPY_PENDING;
    struct copy_buffer *buffer = NULL;
    struct copy_chunk *chunk;

    if (session->chunk_count >= SESSION_CHUNKS_MAX)
        return COPY_LIMIT;
    chunk = malloc(sizeof(*chunk));
    if (chunk == NULL)
        return COPY_NO_MEMORY;
    if (session->moving < SESSION_MOVING_MAX)
        buffer = take_buffer(server, &status);
    if (buffer == NULL && status != COPY_PENDING) {
        free(chunk);
        return status;
    }
    *chunk = *request;
    chunk->session = session;
    chunk->open = open;
    chunk->handle = handle;
    chunk->buffer = buffer;
    if (chunk->remote != HG_BULK_NULL)
        HG_Bulk_ref_incr(chunk->remote);
    session->refs++;
    session->chunk_count++;
    if (open != NULL)
        open->refs++;
    if (buffer != NULL) {
        start_transfer(chunk);
    } else {
        *server->waiting_end = chunk;
        server->waiting_end = &chunk->next;
    }
    return COPY_PENDING;
}

/* Whether these bytes are a chunk of a file of `file` bytes. */
static bool
is_chunk(uint64_t file, uint64_t offset, uint32_t size)
{
    if (offset % COPY_CHUNK_SIZE != 0 || offset >= file)
        return false;
    file -= offset;
    return size == (file < COPY_CHUNK_SIZE ? file : COPY_CHUNK_SIZE);
}

enum copy_status
copy_chunk_start(struct copy_session *session, hg_handle_t handle,
    enum copy_rpc rpc, const copy_chunk_in_t *in)
{
    struct copy_open *open = copy_open_find(
        session, in->id, rpc == COPY_WRITE ? COPY_UPLOAD : COPY_DOWNLOAD);
    struct copy_chunk request = {
        .rpc = rpc, .remote = in->bulk, .offset = in->offset, .size = in->size};

    if (open == NULL)
        return COPY_NO_ID;
    if (open->failure != COPY_OK)
        return open->failure;
    if (!is_chunk(open->size, in->offset, in->size) ||
        (rpc != COPY_HASH && (in->bulk == HG_BULK_NULL ||
                                 HG_Bulk_get_size(in->bulk) < in->size)))
        return COPY_INVALID;
    return start(session, open, handle, &request);
}

enum copy_status
copy_chunk_verify(struct copy_session *session, hg_handle_t handle,
    const copy_verify_in_t *in)
{
    struct copy_open *open = copy_open_find(session, in->id, COPY_DOWNLOAD);
    struct copy_chunk request = {.rpc = COPY_VERIFY,
        .offset = in->offset,
        .size = in->size,
        .sum = in->sum};

    if (open == NULL)
        open = copy_open_find(session, in->id, COPY_UPLOAD);
    if (open == NULL)
        return COPY_NO_ID;
    if (open->failure != COPY_OK)
        return open->failure;
    if (!is_chunk(open->size, in->offset, in->size) ||
        (open->kind == COPY_UPLOAD && in->offset + in->size > open->have))
        return COPY_INVALID;
    return start(session, open, handle, &request);
}

enum copy_status
copy_chunk_store(
    struct copy_session *session, hg_handle_t handle, const copy_store_in_t *in)
{
    struct copy_chunk request = {.rpc = COPY_STORE,
        .remote = in->bulk,
        .size = in->size,
        .count = in->count,
        .replace = in->replace != 0};

    if (in->count == 0 || in->count > COPY_STORE_MAX || in->size == 0 ||
        in->size > COPY_CHUNK_SIZE || in->bulk == HG_BULK_NULL ||
        HG_Bulk_get_size(in->bulk) < in->size)
        return COPY_INVALID;
    return start(session, NULL, handle, &request);
}

/* Opens the directory for its first page. */
static enum copy_status
open_listing(struct copy_session *session, const copy_path_t *path,
    struct copy_open **open_p)
{
    struct copy_open *open = NULL;
    enum copy_status status;
    int fd = -1;
    int error = copy_path_check(path->bytes, path->length);

    if (error == 0)
        error = copy_path_directory(session->server->root, path->bytes, &fd);
    if (error != 0)
        return copy_status_of(error);
    status = copy_open_create(session, COPY_LISTING, &open);
    if (status != COPY_OK) {
        close(fd);
        return status;
    }
    open->dir = fdopendir(fd);
    if (open->dir == NULL) {
        status = copy_status_of(errno);
        close(fd);
        copy_open_close(open);
        return status;
    }
    *open_p = open;
    return COPY_OK;
}

enum copy_status
copy_chunk_list(
    struct copy_session *session, hg_handle_t handle, const copy_list_in_t *in)
{
    struct copy_chunk request = {.rpc = COPY_LIST, .remote = in->bulk};
    struct copy_open *open = NULL;
    enum copy_status status;

    if (in->bulk == HG_BULK_NULL || HG_Bulk_get_size(in->bulk) < COPY_PAGE_SIZE)
        return COPY_INVALID;
    if (in->id == 0) {
        status = open_listing(session, &in->path, &open);
        if (open == NULL)
            return status;
    } else {
        open = copy_open_find(session, in->id, COPY_LISTING);
        if (open == NULL)
            return COPY_NO_ID;
        /* Pages share one directory stream, so one at a time. */
        if (open->refs > 0)
            return COPY_BUSY;
    }
    status = start(session, open, handle, &request);
    if (status != COPY_PENDING && in->id == 0)
        copy_open_close(open);
    return status;
}

void
copy_chunk_cancel(struct copy_session *session)
{
    struct copy_server *server = session->server;
    struct copy_chunk *chunk;

    for (chunk = session->chunks; chunk != NULL; chunk = chunk->next)
        HG_Bulk_cancel(chunk->transfer);
    while ((chunk = pop_waiting(server, session)) != NULL)
        finish(chunk, dropped_status(server));
}
