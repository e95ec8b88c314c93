/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX's context and worker. */
#include "library.h"
#include "conn.h"
#include "descriptor.h"
#include "process.h"
#include "receive.h"
#include "setting.h"
#include "transport.h"
#include "turn.h"

static ucs_status_t
open_context(na_plugin_class *cls, const ucp_config_t *config)
{
    ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_AM};
    ucp_context_attr_t attr = {.field_mask = UCP_ATTR_FIELD_REQUEST_SIZE};

    /* with it UCX writes, over tcp, wherever a peer's message says */
    if (cls->keys)
        params.features |= UCP_FEATURE_RMA;
    if (!cls->no_block)
        params.features |= UCP_FEATURE_WAKEUP;
    ucs_status_t status = ucp_init(&params, config, &cls->context);
    if (status == UCS_OK)
        status = ucp_context_query(cls->context, &attr);
    if (status == UCS_OK)
        cls->op_front = (uint32_t) ((attr.request_size + 63) & ~(size_t) 63);
    return status;
}

static ucs_status_t
open_worker(na_plugin_class *cls)
{
    /* whoever calls holds the class's lock, or is the only one */
    ucp_worker_params_t params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    ucp_am_handler_param_t handler = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                      UCP_AM_HANDLER_PARAM_FIELD_CB |
                      UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = UCX_AM_ID,
        .cb = ucx_receive,
        .arg = cls};

    ucs_status_t status =
        ucp_worker_create(cls->context, &params, &cls->worker);
    if (status != UCS_OK)
        return status;
    if (!cls->no_block) {
        status = ucp_worker_get_efd(cls->worker, &cls->worker_fd);
        if (status != UCS_OK)
            return status;
    }
    return ucp_worker_set_am_recv_handler(cls->worker, &handler);
}

int32_t
ucx_library_open(na_plugin_class *cls)
{
    ucp_config_t *config;

    ucx_process_restore_signals();
    int32_t ret = ucx_transport_check(cls);
    if (ret != NA_PLUGIN_OK)
        return ret;
    ret = ucx_setting_read(cls, &config);
    if (ret != NA_PLUGIN_OK)
        return ret;
    struct tp_descriptors before = {0};
    tp_descriptors_note(&before);
    ucs_status_t status = open_context(cls, config);
    ucp_config_release(config);
    if (status == UCS_OK) {
        ucx_turn_take();
        status = open_worker(cls);
        ucx_turn_drop();
    }
    ucx_descriptor_mark(&before);
    if (status == UCS_OK)
        return NA_PLUGIN_OK;
    if (status == UCS_ERR_NO_DEVICE) {
        ucx_transport_say_available(cls);
        return NA_PLUGIN_E_NODEV;
    }
    TP_LOG(cls->host, ERROR, "UCX %s cannot be opened: %s",
        ucp_get_version_string(), ucs_status_string(status));
    return ucx_conn_code(status);
}

void
ucx_library_close(na_plugin_class *cls)
{
    if (cls->worker != NULL)
        ucp_worker_destroy(cls->worker);
    if (cls->context != NULL)
        ucp_cleanup(cls->context);
}
