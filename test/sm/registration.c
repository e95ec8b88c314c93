/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "registration.h"

na_plugin_mem *
register_region(struct node *node, void *base, uint64_t length, uint32_t access)
{
    na_plugin_segment segment = {.base = base, .length = length};
    na_plugin_mem *mem;

    ck_assert_int_eq(node->ops->mem_register(node->cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             &segment, 1, access, 0, 0},
                         &mem),
        NA_PLUGIN_OK);
    return mem;
}

struct form
form_of(struct node *node, const na_plugin_mem *mem)
{
    struct form form = {.size = sizeof(form.bytes)};

    ck_assert_int_eq(
        node->ops->mem_serialize(node->cls, mem, form.bytes, &form.size),
        NA_PLUGIN_OK);
    return form;
}

na_plugin_mem *
unpack(struct node *node, const struct form *form)
{
    na_plugin_mem *mem;

    ck_assert_int_eq(
        node->ops->mem_deserialize(node->cls, form->bytes, form->size, &mem),
        NA_PLUGIN_OK);
    return mem;
}

int32_t
transfer(struct node *node, bool put, na_plugin_mem *local,
    na_plugin_mem *remote, uint64_t length, na_plugin_addr *peer)
{
    void *op = op_new(node);
    int32_t ret = put ? node->ops->put(node->ctx[0], op, local, 0, remote, 0,
                            length, peer, 0, 0)
                      : node->ops->get(node->ctx[0], op, local, 0, remote, 0,
                            length, peer, 0, 0);

    if (ret == NA_PLUGIN_PENDING)
        ret = await_op(node, 0, op).status;
    free(op);
    return ret == NA_PLUGIN_DONE ? NA_PLUGIN_OK : ret;
}
