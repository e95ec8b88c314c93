/* SPDX-License-Identifier: BSD-3-Clause */
/* Which way a request came, and addresses of either. */
#include "two_ways.h"

#include <string.h>
#include <unistd.h>

_Static_assert(
    sizeof(struct ways_seen) <= RPCS_USER_OFFSET, "the rest is a case's");

static hg_id_t who_id, back_id;

hg_id_t
ways_who(void)
{
    return who_id;
}

hg_id_t
ways_back(void)
{
    return back_id;
}

struct ways_seen *
ways_seen(void)
{
    return session_user();
}

static hg_return_t
on_who(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    char text[256] = "";
    hg_size_t size = sizeof text;
    hg_return_t ret =
        HG_Addr_to_string(info->hg_class, text, &size, info->addr);

    /* Over UCX who does not listen has no string. */
    TARGET_ASSERT(
        ret == HG_SUCCESS || (ret == HG_OPNOTSUPPORTED &&
                                 strncmp(session_transport(), "ucx+", 4) == 0));
    TARGET_ASSERT(!strstr(text, "#sm="));
    if (strncmp(text, "na+sm://", 8) == 0)
        atomic_fetch_add(&ways_seen()->near, 1);
    else
        atomic_fetch_add(&ways_seen()->far, 1);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

static hg_return_t
came_back(const struct hg_cb_info *info)
{
    hg_handle_t asked = info->arg;

    TARGET_ASSERT(info->ret == HG_SUCCESS);
    TARGET_ASSERT(HG_Respond(asked, NULL, NULL, NULL) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(asked) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(info->info.forward.handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

/* Calls who called, and answers afterwards. */
static hg_return_t
on_back(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    hg_handle_t further;
    hg_addr_t copy;

    TARGET_ASSERT(HG_Addr_dup(info->hg_class, info->addr, &copy) == HG_SUCCESS);
    TARGET_ASSERT(HG_Addr_cmp(info->hg_class, info->addr, copy) == HG_TRUE);
    TARGET_ASSERT(HG_Create(info->context, copy, rpcs_id(RPC_EMPTY),
                      &further) == HG_SUCCESS);
    TARGET_ASSERT(HG_Addr_free(info->hg_class, copy) == HG_SUCCESS);
    TARGET_ASSERT(HG_Forward(further, came_back, handle, NULL) == HG_SUCCESS);
    return HG_SUCCESS;
}

void
ways_open(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    who_id = MERCURY_REGISTER(hg_class, "who", void, void, on_who);
    back_id = MERCURY_REGISTER(hg_class, "back", void, void, on_back);
}

/* The target's init runs in another process, or thread. */
static pid_t test_process;
static pthread_t test_thread;

bool
ways_at_origin(void)
{
    return getpid() == test_process &&
           pthread_equal(pthread_self(), test_thread);
}

void
ways_init(struct hg_init_info *info)
{
    info->auto_sm = 1;
    info->no_loopback = 0;
}

const struct session_setup ways_setup = {
    .open = ways_open, .stopping = rpcs_stopping, .init = ways_init};

void
ways_begin(struct session *s, int mode, const struct session_setup *setup)
{
    test_process = getpid();
    test_thread = pthread_self();
    session_begin(s, mode, setup);
}

bool
ways_self(int mode)
{
    return session_mode_at(mode)->shape == SESSION_SELF;
}

uint32_t
ways_sent_far(void)
{
    return session_is_loop() ? loop_submitted(LOOP_SEND_UNEXPECTED) : 0;
}

void
ways_ck(struct session *s, uint32_t near, uint32_t far)
{
    hg_handle_t handle = session_handle(s, who_id);

    for (uint32_t i = 0; i < near + far; i++)
        ck_assert_int_eq(session_forward(s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    ck_assert_uint_eq(ways_seen()->near, near);
    ck_assert_uint_eq(ways_seen()->far, far);
    if (session_is_loop() || far == 0)
        ck_assert_uint_eq(ways_sent_far(), far);
}

void
ways_move(char *address)
{
    char *id = strstr(address, "#sm=");

    ck_assert_ptr_nonnull(id);
    id[4] = id[4] == '0' ? '1' : '0';
}

hg_addr_t
ways_look_up(struct session *s, const char *address)
{
    hg_addr_t addr;

    ck_assert_int_eq(HG_Addr_lookup2(s->hg_class, address, &addr), HG_SUCCESS);
    return addr;
}

hg_addr_t
ways_far(struct session *s)
{
    char address[sizeof s->address];

    memcpy(address, s->address, sizeof address);
    ways_move(address);
    return ways_look_up(s, address);
}
