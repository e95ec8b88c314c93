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

/* What is hashed. No padding. */
struct statement {
    uint64_t owner;      /* class that proves */
    uint64_t peer_owner; /* and the one that checks; 0 in a call */
    int64_t pid;
    int64_t peer_pid;
};

#ifdef SM_HAVE_SODIUM
static_assert(SM_KEY_SIZE == crypto_generichash_BYTES, "size of a key");
static_assert(SM_PROOF_SIZE == crypto_generichash_BYTES, "size of a proof");
#endif

/* Hashes bytes with a key or without; false: this build cannot. */
static bool
hash(uint8_t out[SM_PROOF_SIZE], const void *bytes, size_t length,
    const uint8_t *key, size_t key_size)
{
#ifdef SM_HAVE_SODIUM
    return crypto_generichash(
               out, SM_PROOF_SIZE, bytes, length, key, key_size) == 0;
#else
    (void) out, (void) bytes, (void) length, (void) key, (void) key_size;
    return false;
#endif
}

int32_t
sm_access_set_key(na_plugin_class *cls, const char *auth_key)
{
    cls->has_key =
        auth_key != NULL && hash(cls->key, auth_key, strlen(auth_key), NULL, 0);
    return cls->has_key == (auth_key != NULL) ? NA_PLUGIN_OK
                                              : NA_PLUGIN_E_OPNOTSUPPORTED;
}

/* Without a key the proof stays as it is. */
static void
prove(const na_plugin_class *cls, const struct statement *statement,
    uint8_t proof[SM_PROOF_SIZE])
{
    if (cls->has_key)
        hash(proof, statement, sizeof(*statement), cls->key, sizeof(cls->key));
}

void
sm_access_prove(const na_plugin_class *cls, pid_t peer, uint64_t owner,
    uint8_t proof[SM_PROOF_SIZE])
{
    struct statement statement = {.owner = cls->owner,
        .peer_owner = owner,
        .pid = getpid(),
        .peer_pid = peer};

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

    prove(cls, &statement, expected);
#ifdef SM_HAVE_SODIUM
    return sodium_memcmp(expected, proof, sizeof(expected)) == 0;
#else
    /* a peer with a proof has a key, and this class has not */
    return memcmp(expected, proof, sizeof(expected)) == 0;
#endif
}
