/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: receives posted after their message, polls after a peer's death,
 * extensions, the host that gets the log lines, reports. */
#include "check/cases.h"
#include "check/class.h"
#include "check/shared.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* A receive whose message has arrived already is PENDING, too, as the kit
 * checks. */
static void
late_receives(void)
{
    struct kit_side *a = kit_local(NULL), *b = kit_remote(0, NULL);
    uint64_t length = kit_opened(a)->unexpected_header_size + 64;
    uint64_t expected = kit_opened(a)->expected_header_size + 64;

    kit_lookup_both(a, b);
    for (uint32_t i = 0; i < 50; i++) {
        kit_send_unexpected(b, 0, a, length, i, i);
        kit_await_ok(b, 0, 7);
        kit_run_for(i % 5 * UINT64_C(20000));
        kit_recv_unexpected(a, 0, length);
        kit_await_message(a, 0, 7, length, i, i, kit_number(b));
    }
    /* An expected message may have been dropped; then this one arrives. */
    for (uint32_t i = 0; i < 20; i++) {
        struct kit_completion end;

        kit_send_expected(b, 1, a, expected, i, i);
        kit_run_for(200000);
        kit_recv_expected(a, 1, b, expected, i);
        kit_run_for(200000);
        kit_get_completion(a, 1, &end);
        if (!end.ended)
            kit_cancel(a, 1);
        kit_await(a, 1, 7, &end);
        kit_await(b, 1, 7, &end);
    }
}

/* The death of a peer ends the pending operations, and is no failure of poll,
 * as the kit checks. */
static void
polls_after_death(void)
{
    struct kit_side *a = kit_local(NULL), *b = kit_remote(0, NULL);
    struct kit_side *c = kit_remote(1, NULL);
    uint64_t length = kit_opened(a)->unexpected_header_size + 64;
    struct kit_completion end;

    kit_lookup_both(a, b);
    kit_lookup_both(a, c);
    kit_recv_unexpected(b, 0, length);
    kit_send_unexpected(a, 0, b, length, 1, 1);
    kit_await_message(b, 0, 11, length, 1, 1, kit_number(a));
    kit_recv_expected(a, 1, b, length, 1);
    kit_signal(b, SIGKILL);
    kit_await(a, 1, 7, &end);
    kit_run_for(kit_quiet());
    kit_recv_unexpected(a, 0, length);
    kit_send_unexpected(c, 0, a, length, 2, 2);
    kit_await_message(a, 0, 8, length, 2, 2, kit_number(c));
}

/* An undefined id returns NULL; an existing one always returns its table. */
static void
extensions(void)
{
    static const char *const ids[] = {"com.example.no-such/1", "na.wait/2", "",
        NA_PLUGIN_WAIT_ID, NA_PLUGIN_MULTI_RECV_ID, NA_PLUGIN_MEM_ALLOC_ID,
        NA_PLUGIN_REPORT_ID};
    struct kit_class *cls = kit_class_of(kit_local(NULL));

    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        const void *first = cls->ops.extension(cls->cls, ids[i]);
        const void *again = cls->ops.extension(cls->cls, ids[i]);

        kit_expect(i >= 3 || !first, 5, "extension is NULL for an undefined id",
            "\"%s\": %p", ids[i], first);
        kit_expect(first == again, 5, "extension is constant",
            "\"%s\": %p, then %p", ids[i], first, again);
    }
}

static uint32_t
errors_of(struct kit_side *side)
{
    return atomic_load_explicit(
        &kit_class_of(side)->errors, memory_order_relaxed);
}

/* Makes a class log: looks up a malformed address. */
static void
provoke(struct kit_side *side)
{
    struct kit_class *cls = kit_class_of(side);
    na_plugin_addr *addr;

    cls->ops.addr_lookup(cls->cls, "no-such-protocol://x", &addr);
}

/* Each class logs to its own host, also while others are open. */
static void
log_per_host(void)
{
    struct kit_side *a = kit_local(NULL), *b = kit_local(NULL);
    uint32_t before_a = errors_of(a), before_b = errors_of(b);

    provoke(b);
    kit_expect(errors_of(a) == before_a, 2, "a class logs through its own host",
        "it did through another's");
    provoke(a);
    kit_expect(errors_of(b) <= before_b + 1, 2,
        "a class logs through its own host", "it did through another's");
    kit_close(a);
    provoke(b);
    kit_close(b);
}

/* Entries have a constant order and are written up to the size of the array. */
static void
report(void)
{
    struct kit_class *cls = kit_class_of(kit_local(NULL));
    const size_t size = sizeof(na_plugin_report_entry);
    na_plugin_report_entry beyond;
    char first[KIT_TEXT_MAX] = "";
    uint32_t count = 0, got;

    for (uint32_t max = 1; max < 40; max++) {
        struct kit_guarded guarded;
        na_plugin_report_entry *entries;

        kit_guarded_create(
            &guarded, max * size, _Alignof(na_plugin_report_entry));
        entries = (na_plugin_report_entry *) (void *) guarded.memory;
        got = cls->report->entries(cls->cls, 0, entries, max);
        kit_expect(got <= max, 12, "entries returns at most max", "%u of %u",
            got, max);
        kit_expect(kit_guarded_intact(&guarded), 12,
            "entries fills in max entries at most", "it wrote behind %u", max);
        kit_expect(got >= count || got == max, 12,
            "entries fills in all that it counts",
            "%u with room for %u, %u before", got, max, count);
        for (uint32_t i = 0; i < got; i++)
            if (!entries[i].name || !*entries[i].name)
                kit_fail(12, "an entry has a name", "number %u has none", i);
        if (max == 1 && got == 1)
            strncpy(first, entries[0].name, sizeof first - 1);
        if (got > 0)
            kit_expect(strcmp(first, entries[0].name) == 0, 12,
                "the order of entries is constant", "\"%s\", then \"%s\"",
                first, entries[0].name);
        count = got;
        kit_guarded_destroy(&guarded);
    }
    got = cls->report->entries(cls->cls, UINT32_MAX, &beyond, 1);
    kit_expect(got == 0, 12, "there are no entries beyond the last", "%u", got);
}

static const struct kit_case cases[] = {
    {"late_receives", 7, 0, 1, 0,
        "a receive whose message has arrived already is pending, too",
        late_receives},
    {"polls_after_death", 8, 0, 2, 0,
        "the death of a peer is no failure of poll", polls_after_death},
    {"extensions", 5, 0, 0, 0, "extensions are constant, unknown ones are NULL",
        extensions},
    {"log_per_host", 2, 0, 0, 0, "each class logs through its own host",
        log_per_host},
    {"report", 12, KIT_NEEDS_REPORT, 0, 0,
        "na.report/1 writes within its array, in constant order", report},
};

const struct kit_group kit_cases_contract = {
    cases, sizeof cases / sizeof cases[0]};
