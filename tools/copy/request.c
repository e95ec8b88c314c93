/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles requests at the server: finds the session, checks the proof, and
 * executes requests that transfer no data. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/clock.h"
#include "copy/chunk.h"
#include "copy/hash.h"
#include "copy/link.h"
#include "copy/page.h"
#include "copy/partial.h"
#include "copy/path.h"

struct request {
    struct copy_server *server;
    struct copy_session *session; /* NULL: hello */
    hg_handle_t handle;
    hg_addr_t addr;
    enum copy_rpc rpc;
    const union copy_in *in;
    union copy_out *out;
};

typedef enum copy_status (*run_t)(struct request *request);

static enum copy_status
check_path(const copy_path_t *path)
{
    return copy_status_of(copy_path_check(path->bytes, path->length));
}

static enum copy_status
run_hello(struct request *request)
{
    const copy_hello_in_t *in = &request->in->hello;
    copy_hello_out_t *out = &request->out->hello;
    struct copy_session *session;
    enum copy_status status;

    out->version = COPY_PROTOCOL_VERSION;
    if (in->version != COPY_PROTOCOL_VERSION)
        return COPY_OTHER_VERSION;
    if (in->beacon == HG_BULK_NULL ||
        HG_Bulk_get_size(in->beacon) < sizeof(in->beacon_value))
        return COPY_INVALID;
    status = copy_session_create(request->server, request->addr, in, &session);
    if (status != COPY_OK)
        return status;
    out->session = session->id;
    out->terms.wants_proof = !session->proven;
    out->terms.nonce = session->server_nonce;
    out->terms.chunk_size = COPY_CHUNK_SIZE;
    out->terms.open_max = COPY_OPEN_MAX;
    return COPY_OK;
}

static enum copy_status
run_auth(struct request *request)
{
    enum copy_status status = copy_session_prove(
        request->session, &request->in->auth.proof, &request->out->auth.proof);

    if (status == COPY_DENIED)
        request->session = NULL;
    return status;
}

static enum copy_status
run_bye(struct request *request)
{
    copy_session_drop(request->session, NULL);
    request->session = NULL;
    return COPY_OK;
}

static enum copy_status
run_stat(struct request *request)
{
    const copy_path_t *path = &request->in->path.path;
    enum copy_status status = check_path(path);
    struct stat st;

    if (status == COPY_OK)
        status = copy_status_of(
            copy_path_stat(request->server->root, path->bytes, &st));
    if (status == COPY_OK)
        request->out->stat.meta = copy_page_meta(&st);
    return status;
}

static enum copy_status
run_mkdir(struct request *request)
{
    const copy_mode_in_t *in = &request->in->mode;
    enum copy_status status = check_path(&in->path);
    bool is_new = false;

    if (status == COPY_OK)
        status = copy_status_of(copy_path_mkdir(
            request->server->root, in->path.bytes, in->mode, &is_new));
    request->out->mkdir.is_new = is_new;
    return status;
}

static enum copy_status
run_attr(struct request *request)
{
    const copy_mode_in_t *in = &request->in->mode;
    enum copy_status status = check_path(&in->path);

    if (status == COPY_OK)
        status = copy_status_of(copy_path_attr(
            request->server->root, in->path.bytes, in->mode, &in->mtime));
    return status;
}

static enum copy_status
run_link_read(struct request *request)
{
    const copy_path_t *path = &request->in->path.path;
    copy_path_t *target = &request->out->link.target;
    enum copy_status status = check_path(path);
    size_t room = HG_Class_get_output_eager_size(request->server->hg_class);

    if (status == COPY_OK)
        status = copy_status_of(copy_link_read_beneath(
            request->server->root, path->bytes, target->bytes));
    if (status != COPY_OK)
        return status;
    target->length = (uint16_t) strlen(target->bytes);
    return target->length + COPY_REQUEST_FIXED > room ? COPY_TOO_LONG : COPY_OK;
}

static enum copy_status
run_link_make(struct request *request)
{
    const copy_link_in_t *in = &request->in->link;
    enum copy_status status = check_path(&in->path);
    bool is_new = false;

    if (status == COPY_OK && in->path.length == 0)
        status = COPY_IS_DIRECTORY;
    if (status == COPY_OK)
        status = copy_status_of(
            copy_link_check(in->path.bytes, 0, in->target.bytes));
    if (status == COPY_OK)
        status = copy_status_of(copy_link_make(request->server->root,
            in->path.bytes, in->target.bytes, &in->mtime, in->how, &is_new));
    request->out->mkdir.is_new = is_new;
    return status;
}

static enum copy_status
run_remove(struct request *request)
{
    const copy_remove_in_t *in = &request->in->remove;
    enum copy_status status = check_path(&in->path);

    if (status == COPY_OK)
        status = copy_status_of(copy_path_remove(
            request->server->root, in->path.bytes, in->directory != 0));
    return status;
}

/* Refuses early what the commit would refuse. */
static int
check_target(int dir, const char *name, bool replace)
{
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : errno;
    if (!replace)
        return EEXIST;
    return S_ISDIR(st.st_mode) ? EISDIR : 0;
}

/* Opens the file that will be published as `name` and takes over dir, unless it
 * fails. A file of one chunk is not worth a partial file. */
static int
create_upload(struct copy_open *open, int dir, const char *name, bool resume)
{
    int error;

    if (resume && open->size > COPY_CHUNK_SIZE) {
        error = copy_partial_create(dir, name, &open->temp, &open->have);
        if (open->have > open->size)
            open->have = open->size;
        return error;
    }
    copy_partial_remove(dir, name);
    return copy_temp_create(dir, &open->temp);
}

static enum copy_status
run_create(struct request *request)
{
    const copy_create_in_t *in = &request->in->create;
    bool replace = (in->how & COPY_HOW_REPLACE) != 0;
    enum copy_status status = check_path(&in->path);
    struct copy_open *open;
    const char *name;
    int dir;
    int error;

    if (status != COPY_OK)
        return status;
    if (in->path.length == 0)
        return COPY_IS_DIRECTORY;
    if (in->how > (COPY_HOW_REPLACE | COPY_HOW_RESUME))
        return COPY_INVALID;
    if (in->size > INT64_MAX)
        return COPY_TOO_LARGE;
    error =
        copy_path_parent(request->server->root, in->path.bytes, &dir, &name);
    if (error != 0)
        return copy_status_of(error);
    status = copy_status_of(check_target(dir, name, replace));
    if (status == COPY_OK)
        status = copy_open_create(request->session, COPY_UPLOAD, &open);
    if (status != COPY_OK) {
        close(dir);
        return status;
    }
    memcpy(open->name, name, strlen(name) + 1);
    open->size = in->size;
    open->replace = replace;
    error = create_upload(open, dir, name, (in->how & COPY_HOW_RESUME) != 0);
    if (error != 0) {
        close(dir);
        open->temp.fd = -1;
        copy_open_close(open);
        return copy_status_of(error);
    }
    request->out->create.id = open->id;
    request->out->create.have = open->have;
    return COPY_OK;
}

/* Checks a complete upload and gives it its name. */
static enum copy_status
publish(struct copy_open *open, const copy_commit_in_t *in)
{
    struct copy_final final = {.size = open->size,
        .mode = in->mode,
        .mtime = in->mtime,
        .replace = open->replace};
    int error;

    if (open->failure != COPY_OK)
        return open->failure;
    if (open->received != open->size)
        return COPY_INVALID;
    if (!copy_hash_equal(&open->sum, &in->sum))
        return COPY_CHECKSUM;
    error = copy_temp_publish(&open->temp, open->name, &final);
    if (error == 0)
        open->temp.fd = -1;
    return copy_status_of(error);
}

static enum copy_status
run_commit(struct request *request)
{
    const copy_commit_in_t *in = &request->in->commit;
    struct copy_open *open =
        copy_open_find(request->session, in->id, COPY_UPLOAD);
    enum copy_status status;

    if (open == NULL)
        return COPY_NO_ID;
    if (open->refs > 0)
        return COPY_BUSY;
    status = publish(open, in);
    /* What it has agreed to may be the reason of the failure. */
    open->temp.keep = false;
    copy_open_close(open);
    return status;
}

static enum copy_status
run_open(struct request *request)
{
    const copy_path_t *path = &request->in->path.path;
    copy_open_out_t *out = &request->out->open;
    enum copy_status status = check_path(path);
    struct copy_open *open;
    struct stat st;
    int fd;

    if (status == COPY_OK)
        status = copy_status_of(
            copy_path_file(request->server->root, path->bytes, &fd, &st));
    if (status != COPY_OK)
        return status;
    status = copy_open_create(request->session, COPY_DOWNLOAD, &open);
    if (status != COPY_OK) {
        close(fd);
        return status;
    }
    open->fd = fd;
    open->size = (uint64_t) st.st_size;
    open->mtime = st.st_mtim;
    out->id = open->id;
    out->meta = copy_page_meta(&st);
    return COPY_OK;
}

/* COPY_CHANGED: the file was written to since it was opened. */
static enum copy_status
unchanged(const struct copy_open *open)
{
    struct stat st;

    if (fstat(open->fd, &st) < 0)
        return copy_status_of(errno);
    if ((uint64_t) st.st_size != open->size ||
        st.st_mtim.tv_sec != open->mtime.tv_sec ||
        st.st_mtim.tv_nsec != open->mtime.tv_nsec)
        return COPY_CHANGED;
    return COPY_OK;
}

static enum copy_status
run_close(struct request *request)
{
    uint64_t id = request->in->close.id;
    struct copy_open *open =
        copy_open_find(request->session, id, COPY_DOWNLOAD);
    enum copy_status status = COPY_OK;

    if (open != NULL) {
        request->out->close.sum = open->sum;
        status = unchanged(open);
    } else {
        open = copy_open_find(request->session, id, COPY_UPLOAD);
    }
    if (open == NULL)
        open = copy_open_find(request->session, id, COPY_LISTING);
    if (open == NULL)
        return COPY_NO_ID;
    copy_open_close(open);
    return status;
}

static enum copy_status
run_chunk(struct request *request)
{
    return copy_chunk_start(
        request->session, request->handle, request->rpc, &request->in->chunk);
}

static enum copy_status
run_verify(struct request *request)
{
    return copy_chunk_verify(
        request->session, request->handle, &request->in->verify);
}

static enum copy_status
run_list(struct request *request)
{
    return copy_chunk_list(
        request->session, request->handle, &request->in->list);
}

static enum copy_status
run_store(struct request *request)
{
    return copy_chunk_store(
        request->session, request->handle, &request->in->store);
}

static const run_t runs[COPY_RPC_COUNT] = {
    [COPY_HELLO] = run_hello,
    [COPY_BYE] = run_bye,
    [COPY_STAT] = run_stat,
    [COPY_LIST] = run_list,
    [COPY_MKDIR] = run_mkdir,
    [COPY_ATTR] = run_attr,
    [COPY_CREATE] = run_create,
    [COPY_WRITE] = run_chunk,
    [COPY_COMMIT] = run_commit,
    [COPY_OPEN] = run_open,
    [COPY_READ] = run_chunk,
    [COPY_CLOSE] = run_close,
    [COPY_HASH] = run_chunk,
    [COPY_LINK_READ] = run_link_read,
    [COPY_LINK_MAKE] = run_link_make,
    [COPY_REMOVE] = run_remove,
    [COPY_AUTH] = run_auth,
    [COPY_STORE] = run_store,
    [COPY_VERIFY] = run_verify,
};

static hg_return_t
on_responded(const struct hg_cb_info *info)
{
    hg_class_t *hg_class = HG_Get_info(info->info.respond.handle)->hg_class;
    struct copy_server *server = HG_Class_get_data(hg_class);
    struct copy_session *session = info->arg;

    server->pending--;
    if (session == NULL)
        return HG_SUCCESS;
    if (info->ret == HG_SUCCESS)
        session->last_alive = clock_seconds();
    else
        copy_session_drop(session, HG_Error_to_string(info->ret));
    copy_session_unref(session);
    return HG_SUCCESS;
}

void
copy_server_respond(struct copy_server *server, struct copy_session *session,
    hg_handle_t handle, union copy_out *out)
{
    hg_return_t ret;

    if (session != NULL)
        session->refs++;
    server->pending++;
    ret = HG_Respond(handle, on_responded, session, out);
    if (ret != HG_SUCCESS) {
        server->pending--;
        if (session != NULL) {
            copy_session_drop(session, HG_Error_to_string(ret));
            copy_session_unref(session);
        }
    }
    HG_Destroy(handle);
}

static enum copy_status
run(struct request *request)
{
    if (request->server->stopping)
        return COPY_STOPPING;
    if (request->rpc != COPY_HELLO) {
        request->session = copy_session_find(
            request->server, request->in->session, request->addr);
        if (request->session == NULL)
            return COPY_NO_SESSION;
        if (!request->session->proven && request->rpc != COPY_AUTH &&
            request->rpc != COPY_BYE)
            return COPY_DENIED;
    }
    return runs[request->rpc](request);
}

hg_return_t
copy_server_handle(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct copy_server *server = HG_Class_get_data(info->hg_class);
    union copy_in in;
    union copy_out out;
    struct request request = {.server = server,
        .handle = handle,
        .addr = info->addr,
        .in = &in,
        .out = &out};
    enum copy_status status = COPY_INVALID;

    while (server->ids[request.rpc] != info->id)
        request.rpc++;
    memset(&out, 0, sizeof(out));
    if (HG_Get_input(handle, &in) == HG_SUCCESS) {
        status = run(&request);
        HG_Free_input(handle, &in);
    }
    if (status == COPY_PENDING)
        return HG_SUCCESS;
    out.status = status;
    copy_server_respond(server, request.session, handle, &out);
    return HG_SUCCESS;
}
