/* SPDX-License-Identifier: BSD-3-Clause */
/* The protocol of `talaria copy`: its RPCs, the order of calls, and the checks
 * of the server. */
#ifndef COPY_PROTO_H
#define COPY_PROTO_H

#include <mercury_macros.h>

#include "common/token.h"
#include "copy/status.h"

/* Clients do not listen. Contents never travel in arguments: the client exposes
 * memory by a bulk descriptor, and the server pulls from it (put) or pushes
 * into it (get, list). Arguments and answers fit in the transport's eager
 * messages; the client refuses a path that is too long for that.
 *
 * Each answer begins with a status (status.h); its other fields are valid only
 * with COPY_OK. Each request but hello begins with the session id, which the
 * server accepts only from the address that sent hello.
 *
 *   hello   version, nonce, beacon    -> version, session, chunk size, opens,
 *                                        whether a proof is required, nonce
 *   auth    proof                     -> proof
 *   bye                                  ends the session and drops its opens
 *   stat    path                      -> type, mode, size, time
 *   list    path or id, bulk          -> id, bytes, count
 *   mkdir   path, mode                -> whether it is new
 *   attr    path, mode, time             of directories only
 *   create  path, size, how           -> id, bytes of the partial file
 *   write   id, offset, size, bulk       the server pulls one chunk
 *   verify  id, offset, size, checksum   keeps a chunk that is there already
 *   commit  id, mode, time, checksum     gives the file its name
 *   store   replace, count, size, bulk -> a status for each file: the server
 *                                        pulls and makes whole small files
 *   open    path                      -> id, size, mode
 *   read    id, offset, size, bulk       the server pushes one chunk
 *   hash    id, offset, size             as read, but moves nothing
 *   close   id                        -> checksum
 *   readlink path                     -> target of a symbolic link
 *   symlink path, target, time, how   -> whether it is new
 *   remove  path, directory              a file, a link or an empty directory
 *
 * A server with a token answers everything but auth and bye with COPY_DENIED
 * until auth has proven that the client has the same token; a client may try
 * once. The answer to auth has the server's own proof (common/token.h).
 *
 * Paths are bytes, relative to the exported directory, with no empty, "." or
 * ".." component and no zero; the empty path is the directory itself. The
 * server follows no symbolic link, and makes only those that stay beneath the
 * exported directory (link.h).
 *
 * A file is transferred in chunks of the size in the answer to hello: offsets
 * are multiples of it, and only the last chunk may be shorter. They may be
 * requested in any order and concurrently, each once. The checksum of a file is
 * the sum modulo 2^128 of the XXH3-128 hashes of its chunks, each seeded with
 * the chunk's offset; each side computes it from what it read or wrote. create,
 * write..., commit makes a file: it gets its name when commit succeeds; if that
 * fails the upload is dropped (except with COPY_BUSY: writes are running).
 * open, read..., close fetches a file; the answer to close has the server's
 * checksum, or COPY_CHANGED.
 *
 * With COPY_HOW_RESUME an upload continues a partial file: what the server has
 * kept of an upload to the same path that ended without a commit. A chunk within
 * its bytes may be verified in place of being written: COPY_OK means that the
 * server's chunk has the checksum of the client's, and counts as a write;
 * COPY_CHECKSUM, that it has not, and the chunk has to be written. A chunk of a
 * download may be verified in place of being read, if the client has it: COPY_OK
 * counts as a read. Without COPY_HOW_RESUME, or when a commit has failed, nothing
 * is kept.
 *
 * A listing has pages: the first list request has a path and id 0; while the
 * answer has an id other than 0, a list request with that id gets the next
 * page. A page is `count` encoded copy_entry_t in the first `bytes` of the
 * bulk.
 *
 * A store request makes up to COPY_STORE_MAX files in one round trip. Its memory
 * is `count` times an encoded copy_file_t and the file's contents, in `size`
 * bytes without a rest. The files are independent: each appears complete or not
 * at all, and has its own status. With any other status of the request than
 * COPY_OK no file was made.
 *
 * An id (of an upload, a download or a listing) is a random number, valid in
 * its session only. A session ends by bye; when the same address sends hello
 * again (and authenticates, if required); when a transfer or an answer to the
 * client fails; when the client sends no request for the idle time; or when its
 * beacon is lost: eight bytes of the client's memory, which the server pulls
 * periodically while nothing else shows that the client is alive. Unfinished
 * uploads are dropped with their session, or kept as partial files. */
#define COPY_PROTOCOL_VERSION 5u

/* The protocol in the binding of a proof. */
#define COPY_PROTOCOL_NAME "talaria copy"

/* Bytes of a path with its terminating zero, at most. */
#define COPY_PATH_SIZE 4096u

/* Bytes of a component of a path, at most. */
#define COPY_NAME_MAX 255u

/* Limits of a server's chunk size, and the size that ours uses. */
#define COPY_CHUNK_MIN (64u << 10)
#define COPY_CHUNK_MAX (16u << 20)
#define COPY_CHUNK_SIZE (1u << 20)

/* Bytes of a page at most, and of a list request's memory at least. */
#define COPY_PAGE_SIZE COPY_CHUNK_MIN

/* Open files of a client, and open listings, at most. */
#define COPY_OPEN_MAX 64u

/* Files of a store request, at most. */
#define COPY_STORE_MAX 128u

/* Bytes of a request without its path and bulk descriptor. */
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
    COPY_STORE,
    COPY_VERIFY,
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

/* The checksum of a file. */
typedef struct {
    uint64_t low;
    uint64_t high;
} copy_sum_t;

MERCURY_GEN_STRUCT_PROC(copy_sum_t, ((uint64_t) (low))((uint64_t) (high)))

/* A modification time: seconds since 1970, and nanoseconds below 10^9;
 * COPY_TIME_NONE: not known, not to be set. */
#define COPY_TIME_NONE UINT32_MAX
typedef struct {
    int64_t seconds;
    uint32_t nanos;
} copy_time_t;

MERCURY_GEN_STRUCT_PROC(copy_time_t, ((int64_t) (seconds))((uint32_t) (nanos)))

/* How to create a file or a symbolic link where something exists. A link with
 * both flags: an equal link is kept and anything else is replaced. */
#define COPY_HOW_REPLACE 1u /* replace it, unless it is a directory */
/* keep a link with the same target, continue a partial file */
#define COPY_HOW_RESUME 2u

/* The statuses of the files of a store request, in their order. */
typedef struct {
    uint32_t count;
    uint8_t status[COPY_STORE_MAX];
} copy_results_t;

/* Encodes or decodes a copy_results_t: 32 bits of count, then the statuses.
 * HG_PROTOCOL_ERROR: too many. */
hg_return_t hg_proc_copy_results_t(hg_proc_t proc, void *data);

/* clang-format off */
MERCURY_GEN_PROC(copy_meta_t,
    ((uint8_t)(type)) ((uint32_t)(mode)) ((uint64_t)(size))
    ((copy_time_t)(mtime)))

/* One entry of a listing. */
MERCURY_GEN_PROC(copy_entry_t, ((copy_meta_t)(meta)) ((copy_path_t)(name)))

/* In the memory of a store request, before the contents of the file. */
MERCURY_GEN_PROC(copy_file_t,
    ((uint32_t)(mode)) ((copy_time_t)(mtime)) ((uint32_t)(size))
    ((copy_sum_t)(sum)) ((copy_path_t)(path)))

/* The beacon is 8 bytes of readable memory with the value `beacon_value`. */
MERCURY_GEN_PROC(copy_hello_in_t,
    ((uint32_t)(version)) ((token_key_t)(nonce)) ((uint64_t)(beacon_value))
    ((hg_bulk_t)(beacon)))
/* The limits of a server, whether it requires a proof, and its nonce. */
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
/* Of bye, attr, write, verify, commit, read, hash and remove, and of every
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
    ((uint64_t)(session)) ((uint64_t)(size)) ((uint8_t)(how))
    ((copy_path_t)(path)))
MERCURY_GEN_PROC(copy_create_out_t,
    ((uint32_t)(status)) ((uint64_t)(id)) ((uint64_t)(have)))

/* Of write, read and hash; hash has no bulk. */
MERCURY_GEN_PROC(copy_chunk_in_t,
    ((uint64_t)(session)) ((uint64_t)(id)) ((uint64_t)(offset))
    ((uint32_t)(size)) ((hg_bulk_t)(bulk)))

MERCURY_GEN_PROC(copy_verify_in_t,
    ((uint64_t)(session)) ((uint64_t)(id)) ((uint64_t)(offset))
    ((uint32_t)(size)) ((copy_sum_t)(sum)))

MERCURY_GEN_PROC(copy_commit_in_t,
    ((uint64_t)(session)) ((uint64_t)(id)) ((uint32_t)(mode))
    ((copy_time_t)(mtime)) ((copy_sum_t)(sum)))

MERCURY_GEN_PROC(copy_close_in_t, ((uint64_t)(session)) ((uint64_t)(id)))
MERCURY_GEN_PROC(copy_close_out_t,
    ((uint32_t)(status)) ((copy_sum_t)(sum)))

/* The target is any text but the empty one. */
MERCURY_GEN_PROC(copy_link_out_t,
    ((uint32_t)(status)) ((copy_path_t)(target)))
MERCURY_GEN_PROC(copy_link_in_t,
    ((uint64_t)(session)) ((uint8_t)(how)) ((copy_time_t)(mtime))
    ((copy_path_t)(path)) ((copy_path_t)(target)))

MERCURY_GEN_PROC(copy_remove_in_t,
    ((uint64_t)(session)) ((uint8_t)(directory)) ((copy_path_t)(path)))

MERCURY_GEN_PROC(copy_store_in_t,
    ((uint64_t)(session)) ((uint8_t)(replace)) ((uint32_t)(count))
    ((uint32_t)(size)) ((hg_bulk_t)(bulk)))
MERCURY_GEN_PROC(copy_store_out_t,
    ((uint32_t)(status)) ((copy_results_t)(results)))
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
    copy_verify_in_t verify;
    copy_commit_in_t commit;
    copy_close_in_t close;
    copy_link_in_t link;
    copy_remove_in_t remove;
    copy_auth_in_t auth;
    copy_store_in_t store;
};

/* Any answer; each begins with the status. */
union copy_out {
    uint32_t status;
    copy_hello_out_t hello;
    copy_status_out_t plain; /* answers with a status only */
    copy_stat_out_t stat;
    copy_list_out_t list;
    copy_mkdir_out_t mkdir; /* mkdir, symlink */
    copy_create_out_t create;
    copy_open_out_t open;
    copy_close_out_t close;
    copy_link_out_t link;
    copy_auth_out_t auth;
    copy_store_out_t store;
};

/* Opens a class as HG_Init does, without rendezvous payloads: a larger message
 * is refused without being fetched. */
hg_class_t *copy_proto_init(const char *info, bool listen);

/* Registers all RPCs. handler: of the server, or NULL at a client. ids_p:
 * indexed by enum copy_rpc. HG_NOMEM. */
hg_return_t copy_proto_register(
    hg_class_t *hg_class, hg_rpc_cb_t handler, hg_id_t ids_p[COPY_RPC_COUNT]);

/* Returns the name of an RPC, such as "talaria.copy.hello". */
const char *copy_proto_name(enum copy_rpc rpc);

/* Sets a path. ENAMETOOLONG: the text does not fit. */
int copy_proto_path(copy_path_t *path, const char *text);

#endif /* COPY_PROTO_H */
