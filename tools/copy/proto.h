/* SPDX-License-Identifier: BSD-3-Clause */
/* The protocol of `talaria copy`: which RPCs there are, in what order a client
 * calls them, and what the server checks. */
#ifndef COPY_PROTO_H
#define COPY_PROTO_H

#include <mercury_macros.h>

#include "common/token.h"
#include "copy/status.h"

/* A client doesn't listen: it only asks. Contents never travel in arguments:
 * the client offers memory by a bulk descriptor, from which the server pulls
 * (put) or into which it pushes (get, list). Arguments and answers are small
 * enough for the transport's eager messages; a path that is too long for that
 * is refused by the client before it is sent.
 *
 * Each answer begins with a status (status.h), and its other fields mean
 * something only with COPY_OK. Each request but hello begins with the number
 * of the session; the server accepts it from the address that said hello only.
 *
 *   hello   version, nonce, beacon    -> version, session, chunk size, opens,
 *                                        whether a proof is wanted, nonce
 *   auth    proof                     -> proof
 *   bye                                  ends the session and drops its opens
 *   stat    path                      -> type, mode, size, time
 *   list    path or id, bulk          -> id, bytes, count
 *   mkdir   path, mode                -> whether it is new
 *   attr    path, mode, time             of directories only
 *   create  path, size, replace       -> id
 *   write   id, offset, size, bulk       the server pulls one chunk
 *   commit  id, mode, time, checksum     gives the file its name
 *   open    path                      -> id, size, mode
 *   read    id, offset, size, bulk       the server pushes one chunk
 *   hash    id, offset, size             as read, but moves nothing
 *   close   id                        -> checksum
 *   readlink path                     -> target of a symbolic link
 *   symlink path, target, time, how   -> whether it is new
 *   remove  path, directory              a file, a link or an empty directory
 *
 * A server with a token answers anything but auth and bye with COPY_DENIED
 * until the client has proven that it has the same token, in auth, which it may
 * try once. The server's answer has its own proof, for who asks for it
 * (common/token.h).
 *
 * Paths are bytes, relative to the exported directory, with no empty, "." or
 * ".." component and no zero; the empty path is the directory itself. The
 * server follows no symbolic link, and makes only those that stay beneath the
 * exported directory (link.h).
 *
 * A file is moved in chunks of the size that hello gave: offsets are multiples
 * of it, and all chunks but the last are whole. They may be asked for in any
 * order and at the same time, each once. The checksum of a file is the sum
 * modulo 2^128 of the XXH3-128 hashes of its chunks, each seeded with the
 * chunk's offset: whoever reads computes it from what was read, whoever writes
 * from what was written. create, write..., commit makes a file; until the
 * commit succeeded it has no name, and when it failed the upload is gone (but
 * for COPY_BUSY: writes are running). open, read..., close fetches one; the
 * answer to close has the reader's checksum, or COPY_CHANGED.
 *
 * A listing is paged: the first list gives a path and id 0; as long as the
 * answer has an id other than 0, another list with that id gives the next page.
 * A page is `count` encoded copy_entry_t in the first `bytes` of the bulk.
 *
 * An id (of an upload, a download or a listing) is a random number that is
 * valid in its session only. A session ends by bye, when the same address says
 * hello again (and has proven itself, where that is wanted), when a transfer or
 * an answer to the client fails, when the client has asked for nothing for the
 * idle time, or when its beacon goes out: that is eight bytes of the client's
 * memory, which the server pulls now and then while nothing else shows that the
 * client lives. Unfinished uploads vanish with their session. */
#define COPY_PROTOCOL_VERSION 3u

/* Under which a token is proven. */
#define COPY_PROTOCOL_NAME "talaria copy"

/* Room for a path and its terminating zero. */
#define COPY_PATH_SIZE 4096u

/* Longest component of a path. */
#define COPY_NAME_MAX 255u

/* Bounds of the chunk size that a server may choose, and what ours chooses. */
#define COPY_CHUNK_MIN (64u << 10)
#define COPY_CHUNK_MAX (16u << 20)
#define COPY_CHUNK_SIZE (1u << 20)

/* Fewest bytes of the memory that a list offers, and most of a page. */
#define COPY_PAGE_SIZE COPY_CHUNK_MIN

/* Files that a client may have open at a time, and as many listings. */
#define COPY_OPEN_MAX 64u

/* Bytes of a request beside its path, a serialized descriptor not included. */
#define COPY_REQUEST_FIXED 64u

enum copy_rpc {
    COPY_HELLO,
    COPY_BYE,
    COPY_STAT,
    COPY_LIST,
    COPY_MKDIR,
    COPY_ATTR,
    COPY_CREATE,
    COPY_WRITE,
    COPY_COMMIT,
    COPY_OPEN,
    COPY_READ,
    COPY_CLOSE,
    COPY_HASH,
    COPY_LINK_READ,
    COPY_LINK_MAKE,
    COPY_REMOVE,
    COPY_AUTH,
    COPY_RPC_COUNT
};

enum copy_type {
    COPY_FILE,
    COPY_DIRECTORY,
    COPY_LINK,
    COPY_SPECIAL_FILE,
    COPY_TYPE_COUNT
};

/* A path or a name: bytes[length] is zero, and no byte before it is. */
typedef struct {
    uint16_t length;
    char bytes[COPY_PATH_SIZE];
} copy_path_t;

/* Encodes or decodes a copy_path_t: 16 bits of length, then the bytes.
 * HG_PROTOCOL_ERROR: too long, or a zero among the bytes. */
hg_return_t hg_proc_copy_path_t(hg_proc_t proc, void *data);

/* The checksum of a file, see above. */
typedef struct {
    uint64_t low;
    uint64_t high;
} copy_sum_t;

MERCURY_GEN_STRUCT_PROC(copy_sum_t, ((uint64_t) (low))((uint64_t) (high)))

/* When something was changed last: seconds since 1970, and nanoseconds beneath
 * 10^9, or COPY_TIME_NONE: it isn't known, and isn't set. */
#define COPY_TIME_NONE UINT32_MAX
typedef struct {
    int64_t seconds;
    uint32_t nanos;
} copy_time_t;

MERCURY_GEN_STRUCT_PROC(copy_time_t, ((int64_t) (seconds))((uint32_t) (nanos)))

/* How a symbolic link is made where something stands already; together, what is
 * equal is left and anything else replaced. */
#define COPY_HOW_REPLACE 1u /* it takes the place of that, not of a directory */
#define COPY_HOW_RESUME 2u  /* a link with the same target is fine */

/* clang-format off */
MERCURY_GEN_PROC(copy_meta_t,
    ((uint8_t)(type)) ((uint32_t)(mode)) ((uint64_t)(size))
    ((copy_time_t)(mtime)))

/* One entry of a listing. */
MERCURY_GEN_PROC(copy_entry_t, ((copy_meta_t)(meta)) ((copy_path_t)(name)))

/* The beacon is readable memory of 8 bytes that hold `light`. */
MERCURY_GEN_PROC(copy_hello_in_t,
    ((uint32_t)(version)) ((token_key_t)(nonce)) ((uint64_t)(light))
    ((hg_bulk_t)(beacon)))
/* What a server grants, and whether it wants a proof, with its own nonce. */
MERCURY_GEN_PROC(copy_terms_t,
    ((uint32_t)(chunk_size)) ((uint32_t)(open_max)) ((uint8_t)(wants_proof))
    ((token_key_t)(nonce)))
MERCURY_GEN_PROC(copy_hello_out_t,
    ((uint32_t)(status)) ((uint32_t)(version)) ((uint64_t)(session))
    ((copy_terms_t)(terms)))

MERCURY_GEN_PROC(copy_auth_in_t,
    ((uint64_t)(session)) ((token_key_t)(proof)))
MERCURY_GEN_PROC(copy_auth_out_t,
    ((uint32_t)(status)) ((token_key_t)(proof)))

/* Of bye. */
MERCURY_GEN_PROC(copy_session_in_t, ((uint64_t)(session)))
/* Of bye, attr, write, commit, read, hash and remove, and of every
 * refusal. */
MERCURY_GEN_PROC(copy_status_out_t, ((uint32_t)(status)))

/* Of stat, open and readlink. */
MERCURY_GEN_PROC(copy_path_in_t,
    ((uint64_t)(session)) ((copy_path_t)(path)))
MERCURY_GEN_PROC(copy_stat_out_t,
    ((uint32_t)(status)) ((copy_meta_t)(meta)))
MERCURY_GEN_PROC(copy_open_out_t,
    ((uint32_t)(status)) ((uint64_t)(id)) ((copy_meta_t)(meta)))

MERCURY_GEN_PROC(copy_list_in_t,
    ((uint64_t)(session)) ((uint64_t)(id)) ((copy_path_t)(path))
    ((hg_bulk_t)(bulk)))
MERCURY_GEN_PROC(copy_list_out_t,
    ((uint32_t)(status)) ((uint64_t)(id)) ((uint32_t)(bytes))
    ((uint32_t)(count)))

/* Of mkdir and attr; mkdir sets no time. */
MERCURY_GEN_PROC(copy_mode_in_t,
    ((uint64_t)(session)) ((uint32_t)(mode)) ((copy_time_t)(mtime))
    ((copy_path_t)(path)))
/* Of mkdir and symlink. */
MERCURY_GEN_PROC(copy_mkdir_out_t,
    ((uint32_t)(status)) ((uint8_t)(is_new)))

MERCURY_GEN_PROC(copy_create_in_t,
    ((uint64_t)(session)) ((uint64_t)(size)) ((uint8_t)(replace))
    ((copy_path_t)(path)))
MERCURY_GEN_PROC(copy_create_out_t,
    ((uint32_t)(status)) ((uint64_t)(id)))

/* Of write, read and hash, which has no bulk. */
MERCURY_GEN_PROC(copy_chunk_in_t,
    ((uint64_t)(session)) ((uint64_t)(id)) ((uint64_t)(offset))
    ((uint32_t)(size)) ((hg_bulk_t)(bulk)))

MERCURY_GEN_PROC(copy_commit_in_t,
    ((uint64_t)(session)) ((uint64_t)(id)) ((uint32_t)(mode))
    ((copy_time_t)(mtime)) ((copy_sum_t)(sum)))

MERCURY_GEN_PROC(copy_close_in_t, ((uint64_t)(session)) ((uint64_t)(id)))
MERCURY_GEN_PROC(copy_close_out_t,
    ((uint32_t)(status)) ((copy_sum_t)(sum)))

/* The target is any text that isn't empty. */
MERCURY_GEN_PROC(copy_link_out_t,
    ((uint32_t)(status)) ((copy_path_t)(target)))
MERCURY_GEN_PROC(copy_link_in_t,
    ((uint64_t)(session)) ((uint8_t)(how)) ((copy_time_t)(mtime))
    ((copy_path_t)(path)) ((copy_path_t)(target)))

MERCURY_GEN_PROC(copy_remove_in_t,
    ((uint64_t)(session)) ((uint8_t)(directory)) ((copy_path_t)(path)))
/* clang-format on */

/* Any request; each but hello begins with the session. */
union copy_in {
    uint64_t session;
    copy_hello_in_t hello;
    copy_session_in_t bye;
    copy_path_in_t path; /* stat, open, readlink */
    copy_list_in_t list;
    copy_mode_in_t mode; /* mkdir, attr */
    copy_create_in_t create;
    copy_chunk_in_t chunk; /* write, read, hash */
    copy_commit_in_t commit;
    copy_close_in_t close;
    copy_link_in_t link;
    copy_remove_in_t remove;
    copy_auth_in_t auth;
};

/* Any answer; each begins with the status. */
union copy_out {
    uint32_t status;
    copy_hello_out_t hello;
    copy_status_out_t plain; /* those that have no more */
    copy_stat_out_t stat;
    copy_list_out_t list;
    copy_mkdir_out_t mkdir; /* mkdir, symlink */
    copy_create_out_t create;
    copy_open_out_t open;
    copy_close_out_t close;
    copy_link_out_t link;
    copy_auth_out_t auth;
};

/* Opens a class as HG_Init does, for messages that are all small: a stranger's
 * larger ones needn't be fetched to be refused. */
hg_class_t *copy_proto_init(const char *info, bool listen);

/* Registers every RPC with a class. handler: the server's, the same for all, or
 * NULL at a client. ids_p: set to the id of each, by enum copy_rpc. HG_NOMEM.
 */
hg_return_t copy_proto_register(
    hg_class_t *hg_class, hg_rpc_cb_t handler, hg_id_t ids_p[COPY_RPC_COUNT]);

/* Returns the name of an RPC, such as "talaria.copy.hello". */
const char *copy_proto_name(enum copy_rpc rpc);

/* Fills in a path. ENAMETOOLONG: it has no room for that. */
int copy_proto_path(copy_path_t *path, const char *text);

#endif /* COPY_PROTO_H */
