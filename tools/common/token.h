/* SPDX-License-Identifier: BSD-3-Clause */
/* The token that a server and its clients share, and how each proves to the
 * other that it has it without telling it. */
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
    "Serve only those who prove that they have the token in FILE; 16 to 4096 " \
    "bytes, and nobody else's to read"
#define TOKEN_CLIENT_DOC                                                       \
    "Prove to the server, without telling it, that this side has its token, "  \
    "too; the server has to prove the same"

/* What a client says when its proof is refused, and when the server's is wrong.
 */
#define TOKEN_IS_ANOTHER "permission denied: the server has another token"
#define TOKEN_SERVER_IS_FALSE                                                  \
    "the server accepts the token and doesn't have it: it is not the one "     \
    "that "                                                                    \
    "it should be"

/* A number that is used once, or a proof. */
#define TOKEN_KEY_SIZE 32u
typedef struct {
    uint8_t bytes[TOKEN_KEY_SIZE];
} token_key_t;

/* Encodes or decodes a token_key_t, as it is. */
hg_return_t hg_proc_token_key_t(hg_proc_t proc, void *data);

struct token;

/* What a proof is bound to: it is worth nothing in any other session, nor in
 * another protocol. */
struct token_bond {
    const char *protocol; /* such as "talaria copy" */
    uint32_t version;     /* of the protocol */
    uint64_t session;
    token_key_t client_nonce;
    token_key_t server_nonce;
};

/* Who proves: what one side says is nothing that the other side could say. */
enum token_side { TOKEN_CLIENT = 1, TOKEN_SERVER = 2 };

/* Reads a token: all bytes of a regular file that belongs to this user, and
 * that nobody else may read or write, without a line feed at its end.
 * *token_p: for token_free. Returns NULL, or words: why not. */
const char *token_read(const char *path, struct token **token_p);

/* Makes a random one, for processes that have it from their parent. As
 * token_read. */
const char *token_create(struct token **token_p);

/* Overwrites it first. NULL is allowed. */
void token_free(struct token *token);

/* Fills in a number that was never used. false: there is no randomness. */
bool token_nonce(token_key_t *nonce_p);

/* The proof of a side: HMAC-SHA-256, with the token as the key, of the
 * protocol's name, its version and the side (4 bytes each), the number of the
 * session (8 bytes, all little-endian), the client's nonce and the server's. */
void token_prove(const struct token *token, enum token_side side,
    const struct token_bond *bond, token_key_t *proof_p);

/* Whether that is the proof, in a time that doesn't depend on it. */
bool token_check(const struct token *token, enum token_side side,
    const struct token_bond *bond, const token_key_t *proof);

/* Clients of a server that were refused; zeros at first. */
struct token_refusals {
    unsigned long count; /* that nobody was told of yet */
    time_t said;
};

/* Tells how many there were, on standard error: one line a second at most,
 * since strangers cause them. To be called now and then, and in the end with
 * `all`. program: "talaria copy". */
void token_refusals_say(
    struct token_refusals *refusals, const char *program, bool all);

/* Whether a client goes on with a server: who has a token doesn't talk to a
 * server that hasn't. Returns NULL, or words: why not. */
const char *token_mismatch(bool server_has_one, bool client_has_one);

#endif /* TOKEN_H */
