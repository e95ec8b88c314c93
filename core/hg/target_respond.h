/* SPDX-License-Identifier: BSD-3-Clause */
/* Responses of any kind: with flags, an extra payload or an error code, to a
 * peer or to the own class, sent at once or pending. target.c sends the plain
 * ones, and what they need beyond sending is here too. */
#ifndef HG_TARGET_RESPOND_H
#define HG_TARGET_RESPOND_H

#include "hg/handle.h"

/* Sends a response that is claimed and encoded, and whose ret is set. */
hg_return_t hg_target_respond(struct hg_handle *handle, hg_return_t result);

/* The same, if encoding it has failed with ret, or did not fit into the
 * message. */
hg_return_t hg_target_respond_spilled(
    struct hg_handle *handle, hg_return_t ret);

/* HG_Respond of a call with flags, or that was answered before. */
hg_return_t hg_target_respond_flagged(
    struct hg_handle *handle, hg_cb_t callback, void *arg, void *out_struct);

/* Responds with a code and without a payload. BUSY: a response was begun. */
hg_return_t hg_target_send_code(struct hg_handle *handle, hg_return_t code);

/* The same, if the request has a response. Returns false if the program has
 * responded. */
bool hg_target_respond_code(struct hg_handle *handle, hg_return_t code);

/* A response, which has its reference, was submitted with this code. */
hg_return_t hg_target_submitted(struct hg_handle *handle, int32_t code);

/* Completes the operation of a pending response. */
void hg_target_sent(struct na_op *op, const na_plugin_event *event);

/* The function `acknowledged` of a target's side. */
void hg_target_acknowledged(struct hg_handle *handle);

/* Runs the user's callback of a response. */
void hg_target_respond_run(struct base_completion *completion);

/* Queues it outside of progress, and so wakes a waiting thread. */
void hg_target_queue_callback(struct hg_handle *handle);

#endif /* HG_TARGET_RESPOND_H */
