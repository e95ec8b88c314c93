/* SPDX-License-Identifier: BSD-3-Clause */
/* A key-value store.
 *
 *   kv serve INFO [THREADS]         prints its address; SIGTERM ends it
 *   kv put INFO ADDRESS KEY         stores standard input
 *   kv get INFO ADDRESS KEY         prints the value
 *   kv remove INFO ADDRESS KEY
 *
 * Shows: RPCs with serialized structs; values of any size by bulk transfers, which
 * the server starts; handlers in several threads; a deadline; a server that ends
 * what it has begun before it stops. */
#include <mercury.h>
#include <mercury_macros.h>
#include <mercury_proc_bulk.h>
#include <mercury_proc_string.h>
#include <talaria.h>

#include <pthread.h>
#include <search.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEADLINE_MS 10000
#define VALUE_MAX (64U << 20) /* bytes of a value */
#define THREADS_MAX 64

/* bytes: the client's memory, which the server reads (put) or writes (get) */
MERCURY_GEN_PROC(kv_in_t, ((hg_const_string_t) (key))((hg_bulk_t) (bytes)))
/* size: of the value, also if it was larger than the client's memory */
MERCURY_GEN_PROC(kv_out_t, ((int32_t) (ret))((uint64_t) (size)))

/* The store: a tree of values, ordered by key. A transfer keeps a reference, so
 * that its value can be replaced or removed meanwhile. */
struct value {
    char *key;
    void *bytes;
    hg_size_t size;
    atomic_int refs;
};

static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;
static void *store;

static int
compare(const void *a, const void *b)
{
    return strcmp(
        ((const struct value *) a)->key, ((const struct value *) b)->key);
}

static struct value *
value_new(const char *key, hg_size_t size)
{
    struct value *value = calloc(1, sizeof *value);

    if (!value)
        return NULL;
    value->key = strdup(key);
    value->bytes = malloc(size + 1); /* never 0 bytes */
    value->size = size;
    atomic_init(&value->refs, 1);
    if (value->key && value->bytes)
        return value;
    free(value->bytes);
    free(value->key);
    free(value);
    return NULL;
}

static void
value_release(struct value *value)
{
    if (!value || atomic_fetch_sub(&value->refs, 1) > 1)
        return;
    free(value->bytes);
    free(value->key);
    free(value);
}

/* Returns the value with a reference for the caller, or NULL. */
static struct value *
store_get(const char *key)
{
    struct value wanted = {.key = (char *) key};
    struct value **found;
    struct value *value = NULL;

    pthread_mutex_lock(&store_lock);
    found = tfind(&wanted, &store, compare);
    if (found) {
        value = *found;
        atomic_fetch_add(&value->refs, 1);
    }
    pthread_mutex_unlock(&store_lock);
    return value;
}

/* Removes a key; returns its value with the store's reference, or NULL. */
static struct value *
store_remove(const char *key)
{
    struct value wanted = {.key = (char *) key};
    struct value **found;
    struct value *value = NULL;

    pthread_mutex_lock(&store_lock);
    found = tfind(&wanted, &store, compare);
    if (found) {
        value = *found;
        tdelete(value, &store, compare);
    }
    pthread_mutex_unlock(&store_lock);
    return value;
}

/* Replaces what has its key. The reference becomes the store's. */
static hg_return_t
store_put(struct value *value)
{
    struct value *old = NULL, **place;

    pthread_mutex_lock(&store_lock);
    place = tsearch(value, &store, compare);
    if (place && *place != value) {
        old = *place;
        *place = value;
    }
    pthread_mutex_unlock(&store_lock);
    value_release(old);
    return place ? HG_SUCCESS : HG_NOMEM;
}

/* A request that is being served. */
struct request {
    hg_handle_t handle;
    kv_in_t in;
    hg_bulk_t local;
    struct value *value;
    int is_put;
};

static atomic_int requests; /* being served */

static hg_return_t
request_new(hg_handle_t handle, struct request **request_p)
{
    struct request *request = calloc(1, sizeof *request);
    hg_return_t ret = request ? HG_Get_input(handle, &request->in) : HG_NOMEM;

    if (ret != HG_SUCCESS) {
        free(request);
        return ret; /* is the response, and the library drops the handle */
    }
    request->handle = handle;
    atomic_fetch_add(&requests, 1);
    *request_p = request;
    return HG_SUCCESS;
}

/* Responds, and frees the request. */
static void
request_end(struct request *request, hg_return_t ret)
{
    kv_out_t out = {ret, request->value ? request->value->size : 0};

    if (ret == HG_SUCCESS && request->is_put) {
        out.ret = store_put(request->value);
        if (out.ret == HG_SUCCESS)
            request->value = NULL; /* the store's */
    }
    if (HG_Respond(request->handle, NULL, NULL, &out) != HG_SUCCESS)
        fprintf(stderr, "a response could not be sent\n");
    value_release(request->value);
    HG_Bulk_free(request->local);
    HG_Free_input(request->handle, &request->in);
    HG_Destroy(request->handle);
    free(request);
    atomic_fetch_sub(&requests, 1);
}

static hg_return_t
transferred(const struct hg_cb_info *info)
{
    request_end(info->arg, info->ret);
    return HG_SUCCESS;
}

/* Moves the value's bytes, or what the client has room for. */
static void
request_transfer(struct request *request, hg_bulk_op_t op, uint8_t access)
{
    const struct hg_info *info = HG_Get_info(request->handle);
    hg_size_t size = request->value->size;
    hg_size_t room = HG_Bulk_get_size(request->in.bytes);
    hg_return_t ret;

    if (room < size)
        size = room;
    if (size == 0) {
        request_end(request, HG_SUCCESS);
        return;
    }
    ret = HG_Bulk_create(info->hg_class, 1, &request->value->bytes,
        &request->value->size, access, &request->local);
    if (ret == HG_SUCCESS)
        ret = HG_Bulk_transfer(info->context, transferred, request, op,
            info->addr, request->in.bytes, 0, request->local, 0, size,
            HG_OP_ID_IGNORE);
    if (ret != HG_SUCCESS)
        request_end(request, ret);
}

static hg_return_t
on_put(hg_handle_t handle)
{
    struct request *request;
    hg_size_t size;
    hg_return_t ret = request_new(handle, &request);

    if (ret != HG_SUCCESS)
        return ret;
    size = HG_Bulk_get_size(request->in.bytes);
    request->is_put = 1;
    if (request->in.key && size <= VALUE_MAX)
        request->value = value_new(request->in.key, size);
    if (request->value)
        request_transfer(request, HG_BULK_PULL, HG_BULK_WRITE_ONLY);
    else
        request_end(request, size > VALUE_MAX ? HG_MSGSIZE : HG_NOMEM);
    return HG_SUCCESS;
}

static hg_return_t
on_get(hg_handle_t handle)
{
    struct request *request;
    hg_return_t ret = request_new(handle, &request);

    if (ret != HG_SUCCESS)
        return ret;
    if (request->in.key)
        request->value = store_get(request->in.key);
    if (request->value)
        request_transfer(request, HG_BULK_PUSH, HG_BULK_READ_ONLY);
    else
        request_end(request, HG_NOENTRY);
    return HG_SUCCESS;
}

static hg_return_t
on_remove(hg_handle_t handle)
{
    struct request *request;
    hg_return_t ret = request_new(handle, &request);

    if (ret != HG_SUCCESS)
        return ret;
    if (request->in.key)
        request->value = store_remove(request->in.key);
    request_end(request, request->value ? HG_SUCCESS : HG_NOENTRY);
    return HG_SUCCESS;
}

/* The names of the RPCs are the commands. */
static const struct {
    const char *name;
    hg_rpc_cb_t handler;
} rpcs[] = {{"put", on_put}, {"get", on_get}, {"remove", on_remove}};

static atomic_int stop;

static void
on_signal(int number)
{
    (void) number;
    atomic_store(&stop, 1);
}

static void *
serve(void *context)
{
    unsigned int count;

    while (!atomic_load(&stop) || atomic_load(&requests) > 0) {
        HG_Progress(context, 100);
        do
            count = 0;
        while (HG_Trigger(context, 0, 1, &count) == HG_SUCCESS && count > 0);
    }
    return NULL;
}

static int
server(hg_class_t *hg_class, hg_context_t *context, int threads)
{
    pthread_t others[THREADS_MAX];
    char text[256];
    hg_size_t size = sizeof text;
    hg_addr_t self;
    int started = 0;

    signal(SIGTERM, on_signal);
    if (HG_Addr_self(hg_class, &self) != HG_SUCCESS)
        return 1;
    if (HG_Addr_to_string(hg_class, text, &size, self) == HG_SUCCESS) {
        puts(text);
        fflush(stdout);
    }
    HG_Addr_free(hg_class, self);
    while (started < threads - 1 && started < THREADS_MAX &&
           pthread_create(&others[started], NULL, serve, context) == 0)
        started++;
    serve(context);
    while (started > 0)
        pthread_join(others[--started], NULL);
    return 0;
}

/* A call of the client. */
struct call {
    int ended;
    hg_return_t ret;
    hg_size_t size;
};

static hg_return_t
responded(const struct hg_cb_info *info)
{
    struct call *call = info->arg;
    kv_out_t out;

    call->ended = 1;
    call->ret = info->ret;
    if (call->ret == HG_SUCCESS)
        call->ret = HG_Get_output(info->info.forward.handle, &out);
    if (call->ret == HG_SUCCESS) {
        call->ret = (hg_return_t) out.ret;
        call->size = out.size;
        HG_Free_output(info->info.forward.handle, &out);
    }
    return HG_SUCCESS;
}

/* Calls the server, which reads or writes the bytes, and waits. */
static struct call
call_server(hg_context_t *context, hg_addr_t addr, hg_id_t id, const char *key,
    void *bytes, hg_size_t size, uint8_t access)
{
    struct call call = {.ret = HG_SUCCESS};
    kv_in_t in = {key, HG_BULK_NULL};
    hg_handle_t handle = HG_HANDLE_NULL;
    unsigned int count;

    call.ret = HG_Bulk_create(
        HG_Context_get_class(context), 1, &bytes, &size, access, &in.bytes);
    if (call.ret == HG_SUCCESS)
        call.ret = HG_Create(context, addr, id, &handle);
    if (call.ret == HG_SUCCESS)
        call.ret = talaria_handle_set_deadline(handle, DEADLINE_MS);
    if (call.ret == HG_SUCCESS)
        call.ret = HG_Forward(handle, responded, &call, &in);
    if (call.ret == HG_SUCCESS)
        while (!call.ended) {
            HG_Progress(context, 100);
            HG_Trigger(context, 0, 1, &count);
        }
    HG_Destroy(handle);
    HG_Bulk_free(in.bytes);
    return call;
}

static int
client(hg_class_t *hg_class, hg_context_t *context, hg_id_t id, char **argv)
{
    int is_put = strcmp(argv[1], "put") == 0;
    int is_get = strcmp(argv[1], "get") == 0;
    hg_size_t room = 1 << 16, size = room, got;
    char *bytes = malloc(VALUE_MAX);
    struct call call = {.ret = HG_NOMEM};
    hg_addr_t addr = HG_ADDR_NULL;

    if (!bytes)
        return 1;
    if (is_put)
        size = fread(bytes, 1, VALUE_MAX, stdin);
    call.ret = HG_Addr_lookup(hg_class, argv[3], &addr);
    if (call.ret == HG_SUCCESS)
        call = call_server(context, addr, id, argv[4], bytes, size,
            is_put ? HG_BULK_READ_ONLY : HG_BULK_WRITE_ONLY);
    /* larger than most: once more, with as much room */
    if (is_get && call.ret == HG_SUCCESS && call.size > room)
        call = call_server(
            context, addr, id, argv[4], bytes, call.size, HG_BULK_WRITE_ONLY);
    if (is_get && call.ret == HG_SUCCESS) {
        got = fwrite(bytes, 1, call.size, stdout);
        if (got != call.size)
            call.ret = HG_IO_ERROR;
    }
    HG_Addr_free(hg_class, addr);
    free(bytes);
    if (call.ret != HG_SUCCESS)
        fprintf(stderr, "%s: %s\n", argv[4], HG_Error_to_string(call.ret));
    return call.ret == HG_SUCCESS ? 0 : 1;
}

int
main(int argc, char **argv)
{
    int is_server = argc >= 3 && strcmp(argv[1], "serve") == 0;
    hg_id_t id = 0;
    hg_class_t *hg_class;
    hg_context_t *context;
    int status = 1;

    if (!is_server && argc != 5) {
        fprintf(stderr, "usage: kv serve INFO [THREADS]\n"
                        "       kv put|get|remove INFO ADDRESS KEY\n");
        return 2;
    }
    hg_class = HG_Init(argv[2], is_server);
    context = hg_class ? HG_Context_create(hg_class) : NULL;
    if (!context)
        return 1; /* the library has logged the reason */
    for (size_t i = 0; i < sizeof rpcs / sizeof rpcs[0]; i++) {
        hg_id_t one = MERCURY_REGISTER(hg_class, rpcs[i].name, kv_in_t,
            kv_out_t, is_server ? rpcs[i].handler : NULL);

        if (strcmp(argv[1], rpcs[i].name) == 0)
            id = one;
    }
    if (is_server)
        status = server(hg_class, context, argc > 3 ? atoi(argv[3]) : 1);
    else if (id != 0)
        status = client(hg_class, context, id, argv);
    else
        fprintf(stderr, "kv: no command %s\n", argv[1]);
    HG_Context_destroy(context);
    HG_Finalize(hg_class);
    return status;
}
