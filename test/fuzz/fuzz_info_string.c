/* SPDX-License-Identifier: BSD-3-Clause */
/* Info strings, and their names: "plugin+protocol://device/host:port". */
#include "fuzz.h"

#include "plugin/info_string.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_log_drop();
    return 0;
}

/* The parts together are the string. */
static void
check_parts(const char *text, const struct plugin_info *info)
{
    char again[PLUGIN_INFO_MAX + 8];
    int length = snprintf(again, sizeof again, "%s%s%s%s%s",
        info->plugin ? info->plugin : "", info->plugin ? "+" : "",
        info->protocol, info->name ? "://" : "", info->name ? info->name : "");

    fuzz_require(length > 0 && length < (int) sizeof again);
    fuzz_require(strncmp(text, again, (size_t) length) == 0);
    fuzz_require(text[length] == '\0' || strcmp(text + length, "://") == 0);
    fuzz_require(!info->plugin || plugin_info_is_plugin(info->plugin));
    fuzz_require(plugin_info_is_protocol(info->protocol));
    fuzz_require(info->port == -1 && !info->host && !info->device);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    char *text = fuzz_text(&input);
    bool split = false;
    struct plugin_info info;

    if (plugin_info_parse(text, &info) == NA_SUCCESS) {
        fuzz_require(!plugin_info_fault(text, false));
        check_parts(text, &info);
        split = plugin_info_split(&info) == NA_SUCCESS;
        fuzz_require(!split || (info.port >= -1 && info.port <= UINT16_MAX));
        plugin_info_finish(&info);
    } else {
        fuzz_require(plugin_info_fault(text, false) != NULL);
    }
    fuzz_require(split == !plugin_info_fault(text, true));
    free(text);
    return 0;
}
