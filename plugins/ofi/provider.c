/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of providers. README.md lists which of them were tested, and where. */
#include <string.h>

#include <rdma/fabric.h>

#include "na_plugin.h"
#include "provider.h"

#define ALWAYS FI_VERSION(1, 0)
/* Says that a buffer is released with its last message, before 2.1 not always
 * when that fails, and before 1.20 also while others still come into it. */
#define TCP_MULTI FI_VERSION(2, 1)

#define IN_FLIGHT 16U
#define IN_FLIGHT_NAP 256U /* the same without wait objects */

#define COMMON .get_max = UINT64_MAX, .rma_repeats = 1, .pings_before_probe = 3
#define WAKING COMMON, .rma_in_flight = IN_FLIGHT
#define NAPPING COMMON, .rma_in_flight = IN_FLIGHT_NAP, .never_wait = true
#define NATIVE .features = NA_PLUGIN_FEATURE_RMA_NATIVE

#define PORT                                                                   \
    {                                                                          \
        WAKING, .probe = OFI_PROBE_PORT, .serial_mr = true                     \
    }
#define DEVICE                                                                 \
    {                                                                          \
        WAKING, NATIVE                                                         \
    }
#define POLLED                                                                 \
    {                                                                          \
        NAPPING                                                                \
    }
/* What was lost is sent again only within calls: contexts may not sleep. */
#define DATAGRAMS                                                              \
    {                                                                          \
        NAPPING, .serial_mr = true                                             \
    }
#define NODE                                                                   \
    {                                                                          \
        NAPPING, .probe = OFI_PROBE_LOCAL, .serial_mr = true,                  \
                 .features = NA_PLUGIN_FEATURE_NODE_LOCAL                      \
    }
#define UNKNOWN                                                                \
    {                                                                          \
        WAKING, .serial_mr = true                                              \
    }

/* RDM endpoints over TCP of their own are called net in libfabric 1.17 and tcp
 * since 1.18, with the same wire protocol; the layer rxm has another one. */
static const struct ofi_trait table[] = {
    {"tcp", "tcp", "tcp", OFI_FORMAT_IP, TCP_MULTI, PORT},
    {"tcp", "net", "tcp", OFI_FORMAT_IP, 0, PORT},
    {"tcp", "tcp;ofi_rxm", "tcp;ofi_rxm", OFI_FORMAT_IP, 0, PORT},
    {"net", "net", "tcp", OFI_FORMAT_IP, 0, PORT},
    {"net", "tcp", "tcp", OFI_FORMAT_IP, TCP_MULTI, PORT},
    {"tcp;ofi_rxm", "tcp;ofi_rxm", "tcp;ofi_rxm", OFI_FORMAT_IP, 0, PORT},
    {"net;ofi_rxm", "net;ofi_rxm", "tcp;ofi_rxm", OFI_FORMAT_IP, 0, PORT},
    {"sockets", "sockets", "sockets", OFI_FORMAT_IP, 0, PORT},
    {"udp", "udp;ofi_rxd", "udp", OFI_FORMAT_IP, 0, DATAGRAMS},
    {"udp;ofi_rxd", "udp;ofi_rxd", "udp", OFI_FORMAT_IP, 0, DATAGRAMS},
    {"shm", "shm", "shm", OFI_FORMAT_STRING, 0, NODE},
    {"verbs", "verbs;ofi_rxm", "verbs", OFI_FORMAT_IP, 0, DEVICE},
    {"verbs;ofi_rxm", "verbs;ofi_rxm", "verbs", OFI_FORMAT_IP, 0, DEVICE},
    {"cxi", "cxi", "cxi", OFI_FORMAT_BYTES, ALWAYS, DEVICE},
    {"opx", "opx", "opx", OFI_FORMAT_BYTES, 0, POLLED},
    {"psm2", "psm2", "psm2", OFI_FORMAT_BYTES, 0, POLLED},
    {"psm3", "psm3", "psm3", OFI_FORMAT_BYTES, 0, POLLED},
    {"gni", "gni", "gni", OFI_FORMAT_BYTES, 0, DEVICE},
};

#define ROWS (sizeof(table) / sizeof(table[0]))

const char *const ofi_protocols[OFI_PROTOCOLS] = {"tcp", "verbs", "shm", "opx",
    "gni", "cxi", "sockets", "psm2", "psm3", "udp", NULL};

const struct ofi_trait *
ofi_provider_form(const char *protocol, uint32_t index, struct ofi_trait *other)
{
    uint32_t known = 0;

    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(table[i].protocol, protocol) != 0)
            continue;
        if (known == index)
            return &table[i];
        known++;
    }
    if (known != 0 || index != 0)
        return NULL;
    *other = (struct ofi_trait){.protocol = protocol,
        .provider = protocol,
        .scheme = protocol,
        .format = OFI_FORMAT_BYTES,
        .multi = ALWAYS,
        .conduct = UNKNOWN};
    return other;
}

bool
ofi_provider_speaks(const struct ofi_trait *trait, const char *scheme)
{
    if (strcmp(trait->scheme, scheme) == 0 ||
        strcmp(trait->provider, scheme) == 0)
        return true;
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(table[i].protocol, scheme) == 0 &&
            strcmp(table[i].scheme, trait->scheme) == 0 &&
            strcmp(table[i].protocol, "tcp") != 0)
            return true;
    return false;
}
