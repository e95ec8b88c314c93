/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stages of calls in the trace-event format of Chrome and Perfetto: an
 * array of events, one a line. Calls of a side that are in progress at once are
 * in lanes: what viewers show as threads. Each call is a slice of its lane, with
 * slices of its stages inside. Arrows (flow events) lead from request to handler
 * and back; their id is made of the origin's address and of the call's id, which
 * both processes know.
 */
#include "watch/trace.h"

#include "watch/call.h"
#include "watch/file.h"
#include "watch/table.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Lanes of the process. Lane 0: none is free. */
#define LANES 512U
#define ADDRESSES 16U

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool used[LANES];
static bool is_named[LANES];
static uint64_t lost; /* calls without a lane */
static long pid;

/* Hashes of the addresses that are labels of the process. */
static uint64_t labelled[ADDRESSES];
static unsigned labelled_count;

bool
watch_trace_open(const char *path, char *reason, unsigned reason_size)
{
    char name[96];

    pid = (long) getpid();
    watch_file_escape(program_invocation_short_name, name, sizeof name);
    return watch_file_open(path, reason, reason_size,
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%ld,"
        "\"args\":{\"name\":\"%s\"}}",
        pid, name);
}

/* Viewers show the label beside the name of the process. */
static void
add_label(const char *address, uint64_t hash)
{
    char label[WATCH_ADDRESS_SIZE * 2];

    for (unsigned i = 0; i < labelled_count; i++)
        if (labelled[i] == hash)
            return;
    if (labelled_count == ADDRESSES)
        return;
    labelled[labelled_count++] = hash;
    watch_file_escape(address, label, sizeof label);
    watch_file_add("{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":%ld,"
                   "\"args\":{\"labels\":\"%s\"}}",
        pid, label);
}

/* Returns a hash of an address that both processes compute. A class that does not
 * listen may have no text, but another serialized form. */
static uint64_t
address_hash(struct na_class *na_class, na_plugin_addr *addr,
    char text[WATCH_ADDRESS_SIZE])
{
    unsigned char form[WATCH_ADDRESS_SIZE] = {0};
    size_t size = WATCH_ADDRESS_SIZE;
    uint64_t hash = 0;

    if (watch_core.address_text(na_class, addr, text, &size) == NA_SUCCESS)
        return watch_hash(text);
    text[0] = '\0';
    if (watch_core.address_form(
            na_class, form, sizeof form, na_addr_public(addr)) != NA_SUCCESS)
        return 0;
    for (unsigned i = 0; i < sizeof form; i++)
        hash = (hash ^ form[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Returns a hash of the class's own address, which becomes a label. */
static uint64_t
own_hash(struct na_class *na_class)
{
    char address[WATCH_ADDRESS_SIZE];
    na_addr_t *addr;
    uint64_t hash;

    if (watch_core.own_address(na_class, &addr) != NA_SUCCESS)
        return 0;
    hash = address_hash(na_class, na_addr_plugin(addr), address);
    watch_core.free_address(na_class, addr);
    if (address[0])
        add_label(address, hash);
    return hash;
}

/* Number of a call that both sides compute. */
static uint64_t
flow_of(const struct hg_handle *handle)
{
    const struct hg_addr *peer = &handle->peer;
    char address[WATCH_ADDRESS_SIZE];
    uint64_t flow = 0;
    uint32_t context;

    if (handle->role == HG_ROLE_ORIGIN) {
        flow = own_hash(handle->port->net.na_class);
        context = hg_context_na(handle->context)->id;
    } else {
        if (peer->addr)
            flow = address_hash(peer->na_class, peer->addr, address);
        context = handle->info.context_id;
    }
    flow = (flow ^ context) * UINT64_C(0x9e3779b97f4a7c15);
    flow = (flow ^ handle->tag) * UINT64_C(0x9e3779b97f4a7c15);
    flow = (flow ^ handle->cookie) * UINT64_C(0x9e3779b97f4a7c15);
    return flow >> 12 << 1; /* a program in JavaScript reads it exactly */
}

static long
tid(const struct hg_handle *handle)
{
    return pid * (long) LANES + (long) handle->lane;
}

/* Names a lane, and sorts it by side and number. */
static void
name_lane(const struct hg_handle *handle, bool target)
{
    unsigned number = handle->lane / 2;

    is_named[handle->lane] = true;
    watch_file_add("{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%ld,"
                   "\"tid\":%ld,\"args\":{\"name\":\"%s %u\"}}",
        pid, tid(handle), target ? "requests" : "calls", number);
    watch_file_add("{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":%ld,"
                   "\"tid\":%ld,\"args\":{\"sort_index\":%u}}",
        pid, tid(handle), target ? LANES + number : number);
    if (target)
        own_hash(handle->peer.na_class);
}

/* Gives the handle the first free lane of its side: even ones are origins'. */
static void
take_lane(struct hg_handle *handle)
{
    bool target = handle->role == HG_ROLE_TARGET;

    for (uint32_t i = target ? 3 : 2; i < LANES; i += 2) {
        if (used[i])
            continue;
        used[i] = true;
        handle->lane = i;
        if (!is_named[i])
            name_lane(handle, target);
        return;
    }
    handle->lane = 0;
    lost++;
}

static void
leave_lane(struct hg_handle *handle)
{
    used[handle->lane] = false;
    handle->lane = 0;
}

struct moment {
    uint64_t ns;
    const struct hg_handle *handle;
};

#define AT "\"pid\":%ld,\"tid\":%ld,\"ts\":%" PRIu64 ".%03u"
#define AT_OF(moment)                                                          \
    pid, tid((moment).handle), (moment).ns / 1000,                             \
        (unsigned) ((moment).ns % 1000)

static void
begin(struct moment at, const char *name)
{
    watch_file_add("{\"ph\":\"B\"," AT ",\"cat\":\"stage\",\"name\":\"%s\"}",
        AT_OF(at), name);
}

static void
end(struct moment at)
{
    watch_file_add("{\"ph\":\"E\"," AT "}", AT_OF(at));
}

/* The end of a call's slice. */
static void
end_call(struct moment at, int ret)
{
    watch_file_add("{\"ph\":\"E\"," AT ",\"args\":{\"result\":\"%s\"}}",
        AT_OF(at), watch_core.error_to_string((hg_return_t) ret));
}

static void
begin_call(struct moment at)
{
    const struct hg_handle *handle = at.handle;
    char name[96], peer[WATCH_ADDRESS_SIZE * 2], address[WATCH_ADDRESS_SIZE];
    bool origin = handle->role == HG_ROLE_ORIGIN;

    watch_peer_address(handle, address);
    watch_file_escape(address, peer, sizeof peer);
    watch_file_escape(watch_rpc_name(handle), name, sizeof name);
    watch_file_add("{\"ph\":\"B\"," AT ",\"cat\":\"%s\",\"name\":\"%s\","
                   "\"args\":{\"%s\":\"%s\",\"rpc\":\"%" PRIu64
                   "\",\"call\":\"%u.%" PRIx64 ".%u\",\"bytes\":%" PRIu64 "}}",
        AT_OF(at), origin ? "call" : "request",
        name[0] ? name : "RPC without a name", origin ? "to" : "from", peer,
        handle->info.id,
        origin ? hg_context_na(handle->context)->id : handle->info.context_id,
        handle->tag, handle->cookie, watch_in_size(handle));
}

/* phase: "s" starts an arrow, "f" ends it. answer: 0 or 1. */
static void
arrow(struct moment at, const char *phase, unsigned answer)
{
    watch_file_add("{\"ph\":\"%s\"," AT ",\"cat\":\"flow\",\"name\":\"%s\","
                   "\"bp\":\"e\",\"id\":%" PRIu64 "}",
        phase, AT_OF(at), answer ? "response" : "request",
        flow_of(at.handle) + answer);
}

static void
write_stage(struct hg_handle *handle, int stage, int ret)
{
    struct moment at = {.ns = watch_now(), .handle = handle};

    switch (stage) {
    case HG_STAGE_FORWARD:
        begin_call(at);
        arrow(at, "s", 0);
        begin(at, "waits for the response");
        return;
    case HG_STAGE_ANSWER:
        arrow(at, "f", 1);
        end(at);
        begin(at, "queued");
        return;
    case HG_STAGE_FORWARDED:
        end(at);
        end_call(at, ret);
        leave_lane(handle);
        return;
    case HG_STAGE_RECEIVED:
        begin_call(at);
        arrow(at, "f", 0);
        begin(at, "queued");
        return;
    case HG_STAGE_HANDLER:
        end(at);
        begin(at, "handler");
        return;
    case HG_STAGE_RESPOND:
        arrow(at, "s", 1);
        end(at);
        begin(at, ret == HG_SUCCESS ? "responded" : "responded with an error");
        return;
    case HG_STAGE_NOT_RESPONDED:
        end(at);
        begin(at, "response not sent");
        return;
    case HG_STAGE_DROPPED:
        end(at);
        begin(at, "dropped");
        return;
    case HG_STAGE_RELEASED:
        end(at);
        end_call(at, HG_SUCCESS);
        leave_lane(handle);
        return;
    default:
        return;
    }
}

void
watch_trace_stage(struct hg_handle *handle, int stage, int ret)
{
    pthread_mutex_lock(&lock);
    if (stage == HG_STAGE_FORWARD || stage == HG_STAGE_RECEIVED)
        take_lane(handle);
    if (handle->lane != 0 && handle->lane < LANES)
        write_stage(handle, stage, ret);
    pthread_mutex_unlock(&lock);
}

void
watch_trace_flush(void)
{
    pthread_mutex_lock(&lock);
    watch_file_flush();
    pthread_mutex_unlock(&lock);
}

void
watch_trace_close(void)
{
    pthread_mutex_lock(&lock);
    if (lost > 0)
        watch_file_add("{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":%ld,"
                       "\"args\":{\"labels\":\"%" PRIu64
                       " calls were not traced: too many at once\"}}",
            pid, lost);
    watch_file_close();
    pthread_mutex_unlock(&lock);
}

void
watch_trace_lock(void)
{
    pthread_mutex_lock(&lock);
}

void
watch_trace_unlock(void)
{
    pthread_mutex_unlock(&lock);
}
