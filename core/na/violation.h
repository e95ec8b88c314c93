/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a plugin must not do by the ABI, and did: it is named in the log, with
 * the entry, what came and what may come. Where it concerns a context, the
 * context is dead from then on: nothing of it is called any more but
 * ctx_destroy, and the core completes what is pending on it with an error.
 */
#ifndef NA_VIOLATION_H
#define NA_VIOLATION_H

#include "na/context.h"
#include "na/op.h"

#include <string.h>

/* Logs one line at level ERROR that names the plugin. */
void na_violation(const struct na_class *na_class, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same, and the context is dead. Only the first line is logged. */
void na_violation_of_context(struct na_context *context, const char *format,
    ...) __attribute__((format(printf, 2, 3)));

/* Is reported with its number; IO_ERROR. */
na_return_t na_code_foreign(
    const struct na_class *na_class, const char *entry, int32_t code);

/* The interface's code for what an entry returned that does not return DONE. */
static inline na_return_t
na_result(const struct na_class *na_class, const char *entry, int32_t code)
{
    if (code <= 0 && code > -NA_RETURN_MAX)
        return (na_return_t) -code;
    return na_code_foreign(na_class, entry, code);
}

/* The same for a plugin's verdict on bytes of a peer: what it calls a wrong
 * argument is the peer's fault, not the caller's. */
static inline na_return_t
na_result_of_bytes(
    const struct na_class *na_class, const char *entry, int32_t code)
{
    return code == NA_PLUGIN_E_INVALID_ARG || code == NA_PLUGIN_E_OVERFLOW
               ? NA_PROTOCOL_ERROR
               : na_result(na_class, entry, code);
}

/* The code of a submission that returned neither PENDING nor, if it may, DONE:
 * it has not started. With a positive code the context is dead. */
na_return_t na_submission_failed(
    struct na_context *context, const char *entry, int32_t code);

/* Status and flags at once: what an event has that reports success, without a
 * message and with one. */
#define NA_EVENT_DONE 0U
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NA_EVENT_MESSAGE ((uint64_t) NA_PLUGIN_EVENT_MESSAGE << 32)
#else
#define NA_EVENT_MESSAGE ((uint64_t) NA_PLUGIN_EVENT_MESSAGE)
#endif

_Static_assert(
    offsetof(na_plugin_event, flags) == offsetof(na_plugin_event, status) + 4 &&
        NA_PLUGIN_OK == 0,
    "status and flags are read at once");

static inline uint64_t
na_event_state(const na_plugin_event *event)
{
    uint64_t state;

    memcpy(&state, &event->status, sizeof state);
    return state;
}

/* The code of an event that does not have the state that reports success; one
 * that is not allowed makes the context dead. received: of a receive. */
na_return_t na_event_failed(
    struct na_context *context, const na_plugin_event *event, bool received);

/* The code of an event of what is not a receive. */
static inline na_return_t
na_event_code(struct na_context *context, const na_plugin_event *event)
{
    return __builtin_expect(na_event_state(event) == NA_EVENT_DONE, 1)
               ? NA_SUCCESS
               : na_event_failed(context, event, false);
}

/* A message of more bytes than there is room for; PROTOCOL_ERROR. */
na_return_t na_event_too_long(
    struct na_context *context, const na_plugin_event *event, uint64_t room);

/* The code of an event of a receive with so much room. */
static inline na_return_t
na_event_message(
    struct na_context *context, const na_plugin_event *event, uint64_t room)
{
    if (__builtin_expect(na_event_state(event) != NA_EVENT_MESSAGE, 0))
        return na_event_failed(context, event, true);
    if (__builtin_expect(event->length > room, 0))
        return na_event_too_long(context, event, room);
    return NA_SUCCESS;
}

/* An unexpected message whose source is NULL, or with a tag above max_tag;
 * PROTOCOL_ERROR. */
na_return_t na_event_wrong_origin(
    struct na_context *context, const na_plugin_event *event);

/* The code of an event of a multi-receive into this buffer. */
na_return_t na_event_multi(struct na_context *context,
    const na_plugin_event *event, const void *buffer, uint64_t size);

/* What poll returned that is not a number of events up to `most`: the context is
 * dead, or was before. The code to return. */
int32_t na_poll_failed(
    struct na_context *context, int32_t count, uint32_t most);

#endif /* NA_VIOLATION_H */
