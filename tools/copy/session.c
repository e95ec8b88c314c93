/* SPDX-License-Identifier: BSD-3-Clause */
/* The clients of a server: identification, liveness, and the end of
 * sessions. */
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/clock.h"
#include "copy/chunk.h"
#include "copy/session.h"

#define SESSIONS_MAX 1024
#define UNPROVEN_MAX 64 /* sessions that have not authenticated */
#define UNPROVEN_SECONDS 10.0
#define PROBE_SECONDS 1.0 /* without a sign of life, before a probe */

uint64_t
copy_session_random(void)
{
    uint64_t number = 0;

    if (getrandom(&number, sizeof(number), 0) != (ssize_t) sizeof(number))
        return 0;
    return number;
}

/* Closes the descriptors. No chunk may use them. */
static void
free_open(struct copy_open *open)
{
    open->session->server->open_count--;
    switch (open->kind) {
    case COPY_UPLOAD:
        if (open->temp.fd >= 0)
            copy_temp_leave(&open->temp);
        break;
    case COPY_DOWNLOAD:
        if (open->fd >= 0)
            close(open->fd);
        break;
    case COPY_LISTING:
        if (open->dir != NULL)
            closedir(open->dir);
        break;
    }
    free(open);
}

enum copy_status
copy_open_create(struct copy_session *session, enum copy_open_kind kind,
    struct copy_open **open_p)
{
    struct copy_open *open;
    uint64_t id = copy_session_random();

    if (session->open_count >= 2 * COPY_OPEN_MAX)
        return COPY_LIMIT;
    if (session->server->open_count >= session->server->open_max)
        return COPY_NO_DESCRIPTORS;
    open = calloc(1, sizeof(*open));
    if (open == NULL || id == 0) {
        free(open);
        return COPY_NO_MEMORY;
    }
    open->session = session;
    open->id = id;
    open->kind = kind;
    open->fd = -1;
    open->temp.fd = -1;
    open->next = session->opens;
    session->opens = open;
    session->open_count++;
    session->server->open_count++;
    *open_p = open;
    return COPY_OK;
}

struct copy_open *
copy_open_find(
    struct copy_session *session, uint64_t id, enum copy_open_kind kind)
{
    for (struct copy_open *open = session->opens; open != NULL;
         open = open->next)
        if (open->id == id)
            return open->kind == kind ? open : NULL;
    return NULL;
}

void
copy_open_close(struct copy_open *open)
{
    struct copy_open **at = &open->session->opens;

    while (*at != open)
        at = &(*at)->next;
    *at = open->next;
    open->session->open_count--;
    open->closed = true;
    if (open->refs == 0)
        free_open(open);
}

void
copy_open_unref(struct copy_open *open)
{
    if (--open->refs == 0 && open->closed)
        free_open(open);
}

static void
free_session(struct copy_session *session)
{
    HG_Bulk_free(session->beacon);
    HG_Bulk_free(session->probe_bulk);
    HG_Addr_free(session->server->hg_class, session->addr);
    free(session);
}

void
copy_session_unref(struct copy_session *session)
{
    if (--session->refs == 0 && session->dropped)
        free_session(session);
}

static void
log_dropped(const struct copy_session *session, const char *reason)
{
    unsigned int dropped = 0;
    unsigned int kept = 0;

    for (const struct copy_open *open = session->opens; open != NULL;
         open = open->next) {
        if (open->kind == COPY_UPLOAD && open->temp.keep)
            kept++;
        else if (open->kind == COPY_UPLOAD)
            dropped++;
    }
    fprintf(stderr,
        "talaria copy: client %u: %s; %u unfinished upload%s dropped",
        session->number, reason, dropped, dropped == 1 ? "" : "s");
    if (kept > 0)
        fprintf(stderr, ", %u kept to be resumed", kept);
    fputc('\n', stderr);
}

void
copy_session_drop(struct copy_session *session, const char *reason)
{
    struct copy_session **at = &session->server->sessions;

    if (session->dropped)
        return;
    if (reason != NULL)
        log_dropped(session, reason);
    while (*at != session)
        at = &(*at)->next;
    *at = session->next;
    session->server->session_count--;
    session->dropped = true;
    session->refs++;
    while (session->opens != NULL)
        copy_open_close(session->opens);
    if (session->probe != HG_OP_ID_NULL)
        HG_Bulk_cancel(session->probe);
    copy_chunk_cancel(session);
    copy_session_unref(session);
}

static enum copy_status
share_beacon(struct copy_session *session, const copy_hello_in_t *hello)
{
    void *memory = &session->probe_value;
    hg_size_t size = sizeof(session->probe_value);

    if (HG_Bulk_create(session->server->hg_class, 1, &memory, &size,
            HG_BULK_WRITE_ONLY, &session->probe_bulk) != HG_SUCCESS)
        return COPY_NO_MEMORY;
    HG_Bulk_ref_incr(hello->beacon);
    session->beacon = hello->beacon;
    session->beacon_value = hello->beacon_value;
    return COPY_OK;
}

/* Drops the client's previous sessions: it has restarted. Hello alone does not
 * drop a session with a proof, since any peer can send it. */
static void
drop_previous(struct copy_session *session)
{
    struct copy_server *server = session->server;
    struct copy_session *next;

    for (struct copy_session *previous = server->sessions; previous != NULL;
         previous = next) {
        next = previous->next;
        if (previous == session || (previous->proven && !session->proven) ||
            !HG_Addr_cmp(server->hg_class, previous->addr, session->addr))
            continue;
        copy_session_drop(previous, previous->proven ? "has restarted" : NULL);
    }
}

/* Drops the oldest session without a proof if there are too many. */
static void
make_room(struct copy_server *server)
{
    struct copy_session *oldest = NULL;
    unsigned int count = 0;

    for (struct copy_session *session = server->sessions; session != NULL;
         session = session->next)
        if (!session->proven) {
            oldest = session;
            count++;
        }
    if (oldest != NULL &&
        (count >= UNPROVEN_MAX || server->session_count >= SESSIONS_MAX))
        copy_session_drop(oldest, NULL);
}

enum copy_status
copy_session_create(struct copy_server *server, hg_addr_t addr,
    const copy_hello_in_t *hello, struct copy_session **session_p)
{
    struct copy_session *session;

    make_room(server);
    if (server->session_count >= SESSIONS_MAX)
        return COPY_LIMIT;
    session = calloc(1, sizeof(*session));
    if (session == NULL)
        return COPY_NO_MEMORY;
    session->server = server;
    session->id = copy_session_random();
    session->proven = server->token == NULL;
    session->client_nonce = hello->nonce;
    if (session->id == 0 || !token_nonce(&session->server_nonce) ||
        HG_Addr_dup(server->hg_class, addr, &session->addr) != HG_SUCCESS) {
        free(session);
        return COPY_NO_MEMORY;
    }
    if (share_beacon(session, hello) != COPY_OK) {
        free_session(session);
        return COPY_NO_MEMORY;
    }
    session->number = ++server->last_number;
    session->last_request = clock_seconds();
    session->last_alive = session->last_request;
    session->next = server->sessions;
    server->sessions = session;
    server->session_count++;
    drop_previous(session);
    *session_p = session;
    return COPY_OK;
}

struct copy_session *
copy_session_find(struct copy_server *server, uint64_t id, hg_addr_t addr)
{
    struct copy_session *session = server->sessions;

    while (session != NULL && session->id != id)
        session = session->next;
    if (session == NULL || !HG_Addr_cmp(server->hg_class, session->addr, addr))
        return NULL;
    session->last_request = clock_seconds();
    session->last_alive = session->last_request;
    return session;
}

enum copy_status
copy_session_prove(struct copy_session *session, const token_key_t *proof,
    token_key_t *proof_p)
{
    struct token_binding binding = {COPY_PROTOCOL_NAME, COPY_PROTOCOL_VERSION,
        session->id, session->client_nonce, session->server_nonce};

    if (session->proven)
        return COPY_INVALID;
    if (!token_check(session->server->token, TOKEN_CLIENT, &binding, proof)) {
        session->server->refusals.count++;
        copy_session_drop(session, NULL);
        return COPY_DENIED;
    }
    session->proven = true;
    drop_previous(session);
    token_prove(session->server->token, TOKEN_SERVER, &binding, proof_p);
    return COPY_OK;
}

static hg_return_t
on_probe(const struct hg_cb_info *info)
{
    struct copy_session *session = info->arg;

    session->server->pending--;
    session->probe = HG_OP_ID_NULL;
    if (info->ret != HG_SUCCESS)
        copy_session_drop(session, HG_Error_to_string(info->ret));
    else if (session->probe_value != session->beacon_value)
        copy_session_drop(session, "was replaced by another process");
    else
        session->last_alive = clock_seconds();
    copy_session_unref(session);
    return HG_SUCCESS;
}

/* Pulls the beacon of a silent client: the pull fails if the client is dead,
 * and succeeds if it is stopped or waits for its disk. */
static void
send_probe(struct copy_session *session)
{
    struct copy_server *server = session->server;
    hg_return_t ret;

    session->probe_value = ~session->beacon_value;
    session->refs++;
    server->pending++;
    ret = HG_Bulk_transfer(server->context, on_probe, session, HG_BULK_PULL,
        session->addr, session->beacon, 0, session->probe_bulk, 0,
        sizeof(session->probe_value), &session->probe);
    if (ret == HG_SUCCESS)
        return;
    server->pending--;
    session->probe = HG_OP_ID_NULL;
    copy_session_drop(session, HG_Error_to_string(ret));
    copy_session_unref(session);
}

void
copy_session_tick(struct copy_server *server)
{
    double now = clock_seconds();
    struct copy_session *next;

    for (struct copy_session *session = server->sessions; session != NULL;
         session = next) {
        double silent = now - session->last_request;

        next = session->next;
        if (!session->proven && silent > UNPROVEN_SECONDS)
            copy_session_drop(session, NULL);
        else if (silent > server->idle)
            copy_session_drop(session, "idle for too long");
        else if (session->proven && session->probe == HG_OP_ID_NULL &&
                 now - session->last_alive > PROBE_SECONDS)
            send_probe(session);
    }
    token_refusals_log(&server->refusals, "talaria copy", false);
    if (server->sessions == NULL)
        copy_chunk_free_buffers(server);
}
