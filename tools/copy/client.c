/* SPDX-License-Identifier: BSD-3-Clause */
/* A client's connection: hello opens it, bye closes it. When the server is
 * lost, all requests in flight fail. */
#include <errno.h>
#include <stdio.h>
#include <sys/random.h>

#include "common/clock.h"
#include "copy/cause.h"
#include "copy/client.h"
#include "copy/report.h"
#include "copy/signal.h"

#define PROGRESS_MS 100
#define BYE_SECONDS 2.0 /* then the client gives up */

/* Bytes of the address before "://", terminated. */
#define INFO_SIZE 128

/* Prints that the server is lost, once, unless the caller does, and cancels the
 * requests in flight. */
static void
disconnect(struct copy_client *client, const char *reason)
{
    if (client->lost)
        return;
    client->lost = true;
    snprintf(client->reason, sizeof(client->reason), "%s",
        client->interrupted ? "interrupted" : reason);
    if (!client->closing && !client->quiet)
        copy_report_error(client->address, client->reason);
    for (unsigned int i = 0; i < client->slot_count; i++)
        if (client->slots[i].busy)
            HG_Cancel(client->slots[i].handle);
}

/* Returns the part of a cause after the address, which is printed anyway. */
static const char *
behind_address(const char *address, const char *cause)
{
    const char *name = strstr(address, "://");
    const char *at = name == NULL ? NULL : strstr(cause, name);

    if (at == NULL || strncmp(at + strlen(name), ": ", 2) != 0)
        return cause;
    return at + strlen(name) + 2;
}

static void
disconnect_by_code(
    struct copy_client *client, enum copy_rpc rpc, hg_return_t ret)
{
    const char *cause = copy_cause_take();
    char reason[sizeof(client->reason)];

    if (cause == NULL)
        snprintf(reason, sizeof(reason), "lost the server: %s (%s)",
            HG_Error_to_string(ret), copy_proto_name(rpc));
    else
        snprintf(reason, sizeof(reason), "%s%s",
            rpc == COPY_HELLO ? "" : "lost the server: ",
            behind_address(client->address, cause));
    disconnect(client, reason);
}

/* Prints an error with the cause that the library has logged, or `reason`. */
static void
report_cause(const char *subject, const char *reason)
{
    const char *cause = copy_cause_take();

    copy_report_error(
        subject, cause != NULL ? behind_address(subject, cause) : reason);
}

int
copy_client_path_check(const struct copy_client *client, const char *path)
{
    return strlen(path) > client->path_max ? ENAMETOOLONG : 0;
}

struct copy_slot *
copy_client_slot(struct copy_client *client)
{
    struct copy_slot *slot = client->free_slots;

    if (slot == NULL)
        return NULL;
    client->free_slots = slot->next_free;
    client->busy++;
    return slot;
}

void
copy_client_slot_free(struct copy_slot *slot)
{
    slot->next_free = slot->client->free_slots;
    slot->client->free_slots = slot;
    slot->client->busy--;
}

static void
finish(struct copy_slot *slot, hg_return_t ret)
{
    slot->ret = ret;
    slot->busy = false;
    slot->answered(slot, slot->arg);
    copy_client_slot_free(slot);
}

static hg_return_t
on_answer(const struct hg_cb_info *info)
{
    finish(info->arg, info->ret);
    return HG_SUCCESS;
}

void
copy_slot_send(struct copy_slot *slot, enum copy_rpc rpc, union copy_in *in,
    copy_answered_t answered, void *arg)
{
    struct copy_client *client = slot->client;
    hg_return_t ret;

    if (rpc != COPY_HELLO)
        in->session = client->session;
    if (rpc == COPY_LIST)
        in->list.bulk = slot->bulk;
    if (rpc == COPY_WRITE || rpc == COPY_READ || rpc == COPY_HASH)
        in->chunk.bulk = rpc == COPY_HASH ? HG_BULK_NULL : slot->bulk;
    if (rpc == COPY_STORE)
        in->store.bulk = slot->bulk;
    slot->rpc = rpc;
    slot->answered = answered;
    slot->arg = arg;
    slot->busy = true;
    ret = client->lost ? HG_CANCELED
                       : HG_Reset(slot->handle, HG_ADDR_NULL, client->ids[rpc]);
    if (ret == HG_SUCCESS)
        ret = HG_Forward(slot->handle, on_answer, slot, in);
    if (ret != HG_SUCCESS)
        finish(slot, ret);
}

enum copy_status
copy_slot_answer(struct copy_slot *slot, union copy_out *out_p)
{
    struct copy_client *client = slot->client;
    hg_return_t ret = slot->ret;
    union copy_out out;

    if (ret == HG_SUCCESS)
        ret = HG_Get_output(slot->handle, &out);
    if (ret != HG_SUCCESS) {
        disconnect_by_code(client, slot->rpc, ret);
        return COPY_LOST;
    }
    HG_Free_output(slot->handle, &out);
    if (out.status == COPY_NO_SESSION || out.status == COPY_STOPPING) {
        disconnect(client, copy_status_text(out.status));
        return COPY_LOST;
    }
    *out_p = out;
    return out.status < COPY_STATUS_COUNT ? (enum copy_status) out.status
                                          : COPY_OTHER;
}

static unsigned int
trigger(struct copy_client *client)
{
    unsigned int total = 0;
    unsigned int count;

    do {
        count = 0;
        HG_Trigger(client->context, 0, client->slot_count, &count);
        total += count;
    } while (count > 0);
    return total;
}

void
copy_client_progress(struct copy_client *client, unsigned int timeout)
{
    hg_return_t ret;

    if (copy_signal_received() && !client->interrupted) {
        client->interrupted = true;
        disconnect(client, "interrupted");
    }
    if (trigger(client) > 0)
        return;
    ret = HG_Progress(client->context, timeout);
    if (ret != HG_SUCCESS && ret != HG_TIMEOUT && ret != HG_INTERRUPT)
        disconnect(client, HG_Error_to_string(ret));
    trigger(client);
}

struct call {
    union copy_out *out;
    void *memory;
    enum copy_status status;
    bool answered;
};

static void
on_call_answer(struct copy_slot *slot, void *arg)
{
    struct call *call = arg;

    call->status = copy_slot_answer(slot, call->out);
    call->memory = slot->memory;
    call->answered = true;
}

enum copy_status
copy_client_call(struct copy_client *client, enum copy_rpc rpc,
    union copy_in *in, union copy_out *out_p, void **memory_p)
{
    struct call call = {.out = out_p};

    copy_slot_send(copy_client_slot(client), rpc, in, on_call_answer, &call);
    while (!call.answered)
        copy_client_progress(client, PROGRESS_MS);
    if (memory_p != NULL)
        *memory_p = call.memory;
    return call.status;
}

static int
open_transport(struct copy_client *client)
{
    char info[INFO_SIZE];
    const char *mark = strstr(client->address, "://");
    size_t length = mark == NULL ? 0 : (size_t) (mark - client->address);

    if (length == 0 || length >= sizeof(info)) {
        copy_report_error(client->address,
            "not an address: expected one such as na+sm://..., as `talaria "
            "copy serve` prints it");
        return -1;
    }
    memcpy(info, client->address, length);
    info[length] = 0;
    client->hg_class = copy_proto_init(info, false);
    if (client->hg_class == NULL) {
        report_cause(info, "cannot open the transport");
        return -1;
    }
    copy_signal_catch();
    client->context = HG_Context_create(client->hg_class);
    if (client->context == NULL || copy_proto_register(client->hg_class, NULL,
                                       client->ids) != HG_SUCCESS) {
        report_cause(info, "cannot start the transport");
        return -1;
    }
    return 0;
}

static int
lookup(struct copy_client *client)
{
    hg_size_t eager = HG_Class_get_input_eager_size(client->hg_class);
    hg_size_t beacon;
    hg_return_t ret =
        HG_Addr_lookup2(client->hg_class, client->address, &client->addr);

    if (ret != HG_SUCCESS) {
        report_cause(client->address, HG_Error_to_string(ret));
        return -1;
    }
    /* A list request has a path and our largest bulk descriptor. */
    beacon = HG_Bulk_get_serialize_size(client->beacon, 0);
    if (eager <= COPY_REQUEST_FIXED + beacon) {
        copy_report_error(
            client->address, "the transport's messages are too small");
        return -1;
    }
    client->path_max = eager - COPY_REQUEST_FIXED - beacon;
    if (client->path_max >= COPY_PATH_SIZE)
        client->path_max = COPY_PATH_SIZE - 1;
    return 0;
}

/* Writable, though the server only reads it: read-only memory may be sent as a
 * copy inside the descriptor. */
static int
create_beacon(struct copy_client *client)
{
    void *memory = &client->beacon_value;
    hg_size_t size = sizeof(client->beacon_value);

    if (getrandom(&client->beacon_value, sizeof(client->beacon_value), 0) !=
            (ssize_t) sizeof(client->beacon_value) ||
        HG_Bulk_create(client->hg_class, 1, &memory, &size, HG_BULK_READWRITE,
            &client->beacon) != HG_SUCCESS) {
        copy_report_error(client->address, "cannot share memory with it");
        return -1;
    }
    return 0;
}

static int
create_slots(struct copy_client *client, unsigned int count)
{
    client->slots = calloc(count, sizeof(*client->slots));
    if (client->slots == NULL) {
        copy_report_error(client->address, "out of memory");
        return -1;
    }
    for (unsigned int i = 0; i < count; i++) {
        struct copy_slot *slot = &client->slots[i];
        hg_return_t ret = HG_Create(client->context, client->addr,
            client->ids[COPY_HELLO], &slot->handle);
        if (ret != HG_SUCCESS) {
            copy_report_error(client->address, HG_Error_to_string(ret));
            return -1;
        }
        slot->client = client;
        slot->next_free = client->free_slots;
        client->free_slots = slot;
        client->slot_count++;
    }
    return 0;
}

/* Memory that the library allocates may be faster to transfer. */
static int
create_memory(struct copy_client *client, uint8_t access)
{
    hg_size_t size = client->chunk_size;

    for (unsigned int i = 0; i < client->slot_count; i++) {
        struct copy_slot *slot = &client->slots[i];
        hg_return_t ret = HG_Bulk_create(
            client->hg_class, 1, NULL, &size, access, &slot->bulk);
        if (ret == HG_SUCCESS)
            ret = HG_Bulk_access(
                slot->bulk, 0, size, access, 1, &slot->memory, NULL, NULL);
        if (ret != HG_SUCCESS) {
            copy_report_error(client->address, HG_Error_to_string(ret));
            return -1;
        }
    }
    return 0;
}

static int
read_token(struct copy_client *client, const char *token_file)
{
    const char *reason = NULL;

    if (token_file != NULL)
        reason = token_read(token_file, &client->token);
    if (reason == NULL)
        return 0;
    copy_report_error(token_file, reason);
    return -1;
}

static int
authenticate(struct copy_client *client, const token_key_t *nonce,
    const copy_hello_out_t *hello)
{
    struct token_binding binding = {COPY_PROTOCOL_NAME, COPY_PROTOCOL_VERSION,
        hello->session, *nonce, hello->terms.nonce};
    const char *reason =
        token_mismatch(hello->terms.wants_proof, client->token != NULL);
    union copy_in in;
    union copy_out out;
    enum copy_status status;

    if (reason != NULL) {
        copy_report_error(client->address, reason);
        return -1;
    }
    if (client->token == NULL)
        return 0;
    token_prove(client->token, TOKEN_CLIENT, &binding, &in.auth.proof);
    status = copy_client_call(client, COPY_AUTH, &in, &out, NULL);
    if (status == COPY_DENIED)
        copy_report_error(client->address, TOKEN_MISMATCH);
    else if (status != COPY_OK && status != COPY_LOST)
        copy_report_error(client->address, copy_status_text(status));
    if (status != COPY_OK)
        return -1;
    if (token_check(client->token, TOKEN_SERVER, &binding, &out.auth.proof))
        return 0;
    copy_report_error(client->address, TOKEN_SERVER_UNPROVEN);
    return -1;
}

static int
send_hello(struct copy_client *client)
{
    union copy_in in = {.hello = {.version = COPY_PROTOCOL_VERSION,
                            .beacon_value = client->beacon_value,
                            .beacon = client->beacon}};
    union copy_out out;
    token_key_t nonce;
    enum copy_status status;
    char reason[96];

    if (!token_nonce(&nonce)) {
        copy_report_error(client->address, "no random numbers available");
        return -1;
    }
    in.hello.nonce = nonce;
    status = copy_client_call(client, COPY_HELLO, &in, &out, NULL);

    if (status == COPY_OTHER_VERSION) {
        snprintf(reason, sizeof(reason),
            "the server has protocol version %u, this command has %u",
            (unsigned int) out.hello.version, COPY_PROTOCOL_VERSION);
        copy_report_error(client->address, reason);
        return -1;
    }
    if (status != COPY_OK) {
        if (status != COPY_LOST)
            copy_report_error(client->address, copy_status_text(status));
        return -1;
    }
    if (out.hello.terms.chunk_size < COPY_CHUNK_MIN ||
        out.hello.terms.chunk_size > COPY_CHUNK_MAX ||
        out.hello.terms.open_max == 0 || out.hello.session == 0) {
        copy_report_error(client->address, "invalid answer to hello");
        return -1;
    }
    client->session = out.hello.session;
    client->chunk_size = out.hello.terms.chunk_size;
    client->open_max = out.hello.terms.open_max;
    return authenticate(client, &nonce, &out.hello);
}

struct copy_client *
copy_client_open(const char *address, const char *token_file,
    unsigned int slots, uint8_t access)
{
    struct copy_client *client = calloc(1, sizeof(*client));

    if (client == NULL) {
        copy_report_error(address, "out of memory");
        return NULL;
    }
    client->address = address;
    copy_cause_hold();
    if (read_token(client, token_file) < 0 || open_transport(client) < 0 ||
        create_beacon(client) < 0 || lookup(client) < 0 ||
        create_slots(client, slots) < 0 || send_hello(client) < 0 ||
        create_memory(client, access) < 0) {
        copy_client_close(client);
        return NULL;
    }
    return client;
}

static void
send_bye(struct copy_client *client)
{
    union copy_in in;
    union copy_out out;
    struct call call = {.out = &out};
    double deadline = clock_seconds() + BYE_SECONDS;

    /* A signal cancels the requests and leaves the session open. */
    if (client->session == 0 || (client->lost && !client->interrupted))
        return;
    client->lost = false;
    client->interrupted = true;
    client->closing = true;
    copy_slot_send(
        copy_client_slot(client), COPY_BYE, &in, on_call_answer, &call);
    while (!call.answered) {
        copy_client_progress(client, PROGRESS_MS);
        if (!call.answered && clock_seconds() > deadline)
            disconnect(client, "no answer to bye");
    }
}

void
copy_client_close(struct copy_client *client)
{
    if (client == NULL)
        return;
    send_bye(client);
    for (unsigned int i = 0; i < client->slot_count; i++) {
        HG_Destroy(client->slots[i].handle);
        HG_Bulk_free(client->slots[i].bulk);
    }
    free(client->slots);
    HG_Bulk_free(client->beacon);
    if (client->addr != HG_ADDR_NULL)
        HG_Addr_free(client->hg_class, client->addr);
    if (client->context != NULL)
        HG_Context_destroy(client->context);
    if (client->hg_class != NULL)
        HG_Finalize(client->hg_class);
    copy_cause_release();
    token_free(client->token);
    free(client);
}
