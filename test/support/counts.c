/* SPDX-License-Identifier: BSD-3-Clause */
/* Selects the columns of counts.h; raises the descriptor limit; measures
 * memory. */
#include "counts.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define OTHERS 128U /* other descriptors of the test */

uint32_t
test_count(enum test_count count)
{
    static const uint32_t columns[][2] = {
#define COLUMNS(name, soak, normal) {soak, normal},
        TEST_COUNTS(COLUMNS)
#undef COLUMNS
    };
    const char *soak = getenv("TALARIA_TEST_SOAK");

    return columns[count][soak && strcmp(soak, "1") == 0 ? 0 : 1];
}

uint32_t
test_count_open(enum test_count count, uint32_t descriptors)
{
    uint32_t wanted = test_count(count);
    uint64_t most;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        abort();
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        abort();
    most =
        limit.rlim_cur > OTHERS ? (limit.rlim_cur - OTHERS) / descriptors : 0;
    if (wanted <= most)
        return wanted;
    printf("%u instead of %u: descriptor limit\n", (unsigned) most, wanted);
    return (uint32_t) most;
}

uint64_t
test_heap(void)
{
    struct mallinfo2 info;

    malloc_trim(0);
    info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
