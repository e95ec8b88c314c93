/* SPDX-License-Identifier: BSD-3-Clause */
/* The one symbol, the tables, and opening and closing a class. */
#include "frozen.h"

void
frozen_log(const na_plugin_host *host, int32_t level, uint32_t line,
    const char *text, const char *what)
{
    char all[160] = {0};

    if (level > __atomic_load_n(host->log_level, __ATOMIC_RELAXED))
        return;
    sys_append(all, sizeof(all), text);
    sys_append(all, sizeof(all), what);
    for (char *at = all; *at != '\0'; at++)
        if (*at < ' ' || *at > '~')
            *at = '?'; /* from a user or a peer */
    host->log(host, level, "frozen", line, all);
}

static int32_t
buf_alloc(na_plugin_class *cls, uint64_t length, uint32_t kinds,
    void **buffer_p, void **buffer_data_p)
{
    void *buffer = sys_alloc(length, 0);

    (void) cls;
    (void) kinds;
    if (buffer == NULL)
        return NA_PLUGIN_E_NOMEM;
    *buffer_p = buffer;
    *buffer_data_p = NULL;
    return NA_PLUGIN_OK;
}

static void
buf_free(na_plugin_class *cls, void *buffer, void *buffer_data)
{
    (void) cls;
    (void) buffer_data;
    sys_free(buffer, 0);
}

static int32_t
mem_alloc(na_plugin_class *cls, uint64_t length, void **memory_p)
{
    void *memory = sys_alloc(length, 1);

    (void) cls;
    if (memory == NULL)
        return NA_PLUGIN_E_NOMEM;
    *memory_p = memory;
    return NA_PLUGIN_OK;
}

static void
mem_free(na_plugin_class *cls, void *memory)
{
    (void) cls;
    sys_free(memory, 1);
}

static uint32_t
entries(na_plugin_class *cls, uint32_t first, na_plugin_report_entry *out,
    uint32_t max)
{
    sys_lock(&cls->lock);
    const na_plugin_report_entry all[] = {
        {"note", cls->host->text(cls->host, "frozen.note"), 0},
        {"messages", NULL, cls->messages}, {"datagrams", NULL, cls->datagrams}};
    sys_unlock(&cls->lock);
    const uint32_t number = sizeof(all) / sizeof(all[0]);
    uint32_t count = 0;

    for (uint32_t i = first; i < number && count < max; i++)
        out[count++] = all[i];
    return count;
}

static const na_plugin_wait wait = {
    .size = sizeof(wait), .fd = frozen_fd, .arm = frozen_arm};
static const na_plugin_multi_recv multi_recv = {.size = sizeof(multi_recv),
    .min_length = UNEXPECTED_MAX,
    .recv_multi = frozen_recv_multi};
static const na_plugin_mem_alloc mem_allocs = {
    .size = sizeof(mem_allocs), .alloc = mem_alloc, .free = mem_free};
static const na_plugin_report report = {
    .size = sizeof(report), .entries = entries};

static const void *
extension(na_plugin_class *cls, const char *id)
{
    (void) cls;
    if (sys_equal(id, NA_PLUGIN_WAIT_ID))
        return &wait;
    if (sys_equal(id, NA_PLUGIN_MULTI_RECV_ID))
        return &multi_recv;
    if (sys_equal(id, NA_PLUGIN_MEM_ALLOC_ID))
        return &mem_allocs;
    return sys_equal(id, NA_PLUGIN_REPORT_ID) ? &report : NULL;
}

static const na_plugin_ops ops = {.size = sizeof(ops),
    .ctx_create = frozen_ctx_create,
    .ctx_destroy = frozen_ctx_destroy,
    .addr_self = frozen_addr_self,
    .addr_lookup = frozen_addr_lookup,
    .addr_dup = frozen_addr_dup,
    .addr_free = frozen_addr_free,
    .addr_equal = frozen_addr_equal,
    .addr_hash = frozen_addr_hash,
    .addr_to_string = frozen_addr_to_string,
    .addr_serialize = frozen_addr_serialize,
    .addr_deserialize = frozen_addr_deserialize,
    .addr_forget = frozen_addr_forget,
    .buf_alloc = buf_alloc,
    .buf_free = buf_free,
    .buf_init = frozen_buf_init,
    .send_unexpected = frozen_send_unexpected,
    .recv_unexpected = frozen_recv_unexpected,
    .send_expected = frozen_send_expected,
    .recv_expected = frozen_recv_expected,
    .mem_register = frozen_mem_register,
    .mem_deregister = frozen_mem_deregister,
    .mem_serialize = frozen_mem_serialize,
    .mem_deserialize = frozen_mem_deserialize,
    .mem_remote_free = frozen_mem_remote_free,
    .put = frozen_put,
    .get = frozen_get,
    .poll = frozen_poll,
    .cancel = frozen_cancel,
    .extension = extension};

static int32_t
info(const na_plugin_host *host, const char *protocol, void *arg,
    void (*found)(void *arg, const na_plugin_device *device))
{
    const na_plugin_device device = {.size = sizeof(device),
        .protocol = FROZEN_PROTOCOL,
        .detail = "datagrams between processes of this machine"};

    (void) host;
    if (protocol != NULL && !sys_equal(protocol, FROZEN_PROTOCOL))
        return NA_PLUGIN_E_PROTONOSUPPORT;
    found(arg, &device);
    return NA_PLUGIN_OK;
}

static void
close_class(na_plugin_class *cls)
{
    if (cls->socket >= 0)
        CALL1(SYS_CLOSE, cls->socket);
    if (cls->probe >= 0)
        CALL1(SYS_CLOSE, cls->probe);
    rma_drop_answers(cls);
    if (cls->self != NULL)
        frozen_addr_free(cls, cls->self);
    sys_free(cls, 0);
}

static int32_t
refuse(const na_plugin_host *host, const na_plugin_open_info *wanted)
{
    const uint32_t known = NA_PLUGIN_OPEN_LISTEN | NA_PLUGIN_OPEN_NO_BLOCK |
                           NA_PLUGIN_OPEN_NO_RETRY | NA_PLUGIN_OPEN_MEM_DEVICE;
    int32_t ret = NA_PLUGIN_OK;

    if (host->size < NA_PLUGIN_HOST_SIZE_1_0 ||
        wanted->size < NA_PLUGIN_OPEN_INFO_SIZE_1_0 ||
        (wanted->flags & ~known) != 0 ||
        wanted->addr_format > NA_PLUGIN_ADDR_NATIVE ||
        wanted->traffic_class > NA_PLUGIN_TC_NETWORK_CTRL)
        ret = NA_PLUGIN_E_INVALID_ARG;
    else if (!sys_equal(wanted->protocol, FROZEN_PROTOCOL))
        ret = NA_PLUGIN_E_PROTONOSUPPORT;
    else if (wanted->device != NULL || wanted->port > 0 ||
             (wanted->host != NULL && !frozen_name_is_valid(wanted->host)))
        ret = NA_PLUGIN_E_INVALID_ARG;
    if (ret != NA_PLUGIN_OK) {
        frozen_log(host, NA_PLUGIN_LOG_ERROR, __LINE__,
            "cannot be opened so: ", wanted->name ? wanted->name : "");
        return ret;
    }
    if (wanted->auth_key != NULL)
        frozen_log(host, NA_PLUGIN_LOG_WARNING, __LINE__,
            "no authorization here: auth_key is ignored", "");
    if (wanted->ip_subnet != NULL)
        frozen_log(host, NA_PLUGIN_LOG_INFO, __LINE__,
            "no network here: ip_subnet is ignored", "");
    return NA_PLUGIN_OK;
}

/* The class has its name from the user, or by chance. */
static int32_t
begin(na_plugin_class *cls, const na_plugin_open_info *wanted)
{
    char name[NAME_SIZE] = {0};

    if (wanted->host != NULL)
        sys_append(name, sizeof(name), wanted->host);
    else
        sys_append_number(name, sizeof(name), sys_random());
    cls->self = frozen_addr(cls, name);
    cls->socket = socket_open(name, 'c', 0);
    cls->probe = sys_datagram_socket();
    if (cls->self != NULL && cls->socket >= 0 && cls->probe >= 0)
        return NA_PLUGIN_OK;
    frozen_log(cls->host, NA_PLUGIN_LOG_ERROR, __LINE__,
        cls->socket == E_ADDRINUSE ? "there is already a class "
                                   : "no memory or sockets for ",
        name);
    return cls->socket == E_ADDRINUSE ? NA_PLUGIN_E_ADDRINUSE
                                      : NA_PLUGIN_E_NOMEM;
}

static int32_t
open_class(const na_plugin_host *host, const na_plugin_open_info *wanted,
    na_plugin_opened *opened)
{
    int32_t ret = refuse(host, wanted);

    if (ret != NA_PLUGIN_OK)
        return ret;
    na_plugin_class *cls = sys_alloc(sizeof(*cls), 0);
    if (cls == NULL) {
        frozen_log(
            host, NA_PLUGIN_LOG_ERROR, __LINE__, "no memory for a class", "");
        return NA_PLUGIN_E_NOMEM;
    }
    cls->host = host;
    cls->socket = -1;
    cls->probe = -1;
    cls->no_retry = (wanted->flags & NA_PLUGIN_OPEN_NO_RETRY) != 0;
    cls->kept_max = host->number(host, "frozen.kept");
    ret = begin(cls, wanted);
    if (ret != NA_PLUGIN_OK) {
        close_class(cls);
        return ret;
    }
    opened->features =
        NA_PLUGIN_FEATURE_NODE_LOCAL | NA_PLUGIN_FEATURE_CTX_PARALLEL;
    opened->cls = cls;
    opened->ops = &ops;
    opened->op_size = sizeof(struct op);
    opened->op_align = 8;
    opened->max_unexpected_size = UNEXPECTED_MAX;
    opened->max_expected_size = EXPECTED_MAX;
    opened->unexpected_header_size = UNEXPECTED_HEADER;
    opened->expected_header_size = EXPECTED_HEADER;
    opened->max_tag = TAG_MAX;
    opened->max_segments = SEGMENTS;
    opened->max_contexts = CONTEXTS;
    return NA_PLUGIN_OK;
}

static const char *const protocols[] = {FROZEN_PROTOCOL, NULL};

static const na_plugin_setting kept = {.size = sizeof(kept),
    .kind = NA_PLUGIN_SETTING_NUMBER,
    .least = 1,
    .most = KEPT_MAX,
    .key = "frozen.kept",
    .initial = "256",
    .text = "expected messages that are kept without a receive"};
static const na_plugin_setting note = {.size = sizeof(note),
    .kind = NA_PLUGIN_SETTING_TEXT,
    .most = NA_PLUGIN_SETTING_TEXT_MAX,
    .key = "frozen.note",
    .initial = "frozen at 1.0",
    .text = "what the report says"};
static const na_plugin_setting *const settings[] = {&kept, &note, NULL};

NA_PLUGIN_EXPORT const na_plugin NA_PLUGIN_SYMBOL(frozen) = {
    .magic = NA_PLUGIN_MAGIC,
    .abi_major = NA_PLUGIN_ABI_MAJOR,
    .abi_minor = NA_PLUGIN_ABI_MINOR,
    .size = sizeof(na_plugin),
    .name = "frozen",
    .version = "1.0.0",
    .protocols = protocols,
    .priority = 0,
    .info = info,
    .open = open_class,
    .close = close_class,
    .settings = settings};
