/* SPDX-License-Identifier: BSD-3-Clause */
/* Drawing random numbers from the kernel, several at a time. */
#include <errno.h>
#include <sys/random.h>

#include "random.h"

/* At most 256 bytes come whole: getrandom(2) says so. */
static bool
refill(struct ucx_random *random)
{
    ssize_t got;

    do {
        got = getrandom(random->numbers, sizeof(random->numbers), 0);
    } while (got < 0 && errno == EINTR);
    if (got != (ssize_t) sizeof(random->numbers))
        return false;
    random->left = UCX_RANDOM_NUMBERS;
    return true;
}

bool
ucx_random_draw(struct ucx_random *random, uint64_t *number_p)
{
    uint64_t number = 0;

    while (number == 0) {
        if (random->left == 0 && !refill(random))
            return false;
        number = random->numbers[--random->left];
        /* what has been handed out is not left behind */
        random->numbers[random->left] = 0;
    }
    *number_p = number;
    return true;
}
