/* SPDX-License-Identifier: BSD-3-Clause */
/* What is particular to a provider of libfabric: one table. Its faults are in
 * quirks/, and nothing of either anywhere else. */
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

/* How it can be seen whether a peer is alive, without its cooperation. */
enum ofi_probe {
    OFI_PROBE_NONE,
    OFI_PROBE_PORT,  /* the endpoint listens on a TCP port */
    OFI_PROBE_LOCAL, /* peers are processes of this node, and listen at a local
                        socket besides */
};

/* How a provider is treated: its row of the table, changed by the quirks of the
 * libfabric that is there (quirk.h). Constant once a class is open. */
struct ofi_conduct {
    enum ofi_probe probe;
    uint64_t features; /* NA_PLUGIN_FEATURE_* */
    bool never_wait;   /* wait objects don't wake across processes, or there are
                           none */
    bool trust_wait;   /* without the test of fabric.c */
    bool wants_descriptor; /* of the queue, also if no context waits */
    bool serial_mr;   /* fi_mr_reg is not safe beside other calls on a domain */
    bool needs_locks; /* also with a single thread */
    bool one_endpoint; /* for all contexts */
    bool must_answer;  /* a peer that answers no ping for long is lost */
    bool deliver_last; /* of a job, only the last put waits for its delivery */
    int unreachable; /* another error of libfabric for unreachable hosts, 0: none */
    uint64_t flush_flags; /* of the message that a class waits for at its end */
    uint64_t get_max;     /* bytes of a get at once */
    uint32_t rma_repeats; /* how often a job is begun again */
    uint32_t rma_in_flight;      /* fragments of a job that libfabric has */
    uint32_t pings_before_probe; /* without an answer */
};

struct ofi_trait {
    const char *protocol; /* as in an info string */
    const char *provider; /* fabric_attr->prov_name; several forms of one
                             protocol are in order of preference */
    const char
        *scheme; /* of address strings, the same for compatible protocols */
    enum ofi_format format;
    uint32_t multi; /* the first libfabric whose FI_MULTI_RECV is sound and of
                       use, 0: none */
    struct ofi_conduct conduct;
};

/* Protocols that the plugin lists; NULL ends them. */
#define OFI_PROTOCOLS 11U
extern const char *const ofi_protocols[OFI_PROTOCOLS];

/* The form number index of a protocol, NULL after the last one. A protocol that
 * the table does not know is taken for a provider's name: *other is then filled
 * in, with protocol's memory, and returned. */
const struct ofi_trait *ofi_provider_form(
    const char *protocol, uint32_t index, struct ofi_trait *other);

/* Whether an address with this scheme is one of this provider's. */
bool ofi_provider_speaks(const struct ofi_trait *trait, const char *scheme);

#endif /* OFI_PROVIDER_H */
