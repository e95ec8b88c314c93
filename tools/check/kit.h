/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface for cases of the conformance kit: verdicts, and sides, which
 * are classes of the plugin in this process or in worker processes. Depends on
 * na_plugin.h only.
 *
 * A case runs in a process of its own that has loaded nothing before. The first
 * breach of the contract, in any thread or process of the case, ends it. */
#ifndef KIT_H
#define KIT_H

#include "na_plugin.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kit_verdict {
    KIT_PASSED,
    KIT_FAILED,
    KIT_NOT_OFFERED, /* as the plugin reports */
    KIT_NOT_RUN      /* for a reason of this machine or of the chosen cases */
};

/* Features that a case needs. */
#define KIT_NEEDS_RMA 0x1U
#define KIT_NEEDS_MULTI_RECV 0x2U
#define KIT_NEEDS_WAIT 0x4U
#define KIT_NEEDS_CONTEXTS 0x8U   /* at least two */
#define KIT_NEEDS_SERIALIZE 0x10U /* addresses as bytes */
#define KIT_NEEDS_ALLOC 0x20U     /* na.mem_alloc/1 */
#define KIT_NEEDS_REPORT 0x40U    /* na.report/1 */
#define KIT_NEEDS_FORGET 0x80U    /* addr_forget */

struct kit_case {
    const char *name;   /* lower case, words joined by '_' */
    uint32_t rule;      /* the rule it tests; a crash or hang breaks it */
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

/* Fails the case: a rule was broken. found: a printf format. [any thread] */
__attribute__((noreturn, format(printf, 3, 4))) void kit_fail(
    uint32_t rule, const char *expected, const char *found, ...);

/* Fails the case unless ok. */
__attribute__((format(printf, 4, 5))) void kit_expect(
    bool ok, uint32_t rule, const char *expected, const char *found, ...);

/* Ends the case with another verdict and its reason. */
__attribute__((noreturn, format(printf, 1, 2))) void kit_not_offered(
    const char *reason, ...);
__attribute__((noreturn, format(printf, 1, 2))) void kit_not_run(
    const char *reason, ...);

/* Sets the current step for the report of a hang or crash. text: constant. */
void kit_step(const char *text);

/* Returns the monotonic clock in ns. */
uint64_t kit_now(void);

/* Returns how long to wait for expected and for unexpected events, in ns. */
uint64_t kit_patience(void);
uint64_t kit_quiet(void);

/* Returns the anonymous memory of this process in KiB; -1: unknown; 0 under
 * sanitizers that keep freed memory. */
long kit_anonymous_kib(void);

/* Return the numbers of descriptors and threads of this process, and a
 * constant: to be compared. */
uint32_t kit_descriptors(void);
uint32_t kit_threads(void);

/* Returns the number of repetitions: full, or a tenth of it with --quick. */
uint32_t kit_times(uint32_t full);

/* SIDES. Each side is a class in some process. All its results, events, storage
 * and buffers are checked (op.c). One thread makes all calls of a script. */

#define KIT_SIDES 16U
#define KIT_ADDRS 64U
#define KIT_OPS 512U
#define KIT_MEMS 64U
#define KIT_CONTEXTS 8U
#define KIT_NOBODY UINT32_MAX
#define KIT_TEXT_MAX 512U

struct kit_side;

/* How to open a class. Zeros: listening, thread mode 0, one context, which is
 * created. */
struct kit_open_options {
    uint32_t flags;       /* NA_PLUGIN_OPEN_* except LISTEN */
    uint32_t thread_mode; /* NA_PLUGIN_THREAD_* */
    uint32_t contexts;    /* to create at once; 0: one */
    bool not_listening;   /* does not listen */
    bool no_contexts;     /* none is created */
    uint64_t max_unexpected_size;
    uint64_t max_expected_size;
    const char *at; /* an address as a string, of a peer that has ended and that
                       this one replaces; NULL: any. Not offered where that
                       fails */
};

/* Opens a side in this process, or in worker process 0 …. how: NULL for
 * defaults. An idle worker process polls all its contexts. */
struct kit_side *kit_local(const struct kit_open_options *how);
struct kit_side *kit_remote(
    uint32_t process, const struct kit_open_options *how);

/* Opens a side in that worker process if the case has it, else in this one: two
 * cases with and without processes can share a function. */
struct kit_side *kit_other(
    uint32_t process, const struct kit_open_options *how);

/* A local side, and the other of the case. */
struct kit_pair {
    struct kit_side *a;
    struct kit_side *b;
};

/* Opens both, which look each other up. how: NULL for defaults. */
struct kit_pair kit_pair_open(const struct kit_open_options *how);

/* Which sides opened from now on also get NA_PLUGIN_OPEN_NO_BLOCK: none, every
 * second one beginning with the first, or all. */
enum kit_busy { KIT_BUSY_NONE, KIT_BUSY_HALF, KIT_BUSY_ALL };
void kit_open_busy(enum kit_busy busy);

/* Starts a worker process without the plugin, for kit_begin and kit_join
 * only. */
struct kit_side *kit_worker(uint32_t process);

/* Returns the number of a side, which other sides use as the number of its
 * address. */
uint32_t kit_number(const struct kit_side *side);

/* Closes contexts, registrations, buffers, addresses and class, in this order.
 * The kit closes sides that are open when the case has ended. */
void kit_close(struct kit_side *side);

/* Return its limits, and its address as text. */
const na_plugin_opened *kit_opened(const struct kit_side *side);
const char *kit_address(struct kit_side *side);

/* Looks up `other`, whose address gets the number kit_number(other). */
void kit_lookup(struct kit_side *side, struct kit_side *other);
void kit_lookup_both(struct kit_side *a, struct kit_side *b);

/* Keeps the source of the message that ended op as an address with an unused
 * number. */
void kit_keep_source(struct kit_side *side, uint32_t op, uint32_t number);

/* Free an address by addr_free, and by addr_forget. */
void kit_addr_free(struct kit_side *side, uint32_t number);
void kit_forget(struct kit_side *side, uint32_t number);

/* Create and destroy contexts beyond those of kit_open_options. */
void kit_ctx_create(struct kit_side *side, uint32_t ctx);
void kit_ctx_destroy(struct kit_side *side, uint32_t ctx);

/* polls: whether kit_run, or an idle worker process, polls the side. */
void kit_polls(struct kit_side *side, bool polls);

/* Sets the events that a poll asks for, at most; 0: varies. */
void kit_poll_max(struct kit_side *side, uint32_t max);

/* Polls a context once. Returns the number of events. */
uint32_t kit_poll(struct kit_side *side, uint32_t ctx);

/* Polls the local sides that poll, once. */
void kit_run(void);

/* OPERATIONS, with numbers below KIT_OPS that the script chooses. A number can
 * be used again after its operation has ended. */

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
    uint64_t length; /* of the buffer, with header space, or of a put or get */
    uint64_t seed;   /* contents of a message: kit_pattern */
    uint32_t flags;  /* as the ABI's */
    bool own_buffer; /* the kit's, guarded, unaligned; else buf_alloc's */
    bool may_fail;   /* the submission may fail */
    uint32_t local;  /* numbers of registrations */
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

/* Submits an operation. An error fails the case unless may_fail is set. */
int32_t kit_post(struct kit_side *side, const struct kit_request *request);

/* Shorthands. length: with header space. The buffer is buf_alloc's if op is
 * even, else the kit's. */
int32_t kit_send_unexpected(struct kit_side *side, uint32_t op,
    struct kit_side *to, uint64_t length, uint64_t tag, uint64_t seed);
int32_t kit_recv_unexpected(
    struct kit_side *side, uint32_t op, uint64_t length);
int32_t kit_send_expected(struct kit_side *side, uint32_t op,
    struct kit_side *to, uint64_t length, uint64_t tag, uint64_t seed);
int32_t kit_recv_expected(struct kit_side *side, uint32_t op,
    struct kit_side *from, uint64_t length, uint64_t tag);

/* Gets the current state. Polls no local side; a remote side may have
 * polled. */
void kit_get_completion(
    struct kit_side *side, uint32_t op, struct kit_completion *end_p);

/* Runs all sides until the operation has ended; not within kit_patience breaks
 * the rule. The second requires OK and a message with this length, tag,
 * contents and source. */
void kit_await(struct kit_side *side, uint32_t op, uint32_t rule,
    struct kit_completion *end_p);
void kit_await_message(struct kit_side *side, uint32_t op, uint32_t rule,
    uint64_t length, uint64_t tag, uint64_t seed, uint32_t source);

/* Awaits an operation that must end with OK. */
void kit_await_ok(struct kit_side *side, uint32_t op, uint32_t rule);

/* Executes a put or get that must end with OK. */
void kit_transfer(struct kit_side *side, const struct kit_request *request);

/* Executes a put or get that must fail with an error, at submission or in the
 * event. expected: the text of the rule. */
void kit_refused(struct kit_side *side, const struct kit_request *request,
    int32_t code, const char *expected);

/* Runs all sides for a time. */
void kit_run_for(uint64_t ns);

/* Gets one message of a multi-receive by its number. */
void kit_message(struct kit_side *side, uint32_t op, uint32_t message,
    struct kit_completion *end_p);

/* Calls cancel, which must return OK. */
void kit_cancel(struct kit_side *side, uint32_t op);

/* Return text such as "ended with HOSTUNREACH" or "is pending". */
const char *kit_completion_text(const struct kit_completion *end);
const char *kit_code_text(int32_t code);

/* MEMORY. A registered region of a side between guards, with kit_pattern of a
 * seed as contents. */
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

/* Deserializes a region of `owner` at `side`, as its region `number`. */
void kit_expose(struct kit_side *owner, uint32_t region, struct kit_side *side,
    uint32_t number);

/* Serializes a region. Returns the number of bytes. */
size_t kit_region_bytes(
    struct kit_side *owner, uint32_t region, void *bytes, size_t room);

/* Fill and hash the contents of a region. */
void kit_region_fill(struct kit_side *side, uint32_t number, uint64_t offset,
    uint64_t length, uint64_t seed);
uint64_t kit_region_hash(
    struct kit_side *side, uint32_t number, uint64_t offset, uint64_t length);

/* Fill in the pattern of a seed, which begins with the seed itself; hash bytes;
 * and hash the pattern of a seed. */
void kit_pattern(void *bytes, uint64_t length, uint64_t seed);
uint64_t kit_hash(const void *bytes, uint64_t length);
uint64_t kit_pattern_hash(uint64_t length, uint64_t seed);

/* WORKER PROCESSES */

/* Sends a signal to a worker process. After SIGKILL its side is lost; kit_close
 * frees what is left in this process. */
void kit_signal(struct kit_side *side, int signal);

/* Ends a worker process by exit without closing anything. */
void kit_exit(struct kit_side *side);

/* Runs a function in a worker process, with the class of that side (NULL
 * without the plugin) and a copy of up to KIT_TEXT_MAX bytes. kit_begin returns
 * when the function has started, kit_join when it has returned, with the bytes
 * that it left. The process polls nothing meanwhile. kit_join runs the local
 * sides while it waits; kit_joined returns whether it would return at once. */
struct kit_class;
typedef void (*kit_act_t)(struct kit_class *cls, void *bytes);
void kit_begin(
    struct kit_side *side, kit_act_t act, const void *bytes, size_t length);
bool kit_joined(struct kit_side *side);
void kit_join(struct kit_side *side, void *bytes, size_t length);

/* Returns the class of a local side, for cases that use class.h. */
struct kit_class *kit_class_of(struct kit_side *side);

#endif /* KIT_H */
