/* SPDX-License-Identifier: BSD-3-Clause */
/* Shorthands for scripts: common requests, and waiting for their ends. */
#include "check/kit.h"

#include <dirent.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>

static int32_t
message_post(struct kit_side *side, enum kit_kind kind, uint32_t op,
    const struct kit_side *peer, uint64_t length, uint64_t tag, uint64_t seed)
{
    return kit_post(side, &(struct kit_request){.kind = kind,
                              .op = op,
                              .peer = peer ? kit_number(peer) : 0,
                              .tag = tag,
                              .length = length,
                              .seed = seed,
                              .own_buffer = op % 2 == 1});
}

int32_t
kit_send_unexpected(struct kit_side *side, uint32_t op, struct kit_side *to,
    uint64_t length, uint64_t tag, uint64_t seed)
{
    return message_post(side, KIT_SEND_UNEXPECTED, op, to, length, tag, seed);
}

int32_t
kit_recv_unexpected(struct kit_side *side, uint32_t op, uint64_t length)
{
    return message_post(side, KIT_RECV_UNEXPECTED, op, NULL, length, 0, 0);
}

int32_t
kit_send_expected(struct kit_side *side, uint32_t op, struct kit_side *to,
    uint64_t length, uint64_t tag, uint64_t seed)
{
    return message_post(side, KIT_SEND_EXPECTED, op, to, length, tag, seed);
}

int32_t
kit_recv_expected(struct kit_side *side, uint32_t op, struct kit_side *from,
    uint64_t length, uint64_t tag)
{
    return message_post(side, KIT_RECV_EXPECTED, op, from, length, tag, 0);
}

void
kit_await(struct kit_side *side, uint32_t op, uint32_t rule,
    struct kit_completion *end_p)
{
    uint64_t end = kit_now() + kit_patience();

    for (;;) {
        kit_run();
        kit_get_completion(side, op, end_p);
        if (end_p->ended)
            return;
        sched_yield();
        if (kit_now() > end)
            kit_fail(rule, "the operation ends", "it is pending after %llu ms",
                (unsigned long long) (kit_patience() / 1000000U));
    }
}

void
kit_await_ok(struct kit_side *side, uint32_t op, uint32_t rule)
{
    struct kit_completion end;

    kit_await(side, op, rule, &end);
    kit_expect(end.status == NA_PLUGIN_OK, rule, "the operation ends with OK",
        "%s", kit_completion_text(&end));
}

void
kit_await_message(struct kit_side *side, uint32_t op, uint32_t rule,
    uint64_t length, uint64_t tag, uint64_t seed, uint32_t source)
{
    const na_plugin_opened *opened = kit_opened(side);
    struct kit_completion end;
    uint64_t header;

    kit_await(side, op, rule, &end);
    kit_expect(end.status == NA_PLUGIN_OK, rule, "the receive ends with OK",
        "%s", kit_completion_text(&end));
    kit_expect(end.length == length, rule, "the message has the length sent",
        "%llu bytes, not %llu", (unsigned long long) end.length,
        (unsigned long long) length);
    kit_expect(end.tag == tag, rule, "the message has the tag sent",
        "%llu, not %llu", (unsigned long long) end.tag,
        (unsigned long long) tag);
    kit_expect(end.source == source, rule,
        "an unexpected message names its sender", "address %d, not %d",
        (int) end.source, (int) source);
    header = source == KIT_NOBODY ? opened->expected_header_size
                                  : opened->unexpected_header_size;
    kit_expect(end.hash == kit_pattern_hash(length - header, seed), rule,
        "the message has the contents sent", "other bytes%s",
        length >= header + 8 && end.seed != seed
            ? ", of another message perhaps"
            : "");
}

void
kit_transfer(struct kit_side *side, const struct kit_request *request)
{
    kit_post(side, request);
    kit_await_ok(side, request->op, 11);
}

void
kit_refused(struct kit_side *side, const struct kit_request *request,
    int32_t code, const char *expected)
{
    struct kit_request doubtful = *request;
    struct kit_completion end;
    int32_t result;

    doubtful.may_fail = true;
    result = kit_post(side, &doubtful);
    if (result == NA_PLUGIN_PENDING) {
        kit_await(side, request->op, 11, &end);
        result = end.status;
    }
    kit_expect(result == code, 11, expected,
        "%s of %llu bytes, from %llu on here, %llu there: %s",
        request->kind == KIT_PUT ? "put" : "get",
        (unsigned long long) request->length,
        (unsigned long long) request->local_offset,
        (unsigned long long) request->remote_offset, kit_code_text(result));
}

static uint32_t
count_entries(const char *path)
{
    DIR *dir = opendir(path);
    uint32_t count = 0;

    if (!dir)
        kit_not_run("%s cannot be read", path);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

uint32_t
kit_descriptors(void)
{
    return count_entries("/proc/self/fd");
}

uint32_t
kit_threads(void)
{
    return count_entries("/proc/self/task");
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define INSTRUMENTED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define INSTRUMENTED 1
#endif
#endif

long
kit_anonymous_kib(void)
{
#ifdef INSTRUMENTED
    /* AddressSanitizer keeps freed memory and detects leaks itself;
     * ThreadSanitizer records all accessed memory. */
    return 0;
#else
    FILE *stream = fopen("/proc/self/status", "re");
    char line[256];
    long kib = -1;

    while (stream && fgets(line, sizeof line, stream))
        if (sscanf(line, "RssAnon: %ld", &kib) == 1)
            break;
    if (stream)
        fclose(stream);
    return kib;
#endif
}
