/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults and peculiarities of providers, each in a file of its own in quirks/,
 * behind this table of hooks. The main path calls the functions below and names
 * no provider; each calls the quirks of the class in the order of
 * quirks/table.c. When a libfabric without the fault is the oldest that is
 * supported, its file and its line in the table are deleted. */
#ifndef OFI_QUIRK_H
#define OFI_QUIRK_H

#include "types.h"

/* All may be NULL. */
struct ofi_quirk {
    const char *provider; /* of the classes concerned, NULL: all */
    /* Whether one of those is, with this version of libfabric. */
    bool (*applies)(const struct ofi_trait *trait, uint32_t version);
    size_t data_size; /* of zeroed memory for each endpoint: ofi_quirk_data */

    /* Before libfabric is asked for anything; one thread at a time. */
    void (*prepare)(void);
    /* Changes the conduct of a class, before anything else. */
    void (*adjust)(const struct ofi_trait *trait, struct ofi_conduct *conduct);
    /* Makes its data ready for an endpoint. */
    void (*init)(struct ofi_endpoint *ep);
    /* Before libfabric's objects are opened. */
    void (*opening)(struct ofi_endpoint *ep);
    /* The endpoint is open and has its name. A code, with a line at level
     * ERROR. */
    int32_t (*opened)(struct ofi_endpoint *ep);
    /* The class is open, or the endpoint of one of its contexts; as prepare. */
    void (*joined)(struct ofi_endpoint *ep);
    /* Before a context with an endpoint of its own (rma), or a class, is closed.
     * False: peers may still use its memory. Without a lock. */
    bool (*settle)(struct ofi_endpoint *ep, bool rma);
    /* A class is about to be closed, and not among the process's any more. False
     * as above. Without a lock. */
    bool (*leaving)(struct ofi_endpoint *ep);
    /* Its memory is deregistered, its endpoints are closed next. What must stay as
     * long as the process is taken out of the class. */
    void (*closing)(struct ofi_endpoint *ep, bool settled);
    /* All of libfabric's objects are closed. */
    void (*closed)(struct ofi_endpoint *ep);

    /* Whether to try again to open an endpoint after that error. */
    bool (*retry_endpoint)(struct ofi_endpoint *ep, int error);
    /* May set ep->gate, see gate.h. [lock, or while the class is being opened] */
    void (*endpoint_opened)(struct ofi_endpoint *ep, struct fid_ep *fep);
    /* It is closed next, or abandoned. [lock] */
    void (*endpoint_closing)(struct ofi_endpoint *ep, struct fid_ep *fep);
    /* Opens an endpoint for puts and gets in its own way; one quirk of a class at
     * most. [lock] */
    int32_t (*open_rma)(struct ofi_endpoint *ep, struct fid_ep **fep_p);
    /* Such an endpoint is closed with something under way. [lock] */
    void (*abort_rma)(struct ofi_endpoint *ep, struct fid_ep *fep);
    /* Closes an endpoint before its class later. False: it is closed now. [lock] */
    bool (*defer_close)(
        struct ofi_endpoint *ep, struct fid_ep *fep, bool settled);

    /* Before a peer is added to libfabric's address vector. False: it must not
     * be added. [lock] */
    bool (*reach)(struct ofi_endpoint *ep, const struct ofi_peer *peer);
    /* A peer is lost with puts and gets under way. [lock] */
    void (*peer_lost)(struct ofi_endpoint *ep);
    /* An address is freed. [lock] */
    void (*peer_freed)(struct ofi_endpoint *ep, const struct ofi_peer *peer);

    /* [memory_lock] */
    void (*memory_added)(struct ofi_endpoint *ep, na_plugin_mem *mem);
    void (*memory_removed)(struct ofi_endpoint *ep, const na_plugin_mem *mem);
    /* Between that and its deregistration. Without a lock. */
    void (*memory_settle)(struct ofi_endpoint *ep);
    /* A peer's was described. Any thread. */
    void (*memory_described)(struct ofi_endpoint *ep, na_plugin_mem *mem);

    /* Before a fragment is submitted. False: its owner would refuse it. [lock] */
    bool (*rma_permitted)(struct ofi_endpoint *ep, struct ofi_peer *peer,
        const na_plugin_mem *described);
    /* libfabric has it. [lock] */
    void (*rma_submitted)(
        struct ofi_endpoint *ep, struct ofi_fragment *fragment);
    /* Which fragment an error without a context is of; NULL: of none. [lock] */
    struct ofi_fragment *(*rma_failed)(struct ofi_endpoint *ep, uint64_t flags);

    /* For each poll while ep->due is set, and else, with rare set, now and then.
     * True: ep->due stays set. [lock] */
    bool (*work)(struct ofi_endpoint *ep, bool rare);
    /* Before a context sleeps: for how many nanoseconds it may. 0: not at all;
     * UINT64_MAX: no limit. Does first what is due. [lock] */
    uint64_t (*sleep)(struct ofi_endpoint *ep);

    /* Whether a descriptor is the quirk's own, for this class. Safe in a forked
     * child. */
    bool (*owns_descriptor)(const struct ofi_endpoint *ep, int fd);
};

/* Polls between two that call with rare set. */
#define OFI_QUIRK_RARE 1024U

/* Memory of a quirk that applies, for an endpoint; freed with it. */
void *ofi_quirk_data(
    const struct ofi_endpoint *ep, const struct ofi_quirk *quirk);

/* quirks/table.c: calls prepare of all, or adjust of those that apply; gives an
 * endpoint those. NOMEM, with a line. */
void ofi_quirks_prepare(void);
void ofi_quirks_adjust(
    const struct ofi_trait *trait, struct ofi_conduct *conduct);
int32_t ofi_quirks_attach(struct ofi_endpoint *ep);

/* Calls a hook without a result of all quirks of a class that have it. */
#define OFI_QUIRKS_CALL(ep, hook, ...)                                         \
    do {                                                                       \
        for (uint32_t quirk_ = 0; (ep)->quirks[quirk_] != NULL; quirk_++)      \
            if ((ep)->quirks[quirk_]->hook != NULL)                            \
                (ep)->quirks[quirk_]->hook(__VA_ARGS__);                       \
    } while (0)

/* The others; what they return is put together. */
int32_t ofi_quirk_opened(struct ofi_endpoint *ep);
bool ofi_quirk_settle(struct ofi_endpoint *ep, bool rma);
bool ofi_quirk_leaving(struct ofi_endpoint *ep);
bool ofi_quirk_retry_endpoint(struct ofi_endpoint *ep, int error);
/* False: no quirk has opened it; *ret_p: a code. */
bool ofi_quirk_open_rma(
    struct ofi_endpoint *ep, struct fid_ep **fep_p, int32_t *ret_p);
bool ofi_quirk_reach(struct ofi_endpoint *ep, const struct ofi_peer *peer);
bool ofi_quirk_rma_permitted(struct ofi_endpoint *ep, struct ofi_peer *peer,
    const na_plugin_mem *described);
struct ofi_fragment *ofi_quirk_rma_failed(
    struct ofi_endpoint *ep, uint64_t flags);
void ofi_quirk_work(struct ofi_endpoint *ep);
uint64_t ofi_quirk_sleep_limit(struct ofi_endpoint *ep);
bool ofi_quirk_owns_descriptor(const struct ofi_endpoint *ep, int fd);

/* Closes an endpoint before its class, unless a quirk keeps it for later. [lock] */
void ofi_quirk_close_endpoint(
    struct ofi_endpoint *ep, struct fid_ep *fep, bool settled);

#endif /* OFI_QUIRK_H */
