/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures what a known peer costs.
 *
 * lookup INFO COUNT [plain]: opens a class and looks up COUNT addresses of peers, all
 * different, none of them there; then frees them. Prints for one address: the
 * bytes that the core has allocated, those of the plugin, the bytes in use of
 * the process, and the time of the lookup in nanoseconds. plain: without
 * counting, whose own instructions are many.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "allocations.h"
#include "mercury.h"

/* Writes the address of a peer of that number, below 2^24. */
static void
write_name(const char *info, unsigned long number, char *name, size_t size)
{
    if (strcmp(info, "na+sm") == 0)
        snprintf(name, size, "na+sm://%lu-0", number + 1);
    else
        snprintf(name, size, "%s://127.%lu.%lu.%lu:5000", info, number >> 16,
            number >> 8 & 255, number & 255);
}

static double
seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

static bool
look_up(hg_class_t *hg_class, const char *info, hg_addr_t *addrs,
    unsigned long count)
{
    char name[64];

    for (unsigned long i = 0; i < count; i++) {
        write_name(info, i, name, sizeof name);
        if (HG_Addr_lookup2(hg_class, name, &addrs[i]) != HG_SUCCESS)
            return false;
    }
    return true;
}

static size_t
in_use(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

int
main(int argc, char **argv)
{
    unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    bool plain = argc > 3 && strcmp(argv[3], "plain") == 0;
    hg_addr_t *addrs;
    hg_class_t *hg_class;
    size_t before, after;
    double began, took;
    bool found;

    if (count == 0 || count >= 1UL << 24) {
        fprintf(stderr, "usage: lookup INFO COUNT [plain]\n");
        return 1;
    }
    addrs = calloc(count, sizeof(hg_addr_t));
    hg_class = HG_Init(argv[1], HG_FALSE);
    if (!addrs || !hg_class)
        return 1;
    before = in_use();
    began = seconds();
    allocations_count(!plain);
    found = look_up(hg_class, argv[1], addrs, count);
    allocations_count(false);
    took = seconds() - began;
    after = in_use();
    printf("core %zu\nplugin %zu\nin_use %zu\nns %.0f\n",
        allocations_of(ALLOCATIONS_CORE).bytes / count,
        allocations_of(ALLOCATIONS_PLUGIN).bytes / count,
        (after - before) / count, took * 1e9 / (double) count);
    for (unsigned long i = 0; i < count && addrs[i]; i++)
        HG_Addr_free(hg_class, addrs[i]);
    free(addrs);
    return HG_Finalize(hg_class) == HG_SUCCESS && found ? 0 : 1;
}
