/* SPDX-License-Identifier: BSD-3-Clause */
/* A class of the plugin in this process, its operations, and the checks of each
 * call, for scripts and for worker processes. */
#ifndef KIT_CLASS_H
#define KIT_CLASS_H

#include "check/guard.h"
#include "check/kit.h"

#include <stdatomic.h>

#define KIT_MESSAGES 1024U
#define KIT_BEYOND 64U
#define KIT_POLL_MAX 64U

/* The host table, longer than in this kit's version, as of a newer core. */
struct kit_host {
    na_plugin_host table;
    unsigned char beyond[KIT_BEYOND];
};

enum kit_op_state { KIT_IDLE, KIT_PENDING, KIT_ENDED };

/* A received message. */
struct kit_received {
    unsigned char *bytes; /* in the buffer, with header space */
    uint64_t length;
    uint64_t tag;
    uint64_t hash; /* of the whole message */
    uint32_t source;
    int32_t status; /* an error with MORE */
};

struct kit_op {
    _Atomic uint32_t state;
    uint32_t number;
    struct kit_request request;
    struct kit_guarded storage; /* the plugin's part; created on first use */
    _Atomic bool stored;
    /* The buffer: the plugin's, or one of the kit. */
    unsigned char *buffer;
    unsigned char *last_buffer; /* the buffer of the previous use */
    bool cancelled;             /* in this use */
    void *buffer_data;
    struct kit_guarded guarded;
    bool own;
    uint32_t ctx;
    _Atomic int32_t result;
    int32_t status;
    na_plugin_addr *source; /* of the last message: held until reuse */
    struct kit_received *received;
    _Atomic uint32_t messages;
};

struct kit_mem {
    na_plugin_mem *mem;
    bool remote; /* from mem_deserialize */
    uint32_t segments;
    uint64_t length;
    uint64_t share; /* of one segment; the last one may be shorter */
    uint32_t access;
    struct kit_guarded *blocks;
    void *allocated;
    unsigned char
        *base; /* of the memory, allocated here or inside another region */
    bool inside;
};

struct kit_class {
    struct kit_host host;
    int32_t log_level;
    _Atomic uint32_t errors; /* lines at level ERROR */
    struct kit_open_options how;
    const na_plugin *plugin;
    na_plugin_class *cls;
    na_plugin_opened opened;
    na_plugin_ops ops; /* absent functions are NULL */
    const na_plugin_wait *wait;
    const na_plugin_multi_recv *multi;
    const na_plugin_mem_alloc *alloc;
    const na_plugin_report *report;
    na_plugin_ctx *contexts[KIT_CONTEXTS];
    /* core_ctx of a context is the address of its counter. */
    _Atomic uint32_t wakes[KIT_CONTEXTS];
    _Atomic bool destroyed[KIT_CONTEXTS]; /* destroyed */
    /* Of sleeping contexts (sleep.c): the descriptor that wake writes to,
     * created on first use, and that of na.wait/1; -1: none. */
    _Atomic uint32_t sleeping[KIT_CONTEXTS];
    int wake_fds[KIT_CONTEXTS];
    int wait_fds[KIT_CONTEXTS];
    na_plugin_addr *addrs[KIT_ADDRS];
    struct kit_mem mems[KIT_MEMS];
    struct kit_op ops_made[KIT_OPS];
    uint32_t poll_max; /* 0: varies */
    _Atomic uint32_t poll_turn;
    bool polls;
    bool tables_1_0; /* open gets tables of the size of ABI 1.0 */
    bool unlocked; /* storage is not protected between uses, for many rounds */
};

/* Opens a class with its contexts, and its own address as number self. An error
 * ends the case. */
struct kit_class *kit_class_open(
    const struct kit_open_options *how, uint32_t self);
void kit_class_close(struct kit_class *cls);

/* Opens a class with an info that may be invalid. cls must be zeroed; on
 * success it has the class. */
int32_t kit_class_try(struct kit_class *cls, const na_plugin_open_info *info);
void kit_class_info(
    na_plugin_open_info *info, const struct kit_open_options *how);

/* Whether the plugin offers all features of these bits. */
bool kit_class_offers(const struct kit_class *cls, uint32_t needs);

void kit_class_ctx_create(struct kit_class *cls, uint32_t ctx);
void kit_class_ctx_destroy(struct kit_class *cls, uint32_t ctx);

void kit_class_lookup(struct kit_class *cls, uint32_t number, const char *text);
void kit_class_text(
    struct kit_class *cls, const na_plugin_addr *addr, char *text, size_t room);

/* Submits an operation. [any thread], for different operations. Results are
 * checked, here and in all calls below. */
int32_t kit_class_post(
    struct kit_class *cls, const struct kit_request *request);
void kit_class_end(
    struct kit_class *cls, uint32_t op, struct kit_completion *end_p);
void kit_class_message(struct kit_class *cls, uint32_t op, uint32_t message,
    struct kit_completion *end_p);
void kit_class_cancel(struct kit_class *cls, uint32_t op);

/* Polls a context, checks its events and records them. Returns their number.
 * One thread per context at a time. */
uint32_t kit_class_poll(struct kit_class *cls, uint32_t ctx);
/* Polls all contexts. */
uint32_t kit_class_progress(struct kit_class *cls);

/* Sleeping by na.wait/1. Arms a context. true: it may sleep, at most *ns_p.
 * Threads as for kit_class_poll. */
bool kit_class_arm(struct kit_class *cls, uint32_t ctx, uint64_t *ns_p);
/* Returns the descriptor of na.wait/1. A change breaks rule 12. */
int kit_class_wait_fd(struct kit_class *cls, uint32_t ctx);
/* Arms `count` contexts and sleeps until there may be events: by their
 * descriptors, by wake, or after the time that arm returned, at most ns. false:
 * timeout. One thread per context. */
bool kit_class_sleep(
    struct kit_class *cls, uint32_t first, uint32_t count, uint64_t ns);
/* Sleeps and polls these contexts until the operation has ended, or while
 * `pending` returns true. A sleep that only ends by a timeout breaks rule 12.
 * what: for the message. */
void kit_class_sleep_for(
    struct kit_class *cls, uint32_t first, uint32_t count, uint32_t op);
typedef bool (*kit_pending_t)(const void *arg);
void kit_class_sleep_while(struct kit_class *cls, uint32_t first,
    uint32_t count, kit_pending_t pending, const void *arg, const char *what);

void kit_class_region(struct kit_class *cls, const struct kit_region *region);
void kit_class_mem_free(struct kit_class *cls, uint32_t number);
size_t kit_class_mem_bytes(
    struct kit_class *cls, uint32_t number, void *bytes, size_t room);
void kit_class_mem_remote(
    struct kit_class *cls, uint32_t number, const void *bytes, size_t length);
unsigned char *kit_class_mem_at(struct kit_class *cls, uint32_t number,
    uint64_t offset, uint64_t *length_p);

/* Whether na_plugin.h defines a code: 0 or an error. */
bool kit_code_known(int32_t code);
const char *kit_kind_name(enum kit_kind kind);

/* Internal: opening and closing in op.c and mem.c. */
void kit_ops_finish(struct kit_class *cls);
void kit_mems_finish(struct kit_class *cls);
/* Internal: sleep.c. */
void kit_sleep_init(struct kit_class *cls);
void kit_sleep_finish(struct kit_class *cls);
/* Called by wake. [any thread] */
void kit_sleep_interrupt(struct kit_class *cls, uint32_t ctx);

#endif /* KIT_CLASS_H */
