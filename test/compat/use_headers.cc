// SPDX-License-Identifier: BSD-3-Clause
// The headers as C++ programs use them: all of use_headers.c, and what only C++
// can write.
#include "use_headers.c"

namespace service {

struct Options {
    hg_init_info info = HG_INIT_INFO_INITIALIZER;
    na_init_info transport = NA_INIT_INFO_INITIALIZER;
};

hg_class_t *
open(const char *name)
{
    auto hg_init_info = HG_INIT_INFO_INITIALIZER;
    const struct hg_init_info same {
        HG_INIT_INFO_INITIALIZER
    };
    Options options;

    options.info.na_init_info.max_contexts = same.na_init_info.max_contexts;
    options.info = hg_init_info;
    options.transport = NA_INIT_INFO_INITIALIZER;
    return HG_Init_opt2(name, true, HG_VERSION(2, 4), &options.info);
}

hg_return_t
find(hg_class_t *hg_class, hg_context_t *context, hg_addr_t *addr_p)
{
    auto callback = [](const struct hg_cb_info *callback_info) {
        return callback_info->ret;
    };
    hg_return_t ret = HG_Addr_lookup(
        context, callback, addr_p, "na+sm://1-0", HG_OP_ID_IGNORE);

    return ret == HG_SUCCESS ? HG_Addr_lookup(hg_class, "na+sm://1-0", addr_p)
                             : ret;
}

} // namespace service
