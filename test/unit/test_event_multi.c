/* SPDX-License-Identifier: BSD-3-Clause */
/* Valid events of a multi-receive; an invalid one kills its context. */
#include "na/class.h"
#include "na/context.h"
#include "na/violation.h"

#include "log_watch.h"
#include "runner.h"

#include <check.h>

#define SIZE 4096U
#define MAX_TAG 0x7fffU

static unsigned char buffer[SIZE];
static char sender;
static const na_plugin plugin = {.name = "script"};
static struct na_class na_class;
static struct na_context context;

static void
begin(void)
{
    na_class = (struct na_class){.plugin = &plugin};
    na_class.opened.max_tag = MAX_TAG;
    context = (struct na_context){.na_class = &na_class};
    log_watch_begin();
    log_watch_install();
}

static void
end(void)
{
    log_watch_check();
}

/* A message with this length and position. */
static na_plugin_event
message(uint64_t at, uint64_t length)
{
    return (na_plugin_event){.buffer = (char *) buffer + at,
        .length = length,
        .source = (na_plugin_addr *) (void *) &sender,
        .tag = MAX_TAG,
        .flags = NA_PLUGIN_EVENT_MESSAGE};
}

static void
taken(const na_plugin_event *event)
{
    ck_assert_int_eq(na_event_multi(&context, event, buffer, SIZE), NA_SUCCESS);
    ck_assert(!na_context_is_dead(&context));
}

static void
refused(const na_plugin_event *event, const char *why)
{
    log_expect(why, 1, 1);
    ck_assert_int_eq(
        na_event_multi(&context, event, buffer, SIZE), NA_PROTOCOL_ERROR);
    ck_assert(na_context_is_dead(&context));
}

START_TEST(multi_message_within_its_buffer_is_taken)
{
    na_plugin_event event = message(0, SIZE);

    taken(&event);
    event = message(SIZE - 8, 8);
    event.flags |= NA_PLUGIN_EVENT_MORE;
    taken(&event);
    /* the last event may have no message */
    event = (na_plugin_event){.op = NULL};
    taken(&event);
}
END_TEST

START_TEST(multi_message_that_ends_beyond_its_buffer_is_rejected)
{
    const na_plugin_event event = message(SIZE - 8, 9);

    refused(&event, "has a message that is not in its buffer");
}
END_TEST

START_TEST(multi_message_of_maximal_length_is_rejected)
{
    const na_plugin_event event = message(8, UINT64_MAX);

    refused(&event, "has a message that is not in its buffer");
}
END_TEST

START_TEST(multi_message_before_its_buffer_is_rejected)
{
    na_plugin_event event = message(0, 8);

    event.buffer = (void *) ((uintptr_t) buffer - 8);
    refused(&event, "has a message that is not in its buffer");
}
END_TEST

START_TEST(multi_message_with_a_tag_out_of_range_is_rejected)
{
    na_plugin_event event = message(0, 8);

    event.tag++;
    refused(&event, "has tag 32768, max_tag is 32767");
}
END_TEST

START_TEST(multi_message_without_a_source_is_rejected)
{
    na_plugin_event event = message(0, 8);

    event.source = NULL;
    refused(&event, "has the source NULL");
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("event_multi");

    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, multi_message_within_its_buffer_is_taken);
    tcase_add_test(
        tcase, multi_message_that_ends_beyond_its_buffer_is_rejected);
    tcase_add_test(tcase, multi_message_of_maximal_length_is_rejected);
    tcase_add_test(tcase, multi_message_before_its_buffer_is_rejected);
    tcase_add_test(tcase, multi_message_with_a_tag_out_of_range_is_rejected);
    tcase_add_test(tcase, multi_message_without_a_source_is_rejected);
    return run_tcase("event_multi", tcase);
}
