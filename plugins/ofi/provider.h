/* SPDX-License-Identifier: BSD-3-Clause */
/* What is particular to a provider of libfabric: one table, and nothing of it
 * anywhere else. */
#ifndef OFI_PROVIDER_H
#define OFI_PROVIDER_H

#include <stdbool.h>
#include <stdint.h>

/* How its endpoints are named. */
enum ofi_format {
    OFI_FORMAT_IP,     /* sockaddr_in, sockaddr_in6 */
    OFI_FORMAT_STRING, /* FI_ADDR_STR, or anything that ends with a zero */
    OFI_FORMAT_BYTES,  /* the provider's own */
};

/* A TCP port stands for the endpoint: whether somebody listens there says
 * whether the peer is there. */
#define OFI_TRAIT_TCP 0x1U
/* Peers are processes of this node, and listen at a local socket besides. */
#define OFI_TRAIT_NODE 0x2U
/* Wait objects don't wake across processes, or there are none. */
#define OFI_TRAIT_NO_WAIT 0x4U
/* fi_mr_reg is not safe beside other calls on the domain. */
#define OFI_TRAIT_LOCK_MR 0x8U
/* Puts and gets need no help of the process whose memory it is. */
#define OFI_TRAIT_NATIVE 0x10U
/* A peer that doesn't answer a ping for long is gone: nothing else tells. */
#define OFI_TRAIT_MUST_ANSWER 0x20U

/* A wait object works, although it fails the test of waitset.c. */
#define OFI_TRAIT_TRUST_WAIT 0x40U

/* That a connection is lost is noticed some calls after its first failure. */
#define OFI_TRAIT_SLOW_LOSS 0x80U

/* That a connection is lost is not told at all. */
#define OFI_TRAIT_MUTE_LOSS 0x100U

/* Puts to a peer are done one after the other, and waiting for each of them is
 * dear: it is enough to wait for the last. */
#define OFI_TRAIT_IN_ORDER 0x200U

/* Whoever answers a get hands all of it to the system at once, and does nothing
 * else meanwhile: long ones are faster in parts. */
#define OFI_TRAIT_SPLIT_GETS 0x400U

/* A message ends when its receiver has polled, unless FI_INJECT_COMPLETE says
 * that it is enough for it to have left. */
#define OFI_TRAIT_LATE_END 0x800U

/* The wait object of a queue goes on asking an endpoint that was closed. */
#define OFI_TRAIT_WAIT_KEEPS 0x1000U

/* libfabric 1.17 gives a get back twice if its connection is closed while it is
 * coming in, and crashes: see sever.c. */
#define OFI_TRAIT_CLOSE_TEARS 0x2000U

/* Likewise, and what follows on other connections may never end; an endpoint's
 * connections are not known. */
#define OFI_TRAIT_CLOSE_SPOILS 0x4000U

struct ofi_trait {
    const char *protocol; /* as in an info string */
    const char *provider; /* fabric_attr->prov_name; several forms of one
                             protocol stand in order of preference */
    const char *scheme;   /* of address strings: what speaks with each other */
    enum ofi_format format;
    uint32_t flags; /* OFI_TRAIT_* */
    uint32_t multi; /* the first libfabric whose FI_MULTI_RECV is sound and of
                       use, 0: none */
};

/* Protocols that the plugin lists; NULL ends them. */
#define OFI_PROTOCOLS 11U
extern const char *const ofi_protocols[OFI_PROTOCOLS];

/* The form number index of a protocol, NULL when there is none left. A protocol
 * that the table does not know is taken for a provider's name: *other is then
 * filled in, with protocol's memory, and returned. */
const struct ofi_trait *ofi_provider_form(
    const char *protocol, uint32_t index, struct ofi_trait *other);

/* Whether an address with this scheme is one of this provider's. */
bool ofi_provider_speaks(const struct ofi_trait *trait, const char *scheme);

#endif /* OFI_PROVIDER_H */
