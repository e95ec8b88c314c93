/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls an RPC at an address and reports which step fails. */
#ifndef PING_CALLER_H
#define PING_CALLER_H

#include <mercury.h>
#include <stdbool.h>

struct caller {
    const char *address; /* of the owner */
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_addr_t addr;
    hg_handle_t handle;
    bool answered;
    hg_return_t ret;  /* HG_NOENTRY: the server has no "talaria ping" */
    const char *step; /* that failed: "address", "transport", "lookup", "call",
                         "connection" or "answer" */
    char reason[64];  /* why */
};

/* Opens the transport of an address and looks the address up. Returns false,
 * with step and reason, if that fails. caller_close must be called in any case.
 */
bool caller_open(struct caller *caller, const char *address);

/* Calls once and waits. seconds_p: duration of the call. A server without the
 * RPC returns an error, which counts as an answer. Returns false, with step and
 * reason, if there is no answer within `timeout` seconds. */
bool caller_call(
    struct caller *caller, unsigned int timeout, double *seconds_p);

void caller_close(struct caller *caller);

/* Makes progress for at most `timeout` ms and runs callbacks. */
void caller_progress(hg_context_t *context, unsigned int timeout);

#endif /* PING_CALLER_H */
