/* SPDX-License-Identifier: BSD-3-Clause */
/* Several contexts of an NA class, addressed by their ids. */
#include "log_watch.h"
#include "na_pair.h"

#include <stdlib.h>

/* A class with two contexts, and the messages that each received. */
struct two {
    na_class_t *na_class;
    na_context_t *contexts[2];
    na_op_id_t *ops[2];
    void *buffers[2];
    void *data[2];
    size_t size;
    na_tag_t tags[2];
    unsigned int called[2];
};

static struct two two;

static void
two_received(const struct na_cb_info *info)
{
    const unsigned int *at = info->arg;

    ck_assert_int_eq(info->ret, NA_SUCCESS);
    two.tags[*at] = info->info.recv_unexpected.tag;
    two.called[*at]++;
    ck_assert_int_eq(
        NA_Addr_free(two.na_class, info->info.recv_unexpected.source),
        NA_SUCCESS);
}

static void
two_step(na_class_t *na_class, na_context_t *context)
{
    unsigned int count;
    na_return_t ret = NA_Progress(na_class, context, 1);

    ck_assert(ret == NA_SUCCESS || ret == NA_TIMEOUT);
    do {
        ck_assert_int_eq(NA_Trigger(context, 1, &count), NA_SUCCESS);
    } while (count > 0);
}

static void
two_begin(void)
{
    static unsigned int numbers[2] = {0, 1};
    struct na_init_info info = NA_INIT_INFO_INITIALIZER;

    info.max_contexts = 2;
    two.na_class =
        NA_Initialize_opt2(session_transport(), true, NA_VERSION(5, 0), &info);
    ck_assert_ptr_nonnull(two.na_class);
    two.contexts[0] = NA_Context_create(two.na_class);
    ck_assert_ptr_nonnull(two.contexts[0]);
    two.contexts[1] = NA_Context_create_id(two.na_class, 1);
    ck_assert_ptr_nonnull(two.contexts[1]);
    ck_assert_ptr_null(NA_Context_create_id(two.na_class, 1));
    ck_assert_ptr_null(NA_Context_create_id(two.na_class, 2));
    two.size = NA_Msg_get_max_unexpected_size(two.na_class);
    for (unsigned int i = 0; i < 2; i++) {
        two.buffers[i] =
            NA_Msg_buf_alloc(two.na_class, two.size, NA_RECV, &two.data[i]);
        two.ops[i] = NA_Op_create(two.na_class, NA_OP_SINGLE);
        ck_assert_int_eq(
            NA_Msg_recv_unexpected(two.na_class, two.contexts[i], two_received,
                &numbers[i], two.buffers[i], two.size, two.data[i], two.ops[i]),
            NA_SUCCESS);
    }
}

static void
two_end(void)
{
    for (unsigned int i = 0; i < 2; i++) {
        NA_Op_destroy(two.na_class, two.ops[i]);
        NA_Msg_buf_free(two.na_class, two.buffers[i], two.data[i]);
        ck_assert_int_eq(
            NA_Context_destroy(two.na_class, two.contexts[i]), NA_SUCCESS);
    }
    ck_assert_int_eq(NA_Finalize(two.na_class), NA_SUCCESS);
}

START_TEST(context_receives_messages_with_its_id)
{
    struct na_pair pair;
    struct na_end send;
    char name[256];
    size_t size = sizeof name;
    na_addr_t *self, *addr;

    na_pair_begin(&pair, _i);
    log_expect("context", 0, 2);
    two_begin();
    ck_assert_int_eq(NA_Addr_self(two.na_class, &self), NA_SUCCESS);
    ck_assert_int_eq(
        NA_Addr_to_string(two.na_class, name, &size, self), NA_SUCCESS);
    ck_assert_int_eq(NA_Addr_free(two.na_class, self), NA_SUCCESS);
    ck_assert_int_eq(NA_Addr_lookup(pair.na_class, name, &addr), NA_SUCCESS);
    for (unsigned int to = 2; to-- > 0;) {
        na_end_open(
            &pair, &send, NA_Msg_get_max_unexpected_size(pair.na_class));
        ck_assert_int_eq(NA_Msg_init_unexpected(
                             pair.na_class, send.buffer, send.buffer_size),
            NA_SUCCESS);
        ck_assert_int_eq(
            NA_Msg_send_unexpected(pair.na_class, pair.context, na_end_called,
                &send, send.buffer, na_send_header(&pair) + 1, send.buffer_data,
                addr, (uint8_t) to, 40 + to, send.op),
            NA_SUCCESS);
        while (two.called[to] == 0) {
            na_pair_step(&pair, 0);
            for (unsigned int i = 0; i < 2; i++)
                two_step(two.na_class, two.contexts[i]);
        }
        na_pair_wait(&pair, &send, 1);
        ck_assert_uint_eq(two.called[to], 1);
        ck_assert_uint_eq(two.called[1 - to], to == 0);
        ck_assert_uint_eq(two.tags[to], 40 + to);
        na_end_close(&pair, &send);
    }
    ck_assert_int_eq(NA_Addr_free(pair.na_class, addr), NA_SUCCESS);
    two_end();
    na_pair_end(&pair);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, context_receives_messages_with_its_id);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "na_context", add);
}
