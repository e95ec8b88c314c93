/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses as text and as bytes, registrations as bytes, of ofi, over TCP.
 *
 *   u8 which of them, then its bytes */
#include "fuzz.h"

extern const na_plugin NA_PLUGIN_SYMBOL(ofi);

static struct fuzz_class cls;

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_class_open(&cls, &NA_PLUGIN_SYMBOL(ofi), "tcp", "127.0.0.1", true);
    return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_class_decode(&cls, data, size);
    return 0;
}
