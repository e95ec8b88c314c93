/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of providers. README.md says which of them were tested where. */
#include <string.h>

#include <rdma/fabric.h>

#include "provider.h"

#define ALWAYS FI_VERSION(1, 0)
/* Says that a buffer is released with its last message, before 2.1 not always
 * when that fails, and before 1.20 also while others still come into it. */
#define TCP_MULTI FI_VERSION(2, 1)
#define SOCKETS (OFI_TRAIT_TCP | OFI_TRAIT_LOCK_MR)
#define STREAMS (SOCKETS | OFI_TRAIT_SPLIT_GETS | OFI_TRAIT_CLOSE_SPOILS)
#define LAYERED                                                                \
    (SOCKETS | OFI_TRAIT_SLOW_LOSS | OFI_TRAIT_WAIT_KEEPS |                    \
        OFI_TRAIT_CLOSE_TEARS)
#define LAYERED_NATIVE (OFI_TRAIT_NATIVE | OFI_TRAIT_WAIT_KEEPS)
/* What was lost is sent again only by who calls: nobody may sleep. */
#define DATAGRAMS                                                              \
    (OFI_TRAIT_LOCK_MR | OFI_TRAIT_MUST_ANSWER | OFI_TRAIT_NO_WAIT)

/*
 * RDM endpoints over TCP of their own are called net in libfabric 1.17 and tcp
 * since 1.18, and speak the same; those of the layer rxm speak another language.
 */
static const struct ofi_trait table[] = {
    {"tcp", "tcp", "tcp", OFI_FORMAT_IP, STREAMS, TCP_MULTI},
    {"tcp", "net", "tcp", OFI_FORMAT_IP, STREAMS, 0},
    {"tcp", "tcp;ofi_rxm", "tcp;ofi_rxm", OFI_FORMAT_IP, LAYERED, 0},
    {"net", "net", "tcp", OFI_FORMAT_IP, STREAMS, 0},
    {"net", "tcp", "tcp", OFI_FORMAT_IP, STREAMS, TCP_MULTI},
    {"tcp;ofi_rxm", "tcp;ofi_rxm", "tcp;ofi_rxm", OFI_FORMAT_IP, LAYERED, 0},
    {"net;ofi_rxm", "net;ofi_rxm", "tcp;ofi_rxm", OFI_FORMAT_IP, LAYERED, 0},
    {"sockets", "sockets", "sockets", OFI_FORMAT_IP,
        SOCKETS | OFI_TRAIT_TRUST_WAIT | OFI_TRAIT_MUTE_LOSS |
            OFI_TRAIT_LATE_END,
        0},
    {"udp", "udp;ofi_rxd", "udp", OFI_FORMAT_IP, DATAGRAMS, 0},
    {"udp;ofi_rxd", "udp;ofi_rxd", "udp", OFI_FORMAT_IP, DATAGRAMS, 0},
    {"shm", "shm", "shm", OFI_FORMAT_STRING,
        OFI_TRAIT_NODE | OFI_TRAIT_NO_WAIT | OFI_TRAIT_LOCK_MR |
            OFI_TRAIT_IN_ORDER,
        0},
    {"verbs", "verbs;ofi_rxm", "verbs", OFI_FORMAT_IP, LAYERED_NATIVE, 0},
    {"verbs;ofi_rxm", "verbs;ofi_rxm", "verbs", OFI_FORMAT_IP, LAYERED_NATIVE,
        0},
    {"cxi", "cxi", "cxi", OFI_FORMAT_BYTES, OFI_TRAIT_NATIVE, ALWAYS},
    {"opx", "opx", "opx", OFI_FORMAT_BYTES, OFI_TRAIT_NO_WAIT, 0},
    {"psm2", "psm2", "psm2", OFI_FORMAT_BYTES, OFI_TRAIT_NO_WAIT, 0},
    {"psm3", "psm3", "psm3", OFI_FORMAT_BYTES, OFI_TRAIT_NO_WAIT, 0},
    {"gni", "gni", "gni", OFI_FORMAT_BYTES, OFI_TRAIT_NATIVE, 0},
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
        .flags = OFI_TRAIT_LOCK_MR,
        .multi = ALWAYS};
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
