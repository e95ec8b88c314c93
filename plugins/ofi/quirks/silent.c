/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections on which nothing ever arrives. libfabric accepts every connection
 * to a TCP port, and waits for its first bytes without a limit: each holds a
 * descriptor, and when there are no more, no other peer is accepted. So
 * connections that send nothing for ofi.silent_timeout are shut down; libfabric
 * closes them then. The kernel counts what has arrived on a connection, and
 * when it was accepted: nothing is remembered here from one look to the next. */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../ofi.h"
#include "../quirk.h"
#include "common/descriptor.h"
#include "common/system.h"

#define LOOKS 2U /* in the time of ofi.silent_timeout */

struct silent {
    int folder; /* of the process's descriptors, -1 without */
    uint64_t looked_ns;
};

extern const struct ofi_quirk ofi_quirk_silent;

static bool
applies(const struct ofi_trait *trait, uint32_t version)
{
    return trait->conduct.probe == OFI_PROBE_PORT;
}

static void
init(struct ofi_endpoint *ep)
{
    struct silent *silent = ofi_quirk_data(ep, &ofi_quirk_silent);

    silent->folder = -1;
}

/* The descriptor is taken now, as there may be none later. */
static int32_t
opened(struct ofi_endpoint *ep)
{
    struct silent *silent = ofi_quirk_data(ep, &ofi_quirk_silent);

    if (ep->cls->silent_ns == 0)
        return NA_PLUGIN_OK;
    silent->folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (silent->folder < 0)
        TP_LOG(ep->cls->host, INFO,
            "silent connections are not shut down: cannot read /proc/self/fd");
    silent->looked_ns = tp_now();
    return NA_PLUGIN_OK;
}

static bool
leaving(struct ofi_endpoint *ep)
{
    struct silent *silent = ofi_quirk_data(ep, &ofi_quirk_silent);

    if (silent->folder >= 0)
        close(silent->folder);
    silent->folder = -1;
    return true;
}

/* The first fields of the kernel's struct tcp_info, which netinet/tcp.h has not
 * all of. Its places never change; an old kernel fills in fewer of them. */
struct counts {
    uint8_t state;
    uint8_t others[7];
    uint32_t more[11];
    uint32_t last_data_recv; /* milliseconds ago, or since it was accepted */
    uint32_t still_more[12];
    uint64_t rates[2];
    uint64_t bytes_acked;
    uint64_t bytes_received;
};
_Static_assert(offsetof(struct counts, last_data_recv) ==
                       offsetof(struct tcp_info, tcpi_last_data_recv) &&
                   offsetof(struct counts, bytes_received) == 128,
    "as the kernel has it");

struct sweep {
    struct ofi_endpoint *ep;
    uint32_t count;
};

static bool
is_silent(const struct ofi_endpoint *ep, int fd)
{
    struct counts counts = {0};
    socklen_t length = sizeof(counts);
    struct ofi_name name;

    if (!ofi_name_of_socket(ep->cls->trait, fd, getsockname, &name) ||
        !ofi_name_equal(&name, &ep->own_name))
        return false;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &counts, &length) == 0 &&
           length == sizeof(counts) && counts.state == TCP_ESTABLISHED &&
           counts.bytes_received == 0 &&
           counts.last_data_recv * TP_MS >= ep->cls->silent_ns;
}

static void
visit(int fd, void *arg)
{
    struct sweep *sweep = arg;

    if (is_silent(sweep->ep, fd) && shutdown(fd, SHUT_RDWR) == 0)
        sweep->count++;
}

static void
look(struct ofi_endpoint *ep, struct silent *silent)
{
    struct sweep sweep = {.ep = ep};
    uint64_t now = tp_now();

    if (silent->folder < 0 ||
        now - silent->looked_ns < ep->cls->silent_ns / LOOKS)
        return;
    silent->looked_ns = now;
    tp_descriptors_each_in(silent->folder, visit, &sweep);
    if (sweep.count == 0)
        return;
    ep->counters.silent += sweep.count;
    TP_LOG(ep->cls->host, INFO,
        "%u connections shut down: no data arrived on them", sweep.count);
}

static bool
work(struct ofi_endpoint *ep, bool rare)
{
    if (rare)
        look(ep, ofi_quirk_data(ep, &ofi_quirk_silent));
    return false;
}

static uint64_t
sleep_ns(struct ofi_endpoint *ep)
{
    struct silent *silent = ofi_quirk_data(ep, &ofi_quirk_silent);

    look(ep, silent);
    return silent->folder >= 0 ? ep->cls->silent_ns / LOOKS : UINT64_MAX;
}

const struct ofi_quirk ofi_quirk_silent = {.applies = applies,
    .data_size = sizeof(struct silent),
    .init = init,
    .opened = opened,
    .leaving = leaving,
    .work = work,
    .sleep = sleep_ns};
