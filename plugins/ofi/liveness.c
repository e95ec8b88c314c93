/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that fall silent, are lost and replaced. libfabric does not end a
 * posted receive if its sender dies; so a peer is pinged while a receive waits
 * for it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "address.h"
#include "common/system.h"
#include "library.h"
#include "liveness.h"
#include "peer.h"
#include "probe.h"
#include "reject.h"

#define PROBE_NS (20 * TP_MS)         /* after which the peer is probed */
#define AGAIN_NS (TP_SECOND)          /* between two probes */
#define PATIENCE_LEAST_NS (TP_SECOND) /* of a probe */
#define UNANSWERED_MAX 3U             /* pings, after which no more are sent */
#define STUCK_NS (3 * TP_SECOND) /* after which the likely cause is logged */
#define PRESENT_NS (5 * TP_MS)   /* for which a peer of the node is there */

/* That a process has ended is no error of this side; that none was ever heard at
 * an address may be one. */
static bool
was_heard(const struct ofi_peer *peer)
{
    return peer->number != 0 || peer->forgotten != 0 ||
           atomic_load_explicit(&peer->addr->known, memory_order_relaxed);
}

/* The first message to a peer finds no listener, or no route. Once, until it is
 * heard. */
static void
log_unconnected(struct ofi_endpoint *ep, struct ofi_peer *peer, int error)
{
    bool refused = error == ECONNREFUSED;
    char text[OFI_TEXT_MAX];

    if (!refused && error != EHOSTUNREACH && error != ENETUNREACH)
        return;
    if (peer->absence_logged || peer->connected || was_heard(peer) ||
        ep->cls->conduct.probe != OFI_PROBE_PORT)
        return;
    peer->absence_logged = true;
    ofi_peer_print(peer, ep->cls->trait, text);
    TP_LOG(ep->cls->host, ERROR, "ofi+%s://%s: %s", ep->cls->trait->scheme,
        text,
        refused ? "connection refused: no process listens at this address"
                : strerror(error));
}

/* Once, until the peer is heard again. Nothing in shared memory is an error. */
static void
log_absence(struct ofi_endpoint *ep, struct ofi_peer *peer, int error)
{
    char text[OFI_TEXT_MAX];
    uint64_t since = peer->stuck_ns != 0 ? peer->stuck_ns : peer->heard_ns;

    if (peer->absence_logged || !ofi_peer_is_wanted(peer) ||
        ep->cls->conduct.probe != OFI_PROBE_PORT)
        return;
    peer->absence_logged = true;
    ofi_peer_print(peer, ep->cls->trait, text);
    if (error == ETIMEDOUT && since != 0)
        TP_LOG(ep->cls->host, ERROR,
            "ofi+%s://%s: no answer within %" PRIu64
            " s: its host is down, or a firewall drops packets "
            "(ofi.connect_timeout, ofi.host_timeout)",
            ep->cls->trait->scheme, text,
            (tp_now() - since + TP_SECOND / 2) / TP_SECOND);
    else
        TP_LOG(ep->cls->host, ERROR, "ofi+%s://%s: %s", ep->cls->trait->scheme,
            text, strerror(error));
}

/* No process listens at a peer's address. */
static void
not_there(struct ofi_endpoint *ep, struct ofi_peer *peer, int error)
{
    if (error == 0)
        return;
    if (error != ECONNREFUSED)
        log_absence(ep, peer, error);
    else if (ofi_peer_is_wanted(peer))
        log_unconnected(ep, peer, error);
    peer->suspect = true;
    ep->cls->upcalls->detour(ep, peer);
    ofi_liveness_lose(ep, peer, NA_PLUGIN_E_HOSTUNREACH, strerror(error));
}

static void
probe(struct ofi_endpoint *ep, struct ofi_peer *peer, uint64_t now,
    uint64_t patience_ns)
{
    not_there(ep, peer, ofi_probe_begin(ep, peer, now, patience_ns));
}

void
ofi_liveness_probe(struct ofi_endpoint *ep, struct ofi_peer *peer, uint64_t now)
{
    probe(ep, peer, now, ep->cls->connect_ns);
}

/* Whether a process of the node exists at this moment. libfabric puts messages for
 * it into memory, which stays after it has ended; and if it was killed while it
 * held the lock of that memory, fi_send never returns. */
static bool
is_present(struct ofi_endpoint *ep, struct ofi_peer *peer, uint64_t now)
{
    peer->suspect = false;
    ofi_liveness_probe(ep, peer, now);
    return !peer->suspect;
}

int32_t
ofi_liveness_look_present(struct ofi_endpoint *ep, struct ofi_peer *peer)
{
    uint64_t now = tp_now();
    if (!peer->suspect && now - peer->probed_ns < PRESENT_NS)
        return NA_PLUGIN_OK;
    return is_present(ep, peer, now) ? NA_PLUGIN_OK : NA_PLUGIN_E_HOSTUNREACH;
}

bool
ofi_liveness_heard(
    struct ofi_endpoint *ep, struct ofi_peer *peer, uint64_t number)
{
    peer->heard = true;
    peer->suspect = false;
    peer->absence_logged = false;
    peer->unanswered = 0;
    if (peer->number == number)
        return true;
    if (peer->forgotten == number)
        return false;
    if (peer->number != 0) {
        ep->counters.replaced++;
        peer->forgotten = peer->number;
        if (peer->context == 0 && ofi_is_first(ep))
            atomic_store_explicit(
                &peer->addr->forgotten, peer->number, memory_order_relaxed);
        if (peer->context == 0)
            ep->cls->upcalls->replaced(ep, peer);
        ofi_liveness_lose(ep, peer, NA_PLUGIN_E_HOSTUNREACH,
            "another class is at its address now");
        ep->cls->upcalls->forget(ep, peer);
    }
    peer->number = number;
    atomic_store_explicit(&peer->addr->known, true, memory_order_relaxed);
    ep->connects = ep->due = true;
    return true;
}

static void
log_loss(struct ofi_endpoint *ep, struct ofi_peer *peer, const char *why)
{
    char text[OFI_TEXT_MAX];

    if (!ofi_peer_is_wanted(peer))
        return;
    ep->counters.lost++;
    ofi_peer_print(peer, ep->cls->trait, text);
    TP_LOG(ep->cls->host, INFO, "%s: pending operations end: %s", text, why);
}

void
ofi_liveness_lose(struct ofi_endpoint *ep, struct ofi_peer *peer,
    int32_t status, const char *why)
{
    peer->stale = peer->context != 0;
    log_loss(ep, peer, why);
    ep->cls->upcalls->end(ep, peer, status);
    peer->unanswered = 0;
    ofi_peer_unstick(ep, peer);
}

void
ofi_liveness_failed(struct ofi_endpoint *ep, struct ofi_peer *peer, int error)
{
    ep->counters.completion_errors++;
    if (!ofi_error_is_loss(error))
        return;
    log_unconnected(ep, peer, error);
    ep->cls->upcalls->detour(ep, peer);
    ofi_liveness_lose(
        ep, peer, NA_PLUGIN_E_HOSTUNREACH, ofi_library.strerror(error));
}

/* It waits for room in libfabric. */
static void
look_stuck(struct ofi_endpoint *ep, struct ofi_peer *peer, uint64_t now)
{
    uint64_t since = now - peer->stuck_ns;
    bool probes = ep->cls->conduct.probe != OFI_PROBE_NONE;

    if (since >= PROBE_NS && probes &&
        (peer->probed_ns == 0 || now - peer->probed_ns >= AGAIN_NS ||
            peer->probed_ns < peer->stuck_ns))
        ofi_liveness_probe(ep, peer, now);
    if (!probes && since >= ep->cls->retry_ns)
        ofi_liveness_lose(ep, peer, NA_PLUGIN_E_HOSTUNREACH,
            "libfabric takes nothing for it for the time of ofi.retry_timeout");
    else if (since >= ep->cls->send_ns)
        ofi_liveness_lose(ep, peer, NA_PLUGIN_E_TIMEOUT,
            "libfabric takes nothing for it for the time of ofi.send_timeout");
    else if (since >= STUCK_NS)
        ofi_foreign_suspect(ep, peer, since / TP_SECOND);
}

/* Probes a peer that is silent, so that the answer is there, or not, by the time
 * of ofi.host_timeout. */
static void
probe_silent(struct ofi_endpoint *ep, struct ofi_peer *peer, uint64_t now)
{
    uint64_t end = peer->heard_ns + ep->cls->host_ns;

    probe(ep, peer, now,
        end > now + PATIENCE_LEAST_NS ? end - now : PATIENCE_LEAST_NS);
}

/* After some pings less and less often, so that one that is stopped is not
 * flooded; and once in time for ofi.host_timeout. */
static bool
is_probe_due(
    const struct ofi_endpoint *ep, const struct ofi_peer *peer, uint64_t now)
{
    if (peer->unanswered > ep->cls->conduct.pings_before_probe &&
        (peer->unanswered & (peer->unanswered - 1)) == 0)
        return true;
    return peer->probed_ns < peer->heard_ns &&
           now - peer->heard_ns >= ep->cls->host_ns / 2;
}

/* Something is wanted of it, and it is silent. */
static void
look_silent(struct ofi_endpoint *ep, struct ofi_peer *peer, uint64_t now)
{
    bool must = ep->cls->conduct.must_answer;
    bool local = ep->cls->conduct.probe == OFI_PROBE_LOCAL;

    if (peer->heard || peer->heard_ns == 0) {
        peer->heard = false;
        peer->heard_ns = now;
        return;
    }
    uint64_t last =
        peer->pinged_ns > peer->heard_ns ? peer->pinged_ns : peer->heard_ns;
    if (now - last < ep->cls->silence_ns)
        return;
    peer->pinged_ns = now;
    if (must && now - peer->heard_ns > ep->cls->retry_ns) {
        ofi_liveness_lose(ep, peer, NA_PLUGIN_E_HOSTUNREACH,
            "it does not answer for the time of ofi.retry_timeout");
        return;
    }
    if (peer->unanswered == UNANSWERED_MAX)
        ofi_foreign_suspect(ep, peer, (now - peer->heard_ns) / TP_SECOND);
    peer->unanswered++;
    if (!must && is_probe_due(ep, peer, now))
        probe_silent(ep, peer, now);
    if (local ? is_present(ep, peer, now)
              : peer->unanswered <= UNANSWERED_MAX || must)
        ep->cls->upcalls->ping(ep, peer);
}

static void
look(struct ofi_endpoint *ep, uint64_t now)
{
    struct tp_link *next = NULL;

    for (struct tp_link *link = ep->active.head; link != NULL; link = next) {
        struct ofi_peer *peer = TP_OBJECT(link, struct ofi_peer, active);
        next = link->next;
        not_there(ep, peer, ofi_probe_look(peer, now));
        if (peer->suspect &&
            (ofi_peer_is_wanted(peer) || peer->stuck_ns != 0) &&
            now - peer->probed_ns >= TP_MS)
            ofi_liveness_probe(ep, peer, now);
        if (peer->stuck_ns != 0)
            look_stuck(ep, peer, now);
        if (peer->receives.head != NULL || peer->jobs.head != NULL)
            look_silent(ep, peer, now);
        else if (peer->queue.head == NULL && peer->probe_fd < 0 &&
                 peer->stuck_ns == 0)
            ofi_peer_deactivate(ep, peer);
    }
}

void
ofi_liveness_retry(struct ofi_endpoint *ep)
{
    struct tp_link *next = NULL;
    bool local = ep->cls->conduct.probe == OFI_PROBE_LOCAL;

    for (struct tp_link *link = ep->active.head; link != NULL; link = next) {
        struct ofi_peer *peer = TP_OBJECT(link, struct ofi_peer, active);
        next = link->next;
        if (peer->stuck_ns != 0 && (!local || is_present(ep, peer, tp_now())))
            ep->cls->upcalls->retry(ep, peer);
    }
}

void
ofi_liveness_look(struct ofi_endpoint *ep)
{
    if (ep->stuck != 0)
        ofi_liveness_retry(ep);
    if (ep->active.head == NULL)
        return;
    ep->polls = 0;
    uint64_t now = tp_now();
    if (now < ep->look_ns)
        return;
    ep->look_ns =
        now + (ep->stuck != 0 ? OFI_PEER_LOOK_NS : ep->cls->silence_ns / 4);
    look(ep, now);
}

uint64_t
ofi_liveness_sleep(struct ofi_endpoint *ep)
{
    if (ep->active.head == NULL)
        return UINT64_MAX;
    uint64_t now = tp_now();
    ep->polls = OFI_PEER_POLLS;
    uint64_t sleep = ep->look_ns > now ? ep->look_ns - now : 1;
    return ep->stuck != 0 && sleep > TP_MS ? TP_MS : sleep;
}
