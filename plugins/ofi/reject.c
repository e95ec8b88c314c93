/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that are dropped; the log lines are thinned. */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "ofi.h"
#include "peer.h"
#include "reject.h"

void
ofi_reject(struct ofi_endpoint *ep, const char *why)
{
    uint64_t count = ep->counters.malformed++;

    TP_LOG_THINNED(ep->cls->host, WARNING, count,
        "message number %" PRIu64 " of its kind dropped: %s", count + 1, why);
}

/* Memory may be short for a while. */
void
ofi_reject_lost(struct ofi_endpoint *ep, uint64_t length)
{
    uint64_t count = ep->counters.no_memory++;

    TP_LOG_THINNED(ep->cls->host, ERROR, count,
        "message number %" PRIu64 " of its kind lost, %" PRIu64
        " bytes: no memory",
        count + 1, length);
}

/* A request of Mercury begins with this byte and the version of its protocol.
 * Over providers that do not report the sender, its socket address precedes
 * them, and where a layer of libfabric was below, its header of 64 bytes. */
#define MERCURY_BYTE 0xd7U
#define MERCURY_VERSION_MAX 15U
static const uint8_t mercury_places[] = {0, 16, 28, 32, 64, 80, 92, 96};

#define SOURCE_MAX (INET_ADDRSTRLEN + 32U)

/* The sender, from an IPv4 socket address before the place; "" without. */
static void
source_before(const unsigned char *data, uint32_t place, char text[SOURCE_MAX])
{
    struct sockaddr_in address;
    char host[INET_ADDRSTRLEN];

    text[0] = '\0';
    if (place < sizeof(address))
        return;
    memcpy(&address, data + place - sizeof(address), sizeof(address));
    if (address.sin_family == AF_INET && address.sin_port != 0 &&
        inet_ntop(AF_INET, &address.sin_addr, host, sizeof(host)) != NULL)
        snprintf(text, SOURCE_MAX, ", which claims to be %s:%u,", host,
            (unsigned) ntohs(address.sin_port));
}

static bool
is_mercury(const unsigned char *data, uint64_t length, char source[SOURCE_MAX])
{
    for (uint32_t i = 0; i < sizeof(mercury_places); i++) {
        uint32_t place = mercury_places[i];
        if (length >= place + 2U && data[place] == MERCURY_BYTE &&
            data[place + 1] != 0 && data[place + 1] <= MERCURY_VERSION_MAX) {
            source_before(data, place, source);
            return true;
        }
    }
    return false;
}

void
ofi_foreign_reject(
    struct ofi_endpoint *ep, const unsigned char *data, uint64_t length)
{
    char source[SOURCE_MAX];

    if (!is_mercury(data, length, source)) {
        ofi_reject(ep, "its header is not one of this version's, but of "
                       "another, or of another library");
        return;
    }
    uint64_t count = ep->mercury++;
    ep->counters.malformed++;
    TP_LOG_THINNED(ep->cls->host, ERROR, count,
        "message number %" PRIu64 " of its kind dropped: its sender%s uses "
        "Mercury, not Talaria; all processes of a job must use the same",
        count + 1, source);
}

void
ofi_foreign_suspect(
    struct ofi_endpoint *ep, struct ofi_peer *peer, uint64_t seconds)
{
    char text[OFI_TEXT_MAX];

    if (peer->warned ||
        atomic_load_explicit(&peer->addr->known, memory_order_relaxed))
        return;
    peer->warned = true;
    ofi_peer_print(peer, ep->cls->trait, text);
    TP_LOG(ep->cls->host, ERROR,
        "ofi+%s://%s: has not answered for %" PRIu64
        " s, and never before: it is stopped or busy, or does not speak "
        "Talaria's protocol over libfabric's provider %s (it may use Mercury, "
        "or another transport)",
        ep->cls->trait->scheme, text, seconds, ep->cls->trait->provider);
}
