/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * {client, server} x {connecting, idle, message, get, put, closing} x {killed,
 * stopped and killed, exit}: one process ends; the other's operations have to
 * end within five seconds, and everything else to be as before.
 *
 * Victims are forked by a process that has opened nothing itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counts.h"
#include "harness.h"

enum stage { CONNECTING, IDLE, MESSAGE, GET, PUT, CLOSING, STAGES };
enum ending { KILLED, STOPPED, EXITS, ENDINGS };

static const char *const stage_names[] = {
    "connecting", "idle", "message", "get", "put", "closing"};
static const char *const ending_names[] = {"killed", "stopped", "exit"};

#define SLOTS 6
#define MEMORY (4U << 20)
#define DEATH_NS UINT64_C(5000000000)

/* The server's address and memory, as sent to its client. */
struct place {
    char address[TEXT];
    uint64_t size;
    unsigned char handle[256];
};

/* First message to a victim. */
struct order {
    bool server;
    enum stage stage;
    struct place place; /* the server's, if the victim is a client */
};

/* One or two pending operations of a side. */
struct slot {
    void *send;
    void *recv;
    bool sending;
    bool receiving;
    na_plugin_addr *answered; /* a server's: peer to answer */
    char buffer[64];
};

struct side {
    struct node *node;
    bool server;
    enum stage stage;
    bool broken; /* the peer is dead: start no more operations */
    bool quiet;  /* start no more operations, for other reasons */
    struct slot slots[SLOTS];
    na_plugin_addr *peer; /* a client's */
    na_plugin_mem *local;
    na_plugin_mem *remote;
    unsigned char *memory;
    uint64_t done; /* successful operations */
};

static void
slots_open(struct side *side)
{
    for (int i = 0; i < SLOTS; i++) {
        side->slots[i] = (struct slot){
            .send = op_new(side->node), .recv = op_new(side->node)};
    }
}

static na_plugin_mem *
register_all(struct side *side)
{
    na_plugin_segment segment = {side->memory, MEMORY};
    na_plugin_mem *mem;

    ck_assert_int_eq(
        side->node->ops->mem_register(side->node->cls,
            &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0, &segment, 1,
                NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE, 0, 0},
            &mem),
        0);
    return mem;
}

static void
server_open(struct side *side, struct node *node, struct place *place_p)
{
    *side = (struct side){.node = node, .server = true};
    side->memory = calloc(1, MEMORY);
    node_open(node, NULL);
    slots_open(side);
    side->local = register_all(side);
    self_string(node, place_p->address);
    place_p->size = sizeof(place_p->handle);
    ck_assert_int_eq(node->ops->mem_serialize(node->cls, side->local,
                         place_p->handle, &place_p->size),
        0);
}

static void
client_open(struct side *side, struct node *node, enum stage stage,
    const struct place *place)
{
    unsigned char *memory = side->memory;
    uint64_t done = side->done;

    *side = (struct side){
        .node = node, .stage = stage, .memory = memory, .done = done};
    node_open(node, NULL);
    slots_open(side);
    side->local = register_all(side);
    side->peer = lookup(node, place->address);
    ck_assert_int_eq(node->ops->mem_deserialize(
                         node->cls, place->handle, place->size, &side->remote),
        0);
}

static void
side_close(struct side *side)
{
    const na_plugin_ops *ops = side->node->ops;

    /* contexts first: that drops pending operations */
    ops->ctx_destroy(side->node->ctx[0]);
    side->node->ctx[0] = NULL;
    side->node->event_count[0] = 0;
    for (int i = 0; i < SLOTS; i++) {
        if (side->slots[i].answered != NULL)
            ops->addr_free(side->node->cls, side->slots[i].answered);
        free(side->slots[i].send);
        free(side->slots[i].recv);
    }
    ops->mem_deregister(side->node->cls, side->local);
    if (side->remote != NULL)
        ops->mem_remote_free(side->node->cls, side->remote);
    if (side->peer != NULL)
        ops->addr_free(side->node->cls, side->peer);
    node_warnings(side->node);
    node_close(side->node);
}

static void
began(struct side *side, bool *pending, int32_t ret)
{
    *pending = ret == NA_PLUGIN_PENDING;
    if (ret < 0)
        side->broken = true;
    if (ret == NA_PLUGIN_DONE)
        side->done++;
}

static void
serve_slot(struct side *side, struct slot *slot)
{
    if (!slot->receiving && !slot->sending)
        began(side, &slot->receiving,
            side->node->ops->recv_unexpected(side->node->ctx[0], slot->recv,
                slot->buffer, sizeof(slot->buffer), NULL, 0));
    side->broken = false;
}

static void
begin_message(struct side *side, struct slot *slot, uint64_t tag)
{
    const na_plugin_ops *ops = side->node->ops;

    began(side, &slot->receiving,
        ops->recv_expected(side->node->ctx[0], slot->recv, slot->buffer,
            sizeof(slot->buffer), NULL, side->peer, 0, tag, 0));
    if (!side->broken)
        began(side, &slot->sending,
            ops->send_unexpected(side->node->ctx[0], slot->send, "ping", 4,
                NULL, side->peer, 0, tag, 0));
}

/* Starts the operations of a client's stage. */
static void
begin_slot(struct side *side, struct slot *slot, uint64_t tag)
{
    const na_plugin_ops *ops = side->node->ops;

    if (slot->sending || slot->receiving)
        return;
    switch (side->stage) {
    case GET:
        began(side, &slot->sending,
            ops->get(side->node->ctx[0], slot->send, side->local, 0,
                side->remote, 0, MEMORY, side->peer, 0, 0));
        return;
    case PUT:
        began(side, &slot->sending,
            ops->put(side->node->ctx[0], slot->send, side->local, 0,
                side->remote, 0, MEMORY, side->peer, 0, 0));
        return;
    case IDLE:
        if (side->done != 0)
            return;
        break;
    case CONNECTING:
        if (tag != 0)
            return;
        ops->addr_forget(side->node->cls, side->peer);
        break;
    default:
        break;
    }
    begin_message(side, slot, tag);
}

static void
answer(struct side *side, struct slot *slot, const na_plugin_event *event)
{
    int32_t ret = side->node->ops->send_expected(side->node->ctx[0], slot->send,
        slot->buffer, event->length, NULL, event->source, 0, event->tag, 0);

    slot->sending = ret == NA_PLUGIN_PENDING;
    if (slot->sending)
        slot->answered = event->source;
    else
        side->node->ops->addr_free(side->node->cls, event->source);
    side->done += ret == NA_PLUGIN_DONE;
}

static void
take(struct side *side, const na_plugin_event *event)
{
    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = &side->slots[i];
        if (event->op == slot->send) {
            ck_assert(slot->sending);
            slot->sending = false;
            if (slot->answered != NULL)
                side->node->ops->addr_free(side->node->cls, slot->answered);
            slot->answered = NULL;
        } else if (event->op == slot->recv) {
            ck_assert(slot->receiving);
            slot->receiving = false;
            if (side->server && event->status == NA_PLUGIN_OK)
                answer(side, slot, event);
        } else {
            continue;
        }
        if (event->status == NA_PLUGIN_OK)
            side->done++;
        else if (!side->server)
            side->broken = true;
        return;
    }
    ck_abort_msg("an event of an unknown operation");
}

static void
step(struct side *side)
{
    na_plugin_event events[16];
    int32_t count = side->node->ops->poll(side->node->ctx[0], events, 16);

    ck_assert_int_ge(count, 0);
    for (int32_t i = 0; i < count; i++)
        take(side, &events[i]);
    for (uint64_t i = 0; i < SLOTS && !side->quiet; i++) {
        if (side->server)
            serve_slot(side, &side->slots[i]);
        else if (!side->broken)
            begin_slot(side, &side->slots[i], i);
    }
}

static bool
pending(const struct side *side)
{
    for (int i = 0; i < SLOTS; i++)
        if (side->slots[i].sending ||
            (side->slots[i].receiving && !side->server))
            return true;
    return false;
}

/* THE VICTIM */

static void
on_exit_signal(int number)
{
    (void) number;
    _exit(0);
}

static void
transmit(int fd, const void *bytes, size_t length)
{
    ck_assert_int_eq(write(fd, bytes, length), (ssize_t) length);
}

static void
receive(int fd, void *bytes, size_t length)
{
    unsigned char *at = bytes;

    while (length > 0) {
        ssize_t got = read(fd, at, length);
        if (got <= 0)
            _exit(9);
        at += got;
        length -= (size_t) got;
    }
}

/* A victim's report that it is ready. */
struct birth {
    pid_t pid;
    struct place place;
};

__attribute__((noreturn)) static void
victim_main(const struct order *order, int out)
{
    static struct node node;
    static struct side side;
    struct birth birth = {.pid = getpid()};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGUSR1, on_exit_signal);
    if (order->server) {
        server_open(&side, &node, &birth.place);
    } else {
        side.memory = calloc(1, MEMORY);
        client_open(&side, &node, order->stage, &order->place);
    }
    transmit(out, &birth, sizeof(birth));
    for (uint64_t i = 1;; i++) {
        step(&side);
        if (!order->server && order->stage == CLOSING && i % 40 == 0) {
            side_close(&side);
            client_open(&side, &node, order->stage, &order->place);
        }
        if (order->stage == IDLE)
            usleep(20);
    }
}

/* libcheck writes each assertion to a file shared by all processes of a case,
 * through buffers of their own: a killed process would leave half a message
 * there. Hence victims assert nothing. */
static void
leave_check(void)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct stat st;

    for (int fd = 3; fd < 64; fd++)
        if (fd != nowhere && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
            dup2(nowhere, fd);
}

/* Forks victims one after the other, and reports how each ended. */
static int
fork_victims(const struct parent *parent)
{
    struct order order;

    leave_check();
    for (;;) {
        ssize_t got = read(parent->in, &order, sizeof(order));
        if (got != (ssize_t) sizeof(order))
            return got == 0 ? 0 : 1;
        pid_t pid = fork();
        if (pid == 0)
            victim_main(&order, parent->out);
        int status;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        transmit(parent->out, &status, sizeof(status));
    }
}

/* THE SURVIVOR */

static struct child bearer; /* the process that forks victims */

static pid_t
victim_start(const struct order *order, struct place *place_p)
{
    struct birth birth;

    transmit(bearer.out, order, sizeof(*order));
    receive(bearer.in, &birth, sizeof(birth));
    *place_p = birth.place;
    return birth.pid;
}

static void
victim_reap(void)
{
    int status;

    receive(bearer.in, &status, sizeof(status));
    ck_assert_msg(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL
                                      : WEXITSTATUS(status) == 0,
        "the victim ended with status %#x by itself", (unsigned) status);
}

/* Both sides of this process are polled for a while. */
static void
go_on(struct side *server, struct side *client, uint64_t ns)
{
    uint64_t end = now_ns() + ns;

    do {
        step(server);
        if (client != NULL)
            step(client);
    } while (now_ns() < end);
}

static void
end_victim(
    pid_t victim, enum ending ending, struct side *server, struct side *client)
{
    if (ending == STOPPED) {
        kill(victim, SIGSTOP);
        go_on(server, client, 3000000);
    }
    kill(victim, ending == EXITS ? SIGUSR1 : SIGKILL);
    victim_reap();
}

/* Another client of the server, which has to be served at all times. */
static void
ck_served(struct side *server, const struct place *place)
{
    static struct node node;
    static struct side friend;

    friend.memory = server->memory;
    client_open(&friend, &node, MESSAGE, place);
    for (uint64_t end = now_ns() + DEATH_NS; friend.done < 20;) {
        ck_assert_msg(
            now_ns() < end && !friend.broken, "the friend is not served");
        step(server);
        step(&friend);
    }
    friend.quiet = true;
    while (pending(&friend)) {
        step(server);
        step(&friend);
    }
    friend.done = 0;
    side_close(&friend);
}

/* One run: a victim of that kind, and its effects on this process. */
static void
run(struct side *server, const struct place *place, bool victim_serves,
    enum stage stage, enum ending ending, uint32_t seed)
{
    static struct node client_node;
    static struct side client;
    struct order order = {
        .server = victim_serves, .stage = stage, .place = *place};
    struct place victims;
    pid_t victim = victim_start(&order, &victims);
    uint64_t before = seed * UINT64_C(2654435761) % 3000000;

    if (victim_serves) {
        client.memory = server->memory;
        client_open(&client, &client_node, stage, &victims);
    }
    go_on(server, victim_serves ? &client : NULL, before);
    end_victim(victim, ending, server, victim_serves ? &client : NULL);
    if (!victim_serves) {
        server->quiet = true;
        for (uint64_t end = now_ns() + DEATH_NS; pending(server);) {
            ck_assert_msg(now_ns() < end, "an answer to it is pending");
            step(server);
        }
        server->quiet = false;
        return;
    }
    if (stage != CLOSING) {
        client.quiet = true;
        for (uint64_t end = now_ns() + DEATH_NS; pending(&client);) {
            ck_assert_msg(now_ns() < end, "an operation with it is pending");
            step(server);
            step(&client);
        }
    }
    client.done = 0;
    side_close(&client);
}

static void
one_combination(bool victim_serves, enum stage stage, enum ending ending)
{
    static struct node node;
    static struct side server;
    struct place place;
    uint32_t sockets = count_sockets();
    uint32_t rounds = test_count(TEST_KILL_MATRIX_ROUNDS);

    bearer = child_start(fork_victims, NULL);
    server_open(&server, &node, &place);
    ck_served(&server, &place);
    go_on(&server, NULL, 1000000);
    uint32_t descriptors = count_descriptors(), mappings = count_mappings();
    for (uint32_t i = 0; i < rounds; i++) {
        run(&server, &place, victim_serves, stage, ending,
            i + 1 + 7 * (uint32_t) stage);
        ck_served(&server, &place);
    }
    /* the deaths of friend and victim are detected by polling */
    for (uint64_t end = now_ns() + DEATH_NS;
         count_descriptors() > descriptors && now_ns() < end;)
        go_on(&server, NULL, 100000);
    ck_assert_msg(
        count_descriptors() <= descriptors && count_mappings() <= mappings,
        "%s %s, %s: %u descriptors, not %u; %u rings, not %u",
        victim_serves ? "server" : "client", ending_names[ending],
        stage_names[stage], count_descriptors(), descriptors, count_mappings(),
        mappings);
    side_close(&server);
    free(server.memory);
    ck_assert_uint_eq(count_sockets(), sockets);
    close(bearer.out);
    bearer.out = -1;
    child_join(&bearer);
}

START_TEST(kill_matrix)
{
    one_combination(_i / (STAGES * ENDINGS) != 0,
        (enum stage)(_i / ENDINGS % STAGES), (enum ending)(_i % ENDINGS));
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("kill_matrix");

    tcase_add_loop_test(cases, kill_matrix, 0, 2 * STAGES * ENDINGS);
    return run_cases("kill_matrix", &cases, 1);
}
