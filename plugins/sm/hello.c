/* SPDX-License-Identifier: BSD-3-Clause */
/* Packing, sending, receiving and checking a hello; refusals. */
#include <string.h>
#include <sys/socket.h>

#include "address.h"
#include "hello.h"

#define UNREAD_MAX 1024 /* packets; more than a socket holds */

static struct sm_hello
compose(const na_plugin_class *cls, int32_t status)
{
    struct sm_hello hello = {
        .magic = SM_HELLO_MAGIC,
        .major = SM_HELLO_MAJOR,
        .minor = SM_HELLO_MINOR,
        .size = sizeof(hello),
        .flags = SM_HELLO_EMULATES |
                 (cls->membarrier ? SM_HELLO_MEMBARRIER : 0) |
                 (cls->assists ? SM_HELLO_ASSISTS | SM_HELLO_ASSISTS_PUTS : 0),
        .status = status,
        .capacity = cls->ring_capacity,
        .longest = cls->longest,
        .name_length = cls->self->addr.length,
        .owner = cls->owner,
    };
    memcpy(hello.name, cls->self->name, cls->self->addr.length);
    return hello;
}

int
sm_hello_send(const na_plugin_class *cls, int fd, int ring,
    const struct sm_process *peer, uint64_t owner)
{
    struct sm_hello hello = compose(cls, NA_PLUGIN_OK);
    int passed[2] = {ring, cls->registry.fd};
    bool shares_registry =
        cls->registry.fd >= 0 && sm_access_same_user(cls, peer);

    sm_access_prove(cls, peer->pid, owner, hello.proof);
    return sm_socket_pass(
        fd, &hello, sizeof(hello), passed, shares_registry ? 2 : 1);
}

void
sm_hello_refuse(const na_plugin_class *cls, int fd, int32_t status)
{
    struct sm_hello hello = compose(cls, status);

    sm_socket_pass(fd, &hello, sizeof(hello), NULL, 0);
}

int
sm_hello_recv(int fd, struct sm_hello *hello_p, struct sm_hello_fds *fds_p)
{
    struct sm_hello hello = {0};
    int passed[2];
    int got = sm_socket_next(fd, &hello, sizeof(hello), passed, 2);
    if (got <= 0)
        return got;

    if (got < (int) sizeof(hello) || hello.magic != SM_HELLO_MAGIC) {
        sm_socket_close_passed(passed, 2);
        return -1;
    }
    *hello_p = hello;
    *fds_p = (struct sm_hello_fds){.ring = passed[0], .registry = passed[1]};
    return 1;
}

void
sm_hello_close(const struct sm_hello_fds *fds)
{
    const int passed[2] = {fds->ring, fds->registry};

    sm_socket_close_passed(passed, 2);
}

const char *
sm_hello_check(struct sm_hello *hello, const struct sm_process *process)
{
    if (hello->size < sizeof(*hello))
        return "its hello is too short";
    if (hello->name_length > SM_NAME_MAX ||
        !sm_name_valid(hello->name, hello->name_length, SM_NAME_MAX))
        return "malformed peer name";
    hello->name[hello->name_length] = '\0';
    if (!sm_socket_name_plausible(process, sm_name_process(hello->name)))
        return "its name is another process's";
    if (hello->longest > SM_MESSAGE_MAX)
        return "its messages are too long";
    if (hello->owner == 0)
        return "it has no class number";
    return NULL;
}

void
sm_hello_log_refusal(const na_plugin_class *cls, const char *name)
{
    TP_LOG(cls->host, ERROR,
        "%s: refused this class: it admits processes of its own user only, "
        "unless it was opened for any (na+sm://any/), then a limited number of "
        "connections for each, and of its own authorization key",
        name);
}

bool
sm_hello_refused(int fd)
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
sm_hello_refuse_caller(na_plugin_class *cls, int fd,
    const struct sm_process *process, const char *why)
{
    /* First: a caller whose own hello meets the closed end looks for it. */
    sm_hello_refuse(cls, fd, NA_PLUGIN_E_PERMISSION);
    stop_receiving(fd);
    TP_LOG_THINNED(cls->host, INFO, tp_count(&cls->counters.refused, 1),
        "process %d of user %d: connection refused: %s", (int) process->pid,
        (int) process->uid, why);
}
