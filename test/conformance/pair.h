/* SPDX-License-Identifier: BSD-3-Clause */
/* Two classes of the wire plugin in this process, and messages for them. */
#ifndef PAIR_H
#define PAIR_H

#include "fixture.h"

extern struct fixture a, b;
extern na_plugin_addr *to_b, *to_a;
extern struct fixture_message one, two, three;

/* Opens both, with this many contexts, and looks each up for the other. */
void open_both(uint32_t contexts);
void close_both(void);
void free_messages(void);

/* Waits for the end of an operation whose submission returned code; asserts
 * OK. */
void settle(
    struct fixture *fixture, struct fixture_message *message, int32_t code);

/* Asserts that an event is this message. */
void check_message(const struct fixture *fixture, const struct fixture_op *op,
    uint32_t event, const void *bytes, uint64_t length, uint64_t tag);
void free_source(
    struct fixture *fixture, const struct fixture_op *op, uint32_t event);

/* Sends both kinds of messages to peer in many lengths; back: the sender's
 * address. */
void talk(struct fixture *from, struct fixture *to, na_plugin_addr *peer,
    na_plugin_addr *back);

/* Registers one segment; deserializes it at another class. */
na_plugin_mem *register_bytes(
    struct fixture *fixture, void *bytes, uint64_t length, uint32_t access);
na_plugin_mem *expose(
    struct fixture *fixture, const na_plugin_mem *mem, struct fixture *to);

#endif /* PAIR_H */
