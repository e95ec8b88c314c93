/* SPDX-License-Identifier: BSD-3-Clause */
/* The clients of a server, and what each has open: uploads, downloads and
 * listings. A session ends with everything in it. */
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
    unsigned int number; /* what messages call it */
    hg_addr_t addr;
    struct copy_open *opens;
    unsigned int open_count;
    struct copy_chunk *chunks; /* being moved */
    unsigned int chunk_count;  /* asked for: moved or waiting */
    unsigned int moving;       /* of them, those that are moved */
    unsigned int refs;         /* operations that will call back */
    bool dropped;              /* is freed with the last of them */
    bool proven;               /* it knows the token, or none is wanted */
    token_key_t client_nonce;
    token_key_t server_nonce;
    double heard;     /* when it last asked for something */
    double alive;     /* when it last showed that it lives */
    uint64_t light;   /* what its beacon shows */
    uint64_t seen;    /* what was pulled from it */
    hg_bulk_t beacon; /* its memory */
    hg_bulk_t eye;    /* of `seen` */
    hg_op_id_t look;  /* the running pull, or null */
};

enum copy_open_kind { COPY_UPLOAD, COPY_DOWNLOAD, COPY_LISTING };

struct copy_open {
    struct copy_open *next;
    struct copy_session *session;
    uint64_t id;
    enum copy_open_kind kind;
    unsigned int refs; /* chunks that are moved, or wait */
    bool closed;       /* is freed with the last of them */
    uint64_t size;     /* of the file */
    copy_sum_t sum;
    struct copy_temp temp;        /* upload */
    char name[COPY_NAME_MAX + 1]; /* upload: the final one */
    bool replace;                 /* upload */
    enum copy_status failure;     /* upload: of the first chunk that failed */
    uint64_t received;            /* upload: bytes written */
    int fd;                       /* download */
    struct timespec mtime;        /* download: as it was opened */
    DIR *dir;                     /* listing */
};

/* Starts a session. The address is borrowed, the beacon gets a reference.
 * Another session of the same address is dropped, but for one with a proof,
 * until this one has one. */
enum copy_status copy_session_create(struct copy_server *server, hg_addr_t addr,
    const copy_hello_in_t *hello, struct copy_session **session_p);

/* Finds the session of a request, or returns NULL: there is no such, or it is
 * somebody else's. */
struct copy_session *copy_session_find(
    struct copy_server *server, uint64_t id, hg_addr_t addr);

/* Ends a session: everything in it is closed, at once or when its running
 * operations have ended, which are asked to. reason: for a line on standard
 * error, or NULL. */
void copy_session_drop(struct copy_session *session, const char *reason);

/* Looks at a client's proof. COPY_OK: it may ask for anything now, and *proof_p
 * is the server's. COPY_DENIED: the proof is wrong, and the session is dropped;
 * COPY_INVALID: none was wanted. */
enum copy_status copy_session_prove(struct copy_session *session,
    const token_key_t *proof, token_key_t *proof_p);

/* Gives a reference back. */
void copy_session_unref(struct copy_session *session);

/* Forgets idle clients, and looks whether silent ones live. */
void copy_session_tick(struct copy_server *server);

/* Makes an entry for what a client opens. Its owner fills it in, fd is -1 and
 * the others null. COPY_LIMIT: the client has too many; COPY_NO_MEMORY. */
enum copy_status copy_open_create(struct copy_session *session,
    enum copy_open_kind kind, struct copy_open **open_p);

/* Finds an open thing of a kind by its id, or returns NULL. */
struct copy_open *copy_open_find(
    struct copy_session *session, uint64_t id, enum copy_open_kind kind);

/* Closes it; an upload that wasn't published vanishes. */
void copy_open_close(struct copy_open *open);

/* Gives a reference back. */
void copy_open_unref(struct copy_open *open);

/* A random number other than 0, by which only its owner knows a thing. Returns
 * 0 when there is no random number. */
uint64_t copy_session_random(void);

#endif /* COPY_SESSION_H */
