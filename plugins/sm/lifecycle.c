/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of classes and contexts. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "access.h"
#include "address.h"
#include "assist.h"
#include "common/open.h"
#include "emulated_rma.h"
#include "lifecycle.h"
#include "listen.h"
#include "match.h"
#include "mem.h"
#include "privilege.h"
#include "queue.h"
#include "ring.h"
#include "rma.h"
#include "shared.h"
#include "sleepers.h"
#include "wait.h"
#include "work.h"

/* The smallest ring for these messages, as large as wanted if that is more. */
static uint32_t
ring_capacity(uint32_t longest, uint64_t wanted)
{
    uint64_t page = sm_ring_page();
    uint64_t capacity = wanted > 2 * page ? wanted - page : page;

    capacity -= capacity % page;
    if (capacity > SM_RING_CAPACITY_MAX)
        capacity = SM_RING_CAPACITY_MAX;
    while (!sm_ring_fits(capacity, longest))
        capacity += page;
    return (uint32_t) capacity;
}

static uint32_t
at_most(uint32_t size, uint32_t most)
{
    return size < most ? size : most;
}

/* By the setting: 0 never, 1 where the processor can, 2 always, which tests use. */
static bool
demotes(uint64_t setting)
{
    return setting == 2 || (setting == 1 && sm_ring_can_demote());
}

/* Sizes and settings. */
static void
configure(na_plugin_class *cls, const na_plugin_open_info *info)
{
    const na_plugin_host *host = cls->host;
    int denied = sm_rma_permitted();

    cls->max_unexpected = tp_open_message_size(host, info->max_unexpected_size,
        SM_MESSAGE_DEFAULT, SM_MESSAGE_MAX, "unexpected");
    cls->max_expected = tp_open_message_size(host, info->max_expected_size,
        SM_MESSAGE_DEFAULT, SM_MESSAGE_MAX, "expected");
    cls->longest = cls->max_unexpected > cls->max_expected ? cls->max_unexpected
                                                           : cls->max_expected;
    cls->short_unexpected = at_most(cls->max_unexpected, SM_RING_SHORT);
    cls->short_expected = at_most(cls->max_expected, SM_RING_SHORT);
    cls->ring_capacity =
        ring_capacity(cls->longest, host->number(host, "sm.ring_size"));
    cls->queue_limit = host->number(host, "sm.queue_size");
    cls->send_timeout_ns = host->number(host, "sm.send_timeout");
    cls->membarrier =
        host->number(host, "sm.membarrier") != 0 && sm_sleepers_register();
    cls->demotes = demotes(host->number(host, "sm.demote"));
    cls->assists = host->number(host, "sm.assist") != 0 && !cls->copy_denied;
    cls->listens = (info->flags & NA_PLUGIN_OPEN_LISTEN) != 0;
    cls->no_block = (info->flags & NA_PLUGIN_OPEN_NO_BLOCK) != 0;
    cls->no_retry = (info->flags & NA_PLUGIN_OPEN_NO_RETRY) != 0;
    cls->single = (info->thread_mode & NA_PLUGIN_THREAD_SINGLE_CLASS) != 0;
    cls->user_connections =
        (uint32_t) host->number(host, "sm.user_connections");
    cls->uid = geteuid();
    cls->privileged = sm_privilege_possible();
    cls->copy_denied = denied != 0;
    atomic_init(&cls->refusal_logged, cls->copy_denied);
    if (cls->copy_denied)
        TP_LOG(host, INFO,
            "process_vm_readv is forbidden (%s): puts and gets are emulated by "
            "messages",
            strerror(denied));
    if (sm_access_set_key(cls, info->auth_key) != NA_PLUGIN_OK)
        TP_LOG(host, WARNING,
            "the authorization key is not used: this build has no libsodium");
}

/* Builds a class; what was built of one that fails is the caller's to close. */
static int32_t
build(na_plugin_class *cls, const char *name)
{
    tp_lock_init(&cls->progress, cls->single);
    tp_lock_init(&cls->name_lock, cls->single);
    tp_lock_init(&cls->memory, cls->single);
    sm_kernel_due(cls);
    if (!tp_random_draw(&cls->random, &cls->owner)) {
        TP_LOG(cls->host, ERROR, "no random number: %s", strerror(errno));
        return NA_PLUGIN_E_IO_ERROR;
    }
    if (tp_table_init(&cls->names) != NA_PLUGIN_OK ||
        tp_table_init(&cls->mems) != NA_PLUGIN_OK) {
        TP_LOG(cls->host, ERROR, "no memory for a class");
        return NA_PLUGIN_E_NOMEM;
    }
    sm_mem_init(cls);
    cls->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (cls->epoll < 0) {
        TP_LOG(
            cls->host, ERROR, "no descriptor for a class: %s", strerror(errno));
        return NA_PLUGIN_E_NOMEM;
    }
    return sm_listen_init(cls, name[0] != '\0' ? name : NULL);
}

int32_t
sm_class_open(const na_plugin_host *host, const na_plugin_open_info *info,
    const char *name, bool any_user, na_plugin_class **cls_p)
{
    na_plugin_class *cls = tp_alloc_lines(sizeof(*cls));

    if (cls == NULL) {
        TP_LOG(host, ERROR, "no memory for a class");
        return NA_PLUGIN_E_NOMEM;
    }
    cls->host = host;
    cls->epoll = cls->name_fd = cls->short_fd = cls->registry.fd = -1;
    cls->any_user = any_user || host->number(host, "sm.any_user") != 0;
    configure(cls, info);
    int32_t ret = build(cls, name);
    if (ret != NA_PLUGIN_OK) {
        sm_class_close(cls);
        return ret;
    }
    *cls_p = cls;
    return NA_PLUGIN_OK;
}

void
sm_class_close(na_plugin_class *cls)
{
    sm_work_fini(cls);
    sm_listen_fini(cls);
    for (uint32_t i = 0; i < SM_CONTEXTS; i++) {
        na_plugin_ctx *ctx = sm_class_context(cls, i);
        if (ctx != NULL && ctx->alive)
            sm_ctx_destroy(ctx);
        free(ctx);
    }
    if (cls->self != NULL)
        sm_addr_free(cls, cls->self);
    cls->self = NULL;
    uint32_t addrs = sm_addr_fini(cls);
    uint32_t mems = sm_mem_fini(cls);
    uint32_t segments = sm_shared_fini(cls);
    if (addrs != 0 || mems != 0 || segments != 0)
        TP_LOG(cls->host, WARNING,
            "closed with %" PRIu32 " addresses, %" PRIu32
            " registrations and %" PRIu32 " shared segments left",
            addrs, mems, segments);
    if (cls->epoll >= 0)
        close(cls->epoll);
    free(cls);
}

/* The structure for number id: the one of a destroyed context, or a new one, which
 * stays until the class is closed. */
static na_plugin_ctx *
obtain(na_plugin_class *cls, uint32_t id)
{
    na_plugin_ctx *ctx = sm_class_context(cls, id);

    if (ctx != NULL)
        return ctx;
    ctx = tp_alloc_lines(sizeof(*ctx));
    if (ctx == NULL)
        return NULL;
    ctx->cls = cls;
    ctx->id = id;
    ctx->wake = TP_WAKE_NONE;
    tp_lock_init(&ctx->lock, cls->single);
    tp_lock_init(&ctx->rma_lock, cls->single);
    return ctx;
}

int32_t
sm_ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p)
{
    if (id >= SM_CONTEXTS) {
        TP_LOG(cls->host, ERROR, "context %" PRIu32 ": there are at most %u",
            id, SM_CONTEXTS);
        return NA_PLUGIN_E_OVERFLOW;
    }
    na_plugin_ctx *ctx = obtain(cls, id);
    if (ctx == NULL)
        return NA_PLUGIN_E_NOMEM;

    int32_t ret = NA_PLUGIN_E_EXIST;
    tp_lock_take(&ctx->rma_lock);
    ctx->range.refused = false;
    tp_lock_drop(&ctx->rma_lock);
    tp_lock_take(&ctx->lock);
    if (ctx->alive)
        goto drop_lock;
    ret = sm_match_init(ctx);
    if (ret != NA_PLUGIN_OK)
        goto drop_lock;
    ret = sm_wait_init(ctx);
    if (ret != NA_PLUGIN_OK)
        goto fini_match;
    ctx->alive = true;
    tp_lock_drop(&ctx->lock);

    /* release: pairs with the acquire in sm_class_context */
    atomic_store_explicit(&cls->contexts[id], ctx, memory_order_release);
    *ctx_p = ctx;
    return NA_PLUGIN_OK;

fini_match:
    tp_match_fini(&ctx->match);
drop_lock:
    tp_lock_drop(&ctx->lock);
    if (sm_class_context(cls, id) == NULL)
        free(ctx);
    if (ret == NA_PLUGIN_E_EXIST)
        TP_LOG(cls->host, ERROR, "context %" PRIu32 " exists", id);
    return ret;
}

void
sm_ctx_destroy(na_plugin_ctx *ctx)
{
    na_plugin_class *cls = ctx->cls;
    struct tp_link *link;

    sm_assist_await(ctx);
    /* with these no poll and no slice of another context is at work */
    tp_lock_take(&cls->progress);
    sm_rma_abandon(ctx);
    sm_emulated_abandon(ctx);
    sm_queue_abandon(ctx);
    sm_wait_fini(ctx);

    tp_lock_take(&ctx->lock);
    ctx->alive = false;
    while ((link = tp_list_pop(&ctx->ready)) != NULL) {
        na_plugin_addr *source = sm_op_of(link)->result.source;
        if (source != NULL)
            sm_addr_free(cls, source);
    }
    atomic_store_explicit(&ctx->pending, 0, memory_order_relaxed);
    tp_match_fini(&ctx->match);
    struct tp_list held = ctx->match.held;
    ctx->match.held = (struct tp_list){NULL, NULL};
    for (link = held.head; link != NULL; link = link->next)
        sm_op_set(sm_op_of(link), SM_OP_READY);
    tp_lock_drop(&ctx->lock);

    /* sends of other contexts to this one */
    sm_ctx_finish_all(&held, NA_PLUGIN_E_HOSTUNREACH);
    sm_work_unlock(cls);
}
