/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop. It sleeps only if HG_Event_ready has returned false for all
 * contexts: then their descriptors become readable when there is work. */
#include "serve.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define TRIGGER_MAX 64U

static void
wanted_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
}

int
serve_prepare(void)
{
    sigset_t set;

    wanted_signals(&set);
    return sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Progresses and triggers until there is nothing to do. -1: a context
 * failed. */
static int
work(hg_context_t *const *contexts, unsigned count)
{
    bool busy = true;

    while (busy) {
        busy = false;
        for (unsigned i = 0; i < count; i++) {
            unsigned ready = 0, run = 0;

            if (HG_Event_progress(contexts[i], &ready) != HG_SUCCESS)
                return -1;
            if (ready > 0)
                HG_Event_trigger(contexts[i], TRIGGER_MAX, &run);
            /* Callbacks of one context may create work for the others. */
            busy = busy || run > 0;
        }
    }
    return 0;
}

static bool
all_idle(hg_context_t *const *contexts, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (HG_Event_ready(contexts[i]))
            return false;
    return true;
}

static bool
watch(int epoll_fd, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    return fd >= 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static int
loop(hg_context_t *const *contexts, unsigned count, int epoll_fd, int signal_fd)
{
    for (;;) {
        struct epoll_event event;
        int found;

        if (work(contexts, count) != 0) {
            fprintf(stderr, "a transport failed\n");
            return -1;
        }
        if (!all_idle(contexts, count))
            continue;
        found = epoll_wait(epoll_fd, &event, 1, -1);
        if (found < 0 && errno != EINTR) {
            perror("epoll_wait");
            return -1;
        }
        if (found == 1 && event.data.fd == signal_fd)
            return 0;
    }
}

int
serve(hg_context_t *const *contexts, unsigned count)
{
    sigset_t set;
    int signal_fd, epoll_fd, ret = -1;
    bool watched;

    wanted_signals(&set);
    signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    watched = epoll_fd >= 0 && watch(epoll_fd, signal_fd);
    for (unsigned i = 0; watched && i < count; i++)
        watched = watch(epoll_fd, HG_Event_get_wait_fd(contexts[i]));
    if (watched)
        ret = loop(contexts, count, epoll_fd, signal_fd);
    else
        fprintf(
            stderr, "a context cannot be waited for: %s\n", strerror(errno));
    if (epoll_fd >= 0)
        close(epoll_fd);
    if (signal_fd >= 0)
        close(signal_fd);
    return ret;
}
