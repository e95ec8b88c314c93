/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A transport within one process, for tests: info string "loop+mem". It keeps
 * to the ABI, aborts with a line on stderr when the core does not, and behaves
 * badly where it is told to. Everything here is [any thread].
 */
#ifndef LOOP_PLUGIN_H
#define LOOP_PLUGIN_H

#include "na_plugin.h"

#include <stdbool.h>

/* To be registered with talaria_plugin_register. Opening "loop+mem://broken"
 * fails with NODEV. */
extern const na_plugin loop_plugin;

/* What classes that are opened from now on offer. */
struct loop_limits {
    uint64_t max_unexpected_size;
    uint64_t max_expected_size;
    uint32_t unexpected_header_size;
    uint32_t expected_header_size;
    uint64_t max_tag;
    uint64_t max_segments;
    uint64_t max_rma_size;
    uint32_t max_contexts;
    uint32_t op_pad;       /* bytes more than an operation needs */
    bool no_wait;          /* without na.wait/1 */
    bool wake;             /* and then rouses by the host's wake */
    bool no_multi_recv;    /* without na.multi_recv/1 */
    bool no_serialization; /* addresses have no form as bytes */
};

/* A limit of 0 stays as it is by default. */
void loop_limits_set(const struct loop_limits *limits);

enum loop_kind {
    LOOP_SEND_UNEXPECTED,
    LOOP_RECV_UNEXPECTED,
    LOOP_SEND_EXPECTED,
    LOOP_RECV_EXPECTED,
    LOOP_PUT,
    LOOP_GET,
    LOOP_KINDS
};

/* What happens to an operation instead of what should. */
enum loop_act {
    LOOP_HONEST,
    LOOP_LATER,      /* does it at once, tells `delay` polls later */
    LOOP_FAIL_NOW,   /* the submission returns the code */
    LOOP_FAIL_LATER, /* does nothing, ends with the code `delay` polls later */
    LOOP_LOSE,       /* says that it is done, and has done nothing */
    LOOP_HOLD        /* does nothing until loop_release */
};

/* A delay that no test outlasts, however fast it polls: until loop_hurry. */
#define LOOP_UNHURRIED UINT32_MAX

struct loop_fault {
    enum loop_act act;
    int32_t code;
    uint32_t delay;
    const void *stray; /* LOOP_LATER, receives: what it gets at once instead, */
    uint64_t stray_length; /* behind the header space */
    uint32_t skip;         /* so many operations first are honest */
    uint32_t count;        /* so many are not, then they are again; 0: all */
};

/* Sets what happens to operations of a kind, in every class. */
void loop_fault_set(enum loop_kind kind, struct loop_fault fault);

/* Every kind is honest, cancelling works, no message is tampered with. */
void loop_faults_clear(void);

/* What was to be told later is told with the next poll. */
void loop_hurry(void);

/* Does what was held. Returns how many operations. */
uint32_t loop_release(void);

enum loop_cancel {
    LOOP_CANCEL_PROMPT,
    LOOP_CANCEL_LATE,   /* the event comes 20 polls later */
    LOOP_CANCEL_REFUSED /* what is pending stays so */
};
void loop_cancel_set(enum loop_cancel cancel);

/* Called, without a lock of the plugin's, at the end of the next cancel; once. */
void loop_cancel_hook_set(void (*hook)(void));

/* Called with a copy of each message that is on its way, header space
 * included; it may change the bytes and shorten the length. */
typedef void (*loop_tamper_t)(
    enum loop_kind kind, unsigned char *message, uint64_t *length);
void loop_tamper_set(loop_tamper_t tamper);

/* Brings a message to context ctx of the class with address `to`, as if the
 * class with address `from` had sent it. The bytes begin behind the header
 * space. kind: LOOP_SEND_*. false: there is no such class or context. */
bool loop_inject(const char *from, const char *to, uint32_t ctx,
    enum loop_kind kind, const void *bytes, uint64_t length, uint64_t tag);

/* The class with this address ("loop+mem://1" or "mem://1") is as if its
 * process had been killed, for all others. */
void loop_kill(const char *address);

/* The contexts of that class are dead: poll returns IO_ERROR. */
void loop_break(const char *address);

/* Operations pending in all classes. */
uint32_t loop_pending(void);

/* Writes which operations are pending in all classes, receives of unexpected
 * messages left out, for the message of a test that fails. */
void loop_describe(char *text, size_t size);

/* Operations of a kind that were submitted since loop_faults_clear. */
uint32_t loop_submitted(enum loop_kind kind);

/* How often contexts have been polled, those that were destroyed left out. */
uint64_t loop_polls(void);

/* Puts and gets among them that went to a context of this number. */
uint32_t loop_rma_submitted_to(uint32_t ctx);

#endif /* LOOP_PLUGIN_H */
