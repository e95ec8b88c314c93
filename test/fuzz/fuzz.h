/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fuzzers share: reading the input, a log that is discarded, classes
 * of the plugins, and memory files. */
#ifndef FUZZ_H
#define FUZZ_H

#include "na_plugin.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* libFuzzer calls these two. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is left of an input. The functions below take bytes from its front; what
 * an input is too short for is zero. */
struct fuzz_input {
    const uint8_t *at;
    size_t left;
};

uint8_t fuzz_u8(struct fuzz_input *input);
uint16_t fuzz_u16(struct fuzz_input *input);
uint32_t fuzz_u32(struct fuzz_input *input);
uint64_t fuzz_u64(struct fuzz_input *input);

/* Up to most bytes, in memory of exactly that size, so that AddressSanitizer
 * notices reads beyond them. To be freed. */
uint8_t *fuzz_bytes(struct fuzz_input *input, size_t most, size_t *size_p);

/* The rest as a string. To be freed. */
char *fuzz_text(struct fuzz_input *input);

/* Changes bytes in place: the input has a count, then so many times a position
 * (two bytes, modulo size) and the new value. */
void fuzz_patch(struct fuzz_input *input, void *bytes, size_t size);

/* Ends the process with a report when something that has to hold does not. */
#define fuzz_require(holds)                                                    \
    ((holds) ? (void) 0 : fuzz_fail(#holds, __FILE__, __LINE__))
_Noreturn void fuzz_fail(const char *what, const char *file, int line);

/* Has the core format its warnings and errors, and drops them. */
void fuzz_log_drop(void);

/* A descriptor of memory with these bytes, and the path by which it is opened. */
struct fuzz_file {
    int fd;
    char path[32];
};
struct fuzz_file fuzz_file_make(const void *bytes, size_t size);
void fuzz_file_drop(struct fuzz_file *file);

/* A class of a plugin, through the ABI. */
struct fuzz_class {
    const na_plugin *plugin;
    na_plugin_host host;
    na_plugin_opened opened;
    const na_plugin_ops *ops;
    na_plugin_class *cls;
    na_plugin_ctx *ctx; /* number 0 */
    na_plugin_mem *own; /* a registration that may be read */
    char address[512];  /* "" if it does not listen */
};

/* protocol, host: as in na_plugin_open_info. Ends the process when the class
 * does not open. */
void fuzz_class_open(struct fuzz_class *c, const na_plugin *plugin,
    const char *protocol, const char *host, bool listen);
void fuzz_class_close(struct fuzz_class *c);

/* Polls, and frees what messages come from; how many events there were. */
uint32_t fuzz_class_poll(struct fuzz_class *c);

/* The decoders that a plugin has for bytes and text from outside: an address as
 * text, one as bytes, a registration as bytes, the class's own registration
 * with patches; the first byte selects which one. What is decoded is encoded
 * and decoded again, and a registration is read from. */
void fuzz_class_decode(struct fuzz_class *c, const uint8_t *data, size_t size);

#endif /* FUZZ_H */
