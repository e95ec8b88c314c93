/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state machine of a call. Its tables are comments in hg/call.h and are
 * read from there: each event is sent in each phase, also where it is refused.
 */
#include "hg/call.h"
#include "log_watch.h"
#include "runner.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GENERATION 77U
#define COLUMNS_MAX 8U
#define ROWS_MAX 16U
#define CELL_MAX 16U

static const struct {
    const char *name;
    enum hg_call_event event;
} events[] = {{"SENT", HG_CALL_ON_SENT}, {"UNSENT", HG_CALL_ON_UNSENT},
    {"RECEIVED", HG_CALL_ON_RECEIVED}, {"UNANSWERED", HG_CALL_ON_UNANSWERED},
    {"REVOKED", HG_CALL_ON_REVOKED}, {"CANCEL", HG_CALL_ON_CANCEL},
    {"EARLY", HG_CALL_ON_EARLY}, {"CALLED", HG_CALL_ON_CALLED},
    {"CLAIM", HG_CALL_ON_CLAIM}, {"CLAIM_CALLBACK", HG_CALL_ON_CLAIM_CALLBACK},
    {"PENDING", HG_CALL_ON_PENDING}, {"ANSWERED", HG_CALL_ON_ANSWERED}};

#define EVENTS (sizeof events / sizeof *events)

struct row {
    char phase[CELL_MAX];
    char cells[COLUMNS_MAX][CELL_MAX];
};

struct table {
    unsigned columns;
    char names[COLUMNS_MAX][CELL_MAX];
    unsigned rows;
    struct row row[ROWS_MAX];
};

/* Splits a line into at most COLUMNS_MAX + 4 words. Returns their number. */
static unsigned
split(char *line, char **words)
{
    unsigned count = 0;
    char *rest = NULL;

    for (char *word = strtok_r(line, " \n", &rest);
         word && count < COLUMNS_MAX + 4; word = strtok_r(NULL, " \n", &rest))
        words[count++] = word;
    return count;
}

static void
keep(char *cell, const char *word)
{
    ck_assert_uint_lt(strlen(word), CELL_MAX);
    memcpy(cell, word, strlen(word) + 1);
}

/* Finds the first line of a table: its name, then "phase". */
static void
read_head(struct table *table, char **words, unsigned count)
{
    for (unsigned i = 3; i < count; i++)
        keep(table->names[table->columns++], words[i]);
}

/* The last words of a line are its phase and its cells. */
static void
read_row(struct table *table, char **words, unsigned count)
{
    struct row *row = &table->row[table->rows++];
    unsigned first = count - table->columns;

    ck_assert_uint_lt(table->rows, ROWS_MAX);
    ck_assert_uint_gt(count, table->columns + 1);
    keep(row->phase, words[first - 1]);
    for (unsigned i = 0; i < table->columns; i++)
        keep(row->cells[i], words[first + i]);
}

static void
read_table(struct table *table, const char *name)
{
    FILE *file = fopen(CALL_H, "r");
    char line[128], *words[COLUMNS_MAX + 4];

    ck_assert_ptr_nonnull(file);
    memset(table, 0, sizeof *table);
    while (fgets(line, sizeof line, file)) {
        unsigned count = split(line, words);

        if (table->columns == 0) {
            if (count > 3 && strcmp(words[1], name) == 0 &&
                strcmp(words[2], "phase") == 0)
                read_head(table, words, count);
        } else if (count < 2) {
            break;
        } else {
            read_row(table, words, count);
        }
    }
    fclose(file);
    ck_assert_uint_gt(table->rows, 8);
}

/* Parses the bits of a phase from its letters. */
static uint32_t
bits_of(const char *letters)
{
    static const struct {
        char letter;
        uint32_t bit;
    } bits[] = {{'s', HG_CALL_SEND}, {'r', HG_CALL_RECV},
        {'c', HG_CALL_CALLBACK}, {'e', HG_CALL_EARLY}, {'k', HG_CALL_CLAIMED},
        {'o', HG_CALL_OVER}};
    uint32_t word = 0;

    for (; *letters; letters++)
        for (unsigned i = 0; i < sizeof bits / sizeof *bits; i++)
            if (bits[i].letter == *letters)
                word |= bits[i].bit;
    return word;
}

static enum hg_call_result
result_of(const char *cell)
{
    switch (cell[strlen(cell) - 1]) {
    case '!':
        return HG_CALL_REFUSED;
    case 'Q':
        return HG_CALL_QUEUE;
    case 'E':
        return HG_CALL_ENDED;
    case 'R':
        return HG_CALL_RELEASED;
    case 'A':
        return HG_CALL_FIRST;
    default:
        return HG_CALL_NOTHING;
    }
}

static void
set(struct hg_call *call, uint32_t word)
{
    atomic_store(&call->word, GENERATION << HG_CALL_SHIFT | word);
}

/* Fields that an event sets beside the phase. */
static uint32_t
noted_by(enum hg_call_event event, const char *cell)
{
    if (*cell == '!' || *cell == '=')
        return 0;
    if (event == HG_CALL_ON_UNSENT)
        return HG_CALL_IS_UNSENT;
    if (event == HG_CALL_ON_RECEIVED)
        return HG_CALL_IS_ANSWERED;
    return event == HG_CALL_ON_CANCEL ? HG_CALL_ASKED : 0;
}

static void
walk_cell(const char *phase, enum hg_call_event event, const char *name,
    const char *cell)
{
    struct hg_call call = {.word = 0};
    bool same = *cell == '!' || *cell == '=';
    uint32_t after = bits_of(same ? phase : cell);
    uint32_t word;

    if (!same && event == HG_CALL_ON_CLAIM_CALLBACK)
        after |= HG_CALL_CALLBACK;
    set(&call, bits_of(phase));
    ck_assert_msg(hg_call_event(&call, event, GENERATION) == result_of(cell),
        "%s in %s: another result than in %s", name, phase, cell);
    word = hg_call_word(&call);
    ck_assert_msg((word & HG_CALL_PHASE) == after, "%s in %s leads to %#x",
        name, phase, word & HG_CALL_PHASE);
    ck_assert_uint_eq(hg_call_generation(&call), GENERATION);
    /* After an early completion, these fields are not reported any more. */
    word &= HG_CALL_ASKED | HG_CALL_IS_UNSENT | HG_CALL_IS_ANSWERED;
    if (event != HG_CALL_ON_REVOKED)
        ck_assert_uint_eq(word, noted_by(event, cell));
}

/* Events that share a column of the table, or have none. */
static const char *
cell_of(const struct table *table, const struct row *row, const char *name)
{
    const char *column = strcmp(name, "UNSENT") == 0           ? "SENT"
                         : strcmp(name, "UNANSWERED") == 0     ? "RECEIVED"
                         : strcmp(name, "CLAIM_CALLBACK") == 0 ? "CLAIM"
                                                               : name;

    for (unsigned i = 0; i < table->columns; i++)
        if (strcmp(table->names[i], column) == 0)
            return row->cells[i];
    return NULL;
}

static unsigned
walk(const char *name)
{
    struct table table;
    unsigned cells = 0;

    read_table(&table, name);
    for (unsigned i = 0; i < table.rows; i++)
        for (unsigned j = 0; j < EVENTS; j++) {
            const struct row *row = &table.row[i];
            const char *cell = cell_of(&table, row, events[j].name);

            if (!cell)
                continue;
            walk_cell(row->phase, events[j].event, events[j].name, cell);
            cells++;
        }
    return cells;
}

START_TEST(call_tables_match_in_every_cell)
{
    /* Ends of operations that are not pending in that phase. */
    log_watch_begin();
    log_watch_install();
    log_expect("completed twice", 28, 28);
    ck_assert_uint_eq(walk("origin"), 13 * 8);
    ck_assert_uint_eq(walk("target"), 11 * 8);
    log_watch_check();
}
END_TEST

/* Each phase named in a cell has a row. */
static void
closed(const char *name)
{
    struct table table;

    read_table(&table, name);
    for (unsigned i = 0; i < table.rows; i++)
        for (unsigned j = 0; j < table.columns; j++) {
            const char *cell = table.row[i].cells[j];
            bool found = *cell == '!' || *cell == '=';

            for (unsigned k = 0; k < table.rows; k++)
                found = found || bits_of(table.row[k].phase) == bits_of(cell);
            ck_assert_msg(found, "no row for %s", cell);
        }
}

START_TEST(call_tables_name_known_phases_only)
{
    closed("origin");
    closed("target");
}
END_TEST

START_TEST(call_cancel_is_first_once)
{
    struct hg_call call = {.word = 0};

    hg_call_begin(&call, GENERATION, HG_CALL_SEND | HG_CALL_RECV);
    ck_assert_int_eq(
        hg_call_event(&call, HG_CALL_ON_CANCEL, GENERATION), HG_CALL_FIRST);
    ck_assert_int_eq(
        hg_call_event(&call, HG_CALL_ON_CANCEL, GENERATION), HG_CALL_AGAIN);
    ck_assert_int_eq(
        hg_call_event(&call, HG_CALL_ON_EARLY, GENERATION), HG_CALL_QUEUE);
    ck_assert_int_eq(
        hg_call_event(&call, HG_CALL_ON_CANCEL, GENERATION), HG_CALL_NOTHING);
}
END_TEST

START_TEST(call_of_another_generation_is_unchanged)
{
    struct hg_call call = {.word = 0};
    uint32_t before;

    hg_call_begin(&call, GENERATION, HG_CALL_SEND | HG_CALL_RECV);
    before = hg_call_word(&call);
    ck_assert_int_eq(hg_call_event(&call, HG_CALL_ON_CANCEL, GENERATION - 1),
        HG_CALL_NOTHING);
    ck_assert_int_eq(hg_call_event(&call, HG_CALL_ON_EARLY, GENERATION + 1),
        HG_CALL_NOTHING);
    ck_assert_uint_eq(hg_call_word(&call), before);
}
END_TEST

START_TEST(call_can_be_reused)
{
    struct hg_call call = {.word = 0};

    for (uint32_t number = 1; number < 5; number++) {
        ck_assert(hg_call_is_idle(&call));
        hg_call_begin(&call, number, HG_CALL_SEND | HG_CALL_RECV);
        ck_assert(!hg_call_is_idle(&call));
        hg_call_event(&call, HG_CALL_ON_CANCEL, number);
        hg_call_event(&call, HG_CALL_ON_UNSENT, 0);
        ck_assert_int_eq(
            hg_call_event(&call, HG_CALL_ON_UNANSWERED, 0), HG_CALL_QUEUE);
        ck_assert(!hg_call_is_idle(&call));
        hg_call_event(&call, HG_CALL_ON_CALLED, 0);
        ck_assert_uint_eq(hg_call_word(&call), number << HG_CALL_SHIFT);
    }
    /* Only the lower bits of a generation are compared. */
    hg_call_begin(&call, UINT32_MAX, HG_CALL_RECV);
    ck_assert_uint_eq(hg_call_generation(&call), UINT32_MAX >> HG_CALL_SHIFT);
    ck_assert_int_eq(
        hg_call_event(&call, HG_CALL_ON_RECEIVED, 0), HG_CALL_QUEUE);
}
END_TEST

START_TEST(call_sent_first_does_what_sent_does)
{
    struct hg_call call = {.word = 0}, other = {.word = 0};

    hg_call_begin(&call, GENERATION, HG_CALL_SEND | HG_CALL_RECV);
    hg_call_begin(&other, GENERATION, HG_CALL_SEND | HG_CALL_RECV);
    ck_assert(hg_call_sent_first(&call, GENERATION));
    ck_assert_int_eq(
        hg_call_event(&other, HG_CALL_ON_SENT, 0), HG_CALL_NOTHING);
    ck_assert_uint_eq(hg_call_word(&call), hg_call_word(&other));
    ck_assert_int_eq(
        hg_call_event(&call, HG_CALL_ON_RECEIVED, 0), HG_CALL_QUEUE);
}
END_TEST

/* Answered, failed, cancelled, completed early, with a flag. */
START_TEST(call_sent_first_leaves_a_changed_call_alone)
{
    static const enum hg_call_event changes[] = {HG_CALL_ON_RECEIVED,
        HG_CALL_ON_UNANSWERED, HG_CALL_ON_CANCEL, HG_CALL_ON_EARLY};
    struct hg_call call = {.word = 0};
    uint32_t before;

    for (unsigned i = 0; i <= sizeof changes / sizeof *changes; i++) {
        hg_call_begin(&call, GENERATION, HG_CALL_SEND | HG_CALL_RECV);
        if (i < sizeof changes / sizeof *changes)
            hg_call_event(&call, changes[i], GENERATION);
        else
            hg_call_note(&call, HG_CALL_TIMER);
        before = hg_call_word(&call);
        ck_assert(!hg_call_sent_first(&call, GENERATION));
        ck_assert_uint_eq(hg_call_word(&call), before);
    }
}
END_TEST

START_TEST(call_target_answers_once)
{
    struct hg_call call = {.word = 0};

    for (int callback = 0; callback < 2; callback++) {
        hg_call_open(&call);
        hg_call_note(&call, callback ? 0 : HG_CALL_OBSERVED);
        ck_assert_int_eq(
            callback ? hg_call_event(&call, HG_CALL_ON_CLAIM_CALLBACK, 0)
                     : hg_call_event(&call, HG_CALL_ON_CLAIM, 0),
            HG_CALL_NOTHING);
        ck_assert_int_eq(
            hg_call_event(&call, HG_CALL_ON_CLAIM, 0), HG_CALL_REFUSED);
        hg_call_event(&call, HG_CALL_ON_PENDING, 0);
        ck_assert_int_eq(
            hg_call_event(&call, HG_CALL_ON_CLAIM, 0), HG_CALL_REFUSED);
        ck_assert_int_eq(hg_call_event(&call, HG_CALL_ON_ANSWERED, 0),
            callback ? HG_CALL_QUEUE : HG_CALL_ENDED);
        if (callback)
            ck_assert_int_eq(
                hg_call_event(&call, HG_CALL_ON_CALLED, 0), HG_CALL_NOTHING);
        ck_assert_int_eq(
            hg_call_event(&call, HG_CALL_ON_CLAIM, 0), HG_CALL_REFUSED);
    }
}
END_TEST

/* The response completes before its submission has returned. */
START_TEST(call_answer_may_complete_before_pending)
{
    struct hg_call call = {.word = 0}, at_once = {.word = 0};

    hg_call_event(&call, HG_CALL_ON_CLAIM_CALLBACK, 0);
    hg_call_event(&at_once, HG_CALL_ON_CLAIM_CALLBACK, 0);
    hg_call_answered(&at_once);
    ck_assert_int_eq(
        hg_call_event(&call, HG_CALL_ON_ANSWERED, 0), HG_CALL_NOTHING);
    ck_assert_uint_eq(hg_call_word(&call), hg_call_word(&at_once));
    ck_assert_int_eq(
        hg_call_event(&call, HG_CALL_ON_PENDING, 0), HG_CALL_QUEUE);
}
END_TEST

#define ROUNDS 5000U

/* Two threads end the operations of a call, and a third cancels it and
 * completes it early. Each call is queued once, and released once if it was
 * completed early. */
struct race {
    struct hg_call call;
    _Atomic uint32_t turn; /* generation of the current call */
    _Atomic uint32_t done; /* ended operations */
    _Atomic uint32_t queued;
    _Atomic uint32_t released;
    _Atomic uint32_t early;
    _Atomic bool stop;
};

static void
note(struct race *race, enum hg_call_result result)
{
    ck_assert_int_ne(result, HG_CALL_REFUSED);
    if (result == HG_CALL_QUEUE)
        atomic_fetch_add(&race->queued, 1);
    else if (result == HG_CALL_RELEASED)
        atomic_fetch_add(&race->released, 1);
}

static void *
end_receives(void *arg)
{
    struct race *race = arg;

    for (uint32_t number = 1; number <= ROUNDS; number++) {
        while (atomic_load(&race->turn) < number)
            sched_yield();
        note(race, hg_call_event(&race->call, HG_CALL_ON_RECEIVED, 0));
        atomic_fetch_add(&race->done, 1);
    }
    return NULL;
}

static void *
cancel_calls(void *arg)
{
    struct race *race = arg;

    while (!atomic_load(&race->stop)) {
        uint32_t generation = hg_call_generation(&race->call);

        if (hg_call_event(&race->call, HG_CALL_ON_CANCEL, generation) ==
            HG_CALL_FIRST) {
            sched_yield();
            continue;
        }
        if (hg_call_event(&race->call, HG_CALL_ON_EARLY, generation) ==
            HG_CALL_QUEUE) {
            atomic_fetch_add(&race->early, 1);
            atomic_fetch_add(&race->queued, 1);
        }
    }
    return NULL;
}

/* Runs one call; its callback runs as soon as it is queued. */
static void
race_once(struct race *race, uint32_t number)
{
    hg_call_begin(&race->call, number, HG_CALL_SEND | HG_CALL_RECV);
    atomic_store(&race->turn, number);
    note(race, hg_call_event(&race->call, HG_CALL_ON_SENT, 0));
    while (atomic_load(&race->queued) < number)
        sched_yield();
    note(race, hg_call_event(&race->call, HG_CALL_ON_CALLED, 0));
    while (atomic_load(&race->done) < number)
        sched_yield();
    if (!hg_call_is_idle(&race->call))
        hg_call_reset(&race->call);
}

START_TEST(call_ends_once_with_concurrent_threads)
{
    static struct race race;
    pthread_t receiver, canceler;

    ck_assert_int_eq(pthread_create(&receiver, NULL, end_receives, &race), 0);
    ck_assert_int_eq(pthread_create(&canceler, NULL, cancel_calls, &race), 0);
    for (uint32_t number = 1; number <= ROUNDS; number++)
        race_once(&race, number);
    atomic_store(&race.stop, true);
    pthread_join(receiver, NULL);
    pthread_join(canceler, NULL);
    ck_assert_uint_eq(atomic_load(&race.queued), ROUNDS);
    ck_assert_uint_eq(atomic_load(&race.released), atomic_load(&race.early));
}
END_TEST

#define SHOWN 5000U

/* Calls whose two operations are ended by two threads, each of which writes a
 * plain field. The call's state alone orders them, which ThreadSanitizer
 * checks. */
struct shown {
    struct hg_call calls[SHOWN];
    uint32_t sent[SHOWN];
    uint32_t received[SHOWN];
    _Atomic uint32_t seen;
};

static void
begin_shown(struct shown *shown, uint32_t operations)
{
    memset(shown, 0, sizeof *shown);
    for (uint32_t i = 0; i < SHOWN; i++)
        hg_call_begin(&shown->calls[i], 1, operations);
}

/* The thread that ends the second operation sees both fields. */
static void
end_shown(struct shown *shown, uint32_t i, enum hg_call_event event)
{
    if (hg_call_event(&shown->calls[i], event, 0) == HG_CALL_QUEUE &&
        shown->sent[i] == i && shown->received[i] == i)
        atomic_fetch_add_explicit(&shown->seen, 1, memory_order_relaxed);
}

static void *
receive_shown(void *arg)
{
    struct shown *shown = arg;

    for (uint32_t i = 0; i < SHOWN; i++) {
        shown->received[i] = i;
        end_shown(shown, i, HG_CALL_ON_RECEIVED);
    }
    return NULL;
}

START_TEST(call_end_orders_writes_of_both_operations)
{
    static struct shown shown;
    pthread_t receiver;

    begin_shown(&shown, HG_CALL_SEND | HG_CALL_RECV);
    ck_assert_int_eq(pthread_create(&receiver, NULL, receive_shown, &shown), 0);
    for (uint32_t i = 0; i < SHOWN; i++) {
        shown.sent[i] = i;
        if (i % 2 == 0 || !hg_call_sent_first(&shown.calls[i], 1))
            end_shown(&shown, i, HG_CALL_ON_SENT);
    }
    pthread_join(receiver, NULL);
    ck_assert_uint_eq(shown.seen, SHOWN);
}
END_TEST

static void *
use_shown(void *arg)
{
    struct shown *shown = arg;

    for (uint32_t i = 0; i < SHOWN; i++) {
        while (!hg_call_is_idle(&shown->calls[i]))
            sched_yield();
        shown->seen += shown->sent[i] == i;
    }
    return NULL;
}

START_TEST(call_reset_orders_writes_of_the_previous_use)
{
    static struct shown shown;
    pthread_t user;

    begin_shown(&shown, HG_CALL_SEND);
    ck_assert_int_eq(pthread_create(&user, NULL, use_shown, &shown), 0);
    for (uint32_t i = 0; i < SHOWN; i++) {
        shown.sent[i] = i;
        hg_call_reset(&shown.calls[i]);
    }
    pthread_join(user, NULL);
    ck_assert_uint_eq(shown.seen, SHOWN);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("call");

    tcase_add_test(tcase, call_tables_match_in_every_cell);
    tcase_add_test(tcase, call_tables_name_known_phases_only);
    tcase_add_test(tcase, call_cancel_is_first_once);
    tcase_add_test(tcase, call_of_another_generation_is_unchanged);
    tcase_add_test(tcase, call_can_be_reused);
    tcase_add_test(tcase, call_sent_first_does_what_sent_does);
    tcase_add_test(tcase, call_sent_first_leaves_a_changed_call_alone);
    tcase_add_test(tcase, call_target_answers_once);
    tcase_add_test(tcase, call_answer_may_complete_before_pending);
    tcase_add_test(tcase, call_ends_once_with_concurrent_threads);
    tcase_add_test(tcase, call_end_orders_writes_of_both_operations);
    tcase_add_test(tcase, call_reset_orders_writes_of_the_previous_use);
    tcase_set_timeout(tcase, 120);
    return run_tcase("call", tcase);
}
