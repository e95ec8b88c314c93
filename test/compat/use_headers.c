/* SPDX-License-Identifier: BSD-3-Clause */
/* What programs written for Mercury 2.4 do with the headers: it has to compile
 * without a warning, as C and (through use_headers.cc) as C++. With
 * LOOKUP_OF_FOUR defined it must not compile. */
#include <stddef.h>
#include <string.h>

#include "mercury.h"
#include "mercury_bulk.h"
#include "mercury_config.h"
#include "mercury_types.h"
#include "na.h"
#include "na_sm.h"
#include "na_types.h"

/* _Static_assert came with C11. */
#define CHECK(name, condition) typedef char check_##name[(condition) ? 1 : -1]

#ifndef HG_Addr_lookup
#error "programs ask whether HG_Addr_lookup is a macro"
#endif
#if !defined(HG_HAS_BOOST) || !defined(HG_HAS_CHECKSUMS)
#error "programs ask for what the build has"
#endif
#if HG_VERSION_LT(HG_VERSION(HG_VERSION_MAJOR, HG_VERSION_MINOR),              \
    HG_VERSION(2, 4)) ||                                                       \
    HG_VERSION_PATCH < 0
#error "not the interface that is offered"
#endif
#if !NA_VERSION_GE(                                                            \
    NA_VERSION(NA_VERSION_MAJOR, NA_VERSION_MINOR), NA_VERSION(6, 0)) ||       \
    NA_VERSION_PATCH < 0
#error "not the interface that is offered"
#endif

CHECK(version, HG_VERSION(2, 4) == 0x20004 && NA_VERSION(6, 0) == 0x60000);
CHECK(major, HG_MAJOR(0x20004) == 2 && NA_MAJOR(0x60001) == 6);
CHECK(minor, HG_MINOR(0x20004) == 4 && NA_MINOR(0x60001) == 1);

/* Both layers have the same codes; these are Mercury's. */
CHECK(codes_start, (int) NA_SUCCESS == 0 && (int) HG_SUCCESS == 0);
CHECK(codes_again, (int) NA_AGAIN == 4 && (int) HG_AGAIN == 4);
CHECK(codes_invalid, (int) NA_INVALID_ARG == 11 && (int) HG_INVALID_ARG == 11);
CHECK(codes_timeout, (int) NA_TIMEOUT == 20 && (int) HG_TIMEOUT == 20);
CHECK(codes_end, (int) NA_HOSTFIREWALL == 23 && (int) HG_HOSTFIREWALL == 23);
CHECK(codes_na_max, NA_RETURN_MAX == 24);
CHECK(codes_hg_only, HG_CHECKSUM_ERROR == 24 && HG_NA_ERROR == 25);
CHECK(codes_hg_max, HG_OTHER_ERROR == 26 && HG_RETURN_MAX == 27);
CHECK(codes_old, HG_INVALID_PARAM == HG_INVALID_ARG &&
                     HG_SIZE_ERROR == HG_MSGSIZE &&
                     HG_NOMEM_ERROR == HG_NOMEM && HG_NO_MATCH == HG_NOENTRY);
CHECK(enums_na, NA_CB_GET == 6 && NA_ADDR_NATIVE == 3 &&
                    NA_TC_NETWORK_CTRL == 6 && NA_MEM_TYPE_UNKNOWN == 4);
CHECK(enums_hg, HG_CB_BULK == 3 && HG_FREE == 2 && HG_NOHASH == 3 &&
                    HG_CHECKSUM_RPC_PAYLOAD == 2 && HG_BULK_PULL == 1 &&
                    HG_MEM_TYPE_UNKNOWN == 4);
CHECK(flags, HG_BULK_READ_ONLY == 1 && HG_BULK_WRITE_ONLY == 2 &&
                 HG_BULK_READWRITE == 3 && NA_MULTI_RECV == 4 &&
                 NA_THREAD_MODE_SINGLE == 3 && NA_NO_RETRY == 2);
CHECK(sizes, sizeof(hg_bool_t) == 1 && sizeof(hg_size_t) == 8 &&
                 sizeof(hg_id_t) == 8 && sizeof(na_tag_t) == 4 &&
                 sizeof(na_offset_t) == 8 && sizeof(hg_ptr_t) == 8);

/* Older versions of the init structs are prefixes of the newest. */
CHECK(prefix_na, offsetof(struct na_init_info, request_mem_device) ==
                     offsetof(struct na_init_info_4_0, request_mem_device));
CHECK(prefix_2_2, offsetof(struct hg_init_info, stats) + 1 ==
                      offsetof(struct hg_init_info, no_multi_recv));
CHECK(prefix_2_3, offsetof(struct hg_init_info, release_input_early) <
                      offsetof(struct hg_init_info, traffic_class));

/* A C extension that programs use and -Wpedantic warns about. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
static struct hg_init_info static_hg_info = HG_INIT_INFO_INITIALIZER;
static struct na_init_info static_na_info = NA_INIT_INFO_INITIALIZER;
#pragma GCC diagnostic pop

static na_sm_id_t host_id;

static hg_return_t
lookup_cb(const struct hg_cb_info *callback_info)
{
    hg_addr_t *addr_p = (hg_addr_t *) callback_info->arg;

    if (callback_info->type == HG_CB_LOOKUP && callback_info->ret == HG_SUCCESS)
        *addr_p = callback_info->info.lookup.addr;
    return callback_info->ret;
}

static hg_return_t
done_cb(const struct hg_cb_info *callback_info)
{
    switch (callback_info->type) {
    case HG_CB_LOOKUP:
        break;
    case HG_CB_FORWARD:
        return HG_Destroy(callback_info->info.forward.handle);
    case HG_CB_RESPOND:
        return HG_Destroy(callback_info->info.respond.handle);
    case HG_CB_BULK:
        if (callback_info->info.bulk.op == HG_BULK_PUSH ||
            callback_info->info.bulk.size == 0)
            (void) HG_Bulk_free(callback_info->info.bulk.local_handle);
        return HG_Bulk_free(callback_info->info.bulk.origin_handle);
    }
    return HG_SUCCESS;
}

static void
recv_cb(const struct na_cb_info *callback_info)
{
    size_t *size_p = (size_t *) callback_info->arg;
    na_tag_t tag = callback_info->info.recv_unexpected.tag;

    if (callback_info->ret != NA_SUCCESS)
        return;
    if (callback_info->type == NA_CB_RECV_UNEXPECTED && tag == 0)
        *size_p = callback_info->info.recv_unexpected.actual_buf_size;
    else if (callback_info->type == NA_CB_RECV_EXPECTED)
        *size_p = callback_info->info.recv_expected.actual_buf_size;
    else if (callback_info->info.multi_recv_unexpected.last)
        *size_p = callback_info->info.multi_recv_unexpected.actual_buf_size;
}

static hg_class_t *
start(const char *info)
{
    /* As in many programs: the variable has the struct's name. */
    struct hg_init_info hg_init_info = HG_INIT_INFO_INITIALIZER;
    struct na_init_info na_init_info = NA_INIT_INFO_INITIALIZER;
    struct hg_init_info i = HG_INIT_INFO_INITIALIZER;

    hg_init_info.na_init_info.thread_mode = NA_THREAD_MODE_SINGLE;
    hg_init_info.na_init_info.progress_mode = NA_NO_BLOCK;
    hg_init_info.auto_sm = HG_TRUE;
    hg_init_info.checksum_level = HG_CHECKSUM_RPC_HEADERS;
    hg_init_info.traffic_class = NA_TC_LOW_LATENCY;
    i.na_init_info = NA_INIT_INFO_INITIALIZER_4_0;
    i.na_class =
        NA_Initialize_opt2(info, true, NA_VERSION(5, 0), &na_init_info);
    if (i.na_class != NULL)
        return HG_Init_opt2(info, true, HG_VERSION(2, 4), &i);
    hg_init_info = HG_INIT_INFO_INITIALIZER;
    if (HG_INIT_INFO_INITIALIZER.multi_recv_op_max != 0)
        return HG_Init(info, HG_FALSE);
    return HG_Init_opt(info, HG_TRUE, &hg_init_info);
}

static hg_return_t
lookup(hg_class_t *hg_class, hg_context_t *context, hg_addr_t *addr_p)
{
    hg_op_id_t op_id = HG_OP_ID_NULL;
    hg_return_t ret;

    ret = HG_Addr_lookup(context, lookup_cb, addr_p, "na+sm://1-0", &op_id);
    if (ret == HG_SUCCESS)
        ret = HG_Addr_lookup(
            context, lookup_cb, addr_p, "na+sm://1-0", HG_OP_ID_IGNORE);
    if (ret != HG_SUCCESS)
        ret = HG_Addr_lookup(hg_class, "na+sm://1-0", addr_p);
    if (ret == HG_SUCCESS && HG_Addr_lookup(hg_class, "x", addr_p) == HG_NOMEM)
        return HG_NOMEM_ERROR;
#ifdef LOOKUP_OF_FOUR
    ret = HG_Addr_lookup(context, lookup_cb, addr_p, "na+sm://1-0");
#endif
    return ret;
}

int
main(void)
{
    hg_class_t *hg_class = start("na+sm");
    hg_context_t *context = HG_Context_create(hg_class);
    hg_addr_t addr = HG_ADDR_NULL;
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_bulk_t bulk = HG_BULK_NULL;
    hg_cb_t callback = done_cb;
    na_cb_t na_callback = recv_cb;
    hg_uint32_t count = 1;
    unsigned int actual = 0;
    void *buf = &count;
    hg_size_t size = sizeof(count);
    struct hg_bulk_attr attr;

    memset(&attr, 0, sizeof(attr));
    if (lookup(hg_class, context, &addr) != HG_SUCCESS || na_callback == NULL)
        return 1;
    if (NA_SM_Host_id_get(&host_id) != NA_SUCCESS)
        return 1;
    NA_Addr_free(static_hg_info.na_class, NULL);
    if (NA_Addr_free(static_hg_info.na_class, NULL) == NA_INVALID_ARG)
        return 1;
    (void) HG_Bulk_create_attr(
        hg_class, count, &buf, &size, HG_BULK_READ_ONLY, &attr, &bulk);
    (void) HG_Create(context, addr, 0, &handle);
    (void) HG_Forward(handle, callback, NULL, NULL);
    do {
        (void) HG_Trigger(context, 0, 1, &actual);
    } while (HG_Progress(context, HG_MAX_IDLE_TIME) == HG_SUCCESS);
    return HG_Finalize(hg_class) == HG_SUCCESS && static_na_info.max_contexts;
}
