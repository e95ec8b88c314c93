/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport ABI: all that Talaria's core and a transport plugin share.
 *
 * A plugin is one shared object with one exported symbol, na_plugin_v1, a
 * constant na_plugin. It calls nothing of the core by name: what it needs
 * arrives in a na_plugin_host. Numbers in brackets name the rules of the ABI,
 * which README.md beside this file lists.
 *
 * Threads. Each function carries one of these tags:
 *   [any thread]     concurrently with anything but the destruction of what it
 *                    is given
 *   [serial/context] one at a time per context; different contexts in parallel
 *   [serial/class]   one at a time per class; anything else may run meanwhile
 *                    on the class and on its other contexts
 *   [exclusive]      nothing else runs on the class
 * Under a thread mode other than 0 the caller promises more; see there.
 *
 * Blocking. open and addr_lookup may block to resolve a name; open, close,
 * ctx_*, info and mem_register take the time that the library below takes. No
 * other waits for anything; a large copy is cut into slices that poll works off.
 *
 * Errors. A negative NA_PLUGIN_E code; outputs are then untouched. Who finds
 * an error logs it once through the host, with the values that explain it.
 *
 * After fork the child may only exec or exit. Descriptors are close-on-exec.
 * Whoever breaks this: the core compares what a plugin returns, names the plugin
 * in its log, and goes on without its context or class.
 */
#ifndef NA_PLUGIN_H
#define NA_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NA_PLUGIN_ABI_MAJOR 1
#define NA_PLUGIN_ABI_MINOR 0
/* "NAp1". What was built on drafts of this header has another. */
#define NA_PLUGIN_MAGIC 0x3170414EU
/* Tables grow at their end. Each begins with its size, the bytes that the side
 * which filled it in knows. A reader refuses a table only if it is shorter than
 * in 1.0 (NA_PLUGIN_<TABLE>_SIZE_1_0; sizeof grows with this header), and reads
 * a member that came later only if NA_PLUGIN_HAS says that it is there [3]. */
#define NA_PLUGIN_END_OF(type, member)                                         \
    (offsetof(type, member) + sizeof(((type *) 0)->member))
#define NA_PLUGIN_HAS(table, member)                                           \
    ((table)->size >= (uint64_t) ((const char *) &(table)->member -            \
                                  (const char *) (table)) +                    \
                          sizeof((table)->member))
#define NA_PLUGIN_SIZE_1_0 NA_PLUGIN_END_OF(na_plugin, settings)
#define NA_PLUGIN_SETTING_SIZE_1_0 NA_PLUGIN_END_OF(na_plugin_setting, text)
#define NA_PLUGIN_HOST_SIZE_1_0 NA_PLUGIN_END_OF(na_plugin_host, extension)
#define NA_PLUGIN_OPEN_INFO_SIZE_1_0                                           \
    NA_PLUGIN_END_OF(na_plugin_open_info, hints)
#define NA_PLUGIN_OPENED_SIZE_1_0                                              \
    NA_PLUGIN_END_OF(na_plugin_opened, reserved_zero)
#define NA_PLUGIN_MEM_INFO_SIZE_1_0 NA_PLUGIN_END_OF(na_plugin_mem_info, device)
#define NA_PLUGIN_OPS_SIZE_1_0 NA_PLUGIN_END_OF(na_plugin_ops, extension)
#define NA_PLUGIN_DEVICE_SIZE_1_0 NA_PLUGIN_END_OF(na_plugin_device, detail)
#define NA_PLUGIN_MULTI_RECV_SIZE_1_0                                          \
    NA_PLUGIN_END_OF(na_plugin_multi_recv, recv_multi)
#define NA_PLUGIN_WAIT_SIZE_1_0 NA_PLUGIN_END_OF(na_plugin_wait, arm)
#define NA_PLUGIN_MEM_ALLOC_SIZE_1_0 NA_PLUGIN_END_OF(na_plugin_mem_alloc, free)
#define NA_PLUGIN_REPORT_SIZE_1_0 NA_PLUGIN_END_OF(na_plugin_report, entries)
/* Results. Success is one of the first two; what a function says about them
 * goes. Errors are the negated numbers of na_return_t. */
#define NA_PLUGIN_OK 0
#define NA_PLUGIN_PENDING 0 /* of a submission: one final event will follow */
#define NA_PLUGIN_DONE 1    /* of a submission: done, no event follows */
#define NA_PLUGIN_E_PERMISSION (-1)
#define NA_PLUGIN_E_NOENTRY (-2)
#define NA_PLUGIN_E_INTERRUPT (-3)
#define NA_PLUGIN_E_AGAIN (-4)
#define NA_PLUGIN_E_NOMEM (-5)
#define NA_PLUGIN_E_ACCESS (-6)
#define NA_PLUGIN_E_FAULT (-7)
#define NA_PLUGIN_E_BUSY (-8)
#define NA_PLUGIN_E_EXIST (-9)
#define NA_PLUGIN_E_NODEV (-10)
#define NA_PLUGIN_E_INVALID_ARG (-11)
#define NA_PLUGIN_E_PROTOCOL_ERROR (-12)
#define NA_PLUGIN_E_OVERFLOW (-13)
#define NA_PLUGIN_E_MSGSIZE (-14)
#define NA_PLUGIN_E_PROTONOSUPPORT (-15)
#define NA_PLUGIN_E_OPNOTSUPPORTED (-16)
#define NA_PLUGIN_E_ADDRINUSE (-17)
#define NA_PLUGIN_E_ADDRNOTAVAIL (-18)
#define NA_PLUGIN_E_HOSTUNREACH (-19)
#define NA_PLUGIN_E_TIMEOUT (-20)
#define NA_PLUGIN_E_CANCELED (-21)
#define NA_PLUGIN_E_IO_ERROR (-22)
#define NA_PLUGIN_E_HOSTFIREWALL (-23)
/* Limits of what open returns. A core opens no class beyond them, and says which
 * value is beyond which limit. Sizes of messages include the header space,
 * which is at most half of the largest message. */
#define NA_PLUGIN_OP_SIZE_MAX 65536U          /* op_size */
#define NA_PLUGIN_MESSAGE_SIZE_MIN 256U       /* max_unexpected_size, */
#define NA_PLUGIN_MESSAGE_SIZE_MAX (1U << 30) /* max_expected_size */
#define NA_PLUGIN_TAG_MIN 32767U              /* max_tag, at least */
#define NA_PLUGIN_CONTEXTS_MAX 256U           /* max_contexts */
#define NA_PLUGIN_ADDR_SIZE_MAX 65536U /* an address as string or bytes */

/* Objects of the plugin: to the core pointers, and never NULL. */
typedef struct na_plugin_class na_plugin_class;
typedef struct na_plugin_ctx na_plugin_ctx;
typedef struct na_plugin_addr na_plugin_addr;
typedef struct na_plugin_mem na_plugin_mem;

/* What poll reports. 48 bytes with 64-bit pointers, frozen: in arrays [4]. */
typedef struct na_plugin_event {
    void *op;               /* as submitted; NULL: news that belong to none,
                               reserved: a core of 1.0 ignores them */
    void *buffer;           /* message received: where it begins, else NULL */
    uint64_t length;        /* and its bytes, header space included, else 0 */
    na_plugin_addr *source; /* unexpected message: its sender, one reference
                               that the core frees with addr_free, else NULL */
    uint64_t tag;           /* message received: its tag, else 0 */
    int32_t status;         /* NA_PLUGIN_OK, or an error and no message */
    uint32_t flags;         /* NA_PLUGIN_EVENT_* */
} na_plugin_event;

#define NA_PLUGIN_EVENT_MESSAGE 0x1U /* buffer, length, tag are a message */
#define NA_PLUGIN_EVENT_MORE 0x2U    /* multi-receive: the operation goes on */

/* A piece of memory. 16 bytes, frozen. */
typedef struct na_plugin_segment {
    void *base;
    uint64_t length; /* bytes, at least 1 */
} na_plugin_segment;

/* Log levels, in *na_plugin_host.log_level and in log. */
#define NA_PLUGIN_LOG_NONE 0
#define NA_PLUGIN_LOG_ERROR 1
#define NA_PLUGIN_LOG_WARNING 2
#define NA_PLUGIN_LOG_INFO 3
#define NA_PLUGIN_LOG_DEBUG 4

/* What the core gives to a class. It stays where it is, and valid, until close
 * has returned. A plugin keeps it in its class and never in a static: several
 * hosts may share the plugin [2]. */
typedef struct na_plugin_host {
    uint32_t size; /* bytes of this table in the core */
    uint16_t abi_major;
    uint16_t abi_minor;
    void *priv; /* the core's */

    /* Read (atomically, relaxed) first: log wants no text above this level. */
    const int32_t *log_level;

    /* Logs one line. file: as __FILE__; text: without a newline; both copied.
     * The last line at level ERROR that a failing open logs is what the user
     * is shown as its reason. [any thread] */
    void (*log)(const struct na_plugin_host *host, int32_t level,
        const char *file, uint32_t line, const char *text);

    /* What a setting of na_plugin.settings is for this class, by its key: as
     * a number (of a TEXT 0), and as it was written. The core has checked it:
     * neither fails. Constant, and valid until close (or info) has returned.
     * 0 and "" of a key that the plugin does not list. [any thread] */
    uint64_t (*number)(const struct na_plugin_host *host, const char *key);
    const char *(*text)(const struct na_plugin_host *host, const char *key);

    /* There is work that only a poll of the context finishes and its descriptor
     * does not show. core_ctx: as ctx_create got it. May come too often. Not from
     * poll or arm of that context, nor after its ctx_destroy. [any thread] */
    void (*wake)(const struct na_plugin_host *host, void *core_ctx);

    /* A service beyond this table, by id, or NULL. 1.0 has none. [any thread] */
    const void *(*extension)(const struct na_plugin_host *host, const char *id);
} na_plugin_host;

/* na_plugin_open_info.flags */
#define NA_PLUGIN_OPEN_LISTEN 0x1U     /* peers may look this class up */
#define NA_PLUGIN_OPEN_NO_BLOCK 0x2U   /* na.wait/1 will not be used */
#define NA_PLUGIN_OPEN_NO_RETRY 0x4U   /* submissions may return AGAIN [7] */
#define NA_PLUGIN_OPEN_MEM_DEVICE 0x8U /* device memory will be registered */
/* na_plugin_open_info.thread_mode: what the caller promises, added up */
#define NA_PLUGIN_THREAD_SINGLE_CLASS 0x1U   /* class: one thread at once */
#define NA_PLUGIN_THREAD_SINGLE_CONTEXT 0x2U /* each context likewise */
/* na_plugin_open_info.addr_format */
#define NA_PLUGIN_ADDR_UNSPEC 0U
#define NA_PLUGIN_ADDR_IPV4 1U
#define NA_PLUGIN_ADDR_IPV6 2U
#define NA_PLUGIN_ADDR_NATIVE 3U
/* na_plugin_open_info.traffic_class */
#define NA_PLUGIN_TC_UNSPEC 0U
#define NA_PLUGIN_TC_BEST_EFFORT 1U
#define NA_PLUGIN_TC_LOW_LATENCY 2U
#define NA_PLUGIN_TC_BULK_DATA 3U
#define NA_PLUGIN_TC_DEDICATED_ACCESS 4U
#define NA_PLUGIN_TC_SCAVENGER 5U
#define NA_PLUGIN_TC_NETWORK_CTRL 6U

/* What a class is opened with. The core's, valid during open. What a plugin
 * cannot honour it ignores, and says so once at level INFO, an auth_key at
 * WARNING. A bit of flags that it does not know, or a value of addr_format or
 * traffic_class, it refuses with INVALID_ARG. hints are wishes and thread_mode
 * are promises: it ignores bits of them that it does not know. */
typedef struct na_plugin_open_info {
    uint32_t size;  /* bytes of this table in the core */
    uint32_t flags; /* NA_PLUGIN_OPEN_* */

    /* From "plugin+protocol://name", of which the core has split the name,
     * "device/host:port", if the plugin has not said NA_PLUGIN_OPAQUE_NAME.
     * What is missing, empty or not split is NULL, the port -1. host: a host's
     * name, an address (IPv6 without brackets), an interface, or a device if
     * device is NULL. port 0: any. */
    const char *protocol;
    const char *name;
    const char *device;
    const char *host;
    int32_t port;

    uint32_t thread_mode;         /* NA_PLUGIN_THREAD_* */
    const char *ip_subnet;        /* preferred subnet "10.1.0.0/16", or NULL */
    const char *auth_key;         /* authorization key, or NULL */
    uint64_t max_unexpected_size; /* wanted message sizes in bytes, header */
    uint64_t max_expected_size;   /* space included; 0: the plugin's choice;
                                     else NA_PLUGIN_MESSAGE_SIZE_MIN to _MAX */
    uint32_t addr_format;         /* NA_PLUGIN_ADDR_* */
    uint32_t traffic_class;       /* NA_PLUGIN_TC_* */
    uint32_t max_contexts;        /* expected number of contexts, at least 1; a
                                     plugin that has fewer does not refuse */
    uint32_t hints;               /* 1.0 defines no bit */
} na_plugin_open_info;

/* Which kind of message a buffer is for, added up */
#define NA_PLUGIN_BUF_SEND 0x1U
#define NA_PLUGIN_BUF_RECV 0x2U
#define NA_PLUGIN_BUF_MULTI_RECV 0x4U
/* Which header buf_init writes */
#define NA_PLUGIN_MSG_UNEXPECTED 0U
#define NA_PLUGIN_MSG_EXPECTED 1U
/* na_plugin_mem_info.access: what peers, and this side, may do with it */
#define NA_PLUGIN_MEM_READ 0x1U  /* be the source: remote get, local put */
#define NA_PLUGIN_MEM_WRITE 0x2U /* be the sink: remote put, local get */
/* na_plugin_mem_info.mem_type: where it lies */
#define NA_PLUGIN_MEM_HOST 0U
#define NA_PLUGIN_MEM_CUDA 1U
#define NA_PLUGIN_MEM_ROCM 2U
#define NA_PLUGIN_MEM_ZE 3U

/* What is registered. The core's, valid during mem_register. */
typedef struct na_plugin_mem_info {
    uint32_t size;  /* bytes of this table in the core */
    uint32_t flags; /* as of a submission */
    const na_plugin_segment *segments;
    uint64_t count;    /* of segments, at most opened.max_segments */
    uint32_t access;   /* NA_PLUGIN_MEM_READ, _WRITE */
    uint32_t mem_type; /* NA_PLUGIN_MEM_HOST … */
    uint64_t device;   /* which one of that type */
} na_plugin_mem_info;

/* flags of submissions and of na_plugin_mem_info. Hints that a plugin does not
 * know it ignores. A demand goes with a feature in opened.features, without
 * which no core sets it: submissions need not look. mem_register refuses one
 * that it does not know, with INVALID_ARG. A core of 1.0 sets none. */
#define NA_PLUGIN_FLAGS_DEMANDS 0x0000FFFFU /* 1.0 defines none */
#define NA_PLUGIN_FLAGS_HINTS 0xFFFF0000U
/* More to the same peer follows at once: the device may hear of it with that,
 * and does with the next poll or arm. */
#define NA_PLUGIN_HINT_MORE 0x10000U

/* The operations. At open the core copies them one by one over stubs that
 * return OPNOTSUPPORTED, so that these may be NULL [5]; all others are there. */
#define NA_PLUGIN_OPS_OPTIONAL(entry)                                          \
    entry(addr_to_string) entry(addr_serialize) entry(addr_deserialize)        \
        entry(addr_forget) entry(mem_register) entry(mem_deregister)           \
            entry(mem_serialize) entry(mem_deserialize) entry(mem_remote_free) \
                entry(put) entry(get) entry(extension)
typedef struct na_plugin_ops {
    uint32_t size;          /* bytes of this table in the plugin */
    uint32_t reserved_zero; /* a core opens no class where it is not 0, unless
                               na_plugin.abi_minor is newer than the core */

    /* CONTEXTS. A context has its own completion queue and, towards peers, its
     * number: a message is sent to a context of the peer. */

    /* Creates context number id (0 to 255, in any order). core_ctx: the core's
     * name for it, for wake. NOMEM (memory or descriptors), EXIST, OVERFLOW
     * (not below opened.max_contexts). [serial/class] */
    int32_t (*ctx_create)(na_plugin_class *cls, uint32_t id, void *core_ctx,
        na_plugin_ctx **ctx_p);

    /* Destroys it, whatever is pending on it: when it returns, neither plugin
     * nor device touches any operation, buffer or memory of that context; the
     * core ends what had no final event [10]. Messages whose send has ended are
     * let out first, for at most a second; received ones that were not reported
     * are lost. Nothing else runs on the context. [serial/class] */
    void (*ctx_destroy)(na_plugin_ctx *ctx);

    /* ADDRESSES are counted. An operation takes no reference: the core keeps
     * the address until its final event [7]. */

    /* This class's own address, one reference. [any thread] */
    int32_t (*addr_self)(na_plugin_class *cls, na_plugin_addr **addr_p);

    /* The address that a string stands for ("protocol://…" without "plugin+",
     * as addr_to_string or a user writes it), one reference. Lazy: it does not
     * contact the peer, and may succeed for one that is not there. May block to
     * resolve a name. INVALID_ARG (text), PROTONOSUPPORT (not spoken by this
     * class, which is logged), NOENTRY (unknown name), NOMEM. Equal strings may
     * give the same object. [any thread] */
    int32_t (*addr_lookup)(
        na_plugin_class *cls, const char *name, na_plugin_addr **addr_p);

    /* One reference more; one less. The last one gone, the plugin may forget
     * the peer when it likes. [any thread] */
    void (*addr_dup)(na_plugin_class *cls, na_plugin_addr *addr);
    void (*addr_free)(na_plugin_class *cls, na_plugin_addr *addr);

    /* 1 if both name the same peer, else 0. [any thread] */
    int32_t (*addr_equal)(
        na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b);

    /* A number for tables of addresses: the same for addresses that addr_equal
     * calls equal, most often another for others. As addr_equal it may change
     * when the class first hears from the peer, or loses it. [any thread] */
    uint64_t (*addr_hash)(na_plugin_class *cls, const na_plugin_addr *addr);

    /* The string "protocol://…" of an address, with its zero. *size_p: in, the
     * room in buffer; out, always, the bytes needed. A NULL buffer only asks.
     * OVERFLOW: no room; OPNOTSUPPORTED: it has no string. [any thread] */
    int32_t (*addr_to_string)(na_plugin_class *cls, const na_plugin_addr *addr,
        char *buffer, uint64_t *size_p);

    /* The same as bytes for another class of this plugin, on any host; and
     * back, one reference, from bytes that a stranger may have sent: at most
     * length of them are read. INVALID_ARG, PROTOCOL_ERROR, OVERFLOW, NOMEM,
     * OPNOTSUPPORTED (as addr_to_string). [any thread] */
    int32_t (*addr_serialize)(na_plugin_class *cls, const na_plugin_addr *addr,
        void *buffer, uint64_t *size_p);
    int32_t (*addr_deserialize)(na_plugin_class *cls, const void *buffer,
        uint64_t length, na_plugin_addr **addr_p);

    /* Disconnects the peer, dead or alive: what is pending with it ends with an
     * error as far as cancel could end it, the next use reconnects, to a
     * successor if there is one. The peer may see the connection close, and
     * then does likewise. [any thread] */
    void (*addr_forget)(na_plugin_class *cls, na_plugin_addr *addr);

    /* MESSAGES. A buffer begins with opened.unexpected_header_size (or
     * expected_header_size) bytes that are the plugin's; all lengths include
     * them, and are not below that. A buffer from elsewhere, at any alignment,
     * comes with buffer_data NULL and has to work too. The core does not touch a
     * buffer while an operation has it. Sending to oneself works. */

    /* Memory for messages, length at least 1, aligned to 64 bytes;
     * *buffer_data_p is the plugin's and goes along with the buffer. kinds:
     * NA_PLUGIN_BUF_*, a hint. NOMEM. [any thread] */
    int32_t (*buf_alloc)(na_plugin_class *cls, uint64_t length, uint32_t kinds,
        void **buffer_p, void **buffer_data_p);
    void (*buf_free)(na_plugin_class *cls, void *buffer, void *buffer_data);

    /* Writes the plugin's header into a buffer, once before its first send;
     * sending does not change it. kind: NA_PLUGIN_MSG_*. MSGSIZE: length does
     * not hold the header. [any thread] */
    int32_t (*buf_init)(
        na_plugin_class *cls, void *buffer, uint64_t length, uint32_t kind);

    /* Submissions: they return PENDING (poll gives one final event), DONE
     * (nothing more will come) or an error (nothing was started) [7]. Shortage
     * inside the plugin is not an error: it queues, and retries in order with
     * a deadline; AGAIN only under NO_RETRY. The operation, its buffer, address
     * and memory stay valid until the final event. A failed peer shows as
     * HOSTUNREACH or IO_ERROR, here or in the event: at once where the transport
     * tells, else within the time of the plugin's own probes.
     *
     * op: the plugin's part of the operation, opened.op_size bytes, zeroed when
     * made and the plugin's ever after: it may keep values in it between uses,
     * not resources. Before a submission returns, another thread may have
     * polled the event, and used the operation again: once the library below
     * has accepted it, the submitting call no longer touches it [9].
     *
     * peer_ctx: the number of the peer's context. tag: at most opened.max_tag.
     * flags: NA_PLUGIN_FLAGS_*. No order is promised between messages [11]. Too
     * long for the receive: that or the send ends with MSGSIZE, and the message
     * is consumed; longer than the own maximum: at once. */

    /* An unexpected message. Final event: the buffer is free. [any thread] */
    int32_t (*send_unexpected)(na_plugin_ctx *ctx, void *op, const void *buffer,
        uint64_t length, void *buffer_data, na_plugin_addr *peer,
        uint32_t peer_ctx, uint64_t tag, uint32_t flags);

    /* Receives one unexpected message from anyone. Never returns DONE. Final
     * event: MESSAGE with source, tag, length. A message without a receive is
     * queued, or its sender held back, never dropped. [any thread] */
    int32_t (*recv_unexpected)(na_plugin_ctx *ctx, void *op, void *buffer,
        uint64_t length, void *buffer_data, uint32_t flags);

    /* An expected message: the peer should have posted a receive. Without, it
     * is kept while there is room, and may be dropped. [any thread] */
    int32_t (*send_expected)(na_plugin_ctx *ctx, void *op, const void *buffer,
        uint64_t length, void *buffer_data, na_plugin_addr *peer,
        uint32_t peer_ctx, uint64_t tag, uint32_t flags);

    /* Receives the expected message with this tag that context peer_ctx of peer
     * sends to this context. May begin to connect to the peer. Never returns
     * DONE. Final event: MESSAGE with length. Ends with an error if the peer
     * dies. [any thread] */
    int32_t (*recv_expected)(na_plugin_ctx *ctx, void *op, void *buffer,
        uint64_t length, void *buffer_data, na_plugin_addr *peer,
        uint32_t peer_ctx, uint64_t tag, uint32_t flags);

    /* MEMORY that can be source or sink of a put or get. Segments are
     * registered as one range: offsets count through them in order. info and
     * the array are copied, the memory stays the caller's and must outlive it.
     * Holds for every context, later ones included. INVALID_ARG (also access of
     * no or an unknown bit), NOMEM, OPNOTSUPPORTED (memory type). [any thread] */
    int32_t (*mem_register)(na_plugin_class *cls,
        const na_plugin_mem_info *info, na_plugin_mem **mem_p);
    void (*mem_deregister)(na_plugin_class *cls, na_plugin_mem *mem);

    /* A registration as bytes for peers; and, at a peer, back from bytes of a
     * stranger: a description of remote memory, which mem_remote_free frees.
     * As addr_serialize. [any thread] */
    int32_t (*mem_serialize)(na_plugin_class *cls, const na_plugin_mem *mem,
        void *buffer, uint64_t *size_p);
    int32_t (*mem_deserialize)(na_plugin_class *cls, const void *buffer,
        uint64_t length, na_plugin_mem **mem_p);
    void (*mem_remote_free)(na_plugin_class *cls, na_plugin_mem *mem);

    /* REMOTE MEMORY ACCESS, submissions as above. local: a registration of this
     * class; remote: a deserialized one of peer's. Final event of a put: the
     * data is visible to the peer before any message submitted afterwards; of
     * a get: the data is here. Out of range: INVALID_ARG, not permitted:
     * PERMISSION, where it is noticed. length 0 is allowed. [any thread] */
    int32_t (*put)(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
        uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
        uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx,
        uint32_t flags);
    int32_t (*get)(na_plugin_ctx *ctx, void *op, na_plugin_mem *local,
        uint64_t local_offset, na_plugin_mem *remote, uint64_t remote_offset,
        uint64_t length, na_plugin_addr *peer, uint32_t peer_ctx,
        uint32_t flags);

    /* PROGRESS. Advances this context and what belongs to none (connections,
     * listening, what peers put and get), without CTX_PARALLEL all contexts,
     * and fills in up to max (at least 1) events of this one. How many;
     * negative only when the context itself is dead: a peer's failure is an
     * event [8]. Then the core calls only its ctx_destroy, once calls of other
     * threads have returned, and completes what is pending. After a final event
     * nothing of the operation is touched. Calls of the core only log, and wake
     * for other contexts. [serial/context] */
    int32_t (*poll)(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max);

    /* Asks to end a pending operation, which then has its one final event:
     * CANCELED, or what came first. What the library below cannot cancel stays
     * pending. OK, also if it has ended already or is unknown.
     * [serial/context], and not in parallel with poll */
    int32_t (*cancel)(na_plugin_ctx *ctx, void *op);

    /* A table beyond this one by its id (below, or "com.vendor.name/1"), NULL
     * if there is none. Asked once, at open; constant. [any thread] */
    const void *(*extension)(na_plugin_class *cls, const char *id);
} na_plugin_ops;

/* "na.multi_recv/1": unexpected messages packed into one large buffer. */
#define NA_PLUGIN_MULTI_RECV_ID "na.multi_recv/1"
typedef struct na_plugin_multi_recv {
    uint32_t size;
    uint32_t reserved_zero;
    uint64_t min_length; /* smallest buffer in bytes */

    /* Each event with MESSAGE carries one message in a part of the buffer that
     * is never written again, at any alignment, with its source and tag. With
     * MORE the operation goes on (an error with MORE lost one message only);
     * the event without MORE is the last, with or without a message, and
     * returns operation and buffer. It comes when less than a largest message
     * is free, on cancel, or on failure. [any thread] */
    int32_t (*recv_multi)(na_plugin_ctx *ctx, void *op, void *buffer,
        uint64_t length, void *buffer_data, uint32_t flags);
} na_plugin_multi_recv;

/* "na.wait/1": sleeping in the kernel instead of polling. */
#define NA_PLUGIN_WAIT_ID "na.wait/1"
typedef struct na_plugin_wait {
    uint32_t size;
    uint32_t reserved_zero;

    /* An open descriptor, the plugin's, constant for the context, that becomes
     * and stays readable when an armed context has something to poll, and is
     * not after a poll that left nothing. [any thread] */
    int32_t (*fd)(na_plugin_ctx *ctx);

    /* Before sleeping: enables the descriptor, then looks. OK: armed; sleep at
     * most *sleep_ns nanoseconds (UINT64_MAX: any time). DONE: do not sleep,
     * poll. Each poll disarms. [serial/context], not in parallel with poll */
    int32_t (*arm)(na_plugin_ctx *ctx, uint64_t *sleep_ns_p);
} na_plugin_wait;

/* "na.mem_alloc/1": memory that this plugin transfers from and to fastest. */
#define NA_PLUGIN_MEM_ALLOC_ID "na.mem_alloc/1"
typedef struct na_plugin_mem_alloc {
    uint32_t size;
    uint32_t reserved_zero;

    /* Zeroed, page-aligned memory, of use only once registered as any other.
     * It may be registered in parts, and is freed when no registration refers
     * to it. NOMEM. [any thread] */
    int32_t (*alloc)(na_plugin_class *cls, uint64_t length, void **memory_p);
    void (*free)(na_plugin_class *cls, void *memory);
} na_plugin_mem_alloc;

/* "na.report/1": what a class has to say of itself: choices made at open,
 * counters. For people and tools; names are the plugin's. */
#define NA_PLUGIN_REPORT_ID "na.report/1"
typedef struct na_plugin_report_entry { /* 24 bytes, frozen */
    const char *name;                   /* constant as long as the class */
    const char *text;                   /* likewise; NULL: value is meant */
    uint64_t value;
} na_plugin_report_entry;
typedef struct na_plugin_report {
    uint32_t size;
    uint32_t reserved_zero;

    /* Fills in up to max entries from number first on; how many. The order is
     * constant, a counter's value is of this moment. [any thread] */
    uint32_t (*entries)(na_plugin_class *cls, uint32_t first,
        na_plugin_report_entry *entries, uint32_t max);
} na_plugin_report;

/* na_plugin_opened.features */
#define NA_PLUGIN_FEATURE_NODE_LOCAL 0x1U   /* reaches this node only */
#define NA_PLUGIN_FEATURE_RMA_NATIVE 0x2U   /* the owner need not progress */
#define NA_PLUGIN_FEATURE_MEM_DEVICE 0x4U   /* registers device memory */
#define NA_PLUGIN_FEATURE_CTX_PARALLEL 0x8U /* contexts progress in parallel */

/* What open fills in, as far as it goes. The core zeroes it and sets size. */
typedef struct na_plugin_opened {
    uint32_t size;     /* bytes of this table in the core */
    uint32_t features; /* NA_PLUGIN_FEATURE_* */
    na_plugin_class *cls;
    const na_plugin_ops *ops;        /* constant until close */
    uint32_t op_size;                /* of the plugin's part of an operation */
    uint32_t op_align;               /* power of two, at most 64 */
    uint64_t max_unexpected_size;    /* largest messages in bytes, header */
    uint64_t max_expected_size;      /* space included */
    uint32_t unexpected_header_size; /* the plugin's space at the front */
    uint32_t expected_header_size;
    uint64_t max_tag;       /* the core uses 32 bits at most */
    uint64_t max_segments;  /* of one registration, at least 1 */
    uint64_t max_rma_size;  /* bytes in one put or get; 0: no limit */
    uint32_t max_contexts;  /* 1 to NA_PLUGIN_CONTEXTS_MAX */
    uint32_t reserved_zero; /* as that of na_plugin_ops */
} na_plugin_opened;

/* A device that a protocol could use here. What is unknown is NULL. */
typedef struct na_plugin_device {
    uint32_t size; /* bytes of this table in the plugin */
    uint32_t reserved_zero;
    const char *protocol; /* as the info string names it */
    const char *name;     /* as the device or host part names it */
    const char *detail;   /* for people: provider, address, speed … */
} na_plugin_device;

/* na_plugin_setting.kind: what its number is, and how users write it */
#define NA_PLUGIN_SETTING_TEXT 0U     /* none; least, most: bytes of the text */
#define NA_PLUGIN_SETTING_NUMBER 1U   /* "64" */
#define NA_PLUGIN_SETTING_BYTES 2U    /* "512", "32K", "1M", "2G" */
#define NA_PLUGIN_SETTING_DURATION 3U /* ns: "0", "5us", "20ms", "1s", "1min" */
#define NA_PLUGIN_SETTING_BOOLEAN 4U  /* "0", "no", "off"; "1", "yes", "on" */

#define NA_PLUGIN_SETTINGS_MAX 128U     /* entries */
#define NA_PLUGIN_SETTING_KEY_MAX 63U   /* bytes of a key */
#define NA_PLUGIN_SETTING_TEXT_MAX 255U /* of initial, and of text */

/* Something that users may set, for one class ("sm.ring_size=64K" when it is
 * opened), or for all (TALARIA_SM_RING_SIZE). The core finds the value, checks
 * it, and refuses keys that no list has. A kind that it does not know it hands
 * on as a text, unchecked. */
typedef struct na_plugin_setting {
    uint32_t size; /* bytes of this table in the plugin */
    uint32_t kind; /* NA_PLUGIN_SETTING_* */
    uint64_t least;
    uint64_t most;
    const char *key;     /* the plugin's name or a protocol of its own in lower
                            case, but neither hg nor plugin; a dot; [a-z0-9_]+ */
    const char *initial; /* where nobody sets it, written as a user would */
    const char *text;    /* what it is for, one line */
} na_plugin_setting;

/* na_plugin.flags. Others are refused, unless abi_minor is newer than the core */
#define NA_PLUGIN_OPAQUE_NAME 0x1U     /* do not split open_info.name */
#define NA_PLUGIN_OTHER_PROTOCOLS 0x2U /* may know more than protocols lists */

/* The plugin: constant data, read before any of its functions is called. The
 * core accepts it if the magic and the major agree, it is at least as long as
 * in 1.0, and min_host_minor is not above the core's minor [3]. Once any
 * function has run, the object stays mapped [13]. */
typedef struct na_plugin {
    uint32_t magic; /* the first 16 bytes never change */
    uint16_t abi_major;
    uint16_t abi_minor;
    uint32_t size; /* bytes of this table in the plugin */
    uint16_t min_host_minor;
    uint16_t reserved_zero;

    const char *name;             /* before the '+': [A-Za-z0-9_-]+ */
    const char *version;          /* the plugin's own */
    const char *const *protocols; /* after the '+'; NULL ends them */
    uint32_t flags;               /* NA_PLUGIN_OPAQUE_NAME … */
    int32_t priority;             /* of several with a protocol, highest wins */

    /* Calls found for each device of a protocol (NULL: of every one); what it
     * is given is valid during that call. Opens no device. PROTONOSUPPORT:
     * unknown protocol; none found is OK. [any thread] */
    int32_t (*info)(const na_plugin_host *host, const char *protocol, void *arg,
        void (*found)(void *arg, const na_plugin_device *device));

    /* Opens a class. On error nothing is left behind, and one line at level
     * ERROR says why. PROTONOSUPPORT, NODEV, ADDRINUSE, ADDRNOTAVAIL,
     * INVALID_ARG, NOMEM … [any thread] */
    int32_t (*open)(const na_plugin_host *host, const na_plugin_open_info *info,
        na_plugin_opened *opened);

    /* Closes it. Contexts, registrations and buffers are gone before;
     * addresses too. [exclusive] */
    void (*close)(na_plugin_class *cls);

    const na_plugin_setting *const *settings; /* NULL ends them; or NULL */
} na_plugin;

/* The one symbol. A plugin sm defines, in one file,
 *     NA_PLUGIN_EXPORT const na_plugin NA_PLUGIN_SYMBOL(sm) = {…};
 * which is na_plugin_v1, or with NA_PLUGIN_STATIC defined, so that several can
 * be linked into one program and registered by pointer, na_plugin_v1_sm. */
#define NA_PLUGIN_SYMBOL_NAME "na_plugin_v1"
#ifdef NA_PLUGIN_STATIC
#define NA_PLUGIN_SYMBOL(name) na_plugin_v1_##name
#else
#define NA_PLUGIN_SYMBOL(name) na_plugin_v1
#endif
#ifdef __cplusplus
#define NA_PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define NA_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
}
#endif

#endif /* NA_PLUGIN_H */
