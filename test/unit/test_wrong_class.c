/* SPDX-License-Identifier: BSD-3-Clause */
/* Plugins that break the ABI in one way each, in the functions of a class and
 * before there is one: each call fails, and the log names the plugin. */
#include "mercury.h"
#include "na.h"
#include "runner.h"
#include "talaria.h"
#include "wrong_case.h"

#include <check.h>
#include <string.h>

static const struct way opening[] = {
    {"open_code", "open returned -99, which is not a code of the ABI"},
    {"open_positive", "open returned 7, which is not a code of the ABI"},
};

START_TEST(violation_in_open_fails)
{
    wrong_begin(&opening[_i]);
    wrong_allow("wrong+mem");
    ck_assert_ptr_null(HG_Init(INFO, HG_TRUE));
    wrong_end();
}
END_TEST

static const struct way listing[] = {
    {"info_null", BROKEN "info calls found with NULL"},
    {"info_short", BROKEN "info calls found with a table shorter than in 1.0"},
    {"info_no_protocol",
        BROKEN "info calls found with a device without protocol"},
    {"info_code", BROKEN "info returned 7, which is not a code of the ABI"},
};

START_TEST(violation_in_listing_fails)
{
    struct na_protocol_info *found = NULL;

    wrong_begin(&listing[_i]);
    ck_assert_int_ne(NA_Get_protocol_info(INFO, &found), NA_SUCCESS);
    ck_assert_ptr_null(found);
    wrong_end();
}
END_TEST

START_TEST(invalid_argument_to_found_is_ignored)
{
    static const struct way way = {"info_arg", NULL};
    struct na_protocol_info *found = NULL;

    wrong_begin(&way);
    ck_assert_int_eq(NA_Get_protocol_info(INFO, &found), NA_SUCCESS);
    ck_assert_ptr_nonnull(found);
    ck_assert_ptr_null(found->next);
    NA_Free_protocol_info(found);
    wrong_end();
}
END_TEST

/* The violation of a function of the class, and the call that triggers it. */
static na_return_t
call_self(na_class_t *na_class)
{
    na_addr_t *addr;

    return NA_Addr_self(na_class, &addr);
}

static na_return_t
call_lookup(na_class_t *na_class)
{
    na_addr_t *addr;

    return NA_Addr_lookup(na_class, "mem://1", &addr);
}

static na_return_t
call_string(na_class_t *na_class)
{
    na_addr_t *addr;
    char text[32];
    size_t size = sizeof text;
    na_return_t ret;

    memset(text, 'x', sizeof text);
    ck_assert_int_eq(NA_Addr_self(na_class, &addr), NA_SUCCESS);
    ret = NA_Addr_to_string(na_class, text, &size, addr);
    NA_Addr_free(na_class, addr);
    return ret;
}

static na_return_t
call_form(na_class_t *na_class)
{
    na_addr_t *addr;
    char form[32];
    na_return_t ret;

    ck_assert_int_eq(NA_Addr_self(na_class, &addr), NA_SUCCESS);
    ret = NA_Addr_serialize(na_class, form, sizeof form, addr);
    NA_Addr_free(na_class, addr);
    return ret;
}

static na_return_t
call_of_form(na_class_t *na_class)
{
    na_addr_t *addr;

    return NA_Addr_deserialize(na_class, &addr, "1", 2, 0);
}

static na_return_t
call_equal(na_class_t *na_class)
{
    na_addr_t *addr;
    bool equal;

    ck_assert_int_eq(NA_Addr_self(na_class, &addr), NA_SUCCESS);
    equal = NA_Addr_cmp(na_class, addr, addr);
    NA_Addr_free(na_class, addr);
    return equal ? NA_SUCCESS : NA_PROTOCOL_ERROR;
}

static na_return_t
call_register(na_class_t *na_class)
{
    static char memory[64];
    na_mem_handle_t *handle;
    char form[32];
    na_return_t ret;

    ck_assert_int_eq(NA_Mem_handle_create(na_class, memory, sizeof memory,
                         NA_MEM_READWRITE, &handle),
        NA_SUCCESS);
    ret = NA_Mem_register(na_class, handle, NA_MEM_TYPE_HOST, 0);
    if (ret == NA_SUCCESS)
        ret = NA_Mem_handle_serialize(na_class, form, sizeof form, handle);
    NA_Mem_deregister(na_class, handle);
    NA_Mem_handle_free(na_class, handle);
    return ret;
}

static na_return_t
call_mem_of_form(na_class_t *na_class)
{
    na_mem_handle_t *handle;

    return NA_Mem_handle_deserialize(na_class, &handle, "1", 2);
}

static na_return_t
call_alloc(na_class_t *na_class)
{
    void *memory;

    return talaria_mem_alloc(na_class, 64, &memory);
}

static na_return_t
call_report(na_class_t *na_class)
{
    struct talaria_report *report;
    na_return_t ret = talaria_class_report(na_class, &report);

    if (ret == NA_SUCCESS)
        talaria_class_report_free(report);
    return ret;
}

static const struct {
    struct way way;
    na_return_t (*call)(na_class_t *na_class);
    na_return_t ret;
} calls[] = {
    {{"addr_self_code",
         BROKEN "addr_self returned 7, which is not a code of the ABI"},
        call_self, NA_IO_ERROR},
    {{"addr_self_null", BROKEN "addr_self returned OK and NULL"}, call_self,
        NA_PROTOCOL_ERROR},
    {{"addr_lookup_code",
         BROKEN "addr_lookup returned -99, which is not a code of the ABI"},
        call_lookup, NA_IO_ERROR},
    {{"addr_lookup_null", BROKEN "addr_lookup returned OK and NULL"},
        call_lookup, NA_PROTOCOL_ERROR},
    {{"addr_equal_two", BROKEN "addr_equal returned 2, which is not 0 or 1"},
        call_equal, NA_SUCCESS},
    {{"addr_to_string_code",
         BROKEN "addr_to_string returned -99, which is not a code of the ABI"},
        call_string, NA_IO_ERROR},
    {{"addr_to_string_huge", BROKEN "addr_to_string returned size "
                                    "18446744073709551615"},
        call_string, NA_PROTOCOL_ERROR},
    {{"addr_to_string_nothing", BROKEN "addr_to_string returned size 0, "},
        call_string, NA_PROTOCOL_ERROR},
    {{"addr_to_string_beyond", BROKEN "addr_to_string returned OK with"},
        call_string, NA_PROTOCOL_ERROR},
    {{"addr_to_string_unended",
         BROKEN "addr_to_string wrote 8 bytes that do not end with a zero"},
        call_string, NA_PROTOCOL_ERROR},
    {{"addr_serialize_huge", BROKEN "addr_serialize returned OK with "
                                    "18446744073709551615 bytes in 32"},
        call_form, NA_PROTOCOL_ERROR},
    {{"addr_serialize_nothing", BROKEN "addr_serialize returned size 0, "},
        call_form, NA_PROTOCOL_ERROR},
    {{"addr_serialize_beyond",
         BROKEN "addr_serialize returned OK with 33 bytes in 32"},
        call_form, NA_PROTOCOL_ERROR},
    {{"addr_deserialize_null", BROKEN "addr_deserialize returned OK and NULL"},
        call_of_form, NA_PROTOCOL_ERROR},
    {{"mem_register_code",
         BROKEN "mem_register returned -99, which is not a code of the ABI"},
        call_register, NA_IO_ERROR},
    {{"mem_register_null", BROKEN "mem_register returned OK and NULL"},
        call_register, NA_PROTOCOL_ERROR},
    {{"mem_serialize_code",
         BROKEN "mem_serialize returned -99, which is not a code of the ABI"},
        call_register, NA_IO_ERROR},
    {{"mem_serialize_beyond",
         BROKEN "mem_serialize returned OK with 33 bytes in 32"},
        call_register, NA_PROTOCOL_ERROR},
    {{"mem_serialize_nothing", BROKEN "mem_serialize returned size 0, "},
        call_register, NA_PROTOCOL_ERROR},
    {{"mem_deserialize_null", BROKEN "mem_deserialize returned OK and NULL"},
        call_mem_of_form, NA_PROTOCOL_ERROR},
    {{"alloc_code", BROKEN
         "alloc of na.mem_alloc/1 returned 7, which is not a code of the ABI"},
        call_alloc, NA_IO_ERROR},
    {{"alloc_null", BROKEN "alloc of na.mem_alloc/1 returned OK and NULL"},
        call_alloc, NA_PROTOCOL_ERROR},
    {{"entries_many", BROKEN "entries of na.report/1 returned 257, at most 256 "
                             "were asked for"},
        call_report, NA_PROTOCOL_ERROR},
    {{"entries_nameless", BROKEN "entry 0 of na.report/1 has no name"},
        call_report, NA_SUCCESS},
};

START_TEST(violation_in_class_function_fails)
{
    na_class_t *na_class;

    wrong_begin(&calls[_i].way);
    na_class = NA_Initialize(INFO, true);
    ck_assert_ptr_nonnull(na_class);
    ck_assert_int_eq(calls[_i].call(na_class),
        calls[_i].call == call_equal ? NA_PROTOCOL_ERROR : calls[_i].ret);
    ck_assert_int_eq(NA_Finalize(na_class), NA_SUCCESS);
    wrong_end();
}
END_TEST

int
main(void)
{
    TCase *tc = tcase_create("plugin");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, violation_in_open_fails, 0, COUNT(opening));
    tcase_add_loop_test(tc, violation_in_listing_fails, 0, COUNT(listing));
    tcase_add_test(tc, invalid_argument_to_found_is_ignored);
    tcase_add_loop_test(tc, violation_in_class_function_fails, 0, COUNT(calls));
    return run_tcase("wrong_class", tc);
}
