/* SPDX-License-Identifier: BSD-3-Clause */
/* Checking the descriptor of a plugin. */
#include "plugin/descriptor.h"

#include "na_plugin.h"
#include "plugin/info_string.h"
#include "plugin/manifest.h"
#include "setting/setting.h"

/* The first bytes of a descriptor, equal in every version. */
#define HEAD_SIZE 16U

_Static_assert(offsetof(na_plugin, name) == HEAD_SIZE,
    "the first 16 bytes of a descriptor never change");

#define KNOWN_FLAGS (NA_PLUGIN_OPAQUE_NAME | NA_PLUGIN_OTHER_PROTOCOLS)

static na_return_t
refuse(struct plugin_fault *fault, const char *text)
{
    return plugin_fault_set(
        fault, TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR, "%s", text);
}

/* Checks the members that identify the version of the table. */
static na_return_t
check_head(const na_plugin *plugin, size_t mapped, struct plugin_fault *fault)
{
    if ((uintptr_t) plugin % _Alignof(na_plugin) != 0 || mapped < HEAD_SIZE)
        return refuse(fault, "its descriptor is not a na_plugin");
    if (plugin->magic != NA_PLUGIN_MAGIC)
        return plugin_fault_set(fault, TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR,
            "its magic is 0x%08x, wanted 0x%08x: not built on this na_plugin.h",
            plugin->magic, NA_PLUGIN_MAGIC);
    if (plugin->abi_major != NA_PLUGIN_ABI_MAJOR)
        return plugin_fault_set(fault, TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR,
            "it is built on transport ABI %u.%u, wanted %u.x",
            plugin->abi_major, plugin->abi_minor, NA_PLUGIN_ABI_MAJOR);
    if (plugin->min_host_minor > NA_PLUGIN_ABI_MINOR)
        return plugin_fault_set(fault, TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR,
            "it needs a core with transport ABI %u.%u, this one has %u.%u",
            plugin->abi_major, plugin->min_host_minor, NA_PLUGIN_ABI_MAJOR,
            NA_PLUGIN_ABI_MINOR);
    if (plugin->size < NA_PLUGIN_SIZE_1_0 || plugin->size > mapped)
        return plugin_fault_set(fault, TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR,
            "its descriptor says that it has %u bytes, wanted at least %zu%s",
            plugin->size, NA_PLUGIN_SIZE_1_0,
            plugin->size > mapped ? " and no more than the symbol has" : "");
    if (plugin->reserved_zero != 0)
        return refuse(fault, "its descriptor's reserved_zero is not 0");
    /* A newer minor version may have defined more flags. */
    if (plugin->abi_minor <= NA_PLUGIN_ABI_MINOR &&
        plugin->flags & ~KNOWN_FLAGS)
        return plugin_fault_set(fault, TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR,
            "its descriptor has flags 0x%x, wanted none but 0x%x",
            plugin->flags, KNOWN_FLAGS);
    return NA_SUCCESS;
}

/* The list may be empty only with NA_PLUGIN_OTHER_PROTOCOLS. */
static na_return_t
check_protocols(const na_plugin *plugin, struct plugin_fault *fault)
{
    size_t count = 0;

    for (; plugin->protocols[count]; count++) {
        if (count == PLUGIN_PROTOCOLS_MAX)
            return plugin_fault_set(fault, TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR,
                "its descriptor lists more than %d protocols",
                PLUGIN_PROTOCOLS_MAX);
        if (!plugin_info_is_protocol(plugin->protocols[count]))
            return plugin_fault_set(fault, TALARIA_STAGE_ABI, NA_PROTOCOL_ERROR,
                "its descriptor's protocols[%zu] is not a protocol's name",
                count);
    }
    if (count == 0 && !(plugin->flags & NA_PLUGIN_OTHER_PROTOCOLS))
        return refuse(fault, "its descriptor lists no protocol");
    return NA_SUCCESS;
}

na_return_t
plugin_descriptor_check(
    const struct na_plugin *plugin, size_t mapped, struct plugin_fault *fault)
{
    char settings_fault[SETTING_FAULT_SIZE];
    na_return_t ret = check_head(plugin, mapped, fault);

    if (ret != NA_SUCCESS)
        return ret;
    if (!plugin->name || !plugin->version || !plugin->protocols ||
        !plugin->info || !plugin->open || !plugin->close)
        return refuse(fault, "its descriptor lacks name, version, protocols, "
                             "info, open or close");
    if (!plugin_info_is_plugin(plugin->name))
        return refuse(fault, "its descriptor's name is not a plugin's name");
    if (!plugin_manifest_is_version(plugin->version))
        return refuse(fault, "its descriptor's version is not 1 to 63 "
                             "printable bytes");
    ret = check_protocols(plugin, fault);
    if (ret == NA_SUCCESS &&
        !setting_list_check(plugin, settings_fault, sizeof settings_fault))
        ret = refuse(fault, settings_fault);
    return ret;
}
