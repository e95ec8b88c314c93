/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface that programs written for Mercury 2.4 compile against: each
 * function with its type, each macro, value, type and field. Most of it is
 * checked by compiling, as C and as C++; run, it prints the functions' names,
 * for api.sh. */
#include <stddef.h>
#include <stdio.h>

#include "mercury.h"
#include "mercury_bulk.h"
#include "mercury_macros.h"
#include "mercury_proc.h"
#include "mercury_proc_bulk.h"
#include "mercury_proc_string.h"
#include "mercury_string_object.h"
#include "na.h"
#include "na_sm.h"

#define UNUSED __attribute__((unused))

/* _Static_assert came with C11. */
#define CHECK(name, condition)                                                 \
    typedef char check_##name[(condition) ? 1 : -1] UNUSED

/* Functions: each is assigned to a pointer of its exact type. */
#define FUNCTION(ret, name, ...)                                               \
    static ret (*const type_of_##name)(__VA_ARGS__) UNUSED = name;
#include "api_list.h"
#undef FUNCTION

typedef void (*any_function)(void);

static const struct {
    const char *name;
    any_function function;
} functions[] = {
#define FUNCTION(ret, name, ...) {#name, (any_function) name},
#include "api_list.h"
#undef FUNCTION
};

/* Values; each name has to exist. */
#define VALUE(name, value)                                                     \
    CHECK(value_of_##name, (long long) (name) == (value));

#define CODES(layer)                                                           \
    VALUE(layer##_SUCCESS, 0)                                                  \
    VALUE(layer##_PERMISSION, 1)                                               \
    VALUE(layer##_NOENTRY, 2)                                                  \
    VALUE(layer##_INTERRUPT, 3)                                                \
    VALUE(layer##_AGAIN, 4)                                                    \
    VALUE(layer##_NOMEM, 5)                                                    \
    VALUE(layer##_ACCESS, 6)                                                   \
    VALUE(layer##_FAULT, 7)                                                    \
    VALUE(layer##_BUSY, 8)                                                     \
    VALUE(layer##_EXIST, 9)                                                    \
    VALUE(layer##_NODEV, 10)                                                   \
    VALUE(layer##_INVALID_ARG, 11)                                             \
    VALUE(layer##_PROTOCOL_ERROR, 12)                                          \
    VALUE(layer##_OVERFLOW, 13)                                                \
    VALUE(layer##_MSGSIZE, 14)                                                 \
    VALUE(layer##_PROTONOSUPPORT, 15)                                          \
    VALUE(layer##_OPNOTSUPPORTED, 16)                                          \
    VALUE(layer##_ADDRINUSE, 17)                                               \
    VALUE(layer##_ADDRNOTAVAIL, 18)                                            \
    VALUE(layer##_HOSTUNREACH, 19)                                             \
    VALUE(layer##_TIMEOUT, 20)                                                 \
    VALUE(layer##_CANCELED, 21)                                                \
    VALUE(layer##_IO_ERROR, 22)                                                \
    VALUE(layer##_HOSTFIREWALL, 23)

CODES(NA)
VALUE(NA_RETURN_MAX, 24)
CODES(HG)
VALUE(HG_CHECKSUM_ERROR, 24)
VALUE(HG_NA_ERROR, 25)
VALUE(HG_OTHER_ERROR, 26)
VALUE(HG_RETURN_MAX, 27)
VALUE(HG_INVALID_PARAM, 11)
VALUE(HG_SIZE_ERROR, 14)
VALUE(HG_NOMEM_ERROR, 5)
VALUE(HG_NO_MATCH, 2)

VALUE(HG_CB_LOOKUP, 0)
VALUE(HG_CB_FORWARD, 1)
VALUE(HG_CB_RESPOND, 2)
VALUE(HG_CB_BULK, 3)
VALUE(NA_CB_SEND_UNEXPECTED, 0)
VALUE(NA_CB_RECV_UNEXPECTED, 1)
VALUE(NA_CB_MULTI_RECV_UNEXPECTED, 2)
VALUE(NA_CB_SEND_EXPECTED, 3)
VALUE(NA_CB_RECV_EXPECTED, 4)
VALUE(NA_CB_PUT, 5)
VALUE(NA_CB_GET, 6)
VALUE(HG_ENCODE, 0)
VALUE(HG_DECODE, 1)
VALUE(HG_FREE, 2)
VALUE(HG_CRC16, 0)
VALUE(HG_CRC32, 1)
VALUE(HG_CRC64, 2)
VALUE(HG_NOHASH, 3)
VALUE(HG_CHECKSUM_NONE, 0)
VALUE(HG_CHECKSUM_RPC_HEADERS, 1)
VALUE(HG_CHECKSUM_RPC_PAYLOAD, 2)
VALUE(HG_BULK_PUSH, 0)
VALUE(HG_BULK_PULL, 1)

#define MEM_TYPES(layer)                                                       \
    VALUE(layer##_MEM_TYPE_HOST, 0)                                            \
    VALUE(layer##_MEM_TYPE_CUDA, 1)                                            \
    VALUE(layer##_MEM_TYPE_ROCM, 2)                                            \
    VALUE(layer##_MEM_TYPE_ZE, 3)                                              \
    VALUE(layer##_MEM_TYPE_MAX, 4)                                             \
    VALUE(layer##_MEM_TYPE_UNKNOWN, 4)

MEM_TYPES(NA)
MEM_TYPES(HG)
VALUE(NA_ADDR_UNSPEC, 0)
VALUE(NA_ADDR_IPV4, 1)
VALUE(NA_ADDR_IPV6, 2)
VALUE(NA_ADDR_NATIVE, 3)
VALUE(NA_TC_UNSPEC, 0)
VALUE(NA_TC_BEST_EFFORT, 1)
VALUE(NA_TC_LOW_LATENCY, 2)
VALUE(NA_TC_BULK_DATA, 3)
VALUE(NA_TC_DEDICATED_ACCESS, 4)
VALUE(NA_TC_SCAVENGER, 5)
VALUE(NA_TC_NETWORK_CTRL, 6)

VALUE(HG_TRUE, 1)
VALUE(HG_FALSE, 0)
VALUE(HG_MAX_IDLE_TIME, 3600000)
VALUE(NA_MAX_IDLE_TIME, 3600000)
VALUE(HG_BULK_READ_ONLY, 1)
VALUE(HG_BULK_WRITE_ONLY, 2)
VALUE(HG_BULK_READWRITE, 3)
VALUE(NA_MEM_READ_ONLY, 1)
VALUE(NA_MEM_WRITE_ONLY, 2)
VALUE(NA_MEM_READWRITE, 3)
VALUE(NA_NO_BLOCK, 1)
VALUE(NA_NO_RETRY, 2)
VALUE(NA_THREAD_MODE_SINGLE_CLS, 1)
VALUE(NA_THREAD_MODE_SINGLE_CTX, 2)
VALUE(NA_THREAD_MODE_SINGLE, 3)
VALUE(NA_OPT_MULTI_RECV, 1)
VALUE(NA_SEND, 1)
VALUE(NA_RECV, 2)
VALUE(NA_MULTI_RECV, 4)
VALUE(NA_OP_SINGLE, 0)
VALUE(NA_OP_MULTI, 1)
VALUE(NA_CONTEXT_ID_MAX, UINT8_MAX)

VALUE(HG_VERSION_MAJOR, 2)
VALUE(HG_VERSION_MINOR, 4)
VALUE(NA_VERSION_MAJOR, 6)
VALUE(NA_VERSION_MINOR, 0)
#if HG_VERSION_PATCH < 0 || NA_VERSION_PATCH < 0
#error "a version has three numbers"
#endif
CHECK(hg_version, HG_VERSION(2, 4) == (2 << 16 | 4) &&
                      HG_MAJOR(HG_VERSION(2, 4)) == 2 &&
                      HG_MINOR(HG_VERSION(2, 4)) == 4);
CHECK(na_version, NA_VERSION(6, 1) == (6 << 16 | 1) &&
                      NA_MAJOR(NA_VERSION(6, 1)) == 6 &&
                      NA_MINOR(NA_VERSION(6, 1)) == 1);
CHECK(hg_compare, HG_VERSION_GE(HG_VERSION(2, 4), HG_VERSION(2, 4)) &&
                      !HG_VERSION_GE(HG_VERSION(2, 3), HG_VERSION(2, 4)) &&
                      HG_VERSION_LT(HG_VERSION(1, 9), HG_VERSION(2, 0)) &&
                      !HG_VERSION_LT(HG_VERSION(2, 0), HG_VERSION(2, 0)));
CHECK(na_compare, NA_VERSION_GE(NA_VERSION(5, 0), NA_VERSION(4, 9)) &&
                      !NA_VERSION_GE(NA_VERSION(4, 9), NA_VERSION(5, 0)) &&
                      NA_VERSION_LT(NA_VERSION(4, 0), NA_VERSION(4, 1)) &&
                      !NA_VERSION_LT(NA_VERSION(4, 1), NA_VERSION(4, 1)));

/* Macros that programs test for. */
#if !defined(HG_Addr_lookup) || !defined(MERCURY_REGISTER) ||                  \
    !defined(MERCURY_GEN_PROC) || !defined(MERCURY_GEN_STRUCT_PROC) ||         \
    !defined(HG_HAS_BOOST) || !defined(HG_HAS_CHECKSUMS) ||                    \
    !defined(HG_INIT_INFO_INITIALIZER) || !defined(NA_INIT_INFO_INITIALIZER)
#error "a macro of the interface is missing"
#endif

/* Types. SAME takes two names of one type, in C++ too. */
#define SAME(name, one, other)                                                 \
    static UNUSED other *same_##name(one *value)                               \
    {                                                                          \
        return value;                                                          \
    }

SAME(hg_bool, hg_bool_t, uint8_t)
SAME(hg_size, hg_size_t, uint64_t)
SAME(hg_id, hg_id_t, uint64_t)
SAME(hg_ptr, hg_ptr_t, uint64_t)
SAME(hg_i8, hg_int8_t, int8_t)
SAME(hg_u8, hg_uint8_t, uint8_t)
SAME(hg_i16, hg_int16_t, int16_t)
SAME(hg_u16, hg_uint16_t, uint16_t)
SAME(hg_i32, hg_int32_t, int32_t)
SAME(hg_u32, hg_uint32_t, uint32_t)
SAME(hg_i64, hg_int64_t, int64_t)
SAME(hg_u64, hg_uint64_t, uint64_t)
SAME(na_tag, na_tag_t, uint32_t)
SAME(na_offset, na_offset_t, uint64_t)
SAME(hg_string, hg_string_t, char *)
SAME(hg_const_string, hg_const_string_t, const char *)
SAME(string_object, hg_string_object_t, struct hg_string_object)

/* Callbacks. */
static UNUSED hg_return_t
rpc_cb(hg_handle_t handle)
{
    return handle == HG_HANDLE_NULL ? HG_INVALID_ARG : HG_SUCCESS;
}

static UNUSED hg_return_t
hg_cb(const struct hg_cb_info *info)
{
    return info->ret;
}

static UNUSED hg_return_t
proc_cb(hg_proc_t proc, void *data)
{
    return proc == HG_PROC_NULL || !data ? HG_INVALID_ARG : HG_SUCCESS;
}

static UNUSED void
na_cb(const struct na_cb_info *info)
{
    (void) info;
}

static UNUSED const hg_rpc_cb_t type_of_rpc_cb = rpc_cb;
static UNUSED const hg_cb_t type_of_hg_cb = hg_cb;
static UNUSED const hg_proc_cb_t type_of_proc_cb = proc_cb;
static UNUSED const na_cb_t type_of_na_cb = na_cb;

/* Null pointers, each of its type. */
static UNUSED const hg_addr_t null_addr = HG_ADDR_NULL;
static UNUSED const hg_handle_t null_handle = HG_HANDLE_NULL;
static UNUSED const hg_bulk_t null_bulk = HG_BULK_NULL;
static UNUSED const hg_proc_t null_proc = HG_PROC_NULL;
static UNUSED const hg_op_id_t null_op_id = HG_OP_ID_NULL;
static UNUSED hg_op_id_t *
op_id_ignore(void)
{
    return HG_OP_ID_IGNORE;
}

/* Procs with the types' names, or older ones. */
static UNUSED const hg_proc_cb_t procs[] = {hg_proc_hg_int8_t,
    hg_proc_hg_uint8_t, hg_proc_hg_int16_t, hg_proc_hg_uint16_t,
    hg_proc_hg_int32_t, hg_proc_hg_uint32_t, hg_proc_hg_int64_t,
    hg_proc_hg_uint64_t, hg_proc_hg_size_t, hg_proc_hg_id_t, hg_proc_hg_bool_t,
    hg_proc_hg_ptr_t, hg_proc_void};
static UNUSED hg_return_t (*const raw)(
    hg_proc_t, void *, hg_size_t) = hg_proc_raw;
static UNUSED hg_return_t (*const copy)(
    hg_proc_t, void *, hg_size_t) = hg_proc_memcpy;

/* Fields, in order, without gaps. */
#define FIRST(owner, type, field)                                              \
    static UNUSED type *owner##_##field(struct owner *object)                  \
    {                                                                          \
        return &object->field;                                                 \
    }                                                                          \
    CHECK(owner##_##field, offsetof(struct owner, field) == 0);
#define NEXT(owner, before, type, field)                                       \
    static UNUSED type *owner##_##field(struct owner *object)                  \
    {                                                                          \
        return &object->field;                                                 \
    }                                                                          \
    CHECK(owner##_##field,                                                     \
        offsetof(struct owner, field) >= END_OF(owner, before) &&              \
            offsetof(struct owner, field) - END_OF(owner, before) <            \
                sizeof(type));
#define END_OF(owner, field)                                                   \
    (offsetof(struct owner, field) + sizeof(((struct owner *) 0)->field))

FIRST(hg_info, hg_class_t *, hg_class)
NEXT(hg_info, hg_class, hg_context_t *, context)
NEXT(hg_info, context, hg_addr_t, addr)
NEXT(hg_info, addr, hg_id_t, id)
NEXT(hg_info, id, uint8_t, context_id)

FIRST(na_init_info, const char *, ip_subnet)
NEXT(na_init_info, ip_subnet, const char *, auth_key)
NEXT(na_init_info, auth_key, size_t, max_unexpected_size)
NEXT(na_init_info, max_unexpected_size, size_t, max_expected_size)
NEXT(na_init_info, max_expected_size, uint8_t, progress_mode)
NEXT(na_init_info, progress_mode, enum na_addr_format, addr_format)
NEXT(na_init_info, addr_format, uint8_t, max_contexts)
NEXT(na_init_info, max_contexts, uint8_t, thread_mode)
NEXT(na_init_info, thread_mode, bool, request_mem_device)
NEXT(na_init_info, request_mem_device, enum na_traffic_class, traffic_class)

FIRST(hg_init_info, struct na_init_info_4_0, na_init_info)
NEXT(hg_init_info, na_init_info, na_class_t *, na_class)
NEXT(hg_init_info, na_class, uint32_t, request_post_init)
NEXT(hg_init_info, request_post_init, int32_t, request_post_incr)
NEXT(hg_init_info, request_post_incr, uint8_t, auto_sm)
NEXT(hg_init_info, auto_sm, const char *, sm_info_string)
NEXT(hg_init_info, sm_info_string, hg_checksum_level_t, checksum_level)
NEXT(hg_init_info, checksum_level, uint8_t, no_bulk_eager)
NEXT(hg_init_info, no_bulk_eager, uint8_t, no_loopback)
NEXT(hg_init_info, no_loopback, uint8_t, stats)
NEXT(hg_init_info, stats, uint8_t, no_multi_recv)
NEXT(hg_init_info, no_multi_recv, uint8_t, release_input_early)
NEXT(hg_init_info, release_input_early, enum na_traffic_class, traffic_class)
NEXT(hg_init_info, traffic_class, bool, no_overflow)
NEXT(hg_init_info, no_overflow, unsigned int, multi_recv_op_max)
NEXT(hg_init_info, multi_recv_op_max, unsigned int, multi_recv_copy_threshold)

FIRST(hg_bulk_attr, hg_mem_type_t, mem_type)
NEXT(hg_bulk_attr, mem_type, uint64_t, device)

FIRST(hg_diag_counters, uint64_t, rpc_req_sent_count)
NEXT(hg_diag_counters, rpc_req_sent_count, uint64_t, rpc_req_recv_count)
NEXT(hg_diag_counters, rpc_req_recv_count, uint64_t, rpc_resp_sent_count)
NEXT(hg_diag_counters, rpc_resp_sent_count, uint64_t, rpc_resp_recv_count)
NEXT(hg_diag_counters, rpc_resp_recv_count, uint64_t, rpc_req_extra_count)
NEXT(hg_diag_counters, rpc_req_extra_count, uint64_t, rpc_resp_extra_count)
NEXT(
    hg_diag_counters, rpc_resp_extra_count, uint64_t, rpc_req_recv_active_count)
NEXT(hg_diag_counters, rpc_req_recv_active_count, uint64_t,
    rpc_multi_recv_copy_count)
NEXT(hg_diag_counters, rpc_multi_recv_copy_count, uint64_t, bulk_count)

FIRST(na_segment, void *, base)
NEXT(na_segment, base, size_t, len)

FIRST(na_protocol_info, struct na_protocol_info *, next)
NEXT(na_protocol_info, next, char *, class_name)
NEXT(na_protocol_info, class_name, char *, protocol_name)
NEXT(na_protocol_info, protocol_name, char *, device_name)

FIRST(hg_string_object, char *, data)
NEXT(hg_string_object, data, bool, is_const)
NEXT(hg_string_object, is_const, bool, is_owned)

NEXT(hg_cb_info, info, void *, arg)
NEXT(hg_cb_info, arg, hg_cb_type_t, type)
NEXT(hg_cb_info, type, hg_return_t, ret)
CHECK(hg_cb_info_info, offsetof(struct hg_cb_info, info) == 0);

NEXT(na_cb_info, info, void *, arg)
NEXT(na_cb_info, arg, na_cb_type_t, type)
NEXT(na_cb_info, type, na_return_t, ret)
CHECK(na_cb_info_info, offsetof(struct na_cb_info, info) == 0);

/* Members of the unions. */
static UNUSED void
look_at(struct hg_cb_info *hg, struct na_cb_info *na)
{
    hg_addr_t *addr = &hg->info.lookup.addr;
    hg_handle_t *forward = &hg->info.forward.handle;
    hg_handle_t *respond = &hg->info.respond.handle;
    hg_bulk_t *origin = &hg->info.bulk.origin_handle;
    hg_bulk_t *local = &hg->info.bulk.local_handle;
    hg_bulk_op_t *op = &hg->info.bulk.op;
    hg_size_t *size = &hg->info.bulk.size;
    size_t *one_size = &na->info.recv_unexpected.actual_buf_size;
    na_addr_t **one_source = &na->info.recv_unexpected.source;
    na_tag_t *one_tag = &na->info.recv_unexpected.tag;
    size_t *many_size = &na->info.multi_recv_unexpected.actual_buf_size;
    na_addr_t **many_source = &na->info.multi_recv_unexpected.source;
    na_tag_t *many_tag = &na->info.multi_recv_unexpected.tag;
    void **many_buf = &na->info.multi_recv_unexpected.actual_buf;
    bool *many_last = &na->info.multi_recv_unexpected.last;
    size_t *expected_size = &na->info.recv_expected.actual_buf_size;

    (void) addr, (void) forward, (void) respond, (void) origin, (void) local;
    (void) op, (void) size, (void) one_size, (void) one_source, (void) one_tag;
    (void) many_size, (void) many_source, (void) many_tag, (void) many_buf;
    (void) many_last, (void) expected_size;
}

int
main(void)
{
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (functions[i].function == NULL)
            return 1;
        puts(functions[i].name);
    }
    return 0;
}
