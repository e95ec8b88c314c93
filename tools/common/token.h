/* SPDX-License-Identifier: BSD-3-Clause */
/* The secret that a server and its clients share, and the proofs by which each
 * proves to the other that it has the secret, without revealing it. */
#ifndef TOKEN_H
#define TOKEN_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <mercury_proc.h>

/* Bytes of a token. */
#define TOKEN_MIN 16u
#define TOKEN_MAX 4096u

/* For --help: of a server, of its clients. */
#define TOKEN_SERVER_DOC                                                       \
    "Serve only clients that have the token in FILE: 16 to 4096 bytes, "       \
    "readable by its owner only"
#define TOKEN_CLIENT_DOC                                                       \
    "Authenticate to the server, and the server to this side, by the token "   \
    "in FILE; the token itself is not sent"

/* Errors of a client: its proof was refused; the server's proof is wrong. */
#define TOKEN_MISMATCH "permission denied: the server has another token"
#define TOKEN_SERVER_UNPROVEN                                                  \
    "the server accepts the token but does not have it: another program may "  \
    "be listening at its address"

/* A nonce or a proof. */
#define TOKEN_KEY_SIZE 32u
typedef struct {
    uint8_t bytes[TOKEN_KEY_SIZE];
} token_key_t;

/* Encodes or decodes a token_key_t as raw bytes. */
hg_return_t hg_proc_token_key_t(hg_proc_t proc, void *data);

struct token;

/* What a proof is bound to: it is invalid for any other session or protocol. */
struct token_binding {
    const char *protocol; /* such as "talaria copy" */
    uint32_t version;     /* of the protocol */
    uint64_t session;
    token_key_t client_nonce;
    token_key_t server_nonce;
};

/* The side that proves: a proof of one side is invalid for the other. */
enum token_side { TOKEN_CLIENT = 1, TOKEN_SERVER = 2 };

/* Reads a token: all bytes of a regular file that this user owns and no
 * other can access, without a trailing line end. *token_p: to be freed by
 * token_free. Returns NULL, or the reason of the failure. */
const char *token_read(const char *path, struct token **token_p);

/* Makes a random token, which child processes inherit. Returns as token_read
 * does. */
const char *token_create(struct token **token_p);

/* Overwrites and frees a token. NULL is allowed. */
void token_free(struct token *token);

/* Makes a random nonce. false: no random numbers are available. */
bool token_nonce(token_key_t *nonce_p);

/* Computes the proof of a side: HMAC-SHA-256 with the token as the key, of the
 * protocol's name, its version and the side (4 bytes each), the session id
 * (8 bytes; all little-endian), the client's nonce and the server's nonce. */
void token_prove(const struct token *token, enum token_side side,
    const struct token_binding *binding, token_key_t *proof_p);

/* Returns whether a proof is right, in constant time. */
bool token_check(const struct token *token, enum token_side side,
    const struct token_binding *binding, const token_key_t *proof);

/* Clients that a server refused; zero-initialized. */
struct token_refusals {
    unsigned long count; /* not logged yet */
    time_t logged;       /* when the last line was; s */
};

/* Logs the refusals on standard error, at most one line a second since any peer
 * can cause them. To be called periodically, and with `all` before the server
 * ends. program: such as "talaria copy". */
void token_refusals_log(
    struct token_refusals *refusals, const char *program, bool all);

/* Returns NULL if both or neither have a token, else the error of the client,
 * which then disconnects. */
const char *token_mismatch(bool server_has_one, bool client_has_one);

#endif /* TOKEN_H */
