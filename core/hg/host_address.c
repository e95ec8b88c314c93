/* SPDX-License-Identifier: BSD-3-Clause */
/* Strings of peers with an address on their own node. */
#include "hg/host_address.h"

#include "base/log.h"

#include <string.h>

static const char mark[] = "#sm=";

#define MARK_LENGTH (sizeof mark - 1)

_Static_assert(
    HG_HOST_ADDRESS_MIDDLE == MARK_LENGTH + NA_SM_HOST_ID_LEN + sizeof ":" - 1,
    "mark, id, colon");

/* One word of ASCII. */
static bool
is_word(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    return length > 0;
}

static bool
parse(const char *text, const char *middle, struct hg_host_address *address)
{
    char id[NA_SM_HOST_ID_LEN + 1];
    size_t length = strnlen(text, HG_HOST_ADDRESS_MAX);
    size_t front = (size_t) (middle - text);

    if (length == HG_HOST_ADDRESS_MAX || !is_word(text, length) || front == 0 ||
        length - front <= HG_HOST_ADDRESS_MIDDLE ||
        middle[HG_HOST_ADDRESS_MIDDLE - 1] != ':')
        return false;
    memcpy(id, middle + MARK_LENGTH, NA_SM_HOST_ID_LEN);
    id[NA_SM_HOST_ID_LEN] = '\0';
    address->main_length = front;
    address->near = middle + HG_HOST_ADDRESS_MIDDLE;
    return !strstr(address->near, mark) &&
           NA_SM_String_to_host_id(id, &address->host) == NA_SUCCESS;
}

hg_return_t
hg_host_address_parse(const char *text, struct hg_host_address *address_p)
{
    struct hg_host_address address = {0};
    const char *middle = strstr(text, mark);

    if (!middle) {
        *address_p = (struct hg_host_address){.main_length = strlen(text)};
        return HG_SUCCESS;
    }
    if (!parse(text, middle, &address)) {
        LOG_ERROR(HG, "\"%.200s\" is no address with one of its node behind it",
            text);
        return HG_INVALID_ARG;
    }
    *address_p = address;
    return HG_SUCCESS;
}

void
hg_host_address_middle(na_sm_id_t host, char *to)
{
    char id[NA_SM_HOST_ID_LEN + 1];

    NA_SM_Host_id_to_string(host, id);
    memcpy(to, mark, MARK_LENGTH);
    memcpy(to + MARK_LENGTH, id, NA_SM_HOST_ID_LEN);
    to[HG_HOST_ADDRESS_MIDDLE - 1] = ':';
}
