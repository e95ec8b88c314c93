/* SPDX-License-Identifier: BSD-3-Clause */
/* libfabric is loaded when it is first needed, so that what it does to the
 * process meanwhile can be undone. Most of its interface is inline; these are
 * the functions that it exports. */
#ifndef OFI_LIBRARY_H
#define OFI_LIBRARY_H

#include <signal.h>
#include <stdint.h>

#include <rdma/fabric.h>

#include "na_plugin.h"
#include <stdbool.h>

/* The oldest libfabric that is supported. */
#define OFI_API FI_VERSION(1, 17)

/* For packaging tools: a library that is needed without being linked, in the form
 * of systemd's note for loaded libraries. */
#define OFI_LIBRARY_NOTE(json)                                                 \
    __attribute__((                                                            \
        used, aligned(4), section(".note.dlopen"))) static const struct {      \
        uint32_t owner_size, text_size, type;                                  \
        char owner[4];                                                         \
        char text[(sizeof(json) + 3) / 4 * 4];                                 \
    } note = {4, sizeof(json), 0x407C0C0AU, "FDO", json}

/* Loads a library and looks up functions, the last of which has no name. NULL:
 * *missing_p is the reason, valid until the next call. One thread at a time. */
struct ofi_symbol {
    const char *name;
    void *function_p;
};
void *ofi_library_open(const char *soname, const struct ofi_symbol *symbols,
    const char **missing_p);

/* Constant once it is loaded. */
struct ofi_library {
    __typeof__(fi_version) *version;
    __typeof__(fi_getinfo) *getinfo;
    __typeof__(fi_dupinfo) *dupinfo; /* NULL: a new one */
    __typeof__(fi_freeinfo) *freeinfo;
    __typeof__(fi_fabric) *fabric;
    __typeof__(fi_strerror) *strerror;
};

extern struct ofi_library ofi_library;

/* Loads it, unless that has been done; it stays. Between ofi_signals_note and
 * ofi_signals_restore. PROTONOSUPPORT, with a line at level ERROR, when it is
 * not there, cannot be loaded, or is too old. */
int32_t ofi_library_load(const na_plugin_host *host);

struct ofi_signals {
    struct sigaction actions[NSIG];
};

/* Before and after calls that may load or open something; one thread at a time,
 * others wait in ofi_signals_note. */
void ofi_signals_note(struct ofi_signals *signals);
void ofi_signals_restore(const struct ofi_signals *signals);

/* A code for an error of libfabric's, which is positive. */
int32_t ofi_error_code(int error);

/* Whether the error means that the peer is unreachable. */
bool ofi_error_is_loss(int error);

#endif /* OFI_LIBRARY_H */
