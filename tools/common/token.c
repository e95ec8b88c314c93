/* SPDX-License-Identifier: BSD-3-Clause */
/* Tokens: files that are read with suspicion, and keyed hashes by libsodium,
 * without which this program has none. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/token.h"
#include "copy/io.h"
#include "copy/status.h"

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
token_refusals_say(
    struct token_refusals *refusals, const char *program, bool all)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (refusals->count == 0 || (!all && refusals->said == now.tv_sec))
        return;
    fprintf(stderr, "%s: %lu client%s without the right token\n", program,
        refusals->count, refusals->count == 1 ? "" : "s");
    refusals->count = 0;
    refusals->said = now.tv_sec;
}

const char *
token_mismatch(bool server_has_one, bool client_has_one)
{
    if (server_has_one == client_has_one)
        return NULL;
    return client_has_one ? "the server has no token, and may be anybody's"
                          : "permission denied: the server wants a token; see "
                            "--token-file";
}

#ifdef TOKEN_HAVE_SODIUM

#include <sodium.h>

struct token {
    size_t size;
    unsigned char bytes[TOKEN_MAX + 2]; /* with a line's end */
};

/* Returns NULL, or what is wrong with the file. */
static const char *
check_file(const struct stat *st)
{
    if (!S_ISREG(st->st_mode))
        return "is no regular file";
    if (st->st_uid != geteuid())
        return "belongs to another user";
    if ((st->st_mode & 077) != 0)
        return "is open to other users; chmod 600 closes it";
    if (st->st_size > (off_t) (TOKEN_MAX + 2))
        return "is too long for a token: at most 4096 bytes";
    return NULL;
}

static const char *
read_file(int fd, struct token *token)
{
    struct stat st;
    const char *reason;
    int error = 0;

    if (fstat(fd, &st) < 0)
        return copy_status_error_text(errno);
    reason = check_file(&st);
    if (reason != NULL)
        return reason;
    token->size = (size_t) st.st_size;
    error = copy_io_read(fd, token->bytes, token->size, 0);
    if (error != 0)
        return copy_status_error_text(error);
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
        return copy_status_error_text(errno);
    token = malloc(sizeof(*token));
    reason =
        token == NULL ? copy_status_error_text(ENOMEM) : read_file(fd, token);
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
        return copy_status_error_text(ENOMEM);
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
    const struct token_bond *bond, token_key_t *proof_p)
{
    crypto_auth_hmacsha256_state state;
    unsigned char numbers[4 + 4 + 8];

    _Static_assert(
        crypto_auth_hmacsha256_BYTES == TOKEN_KEY_SIZE, "a proof is one hash");
    put_little(numbers, bond->version, 4);
    put_little(numbers + 4, side, 4);
    put_little(numbers + 8, bond->session, 8);
    crypto_auth_hmacsha256_init(&state, token->bytes, token->size);
    crypto_auth_hmacsha256_update(
        &state, (const unsigned char *) bond->protocol, strlen(bond->protocol));
    crypto_auth_hmacsha256_update(&state, numbers, sizeof(numbers));
    crypto_auth_hmacsha256_update(
        &state, bond->client_nonce.bytes, sizeof(bond->client_nonce.bytes));
    crypto_auth_hmacsha256_update(
        &state, bond->server_nonce.bytes, sizeof(bond->server_nonce.bytes));
    crypto_auth_hmacsha256_final(&state, proof_p->bytes);
    sodium_memzero(&state, sizeof(state));
}

bool
token_check(const struct token *token, enum token_side side,
    const struct token_bond *bond, const token_key_t *proof)
{
    token_key_t right;

    token_prove(token, side, bond, &right);
    return sodium_memcmp(right.bytes, proof->bytes, sizeof(right.bytes)) == 0;
}

#else

static const char missing[] =
    "there are no tokens in a talaria that was built without libsodium";

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

/* Nothing calls these two without a token. */
void
token_prove(const struct token *token, enum token_side side,
    const struct token_bond *bond, token_key_t *proof_p)
{
    (void) token;
    (void) side;
    (void) bond;
    (void) proof_p;
    abort();
}

bool
token_check(const struct token *token, enum token_side side,
    const struct token_bond *bond, const token_key_t *proof)
{
    (void) token;
    (void) side;
    (void) bond;
    (void) proof;
    return false;
}

#endif
