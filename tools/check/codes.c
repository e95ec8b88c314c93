/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of codes and kinds; patterns of bytes and their hashes. */
#include "check/class.h"

#include <stdio.h>
#include <string.h>

static const char *const codes[] = {"OK", "PERMISSION", "NOENTRY", "INTERRUPT",
    "AGAIN", "NOMEM", "ACCESS", "FAULT", "BUSY", "EXIST", "NODEV",
    "INVALID_ARG", "PROTOCOL_ERROR", "OVERFLOW", "MSGSIZE", "PROTONOSUPPORT",
    "OPNOTSUPPORTED", "ADDRINUSE", "ADDRNOTAVAIL", "HOSTUNREACH", "TIMEOUT",
    "CANCELED", "IO_ERROR", "HOSTFIREWALL"};

bool
kit_code_known(int32_t code)
{
    return code <= 0 && code > -(int32_t) (sizeof codes / sizeof codes[0]);
}

const char *
kit_code_text(int32_t code)
{
    static _Thread_local char text[4][24];
    static _Thread_local unsigned turn;
    char *unknown;

    if (kit_code_known(code))
        return codes[-code];
    if (code == NA_PLUGIN_DONE)
        return "DONE";
    unknown = text[turn++ % 4];
    snprintf(unknown, sizeof text[0], "code %d", code);
    return unknown;
}

const char *
kit_kind_name(enum kit_kind kind)
{
    static const char *const names[KIT_KINDS] = {"send_unexpected",
        "recv_unexpected", "send_expected", "recv_expected", "put", "get",
        "recv_multi"};

    return names[kind];
}

const char *
kit_completion_text(const struct kit_completion *end)
{
    static _Thread_local char text[128];

    if (!end->ended)
        snprintf(text, sizeof text, "it is pending");
    else if (end->status == NA_PLUGIN_OK)
        snprintf(text, sizeof text, "it ended with OK, %llu bytes, tag %llu",
            (unsigned long long) end->length, (unsigned long long) end->tag);
    else
        snprintf(
            text, sizeof text, "it ended with %s", kit_code_text(end->status));
    return text;
}

/* A step of splitmix64 (public domain). */
static uint64_t
mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
}

/* Returns word i of the pattern of a seed; word 0 is the seed. */
static uint64_t
pattern_word(uint64_t seed, uint64_t i)
{
    return i == 0 ? seed : mix(seed + i * 0x9E3779B97F4A7C15U);
}

void
kit_pattern(void *bytes, uint64_t length, uint64_t seed)
{
    unsigned char *at = bytes;

    for (uint64_t i = 0; length > 0; i++) {
        uint64_t word = pattern_word(seed, i);
        size_t part = length < sizeof word ? length : sizeof word;

        memcpy(at, &word, part);
        at += part;
        length -= part;
    }
}

static uint64_t
hash_word(uint64_t hash, uint64_t word)
{
    return mix(hash ^ word) + 0x9E3779B97F4A7C15U;
}

uint64_t
kit_hash(const void *bytes, uint64_t length)
{
    const unsigned char *at = bytes;
    uint64_t hash = length;

    while (length > 0) {
        uint64_t word = 0;
        size_t part = length < sizeof word ? length : sizeof word;

        memcpy(&word, at, part);
        hash = hash_word(hash, word);
        at += part;
        length -= part;
    }
    return hash;
}

uint64_t
kit_pattern_hash(uint64_t length, uint64_t seed)
{
    uint64_t hash = length;

    for (uint64_t i = 0; length > 0; i++) {
        uint64_t word = pattern_word(seed, i), cut = 0;
        size_t part = length < sizeof word ? length : sizeof word;

        memcpy(&cut, &word, part);
        hash = hash_word(hash, cut);
        length -= part;
    }
    return hash;
}
