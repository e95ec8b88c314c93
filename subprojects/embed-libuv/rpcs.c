/* SPDX-License-Identifier: BSD-3-Clause */
#include "rpcs.h"

hg_id_t
rpcs_register(hg_class_t *hg_class, hg_rpc_cb_t handler)
{
    return HG_Register_name(
        hg_class, "uv_later", hg_proc_later_in_t, hg_proc_later_out_t, handler);
}
