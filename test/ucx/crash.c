/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens a class, then reads where nothing is: test_sanitizer.sh looks at who
 * tells of it. */
#include <stdio.h>

#include "side.h"

int
main(void)
{
    static struct side side;
    /* volatile: the compiler must not know */
    int *volatile nowhere = NULL;

    if (side_try(&side, "all", NULL, "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN) !=
        NA_PLUGIN_OK) {
        fprintf(stderr, "no class: %s\n", side.last);
        return 2;
    }
    return *nowhere;
}
