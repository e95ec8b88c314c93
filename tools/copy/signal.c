/* SPDX-License-Identifier: BSD-3-Clause */
/* The two signals that ask a program to end, noted in a flag. */
#include <signal.h>
#include <stddef.h>

#include "copy/signal.h"

static volatile sig_atomic_t came;

static void
on_signal(int number)
{
    (void) number;
    came = 1;
}

void
copy_signal_catch(void)
{
    /* Without SA_RESTART: a sleep in the kernel ends. */
    struct sigaction action = {
        .sa_handler = on_signal, .sa_flags = (int) SA_RESETHAND};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* A file that may not grow is an error of the write. */
    action.sa_handler = SIG_IGN;
    action.sa_flags = 0;
    sigaction(SIGXFSZ, &action, NULL);
}

bool
copy_signal_came(void)
{
    return came != 0;
}
