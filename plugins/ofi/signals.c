/* SPDX-License-Identifier: BSD-3-Clause */
/* Putting handlers back that were replaced meanwhile. */
#include <pthread.h>

#include "signals.h"

/* Nobody may note what another thread's call has set for the moment. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void
ofi_signals_note(struct ofi_signals *signals)
{
    pthread_mutex_lock(&lock);
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &signals->actions[i]) != 0)
            signals->actions[i].sa_handler = SIG_ERR;
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
    pthread_mutex_unlock(&lock);
}
