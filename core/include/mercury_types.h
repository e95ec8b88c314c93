/* SPDX-License-Identifier: BSD-3-Clause */
/* The types, codes and constants that the HG headers share (mercury.h,
 * mercury_bulk.h, mercury_proc.h). */
#ifndef MERCURY_TYPES_H
#define MERCURY_TYPES_H

#include "mercury_config.h"
#include "na_types.h"

/* Opaque. */
typedef struct hg_class hg_class_t;     /* a transport, and RPCs on it */
typedef struct hg_context hg_context_t; /* a completion queue in it */
typedef struct hg_addr *hg_addr_t;      /* a peer's address */
typedef struct hg_handle *hg_handle_t;  /* one RPC, at origin or target */
typedef struct hg_bulk *hg_bulk_t;      /* descriptor of memory */
typedef struct hg_proc *hg_proc_t;      /* an encoder or decoder */
typedef struct hg_op *hg_op_id_t;       /* a transfer that can be cancelled */

typedef uint64_t hg_size_t; /* bytes */
typedef uint64_t hg_id_t;   /* of a registered RPC, never 0 */

#define HG_ADDR_NULL ((hg_addr_t) 0)
#define HG_HANDLE_NULL ((hg_handle_t) 0)
#define HG_BULK_NULL ((hg_bulk_t) 0)
#define HG_PROC_NULL ((hg_proc_t) 0)
#define HG_OP_ID_NULL ((hg_op_id_t) 0)
#define HG_OP_ID_IGNORE ((hg_op_id_t *) 1) /* the caller won't cancel */

/* Return codes. Up to HG_HOSTFIREWALL equal to those of na_return_t. */
typedef enum hg_return {
    HG_SUCCESS,        /* done, or accepted */
    HG_PERMISSION,     /* not allowed by the memory's access flags */
    HG_NOENTRY,        /* no such thing: an RPC id that isn't registered */
    HG_INTERRUPT,      /* a signal came first */
    HG_AGAIN,          /* short of a resource now, retry later */
    HG_NOMEM,          /* out of memory */
    HG_ACCESS,         /* refused by the system */
    HG_FAULT,          /* a bad pointer, or something needed is missing */
    HG_BUSY,           /* still in use */
    HG_EXIST,          /* exists already */
    HG_NODEV,          /* no such device */
    HG_INVALID_ARG,    /* an argument is wrong */
    HG_PROTOCOL_ERROR, /* the peer, or the transport, broke the protocol */
    HG_OVERFLOW,       /* doesn't fit the buffer or the field */
    HG_MSGSIZE,        /* message longer than allowed, or than its receive */
    HG_PROTONOSUPPORT, /* no plugin offers the protocol */
    HG_OPNOTSUPPORTED, /* not supported by this transport or object */
    HG_ADDRINUSE,      /* the address is taken */
    HG_ADDRNOTAVAIL,   /* not an address of this machine */
    HG_HOSTUNREACH,    /* the peer can't be reached, or is gone */
    HG_TIMEOUT,        /* nothing came in time */
    HG_CANCELED,       /* cancelled */
    HG_IO_ERROR,       /* the transport failed */
    HG_HOSTFIREWALL,   /* the peer's host refuses us */
    HG_CHECKSUM_ERROR, /* what arrived isn't what was sent */
    HG_NA_ERROR,       /* a code of the transport that has no name here */
    HG_OTHER_ERROR,    /* anything else */
    HG_RETURN_MAX
} hg_return_t;

/* Older names. */
#define HG_INVALID_PARAM HG_INVALID_ARG
#define HG_SIZE_ERROR HG_MSGSIZE
#define HG_NOMEM_ERROR HG_NOMEM
#define HG_NO_MATCH HG_NOENTRY

/* Which operation a callback belongs to. */
typedef enum hg_cb_type {
    HG_CB_LOOKUP,
    HG_CB_FORWARD,
    HG_CB_RESPOND,
    HG_CB_BULK
} hg_cb_type_t;

/* What a proc does with the data it is called on. */
typedef enum hg_proc_op {
    HG_ENCODE, /* writes it to the message */
    HG_DECODE, /* reads it from the message */
    HG_FREE    /* releases what HG_DECODE allocated */
} hg_proc_op_t;

/* How a proc checksums what it encodes or decodes. */
typedef enum hg_proc_hash {
    HG_CRC16,
    HG_CRC32,
    HG_CRC64,
    HG_NOHASH
} hg_proc_hash_t;

/* What of each RPC is checksummed. Bulk data never is. */
typedef enum hg_checksum_level {
    HG_CHECKSUM_NONE,
    HG_CHECKSUM_RPC_HEADERS,
    HG_CHECKSUM_RPC_PAYLOAD /* headers and arguments */
} hg_checksum_level_t;

/* Direction of a bulk transfer, as seen by the side that starts it. */
typedef enum hg_bulk_op {
    HG_BULK_PUSH, /* local memory to the origin's */
    HG_BULK_PULL  /* the origin's memory to local */
} hg_bulk_op_t;

/* Whose memory a descriptor covers: the values of enum na_mem_type. */
typedef enum hg_mem_type {
    HG_MEM_TYPE_HOST = NA_MEM_TYPE_HOST, /* ordinary memory */
    HG_MEM_TYPE_CUDA = NA_MEM_TYPE_CUDA, /* NVIDIA device */
    HG_MEM_TYPE_ROCM = NA_MEM_TYPE_ROCM, /* AMD device */
    HG_MEM_TYPE_ZE = NA_MEM_TYPE_ZE,     /* Intel Level Zero device */
    HG_MEM_TYPE_MAX = NA_MEM_TYPE_MAX,
    HG_MEM_TYPE_UNKNOWN = NA_MEM_TYPE_UNKNOWN
} hg_mem_type_t;

/* How to open a class. Start from HG_INIT_INFO_INITIALIZER. Strings are the
 * caller's and are copied. Each version of the interface has the fields up to
 * its mark and is a prefix of the next: 2.2 ends before offsetof(...,
 * no_multi_recv), 2.3 before offsetof(..., traffic_class). */
struct hg_init_info {
    /* Options of the transport. */
    struct na_init_info_4_0 na_init_info;

    /* Use this class, which stays the caller's and must outlive the HG class,
     * instead of opening one; the info string is then ignored. */
    na_class_t *na_class;

    /* Receives for requests that a listening context posts at first;
     * 0: the default. */
    uint32_t request_post_init;

    /* How many more are posted when all are taken by running RPCs;
     * 0: the default, -1: none, the transport queues what comes. */
    int32_t request_post_incr;

    /* Reach peers of the same node through shared memory, if they have this
     * set as well: the string of the class's own address then carries both
     * ways. Where shared memory cannot be had a warning says so. */
    uint8_t auto_sm;

    /* With auto_sm: the info string of the transport that takes its place, or
     * the name of this class in na+sm; NULL: na+sm, a name of its own. */
    const char *sm_info_string;

    hg_checksum_level_t checksum_level;

    /* Never carry small bulk data inside the serialized descriptor. */
    uint8_t no_bulk_eager;

    /* Send RPCs to oneself through the transport, which needs a class that
     * listens, instead of handing them over within the process. */
    uint8_t no_loopback;

    /* Print counters when the class is finalized. */
    uint8_t stats; /* up to here: 2.2 */

    /* Post one buffer a request even where the transport can multi-receive. */
    uint8_t no_multi_recv;

    /* Give a request's buffer back at HG_Get_input, which then works once,
     * instead of when the handle is destroyed. */
    uint8_t release_input_early; /* up to here: 2.3 */

    enum na_traffic_class traffic_class;

    /* Refuse arguments larger than the eager size (HG_OVERFLOW) instead of
     * moving them by RMA. */
    bool no_overflow;

    /* Multi-receive buffers that are posted; 0: the default. */
    unsigned int multi_recv_op_max;

    /* Copy requests out of their buffers when at most so many buffers are
     * left; at most multi_recv_op_max; 0: never. */
    unsigned int multi_recv_copy_threshold; /* up to here: 2.4 */
};

/* What a handle is for. Everything is borrowed from the handle. */
struct hg_info {
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_addr_t addr; /* the other side: at the origin the target */
    hg_id_t id;
    uint8_t context_id; /* context of the other side */
};

/* Where the memory of a descriptor is. */
struct hg_bulk_attr {
    hg_mem_type_t mem_type;
    uint64_t device; /* number of the device; 0 for HG_MEM_TYPE_HOST */
};

struct hg_cb_info_lookup {
    hg_addr_t addr; /* the caller's to free; null unless ret is HG_SUCCESS */
};

struct hg_cb_info_forward {
    hg_handle_t handle;
};

struct hg_cb_info_respond {
    hg_handle_t handle;
};

struct hg_cb_info_bulk {
    hg_bulk_t origin_handle;
    hg_bulk_t local_handle;
    hg_bulk_op_t op;
    hg_size_t size; /* bytes transferred */
};

/* What a callback is given; valid until it returns. */
struct hg_cb_info {
    union {
        struct hg_cb_info_lookup lookup;
        struct hg_cb_info_forward forward;
        struct hg_cb_info_respond respond;
        struct hg_cb_info_bulk bulk;
    } info; /* the member that type names */
    void *arg;
    hg_cb_type_t type;
    hg_return_t ret; /* how the operation ended */
};

/* Counts since the class was opened. */
struct hg_diag_counters {
    uint64_t rpc_req_sent_count;
    uint64_t rpc_req_recv_count;
    uint64_t rpc_resp_sent_count;
    uint64_t rpc_resp_recv_count;
    uint64_t rpc_req_extra_count;       /* requests with input moved by RMA */
    uint64_t rpc_resp_extra_count;      /* answers with output moved by RMA */
    uint64_t rpc_req_recv_active_count; /* requests being handled now */
    uint64_t rpc_multi_recv_copy_count; /* requests copied out of a buffer */
    uint64_t bulk_count;                /* bulk transfers */
};

/* Handles an RPC at the target. Runs in HG_Trigger, without a lock held; may
 * block. An error that it returns without having responded is the answer. */
typedef hg_return_t (*hg_rpc_cb_t)(hg_handle_t handle);

/* Reports the end of an operation. Runs in HG_Trigger, without a lock held;
 * what it returns is ignored. */
typedef hg_return_t (*hg_cb_t)(const struct hg_cb_info *callback_info);

/* Encodes, decodes or frees `data` as hg_proc_get_op says. */
typedef hg_return_t (*hg_proc_cb_t)(hg_proc_t proc, void *data);

/* Versions in one number that compares, in code and in #if. */
#define HG_VERSION(major, minor) (((major) << 16) | (minor))
#define HG_MAJOR(version) ((version) >> 16)
#define HG_MINOR(version) ((version) &0xffff)
#define HG_VERSION_GE(v1, v2) ((v1) >= (v2))
#define HG_VERSION_LT(v1, v2) ((v1) < (v2))

#define HG_MAX_IDLE_TIME (3600 * 1000) /* ms: longest timeout of progress */

/* Every default (for the C++ name see NA_LITERAL). */
#ifdef __cplusplus
typedef struct hg_init_info hg_init_info_literal;
#endif
#define HG_INIT_INFO_INITIALIZER                                               \
    NA_LITERAL(hg_init_info)                                                   \
    {                                                                          \
        {NA_INIT_INFO_DEFAULTS_4_0}, NULL, 0, 0, 0, NULL, HG_CHECKSUM_NONE, 0, \
            0, 0, 0, 0, NA_TC_UNSPEC, false, 0, 0                              \
    }

#endif /* MERCURY_TYPES_H */
