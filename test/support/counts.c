/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses between the columns of counts.h. */
#include "counts.h"

#include <stdlib.h>
#include <string.h>

uint32_t
test_count(enum test_count count)
{
    static const uint32_t columns[][2] = {
#define COLUMNS(name, full, everyday) {full, everyday},
        TEST_COUNTS(COLUMNS)
#undef COLUMNS
    };
    const char *soak = getenv("TALARIA_TEST_SOAK");

    return columns[count][soak && strcmp(soak, "1") == 0 ? 0 : 1];
}
