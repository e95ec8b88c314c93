/* SPDX-License-Identifier: BSD-3-Clause */
/* Address strings with a local address. */
#include "hg/host_address.h"

#include "base/log.h"

#include <string.h>

static const char mark[] = "#sm=";

#define MARK_LENGTH (sizeof mark - 1)

/* Returns whether the text is printable ASCII without spaces. */
static bool
is_word(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    return length > 0;
}

/* Parses a user's number or "any", up to a colon. Returns what follows, or
 * NULL. */
static const char *
parse_user(const char *text, char user[HG_HOST_USER_MAX])
{
    size_t length = strspn(text, "0123456789");

    if (length == 0 && strncmp(text, "any", 3) == 0)
        length = 3;
    if (length == 0 || length >= HG_HOST_USER_MAX || text[length] != ':')
        return NULL;
    memcpy(user, text, length);
    user[length] = '\0';
    return text + length + 1;
}

static bool
parse(const char *text, const char *middle, struct hg_host_address *address)
{
    char id[NA_SM_HOST_ID_LEN + 1];
    size_t length = strnlen(text, HG_HOST_ADDRESS_MAX);
    const char *after = middle + MARK_LENGTH + NA_SM_HOST_ID_LEN;

    address->main_length = (size_t) (middle - text);
    if (length == HG_HOST_ADDRESS_MAX || !is_word(text, length) ||
        address->main_length == 0 || after >= text + length || *after != '@')
        return false;
    memcpy(id, middle + MARK_LENGTH, NA_SM_HOST_ID_LEN);
    id[NA_SM_HOST_ID_LEN] = '\0';
    address->local = parse_user(after + 1, address->user);
    return address->local && *address->local && !strstr(address->local, mark) &&
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
        LOG_ERROR(HG, "malformed local part in address \"%.200s\"", text);
        return HG_INVALID_ARG;
    }
    *address_p = address;
    return HG_SUCCESS;
}

size_t
hg_host_address_middle(
    na_sm_id_t host, const char *user, char to[HG_HOST_ADDRESS_MIDDLE])
{
    char id[NA_SM_HOST_ID_LEN + 1];
    size_t length = strlen(user);
    char *end = to + MARK_LENGTH + NA_SM_HOST_ID_LEN;

    NA_SM_Host_id_to_string(host, id);
    memcpy(to, mark, MARK_LENGTH);
    memcpy(to + MARK_LENGTH, id, NA_SM_HOST_ID_LEN);
    *end++ = '@';
    memcpy(end, user, length);
    end[length] = ':';
    return (size_t) (end + length + 1 - to);
}
