/* SPDX-License-Identifier: BSD-3-Clause */
/* Accounting of the memory that a context holds for its peers. */
#include "hg/hold.h"

#include "base/lock.h"
#include "base/log.h"
#include "mercury.h"
#include "na/call.h"
#include "na/peer.h"

#include <stdlib.h>

/* Memory of one peer, added while half of the total was in use. */
struct hg_share {
    LIST_ENTRY(hg_share) next;
    struct hg_addr peer;
    uint64_t bytes;
};

void
hg_holds_init(struct hg_holds *holds, uint64_t total, struct base_lock *lock,
    _Atomic uint64_t *refused, unsigned context_id)
{
    holds->total = total;
    holds->lock = lock;
    holds->refused = refused;
    holds->context_id = context_id;
    LIST_INIT(&holds->shares);
}

/* Peers can cause this any number of times: logged the first time, and then at
 * each power of two. */
hg_return_t
hg_hold_refuse(
    struct hg_holds *holds, hg_return_t ret, uint64_t size, uint64_t limit)
{
    uint64_t count =
        1 + atomic_fetch_add_explicit(holds->refused, 1, memory_order_relaxed);
    uint64_t beside = ret == HG_AGAIN ? atomic_load_explicit(
                                            &holds->bytes, memory_order_relaxed)
                                      : 0;

    if ((count & (count - 1)) == 0)
        LOG_WARNING(HG,
            "context %u: payload of %llu bytes refused, %llu in use, "
            "limit %llu: %s (%llu so far)",
            holds->context_id, (unsigned long long) size,
            (unsigned long long) beside, (unsigned long long) limit,
            HG_Error_to_string(ret), (unsigned long long) count);
    return ret;
}

/* Finds or creates the share of a peer; NULL: no memory. Called under the lock.
 */
static struct hg_share *
share_find(struct hg_holds *holds, const struct hg_addr *peer)
{
    struct na_class *na_class = peer->na_class;
    struct hg_share *share;

    LIST_FOREACH (share, &holds->shares, next)
        if (share->peer.na_class == na_class &&
            na_addr_same(na_class, share->peer.addr, peer->addr))
            return share;
    share = calloc(1, sizeof *share);
    if (!share)
        return NULL;
    na_peer_copy(&share->peer, peer);
    LIST_INSERT_HEAD(&holds->shares, share, next);
    return share;
}

/* Called under the lock. */
static hg_return_t
share_take(struct hg_hold *hold, struct hg_holds *holds,
    const struct hg_addr *peer, uint64_t most)
{
    struct hg_share *share = share_find(holds, peer);

    if (!share)
        return HG_NOMEM;
    if (share->bytes > 0 && share->bytes + hold->bytes > most)
        return HG_AGAIN;
    share->bytes += hold->bytes;
    hold->share = share;
    return HG_SUCCESS;
}

void
hg_hold_release(struct hg_hold *hold, struct hg_holds *holds)
{
    struct hg_share *share = hold->share;

    if (share) {
        base_lock_acquire(holds->lock);
        share->bytes -= hold->bytes;
        if (share->bytes == 0) {
            LIST_REMOVE(share, next);
            na_peer_release(&share->peer);
            free(share);
        }
        base_lock_release(holds->lock);
    }
    atomic_fetch_sub_explicit(&holds->bytes, hold->bytes, memory_order_relaxed);
    *hold = (struct hg_hold){0};
}

hg_return_t
hg_hold_take(struct hg_hold *hold, struct hg_holds *holds,
    const struct hg_addr *peer, size_t size, size_t beside)
{
    uint64_t total = holds->total, bytes = size + beside, before;
    hg_return_t ret = HG_SUCCESS;

    if (bytes > total)
        return hg_hold_refuse(holds, HG_MSGSIZE, size, total);
    before =
        atomic_fetch_add_explicit(&holds->bytes, bytes, memory_order_relaxed);
    *hold = (struct hg_hold){.bytes = bytes};
    if (before > total - bytes) {
        hg_hold_release(hold, holds);
        return hg_hold_refuse(holds, HG_AGAIN, size, total);
    }
    if (peer && before > total / 2) {
        base_lock_acquire(holds->lock);
        ret = share_take(hold, holds, peer, total / 8);
        base_lock_release(holds->lock);
    }
    if (ret != HG_SUCCESS)
        hg_hold_release(hold, holds);
    if (ret == HG_AGAIN)
        return hg_hold_refuse(holds, ret, size, total / 8);
    return ret;
}
