/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that come, fall silent, are lost and replaced. libfabric tells nothing
 * of a posted receive whose sender died; so who is waited for is pinged. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "address.h"
#include "context.h"
#include "foreign.h"
#include "fork.h"
#include "knock.h"
#include "lost.h"
#include "match.h"
#include "name.h"
#include "peer.h"
#include "retire.h"
#include "rma.h"
#include "route.h"
#include "send.h"
#include "stale.h"

#define LOOK_NS (20 * OFI_MS)     /* between two looks, while sends are stuck */
#define KNOCK_NS (20 * OFI_MS)    /* after which it is asked who listens */
#define AGAIN_NS (OFI_SECOND)     /* until it is asked again */
#define UNANSWERED_MAX 3U         /* pings, after which it is asked as well */
#define STUCK_NS (3 * OFI_SECOND) /* after which it is said what it may be */
#define POLLS 64U                 /* between two looks at the clock */
#define PRESENT_NS (5 * OFI_MS)   /* for which a peer of the node is there */

uint64_t
ofi_peer_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * OFI_SECOND + (uint64_t) now.tv_nsec;
}

int32_t
ofi_peer_code(int error)
{
    switch (error) {
    case FI_SUCCESS:
        return NA_PLUGIN_OK;
    case FI_EAGAIN:
        return NA_PLUGIN_E_AGAIN;
    case FI_EKEYREJECTED:
    case FI_EACCES:
    case FI_EPERM:
        return NA_PLUGIN_E_PERMISSION;
    case FI_ETRUNC:
    case FI_EMSGSIZE:
        return NA_PLUGIN_E_MSGSIZE;
    case FI_ENODEV:
    case FI_ENODATA:
        return NA_PLUGIN_E_NODEV;
    case FI_EADDRINUSE:
        return NA_PLUGIN_E_ADDRINUSE;
    case FI_EADDRNOTAVAIL:
        return NA_PLUGIN_E_ADDRNOTAVAIL;
    case FI_ENOMEM:
        return NA_PLUGIN_E_NOMEM;
    case FI_EOPNOTSUPP:
    case FI_ENOSYS:
        return NA_PLUGIN_E_OPNOTSUPPORTED;
    case FI_EINVAL:
        return NA_PLUGIN_E_INVALID_ARG;
#ifdef FI_EFIREWALLADDR
    case FI_EFIREWALLADDR:
        return NA_PLUGIN_E_HOSTFIREWALL;
#endif
    default:
        return ofi_peer_is_loss(error) ? NA_PLUGIN_E_HOSTUNREACH
                                       : NA_PLUGIN_E_IO_ERROR;
    }
}

bool
ofi_peer_is_loss(int error)
{
    switch (error) {
    case FI_ECANCELED: /* nobody asks for that: receives are the plugin's */
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENETUNREACH:
    case ECONNREFUSED:
    case ECONNRESET:
    case ECONNABORTED:
    case ENOTCONN:
    case ESHUTDOWN:
    case ETIMEDOUT:
    case EPIPE:
    case EIO:
    case ENOENT: /* of sockets, when it could not connect */
        return true;
    default:
        return false;
    }
}

int32_t
ofi_peer_reach(na_plugin_class *cls, na_plugin_addr *peer)
{
    uint64_t raw[OFI_RAW_MAX / 8];
    fi_addr_t addr = FI_ADDR_NOTAVAIL;

    if (peer->gone)
        return NA_PLUGIN_E_HOSTUNREACH;
    if (peer->fi_addr != FI_ADDR_NOTAVAIL)
        return NA_PLUGIN_OK;
    if (peer->end == NULL || ofi_fork_was_closed(peer->end))
        return NA_PLUGIN_E_HOSTUNREACH;
    ofi_name_to_raw(cls->trait, peer->end, raw);
    ofi_stale_meet(cls, peer->end);
    int ret = fi_av_insert(cls->av, raw, 1, &addr, 0, NULL);
    if (ret != 1 || addr == FI_ADDR_NOTAVAIL) {
        char text[OFI_TEXT_MAX];
        ofi_name_print(cls->trait, peer->end, text);
        OFI_LOG(cls->host, ERROR, "libfabric does not take address %s: %s",
            text, ret < 0 ? ofi_library.strerror(-ret) : "no reason given");
        return NA_PLUGIN_E_HOSTUNREACH;
    }
    peer->fi_addr = addr;
    return NA_PLUGIN_OK;
}

/* libfabric puts what is for a process of the node into memory, which stays
 * when that process has gone. */
int32_t
ofi_peer_present(na_plugin_class *cls, na_plugin_addr *peer)
{
    if (!(cls->trait->flags & OFI_TRAIT_NODE))
        return NA_PLUGIN_OK;
    uint64_t now = ofi_peer_now();
    if (!peer->doubted && now - peer->knocked_ns < PRESENT_NS)
        return NA_PLUGIN_OK;
    peer->doubted = false;
    ofi_knock_begin(cls, peer, now);
    return peer->doubted ? NA_PLUGIN_E_HOSTUNREACH : NA_PLUGIN_OK;
}

bool
ofi_peer_heard(na_plugin_class *cls, na_plugin_addr *peer, uint64_t number)
{
    peer->heard = true;
    peer->doubted = false;
    peer->unanswered = 0;
    if (peer->number == number)
        return true;
    if (peer->forgotten == number)
        return false;
    if (peer->number != 0) {
        cls->counters.replaced++;
        atomic_store_explicit(
            &peer->forgotten, peer->number, memory_order_relaxed);
        if (peer->at == 0)
            ofi_route_replaced(cls, peer);
        ofi_peer_lose(cls, peer, NA_PLUGIN_E_HOSTUNREACH,
            "another class is at its address now");
        ofi_match_forget(cls, peer);
    }
    peer->number = number;
    cls->scan_due = true;
    return true;
}

void
ofi_peer_activate(na_plugin_class *cls, na_plugin_addr *peer)
{
    if (peer->doubted) {
        cls->polls = POLLS;
        cls->look_ns = 0;
    }
    if (peer->is_active)
        return;
    peer->is_active = true;
    peer->pinged_ns = peer->heard_ns = 0;
    ofi_list_append(&cls->active, &peer->active);
}

static void
unstick(na_plugin_class *cls, na_plugin_addr *peer)
{
    if (peer->stuck_ns == 0)
        return;
    peer->stuck_ns = 0;
    cls->stuck--;
    ofi_knock_end(peer);
}

static void
deactivate(na_plugin_class *cls, na_plugin_addr *peer)
{
    if (!peer->is_active)
        return;
    ofi_knock_end(peer);
    unstick(cls, peer);
    peer->is_active = false;
    ofi_list_remove(&cls->active, &peer->active);
}

void
ofi_peer_stuck(na_plugin_class *cls, na_plugin_addr *peer)
{
    ofi_peer_activate(cls, peer);
    if (peer->stuck_ns != 0)
        return;
    peer->stuck_ns = ofi_peer_now();
    cls->stuck++;
    if (cls->look_ns > peer->stuck_ns + LOOK_NS)
        cls->look_ns = peer->stuck_ns + LOOK_NS;
}

void
ofi_peer_moved(na_plugin_class *cls, na_plugin_addr *peer)
{
    if (peer->stuck_ns == 0)
        return;
    if (peer->queue.head != NULL || peer->blocked)
        peer->stuck_ns = ofi_peer_now();
    else
        unstick(cls, peer);
}

static void
say_lost(na_plugin_class *cls, na_plugin_addr *peer, const char *why)
{
    char text[OFI_TEXT_MAX];

    if (peer->receives.head == NULL && peer->queue.head == NULL &&
        peer->flying.head == NULL && peer->jobs.head == NULL)
        return;
    cls->counters.lost++;
    ofi_name_print(
        cls->trait, peer->end != NULL ? peer->end : &peer->name, text);
    OFI_LOG(cls->host, INFO, "all that is pending with %s ends: %s", text, why);
}

void
ofi_peer_lose(
    na_plugin_class *cls, na_plugin_addr *peer, int32_t status, const char *why)
{
    ofi_addr_hold(peer);
    peer->stale = peer->at != 0;
    say_lost(cls, peer, why);
    ofi_match_lose(peer, status);
    ofi_send_lose(cls, peer, status);
    ofi_rma_lose(cls, peer, status);
    peer->unanswered = 0;
    unstick(cls, peer);
    ofi_addr_drop(cls, peer);
}

void
ofi_peer_failed(na_plugin_class *cls, na_plugin_addr *peer, int error)
{
    cls->counters.completion_errors++;
    if (!ofi_peer_is_loss(error))
        return;
    ofi_route_detour(cls, peer);
    ofi_peer_lose(
        cls, peer, NA_PLUGIN_E_HOSTUNREACH, ofi_library.strerror(error));
}

void
ofi_peer_unknow(na_plugin_class *cls, na_plugin_addr *peer)
{
    deactivate(cls, peer);
    /* within a node, an endpoint that was retired may look at its memory */
    bool stays =
        cls->retired != NULL && (cls->trait->flags & OFI_TRAIT_NODE) != 0;
    if (peer->fi_addr != FI_ADDR_NOTAVAIL && cls->av != NULL && !stays)
        fi_av_remove(cls->av, &peer->fi_addr, 1, 0);
    peer->fi_addr = FI_ADDR_NOTAVAIL;
}

/* It waits for room in libfabric. */
static void
look_stuck(na_plugin_class *cls, na_plugin_addr *peer, uint64_t now)
{
    uint64_t since = now - peer->stuck_ns;
    bool knocks = (cls->trait->flags & (OFI_TRAIT_TCP | OFI_TRAIT_NODE)) != 0;

    if (since >= KNOCK_NS && knocks &&
        (peer->knocked_ns == 0 || now - peer->knocked_ns >= AGAIN_NS ||
            peer->knocked_ns < peer->stuck_ns))
        ofi_knock_begin(cls, peer, now);
    if (!knocks && since >= cls->retry_ns)
        ofi_peer_lose(cls, peer, NA_PLUGIN_E_HOSTUNREACH,
            "libfabric takes nothing for it for the time of ofi.retry_timeout");
    else if (since >= cls->send_ns)
        ofi_peer_lose(cls, peer, NA_PLUGIN_E_TIMEOUT,
            "libfabric takes nothing for it for the time of ofi.send_timeout");
    else if (since >= STUCK_NS)
        ofi_foreign_suspect(cls, peer, since / OFI_SECOND);
}

/* Something is wanted of it, and it is silent. */
static void
look_silent(na_plugin_class *cls, na_plugin_addr *peer, uint64_t now)
{
    bool must = (cls->trait->flags & OFI_TRAIT_MUST_ANSWER) != 0;

    if (peer->heard || peer->heard_ns == 0) {
        peer->heard = false;
        peer->heard_ns = now;
        return;
    }
    uint64_t last =
        peer->pinged_ns > peer->heard_ns ? peer->pinged_ns : peer->heard_ns;
    if (now - last < cls->silence_ns)
        return;
    peer->pinged_ns = now;
    if (must && now - peer->heard_ns > cls->retry_ns) {
        ofi_peer_lose(cls, peer, NA_PLUGIN_E_HOSTUNREACH,
            "it does not answer for the time of ofi.retry_timeout");
        return;
    }
    if (peer->unanswered == UNANSWERED_MAX)
        ofi_foreign_suspect(cls, peer, (now - peer->heard_ns) / OFI_SECOND);
    /* less and less often, so that one that is stopped is not flooded */
    uint32_t first =
        cls->trait->flags & OFI_TRAIT_MUTE_LOSS ? 0 : UNANSWERED_MAX;
    if (peer->unanswered++ >= first &&
        (peer->unanswered & (peer->unanswered - 1)) == 0 && !must)
        ofi_knock_begin(cls, peer, now);
    if (peer->unanswered <= UNANSWERED_MAX || must ||
        (cls->trait->flags & OFI_TRAIT_NODE) != 0)
        ofi_send_ping(cls, peer);
    if (cls->trait->flags & OFI_TRAIT_NODE)
        ofi_knock_begin(cls, peer, now);
}

/* Whether something waits for it. */
static bool
is_wanted(const na_plugin_addr *peer)
{
    return peer->receives.head != NULL || peer->jobs.head != NULL ||
           peer->queue.head != NULL || peer->flying.head != NULL ||
           peer->stuck_ns != 0;
}

static void
look(na_plugin_class *cls, uint64_t now)
{
    struct ofi_link *next = NULL;

    for (struct ofi_link *link = cls->active.head; link != NULL; link = next) {
        na_plugin_addr *peer = OFI_OBJECT(link, na_plugin_addr, active);
        next = link->next;
        /* the last thing of it may end, and with it the reference */
        ofi_addr_hold(peer);
        ofi_knock_look(cls, peer, now);
        if (peer->doubted && is_wanted(peer) &&
            now - peer->knocked_ns >= OFI_MS)
            ofi_knock_begin(cls, peer, now);
        if (peer->stuck_ns != 0)
            look_stuck(cls, peer, now);
        if (peer->receives.head != NULL || peer->jobs.head != NULL)
            look_silent(cls, peer, now);
        else if (peer->queue.head == NULL && peer->knock < 0 &&
                 peer->stuck_ns == 0)
            deactivate(cls, peer);
        ofi_addr_drop(cls, peer);
    }
}

void
ofi_peer_work(na_plugin_class *cls)
{
    if (cls->lost)
        ofi_lost_work(cls);
    if (cls->retired != NULL)
        ofi_retire_work(cls);
    if (cls->stuck != 0)
        ofi_send_retry(cls);
    if (cls->active.head == NULL && !cls->scan_due)
        return;
    if (++cls->polls < POLLS && cls->stuck == 0)
        return;
    cls->polls = 0;
    uint64_t now = ofi_peer_now();
    if (now < cls->look_ns)
        return;
    cls->look_ns = now + (cls->stuck != 0 ? LOOK_NS : cls->silence_ns / 4);
    look(cls, now);
}

uint64_t
ofi_peer_sleep(na_plugin_class *cls)
{
    if (cls->active.head == NULL)
        return UINT64_MAX;
    uint64_t now = ofi_peer_now();
    cls->polls = POLLS;
    uint64_t sleep = cls->look_ns > now ? cls->look_ns - now : 1;
    return cls->stuck != 0 && sleep > OFI_MS ? OFI_MS : sleep;
}
