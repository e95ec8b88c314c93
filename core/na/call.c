/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of a plugin for a class, with checked results. */
#include "na/call.h"

#include "na/violation.h"

#define ADDR_SIZE_MAX NA_PLUGIN_ADDR_SIZE_MAX
#define MEM_SIZE_MAX UINT32_MAX

/* Returns the code of a call for which OK requires an output. */
static na_return_t
with_output(const struct na_class *na_class, const char *entry, na_return_t ret,
    const void *output)
{
    if (ret != NA_SUCCESS || output)
        return ret;
    na_violation(na_class, "%s returned OK and NULL", entry);
    return NA_PROTOCOL_ERROR;
}

na_return_t
na_buf_alloc(struct na_class *na_class, size_t size, uint32_t kinds,
    void **buffer_p, void **buffer_data_p)
{
    na_return_t ret;

    *buffer_p = NULL;
    *buffer_data_p = NULL;
    ret = na_result(na_class, "buf_alloc",
        na_class->ops.buf_alloc(
            na_class->plugin_class, size, kinds, buffer_p, buffer_data_p));
    return with_output(na_class, "buf_alloc", ret, *buffer_p);
}

na_return_t
na_buf_init(struct na_class *na_class, void *buffer, size_t size, uint32_t kind)
{
    return na_result(na_class, "buf_init",
        na_class->ops.buf_init(na_class->plugin_class, buffer, size, kind));
}

na_return_t
na_addr_own(struct na_class *na_class, na_plugin_addr **addr_p)
{
    na_return_t ret;

    *addr_p = NULL;
    ret = na_result(na_class, "addr_self",
        na_class->ops.addr_self(na_class->plugin_class, addr_p));
    return with_output(na_class, "addr_self", ret, *addr_p);
}

bool
na_addr_same(
    struct na_class *na_class, const na_plugin_addr *a, const na_plugin_addr *b)
{
    int32_t equal = na_class->ops.addr_equal(na_class->plugin_class, a, b);

    if (__builtin_expect(equal != 0 && equal != 1, 0))
        na_violation(
            na_class, "addr_equal returned %d, which is not 0 or 1", equal);
    return equal == 1;
}

/* Returns the code of a call that returns a size. room: bytes of the caller's
 * buffer. */
static na_return_t
with_size(const struct na_class *na_class, const char *entry, int32_t code,
    uint64_t size, uint64_t most, uint64_t room)
{
    na_return_t ret = na_result(na_class, entry, code);

    if (ret != NA_SUCCESS && ret != NA_OVERFLOW)
        return ret;
    if (ret == NA_SUCCESS && size > room) {
        na_violation(na_class, "%s returned OK with %llu bytes in %llu", entry,
            (unsigned long long) size, (unsigned long long) room);
        return NA_PROTOCOL_ERROR;
    }
    if (size > 0 && size <= most)
        return ret;
    na_violation(na_class, "%s returned size %llu, allowed are 1 to %llu",
        entry, (unsigned long long) size, (unsigned long long) most);
    return NA_PROTOCOL_ERROR;
}

na_return_t
na_addr_serialize(struct na_class *na_class, const na_plugin_addr *addr,
    void *buffer, uint64_t *size_p)
{
    uint64_t room = buffer ? *size_p : UINT64_MAX;
    int32_t code = na_class->ops.addr_serialize(
        na_class->plugin_class, addr, buffer, size_p);

    return with_size(
        na_class, "addr_serialize", code, *size_p, ADDR_SIZE_MAX, room);
}

na_return_t
na_addr_text(struct na_class *na_class, const na_plugin_addr *addr,
    char *buffer, uint64_t *size_p)
{
    uint64_t room = buffer ? *size_p : UINT64_MAX;
    int32_t code = na_class->ops.addr_to_string(
        na_class->plugin_class, addr, buffer, size_p);
    na_return_t ret = with_size(
        na_class, "addr_to_string", code, *size_p, ADDR_SIZE_MAX, room);

    if (ret != NA_SUCCESS || !buffer || buffer[*size_p - 1] == '\0')
        return ret;
    na_violation(na_class,
        "addr_to_string wrote %llu bytes that do not end with a zero",
        (unsigned long long) *size_p);
    return NA_PROTOCOL_ERROR;
}

na_return_t
na_mem_serialize(struct na_class *na_class, const na_plugin_mem *mem,
    void *buffer, uint64_t *size_p)
{
    uint64_t room = buffer ? *size_p : UINT64_MAX;
    int32_t code = na_class->ops.mem_serialize(
        na_class->plugin_class, mem, buffer, size_p);

    return with_size(
        na_class, "mem_serialize", code, *size_p, MEM_SIZE_MAX, room);
}

na_return_t
na_addr_deserialize(struct na_class *na_class, const void *form,
    uint64_t length, na_plugin_addr **addr_p)
{
    na_return_t ret;

    *addr_p = NULL;
    ret = na_result_of_bytes(na_class, "addr_deserialize",
        na_class->ops.addr_deserialize(
            na_class->plugin_class, form, length, addr_p));
    return with_output(na_class, "addr_deserialize", ret, *addr_p);
}

na_return_t
na_mem_deserialize(struct na_class *na_class, const void *form, uint64_t length,
    na_plugin_mem **mem_p)
{
    na_return_t ret;

    *mem_p = NULL;
    ret = na_result_of_bytes(na_class, "mem_deserialize",
        na_class->ops.mem_deserialize(
            na_class->plugin_class, form, length, mem_p));
    if (ret != NA_SUCCESS)
        *mem_p = NULL;
    return with_output(na_class, "mem_deserialize", ret, *mem_p);
}

na_return_t
na_mem_segments(struct na_class *na_class, const na_plugin_segment *segments,
    uint64_t count, uint32_t access, uint32_t mem_type, uint64_t device,
    na_plugin_mem **mem_p)
{
    const na_plugin_mem_info info = {.size = sizeof info,
        .segments = segments,
        .count = count,
        .access = access,
        .mem_type = mem_type,
        .device = device};
    na_return_t ret;

    *mem_p = NULL;
    ret = na_result(na_class, "mem_register",
        na_class->ops.mem_register(na_class->plugin_class, &info, mem_p));
    if (ret != NA_SUCCESS)
        *mem_p = NULL;
    return with_output(na_class, "mem_register", ret, *mem_p);
}
