/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of cases. */
#ifndef KIT_CASES_H
#define KIT_CASES_H

#include "check/kit.h"

extern const struct kit_group kit_cases_static; /* the object, its table */
extern const struct kit_group
    kit_cases_lifecycle;                         /* open, close, hosts, fork */
extern const struct kit_group kit_cases_address; /* texts, bytes, equality */
extern const struct kit_group
    kit_cases_contract;                          /* extensions, logs, reports */
extern const struct kit_group kit_cases_message; /* sizes, buffers, storage */
extern const struct kit_group kit_cases_match;   /* tags, sources, senders */
extern const struct kit_group kit_cases_cancel;
extern const struct kit_group kit_cases_context;
extern const struct kit_group kit_cases_contexts_work;
extern const struct kit_group kit_cases_contexts_end;
extern const struct kit_group kit_cases_contexts_odd;
extern const struct kit_group kit_cases_contexts_thread;
extern const struct kit_group kit_cases_contexts; /* three on either side */
extern const struct kit_group kit_cases_rma;      /* ranges, bounds, rights */
extern const struct kit_group kit_cases_rma_end;  /* events and data */
extern const struct kit_group kit_cases_memory;   /* registrations */
extern const struct kit_group kit_cases_forged;   /* altered registrations */
extern const struct kit_group kit_cases_flags;    /* demands and hints */
extern const struct kit_group kit_cases_many;     /* messages, bits of tags */
extern const struct kit_group kit_cases_multi;    /* na.multi_recv/1 */
extern const struct kit_group kit_cases_wait;     /* na.wait/1 */
extern const struct kit_group kit_cases_wake;     /* no wake-up is lost */
extern const struct kit_group kit_cases_busy;     /* never sleeping */
extern const struct kit_group kit_cases_thread;
extern const struct kit_group kit_cases_death; /* killed, or exited */
extern const struct kit_group kit_cases_stop;  /* stopped, forgotten, closed */
extern const struct kit_group kit_cases_no_peer; /* no peer, many peers */

#endif /* KIT_CASES_H */
