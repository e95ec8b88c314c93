/* SPDX-License-Identifier: BSD-3-Clause */
/* The dispositions of signals stay the program's: some of libfabric's libraries
 * and one of its providers set handlers of their own when they are loaded. */
#ifndef OFI_SIGNALS_H
#define OFI_SIGNALS_H

#include <signal.h>

struct ofi_signals {
    struct sigaction actions[NSIG];
};

/* Before and after calls that may load or open something; one thread at a time,
 * others wait in ofi_signals_note. */
void ofi_signals_note(struct ofi_signals *signals);
void ofi_signals_restore(const struct ofi_signals *signals);

#endif /* OFI_SIGNALS_H */
