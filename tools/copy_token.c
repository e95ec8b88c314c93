/* SPDX-License-Identifier: BSD-3-Clause */
/* Tokens: files that are read with suspicion, and keyed hashes by libsodium,
 * without which this program has none. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "copy_io.h"
#include "copy_status.h"
#include "copy_token.h"

#ifdef COPY_HAVE_SODIUM

#include <sodium.h>

static const char label[] = "talaria copy";

struct copy_token {
    size_t size;
    unsigned char bytes[COPY_TOKEN_MAX + 2]; /* with a line's end */
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
    if (st->st_size > (off_t) (COPY_TOKEN_MAX + 2))
        return "is too long for a token: at most 4096 bytes";
    return NULL;
}

static const char *
read_file(int fd, struct copy_token *token)
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
    if (token->size < COPY_TOKEN_MIN)
        return "is too short for a token: at least 16 bytes";
    if (token->size > COPY_TOKEN_MAX)
        return "is too long for a token: at most 4096 bytes";
    return NULL;
}

const char *
copy_token_read(const char *path, struct copy_token **token_p)
{
    struct copy_token *token;
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
        copy_token_free(token);
    return reason;
}

void
copy_token_free(struct copy_token *token)
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
copy_token_prove(const struct copy_token *token, enum copy_token_side side,
    const struct copy_bond *bond, copy_key_t *proof_p)
{
    crypto_auth_hmacsha256_state state;
    unsigned char numbers[4 + 4 + 8];

    _Static_assert(
        crypto_auth_hmacsha256_BYTES == COPY_KEY_SIZE, "a proof is one hash");
    put_little(numbers, COPY_PROTOCOL_VERSION, 4);
    put_little(numbers + 4, side, 4);
    put_little(numbers + 8, bond->session, 8);
    crypto_auth_hmacsha256_init(&state, token->bytes, token->size);
    crypto_auth_hmacsha256_update(
        &state, (const unsigned char *) label, sizeof(label) - 1);
    crypto_auth_hmacsha256_update(&state, numbers, sizeof(numbers));
    crypto_auth_hmacsha256_update(
        &state, bond->client_nonce.bytes, sizeof(bond->client_nonce.bytes));
    crypto_auth_hmacsha256_update(
        &state, bond->server_nonce.bytes, sizeof(bond->server_nonce.bytes));
    crypto_auth_hmacsha256_final(&state, proof_p->bytes);
    sodium_memzero(&state, sizeof(state));
}

bool
copy_token_check(const struct copy_token *token, enum copy_token_side side,
    const struct copy_bond *bond, const copy_key_t *proof)
{
    copy_key_t right;

    copy_token_prove(token, side, bond, &right);
    return sodium_memcmp(right.bytes, proof->bytes, sizeof(right.bytes)) == 0;
}

#else

const char *
copy_token_read(const char *path, struct copy_token **token_p)
{
    (void) path;
    (void) token_p;
    return "there are no tokens in a talaria that was built without libsodium";
}

void
copy_token_free(struct copy_token *token)
{
    (void) token;
}

/* Nothing calls these two without a token. */
void
copy_token_prove(const struct copy_token *token, enum copy_token_side side,
    const struct copy_bond *bond, copy_key_t *proof_p)
{
    (void) token;
    (void) side;
    (void) bond;
    (void) proof_p;
    abort();
}

bool
copy_token_check(const struct copy_token *token, enum copy_token_side side,
    const struct copy_bond *bond, const copy_key_t *proof)
{
    (void) token;
    (void) side;
    (void) bond;
    (void) proof;
    return false;
}

#endif
