/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens a class, then reads an invalid address: test_sanitizer.sh checks which
 * handler reports it. */
#include <stdio.h>
#include <sys/mman.h>

#include "side.h"

int
main(void)
{
    static struct side side;
    const int *shut =
        mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (side_try(&side, "all", NULL, "127.0.0.1", 0, NA_PLUGIN_OPEN_LISTEN) !=
        NA_PLUGIN_OK) {
        fprintf(stderr, "no class: %s\n", side.last);
        return 2;
    }
    return shut != MAP_FAILED ? *shut : 2;
}
