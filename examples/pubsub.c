/* SPDX-License-Identifier: BSD-3-Clause */
/* Publish and subscribe.
 *
 *   pubsub serve INFO                              prints its address; SIGTERM ends it
 *   pubsub subscribe INFO ADDRESS TOPIC [COUNT]    prints texts, COUNT at most
 *   pubsub publish INFO ADDRESS TOPIC TEXT...
 *
 * Shows RPCs without responses: their callback runs when the request was sent. The
 * server keeps the addresses of its subscribers, and drops one as soon as a text
 * cannot be sent to it. A subscriber listens, hence is a server, too. */
#include <mercury.h>
#include <mercury_macros.h>
#include <mercury_proc_string.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

MERCURY_GEN_PROC(subscribe_in_t, ((hg_const_string_t) (topic)))
MERCURY_GEN_PROC(subscribe_out_t, ((int32_t) (ret)))
MERCURY_GEN_PROC(
    text_in_t, ((hg_const_string_t) (topic))((hg_const_string_t) (text)))

struct subscriber {
    LIST_ENTRY(subscriber) next;
    char *topic;
    hg_class_t *hg_class;
    hg_addr_t addr;
    unsigned int under_way; /* texts being sent */
    int lost;
};

static LIST_HEAD(, subscriber) subscribers = LIST_HEAD_INITIALIZER(subscribers);
static hg_id_t subscribe_id, publish_id, notify_id;
static volatile sig_atomic_t stop;
static long printed, wanted = -1;

static void
on_signal(int number)
{
    (void) number;
    stop = 1;
}

static void
progress(hg_context_t *context)
{
    unsigned int count;

    HG_Progress(context, 100);
    do
        count = 0;
    while (HG_Trigger(context, 0, 1, &count) == HG_SUCCESS && count > 0);
}

/* The server. */

static void
subscriber_free(struct subscriber *subscriber)
{
    LIST_REMOVE(subscriber, next);
    HG_Addr_free(subscriber->hg_class, subscriber->addr);
    free(subscriber->topic);
    free(subscriber);
}

static hg_return_t
add_subscriber(const struct hg_info *info, const char *topic)
{
    struct subscriber *subscriber = calloc(1, sizeof *subscriber);
    hg_return_t ret = HG_NOMEM;

    if (subscriber)
        subscriber->topic = strdup(topic);
    if (subscriber && subscriber->topic)
        ret = HG_Addr_dup(info->hg_class, info->addr, &subscriber->addr);
    if (ret == HG_SUCCESS) {
        subscriber->hg_class = info->hg_class;
        LIST_INSERT_HEAD(&subscribers, subscriber, next);
        return HG_SUCCESS;
    }
    if (subscriber)
        free(subscriber->topic);
    free(subscriber);
    return ret;
}

static hg_return_t
on_subscribe(hg_handle_t handle)
{
    subscribe_in_t in;
    subscribe_out_t out;
    hg_return_t ret = HG_Get_input(handle, &in);

    if (ret != HG_SUCCESS)
        return ret; /* is the response */
    out.ret = in.topic ? (int32_t) add_subscriber(HG_Get_info(handle), in.topic)
                       : HG_INVALID_ARG;
    HG_Free_input(handle, &in);
    ret = HG_Respond(handle, NULL, NULL, &out);
    HG_Destroy(handle);
    return ret;
}

/* A text has left, or could not. */
static hg_return_t
notified(const struct hg_cb_info *info)
{
    struct subscriber *subscriber = info->arg;

    HG_Destroy(info->info.forward.handle);
    if (info->ret != HG_SUCCESS)
        subscriber->lost = 1;
    if (--subscriber->under_way == 0 && subscriber->lost)
        subscriber_free(subscriber);
    return HG_SUCCESS;
}

static void
notify(
    hg_context_t *context, struct subscriber *subscriber, const text_in_t *in)
{
    text_in_t copy = *in;
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_return_t ret = HG_Create(context, subscriber->addr, notify_id, &handle);

    if (ret == HG_SUCCESS)
        ret = HG_Forward(handle, notified, subscriber, &copy);
    if (ret == HG_SUCCESS) {
        subscriber->under_way++;
        return;
    }
    HG_Destroy(handle);
    subscriber->lost = 1;
    if (subscriber->under_way == 0)
        subscriber_free(subscriber);
}

static hg_return_t
on_publish(hg_handle_t handle)
{
    hg_context_t *context = HG_Get_info(handle)->context;
    struct subscriber *subscriber, *next;
    text_in_t in;
    hg_return_t ret = HG_Get_input(handle, &in);

    if (ret == HG_SUCCESS) {
        for (subscriber = LIST_FIRST(&subscribers); subscriber;
             subscriber = next) {
            next = LIST_NEXT(subscriber, next);
            if (in.topic && !subscriber->lost &&
                strcmp(subscriber->topic, in.topic) == 0)
                notify(context, subscriber, &in);
        }
        HG_Free_input(handle, &in);
    }
    HG_Destroy(handle);
    return HG_SUCCESS;
}

static int
server(hg_class_t *hg_class, hg_context_t *context)
{
    char text[256];
    hg_size_t size = sizeof text;
    hg_addr_t self;
    struct subscriber *subscriber;

    signal(SIGTERM, on_signal);
    if (HG_Addr_self(hg_class, &self) != HG_SUCCESS)
        return 1;
    if (HG_Addr_to_string(hg_class, text, &size, self) == HG_SUCCESS) {
        puts(text);
        fflush(stdout);
    }
    HG_Addr_free(hg_class, self);
    while (!stop)
        progress(context);
    while ((subscriber = LIST_FIRST(&subscribers)) != NULL)
        if (subscriber->under_way == 0)
            subscriber_free(subscriber);
        else
            progress(context);
    return 0;
}

/* Publishers and subscribers. */

static hg_return_t
on_notify(hg_handle_t handle)
{
    text_in_t in;

    if (HG_Get_input(handle, &in) == HG_SUCCESS) {
        if (in.text && printed != wanted && puts(in.text) >= 0)
            printed++;
        fflush(stdout);
        HG_Free_input(handle, &in);
    }
    HG_Destroy(handle);
    return HG_SUCCESS;
}

struct call {
    int ended;
    hg_return_t ret;
};

static hg_return_t
called(const struct hg_cb_info *info)
{
    struct call *call = info->arg;

    call->ret = info->ret;
    call->ended = 1;
    return HG_SUCCESS;
}

static hg_return_t
subscribed(const struct hg_cb_info *info)
{
    struct call *call = info->arg;
    subscribe_out_t out;

    called(info);
    if (call->ret == HG_SUCCESS)
        call->ret = HG_Get_output(info->info.forward.handle, &out);
    if (call->ret == HG_SUCCESS) {
        call->ret = (hg_return_t) out.ret;
        HG_Free_output(info->info.forward.handle, &out);
    }
    return HG_SUCCESS;
}

/* Calls the server, and waits until the callback has run. */
static hg_return_t
call_server(hg_context_t *context, hg_addr_t addr, hg_id_t id,
    hg_return_t (*callback)(const struct hg_cb_info *info), void *in)
{
    struct call call = {0};
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_return_t ret = HG_Create(context, addr, id, &handle);

    if (ret == HG_SUCCESS)
        ret = HG_Forward(handle, callback, &call, in);
    while (ret == HG_SUCCESS && !call.ended)
        progress(context);
    HG_Destroy(handle);
    return ret == HG_SUCCESS ? call.ret : ret;
}

static int
client(hg_class_t *hg_class, hg_context_t *context, int argc, char **argv)
{
    int is_publisher = strcmp(argv[1], "publish") == 0;
    hg_addr_t addr = HG_ADDR_NULL;
    hg_return_t ret = HG_Addr_lookup(hg_class, argv[3], &addr);

    if (is_publisher)
        for (int i = 5; ret == HG_SUCCESS && i < argc; i++) {
            text_in_t in = {argv[4], argv[i]};

            ret = call_server(context, addr, publish_id, called, &in);
        }
    else if (ret == HG_SUCCESS) {
        subscribe_in_t in = {argv[4]};

        if (argc > 5)
            wanted = atol(argv[5]);
        signal(SIGTERM, on_signal);
        ret = call_server(context, addr, subscribe_id, subscribed, &in);
        while (ret == HG_SUCCESS && !stop && printed != wanted)
            progress(context);
    }
    HG_Addr_free(hg_class, addr);
    if (ret != HG_SUCCESS)
        fprintf(stderr, "%s: %s\n", argv[3], HG_Error_to_string(ret));
    return ret == HG_SUCCESS ? 0 : 1;
}

int
main(int argc, char **argv)
{
    int is_server = argc == 3 && strcmp(argv[1], "serve") == 0;
    int is_subscriber = argc >= 5 && strcmp(argv[1], "subscribe") == 0;
    int is_publisher = argc >= 6 && strcmp(argv[1], "publish") == 0;
    hg_class_t *hg_class;
    hg_context_t *context;
    int status;

    if (!is_server && !is_subscriber && !is_publisher) {
        fprintf(stderr, "usage: pubsub serve INFO\n"
                        "       pubsub subscribe INFO ADDRESS TOPIC [COUNT]\n"
                        "       pubsub publish INFO ADDRESS TOPIC TEXT...\n");
        return 2;
    }
    hg_class = HG_Init(argv[2], is_server || is_subscriber);
    context = hg_class ? HG_Context_create(hg_class) : NULL;
    if (!context)
        return 1; /* the library has logged the reason */
    subscribe_id = MERCURY_REGISTER(hg_class, "subscribe", subscribe_in_t,
        subscribe_out_t, is_server ? on_subscribe : NULL);
    publish_id = MERCURY_REGISTER(
        hg_class, "publish", text_in_t, void, is_server ? on_publish : NULL);
    notify_id = MERCURY_REGISTER(
        hg_class, "notify", text_in_t, void, is_subscriber ? on_notify : NULL);
    HG_Registered_disable_response(hg_class, publish_id, HG_TRUE);
    HG_Registered_disable_response(hg_class, notify_id, HG_TRUE);
    status = is_server ? server(hg_class, context)
                       : client(hg_class, context, argc, argv);
    HG_Context_destroy(context);
    HG_Finalize(hg_class);
    return status;
}
