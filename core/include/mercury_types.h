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
typedef struct hg_handle *hg_handle_t;  /* a call, at origin or target */
typedef struct hg_bulk *hg_bulk_t;      /* descriptor of memory */
typedef struct hg_proc *hg_proc_t;      /* an encoder or decoder */
typedef struct hg_op *hg_op_id_t;       /* a transfer, for HG_Bulk_cancel */

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
    HG_NOENTRY,        /* not found, such as an RPC that isn't registered */
    HG_INTERRUPT,      /* interrupted by a signal */
    HG_AGAIN,          /* temporarily short of a resource */
    HG_NOMEM,          /* out of memory */
    HG_ACCESS,         /* denied by the system */
    HG_FAULT,          /* invalid pointer, or something required is missing */
    HG_BUSY,           /* still in use */
    HG_EXIST,          /* exists already */
    HG_NODEV,          /* no such device */
    HG_INVALID_ARG,    /* invalid argument */
    HG_PROTOCOL_ERROR, /* malformed data, or a violation of the protocol */
    HG_OVERFLOW,       /* too large for the buffer or field */
    HG_MSGSIZE,        /* message longer than allowed, or than its buffer */
    HG_PROTONOSUPPORT, /* no plugin offers the protocol */
    HG_OPNOTSUPPORTED, /* not supported by this transport or object */
    HG_ADDRINUSE,      /* the address is taken */
    HG_ADDRNOTAVAIL,   /* not an address of this machine */
    HG_HOSTUNREACH,    /* the peer is unreachable */
    HG_TIMEOUT,        /* timed out */
    HG_CANCELED,       /* cancelled */
    HG_IO_ERROR,       /* the transport failed */
    HG_HOSTFIREWALL,   /* refused by the peer's host */
    HG_CHECKSUM_ERROR, /* data were altered on the way */
    HG_NA_ERROR,       /* a code of the transport without an HG code */
    HG_OTHER_ERROR,    /* any other error */
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

/* What a proc is called for. */
typedef enum hg_proc_op {
    HG_ENCODE, /* write the data to the message */
    HG_DECODE, /* read the data from the message */
    HG_FREE    /* free what HG_DECODE allocated */
} hg_proc_op_t;

/* Checksum of what a proc encodes or decodes. */
typedef enum hg_proc_hash {
    HG_CRC16,
    HG_CRC32,
    HG_CRC64,
    HG_NOHASH
} hg_proc_hash_t;

/* What is checksummed of each RPC. Bulk data is not. */
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

/* Type of a descriptor's memory: the values of enum na_mem_type. */
typedef enum hg_mem_type {
    HG_MEM_TYPE_HOST = NA_MEM_TYPE_HOST, /* ordinary memory */
    HG_MEM_TYPE_CUDA = NA_MEM_TYPE_CUDA, /* NVIDIA device */
    HG_MEM_TYPE_ROCM = NA_MEM_TYPE_ROCM, /* AMD device */
    HG_MEM_TYPE_ZE = NA_MEM_TYPE_ZE,     /* Intel Level Zero device */
    HG_MEM_TYPE_MAX = NA_MEM_TYPE_MAX,
    HG_MEM_TYPE_UNKNOWN = NA_MEM_TYPE_UNKNOWN
} hg_mem_type_t;

/* Options to open a class. Start from HG_INIT_INFO_INITIALIZER. Strings are
 * copied. Each version of the interface has the fields up to its mark: 2.2 ends
 * before offsetof(..., no_multi_recv), 2.3 before offsetof(..., traffic_class).
 */
struct hg_init_info {
    /* Options for the transport. */
    struct na_init_info_4_0 na_init_info;

    /* Use this NA class instead of opening one; the info string is then
     * ignored. The caller owns it, and it must outlive the HG class. */
    na_class_t *na_class;

    /* Receives that a listening context posts for requests; 0: the default. */
    uint32_t request_post_init;

    /* How many more are posted when running RPCs use all of them; 0: the
     * default; -1: none, further requests wait in the transport. */
    int32_t request_post_incr;

    /* Reach peers of the same node through shared memory, if they have set this
     * too. The string of the class's own address then contains both addresses.
     * If shared memory is unavailable, a warning says so. */
    uint8_t auto_sm;

    /* With auto_sm: the info string of the transport to use instead of na+sm,
     * or an address name for this class in na+sm. NULL: na+sm with a generated
     * name. */
    const char *sm_info_string;

    hg_checksum_level_t checksum_level;

    /* Don't include small bulk data in serialized descriptors. */
    uint8_t no_bulk_eager;

    /* Use the transport for RPCs to oneself. The class must then listen. By
     * default they bypass the transport. */
    uint8_t no_loopback;

    /* Count RPCs, and print the counters when the class is finalized. */
    uint8_t stats; /* up to here: 2.2 */

    /* Post one buffer for each request, even if the transport supports
     * multi-receive. */
    uint8_t no_multi_recv;

    /* Release the buffer of a request in HG_Get_input, which then works once,
     * instead of when the handle is destroyed. */
    uint8_t release_input_early; /* up to here: 2.3 */

    enum na_traffic_class traffic_class;

    /* Fail with HG_OVERFLOW for input or output larger than the eager size,
     * instead of transferring it by RMA. */
    bool no_overflow;

    /* Number of multi-receive buffers posted; 0: the default. */
    unsigned int multi_recv_op_max;

    /* Copy requests out of their multi-receive buffers when at most this many
     * buffers are posted; at most multi_recv_op_max; 0: never. */
    unsigned int multi_recv_copy_threshold; /* up to here: 2.4 */
};

/* Class, context, peer and RPC of a handle. The handle owns all of it. */
struct hg_info {
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_addr_t addr; /* the peer: at the origin the target */
    hg_id_t id;
    uint8_t context_id; /* id of the peer's context */
};

/* Type and device of a descriptor's memory. */
struct hg_bulk_attr {
    hg_mem_type_t mem_type;
    uint64_t device; /* number of the device; 0 for HG_MEM_TYPE_HOST */
};

struct hg_cb_info_lookup {
    hg_addr_t addr; /* freed by the caller; null unless HG_SUCCESS */
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

/* Argument of a callback; valid until it returns. */
struct hg_cb_info {
    union {
        struct hg_cb_info_lookup lookup;
        struct hg_cb_info_forward forward;
        struct hg_cb_info_respond respond;
        struct hg_cb_info_bulk bulk;
    } info; /* see type */
    void *arg;
    hg_cb_type_t type;
    hg_return_t ret; /* outcome of the operation */
};

/* Counts since the class was opened. */
struct hg_diag_counters {
    uint64_t rpc_req_sent_count;
    uint64_t rpc_req_recv_count;
    uint64_t rpc_resp_sent_count;
    uint64_t rpc_resp_recv_count;
    uint64_t rpc_req_extra_count;       /* requests with input fetched by RMA */
    uint64_t rpc_resp_extra_count;      /* answers with output fetched by RMA */
    uint64_t rpc_req_recv_active_count; /* requests being handled now */
    uint64_t rpc_multi_recv_copy_count; /* requests copied out of a buffer */
    uint64_t bulk_count;                /* bulk transfers */
};

/* Handles an RPC at the target. Runs in HG_Trigger without a lock held, and may
 * block. For what it returns see HG_Register_name. */
typedef hg_return_t (*hg_rpc_cb_t)(hg_handle_t handle);

/* Called when an operation has completed. Runs in HG_Trigger without a lock
 * held. The return value is ignored. */
typedef hg_return_t (*hg_cb_t)(const struct hg_cb_info *callback_info);

/* Encodes, decodes or frees `data`, as hg_proc_get_op tells. */
typedef hg_return_t (*hg_proc_cb_t)(hg_proc_t proc, void *data);

/* Versions as comparable numbers, in code and in #if. */
#define HG_VERSION(major, minor) (((major) << 16) | (minor))
#define HG_MAJOR(version) ((version) >> 16)
#define HG_MINOR(version) ((version) &0xffff)
#define HG_VERSION_GE(v1, v2) ((v1) >= (v2))
#define HG_VERSION_LT(v1, v2) ((v1) < (v2))

#define HG_MAX_IDLE_TIME (3600 * 1000) /* ms: maximum timeout of progress */

/* All defaults (NA_LITERAL explains the C++ name). */
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
