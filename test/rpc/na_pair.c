/* SPDX-License-Identifier: BSD-3-Clause */
/* Two endpoints of the NA interface, and the peer's behaviour. */
#include "na_pair.h"

#include "counts.h"
#include "log_watch.h"
#include "talaria.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define RECEIVES 4U

struct na_peer;

/* A posted receive and the answer to the message that it received. */
struct slot {
    struct na_peer *peer;
    struct na_end recv;
    struct na_end send;
    na_addr_t *source; /* tag of the request that is being answered */
    bool posted;
};

struct na_peer {
    na_class_t *na_class;
    na_context_t *context;
    struct slot slots[RECEIVES];
    char *memory;
    na_mem_handle_t *mem;
    bool deaf;
};

struct session_shared {
    _Atomic bool stop;
    char address[256];
};

static na_class_t *
open_class(const struct session_mode *mode)
{
    struct na_init_info info = NA_INIT_INFO_INITIALIZER;

    info.progress_mode = mode->progress_mode;
    info.thread_mode = mode->thread_mode;
    return NA_Initialize_opt(session_transport(), true, &info);
}

static void
end_open(na_class_t *na_class, struct na_end *end, size_t size)
{
    memset(end, 0, sizeof *end);
    end->op = NA_Op_create(na_class, NA_OP_SINGLE);
    if (!end->op)
        abort();
    if (size == 0)
        return;
    end->buffer_size = size;
    end->buffer =
        NA_Msg_buf_alloc(na_class, size, NA_SEND | NA_RECV, &end->buffer_data);
    if (!end->buffer)
        abort();
}

static void
end_close(na_class_t *na_class, struct na_end *end)
{
    NA_Msg_buf_free(na_class, end->buffer, end->buffer_data);
    NA_Op_destroy(na_class, end->op);
}

static void peer_received(const struct na_cb_info *info);

static void
post(struct slot *slot)
{
    struct na_peer *peer = slot->peer;

    if (peer->deaf)
        return;
    slot->posted = true;
    if (NA_Msg_recv_unexpected(peer->na_class, peer->context, peer_received,
            slot, slot->recv.buffer, slot->recv.buffer_size,
            slot->recv.buffer_data, slot->recv.op) != NA_SUCCESS)
        abort();
}

static void
peer_answered(const struct na_cb_info *info)
{
    struct slot *slot = info->arg;

    NA_Addr_free(slot->peer->na_class, slot->source);
    slot->source = NULL;
    post(slot);
}

/* Writes the answer after the header. Returns its length, or -1 if the request
 * takes no answer. */
static ssize_t
make_answer(struct slot *slot, const char *payload, size_t length, char *answer,
    size_t room)
{
    struct na_peer *peer = slot->peer;
    uint32_t range[2];
    size_t size;

    switch (length > 0 ? payload[0] : NA_ASK_SILENCE) {
    case NA_ASK_ECHO:
        memcpy(answer, payload, length < room ? length : room);
        return (ssize_t) (length < room ? length : room);
    case NA_ASK_MEMORY:
        size = NA_Mem_handle_get_serialize_size(peer->na_class, peer->mem);
        if (NA_Mem_handle_serialize(peer->na_class, answer, room, peer->mem) !=
            NA_SUCCESS)
            abort();
        return (ssize_t) size;
    case NA_ASK_BYTES:
        memcpy(range, payload + 1, sizeof range);
        memcpy(answer, peer->memory + range[0], range[1]);
        return (ssize_t) range[1];
    default:
        return -1;
    }
}

static void
peer_received(const struct na_cb_info *info)
{
    struct slot *slot = info->arg;
    struct na_peer *peer = slot->peer;
    size_t in = NA_Msg_get_unexpected_header_size(peer->na_class);
    size_t out = NA_Msg_get_expected_header_size(peer->na_class);
    ssize_t length;

    slot->posted = false;
    if (info->ret != NA_SUCCESS) {
        if (info->ret != NA_CANCELED)
            post(slot);
        return;
    }
    length = make_answer(slot, slot->recv.buffer + in,
        info->info.recv_unexpected.actual_buf_size - in,
        slot->send.buffer + out, slot->send.buffer_size - out);
    if (length < 0) {
        NA_Addr_free(peer->na_class, info->info.recv_unexpected.source);
        post(slot);
        return;
    }
    slot->source = info->info.recv_unexpected.source;
    if (NA_Msg_send_expected(peer->na_class, peer->context, peer_answered, slot,
            slot->send.buffer, out + (size_t) length, slot->send.buffer_data,
            slot->source, 0, info->info.recv_unexpected.tag,
            slot->send.op) != NA_SUCCESS) {
        NA_Addr_free(peer->na_class, slot->source);
        post(slot);
    }
}

static void
peer_start(struct na_peer *peer, na_class_t *na_class, na_context_t *context)
{
    peer->na_class = na_class;
    peer->context = context;
    if (talaria_mem_alloc(na_class, NA_PAIR_MEMORY, (void **) &peer->memory) !=
            NA_SUCCESS ||
        NA_Mem_handle_create(na_class, peer->memory, NA_PAIR_MEMORY,
            NA_MEM_READWRITE, &peer->mem) != NA_SUCCESS ||
        NA_Mem_register(na_class, peer->mem, NA_MEM_TYPE_HOST, 0) != NA_SUCCESS)
        abort();
    for (unsigned i = 0; i < RECEIVES; i++) {
        struct slot *slot = &peer->slots[i];

        slot->peer = peer;
        end_open(
            na_class, &slot->recv, NA_Msg_get_max_unexpected_size(na_class));
        end_open(na_class, &slot->send, NA_Msg_get_max_expected_size(na_class));
        if (NA_Msg_init_expected(na_class, slot->send.buffer,
                slot->send.buffer_size) != NA_SUCCESS)
            abort();
        post(slot);
    }
}

static void
step(na_class_t *na_class, na_context_t *context, unsigned timeout_ms)
{
    na_return_t ret = NA_Progress(na_class, context, timeout_ms);
    unsigned count;

    if (ret != NA_SUCCESS && ret != NA_TIMEOUT)
        abort();
    do
        NA_Trigger(context, 1, &count);
    while (count > 0);
}

static bool
peer_posted(const struct na_peer *peer)
{
    for (unsigned i = 0; i < RECEIVES; i++)
        if (peer->slots[i].posted || peer->slots[i].source)
            return true;
    return false;
}

static void
peer_stop_receiving(struct na_peer *peer)
{
    peer->deaf = true;
    for (unsigned i = 0; i < RECEIVES; i++)
        NA_Cancel(peer->na_class, peer->context, peer->slots[i].recv.op);
    for (unsigned i = 0; i < 10000 && peer_posted(peer); i++)
        step(peer->na_class, peer->context, 1);
    if (peer_posted(peer))
        abort();
}

static void
peer_stop(struct na_peer *peer)
{
    peer_stop_receiving(peer);
    for (unsigned i = 0; i < RECEIVES; i++) {
        end_close(peer->na_class, &peer->slots[i].recv);
        end_close(peer->na_class, &peer->slots[i].send);
    }
    if (NA_Mem_deregister(peer->na_class, peer->mem) != NA_SUCCESS)
        abort();
    NA_Mem_handle_free(peer->na_class, peer->mem);
    talaria_mem_free(peer->na_class, peer->memory);
}

static void
write_address(struct session_shared *shared, na_class_t *na_class)
{
    size_t size = sizeof shared->address;
    na_addr_t *self;

    if (NA_Addr_self(na_class, &self) != NA_SUCCESS ||
        NA_Addr_to_string(na_class, shared->address, &size, self) != NA_SUCCESS)
        abort();
    NA_Addr_free(na_class, self);
}

static void
peer_process(
    const struct session_mode *mode, struct session_shared *shared, int pipe_fd)
{
    struct na_peer peer = {.deaf = false};
    na_class_t *na_class;
    na_context_t *context;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    log_watch_install();
    na_class = open_class(mode);
    context = na_class ? NA_Context_create(na_class) : NULL;
    if (!context)
        _exit(1);
    peer_start(&peer, na_class, context);
    write_address(shared, na_class);
    if (write(pipe_fd, "!", 1) != 1)
        _exit(2);
    while (!atomic_load(&shared->stop))
        step(na_class, context, 5);
    peer_stop(&peer);
    if (NA_Context_destroy(na_class, context) != NA_SUCCESS ||
        NA_Finalize(na_class) != NA_SUCCESS)
        _exit(3);
    _exit(0);
}

static void
start_process(struct na_pair *pair)
{
    int fds[2];
    char ready;

    ck_assert_int_eq(pipe(fds), 0);
    pair->process = fork();
    ck_assert_int_ge(pair->process, 0);
    if (pair->process == 0)
        peer_process(pair->mode, pair->shared, fds[1]);
    close(fds[1]);
    ck_assert_int_eq(read(fds[0], &ready, 1), 1);
    close(fds[0]);
}

static void
start_here(struct na_pair *pair)
{
    na_class_t *na_class = pair->na_class;
    na_context_t *context = pair->context;

    pair->peer = calloc(1, sizeof *pair->peer);
    ck_assert_ptr_nonnull(pair->peer);
    if (pair->mode->shape != SESSION_SELF) {
        na_class = open_class(pair->mode);
        ck_assert_ptr_nonnull(na_class);
        context = NA_Context_create(na_class);
        ck_assert_ptr_nonnull(context);
    }
    peer_start(pair->peer, na_class, context);
    write_address(pair->shared, na_class);
}

void
na_pair_begin(struct na_pair *pair, int mode)
{
    memset(pair, 0, sizeof *pair);
    pair->mode = session_mode_at(mode);
    session_limit(pair->mode);
    pair->process = -1;
    pair->shared = mmap(NULL, sizeof *pair->shared, PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(pair->shared, MAP_FAILED);
    log_watch_begin();
    session_prepare(pair->mode);
    if (pair->mode->shape == SESSION_PROCESSES)
        start_process(pair);
    log_watch_install();
    pair->na_class = open_class(pair->mode);
    ck_assert_ptr_nonnull(pair->na_class);
    pair->context = NA_Context_create(pair->na_class);
    ck_assert_ptr_nonnull(pair->context);
    if (pair->mode->shape != SESSION_PROCESSES)
        start_here(pair);
    ck_assert_int_eq(
        NA_Addr_lookup(pair->na_class, pair->shared->address, &pair->addr),
        NA_SUCCESS);
}

static void
stop_here(struct na_pair *pair)
{
    struct na_peer *peer = pair->peer;

    peer_stop(peer);
    if (peer->na_class != pair->na_class) {
        ck_assert_int_eq(
            NA_Context_destroy(peer->na_class, peer->context), NA_SUCCESS);
        ck_assert_int_eq(NA_Finalize(peer->na_class), NA_SUCCESS);
    }
    free(peer);
}

void
na_pair_end(struct na_pair *pair)
{
    int status = 0;

    if (pair->peer)
        stop_here(pair);
    atomic_store(&pair->shared->stop, true);
    if (pair->process >= 0)
        ck_assert_int_eq(waitpid(pair->process, &status, 0), pair->process);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(NA_Addr_free(pair->na_class, pair->addr), NA_SUCCESS);
    ck_assert_int_eq(
        NA_Context_destroy(pair->na_class, pair->context), NA_SUCCESS);
    ck_assert_int_eq(NA_Finalize(pair->na_class), NA_SUCCESS);
    NA_Cleanup();
    munmap(pair->shared, sizeof *pair->shared);
    log_watch_check();
}

void
na_pair_stop_receiving(struct na_pair *pair)
{
    peer_stop_receiving(pair->peer);
}

void
na_pair_resume_receiving(struct na_pair *pair)
{
    pair->peer->deaf = false;
    for (unsigned i = 0; i < RECEIVES; i++)
        post(&pair->peer->slots[i]);
}

void
na_end_open(struct na_pair *pair, struct na_end *end, size_t size)
{
    end_open(pair->na_class, end, size);
}

void
na_end_close(struct na_pair *pair, struct na_end *end)
{
    end_close(pair->na_class, end);
}

void
na_end_called(const struct na_cb_info *info)
{
    struct na_end *end = info->arg;

    end->ret = info->ret;
    end->type = info->type;
    end->length = 0;
    if (info->ret == NA_SUCCESS && info->type == NA_CB_RECV_UNEXPECTED) {
        end->length = info->info.recv_unexpected.actual_buf_size;
        end->tag = info->info.recv_unexpected.tag;
    }
    if (info->ret == NA_SUCCESS && info->type == NA_CB_RECV_EXPECTED)
        end->length = info->info.recv_expected.actual_buf_size;
    atomic_fetch_add(&end->called, 1);
}

void
na_pair_step(struct na_pair *pair, unsigned timeout_ms)
{
    struct na_peer *peer = pair->peer;

    /* Polls both sides without waiting: waiting on one would stall the
     * other. */
    step(pair->na_class, pair->context, peer ? 0 : timeout_ms);
    if (peer && peer->na_class != pair->na_class)
        step(peer->na_class, peer->context, 0);
}

void
na_pair_wait_at(struct na_pair *pair, struct na_end *end, uint32_t called,
    const char *what, const char *file, int line)
{
    uint64_t deadline = session_now_ms() + session_wait_ms();

    while (atomic_load(&end->called) < called) {
        if (session_now_ms() >= deadline)
            session_fail(
                "%s:%d timed out: %u of %u callbacks of %s have run in "
                "mode \"%s\"",
                file, line, atomic_load(&end->called), called, what,
                pair->mode->name);
        na_pair_step(pair, 100);
    }
    ck_assert_uint_eq(end->called, called);
}

void
na_pair_quiet(struct na_pair *pair)
{
    uint64_t end = session_now_ms() + test_count(TEST_QUIET_MS);

    while (session_now_ms() < end)
        na_pair_step(pair, 1);
}

size_t
na_send_header(const struct na_pair *pair)
{
    return NA_Msg_get_unexpected_header_size(pair->na_class);
}

size_t
na_recv_header(const struct na_pair *pair)
{
    return NA_Msg_get_expected_header_size(pair->na_class);
}

na_return_t
na_pair_call(struct na_pair *pair, struct na_end *send, struct na_end *recv,
    size_t length, na_tag_t tag)
{
    uint32_t sent = send->called, received = recv->called;

    ck_assert_int_eq(NA_Msg_recv_expected(pair->na_class, pair->context,
                         na_end_called, recv, recv->buffer, recv->buffer_size,
                         recv->buffer_data, pair->addr, 0, tag, recv->op),
        NA_SUCCESS);
    ck_assert_int_eq(
        NA_Msg_init_unexpected(pair->na_class, send->buffer, send->buffer_size),
        NA_SUCCESS);
    ck_assert_int_eq(
        NA_Msg_send_unexpected(pair->na_class, pair->context, na_end_called,
            send, send->buffer, na_send_header(pair) + length,
            send->buffer_data, pair->addr, 0, tag, send->op),
        NA_SUCCESS);
    na_pair_wait(pair, send, sent + 1);
    na_pair_wait(pair, recv, received + 1);
    ck_assert_int_eq(send->ret, NA_SUCCESS);
    ck_assert_int_eq(send->type, NA_CB_SEND_UNEXPECTED);
    ck_assert_int_eq(recv->type, NA_CB_RECV_EXPECTED);
    return recv->ret;
}

size_t
na_pair_max_unexpected(const struct na_pair *pair)
{
    return NA_Msg_get_max_unexpected_size(pair->na_class);
}

size_t
na_pair_max_expected(const struct na_pair *pair)
{
    return NA_Msg_get_max_expected_size(pair->na_class);
}

void
na_pair_open(struct na_pair *pair, struct na_end *send, struct na_end *recv)
{
    na_end_open(pair, send, na_pair_max_unexpected(pair));
    na_end_open(pair, recv, na_pair_max_expected(pair));
}

void
na_pair_close(struct na_pair *pair, struct na_end *send, struct na_end *recv)
{
    na_end_close(pair, send);
    na_end_close(pair, recv);
}

void
na_pair_echo(struct na_pair *pair, struct na_end *send, struct na_end *recv,
    size_t length, na_tag_t tag)
{
    char *out = send->buffer + na_send_header(pair);

    out[0] = NA_ASK_ECHO;
    for (size_t i = 1; i < length; i++)
        out[i] = (char) (i * 7 + tag);
    memset(recv->buffer, 0, recv->buffer_size);
    ck_assert_int_eq(na_pair_call(pair, send, recv, length, tag), NA_SUCCESS);
    ck_assert_uint_eq(recv->length, na_recv_header(pair) + length);
    ck_assert_mem_eq(recv->buffer + na_recv_header(pair), out, length);
}
