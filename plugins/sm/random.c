/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers from getrandom(2). */
#include <sys/random.h>

#include "random.h"

bool
sm_random_draw(struct sm_random *random, uint64_t *number_p)
{
    uint64_t number = 0;

    while (number == 0) {
        if (random->left == 0) {
            if (getrandom(random->numbers, sizeof(random->numbers), 0) !=
                (ssize_t) sizeof(random->numbers))
                return false;
            random->left = SM_RANDOM_BATCH;
        }
        /* erased here: a number is a key once it has been given out */
        number = random->numbers[--random->left];
        random->numbers[random->left] = 0;
    }
    *number_p = number;
    return true;
}
