/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes of one process, of which one closes endpoints while others begin. UCX
 * before 1.22 keeps an event of a socket that it has closed until the worker is
 * polled again, and ends the process if another worker has been given the number
 * by then. So none may be given one in between, which is stretched here: functions
 * of UCX's that it calls by their names are called by way of those here. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "runner.h"
#include "side.h"

#define CLASSES 20U
#define NUMBERS 4096
#define STEP_NS 100000L
#define LATE_STEPS 3U   /* that UCX's thread takes to see an event */
#define MISS_STEPS 20U  /* that an event is waited for, at most */
#define OPEN_STEPS 100U /* and another class */
#define NUMBER_SHIFT 32 /* of an event that is kept: which descriptor's */

static atomic_bool kept[NUMBERS];     /* an event of this descriptor */
static void *_Atomic owners[NUMBERS]; /* UCX's workers */
static void *_Atomic closes;          /* the worker that has closed one */
static _Atomic uint32_t closed;       /* sockets of which an event was kept */
static _Atomic uint32_t between;      /* given to others before that was gone */
static _Thread_local bool serves;

union function {
    void *symbol;
    int (*push)(void *queue, uint64_t event);
    int (*dispatch)(int *numbers, size_t count, unsigned events);
    int (*set)(int mode, int number, unsigned events, void *call, void *arg,
        void *owner);
    int (*remove)(int number, int sync);
    void (*close)(int *number_p);
};

/* The function of UCX that one here stands before. */
static union function
next_of(const char *name)
{
    void *library = dlopen("libucs.so.0", RTLD_NOW | RTLD_NOLOAD);
    union function function = {
        .symbol = library != NULL ? dlsym(library, name) : NULL};

    if (function.symbol == NULL)
        abort();
    dlclose(library);
    return function;
}

static void
wait_step(void)
{
    nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
}

int ucs_mpmc_queue_push(void *queue, uint64_t event);
int ucs_async_dispatch_handlers(int *numbers, size_t count, unsigned events);
int ucs_async_set_event_handler(
    int mode, int number, unsigned events, void *call, void *arg, void *owner);
int ucs_async_remove_handler(int number, int sync);
void ucs_close_fd(int *number_p);

int
ucs_mpmc_queue_push(void *queue, uint64_t event)
{
    if (event >> NUMBER_SHIFT < NUMBERS)
        kept[event >> NUMBER_SHIFT] = true;
    return next_of("ucs_mpmc_queue_push").push(queue, event);
}

/* So late that the endpoint is being closed. */
int
ucs_async_dispatch_handlers(int *numbers, size_t count, unsigned events)
{
    for (uint32_t i = 0; i < LATE_STEPS; i++)
        wait_step();
    return next_of("ucs_async_dispatch_handlers")
        .dispatch(numbers, count, events);
}

int
ucs_async_set_event_handler(
    int mode, int number, unsigned events, void *call, void *arg, void *owner)
{
    void *closing = closes;

    if (closing != NULL && closing != owner)
        between++;
    if (number >= 0 && number < NUMBERS) {
        kept[number] = false;
        owners[number] = owner;
    }
    return next_of("ucs_async_set_event_handler")
        .set(mode, number, events, call, arg, owner);
}

/* The peer's end of the socket has been closed, or this is how it looks. */
int
ucs_async_remove_handler(int number, int sync)
{
    if (serves && number >= 0 && number < NUMBERS) {
        shutdown(number, SHUT_RDWR);
        for (uint32_t i = 0; i < MISS_STEPS && !kept[number]; i++)
            wait_step();
    }
    return next_of("ucs_async_remove_handler").remove(number, sync);
}

void
ucs_close_fd(int *number_p)
{
    int number = *number_p;

    next_of("ucs_close_fd").close(number_p);
    if (!serves || number < 0 || number >= NUMBERS ||
        !atomic_exchange(&kept[number], false))
        return;
    uint32_t before = between;
    closed++;
    closes = owners[number];
    for (uint32_t i = 0; i < OPEN_STEPS && between == before; i++)
        wait_step();
    closes = NULL;
}

static atomic_bool stop;

/* Answers until it is told to stop. */
static void *
serve(void *arg)
{
    struct side *side = arg;
    struct act recv, send;

    serves = true;
    act_init(&recv, side);
    act_init(&send, side);
    act_recv_any(&recv);
    while (!stop) {
        side_poll(side);
        if (recv.pending)
            continue;
        if (recv.end.status != NA_PLUGIN_OK)
            abort();
        act_send(&send, false, recv.buffer, recv.end.length, recv.end.source,
            recv.end.tag);
        act_await(&send, NULL);
        side->ops->addr_free(side->cls, recv.end.source);
        act_recv_any(&recv);
    }
    side->ops->cancel(side->ctx, recv.op);
    act_await(&recv, NULL);
    act_fini(&recv);
    act_fini(&send);
    return NULL;
}

START_TEST(reuse_of_numbers_waits_for_closing_classes)
{
    static const char *const protocols[] = {"tcp", "all"};
    static struct side server;
    char name[SIDE_TEXT];
    pthread_t thread;

    side_open(&server, protocols[_i], "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN);
    side_name(&server, name);
    ck_assert_int_eq(pthread_create(&thread, NULL, serve, &server), 0);
    for (uint32_t i = 0; i < CLASSES; i++) {
        struct side side = {.log_level = 0};
        side_open(&side, protocols[_i], "127.0.0.1", 0, 0);
        na_plugin_addr *addr = side_lookup(&side, name);
        ck_assert_int_eq(echo_trip(&side, addr, i), NA_PLUGIN_OK);
        side.ops->addr_free(side.cls, addr);
        side_close(&side);
    }
    stop = true;
    pthread_join(thread, NULL);
    side_close(&server);
    printf("%s: an event was kept of %u sockets of %u\n", protocols[_i],
        (unsigned) closed, CLASSES);
    ck_assert_uint_ne(closed, 0);
    ck_assert_uint_eq(between, 0);
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("all");

    tcase_add_loop_test(
        tcase, reuse_of_numbers_waits_for_closing_classes, 0, 2);
    return run_tcase("ucx reuse", tcase);
}
