/* SPDX-License-Identifier: BSD-3-Clause */
/* Reporting violations of the ABI, and marking contexts as dead. */
#include "na/violation.h"

#include "base/error.h"
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

bool
na_context_die(struct na_context *context, na_return_t why)
{
    int32_t alive = NA_SUCCESS;

    if (!atomic_compare_exchange_strong_explicit(&context->dead, &alive,
            (int32_t) why, memory_order_relaxed, memory_order_relaxed))
        return false;
    atomic_store_explicit(&context->ops, &na_ops_dead, memory_order_relaxed);
    return true;
}

#define KNOWN_FLAGS (NA_PLUGIN_EVENT_MESSAGE | NA_PLUGIN_EVENT_MORE)

void
na_violation(const struct na_class *na_class, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    LOG_ERROR(NA, "plugin %s breaks the transport ABI: %s",
        na_class->plugin->name, text);
}

void
na_violation_of_context(struct na_context *context, const char *format, ...)
{
    char text[256];
    va_list args;

    if (!na_context_die(context, NA_PROTOCOL_ERROR))
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    na_violation(
        context->na_class, "%s: context %u is dead", text, context->id);
}

__attribute__((cold)) na_return_t
na_code_foreign(
    const struct na_class *na_class, const char *entry, int32_t code)
{
    na_violation(na_class, "%s returned %d, which is not a code of the ABI",
        entry, code);
    return NA_IO_ERROR;
}

__attribute__((cold)) na_return_t
na_submission_failed(
    struct na_context *context, const char *entry, int32_t code)
{
    if (code <= 0)
        return na_result(context->na_class, entry, code);
    na_violation_of_context(
        context, "%s returned %d, which it must not", entry, code);
    return NA_PROTOCOL_ERROR;
}

__attribute__((cold)) na_return_t
na_event_failed(
    struct na_context *context, const na_plugin_event *event, bool received)
{
    uint32_t flags = event->flags;

    if (event->status < 0 && flags == 0)
        return na_result(
            context->na_class, "the status of an event", event->status);
    if (flags & ~KNOWN_FLAGS)
        na_violation_of_context(context,
            "an event has flags 0x%x, of which 0x%x are defined", flags,
            KNOWN_FLAGS);
    else if (flags & NA_PLUGIN_EVENT_MORE)
        na_violation_of_context(
            context, "an event that is not of a multi-receive has MORE");
    else if (event->status > 0)
        na_violation_of_context(context,
            "the status of an event is %d, which is not a code of the ABI",
            event->status);
    else if (event->status < 0)
        na_violation_of_context(
            context, "an event has MESSAGE and the status %d", event->status);
    else
        na_violation_of_context(context,
            received ? "a receive ended with OK and without MESSAGE"
                     : "an event of what is not a receive has MESSAGE");
    return NA_PROTOCOL_ERROR;
}

__attribute__((cold)) na_return_t
na_event_too_long(
    struct na_context *context, const na_plugin_event *event, uint64_t room)
{
    na_violation_of_context(context,
        "a received message has %llu bytes, its buffer %llu",
        (unsigned long long) event->length, (unsigned long long) room);
    return NA_PROTOCOL_ERROR;
}

__attribute__((cold)) na_return_t
na_event_wrong_origin(struct na_context *context, const na_plugin_event *event)
{
    if (!event->source)
        na_violation_of_context(
            context, "an unexpected message has the source NULL");
    else
        na_violation_of_context(context,
            "an unexpected message has tag %llu, max_tag is %llu",
            (unsigned long long) event->tag,
            (unsigned long long) context->na_class->opened.max_tag);
    return NA_PROTOCOL_ERROR;
}

na_return_t
na_event_multi(struct na_context *context, const na_plugin_event *event,
    const void *buffer, uint64_t size)
{
    uintptr_t at = (uintptr_t) event->buffer - (uintptr_t) buffer;
    na_plugin_event one = *event;

    one.flags &= ~NA_PLUGIN_EVENT_MORE;
    if (na_event_state(&one) == NA_EVENT_DONE)
        return NA_SUCCESS; /* the last one may carry nothing */
    if (na_event_state(&one) != NA_EVENT_MESSAGE)
        return na_event_failed(context, &one, true);
    if (at > size || event->length > size - at) {
        na_violation_of_context(context,
            "a multi-receive of %llu bytes has a message that is not in its "
            "buffer",
            (unsigned long long) size);
        return NA_PROTOCOL_ERROR;
    }
    if (!event->source || event->tag > context->na_class->opened.max_tag)
        return na_event_wrong_origin(context, event);
    return NA_SUCCESS;
}

__attribute__((cold)) int32_t
na_poll_failed(struct na_context *context, int32_t count, uint32_t most)
{
    if (count > 0) {
        na_violation_of_context(context,
            "poll returned %d events, at most %u were asked for", count, most);
    } else if (!na_context_is_dead(context)) {
        na_return_t why = na_result(context->na_class, "poll", count);

        if (na_context_die(context, why))
            LOG_ERROR(NA, "context %u of %s is dead: %s", context->id,
                context->na_class->plugin->name, base_error_name((int) why));
    }
    return -atomic_load_explicit(&context->dead, memory_order_relaxed);
}
