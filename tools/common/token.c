/* SPDX-License-Identifier: BSD-3-Clause */
/* Token files, and proofs by keyed hashes of libsodium. Built without
 * libsodium, every function that makes a token fails. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/token.h"

hg_return_t
hg_proc_token_key_t(hg_proc_t proc, void *data)
{
    token_key_t *key = data;

    return hg_proc_bytes(proc, key->bytes, sizeof(key->bytes));
}

bool
token_nonce(token_key_t *nonce_p)
{
    return getrandom(nonce_p->bytes, sizeof(nonce_p->bytes), 0) ==
           (ssize_t) sizeof(nonce_p->bytes);
}

void
token_refusals_log(
    struct token_refusals *refusals, const char *program, bool all)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (refusals->count == 0 || (!all && refusals->logged == now.tv_sec))
        return;
    fprintf(stderr, "%s: %lu client%s without the right token\n", program,
        refusals->count, refusals->count == 1 ? "" : "s");
    refusals->count = 0;
    refusals->logged = now.tv_sec;
}

const char *
token_mismatch(bool server_has_one, bool client_has_one)
{
    if (server_has_one == client_has_one)
        return NULL;
    return client_has_one ? "the server has no token: any user may run it"
                          : "permission denied: the server requires a token; "
                            "see --token-file";
}

#ifdef TOKEN_HAVE_SODIUM

#include <sodium.h>

struct token {
    size_t size;
    unsigned char bytes[TOKEN_MAX + 3]; /* "\r\n", and one byte too many */
};

/* Returns NULL, or what is wrong with the file. */
static const char *
check_file(const struct stat *st)
{
    if (!S_ISREG(st->st_mode))
        return "is not a regular file";
    if (st->st_uid != geteuid())
        return "belongs to another user";
    if ((st->st_mode & 077) != 0)
        return "is accessible to other users; use chmod 600";
    return NULL;
}

static const char *
read_file(int fd, struct token *token)
{
    struct stat st;
    const char *reason;
    ssize_t size;

    if (fstat(fd, &st) < 0)
        return strerror(errno);
    reason = check_file(&st);
    if (reason != NULL)
        return reason;
    size = read(fd, token->bytes, sizeof(token->bytes));
    if (size < 0)
        return strerror(errno);
    token->size = (size_t) size;
    if (token->size > 0 && token->bytes[token->size - 1] == '\n')
        token->size--;
    if (token->size > 0 && token->bytes[token->size - 1] == '\r')
        token->size--;
    if (token->size < TOKEN_MIN)
        return "is too short for a token: at least 16 bytes";
    if (token->size > TOKEN_MAX)
        return "is too long for a token: at most 4096 bytes";
    return NULL;
}

const char *
token_read(const char *path, struct token **token_p)
{
    struct token *token;
    const char *reason;
    int fd;

    if (sodium_init() < 0)
        return "libsodium can't be used";
    fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return strerror(errno);
    token = malloc(sizeof(*token));
    reason = token == NULL ? strerror(ENOMEM) : read_file(fd, token);
    close(fd);
    if (reason == NULL)
        *token_p = token;
    else
        token_free(token);
    return reason;
}

const char *
token_create(struct token **token_p)
{
    struct token *token;

    if (sodium_init() < 0)
        return "libsodium can't be used";
    token = malloc(sizeof(*token));
    if (token == NULL)
        return strerror(ENOMEM);
    token->size = TOKEN_KEY_SIZE;
    randombytes_buf(token->bytes, token->size);
    *token_p = token;
    return NULL;
}

void
token_free(struct token *token)
{
    if (token == NULL)
        return;
    sodium_memzero(token, sizeof(*token));
    free(token);
}

static void
put_little(unsigned char *bytes, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char) (value >> (8 * i));
}

void
token_prove(const struct token *token, enum token_side side,
    const struct token_binding *binding, token_key_t *proof_p)
{
    crypto_auth_hmacsha256_state state;
    unsigned char numbers[4 + 4 + 8];

    _Static_assert(
        crypto_auth_hmacsha256_BYTES == TOKEN_KEY_SIZE, "a proof is one hash");
    put_little(numbers, binding->version, 4);
    put_little(numbers + 4, side, 4);
    put_little(numbers + 8, binding->session, 8);
    crypto_auth_hmacsha256_init(&state, token->bytes, token->size);
    crypto_auth_hmacsha256_update(&state,
        (const unsigned char *) binding->protocol, strlen(binding->protocol));
    crypto_auth_hmacsha256_update(&state, numbers, sizeof(numbers));
    crypto_auth_hmacsha256_update(&state, binding->client_nonce.bytes,
        sizeof(binding->client_nonce.bytes));
    crypto_auth_hmacsha256_update(&state, binding->server_nonce.bytes,
        sizeof(binding->server_nonce.bytes));
    crypto_auth_hmacsha256_final(&state, proof_p->bytes);
    sodium_memzero(&state, sizeof(state));
}

bool
token_check(const struct token *token, enum token_side side,
    const struct token_binding *binding, const token_key_t *proof)
{
    token_key_t expected;

    token_prove(token, side, binding, &expected);
    return sodium_memcmp(
               expected.bytes, proof->bytes, sizeof(expected.bytes)) == 0;
}

#else

static const char missing[] =
    "tokens are not supported: talaria was built without libsodium";

const char *
token_read(const char *path, struct token **token_p)
{
    (void) path;
    (void) token_p;
    return missing;
}

const char *
token_create(struct token **token_p)
{
    (void) token_p;
    return missing;
}

void
token_free(struct token *token)
{
    (void) token;
}

/* Never called, since there are no tokens. */
void
token_prove(const struct token *token, enum token_side side,
    const struct token_binding *binding, token_key_t *proof_p)
{
    (void) token;
    (void) side;
    (void) binding;
    (void) proof_p;
    abort();
}

bool
token_check(const struct token *token, enum token_side side,
    const struct token_binding *binding, const token_key_t *proof)
{
    (void) token;
    (void) side;
    (void) binding;
    (void) proof;
    return false;
}

#endif
