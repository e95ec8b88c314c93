/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Access control. The kernel says which process and user is at the other end of a
 * socket. A key is proven by a keyed hash over what the kernel says of both ends
 * and the numbers of both classes, so that a proof is of no use to anybody else,
 * nor for another connection of other classes.
 */
#include <assert.h>
#include <string.h>
#include <unistd.h>

#ifdef SM_HAVE_SODIUM
#include <sodium.h>
#endif

#include "access.h"

bool
sm_access_admits(const na_plugin_class *cls, const struct sm_process *process)
{
    return cls->any_user || process->uid == cls->uid;
}

bool
sm_access_same_user(
    const na_plugin_class *cls, const struct sm_process *process)
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
sm_access_set_key(na_plugin_class *cls, const char *auth_key)
{
    if (auth_key == NULL)
        return NA_PLUGIN_OK;
    crypto_generichash(cls->key, sizeof(cls->key), (const uint8_t *) auth_key,
        strlen(auth_key), NULL, 0);
    cls->has_key = true;
    return NA_PLUGIN_OK;
}

void
sm_access_prove(const na_plugin_class *cls, pid_t peer, uint64_t owner,
    uint8_t proof[SM_PROOF_SIZE])
{
    struct statement statement = {.owner = cls->owner,
        .peer_owner = owner,
        .pid = getpid(),
        .peer_pid = peer};

    if (cls->has_key)
        prove(cls, &statement, proof);
}

bool
sm_access_proven(const na_plugin_class *cls, pid_t peer, uint64_t owner,
    bool answer, const uint8_t proof[SM_PROOF_SIZE])
{
    struct statement statement = {.owner = owner,
        .peer_owner = answer ? cls->owner : 0,
        .pid = peer,
        .peer_pid = getpid()};
    uint8_t expected[SM_PROOF_SIZE] = {0};

    if (cls->has_key)
        prove(cls, &statement, expected);
    return sodium_memcmp(expected, proof, sizeof(expected)) == 0;
}
#else
int32_t
sm_access_set_key(na_plugin_class *cls, const char *auth_key)
{
    (void) cls;
    return auth_key != NULL ? NA_PLUGIN_E_OPNOTSUPPORTED : NA_PLUGIN_OK;
}

void
sm_access_prove(const na_plugin_class *cls, pid_t peer, uint64_t owner,
    uint8_t proof[SM_PROOF_SIZE])
{
    (void) cls, (void) peer, (void) owner, (void) proof;
}

/* A peer that shows a proof has a key, and this class none. */
bool
sm_access_proven(const na_plugin_class *cls, pid_t peer, uint64_t owner,
    bool answer, const uint8_t proof[SM_PROOF_SIZE])
{
    static const uint8_t none[SM_PROOF_SIZE];

    (void) cls, (void) peer, (void) owner, (void) answer;
    return memcmp(proof, none, sizeof(none)) == 0;
}
#endif
