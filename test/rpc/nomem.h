/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program does, step by step, in one thread with two classes. Each step
 * returns its result, and leaves nothing behind when it fails. No assertions:
 * they would allocate.
 */
#ifndef NOMEM_H
#define NOMEM_H

#include "mercury.h"

#include <stdbool.h>

struct nomem {
    hg_class_t *target_class;
    hg_class_t *origin_class;
    hg_context_t *target;
    hg_context_t *origin;
    hg_addr_t peer;
    char address[512]; /* the target's address */
};

/* both_ways: auto_sm, so na+sm beside the transport. Returns NOMEM also when
 * the library gives no reason. */
hg_return_t nomem_open(struct nomem *n, bool both_ways);
void nomem_close(struct nomem *n);

/* Opens and closes two more classes. */
hg_return_t nomem_open_again(struct nomem *n);
hg_return_t nomem_open_both_ways(struct nomem *n);

hg_return_t nomem_look_up(struct nomem *n);
hg_return_t nomem_register(struct nomem *n);
hg_return_t nomem_call(struct nomem *n);
hg_return_t nomem_call_with_strings(struct nomem *n);
hg_return_t nomem_call_large(struct nomem *n);
hg_return_t nomem_call_oneself(struct nomem *n);
hg_return_t nomem_call_and_wait(struct nomem *n);

/* Cancels a forward before it is answered. */
hg_return_t nomem_cancel(struct nomem *n);

/* Sends more concurrent requests than the target has handles. */
hg_return_t nomem_call_many(struct nomem *n);

hg_return_t nomem_get_stats(struct nomem *n);
hg_return_t nomem_get_protocols(struct nomem *n);
hg_return_t nomem_move_data(struct nomem *n);
hg_return_t nomem_na_objects(struct nomem *n);
hg_return_t nomem_na_messages(struct nomem *n);

#endif /* NOMEM_H */
