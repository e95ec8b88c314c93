/* SPDX-License-Identifier: BSD-3-Clause */
/* The clients of a server, and their open uploads, downloads and listings,
 * which end with the session. */
#ifndef COPY_SESSION_H
#define COPY_SESSION_H

#include <dirent.h>
#include <sys/stat.h>

#include "copy/server.h"
#include "copy/temp.h"

struct copy_session {
    struct copy_session *next;
    struct copy_server *server;
    uint64_t id;
    unsigned int number; /* in messages */
    hg_addr_t addr;
    struct copy_open *opens;
    unsigned int open_count;
    struct copy_chunk *chunks; /* in transfer */
    unsigned int chunk_count;  /* in transfer or waiting */
    unsigned int moving;       /* in transfer */
    unsigned int refs;         /* operations whose callback has not run */
    bool dropped;              /* freed with the last reference */
    bool proven;               /* authenticated, or no token is required */
    token_key_t client_nonce;
    token_key_t server_nonce;
    double last_request;   /* s */
    double last_alive;     /* last sign of life; s */
    uint64_t beacon_value; /* expected in the beacon */
    uint64_t probe_value;  /* pulled from the beacon */
    hg_bulk_t beacon;      /* the client's memory */
    hg_bulk_t probe_bulk;  /* of probe_value */
    hg_op_id_t probe;      /* the running pull, or null */
};

enum copy_open_kind { COPY_UPLOAD, COPY_DOWNLOAD, COPY_LISTING };

struct copy_open {
    struct copy_open *next;
    struct copy_session *session;
    uint64_t id;
    enum copy_open_kind kind;
    unsigned int refs; /* chunks, in transfer or waiting */
    bool closed;       /* freed with the last reference */
    uint64_t size;     /* of the file */
    copy_sum_t sum;
    struct copy_temp temp;        /* upload */
    char name[COPY_NAME_MAX + 1]; /* upload: final name */
    bool replace;                 /* upload */
    enum copy_status failure;     /* upload: of the first failed chunk */
    uint64_t received;            /* upload: bytes written or verified */
    uint64_t have;                /* upload: bytes of the partial file */
    int fd;                       /* download */
    struct timespec mtime;        /* download: when it was opened */
    DIR *dir;                     /* listing */
};

/* Starts a session. Copies the address and references the beacon. Drops other
 * sessions of the same address; those with a proof only when this session has
 * one. */
enum copy_status copy_session_create(struct copy_server *server, hg_addr_t addr,
    const copy_hello_in_t *hello, struct copy_session **session_p);

/* Returns the session of a request, or NULL: no such session of this
 * address. */
struct copy_session *copy_session_find(
    struct copy_server *server, uint64_t id, hg_addr_t addr);

/* Ends a session: cancels its operations and closes its files when they have
 * ended. reason: to be logged on standard error, or NULL. */
void copy_session_drop(struct copy_session *session, const char *reason);

/* Checks a client's proof. COPY_OK: the session has authenticated; *proof_p:
 * the server's proof. COPY_DENIED: wrong proof, the session was dropped.
 * COPY_INVALID: no proof is required. */
enum copy_status copy_session_prove(struct copy_session *session,
    const token_key_t *proof, token_key_t *proof_p);

/* Releases a reference. */
void copy_session_unref(struct copy_session *session);

/* Drops idle clients and probes silent ones. To be called periodically. */
void copy_session_tick(struct copy_server *server);

/* Creates an entry for a file or listing of a client; fd is -1, all else is
 * null. COPY_LIMIT: the client has too many. COPY_NO_DESCRIPTORS: all clients
 * together have too many. COPY_NO_MEMORY. */
enum copy_status copy_open_create(struct copy_session *session,
    enum copy_open_kind kind, struct copy_open **open_p);

/* Returns the open entry with an id and kind, or NULL. */
struct copy_open *copy_open_find(
    struct copy_session *session, uint64_t id, enum copy_open_kind kind);

/* Closes an entry. An upload that was not published is dropped, or kept as a
 * partial file. */
void copy_open_close(struct copy_open *open);

/* Releases a reference. */
void copy_open_unref(struct copy_open *open);

/* Returns a random id, never 0. 0: no random numbers are available. */
uint64_t copy_session_random(void);

#endif /* COPY_SESSION_H */
