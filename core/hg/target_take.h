/* SPDX-License-Identifier: BSD-3-Clause */
/* Taking what a receive of the target brings: requests of any kind, cancel
 * messages, malformed messages, errors. target.c takes the plain requests. */
#ifndef HG_TARGET_TAKE_H
#define HG_TARGET_TAKE_H

#include "hg/handle.h"

/* Takes any event of a receive. last: no other receive is posted. In progress.
 */
void hg_target_receive(
    struct hg_handle *handle, const na_plugin_event *event, bool last);

/* The function `take` of a target's side: a message has arrived that may be a
 * request, or not. */
void hg_target_take(struct hg_handle *handle, const na_plugin_event *event);

/* The function `fetched` of a target's side. */
void hg_target_fetched(struct hg_handle *handle, hg_return_t ret);

#endif /* HG_TARGET_TAKE_H */
