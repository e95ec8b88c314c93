/* SPDX-License-Identifier: BSD-3-Clause */
/* Manifests: one that is read is written, and the same when it is read again. */
#include "fuzz.h"

#include "plugin/info_string.h"
#include "plugin/manifest.h"

#include <stdlib.h>
#include <string.h>

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_log_drop();
    return 0;
}

static struct plugin_manifest *
read_bytes(const void *bytes, size_t size)
{
    struct fuzz_file file = fuzz_file_make(bytes, size);
    struct plugin_manifest *manifest = NULL;
    struct plugin_fault fault = {0};

    if (plugin_manifest_read(file.path, &manifest, &fault) != NA_SUCCESS)
        manifest = NULL;
    fuzz_file_drop(&file);
    return manifest;
}

static void
check(const struct plugin_manifest *manifest)
{
    struct plugin_manifest *again;
    char *text = plugin_manifest_format(manifest), *text_again;

    fuzz_require(plugin_info_is_plugin(manifest->name));
    fuzz_require(plugin_manifest_is_version(manifest->version));
    for (char **protocol = manifest->protocols; *protocol; protocol++)
        fuzz_require(plugin_info_is_protocol(*protocol));
    fuzz_require(text != NULL);
    again = read_bytes(text, strlen(text));
    if (again) { /* longer than one may be, unless it is read */
        text_again = plugin_manifest_format(again);
        fuzz_require(text_again && strcmp(text, text_again) == 0);
        free(text_again);
        plugin_manifest_destroy(again);
    } else {
        fuzz_require(strlen(text) > PLUGIN_MANIFEST_MAX);
    }
    free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct plugin_manifest *manifest = read_bytes(data, size);

    if (manifest)
        check(manifest);
    plugin_manifest_destroy(manifest);
    return 0;
}
