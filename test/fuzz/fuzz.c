/* SPDX-License-Identifier: BSD-3-Clause */
/* Inputs, the log and memory files of the fuzzers. */
#include "fuzz.h"

#include "mercury.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is not instrumented may keep memory until the process ends. */
const char *__lsan_default_suppressions(void);
const char *
__lsan_default_suppressions(void)
{
    return "leak:libucs.so\nleak:libucp.so\nleak:libuct.so\nleak:libucm.so\n"
           "leak:libfabric.so\nleak:libnl-3.so\nleak:libibverbs.so\n";
}

/* Sizes that a peer announces are refused by malloc. */
const char *__asan_default_options(void);
const char *
__asan_default_options(void)
{
    return "allocator_may_return_null=1:detect_stack_use_after_return=1:"
           "strict_string_checks=1";
}

static void
take(struct fuzz_input *input, void *to, size_t size)
{
    size_t there = size < input->left ? size : input->left;

    memset(to, 0, size);
    if (there > 0)
        memcpy(to, input->at, there);
    input->at += there;
    input->left -= there;
}

uint8_t
fuzz_u8(struct fuzz_input *input)
{
    uint8_t value;

    take(input, &value, sizeof value);
    return value;
}

uint16_t
fuzz_u16(struct fuzz_input *input)
{
    uint16_t value;

    take(input, &value, sizeof value);
    return value;
}

uint32_t
fuzz_u32(struct fuzz_input *input)
{
    uint32_t value;

    take(input, &value, sizeof value);
    return value;
}

uint64_t
fuzz_u64(struct fuzz_input *input)
{
    uint64_t value;

    take(input, &value, sizeof value);
    return value;
}

static void *
allocate(size_t size)
{
    void *memory = malloc(size);

    if (!memory && size > 0)
        abort();
    return memory;
}

uint8_t *
fuzz_bytes(struct fuzz_input *input, size_t most, size_t *size_p)
{
    size_t size = most < input->left ? most : input->left;
    uint8_t *bytes = allocate(size);

    take(input, bytes, size);
    *size_p = size;
    return bytes;
}

char *
fuzz_text(struct fuzz_input *input)
{
    size_t size = input->left;
    char *text = allocate(size + 1);
    char *exact;

    take(input, text, size);
    text[size] = '\0';
    exact = strdup(text); /* up to the first zero */
    free(text);
    return exact;
}

void
fuzz_patch(struct fuzz_input *input, void *bytes, size_t size)
{
    unsigned count = fuzz_u8(input);

    for (unsigned i = 0; i < count && input->left > 0 && size > 0; i++) {
        size_t at = fuzz_u16(input) % size;

        ((uint8_t *) bytes)[at] = fuzz_u8(input);
    }
}

void
fuzz_fail(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}

static int drop(FILE *stream, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Formats, so that AddressSanitizer sees what the line is made of. */
static int
drop(FILE *stream, const char *format, ...)
{
    char line[2048];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (getenv("FUZZ_LOG"))
        fputs(line, stderr);
    return length;
}

void
fuzz_log_drop(void)
{
    HG_Set_log_func(drop);
    HG_Set_log_subsys("all");
    HG_Set_log_level("warning");
}

struct fuzz_file
fuzz_file_make(const void *bytes, size_t size)
{
    struct fuzz_file file = {.fd = memfd_create("fuzz", MFD_CLOEXEC)};

    if (file.fd < 0 || fchmod(file.fd, 0600) != 0 ||
        write(file.fd, bytes, size) != (ssize_t) size)
        abort();
    snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", file.fd);
    return file;
}

void
fuzz_file_drop(struct fuzz_file *file)
{
    close(file->fd);
}
