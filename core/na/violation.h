/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Violations of the ABI by a plugin. The log names the plugin, the entry, what
 * it returned and what is allowed. A context that a violation concerns is dead
 * from then on: the core calls only its ctx_destroy, and completes its pending
 * operations with an error.
 */
#ifndef NA_VIOLATION_H
#define NA_VIOLATION_H

#include "na/context.h"
#include "na/op.h"

#include <string.h>

/* Logs one line at level ERROR that names the plugin. */
void na_violation(const struct na_class *na_class, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Logs a violation and marks the context as dead. Only the first one is logged.
 */
void na_violation_of_context(struct na_context *context, const char *format,
    ...) __attribute__((format(printf, 2, 3)));

/* Reports a code that the ABI does not define; returns IO_ERROR. */
na_return_t na_code_foreign(
    const struct na_class *na_class, const char *entry, int32_t code);

/* Converts the result of an entry that does not return DONE. */
static inline na_return_t
na_result(const struct na_class *na_class, const char *entry, int32_t code)
{
    if (code <= 0 && code > -NA_RETURN_MAX)
        return (na_return_t) -code;
    return na_code_foreign(na_class, entry, code);
}

/* Converts the result of an entry that reads bytes of a peer: INVALID_ARG is
 * the peer's fault, not the caller's. */
static inline na_return_t
na_result_of_bytes(
    const struct na_class *na_class, const char *entry, int32_t code)
{
    return code == NA_PLUGIN_E_INVALID_ARG || code == NA_PLUGIN_E_OVERFLOW
               ? NA_PROTOCOL_ERROR
               : na_result(na_class, entry, code);
}

/* Converts the result of a submission that returned neither PENDING nor, if
 * allowed, DONE: it has not started. A positive code makes the context dead. */
na_return_t na_submission_failed(
    struct na_context *context, const char *entry, int32_t code);

/* Status and flags of an event in one word: successful, without a message and
 * with one. */
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

/* Returns the code of an event that is not successful; an invalid event makes
 * the context dead. received: the event is of a receive. */
na_return_t na_event_failed(
    struct na_context *context, const na_plugin_event *event, bool received);

/* Returns the code of an event that is not of a receive. */
static inline na_return_t
na_event_code(struct na_context *context, const na_plugin_event *event)
{
    return __builtin_expect(na_event_state(event) == NA_EVENT_DONE, 1)
               ? NA_SUCCESS
               : na_event_failed(context, event, false);
}

/* Reports a message longer than its buffer; returns PROTOCOL_ERROR. */
na_return_t na_event_too_long(
    struct na_context *context, const na_plugin_event *event, uint64_t room);

/* Returns the code of an event of a receive with `room` bytes. */
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

/* Reports an unexpected message whose source is NULL or whose tag exceeds
 * max_tag; returns PROTOCOL_ERROR. */
na_return_t na_event_wrong_origin(
    struct na_context *context, const na_plugin_event *event);

/* Returns the code of an event of a multi-receive into this buffer. */
na_return_t na_event_multi(struct na_context *context,
    const na_plugin_event *event, const void *buffer, uint64_t size);

/* Handles a result of poll that is not a number of events up to `most`: the
 * context is dead, or was before. Returns the code to return. */
int32_t na_poll_failed(
    struct na_context *context, int32_t count, uint32_t most);

#endif /* NA_VIOLATION_H */
