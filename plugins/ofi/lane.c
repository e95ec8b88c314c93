/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes: opened, passed messages, and who advances what belongs to all. */
#include <inttypes.h>
#include <sys/epoll.h>

#include "address.h"
#include "class.h"
#include "fork.h"
#include "inbox.h"
#include "lane.h"
#include "name.h"
#include "peer.h"
#include "progress.h"
#include "receive.h"
#include "route.h"
#include "send.h"
#include "signals.h"
#include "waitset.h"

/* After which a context that sleeps looks whether somebody still polls the first
 * one, and after lanes without a context. */
#define LOOK_NS (250 * OFI_MS)

/* OPENING AND CLOSING */

/* acquire: pairs with ofi_lane_open */
static na_plugin_class *
lane_of(const na_plugin_class *main, uint32_t id)
{
    return atomic_load_explicit(&main->lanes[id], memory_order_acquire);
}

int32_t
ofi_lane_open(na_plugin_class *main, uint32_t id, na_plugin_class **lane_p)
{
    na_plugin_class *lane = lane_of(main, id);
    struct ofi_signals signals;
    struct ofi_fork_fds fds;

    *lane_p = lane;
    if (lane != NULL)
        return NA_PLUGIN_OK;
    ofi_signals_note(&signals);
    ofi_fork_note(&fds);
    int32_t ret = ofi_class_lane(main, id, &lane);
    ofi_signals_restore(&signals);
    if (ret != NA_PLUGIN_OK)
        return ret;
    ofi_fork_join(lane, &fds);
    if (lane->can_wait != main->can_wait) {
        OFI_LOG(main->host, ERROR,
            "context %" PRIu32
            ": its endpoint's wait object is of another kind",
            id);
        ofi_class_destroy(lane);
        return NA_PLUGIN_E_IO_ERROR;
    }
    char text[OFI_TEXT_MAX];
    ofi_name_print(main->trait, &lane->own_name, text);
    OFI_LOG(main->host, INFO,
        "context %" PRIu32 " has an endpoint of its own: %s", id, text);
    ofi_lane_vacated(lane);
    /* release: pairs with lane_of */
    atomic_store_explicit(&main->lanes[id], lane, memory_order_release);
    *lane_p = lane;
    return NA_PLUGIN_OK;
}

void
ofi_lane_vacated(na_plugin_class *lane)
{
    atomic_fetch_add_explicit(&lane->main->vacant, 1, memory_order_relaxed);
}

void
ofi_lane_taken(na_plugin_class *lane)
{
    atomic_fetch_sub_explicit(&lane->main->vacant, 1, memory_order_relaxed);
}

void
ofi_lane_close(na_plugin_class *main, uint32_t id)
{
    na_plugin_class *lane = main->apart ? lane_of(main, id) : NULL;

    if (lane == NULL)
        return;
    ofi_lock_take(&main->lock);
    atomic_store_explicit(&main->lanes[id], NULL, memory_order_relaxed);
    ofi_lock_drop(&main->lock);
    ofi_class_destroy(lane);
}

void
ofi_lane_each(na_plugin_class *main,
    void (*visit)(na_plugin_class *cls, void *arg), void *arg)
{
    visit(main, arg);
    for (uint32_t i = 0; main->apart && i < OFI_CONTEXTS; i++) {
        na_plugin_class *lane = lane_of(main, i);
        if (lane != NULL)
            visit(lane, arg);
    }
}

/* MESSAGES FOR ANOTHER'S CONTEXT */

/* A message for a lane. False: there is no room for it. */
static bool
give(na_plugin_class *main, na_plugin_class *lane,
    const struct ofi_message *message)
{
    if (!ofi_inbox_leave(lane, message))
        return false;
    main->counters.forwarded++;
    ofi_send_lane(main, message->from, lane);
    return true;
}

bool
ofi_lane_forward(na_plugin_class *main, const struct ofi_message *message)
{
    if (give(main, lane_of(main, message->header.target_ctx), message))
        return false;
    struct ofi_kept *kept = ofi_rx_keep(main, message->rx);
    kept->from = message->from;
    ofi_addr_hold(kept->from);
    kept->data = message->data - message->before;
    kept->length = message->before + message->length;
    ofi_list_append(&main->detained, &kept->by_age);
    return true;
}

/* True: a message that was detained need not be any longer. */
static bool
release(na_plugin_class *main, const struct ofi_kept *kept)
{
    struct ofi_message message = {.from = kept->from};

    if (!ofi_header_read(
            kept->data, kept->length, &message.header, &message.before))
        return true; /* it was read before */
    na_plugin_class *lane = lane_of(main, message.header.target_ctx);
    message.data = kept->data + message.before;
    message.length = kept->length - message.before;
    if (lane == NULL)
        main->counters.strayed++;
    return lane == NULL || give(main, lane, &message);
}

void
ofi_lane_retry(na_plugin_class *main)
{
    struct ofi_link *next = NULL;

    for (struct ofi_link *link = main->detained.head; link != NULL;
         link = next) {
        struct ofi_kept *kept = OFI_OBJECT(link, struct ofi_kept, by_age);
        next = link->next;
        if (!release(main, kept))
            continue;
        ofi_list_remove(&main->detained, link);
        ofi_addr_drop(main, kept->from);
        ofi_rx_forget(main, kept);
    }
}

int32_t
ofi_lane_pass(na_plugin_class *cls, const struct ofi_message *message)
{
    na_plugin_class *main = cls->main;
    uint32_t id = message->header.target_ctx;
    na_plugin_class *target = id == 0 ? main : lane_of(main, id);

    if (target == NULL) {
        cls->counters.strayed++;
        return NA_PLUGIN_DONE;
    }
    return ofi_inbox_leave(target, message) ? NA_PLUGIN_DONE
                                            : NA_PLUGIN_E_AGAIN;
}

/* WHO ADVANCES WHAT BELONGS TO ALL */

static void
advance(na_plugin_class *cls, bool vacant)
{
    if (!ofi_lock_try(&cls->lock))
        return;
    if (!vacant || cls->contexts[cls->lane] == NULL)
        ofi_progress_advance(cls);
    ofi_lock_drop(&cls->lock);
}

static uint32_t
count_vacant(const na_plugin_class *main)
{
    return atomic_load_explicit(&main->vacant, memory_order_relaxed);
}

void
ofi_lane_help(na_plugin_class *cls)
{
    na_plugin_class *main = cls->main;

    if (cls != main)
        advance(main, false);
    for (uint32_t i = 1; count_vacant(main) != 0 && i < OFI_CONTEXTS; i++) {
        na_plugin_class *lane = lane_of(main, i);
        if (lane != NULL)
            advance(lane, true);
    }
}

/* Whether the first context was polled since this one looked last. */
static bool
is_attended(na_plugin_ctx *ctx)
{
    uint32_t attended =
        atomic_load_explicit(&ctx->cls->main->attended, memory_order_relaxed);
    bool polled = attended != ctx->attended;

    ctx->attended = attended;
    return polled;
}

static void
set_guard(na_plugin_ctx *ctx, bool guards)
{
    struct epoll_event event = {.events = EPOLLIN};

    if (ctx->guards != guards &&
        epoll_ctl(ctx->wait_fd, guards ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
            ctx->cls->main->wait_fd, &event) == 0)
        ctx->guards = guards;
}

bool
ofi_lane_guard(na_plugin_ctx *ctx, uint64_t *sleep_ns_p)
{
    na_plugin_class *main = ctx->cls->main;
    uint64_t sleep_ns = LOOK_NS;
    bool quiet = true;

    if (count_vacant(main) != 0 && LOOK_NS < *sleep_ns_p)
        *sleep_ns_p = LOOK_NS;
    if (ctx->cls == main)
        return true;
    ofi_lock_take(&main->lock);
    set_guard(ctx, !is_attended(ctx));
    if (ctx->guards) {
        ofi_progress_advance(main);
        quiet = main->copying.head == NULL && ofi_waitset_try(main);
        if (quiet)
            sleep_ns = ofi_progress_sleep(main);
        quiet = quiet && sleep_ns != 0;
    }
    ofi_lock_drop(&main->lock);
    if (sleep_ns < *sleep_ns_p)
        *sleep_ns_p = sleep_ns;
    return quiet;
}
