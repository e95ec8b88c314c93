/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program does, step by step, in one thread: two classes and what they
 * do with each other. Everything says how it ended, and leaves nothing behind
 * when it failed; nothing is asserted, for that takes memory.
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
    char address[512]; /* the target's */
};

/* both_ways: na+sm beside the transport. NOMEM also when the library gives no
 * reason. */
hg_return_t nomem_open(struct nomem *n, bool both_ways);
void nomem_close(struct nomem *n);

/* Two more classes. */
hg_return_t nomem_open_again(struct nomem *n);
hg_return_t nomem_open_both_ways(struct nomem *n);

hg_return_t nomem_look_up(struct nomem *n);
hg_return_t nomem_register(struct nomem *n);
hg_return_t nomem_call(struct nomem *n);
hg_return_t nomem_call_with_strings(struct nomem *n);
hg_return_t nomem_call_large(struct nomem *n);
hg_return_t nomem_call_oneself(struct nomem *n);
hg_return_t nomem_call_and_wait(struct nomem *n);

/* A forward is cancelled before it is answered. */
hg_return_t nomem_give_up(struct nomem *n);

/* More requests at once than there are handles for. */
hg_return_t nomem_crowd(struct nomem *n);

hg_return_t nomem_ask_stats(struct nomem *n);
hg_return_t nomem_ask_protocols(struct nomem *n);
hg_return_t nomem_move_data(struct nomem *n);
hg_return_t nomem_na_objects(struct nomem *n);
hg_return_t nomem_na_messages(struct nomem *n);

#endif /* NOMEM_H */
