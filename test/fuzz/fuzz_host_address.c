/* SPDX-License-Identifier: BSD-3-Clause */
/* Strings with an address on the peer's own node behind "#sm=". What is taken
 * apart is put together again, and is the same. */
#include "fuzz.h"

#include "hg/host_address.h"

#include <stdlib.h>
#include <string.h>

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_log_drop();
    return 0;
}

static void
put_together(const char *text, const struct hg_host_address *address)
{
    char middle[HG_HOST_ADDRESS_MIDDLE];
    size_t length =
        hg_host_address_middle(address->host, address->user, middle);
    const char *behind = text + address->main_length;

    fuzz_require(length <= sizeof middle && length <= strlen(behind));
    /* The id of a host may be written in capital letters. */
    fuzz_require(strncasecmp(behind, middle, length) == 0);
    fuzz_require(address->local == behind + length);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    char *text = fuzz_text(&input);
    struct hg_host_address address;

    if (hg_host_address_parse(text, &address) == HG_SUCCESS) {
        fuzz_require(address.main_length <= strlen(text));
        if (address.local)
            put_together(text, &address);
    }
    free(text);
    return 0;
}
