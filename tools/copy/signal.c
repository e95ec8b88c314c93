/* SPDX-License-Identifier: BSD-3-Clause */
/* Records SIGINT and SIGTERM in a flag. */
#include <signal.h>
#include <stddef.h>

#include "copy/signal.h"

static volatile sig_atomic_t received;

static void
on_signal(int number)
{
    received = number;
}

void
copy_signal_catch(void)
{
    /* No SA_RESTART: a signal interrupts system calls. */
    struct sigaction action = {
        .sa_handler = on_signal, .sa_flags = (int) SA_RESETHAND};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* Then a write beyond the limit fails with EFBIG. */
    action.sa_handler = SIG_IGN;
    action.sa_flags = 0;
    sigaction(SIGXFSZ, &action, NULL);
}

bool
copy_signal_received(void)
{
    return received != 0;
}

int
copy_signal_status(void)
{
    return 128 + received;
}
