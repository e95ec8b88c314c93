/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and procs of the RPCs of `talaria copy`. */
#include <errno.h>

#include "copy/proto.h"

struct rpc {
    const char *name;
    hg_proc_cb_t in;
    hg_proc_cb_t out;
};

static const struct rpc rpcs[COPY_RPC_COUNT] = {
    [COPY_HELLO] = {"talaria.copy.hello", hg_proc_copy_hello_in_t,
        hg_proc_copy_hello_out_t},
    [COPY_BYE] = {"talaria.copy.bye", hg_proc_copy_session_in_t,
        hg_proc_copy_status_out_t},
    [COPY_STAT] = {"talaria.copy.stat", hg_proc_copy_path_in_t,
        hg_proc_copy_stat_out_t},
    [COPY_LIST] = {"talaria.copy.list", hg_proc_copy_list_in_t,
        hg_proc_copy_list_out_t},
    [COPY_MKDIR] = {"talaria.copy.mkdir", hg_proc_copy_mode_in_t,
        hg_proc_copy_mkdir_out_t},
    [COPY_ATTR] = {"talaria.copy.attr", hg_proc_copy_mode_in_t,
        hg_proc_copy_status_out_t},
    [COPY_CREATE] = {"talaria.copy.create", hg_proc_copy_create_in_t,
        hg_proc_copy_create_out_t},
    [COPY_WRITE] = {"talaria.copy.write", hg_proc_copy_chunk_in_t,
        hg_proc_copy_status_out_t},
    [COPY_COMMIT] = {"talaria.copy.commit", hg_proc_copy_commit_in_t,
        hg_proc_copy_status_out_t},
    [COPY_OPEN] = {"talaria.copy.open", hg_proc_copy_path_in_t,
        hg_proc_copy_open_out_t},
    [COPY_READ] = {"talaria.copy.read", hg_proc_copy_chunk_in_t,
        hg_proc_copy_status_out_t},
    [COPY_CLOSE] = {"talaria.copy.close", hg_proc_copy_close_in_t,
        hg_proc_copy_close_out_t},
    [COPY_HASH] = {"talaria.copy.hash", hg_proc_copy_chunk_in_t,
        hg_proc_copy_status_out_t},
    [COPY_LINK_READ] = {"talaria.copy.readlink", hg_proc_copy_path_in_t,
        hg_proc_copy_link_out_t},
    [COPY_LINK_MAKE] = {"talaria.copy.symlink", hg_proc_copy_link_in_t,
        hg_proc_copy_mkdir_out_t},
    [COPY_REMOVE] = {"talaria.copy.remove", hg_proc_copy_remove_in_t,
        hg_proc_copy_status_out_t},
    [COPY_AUTH] = {"talaria.copy.auth", hg_proc_copy_auth_in_t,
        hg_proc_copy_auth_out_t},
    [COPY_STORE] = {"talaria.copy.store", hg_proc_copy_store_in_t,
        hg_proc_copy_store_out_t},
    [COPY_VERIFY] = {"talaria.copy.verify", hg_proc_copy_verify_in_t,
        hg_proc_copy_status_out_t},
};

hg_return_t
hg_proc_copy_path_t(hg_proc_t proc, void *data)
{
    copy_path_t *path = data;
    uint16_t length = path->length;
    hg_return_t ret;

    if (hg_proc_get_op(proc) == HG_FREE)
        return HG_SUCCESS;
    ret = hg_proc_uint16_t(proc, &length);
    if (ret != HG_SUCCESS)
        return ret;
    if (length >= COPY_PATH_SIZE)
        return HG_PROTOCOL_ERROR;
    ret = hg_proc_bytes(proc, path->bytes, length);
    if (ret != HG_SUCCESS || hg_proc_get_op(proc) == HG_ENCODE)
        return ret;
    if (memchr(path->bytes, 0, length) != NULL)
        return HG_PROTOCOL_ERROR;
    path->bytes[length] = 0;
    path->length = length;
    return HG_SUCCESS;
}

hg_return_t
hg_proc_copy_results_t(hg_proc_t proc, void *data)
{
    copy_results_t *results = data;
    uint32_t count = results->count;
    hg_return_t ret;

    if (hg_proc_get_op(proc) == HG_FREE)
        return HG_SUCCESS;
    ret = hg_proc_uint32_t(proc, &count);
    if (ret != HG_SUCCESS)
        return ret;
    if (count > COPY_STORE_MAX)
        return HG_PROTOCOL_ERROR;
    results->count = count;
    return hg_proc_bytes(proc, results->status, count);
}

hg_class_t *
copy_proto_init(const char *info, bool listen)
{
    struct hg_init_info options = HG_INIT_INFO_INITIALIZER;

    options.no_overflow = true;
    return HG_Init_opt2(
        info, listen, HG_VERSION(HG_VERSION_MAJOR, HG_VERSION_MINOR), &options);
}

hg_return_t
copy_proto_register(
    hg_class_t *hg_class, hg_rpc_cb_t handler, hg_id_t ids_p[COPY_RPC_COUNT])
{
    for (int i = 0; i < COPY_RPC_COUNT; i++) {
        ids_p[i] = HG_Register_name(
            hg_class, rpcs[i].name, rpcs[i].in, rpcs[i].out, handler);
        if (ids_p[i] == 0)
            return HG_NOMEM;
    }
    return HG_SUCCESS;
}

const char *
copy_proto_name(enum copy_rpc rpc)
{
    return rpcs[rpc].name;
}

int
copy_proto_path(copy_path_t *path, const char *text)
{
    size_t length = strlen(text);

    if (length >= COPY_PATH_SIZE)
        return ENAMETOOLONG;
    memcpy(path->bytes, text, length + 1);
    path->length = (uint16_t) length;
    return 0;
}
