/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of the service that all three programs share. */
#include "blocks.h"

#include <stdio.h>

struct block_ids
blocks_register(hg_class_t *hg_class, hg_rpc_cb_t on_write, hg_rpc_cb_t on_read)
{
    return (struct block_ids){.write = MERCURY_REGISTER(hg_class, "block_write",
                                  block_in_t, block_out_t, on_write),
        .read = MERCURY_REGISTER(
            hg_class, "block_read", block_in_t, block_out_t, on_read)};
}

void
blocks_answer(hg_handle_t handle, hg_return_t ret, uint64_t size)
{
    block_out_t out = {.ret = (int32_t) ret, .size = size};
    hg_return_t sent = HG_Respond(handle, NULL, NULL, &out);

    if (sent != HG_SUCCESS)
        fprintf(stderr, "no answer: %s\n", HG_Error_to_string(sent));
    HG_Destroy(handle);
}

int
blocks_print_address(hg_class_t *hg_class, const char *label)
{
    char text[512];
    hg_size_t size = sizeof text;
    hg_addr_t self;
    hg_return_t ret = HG_Addr_self(hg_class, &self);

    if (ret == HG_SUCCESS) {
        ret = HG_Addr_to_string(hg_class, text, &size, self);
        HG_Addr_free(hg_class, self);
    }
    if (ret != HG_SUCCESS) {
        fprintf(stderr, "no address: %s\n", HG_Error_to_string(ret));
        return -1;
    }
    printf("%s%s\n", label, text);
    return fflush(stdout);
}
