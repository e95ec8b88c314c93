/* SPDX-License-Identifier: BSD-3-Clause */
/* A service in an event loop of poll(2).
 *
 *   loop serve INFO            prints its address; a line on standard input
 *                              becomes the text, its end or SIGTERM ends it
 *   loop call INFO ADDRESS     prints the text, and how long the server has run
 *
 * Shows the three rules of a loop: ask HG_Event_ready before sleeping; work when
 * the context's descriptor is readable; the work never blocks. The same loop
 * serves standard input and a timer, in one thread. */
#include <mercury.h>
#include <mercury_macros.h>
#include <mercury_proc_string.h>

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

MERCURY_GEN_PROC(state_t, ((hg_const_string_t) (text))((uint32_t) (seconds)))

static char text[256] = "hello";
static uint32_t seconds;
static int stop;

static hg_return_t
on_state(hg_handle_t handle)
{
    state_t state = {text, seconds};
    hg_return_t ret = HG_Respond(handle, NULL, NULL, &state);

    HG_Destroy(handle);
    return ret;
}

static hg_return_t
responded(const struct hg_cb_info *info)
{
    hg_return_t *ret = info->arg;
    state_t state;

    *ret = info->ret;
    if (*ret == HG_SUCCESS)
        *ret = HG_Get_output(info->info.forward.handle, &state);
    if (*ret == HG_SUCCESS) {
        printf("%s, %u s\n", state.text, state.seconds);
        HG_Free_output(info->info.forward.handle, &state);
    }
    stop = 1;
    return HG_SUCCESS;
}

static void
read_line(void)
{
    char line[sizeof text];
    ssize_t got = read(STDIN_FILENO, line, sizeof line - 1);

    if (got <= 0) {
        stop = 1;
        return;
    }
    line[got] = '\0';
    line[strcspn(line, "\n")] = '\0';
    strcpy(text, line);
}

static void
read_timer(int timer)
{
    uint64_t count;

    if (read(timer, &count, sizeof count) == sizeof count)
        seconds += (uint32_t) count;
}

/* A descriptor for SIGTERM: a handler could run right before the loop sleeps. */
static int
open_signal(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

static int
open_timer(void)
{
    struct itimerspec every = {{1, 0}, {1, 0}};
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

    if (timer >= 0)
        timerfd_settime(timer, 0, &every, NULL);
    return timer;
}

/* Until stop is set. listens: also to standard input. */
static int
run(hg_context_t *context, int listens)
{
    enum { CONTEXT, TIMER, SIGNAL, INPUT, COUNT };
    struct pollfd fds[COUNT] = {
        [CONTEXT] = {HG_Event_get_wait_fd(context), POLLIN, 0},
        [TIMER] = {open_timer(), POLLIN, 0},
        [SIGNAL] = {open_signal(), POLLIN, 0},
        [INPUT] = {listens ? STDIN_FILENO : -1, POLLIN, 0}};

    if (fds[CONTEXT].fd < 0) {
        fprintf(stderr, "the transport has no descriptor\n");
        stop = 1;
    }
    while (!stop) {
        unsigned int count = 0;
        int ready = HG_Event_ready(context);

        if (poll(fds, COUNT, ready ? 0 : -1) < 0)
            continue; /* interrupted */
        if ((ready || fds[CONTEXT].revents) &&
            HG_Event_progress(context, &count) == HG_SUCCESS && count > 0)
            HG_Event_trigger(context, 16, NULL);
        if (fds[TIMER].revents)
            read_timer(fds[TIMER].fd);
        if (fds[INPUT].revents)
            read_line();
        if (fds[SIGNAL].revents)
            stop = 1;
    }
    close(fds[TIMER].fd);
    close(fds[SIGNAL].fd);
    return fds[CONTEXT].fd < 0;
}

static int
server(hg_class_t *hg_class, hg_context_t *context)
{
    char address[256];
    hg_size_t size = sizeof address;
    hg_addr_t self;

    if (HG_Addr_self(hg_class, &self) != HG_SUCCESS)
        return 1;
    if (HG_Addr_to_string(hg_class, address, &size, self) == HG_SUCCESS) {
        puts(address);
        fflush(stdout);
    }
    HG_Addr_free(hg_class, self);
    return run(context, 1);
}

static int
client(hg_class_t *hg_class, hg_context_t *context, hg_id_t id, char *address)
{
    hg_addr_t addr = HG_ADDR_NULL;
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_return_t outcome = HG_SUCCESS;
    hg_return_t ret = HG_Addr_lookup(hg_class, address, &addr);

    if (ret == HG_SUCCESS)
        ret = HG_Create(context, addr, id, &handle);
    if (ret == HG_SUCCESS)
        ret = HG_Forward(handle, responded, &outcome, NULL);
    if (ret == HG_SUCCESS)
        ret = run(context, 0) == 0 ? outcome : HG_OPNOTSUPPORTED;
    HG_Destroy(handle);
    HG_Addr_free(hg_class, addr);
    if (ret != HG_SUCCESS)
        fprintf(stderr, "%s: %s\n", address, HG_Error_to_string(ret));
    return ret == HG_SUCCESS ? 0 : 1;
}

int
main(int argc, char **argv)
{
    int is_server = argc == 3 && strcmp(argv[1], "serve") == 0;
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_id_t id;
    int status;

    if (!is_server && (argc != 4 || strcmp(argv[1], "call") != 0)) {
        fprintf(stderr, "usage: loop serve INFO\n"
                        "       loop call INFO ADDRESS\n");
        return 2;
    }
    hg_class = HG_Init(argv[2], is_server);
    context = hg_class ? HG_Context_create(hg_class) : NULL;
    if (!context)
        return 1; /* the library has logged the reason */
    id = MERCURY_REGISTER(
        hg_class, "state", void, state_t, is_server ? on_state : NULL);
    status = is_server ? server(hg_class, context)
                       : client(hg_class, context, id, argv[3]);
    HG_Context_destroy(context);
    HG_Finalize(hg_class);
    return status;
}
