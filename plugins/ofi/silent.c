/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel counts what has arrived on a connection, and when it was accepted:
 * nothing is remembered here from one look to the next. */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fork.h"
#include "name.h"
#include "peer.h"
#include "silent.h"

#define LOOKS 2U /* in the time of ofi.silent_timeout */

void
ofi_silent_init(na_plugin_class *cls)
{
    if ((cls->trait->flags & OFI_TRAIT_TCP) == 0 || cls->silent_ns == 0)
        return;
    cls->silent_folder =
        open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cls->silent_folder < 0)
        OFI_LOG(cls->host, INFO,
            "/proc/self/fd cannot be read: connections that say nothing stay");
    cls->silent_looked_ns = ofi_peer_now();
}

void
ofi_silent_fini(na_plugin_class *cls)
{
    if (cls->silent_folder >= 0)
        close(cls->silent_folder);
    cls->silent_folder = -1;
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
    na_plugin_class *cls;
    uint32_t count;
};

static bool
is_silent(const na_plugin_class *cls, int fd)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);
    struct counts counts = {0};
    struct ofi_name name;

    if (getsockname(fd, (void *) &address, &length) != 0 ||
        !ofi_name_from_raw(cls->trait, &address, length, &name) ||
        !ofi_name_equal(&name, &cls->own_name))
        return false;
    length = sizeof(counts);
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &counts, &length) == 0 &&
           length == sizeof(counts) && counts.state == TCP_ESTABLISHED &&
           counts.bytes_received == 0 &&
           counts.last_data_recv * OFI_MS >= cls->silent_ns;
}

static void
visit(int fd, const void *arg)
{
    struct sweep *sweep = (void *) (uintptr_t) arg;

    if (is_silent(sweep->cls, fd) && shutdown(fd, SHUT_RDWR) == 0)
        sweep->count++;
}

void
ofi_silent_look(na_plugin_class *cls)
{
    struct sweep sweep = {.cls = cls};
    uint64_t now = ofi_peer_now();

    if (cls->silent_folder < 0 ||
        now - cls->silent_looked_ns < cls->silent_ns / LOOKS)
        return;
    cls->silent_looked_ns = now;
    ofi_fork_each_fd(cls->silent_folder, visit, &sweep);
    if (sweep.count == 0)
        return;
    cls->counters.silent += sweep.count;
    OFI_LOG(cls->host, INFO,
        "%u connections were shut down, on which nothing had arrived",
        sweep.count);
}

uint64_t
ofi_silent_sleep(const na_plugin_class *cls)
{
    return cls->silent_folder >= 0 ? cls->silent_ns / LOOKS : UINT64_MAX;
}
