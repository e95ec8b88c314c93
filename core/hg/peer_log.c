/* SPDX-License-Identifier: BSD-3-Clause */
/* Log lines about a handle's call and its peer. */
#include "hg/peer_log.h"

#include "hg/handle.h"
#include "na/addr.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the prefix: address of the peer, RPC and context. Longer ones are
 * cut. */
#define PREFIX_MAX 256U
#define TEXT_MAX 256U

static void
describe_peer(const struct hg_handle *handle, char prefix[PREFIX_MAX])
{
    char peer[PREFIX_MAX / 2] = "?";
    size_t size = sizeof peer;

    if (handle->peer.addr && na_addr_to_string(handle->peer.na_class,
                                 handle->peer.addr, peer, &size) != NA_SUCCESS)
        strcpy(peer, "?");
    snprintf(prefix, PREFIX_MAX, "%s %s, RPC %s (%" PRIu64 "), context %u",
        handle->role == HG_ROLE_ORIGIN ? "to" : "from", peer,
        handle->rpc && handle->rpc->name ? handle->rpc->name : "?",
        handle->info.id, hg_context_na(handle->context)->id);
}

/* Both sides know the numbers of a call's id: the origin's context, the tag of
 * the response, and the cookie. The origin's address makes it unique. */
void
hg_stage_log(const struct hg_handle *handle, const char *stage, hg_return_t ret)
{
    char prefix[PREFIX_MAX];

    if (!base_log_wanted(BASE_LOG_DEBUG))
        return;
    describe_peer(handle, prefix);
    base_log_write(BASE_LOG_HG, BASE_LOG_DEBUG, __FILE__, __LINE__,
        "%s: call %u.%" PRIx64 ".%u: %s: %s", prefix,
        handle->role == HG_ROLE_ORIGIN ? hg_context_na(handle->context)->id
                                       : handle->info.context_id,
        handle->tag, handle->cookie, stage, HG_Error_to_string(ret));
}

void
hg_log_peer(const struct hg_handle *handle, int32_t level,
    _Atomic uint64_t *count, const char *file, unsigned line,
    const char *format, ...)
{
    char prefix[PREFIX_MAX], text[TEXT_MAX], so_far[BASE_LOG_SO_FAR_MAX];
    va_list args;

    if (!base_log_is_due(count, so_far))
        return;
    describe_peer(handle, prefix);
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    base_log_write(
        BASE_LOG_HG, level, file, line, "%s: %s%s", prefix, text, so_far);
}
