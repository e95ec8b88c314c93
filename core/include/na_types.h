/* SPDX-License-Identifier: BSD-3-Clause */
/* The types, codes and constants of the NA interface (na.h). */
#ifndef NA_TYPES_H
#define NA_TYPES_H

#include <limits.h>

#include "na_config.h"

/* Opaque, always used through pointers. */
typedef struct na_class na_class_t;           /* an opened transport */
typedef struct na_context na_context_t;       /* a completion queue in it */
typedef struct na_addr na_addr_t;             /* a peer's address */
typedef struct na_op_id na_op_id_t;           /* one operation */
typedef struct na_mem_handle na_mem_handle_t; /* memory for RMA */

typedef uint32_t na_tag_t;    /* matches expected messages */
typedef uint64_t na_offset_t; /* bytes from the start of a memory handle */

/* Return codes. Up to NA_HOSTFIREWALL equal to those of hg_return_t. */
typedef enum na_return {
    NA_SUCCESS,        /* done, or accepted */
    NA_PERMISSION,     /* not allowed by the memory's access flags */
    NA_NOENTRY,        /* not found */
    NA_INTERRUPT,      /* interrupted by a signal */
    NA_AGAIN,          /* temporarily short of a resource (NA_NO_RETRY only) */
    NA_NOMEM,          /* out of memory */
    NA_ACCESS,         /* denied by the system */
    NA_FAULT,          /* invalid pointer, or something required is missing */
    NA_BUSY,           /* still in use */
    NA_EXIST,          /* exists already */
    NA_NODEV,          /* no such device */
    NA_INVALID_ARG,    /* invalid argument */
    NA_PROTOCOL_ERROR, /* malformed data, or a violation of the protocol */
    NA_OVERFLOW,       /* too large for the buffer or field */
    NA_MSGSIZE,        /* message longer than allowed, or than its buffer */
    NA_PROTONOSUPPORT, /* no plugin offers the protocol */
    NA_OPNOTSUPPORTED, /* not supported by this transport or object */
    NA_ADDRINUSE,      /* the address is taken */
    NA_ADDRNOTAVAIL,   /* not an address of this machine */
    NA_HOSTUNREACH,    /* the peer is unreachable */
    NA_TIMEOUT,        /* timed out */
    NA_CANCELED,       /* cancelled */
    NA_IO_ERROR,       /* the transport failed */
    NA_HOSTFIREWALL,   /* refused by the peer's host */
    NA_RETURN_MAX
} na_return_t;

/* Which operation a callback belongs to. */
typedef enum na_cb_type {
    NA_CB_SEND_UNEXPECTED,
    NA_CB_RECV_UNEXPECTED,
    NA_CB_MULTI_RECV_UNEXPECTED,
    NA_CB_SEND_EXPECTED,
    NA_CB_RECV_EXPECTED,
    NA_CB_PUT,
    NA_CB_GET
} na_cb_type_t;

enum na_addr_format {
    NA_ADDR_UNSPEC, /* the plugin chooses */
    NA_ADDR_IPV4,
    NA_ADDR_IPV6,
    NA_ADDR_NATIVE /* the fabric's own */
};

enum na_traffic_class {
    NA_TC_UNSPEC, /* the plugin chooses */
    NA_TC_BEST_EFFORT,
    NA_TC_LOW_LATENCY,
    NA_TC_BULK_DATA,
    NA_TC_DEDICATED_ACCESS, /* ahead of the others */
    NA_TC_SCAVENGER,        /* behind the others */
    NA_TC_NETWORK_CTRL      /* management of the network, privileged */
};

/* Type of the memory that a handle describes. */
enum na_mem_type {
    NA_MEM_TYPE_HOST, /* ordinary memory */
    NA_MEM_TYPE_CUDA, /* NVIDIA device */
    NA_MEM_TYPE_ROCM, /* AMD device */
    NA_MEM_TYPE_ZE,   /* Intel Level Zero device */
    NA_MEM_TYPE_MAX,
    NA_MEM_TYPE_UNKNOWN = NA_MEM_TYPE_MAX
};

/* Options to open a class. Start from NA_INIT_INFO_INITIALIZER; 0 and NULL
 * leave the choice to the plugin. Strings are copied. Each version of the
 * interface has the fields up to its mark. */
struct na_init_info {
    const char *ip_subnet;      /* subnet to prefer, such as "10.1.0.0/16" */
    const char *auth_key;       /* key that all peers must have */
    size_t max_unexpected_size; /* bytes, a hint */
    size_t max_expected_size;   /* bytes, a hint */
    uint8_t progress_mode;      /* NA_NO_BLOCK, NA_NO_RETRY */
    enum na_addr_format addr_format;
    uint8_t max_contexts;    /* most contexts at once; default 1 */
    uint8_t thread_mode;     /* NA_THREAD_MODE_*; 0: any thread, any time */
    bool request_mem_device; /* device memory will be used; up to here: 4 */
    enum na_traffic_class traffic_class; /* up to here: 5 and 6 */
};

/* The fields of NA 4.0, a prefix of na_init_info: what hg_init_info holds. */
struct na_init_info_4_0 {
    const char *ip_subnet;
    const char *auth_key;
    size_t max_unexpected_size;
    size_t max_expected_size;
    uint8_t progress_mode;
    enum na_addr_format addr_format;
    uint8_t max_contexts;
    uint8_t thread_mode;
    bool request_mem_device;
};

/* A range of contiguous memory. */
struct na_segment {
    void *base;
    size_t len; /* bytes */
};

/* A protocol on a device, in a list: see NA_Get_protocol_info. */
struct na_protocol_info {
    struct na_protocol_info *next; /* NULL in the last */
    char *class_name;              /* the plugin, such as "ofi" */
    char *protocol_name;           /* such as "tcp" */
    char *device_name;             /* such as "eth0" */
};

/* The callback owns `source`, and frees it with NA_Addr_free. */
struct na_cb_info_recv_unexpected {
    size_t actual_buf_size; /* bytes received, header space included */
    na_addr_t *source;      /* NULL unless ret is NA_SUCCESS */
    na_tag_t tag;
};

/* One message of a multi-receive, which calls back once for each. The callback
 * owns `source`, and frees it with NA_Addr_free. */
struct na_cb_info_multi_recv_unexpected {
    size_t actual_buf_size; /* bytes received, header space included */
    na_addr_t *source;      /* NULL when there is no message */
    na_tag_t tag;
    void *actual_buf; /* in the posted buffer, at any alignment, or NULL */
    bool last;        /* operation and buffer can be reused */
};

struct na_cb_info_recv_expected {
    size_t actual_buf_size; /* bytes received, header space included */
};

/* Argument of a callback; valid until it returns. */
struct na_cb_info {
    union {
        struct na_cb_info_recv_unexpected recv_unexpected;
        struct na_cb_info_multi_recv_unexpected multi_recv_unexpected;
        struct na_cb_info_recv_expected recv_expected;
    } info; /* see type; unused for sends, put and get */
    void *arg;
    na_cb_type_t type;
    na_return_t ret; /* outcome of the operation */
};

/* Called when an operation has completed. Runs in NA_Trigger without a lock
 * held. It may call any function but NA_Context_destroy and NA_Finalize for its
 * own context and class. */
typedef void (*na_cb_t)(const struct na_cb_info *callback_info);

/* Versions as comparable numbers, in code and in #if. */
#define NA_VERSION(major, minor) (((major) << 16) | (minor))
#define NA_MAJOR(version) ((version) >> 16)
#define NA_MINOR(version) ((version) &0xffff)
#define NA_VERSION_GE(v1, v2) ((v1) >= (v2))
#define NA_VERSION_LT(v1, v2) ((v1) < (v2))

#define NA_MAX_IDLE_TIME (3600 * 1000) /* ms: maximum timeout of progress */
#define NA_CONTEXT_ID_MAX UINT8_MAX

/* Feature bits of NA_Has_opt_feature. */
#define NA_OPT_MULTI_RECV (1 << 0)

/* Uses of a buffer of NA_Msg_buf_alloc, as flags. */
#define NA_SEND (1 << 0)
#define NA_RECV (1 << 1)
#define NA_MULTI_RECV (1 << 2)

/* NA_Op_create: an operation with one callback, or a multi-receive. */
#define NA_OP_SINGLE 0x00
#define NA_OP_MULTI 0x01

/* Access of peers to memory. */
#define NA_MEM_READ_ONLY 0x01
#define NA_MEM_WRITE_ONLY 0x02
#define NA_MEM_READWRITE 0x03

/* progress_mode */
#define NA_NO_BLOCK 0x01 /* progress spins, never sleeps */
#define NA_NO_RETRY 0x02 /* a short resource is NA_AGAIN, not queued */

/* thread_mode: promises of the caller that make locks unnecessary. */
#define NA_THREAD_MODE_SINGLE_CLS 0x01 /* one thread at a time in the class */
#define NA_THREAD_MODE_SINGLE_CTX 0x02 /* ... in each context */
#define NA_THREAD_MODE_SINGLE                                                  \
    (NA_THREAD_MODE_SINGLE_CLS | NA_THREAD_MODE_SINGLE_CTX)

/* C++ has no compound literals, and a variable with the name of its struct
 * hides the struct in its own initializer: hence a second name. */
#ifdef __cplusplus
typedef struct na_init_info na_init_info_literal;
typedef struct na_init_info_4_0 na_init_info_4_0_literal;
#define NA_LITERAL(tag) tag##_literal
#else
#define NA_LITERAL(tag) (struct tag)
#endif

/* All defaults. The list without braces is for structs that contain this one:
 * a nested compound literal cannot initialize static data. */
#define NA_INIT_INFO_DEFAULTS_4_0                                              \
    NULL, NULL, 0, 0, 0, NA_ADDR_UNSPEC, 1, 0, false
#define NA_INIT_INFO_INITIALIZER_4_0                                           \
    NA_LITERAL(na_init_info_4_0)                                               \
    {                                                                          \
        NA_INIT_INFO_DEFAULTS_4_0                                              \
    }
#define NA_INIT_INFO_INITIALIZER                                               \
    NA_LITERAL(na_init_info)                                                   \
    {                                                                          \
        NA_INIT_INFO_DEFAULTS_4_0, NA_TC_UNSPEC                                \
    }

#endif /* NA_TYPES_H */
