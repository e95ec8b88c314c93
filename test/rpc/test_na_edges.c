/* SPDX-License-Identifier: BSD-3-Clause */
/* Edge cases of the NA interface, within one class over the loop plugin. */
#include "log_watch.h"
#include "session.h"
#include "talaria.h"

#include "na.h"
#include "na/addr.h"

#include <malloc.h>
#include <string.h>

struct own {
    na_class_t *na_class;
    na_context_t *context;
    na_addr_t *self;
    na_op_id_t *recv;
    na_op_id_t *send;
};

static struct loop_limits limited; /* 0: default */

static void
own_begin(struct own *own, unsigned long recv_flags)
{
    log_watch_begin();
    session_prepare(session_mode_at(0));
    loop_limits_set(&limited);
    log_watch_install();
    own->na_class = NA_Initialize("loop+mem", true);
    ck_assert_ptr_nonnull(own->na_class);
    own->context = NA_Context_create(own->na_class);
    ck_assert_ptr_nonnull(own->context);
    ck_assert_int_eq(NA_Addr_self(own->na_class, &own->self), NA_SUCCESS);
    own->recv = NA_Op_create(own->na_class, recv_flags);
    own->send = NA_Op_create(own->na_class, 0);
    ck_assert_ptr_nonnull(own->recv);
    ck_assert_ptr_nonnull(own->send);
}

/* The loop plugin aborts when a class is closed with leftovers. */
static void
own_end(struct own *own)
{
    NA_Op_destroy(own->na_class, own->recv);
    NA_Op_destroy(own->na_class, own->send);
    ck_assert_int_eq(NA_Addr_free(own->na_class, own->self), NA_SUCCESS);
    ck_assert_int_eq(
        NA_Context_destroy(own->na_class, own->context), NA_SUCCESS);
    ck_assert_int_eq(NA_Finalize(own->na_class), NA_SUCCESS);
    NA_Cleanup();
    log_watch_check();
}

/* Without a callback, the reference to the source is released. */
START_TEST(edges_message_without_callback_frees_its_source)
{
    struct own own;
    char in[64], out[8] = "";
    unsigned count;

    own_begin(&own, 0);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(NA_Msg_recv_unexpected(own.na_class, own.context, NULL,
                             NULL, in, sizeof in, NULL, own.recv),
            NA_SUCCESS);
        ck_assert_int_eq(
            NA_Msg_send_unexpected(own.na_class, own.context, NULL, NULL, out,
                sizeof out, NULL, own.self, 0, 1, own.send),
            NA_SUCCESS);
        ck_assert_int_eq(
            NA_Poll(own.na_class, own.context, &count), NA_SUCCESS);
        ck_assert_uint_eq(count, 2);
        ck_assert_int_eq(NA_Trigger(own.context, 16, &count), NA_SUCCESS);
        ck_assert_uint_eq(count, 2);
    }
    own_end(&own);
}
END_TEST

START_TEST(edges_multi_receive_of_the_smallest_buffer)
{
    static char buffer[1024];
    struct own own;
    /* The loop plugin's minimum, which has room for one message. */
    const size_t smallest = 1024;

    limited = (struct loop_limits){.max_unexpected_size = smallest};
    own_begin(&own, NA_OP_MULTI);
    ck_assert_int_eq(NA_Msg_multi_recv_unexpected(own.na_class, own.context,
                         NULL, NULL, buffer, smallest - 1, NULL, own.recv),
        NA_INVALID_ARG);
    ck_assert_int_eq(NA_Msg_multi_recv_unexpected(own.na_class, own.context,
                         NULL, NULL, buffer, smallest, NULL, own.recv),
        NA_SUCCESS);
    ck_assert_int_eq(
        NA_Cancel(own.na_class, own.context, own.recv), NA_SUCCESS);
    ck_assert_int_eq(NA_Poll(own.na_class, own.context, NULL), NA_SUCCESS);
    ck_assert_int_eq(NA_Trigger(own.context, 16, NULL), NA_SUCCESS);
    own_end(&own);
}
END_TEST

START_TEST(edges_reused_memory_is_zeroed)
{
    struct own own;
    void *memory;

    own_begin(&own, 0);
    mallopt(M_PERTURB, 0x5a);
    for (size_t size = 1; size <= 100000; size = size * 3 + 1)
        for (int i = 0; i < 3; i++) {
            ck_assert_int_eq(
                talaria_mem_alloc(own.na_class, size, &memory), NA_SUCCESS);
            for (size_t at = 0; at < size; at++)
                if (((const char *) memory)[at] != 0)
                    ck_abort_msg("byte %zu of %zu is not zero", at, size);
            memset(memory, 0xee, size);
            talaria_mem_free(own.na_class, memory);
        }
    mallopt(M_PERTURB, 0);
    own_end(&own);
}
END_TEST

START_TEST(edges_address_prefix_must_name_the_plugin)
{
    static const char *const others[] = {
        "mem://1", "loop", "loop:mem://1", "loo+mem://1", "loops+mem://1", ""};
    struct own own;

    own_begin(&own, 0);
    ck_assert(na_addr_is_for(own.na_class, "loop+mem://1"));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ck_assert_msg(!na_addr_is_for(own.na_class, others[i]),
            "\"%s\" is taken for an address that names the plugin", others[i]);
    own_end(&own);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_add_test(tcase, edges_address_prefix_must_name_the_plugin);
    tcase_add_test(tcase, edges_message_without_callback_frees_its_source);
    tcase_add_test(tcase, edges_multi_receive_of_the_smallest_buffer);
    tcase_add_test(tcase, edges_reused_memory_is_zeroed);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "na_edges", add);
}
