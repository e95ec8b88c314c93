/* SPDX-License-Identifier: BSD-3-Clause */
/* Violations concerning contexts, by the setting's value, and the line that the
 * core logs. */
#ifndef WRONG_WAYS_H
#define WRONG_WAYS_H

#define BROKEN "plugin wrong breaks the transport ABI: "
#define DEAD ": context 0 is dead"

struct way {
    const char *name;
    const char *text; /* logged line; NULL: none */
};

static const struct way dying[] = {
    {"poll_one_more",
        BROKEN "poll returned 17 events, at most 16 were asked for" DEAD},
    {"poll_again_one_more",
        BROKEN "poll returned 17 events, at most 16 were asked for" DEAD},
    {"poll_most", BROKEN
        "poll returned 2147483647 events, at most 16 were asked for" DEAD},
    {"poll_code", BROKEN "poll returned -99, which is not a code of the ABI"},
    {"poll_error", "context 0 of wrong is dead: NA_IO_ERROR"},
    {"source_null", BROKEN "an unexpected message has the source NULL" DEAD},
    {"too_long",
        BROKEN "a received message has 4097 bytes, its buffer 4096" DEAD},
    {"endless", BROKEN "a received message has 18446744073709551615 bytes, its "
                       "buffer 4096" DEAD},
    {"no_message", BROKEN "a receive ended with OK and without MESSAGE" DEAD},
    {"unknown_flag",
        BROKEN "an event has flags 0x81, of which 0x3 are defined" DEAD},
    {"more", BROKEN "an event that is not of a multi-receive has MORE" DEAD},
    {"status_positive", BROKEN "the status of an event is 7, which is not a "
                               "code of the ABI" DEAD},
    {"error_with_message",
        BROKEN "an event has MESSAGE and the status -22" DEAD},
    {"expected_too_long",
        BROKEN "a received message has 4097 bytes, its buffer 4096" DEAD},
    {"expected_endless", BROKEN "a received message has 18446744073709551615 "
                                "bytes, its buffer 4096" DEAD},
    {"expected_no_message",
        BROKEN "a receive ended with OK and without MESSAGE" DEAD},
    {"expected_unknown_flag",
        BROKEN "an event has flags 0x81, of which 0x3 are defined" DEAD},
    {"expected_more",
        BROKEN "an event that is not of a multi-receive has MORE" DEAD},
    {"expected_status_positive", BROKEN "the status of an event is 7, which is "
                                        "not a code of the ABI" DEAD},
    {"expected_error_with_message",
        BROKEN "an event has MESSAGE and the status -22" DEAD},
    {"sent_message",
        BROKEN "an event of what is not a receive has MESSAGE" DEAD},
    {"sent_flag",
        BROKEN "an event has flags 0x80, of which 0x3 are defined" DEAD},
    {"sent_positive", BROKEN "the status of an event is 7, which is not a code "
                             "of the ABI" DEAD},
    {"send_expected_positive",
        BROKEN "send_expected returned 7, which it must not" DEAD},
};

static const struct way submitting[] = {
    {"send_unexpected_positive",
        BROKEN "send_unexpected returned 7, which it must not" DEAD},
    {"recv_expected_positive",
        BROKEN "recv_expected returned 7, which it must not" DEAD},
    {"recv_expected_done",
        BROKEN "recv_expected returned 1, which it must not" DEAD},
    {"send_unexpected_code",
        BROKEN "send_unexpected returned -99, which is not a code of the ABI"},
    {"recv_expected_code",
        BROKEN "recv_expected returned -99, which is not a code of the ABI"},
};

static const struct way posting[] = {
    {"recv_unexpected_positive",
        BROKEN "recv_unexpected returned 7, which it must not" DEAD},
    {"recv_unexpected_done",
        BROKEN "recv_unexpected returned 1, which it must not" DEAD},
    {"multi_positive", BROKEN "recv_multi returned 7, which it must not" DEAD},
    {"fd_negative",
        BROKEN "fd of na.wait/1 returned -7, which is not an open descriptor"},
    {"ctx_create_null", BROKEN "ctx_create returned OK and no context"},
    {"ctx_create_code",
        BROKEN "ctx_create returned -99, which is not a code of the ABI"},
    {"buf_alloc_null", BROKEN "buf_alloc returned OK and NULL"},
    {"buf_init_code",
        BROKEN "buf_init returned 7, which is not a code of the ABI"},
};

static const struct way waiting[] = {
    {"arm_code",
        BROKEN "arm of na.wait/1 returned -99, which it must not" DEAD},
    {"arm_two", BROKEN "arm of na.wait/1 returned 2, which it must not" DEAD},
    {"fd_closed_later", BROKEN "its descriptor"},
};

static const struct way tables[] = {
    {"wait_table_null", BROKEN "na.wait/1 has no arm: it is not used"},
    {"multi_table_null",
        BROKEN "na.multi_recv/1 has no recv_multi: it is not used"},
    {"alloc_table_null", BROKEN "na.mem_alloc/1 has no free: it is not used"},
    {"entries_table_null", BROKEN "na.report/1 has no entries: it is not used"},
    {"log_null", BROKEN "log is called with text NULL, level 1"},
    {"log_level", BROKEN "log is called with level 77"},
    {"log_no_file", "nowhere"},
    {"log_no_host", NULL},
    {"wake_null", BROKEN "wake is called with core_ctx NULL"},
    {"number_null", "number is called with key NULL, which it does not list"},
    {"text_unlisted",
        "text is called with key wrong.ways, which it does not list"},
    {"text_no_host", NULL},
    {"extension_null", NULL},
};

static const struct way moving[] = {
    {"put_positive", BROKEN "put returned 7, which it must not" DEAD},
    {"put_code", BROKEN "put returned -99, which is not a code of the ABI"},
    {"put_message",
        BROKEN "an event of what is not a receive has MESSAGE" DEAD},
    {"put_flag",
        BROKEN "an event has flags 0x80, of which 0x3 are defined" DEAD},
    {"put_status", BROKEN
        "the status of an event returned -99, which is not a code of the ABI"},
    {"get_positive", BROKEN "get returned 7, which it must not" DEAD},
    {"get_code", BROKEN "get returned -99, which is not a code of the ABI"},
    {"get_message",
        BROKEN "an event of what is not a receive has MESSAGE" DEAD},
};

#endif /* WRONG_WAYS_H */
