/* SPDX-License-Identifier: BSD-3-Clause */
/* Putting handlers back that a provider has replaced; and away, those that a
 * library below libfabric has set while it was loaded. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "signals.h"

/* Objects whose constructors set handlers for faults and interrupts. */
static const char *const culprits[] = {"/libinfinipath.so"};

static bool
is_culprits(const struct sigaction *action)
{
    Dl_info info;

    if (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN ||
        dladdr((const void *) (uintptr_t) action->sa_handler, &info) == 0 ||
        info.dli_fname == NULL)
        return false;
    for (size_t i = 0; i < sizeof(culprits) / sizeof(culprits[0]); i++)
        if (strstr(info.dli_fname, culprits[i]) != NULL)
            return true;
    return false;
}

void
ofi_signals_note(struct ofi_signals *signals)
{
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &signals->actions[i]) != 0)
            signals->actions[i].sa_handler = SIG_ERR;
        else if (is_culprits(&signals->actions[i]))
            signals->actions[i] = (struct sigaction){.sa_handler = SIG_DFL};
}

void
ofi_signals_restore(const struct ofi_signals *signals)
{
    struct sigaction now;

    for (int i = 1; i < NSIG; i++)
        if (signals->actions[i].sa_handler != SIG_ERR &&
            sigaction(i, NULL, &now) == 0 &&
            now.sa_handler != signals->actions[i].sa_handler)
            sigaction(i, &signals->actions[i], NULL);
}
