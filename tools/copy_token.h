/* SPDX-License-Identifier: BSD-3-Clause */
/* The token that a server and its clients share, and how each proves to the
 * other that it has it without telling it. */
#ifndef COPY_TOKEN_H
#define COPY_TOKEN_H

#include <stdbool.h>

#include "copy_proto.h"

/* Bytes of a token. */
#define COPY_TOKEN_MIN 16u
#define COPY_TOKEN_MAX 4096u

struct copy_token;

/* What a proof is bound to: it is worth nothing in any other session. */
struct copy_bond {
    uint64_t session;
    copy_key_t client_nonce;
    copy_key_t server_nonce;
};

/* Who proves: what one side says is nothing that the other side could say. */
enum copy_token_side { COPY_TOKEN_CLIENT = 1, COPY_TOKEN_SERVER = 2 };

/* Reads a token: all bytes of a regular file that belongs to this user, and
 * that nobody else may read or write, without a line feed at its end.
 * *token_p: for copy_token_free. Returns NULL, or words: why not. */
const char *copy_token_read(const char *path, struct copy_token **token_p);

/* Overwrites it first. NULL is allowed. */
void copy_token_free(struct copy_token *token);

/* The proof of a side: HMAC-SHA-256, with the token as the key, of "talaria
 * copy", the version of the protocol and the side (4 bytes each), the number of
 * the session (8 bytes, all little-endian), the client's nonce and the
 * server's. */
void copy_token_prove(const struct copy_token *token, enum copy_token_side side,
    const struct copy_bond *bond, copy_key_t *proof_p);

/* Whether that is the proof, in a time that doesn't depend on it. */
bool copy_token_check(const struct copy_token *token, enum copy_token_side side,
    const struct copy_bond *bond, const copy_key_t *proof);

#endif /* COPY_TOKEN_H */
