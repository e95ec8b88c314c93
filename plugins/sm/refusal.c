/* SPDX-License-Identifier: BSD-3-Clause */
/* Refusing callers, and being refused. */
#include <sys/socket.h>

#include "hello.h"
#include "refusal.h"

#define UNREAD_MAX 1024 /* packets; more than a socket holds */

void
sm_refusal_log(const na_plugin_class *cls, const char *name)
{
    TP_LOG(cls->host, ERROR,
        "%s has refused this class: it admits processes of its own user only, "
        "unless it was opened for any (na+sm://any/), then a limited number of "
        "connections for each, and of its own authorization key",
        name);
}

bool
sm_refusal_received(int fd)
{
    struct sm_hello hello;
    struct sm_hello_fds fds;
    int got = sm_hello_recv(fd, &hello, &fds);

    if (got > 0)
        sm_hello_close(&fds);
    return got > 0 && hello.status == NA_PLUGIN_E_PERMISSION;
}

/* Stops receiving, and reads what has come, without descriptors: a socket that is
 * closed with something unread loses the answer. */
static void
stop_receiving(int fd)
{
    struct sm_hello packet;
    int left = UNREAD_MAX;

    shutdown(fd, SHUT_RD);
    while (
        left-- != 0 && sm_socket_next(fd, &packet, sizeof(packet), NULL, 0) > 0)
        ;
}

void
sm_refusal_send(na_plugin_class *cls, int fd, const struct sm_process *process,
    const char *why)
{
    /* First: a caller whose own hello meets the closed end looks for it. */
    sm_hello_refuse(cls, fd, NA_PLUGIN_E_PERMISSION);
    stop_receiving(fd);
    tp_count(&cls->counters.refused, 1);
    TP_LOG(cls->host, INFO, "process %d of user %d is refused: %s",
        (int) process->pid, (int) process->uid, why);
}
