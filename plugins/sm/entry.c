/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who gets in. The kernel says which process and user is at the other end of a
 * socket. A key is proven by a keyed hash over what the kernel says of both ends
 * and the numbers of both classes, so that a proof is of no use to anybody else,
 * nor for another connection of other classes.
 */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef SM_HAVE_SODIUM
#include <sodium.h>
#endif

#include "entry.h"

#define UNREAD_MAX 1024 /* packets; more than a socket holds */

bool
sm_entry_welcome(const na_plugin_class *cls, const struct sm_process *process)
{
    return cls->any_user || process->uid == cls->uid;
}

bool
sm_entry_same_user(const na_plugin_class *cls, const struct sm_process *process)
{
    return process->pid != 0 && process->uid == cls->uid;
}

#ifdef SM_HAVE_SODIUM
static_assert(SM_KEY_SIZE == crypto_generichash_BYTES, "size of a key");
static_assert(SM_PROOF_SIZE == crypto_generichash_BYTES, "size of a proof");

/* What is hashed. No padding. */
struct statement {
    uint64_t owner;      /* class of who proves */
    uint64_t peer_owner; /* of who is to believe it; 0 in a call */
    int64_t pid;
    int64_t peer_pid;
};

static void
prove(const na_plugin_class *cls, const struct statement *statement,
    uint8_t proof[SM_PROOF_SIZE])
{
    crypto_generichash(proof, SM_PROOF_SIZE, (const uint8_t *) statement,
        sizeof(*statement), cls->key, sizeof(cls->key));
}

int32_t
sm_entry_set_key(na_plugin_class *cls, const char *auth_key)
{
    if (auth_key == NULL)
        return NA_PLUGIN_OK;
    crypto_generichash(cls->key, sizeof(cls->key), (const uint8_t *) auth_key,
        strlen(auth_key), NULL, 0);
    cls->has_key = true;
    return NA_PLUGIN_OK;
}

void
sm_entry_prove(const na_plugin_class *cls, struct sm_hello *hello, pid_t peer,
    uint64_t owner)
{
    struct statement statement = {.owner = cls->owner,
        .peer_owner = owner,
        .pid = getpid(),
        .peer_pid = peer};

    if (cls->has_key)
        prove(cls, &statement, hello->proof);
}

bool
sm_entry_proven(const na_plugin_class *cls, const struct sm_hello *hello,
    pid_t peer, bool answer)
{
    struct statement statement = {.owner = hello->owner,
        .peer_owner = answer ? cls->owner : 0,
        .pid = peer,
        .peer_pid = getpid()};
    uint8_t proof[SM_PROOF_SIZE] = {0};

    if (cls->has_key)
        prove(cls, &statement, proof);
    return sodium_memcmp(proof, hello->proof, sizeof(proof)) == 0;
}
#else
int32_t
sm_entry_set_key(na_plugin_class *cls, const char *auth_key)
{
    (void) cls;
    return auth_key != NULL ? NA_PLUGIN_E_OPNOTSUPPORTED : NA_PLUGIN_OK;
}

void
sm_entry_prove(const na_plugin_class *cls, struct sm_hello *hello, pid_t peer,
    uint64_t owner)
{
    (void) cls, (void) hello, (void) peer, (void) owner;
}

/* A peer that shows a proof has a key, and this class none. */
bool
sm_entry_proven(const na_plugin_class *cls, const struct sm_hello *hello,
    pid_t peer, bool answer)
{
    static const uint8_t none[SM_PROOF_SIZE];

    (void) cls, (void) peer, (void) answer;
    return memcmp(hello->proof, none, sizeof(none)) == 0;
}
#endif

void
sm_entry_say_refused(const na_plugin_class *cls, const char *name)
{
    SM_LOG(cls->host, ERROR,
        "%s has refused this class: it admits processes of its own user only, "
        "unless it was opened for any (na+sm://any/), then a limited number of "
        "connections for each, and of its own authorization key",
        name);
}

bool
sm_entry_was_refused(int fd)
{
    struct sm_hello hello;
    struct sm_hello_fds fds;
    int got = sm_hello_recv(fd, &hello, &fds);

    if (got > 0)
        sm_hello_close(&fds);
    return got > 0 && hello.status == NA_PLUGIN_E_PERMISSION;
}

/* Reads what the other end has sent, without any descriptor, and nothing more: a
 * socket that is closed with something unread takes the answer with it. */
static void
deafen(int fd)
{
    struct sm_hello packet;
    int left = UNREAD_MAX;

    shutdown(fd, SHUT_RD);
    while (
        left-- != 0 && sm_socket_next(fd, &packet, sizeof(packet), NULL, 0) > 0)
        ;
}

void
sm_entry_refuse(na_plugin_class *cls, int fd, const struct sm_process *process,
    const char *why)
{
    /* First: a caller whose own hello meets the closed end looks for it. */
    sm_hello_refuse(cls, fd, NA_PLUGIN_E_PERMISSION);
    deafen(fd);
    sm_count(&cls->counters.refused, 1);
    SM_LOG(cls->host, INFO, "process %d of user %d is refused: %s",
        (int) process->pid, (int) process->uid, why);
}
