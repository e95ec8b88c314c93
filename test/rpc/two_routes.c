/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the route of requests; addresses of both routes. */
#include "two_routes.h"

#include <string.h>
#include <unistd.h>

_Static_assert(
    sizeof(struct routes_seen) <= RPCS_USER_OFFSET, "the rest is a case's");

static hg_id_t count_id, call_back_id;

hg_id_t
routes_count_id(void)
{
    return count_id;
}

hg_id_t
routes_call_back_id(void)
{
    return call_back_id;
}

struct routes_seen *
routes_seen(void)
{
    return session_user();
}

static hg_return_t
on_count(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    char text[256] = "";
    hg_size_t size = sizeof text;
    hg_return_t ret =
        HG_Addr_to_string(info->hg_class, text, &size, info->addr);

    /* Over UCX a class that does not listen has no string. */
    TARGET_ASSERT(
        ret == HG_SUCCESS || (ret == HG_OPNOTSUPPORTED &&
                                 strncmp(session_transport(), "ucx+", 4) == 0));
    TARGET_ASSERT(!strstr(text, "#sm="));
    if (strncmp(text, "na+sm://", 8) == 0)
        atomic_fetch_add(&routes_seen()->local, 1);
    else
        atomic_fetch_add(&routes_seen()->network, 1);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

static hg_return_t
called_back(const struct hg_cb_info *info)
{
    hg_handle_t asked = info->arg;

    TARGET_ASSERT(info->ret == HG_SUCCESS);
    TARGET_ASSERT(HG_Respond(asked, NULL, NULL, NULL) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(asked) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(info->info.forward.handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

/* Calls its caller back, and responds afterwards. */
static hg_return_t
on_call_back(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    hg_handle_t further;
    hg_addr_t copy;

    TARGET_ASSERT(HG_Addr_dup(info->hg_class, info->addr, &copy) == HG_SUCCESS);
    TARGET_ASSERT(HG_Addr_cmp(info->hg_class, info->addr, copy) == HG_TRUE);
    TARGET_ASSERT(HG_Create(info->context, copy, rpcs_id(RPC_EMPTY),
                      &further) == HG_SUCCESS);
    TARGET_ASSERT(HG_Addr_free(info->hg_class, copy) == HG_SUCCESS);
    TARGET_ASSERT(HG_Forward(further, called_back, handle, NULL) == HG_SUCCESS);
    return HG_SUCCESS;
}

void
routes_open(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    count_id = MERCURY_REGISTER(hg_class, "count", void, void, on_count);
    call_back_id =
        MERCURY_REGISTER(hg_class, "call_back", void, void, on_call_back);
}

/* The target's init runs in another process or thread. */
static pid_t test_process;
static pthread_t test_thread;

bool
routes_at_origin(void)
{
    return getpid() == test_process &&
           pthread_equal(pthread_self(), test_thread);
}

void
routes_init(struct hg_init_info *info)
{
    info->auto_sm = 1;
    info->no_loopback = 0;
}

const struct session_setup routes_setup = {
    .open = routes_open, .stopping = rpcs_stopping, .init = routes_init};

void
routes_begin(struct session *s, int mode, const struct session_setup *setup)
{
    test_process = getpid();
    test_thread = pthread_self();
    session_begin(s, mode, setup);
}

bool
routes_is_self(int mode)
{
    return session_mode_at(mode)->shape == SESSION_SELF;
}

uint32_t
routes_sent_network(void)
{
    return session_is_loop() ? loop_submitted(LOOP_SEND_UNEXPECTED) : 0;
}

void
routes_ck(struct session *s, uint32_t local, uint32_t network)
{
    hg_handle_t handle = session_handle(s, count_id);

    for (uint32_t i = 0; i < local + network; i++)
        ck_assert_int_eq(session_forward(s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    ck_assert_uint_eq(routes_seen()->local, local);
    ck_assert_uint_eq(routes_seen()->network, network);
    if (session_is_loop() || network == 0)
        ck_assert_uint_eq(routes_sent_network(), network);
}

void
routes_change_host(char *address)
{
    char *id = strstr(address, "#sm=");

    ck_assert_ptr_nonnull(id);
    id[4] = id[4] == '0' ? '1' : '0';
}

hg_addr_t
routes_look_up(struct session *s, const char *address)
{
    hg_addr_t addr;

    ck_assert_int_eq(HG_Addr_lookup2(s->hg_class, address, &addr), HG_SUCCESS);
    return addr;
}

hg_addr_t
routes_network_addr(struct session *s)
{
    char address[sizeof s->address];

    memcpy(address, s->address, sizeof address);
    routes_change_host(address);
    return routes_look_up(s, address);
}
