/* SPDX-License-Identifier: BSD-3-Clause */
/* The requests and answers of talaria copy, and the entries of a listing.
 *
 *   u8 which, its bytes */
#include "loop_plugin.h"
#include "round.h"

#include "copy/proto.h"
#include "talaria.h"

static hg_class_t *hg_class;

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_log_drop();
    fuzz_require(talaria_plugin_register(&loop_plugin) == NA_SUCCESS);
    hg_class = copy_proto_init("loop+mem", true);
    fuzz_require(hg_class != NULL);
    return 0;
}

#define TYPE(name)                                                             \
    {                                                                          \
        hg_proc_##name, sizeof(name)                                           \
    }

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        hg_proc_cb_t proc_cb;
        size_t size;
    } types[] = {TYPE(copy_hello_in_t), TYPE(copy_hello_out_t),
        TYPE(copy_auth_in_t), TYPE(copy_auth_out_t), TYPE(copy_session_in_t),
        TYPE(copy_status_out_t), TYPE(copy_path_in_t), TYPE(copy_stat_out_t),
        TYPE(copy_open_out_t), TYPE(copy_list_in_t), TYPE(copy_list_out_t),
        TYPE(copy_mode_in_t), TYPE(copy_mkdir_out_t), TYPE(copy_create_in_t),
        TYPE(copy_create_out_t), TYPE(copy_chunk_in_t), TYPE(copy_commit_in_t),
        TYPE(copy_verify_in_t), TYPE(copy_close_in_t), TYPE(copy_close_out_t),
        TYPE(copy_link_out_t), TYPE(copy_link_in_t), TYPE(copy_remove_in_t),
        TYPE(copy_entry_t)};
    struct fuzz_input input = {data, size};
    unsigned type = fuzz_u8(&input) % (sizeof types / sizeof types[0]);

    fuzz_round(
        hg_class, types[type].proc_cb, types[type].size, input.at, input.left);
    return 0;
}
