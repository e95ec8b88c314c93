/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses: lookup, strings, copies, comparison, self, and unreachable
 * ones. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct session_setup setup = {
    .open = rpcs_open, .stopping = rpcs_stopping};
static const struct session_setup setup_listening = {
    .open = rpcs_open, .stopping = rpcs_stopping, .origin_listens = true};

START_TEST(addr_string_names_the_same_peer)
{
    struct session s;
    hg_addr_t again;
    hg_size_t needed = 0, size;
    char text[sizeof s.address];

    session_begin(&s, _i, &setup);
    ck_assert_int_eq(
        HG_Addr_to_string(s.hg_class, NULL, &needed, s.target), HG_SUCCESS);
    ck_assert_uint_eq(needed, strlen(s.address) + 1);
    size = needed;
    memset(text, 'x', sizeof text);
    ck_assert_int_eq(
        HG_Addr_to_string(s.hg_class, text, &size, s.target), HG_SUCCESS);
    ck_assert_uint_eq(size, needed);
    ck_assert_str_eq(text, s.address);
    ck_assert_int_eq(text[needed], 'x');
    size = needed - 1;
    ck_assert_int_eq(
        HG_Addr_to_string(s.hg_class, text, &size, s.target), HG_OVERFLOW);
    ck_assert_uint_eq(size, needed);
    ck_assert_int_eq(HG_Addr_lookup2(s.hg_class, text, &again), HG_SUCCESS);
    ck_assert_uint_eq(HG_Addr_cmp(s.hg_class, again, s.target), 1);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, again), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(addr_null_is_rejected_except_by_free)
{
    struct session s;
    hg_addr_t addr = HG_ADDR_NULL;
    hg_size_t size = 0;

    session_begin(&s, _i, &setup);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, HG_ADDR_NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_lookup2(s.hg_class, NULL, &addr), HG_INVALID_ARG);
    ck_assert_int_eq(
        HG_Addr_lookup2(s.hg_class, s.address, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Addr_lookup2(NULL, s.address, &addr), HG_INVALID_ARG);
    ck_assert_int_eq(
        HG_Addr_dup(s.hg_class, HG_ADDR_NULL, &addr), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Addr_dup(s.hg_class, s.target, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Addr_self(s.hg_class, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Addr_self(NULL, &addr), HG_INVALID_ARG);
    ck_assert_int_eq(HG_Addr_to_string(s.hg_class, NULL, &size, HG_ADDR_NULL),
        HG_INVALID_ARG);
    ck_assert_int_eq(
        HG_Addr_to_string(s.hg_class, NULL, NULL, s.target), HG_INVALID_ARG);
    ck_assert_int_eq(
        HG_Addr_set_remove(s.hg_class, HG_ADDR_NULL), HG_INVALID_ARG);
    ck_assert_uint_eq(HG_Addr_cmp(s.hg_class, HG_ADDR_NULL, s.target), 0);
    ck_assert_uint_eq(HG_Addr_cmp(s.hg_class, s.target, HG_ADDR_NULL), 0);
    ck_assert_uint_eq(HG_Addr_cmp(s.hg_class, HG_ADDR_NULL, HG_ADDR_NULL), 0);
    ck_assert_ptr_null(addr);
    session_end(&s);
}
END_TEST

START_TEST(addr_copy_outlives_the_original)
{
    struct session s;
    hg_addr_t first, second, third;
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    ck_assert_int_eq(
        HG_Addr_lookup2(s.hg_class, s.address, &first), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_dup(s.hg_class, first, &second), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, first), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_dup(s.hg_class, second, &third), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, second), HG_SUCCESS);
    ck_assert_uint_eq(HG_Addr_cmp(s.hg_class, third, s.target), 1);
    ck_assert_int_eq(
        HG_Create(s.context, third, rpcs_id(RPC_EMPTY), &handle), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, third), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(addr_self_calls_own_class)
{
    struct session s;
    hg_addr_t self, copy, looked_up;
    hg_handle_t handle;
    char text[256];
    hg_size_t size = sizeof text;

    session_begin(&s, _i, &setup_listening);
    ck_assert_int_eq(HG_Addr_self(s.hg_class, &self), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_dup(s.hg_class, self, &copy), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Addr_to_string(s.hg_class, text, &size, self), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_lookup2(s.hg_class, text, &looked_up), HG_SUCCESS);
    ck_assert_uint_eq(HG_Addr_cmp(s.hg_class, self, copy), 1);
    ck_assert_uint_eq(HG_Addr_cmp(s.hg_class, self, looked_up), 1);
    ck_assert_uint_eq(
        HG_Addr_cmp(s.hg_class, self, s.target), s.mode->shape == SESSION_SELF);
    ck_assert_int_eq(
        HG_Create(s.context, copy, rpcs_id(RPC_EMPTY), &handle), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Reset(handle, looked_up, 0), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, self), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, copy), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, looked_up), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* auto_sm has its own string form. */
START_TEST(addr_of_mercury_is_rejected_with_reason)
{
    struct session s;
    hg_addr_t addr = HG_ADDR_NULL;

    session_begin(&s, _i, &setup);
    log_expect("uses Mercury", 1, 1);
    ck_assert_int_eq(
        HG_Addr_lookup2(s.hg_class,
            "uid://8323328#na+sm://12297-0#ofi+tcp://192.0.2.2:9", &addr),
        HG_PROTONOSUPPORT);
    ck_assert_ptr_null(addr);
    session_end(&s);
}
END_TEST

START_TEST(addr_lookup_of_malformed_string_fails)
{
    static const char *const wrong[] = {"", "x", "loop", "+", "://",
        "no_such_plugin+tcp://10.0.0.1:1", "sm", "na+", "loop+"};
    struct session s;
    hg_addr_t addr = HG_ADDR_NULL;

    session_begin(&s, _i, &setup);
    log_expect("address", 9, 20);
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        hg_return_t ret = HG_Addr_lookup2(s.hg_class, wrong[i], &addr);

        ck_assert_msg(ret == HG_INVALID_ARG || ret == HG_PROTONOSUPPORT,
            "\"%s\": %s", wrong[i], HG_Error_to_string(ret));
        ck_assert_ptr_null(addr);
    }
    ck_assert_int_eq(
        HG_Addr_lookup2(s.hg_class, "no_such_plugin+tcp://10.0.0.1:1", &addr),
        HG_PROTONOSUPPORT);
    ck_assert_uint_eq(log_count("opened with \"no_such_plugin+tcp\""), 2);
    ck_assert_uint_eq(log_count("\"loop+\" is not an address: it has no"), 1);
    session_end(&s);
}
END_TEST

static hg_return_t
take_looked_up(const struct hg_cb_info *info)
{
    hg_addr_t *addr = info->arg;

    ck_assert_int_eq(info->type, HG_CB_LOOKUP);
    ck_assert_int_eq(info->ret, HG_SUCCESS);
    ck_assert_ptr_null(*addr);
    *addr = info->info.lookup.addr;
    return HG_SUCCESS;
}

START_TEST(addr_lookup_callback_gets_the_address)
{
    struct session s;
    hg_addr_t addr = HG_ADDR_NULL;
    hg_op_id_t op = (hg_op_id_t) &s;

    session_begin(&s, _i, &setup);
    ck_assert_int_eq(
        HG_Addr_lookup(s.context, take_looked_up, &addr, s.address, &op),
        HG_SUCCESS);
    ck_assert_ptr_null(op);
    ck_assert_ptr_null(addr);
    while (!addr)
        session_step(&s, 10);
    ck_assert_uint_eq(HG_Addr_cmp(s.hg_class, addr, s.target), 1);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, addr), HG_SUCCESS);
    addr = HG_ADDR_NULL;
    ck_assert_int_eq(HG_Addr_lookup1(s.context, take_looked_up, &addr,
                         s.address, HG_OP_ID_IGNORE),
        HG_SUCCESS);
    while (!addr)
        session_step(&s, 10);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, addr), HG_SUCCESS);
    log_expect("address", 0, 1);
    addr = HG_ADDR_NULL;
    ck_assert_int_ne(
        HG_Addr_lookup1(s.context, take_looked_up, &addr, "x://y", NULL),
        HG_SUCCESS);
    session_quiet(&s);
    ck_assert_ptr_null(addr);
    ck_assert_int_eq(HG_Addr_lookup(s.hg_class, s.address, &addr), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, addr), HG_SUCCESS);
    session_end(&s);
}
END_TEST

/* Binds the port at the end of an address, so that no other program can use it.
 * Returns the socket, or -1 if the address has no port. */
static int
bind_port(const char *text)
{
    struct sockaddr_in6 any = {.sin6_family = AF_INET6};
    const char *colon = strrchr(text, ':');
    char *end;
    unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
    int fd;

    if (port == 0 || port > UINT16_MAX || *end != '\0')
        return -1;
    any.sin6_port = htons((uint16_t) port);
    fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *) &any, sizeof any) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Returns the address of a class that has been finalized. *port_p keeps its
 * port bound. */
static int
address_of_dead_peer(char text[256])
{
    hg_class_t *hg_class = HG_Init(session_transport(), true);
    hg_size_t size = 256;
    hg_addr_t addr;

    ck_assert_ptr_nonnull(hg_class);
    ck_assert_int_eq(HG_Addr_self(hg_class, &addr), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Addr_to_string(hg_class, text, &size, addr), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(hg_class, addr), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(hg_class), HG_SUCCESS);
    return bind_port(text);
}

START_TEST(addr_of_dead_peer_fails_at_once)
{
    struct session s;
    struct call call = {.called = 0};
    char text[256];
    hg_addr_t unused;
    hg_handle_t handle;
    hg_return_t ret;
    uint64_t begin;
    int port;

    session_begin(&s, _i, &setup);
    port = address_of_dead_peer(text);
    log_expect("connection refused", 0, 1);
    ck_assert_int_eq(HG_Addr_lookup2(s.hg_class, text, &unused), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Create(s.context, unused, rpcs_id(RPC_EMPTY), &handle), HG_SUCCESS);
    begin = session_now_ms();
    for (unsigned i = 0; i < 10; i++) {
        call.called = 0;
        ret = HG_Forward(handle, call_done, &call, NULL);
        if (ret == HG_SUCCESS) {
            session_wait(&s, &call.called, 1);
            ret = call.ret;
        } else {
            session_step(&s, 0);
            ck_assert_uint_eq(call.called, 0);
        }
        ck_assert_msg(ret == HG_HOSTUNREACH || ret == HG_IO_ERROR, "%s",
            HG_Error_to_string(ret));
        ck_assert_int_eq(HG_Ref_get(handle), 1);
    }
    ck_assert_uint_lt(session_now_ms() - begin, 2000);
    /* The same handle still reaches a live target. */
    ck_assert_int_eq(HG_Reset(handle, s.target, 0), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, unused), HG_SUCCESS);
    if (port >= 0)
        close(port);
    session_end(&s);
}
END_TEST

START_TEST(addr_set_remove_then_forward_reconnects)
{
    struct session s;
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    for (unsigned i = 0; i < 10; i++) {
        ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
        ck_assert_int_eq(HG_Addr_set_remove(s.hg_class, s.target), HG_SUCCESS);
    }
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(addr_set_remove_fails_pending_calls)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    blob_t in;

    session_begin(&s, _i, &setup);
    if (s.mode->shape != SESSION_SELF) {
        in = blob_make(10, 1);
        handle = session_handle(&s, rpcs_id(RPC_KEEP));
        ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
        rpcs_wait_handled(&s, RPC_KEEP, 1);
        session_step(&s, 0);
        ck_assert_int_eq(HG_Addr_set_remove(s.hg_class, s.target), HG_SUCCESS);
        session_wait(&s, &call.called, 1);
        ck_assert_int_ne(call.ret, HG_SUCCESS);
        ck_assert_int_ne(call.ret, HG_TIMEOUT);
        ck_assert_int_eq(HG_Ref_get(handle), 1);
        ck_assert_int_eq(
            HG_Reset(handle, s.target, rpcs_id(RPC_EMPTY)), HG_SUCCESS);
        ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
        blob_free(&in);
    }
    session_end(&s);
}
END_TEST

START_TEST(addr_many_are_looked_up_and_freed)
{
    enum { MANY = 200 };
    struct session s;
    hg_addr_t addrs[MANY];

    session_begin(&s, _i, &setup);
    for (unsigned i = 0; i < MANY; i++)
        ck_assert_int_eq(
            HG_Addr_lookup2(s.hg_class, s.address, &addrs[i]), HG_SUCCESS);
    for (unsigned i = 0; i < MANY; i++)
        ck_assert_int_eq(HG_Addr_free(s.hg_class, addrs[i]), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, addr_string_names_the_same_peer);
    session_add(tcase, addr_null_is_rejected_except_by_free);
    session_add(tcase, addr_copy_outlives_the_original);
    session_add(tcase, addr_self_calls_own_class);
    session_add(tcase, addr_of_mercury_is_rejected_with_reason);
    session_add(tcase, addr_lookup_of_malformed_string_fails);
    session_add(tcase, addr_lookup_callback_gets_the_address);
    session_add(tcase, addr_of_dead_peer_fails_at_once);
    session_add(tcase, addr_set_remove_then_forward_reconnects);
    session_add(tcase, addr_set_remove_fails_pending_calls);
    session_add(tcase, addr_many_are_looked_up_and_freed);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "addr", add);
}
