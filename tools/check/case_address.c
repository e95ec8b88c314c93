/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: addresses as strings and as bytes, and their equality. */
#include "check/cases.h"
#include "check/class.h"
#include "check/shared.h"

#include <stdlib.h>
#include <string.h>

static na_plugin_addr *const untouched =
    (na_plugin_addr *) (uintptr_t) 0x5A5A5A5A;

static na_plugin_addr *
self_of(struct kit_side *side)
{
    return kit_class_of(side)->addrs[kit_number(side)];
}

/* A buffer that is too small: OVERFLOW, the size needed, nothing written past
 * its end. */
static void
text_room(void)
{
    struct kit_side *side = kit_local(NULL);
    struct kit_class *cls = kit_class_of(side);
    char text[KIT_TEXT_MAX], *again;
    struct kit_guarded guarded;
    uint64_t needed, size;
    int32_t result;

    kit_class_text(cls, self_of(side), text, sizeof text);
    needed = strlen(text) + 1;
    for (uint64_t room = 0; room < needed; room++) {
        kit_guarded_create(&guarded, room + 1, 1);
        size = room;
        result = cls->ops.addr_to_string(
            cls->cls, self_of(side), (char *) guarded.memory, &size);
        kit_expect(result == NA_PLUGIN_E_OVERFLOW, 12,
            "addr_to_string: OVERFLOW when there is no room",
            "%s with %llu bytes of %llu", kit_code_text(result),
            (unsigned long long) room, (unsigned long long) needed);
        kit_expect(size == needed, 12,
            "addr_to_string always returns the bytes needed", "%llu, not %llu",
            (unsigned long long) size, (unsigned long long) needed);
        kit_expect(guarded.memory[room] == 0, 12,
            "addr_to_string writes no further than the room",
            "it wrote behind %llu bytes", (unsigned long long) room);
        kit_guarded_destroy(&guarded);
    }
    again = strstr(text, "://");
    kit_expect(again && again > text, 12,
        "an address's text is \"protocol://...\"", "\"%s\"", text);
}

/* A string returned by one side is looked up by both and yields the same
 * address. */
static void
text_round_trip(void)
{
    struct kit_side *a = kit_local(NULL);
    struct kit_side *b = kit_other(0, NULL);
    struct kit_class *cls = kit_class_of(a);
    char first[KIT_TEXT_MAX], second[KIT_TEXT_MAX];
    na_plugin_addr *addr, *twice;
    int32_t result;

    kit_lookup(a, b);
    addr = cls->addrs[kit_number(b)];
    memcpy(first, kit_address(b), sizeof first);
    kit_class_text(cls, addr, second, sizeof second);
    result = cls->ops.addr_lookup(cls->cls, second, &twice);
    kit_expect(result == NA_PLUGIN_OK, 12,
        "what addr_to_string writes addr_lookup finds", "\"%s\": %s", second,
        kit_code_text(result));
    kit_expect(cls->ops.addr_equal(cls->cls, addr, twice) == 1, 12,
        "two lookups of a text name the same peer", "\"%s\" and \"%s\"", first,
        second);
    kit_expect(cls->ops.addr_hash(cls->cls, addr) ==
                   cls->ops.addr_hash(cls->cls, twice),
        12, "addr_hash is the same for equal addresses", "\"%s\"", second);
    kit_expect(cls->ops.addr_equal(cls->cls, addr, self_of(a)) == 0, 12,
        "a peer is not the class itself", "\"%s\" equals the class's address",
        first);
    cls->ops.addr_dup(cls->cls, twice);
    cls->ops.addr_free(cls->cls, twice);
    kit_expect(cls->ops.addr_equal(cls->cls, addr, twice) == 1, 12,
        "an address is valid until its last reference is released",
        "it changed");
    cls->ops.addr_free(cls->cls, twice);
}

static void
text_own(void)
{
    struct kit_side *a = kit_local(NULL);
    struct kit_class *cls = kit_class_of(a);
    na_plugin_addr *addr;
    int32_t result = cls->ops.addr_lookup(cls->cls, kit_address(a), &addr);

    kit_expect(result == NA_PLUGIN_OK, 12, "the own text is found", "%s",
        kit_code_text(result));
    kit_expect(cls->ops.addr_equal(cls->cls, addr, self_of(a)) == 1, 12,
        "a class's own address as a string names itself", "another");
    cls->ops.addr_free(cls->cls, addr);
}

/* Malformed strings fail and leave outputs unchanged. None looks like a host
 * name, since resolving one may be slow. */
static void
text_malformed(void)
{
    static const char *const texts[] = {"", ":", "://", "x", "no-such://x",
        "no-such-protocol://host:1", "+++", "\n\n\n"};
    struct kit_side *a = kit_local(NULL);
    struct kit_class *cls = kit_class_of(a);
    static char longest[70000];

    memset(longest, 'a', sizeof longest - 1);
    for (size_t i = 0; i <= sizeof texts / sizeof texts[0]; i++) {
        const char *text =
            i < sizeof texts / sizeof texts[0] ? texts[i] : longest;
        na_plugin_addr *addr = untouched;
        int32_t result = cls->ops.addr_lookup(cls->cls, text, &addr);

        kit_expect(result == NA_PLUGIN_E_INVALID_ARG ||
                       result == NA_PLUGIN_E_PROTONOSUPPORT ||
                       result == NA_PLUGIN_E_NOENTRY,
            12, "addr_lookup refuses what is no address", "\"%.64s\": %s", text,
            kit_code_text(result));
        kit_expect(addr == untouched, 12, "outputs are untouched on an error",
            "addr_lookup wrote its own");
    }
}

/* An address as bytes: serialized, deserialized, equal; too small a buffer;
 * invalid bytes. */
static size_t
to_bytes(
    struct kit_class *cls, const na_plugin_addr *addr, void *bytes, size_t room)
{
    uint64_t needed = 0, size;
    int32_t result;

    result = cls->ops.addr_serialize(cls->cls, addr, NULL, &needed);
    if (result == NA_PLUGIN_E_OPNOTSUPPORTED)
        kit_not_offered("the plugin does not serialize addresses");
    kit_expect(result == NA_PLUGIN_OK && needed > 0 && needed <= room, 12,
        "addr_serialize returns the bytes that it needs", "%s, %llu",
        kit_code_text(result), (unsigned long long) needed);
    size = needed - 1;
    result = cls->ops.addr_serialize(cls->cls, addr, bytes, &size);
    kit_expect(result == NA_PLUGIN_E_OVERFLOW && size == needed, 12,
        "addr_serialize: OVERFLOW when there is no room", "%s, %llu",
        kit_code_text(result), (unsigned long long) size);
    size = needed;
    result = cls->ops.addr_serialize(cls->cls, addr, bytes, &size);
    kit_expect(result == NA_PLUGIN_OK && size == needed, 12,
        "addr_serialize fills in what it asked for", "%s, %llu",
        kit_code_text(result), (unsigned long long) size);
    return (size_t) needed;
}

static int32_t
from_bytes(struct kit_class *cls, const void *bytes, size_t length,
    na_plugin_addr **addr_p)
{
    struct kit_guarded copy;
    int32_t result;

    kit_guarded_create(&copy, length > 0 ? length : 1, 1);
    memcpy(copy.memory, bytes, length);
    result = cls->ops.addr_deserialize(
        cls->cls, copy.memory + (length > 0 ? 0 : 1), length, addr_p);
    kit_guarded_destroy(&copy);
    return result;
}

static void
bytes_round_trip(void)
{
    struct kit_side *a = kit_local(NULL), *b = kit_remote(0, NULL);
    struct kit_side *c = kit_local(NULL);
    struct kit_class *cls = kit_class_of(a), *other = kit_class_of(c);
    uint64_t length = kit_opened(a)->unexpected_header_size + 64;
    unsigned char bytes[4096];
    size_t size;
    int32_t result;

    kit_lookup_both(a, b);
    kit_lookup(b, c);
    size = to_bytes(cls, cls->addrs[kit_number(b)], bytes, sizeof bytes);
    result = from_bytes(other, bytes, size, &other->addrs[kit_number(b)]);
    kit_expect(result == NA_PLUGIN_OK, 12,
        "bytes of an address are understood by another class", "%s",
        kit_code_text(result));
    kit_recv_unexpected(b, 0, length);
    kit_send_unexpected(c, 0, b, length, 3, 3);
    kit_await_message(b, 0, 12, length, 3, 3, kit_number(c));
    kit_await_ok(c, 0, 7);
}

/* Truncated to each length and with each byte altered: an error, or a valid
 * address. Reading past the end is caught by a guard page. */
static void
bytes_malformed(void)
{
    struct kit_side *a = kit_local(NULL), *b = kit_local(NULL);
    struct kit_class *cls = kit_class_of(a);
    unsigned char bytes[4096];
    size_t size;

    kit_lookup(a, b);
    size = to_bytes(cls, cls->addrs[kit_number(b)], bytes, sizeof bytes);
    for (size_t i = 0; i < size; i++) {
        na_plugin_addr *addr = untouched;
        int32_t result = from_bytes(cls, bytes, i, &addr);

        kit_expect(result < 0 && kit_code_known(result), 12,
            "addr_deserialize refuses an address that is cut short",
            "%s for %zu bytes of %zu", kit_code_text(result), i, size);
        kit_expect(addr == untouched, 12, "outputs are untouched on an error",
            "addr_deserialize wrote its own");
    }
    for (size_t i = 0; i < size * 8; i++) {
        na_plugin_addr *addr = untouched;
        int32_t result;
        char text[KIT_TEXT_MAX];
        uint64_t room = sizeof text;

        bytes[i / 8] ^= (unsigned char) (1U << i % 8);
        result = from_bytes(cls, bytes, size, &addr);
        bytes[i / 8] ^= (unsigned char) (1U << i % 8);
        if (result != NA_PLUGIN_OK) {
            kit_expect(addr == untouched, 12,
                "outputs are untouched on an error",
                "addr_deserialize wrote its own");
            continue;
        }
        cls->ops.addr_to_string(cls->cls, addr, text, &room);
        cls->ops.addr_free(cls->cls, addr);
    }
}

/* A message can be answered at its source without a lookup. */
static void
source_is_sender(void)
{
    struct kit_side *a = kit_local(NULL);
    struct kit_side *b = kit_other(0, NULL);
    uint64_t length = kit_opened(a)->unexpected_header_size + 32;
    uint64_t expected = kit_opened(a)->expected_header_size + 32;
    const uint32_t source = 40;
    struct kit_completion end;

    kit_lookup(b, a);
    kit_recv_unexpected(a, 0, length);
    kit_recv_expected(b, 1, a, expected, 9);
    kit_send_unexpected(b, 0, a, length, 1, 1);
    kit_await(a, 0, 11, &end);
    kit_expect(end.status == NA_PLUGIN_OK && end.source == KIT_NOBODY, 11,
        "the address of an unknown sender equals no other", "that of number %d",
        (int) end.source);
    kit_keep_source(a, 0, source);
    kit_post(a, &(struct kit_request){.kind = KIT_SEND_EXPECTED,
                    .op = 2,
                    .peer = source,
                    .tag = 9,
                    .length = expected,
                    .seed = 5});
    kit_await_message(b, 1, 11, expected, 9, 5, KIT_NOBODY);
    kit_await_ok(a, 2, 7);
    kit_await_ok(b, 0, 7);
    kit_addr_free(a, source);
}

/* A class that does not listen can be answered. */
static void
answer_not_listening(void)
{
    static const struct kit_open_options not_listening = {
        .not_listening = true};
    struct kit_side *a = kit_local(NULL), *b = kit_remote(0, &not_listening);
    uint64_t length = kit_opened(a)->unexpected_header_size + 32;
    uint64_t expected = kit_opened(a)->expected_header_size + 32;
    const uint32_t source = 40;

    kit_lookup(b, a);
    for (uint32_t i = 0; i < 20; i++) {
        struct kit_completion end;

        kit_recv_unexpected(a, 0, length);
        kit_recv_expected(b, 1, a, expected, i);
        kit_send_unexpected(b, 0, a, length, i, i);
        kit_await(a, 0, 11, &end);
        kit_expect(end.status == NA_PLUGIN_OK, 11, "the message arrives", "%s",
            kit_completion_text(&end));
        kit_keep_source(a, 0, source);
        kit_post(a, &(struct kit_request){.kind = KIT_SEND_EXPECTED,
                        .op = 2,
                        .peer = source,
                        .tag = i,
                        .length = expected,
                        .seed = i});
        kit_await_message(b, 1, 11, expected, i, i, KIT_NOBODY);
        kit_await_ok(a, 2, 7);
        kit_await_ok(b, 0, 7);
        kit_addr_free(a, source);
    }
}

/* Thousands of lookups of an absent peer take no time and no descriptors, since
 * connecting is lazy. */
static void
lookups_are_lazy(void)
{
    struct kit_side *a = kit_local(NULL), *b = kit_local(NULL);
    struct kit_class *cls = kit_class_of(a);
    char text[KIT_TEXT_MAX];
    uint64_t began;

    memcpy(text, kit_address(b), sizeof text);
    kit_close(b);
    began = kit_now();
    for (uint32_t i = 0; i < 1000; i++) {
        na_plugin_addr *addr;
        int32_t result = cls->ops.addr_lookup(cls->cls, text, &addr);

        kit_expect(result == NA_PLUGIN_OK, 12,
            "addr_lookup does not contact the peer", "\"%s\": %s", text,
            kit_code_text(result));
        cls->ops.addr_free(cls->cls, addr);
    }
    kit_expect(kit_now() - began < kit_patience(), 12,
        "addr_lookup does not contact the peer",
        "1000 lookups of an absent peer took %llu ms",
        (unsigned long long) ((kit_now() - began) / 1000000U));
}

static const struct kit_case cases[] = {
    {"text_room", 12, 0, 0, 0, "addr_to_string writes within its buffer",
        text_room},
    {"text_round_trip", 12, 0, 0, 0, "a peer's address string can be looked up",
        text_round_trip},
    {"text_round_trip_interprocess", 12, 0, 1, 0, "likewise between processes",
        text_round_trip},
    {"text_own", 12, 0, 0, 0, "a class's own address string refers to itself",
        text_own},
    {"text_malformed", 12, 0, 0, 0, "malformed addresses are refused",
        text_malformed},
    {"bytes_round_trip", 12, KIT_NEEDS_SERIALIZE, 1, 0,
        "addresses can be serialized", bytes_round_trip},
    {"bytes_malformed", 12, KIT_NEEDS_SERIALIZE, 0, 0,
        "damaged bytes of an address are harmless", bytes_malformed},
    {"source_is_sender", 11, 0, 0, 0, "the source of a message is its sender",
        source_is_sender},
    {"source_is_sender_interprocess", 11, 0, 1, 0, "likewise between processes",
        source_is_sender},
    {"answer_not_listening", 11, 0, 1, 0,
        "a class that does not listen can be answered", answer_not_listening},
    {"lookups_are_lazy", 12, 0, 0, 0, "a lookup does not contact the peer",
        lookups_are_lazy},
};

const struct kit_group kit_cases_address = {
    cases, sizeof cases / sizeof cases[0]};
