/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface for cases of the conformance kit: verdicts, and sides, which
 * are classes of the plugin in this process or in worker processes. It depends
 * on na_plugin.h only.
 *
 * A case runs in a process that has loaded nothing yet. A breach of the
 * contract ends it at once, from any thread and process of the case.
 */
#ifndef KIT_H
#define KIT_H

#include "na_plugin.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kit_verdict {
    KIT_PASSED,
    KIT_FAILED,
    KIT_NOT_OFFERED, /* the plugin says so */
    KIT_NOT_RUN      /* this machine, or the choice of cases, is in the way */
};

/* Features that a case needs. */
#define KIT_NEEDS_RMA 0x1U
#define KIT_NEEDS_MULTI_RECV 0x2U
#define KIT_NEEDS_WAIT 0x4U
#define KIT_NEEDS_CONTEXTS 0x8U   /* two at least */
#define KIT_NEEDS_SERIALIZE 0x10U /* addresses as bytes */
#define KIT_NEEDS_ALLOC 0x20U     /* na.mem_alloc/1 */
#define KIT_NEEDS_REPORT 0x40U    /* na.report/1 */
#define KIT_NEEDS_FORGET 0x80U    /* addr_forget */

struct kit_case {
    const char *name;   /* lower case, words joined by '_' */
    uint32_t rule;      /* that it tests; a crash or hang breaks it */
    uint32_t needs;     /* KIT_NEEDS_* */
    uint32_t processes; /* worker processes, at most KIT_PROCESSES */
    uint32_t seconds;   /* limit, 0: the default */
    const char *text;   /* what holds if it passes */
    void (*run)(void);
};

#define KIT_PROCESSES 8U

/* A file of cases. */
struct kit_group {
    const struct kit_case *cases;
    size_t count;
};

/* VERDICTS */

/* The case fails: a rule was broken. expected: what should have been; the rest
 * is what was found, as printf takes it. [any thread] */
__attribute__((noreturn, format(printf, 3, 4))) void kit_fail(
    uint32_t rule, const char *expected, const char *came, ...);

/* The same unless ok. */
__attribute__((format(printf, 4, 5))) void kit_expect(
    bool ok, uint32_t rule, const char *expected, const char *came, ...);

/* The case ends otherwise, with a reason. */
__attribute__((noreturn, format(printf, 1, 2))) void kit_not_offered(
    const char *reason, ...);
__attribute__((noreturn, format(printf, 1, 2))) void kit_not_run(
    const char *reason, ...);

/* What the case is doing, for the report of a hang or crash. text: constant. */
void kit_step(const char *text);

/* Nanoseconds of the monotonic clock. */
uint64_t kit_now(void);

/* How long to wait for what must happen, and for what must not, in ns. */
uint64_t kit_patience(void);
uint64_t kit_quiet(void);

/* Anonymous memory of this process in KiB; -1 if unknown, 0 under sanitizers
 * that keep freed memory. */
long kit_anonymous_kib(void);

/* Descriptors and threads of this process, and a few more: to be compared. */
uint32_t kit_descriptors(void);
uint32_t kit_threads(void);

/* Repetitions: full, or a tenth of it under --quick. */
uint32_t kit_times(uint32_t full);

/* SIDES: each is a class in some process. All its results, events, storage and
 * buffers of operations are checked (op.c). All calls of a script are made by
 * one thread. */

#define KIT_SIDES 16U
#define KIT_ADDRS 64U
#define KIT_OPS 512U
#define KIT_MEMS 64U
#define KIT_CONTEXTS 8U
#define KIT_NOBODY UINT32_MAX
#define KIT_TEXT_MAX 512U

struct kit_side;

/* How to open a class. Zero is the usual: listening, thread mode 0, one
 * context, which is created. */
struct kit_open_options {
    uint32_t flags;       /* NA_PLUGIN_OPEN_* but for LISTEN */
    uint32_t thread_mode; /* NA_PLUGIN_THREAD_* */
    uint32_t contexts;    /* created at once; 0: one */
    bool not_listening;   /* does not listen */
    bool no_contexts;     /* none is created */
    uint64_t max_unexpected_size;
    uint64_t max_expected_size;
    const char *at; /* an address as a string, of a peer that has ended and that
                       this one replaces; NULL: any. Not offered where that
                       fails */
};

/* Opens a side in this process, or in worker process 0 …. NULL how: as usual.
 * A worker process polls all of its contexts while it has nothing else to do. */
struct kit_side *kit_local(const struct kit_open_options *how);
struct kit_side *kit_remote(
    uint32_t process, const struct kit_open_options *how);

/* Which sides opened from now on get NA_PLUGIN_OPEN_NO_BLOCK in addition to
 * their flags: none, every second one beginning with the first, all. */
enum kit_busy { KIT_BUSY_NONE, KIT_BUSY_HALF, KIT_BUSY_ALL };
void kit_open_busy(enum kit_busy busy);

/* A worker process without the plugin, only for kit_begin and kit_join. */
struct kit_side *kit_worker(uint32_t process);

/* Number of a side; the other sides use it for its address. */
uint32_t kit_number(const struct kit_side *side);

/* Closes it in order: contexts, registrations, buffers, addresses, class.
 * Sides that are still open are closed when the case has run. */
void kit_close(struct kit_side *side);

/* Its limits, and its address as text. */
const na_plugin_opened *kit_opened(const struct kit_side *side);
const char *kit_address(struct kit_side *side);

/* side looks other up, and has its address as kit_number(other) from now on. */
void kit_lookup(struct kit_side *side, struct kit_side *other);

/* side keeps the source of the message that ended op under a number that others
 * do not have. */
void kit_keep_source(struct kit_side *side, uint32_t op, uint32_t number);

/* side gives the address with that number back; addr_forget. */
void kit_addr_free(struct kit_side *side, uint32_t number);
void kit_forget(struct kit_side *side, uint32_t number);

/* Contexts beyond those that opening made. */
void kit_ctx_create(struct kit_side *side, uint32_t ctx);
void kit_ctx_destroy(struct kit_side *side, uint32_t ctx);

/* false: the side no longer polls by itself, neither here in kit_run nor there
 * when idle. */
void kit_polls(struct kit_side *side, bool polls);

/* Most events that one poll of the side asks for; 0: it varies. */
void kit_poll_max(struct kit_side *side, uint32_t max);

/* Polls one context once. Number of events. */
uint32_t kit_poll(struct kit_side *side, uint32_t ctx);

/* Polls the sides here that poll, once. */
void kit_run(void);

/* OPERATIONS, each with a number below KIT_OPS that the script chooses. It may
 * be used again once the operation has ended. */

enum kit_kind {
    KIT_SEND_UNEXPECTED,
    KIT_RECV_UNEXPECTED,
    KIT_SEND_EXPECTED,
    KIT_RECV_EXPECTED,
    KIT_PUT,
    KIT_GET,
    KIT_RECV_MULTI,
    KIT_KINDS
};

struct kit_request {
    enum kit_kind kind;
    uint32_t op;
    uint32_t ctx;
    uint32_t peer; /* number of an address */
    uint32_t peer_ctx;
    uint64_t tag;
    uint64_t length; /* of the buffer with its header space; of a put or get */
    uint64_t seed;   /* contents of a message: kit_pattern */
    uint32_t flags;  /* as the ABI's */
    bool
        own_buffer; /* the kit's, at any alignment, guarded; else buf_alloc's */
    bool may_fail;  /* an error of the submission does not end the case */
    uint32_t local; /* numbers of registrations */
    uint32_t remote;
    uint64_t local_offset;
    uint64_t remote_offset;
};

/* The state of an operation. */
struct kit_completion {
    int32_t result;  /* of the submission */
    bool ended;      /* by DONE, an error, or the final event */
    int32_t status;  /* of the final event; of the submission if that failed */
    uint64_t length; /* of the last message, header space included */
    uint64_t tag;    /* and its tag, */
    uint64_t hash;   /* hash of its contents after the header space:
                        kit_hash, */
    uint64_t seed;   /* the seed that it names, if it is long enough, */
    uint32_t source; /* number of the address that its source equals */
    uint32_t messages; /* how many there were */
};

/* Submits. The result has been checked: an error ends the case unless it may
 * fail. */
int32_t kit_post(struct kit_side *side, const struct kit_request *request);

/* Shorthands. length: with header space; the buffer is buf_alloc's if op is
 * even, else the kit's own. */
int32_t kit_send_unexpected(struct kit_side *side, uint32_t op,
    struct kit_side *to, uint64_t length, uint64_t tag, uint64_t seed);
int32_t kit_recv_unexpected(
    struct kit_side *side, uint32_t op, uint64_t length);
int32_t kit_send_expected(struct kit_side *side, uint32_t op,
    struct kit_side *to, uint64_t length, uint64_t tag, uint64_t seed);
int32_t kit_recv_expected(struct kit_side *side, uint32_t op,
    struct kit_side *from, uint64_t length, uint64_t tag);

/* The state now; polls nothing locally, but a remote side has polled. */
void kit_get_completion(
    struct kit_side *side, uint32_t op, struct kit_completion *end_p);

/* Runs everything until the operation has ended, or breaks that rule if it does
 * not within kit_patience. The end must be OK, and a message as long and of
 * such contents as given, for the second. */
void kit_await(struct kit_side *side, uint32_t op, uint32_t rule,
    struct kit_completion *end_p);
void kit_await_message(struct kit_side *side, uint32_t op, uint32_t rule,
    uint64_t length, uint64_t tag, uint64_t seed, uint32_t source);

/* Awaits the end of an operation that must be OK. */
void kit_await_ok(struct kit_side *side, uint32_t op, uint32_t rule);

/* A put or get that must end with OK, awaited. */
void kit_transfer(struct kit_side *side, const struct kit_request *request);

/* One that must end with that error, at submission or in the event. expected:
 * the text of the rule. */
void kit_refused(struct kit_side *side, const struct kit_request *request,
    int32_t code, const char *expected);

/* Runs everything for a time. */
void kit_run_for(uint64_t ns);

/* One message of a multi-receive, by number in order of arrival. */
void kit_message(struct kit_side *side, uint32_t op, uint32_t message,
    struct kit_completion *end_p);

/* cancel; the result has been checked to be OK. */
void kit_cancel(struct kit_side *side, uint32_t op);

/* The text "ended with HOSTUNREACH", "is pending" … for a finding. */
const char *kit_completion_text(const struct kit_completion *end);
const char *kit_code_text(int32_t code);

/* MEMORY. A region of the side's, between guards, registered; its contents are
 * kit_pattern of the seed. */
struct kit_region {
    uint32_t number;   /* below KIT_MEMS */
    uint32_t access;   /* NA_PLUGIN_MEM_* */
    uint32_t segments; /* at least 1; equal shares, not adjacent */
    bool allocated;    /* by na.mem_alloc/1; then one segment */
    uint32_t inside;   /* 1 more than the number of a region of one segment that
                          contains this one; 0: memory of its own */
    uint64_t inside_offset;
    uint64_t length; /* of all together */
    uint64_t seed;
};
void kit_region(struct kit_side *side, const struct kit_region *region);
void kit_region_free(struct kit_side *side, uint32_t number);

/* side deserializes other's region under a number of its own. May fail with an
 * error, which it returns. */
void kit_expose(struct kit_side *owner, uint32_t region, struct kit_side *side,
    uint32_t number);
void kit_unexpose(struct kit_side *side, uint32_t number);

/* A region as its owner serializes it. Number of bytes. */
size_t kit_region_bytes(
    struct kit_side *owner, uint32_t region, void *bytes, size_t room);

/* Contents of a region: written anew; hashed. */
void kit_region_fill(struct kit_side *side, uint32_t number, uint64_t offset,
    uint64_t length, uint64_t seed);
uint64_t kit_region_hash(
    struct kit_side *side, uint32_t number, uint64_t offset, uint64_t length);

/* Fills in the bytes of a seed, beginning with the seed itself if there is
 * room; their hash; and that of length bytes of a seed. */
void kit_pattern(void *bytes, uint64_t length, uint64_t seed);
uint64_t kit_hash(const void *bytes, uint64_t length);
uint64_t kit_pattern_hash(uint64_t length, uint64_t seed);

/* WORKER PROCESSES */

/* Sends a signal to a worker process. After SIGKILL its side is lost; kit_close
 * frees what is left in this process. */
void kit_signal(struct kit_side *side, int signal);

/* Ends a worker process by exit without closing anything. */
void kit_exit(struct kit_side *side);

/* Runs a function in a worker process with the class of that side (NULL without
 * the plugin) and a copy of up to KIT_TEXT_MAX bytes, and returns when it has
 * begun; kit_join when it has returned, with what it left in these bytes. The
 * function runs in that process's thread, which polls nothing meanwhile.
 * kit_join runs the local sides while it waits; kit_joined: whether it would
 * return at once. */
struct kit_class;
typedef void (*kit_act_t)(struct kit_class *cls, void *bytes);
void kit_begin(
    struct kit_side *side, kit_act_t act, const void *bytes, size_t length);
bool kit_joined(struct kit_side *side);
void kit_join(struct kit_side *side, void *bytes, size_t length);

/* The class of a side here, for cases that go below sides (class.h). */
struct kit_class *kit_class_of(struct kit_side *side);

#endif /* KIT_H */
