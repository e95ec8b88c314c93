/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A transport within one process, for tests: info string "loop+mem". It follows
 * the ABI, aborts with a line on stderr when the core does not, and injects
 * faults on request. All functions are [any thread].
 */
#ifndef LOOP_PLUGIN_H
#define LOOP_PLUGIN_H

#include "na_plugin.h"

#include <stdbool.h>

/* For talaria_plugin_register. Opening "loop+mem://broken" fails with NODEV. */
extern const na_plugin loop_plugin;

/* Features and limits of classes opened from now on. */
struct loop_limits {
    uint64_t max_unexpected_size;
    uint64_t max_expected_size;
    uint32_t unexpected_header_size;
    uint32_t expected_header_size;
    uint64_t max_tag;
    uint64_t max_segments;
    uint64_t max_rma_size;
    uint32_t max_contexts;
    uint32_t op_pad;       /* bytes added to the operation size */
    bool no_wait;          /* without na.wait/1 */
    bool wake;             /* and wakes through the host's wake instead */
    bool no_multi_recv;    /* without na.multi_recv/1 */
    bool no_serialization; /* the plugin does not serialize addresses */
};

/* A limit of 0 keeps the default. */
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

/* Faults that can replace the normal behaviour of an operation. */
enum loop_act {
    LOOP_NORMAL,
    LOOP_LATER,    /* performed at once, reported `delay` polls later */
    LOOP_FAIL_NOW, /* the submission fails with the code */
    /* not performed; fails with the code `delay` polls later */
    LOOP_FAIL_LATER,
    LOOP_LOSE, /* not performed, but reported as successful */
    LOOP_HOLD  /* not performed before loop_release */
};

/* A delay longer than any test polls: until loop_expire_delays. */
#define LOOP_DELAY_MAX UINT32_MAX

struct loop_fault {
    enum loop_act act;
    int32_t code;
    uint32_t delay;
    /* LOOP_LATER for receives: content written at once instead, */
    const void *stray;
    uint64_t stray_length; /* after the header space */
    uint32_t skip;         /* operations before the first fault */
    uint32_t count;        /* number of faults; 0: no limit */
};

/* Sets the fault for operations of a kind, in every class. */
void loop_fault_set(enum loop_kind kind, struct loop_fault fault);

/* Removes all faults, restores cancellation, stops tampering with messages. */
void loop_faults_clear(void);

/* Makes every delayed event due at the next poll. */
void loop_expire_delays(void);

/* Performs the held operations. Returns their number. */
uint32_t loop_release(void);

enum loop_cancel {
    LOOP_CANCEL_PROMPT,
    LOOP_CANCEL_LATE,   /* the event is due 20 polls later */
    LOOP_CANCEL_REFUSED /* the operation stays pending */
};
void loop_cancel_set(enum loop_cancel cancel);

/* Called once, without the plugin's lock, at the end of the next cancel. */
void loop_cancel_hook_set(void (*hook)(void));

/* Called with a copy of each message in transit, header space included. It may
 * change the bytes and shorten the length. */
typedef void (*loop_tamper_t)(
    enum loop_kind kind, unsigned char *message, uint64_t *length);
void loop_tamper_set(loop_tamper_t tamper);

/* Delivers a message to context ctx of the class with address `to`, as if the
 * class with address `from` had sent it. The bytes exclude the header space.
 * kind: LOOP_SEND_*. Returns false if there is no such class or context. */
bool loop_inject(const char *from, const char *to, uint32_t ctx,
    enum loop_kind kind, const void *bytes, uint64_t length, uint64_t tag);

/* Makes the class with this address ("loop+mem://1" or "mem://1") behave to all
 * others as if its process had been killed. */
void loop_kill(const char *address);

/* Kills the contexts of that class: poll returns IO_ERROR. */
void loop_kill_contexts(const char *address);

/* Number of pending operations in all classes. */
uint32_t loop_pending(void);

/* Lists the pending operations of all classes, except receives of unexpected
 * messages, for the message of a failing test. */
void loop_describe(char *text, size_t size);

/* Operations of a kind submitted since loop_faults_clear. */
uint32_t loop_submitted(enum loop_kind kind);

/* Polls of all contexts that still exist. */
uint64_t loop_polls(void);

/* Puts and gets submitted to a context with this id. */
uint32_t loop_rma_submitted_to(uint32_t ctx);

#endif /* LOOP_PLUGIN_H */
