/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of the loop plugin: faults, events, progress. */
#include "loop_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define LATE_POLLS 20U
#define DELAYED_SLEEP_NS 100000U

/* Called with the lock held. */
static struct loop_fault faults[LOOP_KINDS];
static uint32_t submitted[LOOP_KINDS];
static uint32_t rma_to[LOOP_CONTEXTS_MAX];
static enum loop_cancel cancel_mode;
static loop_tamper_t tamper_func;
static void (*cancel_hook)(void);
static struct loop_ops held = TAILQ_HEAD_INITIALIZER(held);

void
loop_fault_set(enum loop_kind kind, struct loop_fault fault)
{
    pthread_mutex_lock(&loop_lock);
    faults[kind] = fault;
    pthread_mutex_unlock(&loop_lock);
}

void
loop_faults_clear(void)
{
    pthread_mutex_lock(&loop_lock);
    memset(faults, 0, sizeof faults);
    memset(submitted, 0, sizeof submitted);
    memset(rma_to, 0, sizeof rma_to);
    cancel_mode = LOOP_CANCEL_PROMPT;
    tamper_func = NULL;
    cancel_hook = NULL;
    pthread_mutex_unlock(&loop_lock);
}

void
loop_cancel_set(enum loop_cancel cancel)
{
    pthread_mutex_lock(&loop_lock);
    cancel_mode = cancel;
    pthread_mutex_unlock(&loop_lock);
}

void
loop_cancel_hook_set(void (*hook)(void))
{
    pthread_mutex_lock(&loop_lock);
    cancel_hook = hook;
    pthread_mutex_unlock(&loop_lock);
}

void
loop_tamper_set(loop_tamper_t tamper)
{
    pthread_mutex_lock(&loop_lock);
    tamper_func = tamper;
    pthread_mutex_unlock(&loop_lock);
}

void
loop_tamper(enum loop_kind kind, unsigned char *bytes, uint64_t *length)
{
    if (tamper_func)
        tamper_func(kind, bytes, length);
}

uint32_t
loop_submitted(enum loop_kind kind)
{
    uint32_t count;

    pthread_mutex_lock(&loop_lock);
    count = submitted[kind];
    pthread_mutex_unlock(&loop_lock);
    return count;
}

void
loop_rma_count(uint32_t ctx)
{
    if (ctx < LOOP_CONTEXTS_MAX)
        rma_to[ctx]++;
}

uint32_t
loop_rma_submitted_to(uint32_t ctx)
{
    uint32_t count;

    pthread_mutex_lock(&loop_lock);
    count = ctx < LOOP_CONTEXTS_MAX ? rma_to[ctx] : 0;
    pthread_mutex_unlock(&loop_lock);
    return count;
}

struct loop_fault
loop_fault_take(enum loop_kind kind)
{
    struct loop_fault *fault = &faults[kind];
    struct loop_fault now = *fault;

    submitted[kind]++;
    if (fault->act == LOOP_NORMAL)
        return now;
    if (fault->skip > 0) {
        fault->skip--;
        return (struct loop_fault){.act = LOOP_NORMAL};
    }
    if (fault->count > 0 && --fault->count == 0)
        fault->act = LOOP_NORMAL;
    return now;
}

uint32_t
loop_pending(void)
{
    na_plugin_class *cls;
    uint32_t count = 0;

    pthread_mutex_lock(&loop_lock);
    LIST_FOREACH (cls, &loop_classes, next)
        for (uint32_t i = 0; i < LOOP_CONTEXTS_MAX; i++)
            if (cls->contexts[i])
                count += cls->contexts[i]->pending;
    pthread_mutex_unlock(&loop_lock);
    return count;
}

uint64_t
loop_polls(void)
{
    na_plugin_class *cls;
    uint64_t count = 0;

    pthread_mutex_lock(&loop_lock);
    LIST_FOREACH (cls, &loop_classes, next)
        for (uint32_t i = 0; i < LOOP_CONTEXTS_MAX; i++)
            if (cls->contexts[i])
                count += cls->contexts[i]->polls;
    pthread_mutex_unlock(&loop_lock);
    return count;
}

static void
count_pending(uint32_t counts[LOOP_KINDS])
{
    const struct loop_op *op;
    const struct loop_event *event;
    na_plugin_class *cls;

    TAILQ_FOREACH (op, &held, next)
        counts[op->kind]++;
    LIST_FOREACH (cls, &loop_classes, next)
        for (uint32_t i = 0; i < LOOP_CONTEXTS_MAX; i++) {
            if (!cls->contexts[i])
                continue;
            TAILQ_FOREACH (op, &cls->contexts[i]->expected, next)
                counts[op->kind]++;
            TAILQ_FOREACH (event, &cls->contexts[i]->events, next)
                counts[((const struct loop_op *) event->event.op)->kind]++;
        }
}

void
loop_describe(char *text, size_t size)
{
    static const char *const names[LOOP_KINDS] = {"unexpected sends", NULL,
        "expected sends", "expected receives", "puts", "gets"};
    uint32_t counts[LOOP_KINDS] = {0};
    const char *separator = "; the plugin has pending: ";
    int length = 0;

    /* May be called while other functions run. */
    if (pthread_mutex_trylock(&loop_lock) != 0) {
        snprintf(text, size, "; the plugin is busy");
        return;
    }
    count_pending(counts);
    pthread_mutex_unlock(&loop_lock);
    for (int i = 0; i < LOOP_KINDS; i++) {
        if (!names[i] || counts[i] == 0)
            continue;
        length += snprintf(text + length, size - (size_t) length, "%s%u %s",
            separator, counts[i], names[i]);
        separator = ", ";
    }
    if (length == 0)
        snprintf(text, size, "; the plugin has nothing pending");
}

static void
rouse(na_plugin_ctx *ctx)
{
    const na_plugin_class *cls = ctx->cls;
    uint64_t one = 1;

    if (ctx->armed) {
        ctx->armed = false;
        ctx->fd_written = true;
        if (write(ctx->fd, &one, sizeof one) != (ssize_t) sizeof one)
            abort();
    } else if (cls->limits.no_wait && cls->limits.wake) {
        cls->host->wake(cls->host, ctx->core_ctx);
    }
}

void
loop_event_push(na_plugin_ctx *ctx, na_plugin_event event, uint32_t delay)
{
    struct loop_event *entry = malloc(sizeof *entry);

    if (!entry)
        abort();
    entry->event = event;
    entry->due = ctx->polls + delay;
    TAILQ_INSERT_TAIL(&ctx->events, entry, next);
    rouse(ctx);
}

void
loop_op_end(struct loop_op *op, na_plugin_event event, uint32_t delay)
{
    op->state = LOOP_REPORTED;
    event.op = op;
    loop_event_push(op->ctx, event, delay);
}

void
loop_op_fail(struct loop_op *op, int32_t code, uint32_t delay)
{
    loop_op_end(op, (na_plugin_event){.status = code}, delay);
}

void
loop_op_begin(struct loop_op *op, na_plugin_ctx *ctx, enum loop_kind kind)
{
    if ((uintptr_t) op % 64 != 0)
        loop_violated("operation at %p is not aligned", (void *) op);
    if (op->state != LOOP_IDLE)
        loop_violated("operation submitted while it is pending");
    op->ctx = ctx;
    op->kind = kind;
    op->multi = false;
    op->delay = 0;
}

static int32_t
perform(struct loop_op *op)
{
    return op->kind == LOOP_PUT || op->kind == LOOP_GET
               ? loop_rma_perform(op)
               : loop_message_perform(op);
}

int32_t
loop_op_submit(struct loop_op *op)
{
    struct loop_fault fault = loop_fault_take(op->kind);
    int32_t code;

    switch (fault.act) {
    case LOOP_FAIL_NOW:
        return fault.code;
    case LOOP_LOSE:
        return NA_PLUGIN_DONE;
    case LOOP_FAIL_LATER:
        op->ctx->pending++;
        loop_op_fail(op, fault.code, fault.delay);
        return NA_PLUGIN_PENDING;
    case LOOP_HOLD:
        op->ctx->pending++;
        op->state = LOOP_HELD;
        TAILQ_INSERT_TAIL(&held, op, next);
        return NA_PLUGIN_PENDING;
    case LOOP_LATER:
        code = perform(op);
        op->ctx->pending++;
        loop_op_fail(op, code, fault.delay);
        return NA_PLUGIN_PENDING;
    case LOOP_NORMAL:
        break;
    }
    code = perform(op);
    return code == NA_PLUGIN_OK ? NA_PLUGIN_DONE : code;
}

uint32_t
loop_release(void)
{
    struct loop_op *op;
    uint32_t count = 0;

    pthread_mutex_lock(&loop_lock);
    while ((op = TAILQ_FIRST(&held)) != NULL) {
        TAILQ_REMOVE(&held, op, next);
        loop_op_fail(op, perform(op), 0);
        count++;
    }
    pthread_mutex_unlock(&loop_lock);
    return count;
}

void
loop_expire_delays(void)
{
    na_plugin_class *cls;
    struct loop_event *entry;

    pthread_mutex_lock(&loop_lock);
    LIST_FOREACH (cls, &loop_classes, next)
        for (uint32_t i = 0; i < LOOP_CONTEXTS_MAX; i++) {
            na_plugin_ctx *ctx = cls->contexts[i];

            if (!ctx || TAILQ_EMPTY(&ctx->events))
                continue;
            TAILQ_FOREACH (entry, &ctx->events, next)
                entry->due = ctx->polls;
            rouse(ctx);
        }
    pthread_mutex_unlock(&loop_lock);
}

void
loop_held_drop(na_plugin_ctx *ctx)
{
    struct loop_op *op = TAILQ_FIRST(&held);

    while (op) {
        struct loop_op *next = TAILQ_NEXT(op, next);

        if (op->ctx == ctx)
            TAILQ_REMOVE(&held, op, next);
        op = next;
    }
}

void
loop_ctx_peer_gone(na_plugin_ctx *ctx, uint32_t number)
{
    struct loop_op *op = TAILQ_FIRST(&ctx->expected);

    while (op) {
        struct loop_op *next = TAILQ_NEXT(op, next);

        if (op->peer == number) {
            TAILQ_REMOVE(&ctx->expected, op, next);
            loop_op_fail(op, NA_PLUGIN_E_HOSTUNREACH, 0);
        }
        op = next;
    }
    op = TAILQ_FIRST(&held);
    while (op) {
        struct loop_op *next = TAILQ_NEXT(op, next);

        if (op->ctx == ctx && op->peer == number) {
            TAILQ_REMOVE(&held, op, next);
            loop_op_fail(op, NA_PLUGIN_E_HOSTUNREACH, 0);
        }
        op = next;
    }
}

void
loop_peer_gone(uint32_t number)
{
    na_plugin_class *cls;

    LIST_FOREACH (cls, &loop_classes, next)
        for (uint32_t i = 0; i < LOOP_CONTEXTS_MAX; i++)
            if (cls->contexts[i])
                loop_ctx_peer_gone(cls->contexts[i], number);
}

static void
serial_begin(na_plugin_ctx *ctx)
{
    if (atomic_exchange_explicit(&ctx->polling, true, memory_order_relaxed))
        loop_violated("concurrent poll, arm or cancel of one context");
}

static void
serial_end(na_plugin_ctx *ctx)
{
    atomic_store_explicit(&ctx->polling, false, memory_order_relaxed);
}

/* Everything that an operation refers to must stay valid until its final
 * event. */
static void
check_named(const na_plugin_ctx *ctx, const struct loop_op *op)
{
    const na_plugin_addr *addr;
    const na_plugin_mem *mem;

    if (op->kind == LOOP_RECV_UNEXPECTED)
        return;
    LIST_FOREACH (addr, &ctx->cls->addrs, next)
        if (addr->number == op->peer)
            break;
    if (!addr)
        loop_violated("address %u freed before the operation ended", op->peer);
    if (op->kind != LOOP_PUT && op->kind != LOOP_GET)
        return;
    LIST_FOREACH (mem, &ctx->cls->mems, next)
        if (mem == op->local)
            return;
    loop_violated("memory deregistered before the operation ended");
}

static void
report(na_plugin_ctx *ctx, const na_plugin_event *event)
{
    struct loop_op *op = event->op;

    check_named(ctx, op);
    if (event->flags & NA_PLUGIN_EVENT_MORE)
        return;
    op->state = LOOP_IDLE;
    ctx->pending--;
}

static int32_t
fill(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    struct loop_event *entry = TAILQ_FIRST(&ctx->events);
    int32_t count = 0;

    ctx->polls++;
    while (entry && (uint32_t) count < max) {
        struct loop_event *next = TAILQ_NEXT(entry, next);

        if (entry->due <= ctx->polls) {
            TAILQ_REMOVE(&ctx->events, entry, next);
            report(ctx, &entry->event);
            events[count++] = entry->event;
            free(entry);
        }
        entry = next;
    }
    return count;
}

static void
disarm(na_plugin_ctx *ctx)
{
    uint64_t value;

    ctx->armed = false;
    if (ctx->fd_written && read(ctx->fd, &value, sizeof value) < 0)
        abort();
    ctx->fd_written = false;
}

int32_t
loop_poll(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    int32_t count = NA_PLUGIN_E_IO_ERROR;

    if (max == 0)
        loop_violated("poll with room for no event");
    serial_begin(ctx);
    pthread_mutex_lock(&loop_lock);
    disarm(ctx);
    if (!ctx->cls->broken)
        count = fill(ctx, events, max);
    pthread_mutex_unlock(&loop_lock);
    serial_end(ctx);
    return count;
}

int32_t
loop_arm(na_plugin_ctx *ctx, uint64_t *sleep_ns_p)
{
    const struct loop_event *entry;
    int32_t code = NA_PLUGIN_OK;

    serial_begin(ctx);
    pthread_mutex_lock(&loop_lock);
    *sleep_ns_p = UINT64_MAX;
    TAILQ_FOREACH (entry, &ctx->events, next)
        if (entry->due <= ctx->polls + 1)
            code = NA_PLUGIN_DONE;
        else
            *sleep_ns_p = DELAYED_SLEEP_NS;
    ctx->armed = code == NA_PLUGIN_OK;
    pthread_mutex_unlock(&loop_lock);
    serial_end(ctx);
    return code;
}

static void
cancel_pending(na_plugin_ctx *ctx, struct loop_op *op)
{
    struct loop_ops *list = op->state == LOOP_HELD ? &held
                            : op->kind == LOOP_RECV_UNEXPECTED
                                ? &ctx->unexpected
                                : &ctx->expected;

    TAILQ_REMOVE(list, op, next);
    loop_op_fail(op, NA_PLUGIN_E_CANCELED,
        cancel_mode == LOOP_CANCEL_LATE ? LATE_POLLS : 0);
}

int32_t
loop_cancel(na_plugin_ctx *ctx, void *part)
{
    struct loop_op *op = part;
    void (*hook)(void);

    serial_begin(ctx);
    pthread_mutex_lock(&loop_lock);
    hook = cancel_hook;
    cancel_hook = NULL;
    if ((op->state == LOOP_POSTED || op->state == LOOP_HELD)) {
        if (op->ctx != ctx)
            loop_violated("operation of another context cancelled");
        if (cancel_mode != LOOP_CANCEL_REFUSED)
            cancel_pending(ctx, op);
    }
    pthread_mutex_unlock(&loop_lock);
    serial_end(ctx);
    if (hook)
        hook();
    return NA_PLUGIN_OK;
}
