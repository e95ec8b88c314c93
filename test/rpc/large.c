/* SPDX-License-Identifier: BSD-3-Clause */
/* Handlers of RPCs with large responses. */
#include "large.h"

static hg_id_t ids[LARGE_COUNT];

struct large_shared *
large_shared(void)
{
    return (struct large_shared *) ((char *) session_user() + RPCS_USER_OFFSET);
}

hg_return_t
large_make(hg_handle_t handle)
{
    uint32_t size = atomic_load(&large_shared()->size);
    blob_t out = blob_make(size > 0 ? size : LARGE, 1);
    hg_return_t ret = HG_Respond(handle, rpcs_on_responded, NULL, &out);

    blob_free(&out);
    if (ret == HG_SUCCESS)
        atomic_fetch_add(&large_shared()->made, 1);
    else
        TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return ret;
}

static hg_return_t
on_echo(hg_handle_t handle)
{
    blob_t blob;
    hg_return_t ret;

    TARGET_ASSERT(HG_Get_input(handle, &blob) == HG_SUCCESS);
    ret = HG_Respond(handle, NULL, NULL, &blob);
    TARGET_ASSERT(HG_Free_input(handle, &blob) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return ret;
}

void
large_open(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    ids[LARGE_MAKE] =
        MERCURY_REGISTER(hg_class, "large_make", void, blob_t, large_make);
    ids[LARGE_ECHO] =
        MERCURY_REGISTER(hg_class, "large_echo", blob_t, blob_t, on_echo);
}

hg_id_t
large_id(enum large large)
{
    return ids[large];
}

bool
large_fetches(int mode)
{
    return session_mode_at(mode)->shape != SESSION_SELF;
}
