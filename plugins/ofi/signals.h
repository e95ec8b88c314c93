/* SPDX-License-Identifier: BSD-3-Clause */
/* The dispositions of signals stay the program's: libfabric's provider shm sets
 * handlers of its own as soon as it is loaded. */
#ifndef OFI_SIGNALS_H
#define OFI_SIGNALS_H

#include <signal.h>

struct ofi_signals {
    struct sigaction actions[NSIG];
};

/* Before and after calls that may load or open a provider. */
void ofi_signals_note(struct ofi_signals *signals);
void ofi_signals_restore(const struct ofi_signals *signals);

#endif /* OFI_SIGNALS_H */
