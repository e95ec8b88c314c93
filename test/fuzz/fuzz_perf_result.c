/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of talaria perf: one that is read is written, and read to the same. */
#include "fuzz.h"

#include "perf/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *nowhere;

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    nowhere = fopen("/dev/null", "we");
    fuzz_require(nowhere != NULL);
    return 0;
}

static bool
read_bytes(const void *bytes, size_t size, struct perf_result *result_p)
{
    struct fuzz_file file = fuzz_file_make(bytes, size);
    FILE *before = stderr;
    bool ok;

    stderr = nowhere; /* the reason is printed there */
    ok = perf_read_json(file.path, result_p);
    stderr = before;
    fuzz_file_drop(&file);
    return ok;
}

static void
print(const struct perf_result *result, char **text_p, size_t *size_p)
{
    FILE *stream = open_memstream(text_p, size_p);

    fuzz_require(stream != NULL);
    perf_print_json(result, stream);
    fuzz_require(fclose(stream) == 0);
}

/* Printed, read and printed. Numbers may lose digits the first time. */
static void
check(const struct perf_result *result)
{
    struct perf_result again;
    char *texts[2] = {NULL, NULL};
    size_t sizes[2];

    print(result, &texts[0], &sizes[0]);
    if (read_bytes(texts[0], sizes[0], &again)) {
        print(&again, &texts[1], &sizes[1]);
        perf_result_finish(&again);
        free(texts[1]);
    }
    free(texts[0]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct perf_result result;

    if (!read_bytes(data, size, &result))
        return 0;
    check(&result);
    for (size_t i = 0; i < result.count; i++) {
        struct perf_summary summary;

        perf_point_summarize(&result.points[i], &summary);
    }
    perf_result_finish(&result);
    return 0;
}
