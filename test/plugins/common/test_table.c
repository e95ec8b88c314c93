/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists and keyed tables. */
#include "common/table.h"

#include <check.h>
#include <stdlib.h>

#include "na_plugin.h"
#include "runner.h"

struct object {
    int number;
    struct tp_link link;
    struct tp_keyed keyed;
};

START_TEST(list_keeps_order_and_removes_anywhere)
{
    struct object objects[4];
    struct tp_list list = {NULL, NULL};

    for (int i = 0; i < 4; i++) {
        objects[i].number = i;
        tp_list_append(&list, &objects[i].link);
    }
    tp_list_remove(&list, &objects[1].link);
    tp_list_remove(&list, &objects[3].link);
    ck_assert_ptr_eq(list.tail, &objects[2].link);
    tp_list_drop_head(&list);
    ck_assert_ptr_eq(list.head, &objects[2].link);
    ck_assert_ptr_null(list.head->prev);
    struct tp_link *link = tp_list_pop(&list);
    ck_assert_int_eq(TP_OBJECT(link, struct object, link)->number, 2);
    ck_assert_ptr_null(tp_list_pop(&list));
    ck_assert(list.head == NULL && list.tail == NULL);
    tp_list_append(&list, &objects[0].link);
    ck_assert(list.head == list.tail && list.head->next == NULL);
}
END_TEST

#define COUNT 5000U

START_TEST(table_grows_and_finds_every_link)
{
    static struct tp_keyed keyed[COUNT];
    static const char owners[7];
    struct tp_table table;

    ck_assert_int_eq(tp_table_init(&table), NA_PLUGIN_OK);
    for (uint32_t i = 0; i < COUNT; i++) {
        keyed[i].owner = &owners[i % 7];
        keyed[i].key = (uint64_t) i << 32 | i;
        tp_table_insert(&table, &keyed[i]);
    }
    ck_assert_uint_eq(table.count, COUNT);
    ck_assert(table.room >= COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        const struct tp_keyed *found =
            tp_table_find(&table, keyed[i].owner, keyed[i].key);
        ck_assert_ptr_eq(found, &keyed[i]);
        ck_assert_ptr_null(
            tp_table_find(&table, &owners[(i + 1) % 7], keyed[i].key));
    }
    for (uint32_t i = 0; i < COUNT; i += 2)
        tp_table_remove(&table, &keyed[i]);
    ck_assert_uint_eq(table.count, COUNT / 2);
    ck_assert_ptr_null(tp_table_take(&table, keyed[0].owner, keyed[0].key));
    tp_table_fini(&table);
}
END_TEST

START_TEST(equal_keys_are_in_order_of_insertion)
{
    struct tp_keyed keyed[200] = {0};
    struct tp_table table;

    ck_assert_int_eq(tp_table_init(&table), NA_PLUGIN_OK);
    for (uint32_t i = 0; i < 200; i++) {
        keyed[i].key = i % 2;
        tp_table_insert(&table, &keyed[i]);
    }
    for (uint32_t i = 1; i < 200; i += 2)
        ck_assert_ptr_eq(tp_table_take(&table, NULL, 1), &keyed[i]);
    ck_assert_ptr_null(tp_table_take(&table, NULL, 1));
    ck_assert_uint_eq(table.count, 100);
    tp_table_fini(&table);
}
END_TEST

START_TEST(take_all_takes_one_owner_or_everything)
{
    struct tp_keyed keyed[100] = {0};
    struct tp_list list = {NULL, NULL};
    struct tp_table table = {0};
    uint32_t taken = 0;

    tp_table_take_all(&table, NULL, &list); /* of zeroed memory */
    ck_assert_int_eq(tp_table_init(&table), NA_PLUGIN_OK);
    for (uint32_t i = 0; i < 100; i++) {
        keyed[i].owner = &keyed[i % 4];
        keyed[i].key = i;
        tp_table_insert(&table, &keyed[i]);
    }
    tp_table_take_all(&table, &keyed[3], &list);
    for (struct tp_link *link; (link = tp_list_pop(&list)) != NULL; taken++)
        ck_assert_uint_eq(tp_keyed_of(link)->key % 4, 3);
    ck_assert_uint_eq(taken, 25);
    tp_table_take_all(&table, NULL, &list);
    ck_assert_uint_eq(table.count, 0);
    for (; tp_list_pop(&list) != NULL; taken++)
        ;
    ck_assert_uint_eq(taken, 100);
    tp_table_fini(&table);
    tp_table_fini(&table);
}
END_TEST

struct counted {
    struct tp_keyed keyed;
    bool *ended;
};

static void
note_end(void *arg, struct tp_keyed *keyed)
{
    uint32_t *ends = arg;

    *((struct counted *) keyed)->ended = true;
    ++*ends;
    free(keyed);
}

START_TEST(free_releases_every_object)
{
    bool ended[100] = {false};
    struct tp_table table, empty = {.count = 0};
    uint32_t ends = 0;

    for (uint32_t round = 0; round < 2; round++) {
        ck_assert_int_eq(tp_table_init(&table), NA_PLUGIN_OK);
        for (uint32_t i = 0; i < 100; i++) {
            struct counted *object = calloc(1, sizeof(*object));
            object->keyed.key = i;
            object->ended = &ended[i];
            tp_table_insert(&table, &object->keyed);
        }
        ck_assert_uint_eq(
            tp_table_free(&table, round == 0 ? note_end : NULL, &ends), 100);
    }
    ck_assert_uint_eq(ends, 100);
    for (uint32_t i = 0; i < 100; i++)
        ck_assert(ended[i]);
    ck_assert_uint_eq(tp_table_free(&empty, note_end, &ends), 0);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("table");
    tcase_add_test(cases, list_keeps_order_and_removes_anywhere);
    tcase_add_test(cases, table_grows_and_finds_every_link);
    tcase_add_test(cases, equal_keys_are_in_order_of_insertion);
    tcase_add_test(cases, take_all_takes_one_owner_or_everything);
    tcase_add_test(cases, free_releases_every_object);
    return run_tcase("table", cases);
}
