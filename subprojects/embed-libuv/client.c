/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls a uv-server COUNT times at once, from a libuv loop:
 *
 *   uv-client INFO ADDRESS TEXT DELAY_MS COUNT
 *
 * prints the number of answers. Exit status 1 if a call failed or brought another
 * text.
 */
#include "rpcs.h"
#include "talaria_uv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct client {
    struct talaria_uv uv;
    const char *text;
    unsigned long left;
    bool failed;
};

static void
stopped(struct talaria_uv *uv)
{
    (void) uv; /* the loop has nothing left, and uv_run returns */
}

static void
call_ended(struct client *client, hg_return_t ret)
{
    if (ret != HG_SUCCESS && !client->failed) {
        fprintf(stderr, "the first failed call: %s\n", HG_Error_to_string(ret));
        client->failed = true;
    }
    if (--client->left == 0)
        talaria_uv_stop(&client->uv, stopped);
}

static hg_return_t
answered(const struct hg_cb_info *info)
{
    struct client *client = info->arg;
    hg_handle_t handle = info->info.forward.handle;
    hg_return_t ret = info->ret;
    later_out_t out;

    if (ret == HG_SUCCESS)
        ret = HG_Get_output(handle, &out);
    if (ret == HG_SUCCESS) {
        if (strcmp(out.text, client->text) != 0)
            ret = HG_PROTOCOL_ERROR;
        HG_Free_output(handle, &out);
    }
    HG_Destroy(handle);
    call_ended(client, ret);
    return HG_SUCCESS;
}

static void
failed(struct talaria_uv *uv, hg_return_t ret)
{
    (void) uv;
    fprintf(stderr, "the transport failed: %s\n", HG_Error_to_string(ret));
    exit(1);
}

static void
call(struct client *client, hg_addr_t server, hg_id_t id, uint32_t delay_ms)
{
    later_in_t in = {.text = client->text, .delay_ms = delay_ms};
    hg_handle_t handle;
    hg_return_t ret = HG_Create(client->uv.context, server, id, &handle);

    if (ret == HG_SUCCESS) {
        ret = HG_Forward(handle, answered, client, &in);
        if (ret != HG_SUCCESS)
            HG_Destroy(handle);
    }
    if (ret != HG_SUCCESS)
        call_ended(client, ret);
}

static int
run(struct client *client, hg_context_t *context, hg_addr_t server, hg_id_t id,
    uint32_t delay_ms)
{
    uv_loop_t *loop = uv_default_loop();
    unsigned long count = client->left;
    int ret = talaria_uv_start(&client->uv, loop, context, failed);

    if (ret != 0) {
        fprintf(stderr, "cannot start: %s\n", uv_strerror(ret));
        return 1;
    }
    for (unsigned long i = 0; i < count; i++)
        call(client, server, id, delay_ms);
    uv_run(loop, UV_RUN_DEFAULT);
    uv_loop_close(loop);
    if (client->failed)
        return 1;
    printf("%lu\n", count);
    return 0;
}

int
main(int argc, char **argv)
{
    struct client client = {.text = argc == 6 ? argv[3] : NULL};
    hg_context_t *context = NULL;
    hg_addr_t server = HG_ADDR_NULL;
    hg_class_t *hg_class;
    hg_return_t ret;
    hg_id_t id = 0;
    int status = 1;

    if (argc == 6)
        client.left = strtoul(argv[5], NULL, 10);
    if (client.left == 0 || client.left > 100000) {
        fprintf(stderr, "usage: uv-client INFO ADDRESS TEXT DELAY_MS COUNT\n");
        return 2;
    }
    hg_class = HG_Init(argv[1], HG_FALSE);
    if (!hg_class)
        return 1; /* the log has the reason */
    context = HG_Context_create(hg_class);
    id = context ? rpcs_register(hg_class, NULL) : 0;
    ret =
        id != 0 ? HG_Addr_lookup2(hg_class, argv[2], &server) : HG_OTHER_ERROR;
    if (ret == HG_SUCCESS)
        status = run(&client, context, server, id,
            (uint32_t) strtoul(argv[4], NULL, 10));
    else
        fprintf(stderr, "%s: %s\n", argv[2], HG_Error_to_string(ret));
    HG_Addr_free(hg_class, server);
    if (context && HG_Context_destroy(context) != HG_SUCCESS)
        status = 1;
    return HG_Finalize(hg_class) == HG_SUCCESS ? status : 1;
}
