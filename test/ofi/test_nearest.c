/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of several network cards a class uses: hwloc gets a machine from a
 * file, two packages with two cards each, and the process is bound to
 * either. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

/* The first two in package 0, the others in package 1; out of order. */
#define NEAR_0 "0000:01:00.0"
#define NEAR_0_TOO "0000:01:00.1"
#define NEAR_1 "0001:01:00.0"
#define NEAR_1_TOO "0001:02:00.0"
#define NOWHERE "0000:77:00.0"
#define ALL NEAR_1_TOO "," NEAR_0_TOO "," NEAR_1 "," NEAR_0

static int cpus[2]; /* of the two packages */

static void
write_card(FILE *file, int index, const char *address)
{
    fprintf(file,
        "<object type=\"PCIDev\" gp_index=\"%d\" pci_busid=\"%s\" "
        "pci_type=\"0207 [15b3:1017] [15b3:0001] 00\" "
        "pci_link_speed=\"0.0\"/>\n",
        index, address);
}

static void
write_sets(FILE *file, const int *which, int count)
{
    cpu_set_t set;
    char text[1024] = "";
    size_t used = 0;

    CPU_ZERO(&set);
    for (int i = 0; i < count; i++)
        CPU_SET(which[i], &set);
    for (int word = CPU_SETSIZE / 32 - 1; word >= 0; word--) {
        uint32_t bits = 0;
        for (int i = 0; i < 32; i++)
            bits |= CPU_ISSET(32 * word + i, &set) ? 1U << i : 0;
        if (bits != 0 || used != 0 || word == 0)
            used += (size_t) snprintf(text + used, sizeof(text) - used,
                "%s0x%08x", used != 0 ? "," : "", bits);
    }
    fprintf(file,
        " cpuset=\"%s\" complete_cpuset=\"%s\" nodeset=\"0x1\" "
        "complete_nodeset=\"0x1\"",
        text, text);
}

/* The file, which is removed at the end. */
static void
write_machine(char path[64])
{
    static const char *const cards[2][2] = {
        {NEAR_0, NEAR_0_TOO}, {NEAR_1, NEAR_1_TOO}};
    int index = 10;

    strcpy(path, "/tmp/talaria-nearest-XXXXXX");
    int fd = mkstemp(path);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file == NULL)
        exit(EXIT_FAILURE);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
          "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
          "<topology version=\"2.0\">\n<object type=\"Machine\" os_index=\"0\" "
          "gp_index=\"1\" allowed_nodeset=\"0x1\"",
        file);
    write_sets(file, cpus, 2);
    fputs(">\n<object type=\"NUMANode\" os_index=\"0\" gp_index=\"2\" "
          "local_memory=\"1073741824\"",
        file);
    write_sets(file, cpus, 2);
    fputs("/>\n", file);
    for (int i = 0; i < 2; i++) {
        static const char *const types[] = {"Package", "Core", "PU"};
        for (int level = 0; level < 3; level++) {
            fprintf(file, "<object type=\"%s\" os_index=\"%d\" gp_index=\"%d\"",
                types[level], level == 2 ? cpus[i] : i, index++);
            write_sets(file, &cpus[i], 1);
            fputs(">\n", file);
        }
        fputs("</object>\n</object>\n", file);
        for (int card = 0; card < 2; card++)
            write_card(file, index++, cards[i][card]);
        fputs("</object>\n", file);
    }
    fputs("</object>\n</topology>\n", file);
    if (fclose(file) != 0)
        exit(EXIT_FAILURE);
    setenv("HWLOC_XMLFILE", path, 1);
    setenv("HWLOC_THISSYSTEM", "1", 1);
}

/* Two processors that this process may run on. */
static bool
find_cpus(void)
{
    cpu_set_t set;
    int count = 0;

    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        return false;
    for (int i = 0; i < CPU_SETSIZE && count < 2; i++)
        if (CPU_ISSET(i, &set))
            cpus[count++] = i;
    return count == 2;
}

static void
bind_to(int package)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpus[package], &set);
    ck_assert_int_eq(sched_setaffinity(0, sizeof(set), &set), 0);
}

/* hwloc; newer libfabric versions are linked with it */
static bool comes_with_libfabric;

static bool
is_mapped(const char *name)
{
    FILE *file = fopen("/proc/self/maps", "re");
    char line[1024];
    bool found = false;

    while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL)
        found = strstr(line, name) != NULL;
    if (file != NULL)
        fclose(file);
    return found;
}

/* Opens among these cards; expects this one, for this reason. */
static void
expect(const char *nics, const char *device, const char *wanted,
    const char *reason)
{
    const struct node_options options = {
        .protocol = "awkward", .device = device, .anywhere = true};
    struct node node;
    char domain[64];

    setenv("FI_AWKWARD_NICS", nics, 1);
    node_open(&node, &options);
    snprintf(domain, sizeof(domain), "awkward-%s", wanted);
    const char *got = node_text(&node, "device");
    const char *why = node_text(&node, "device_choice");
    ck_assert_msg(strcmp(got, domain) == 0, "of %s: %s (%s), not %s", nics, got,
        why, domain);
    ck_assert_msg(strstr(why, reason) != NULL, "of %s: \"%s\" lacks \"%s\"",
        nics, why, reason);
    ck_assert_uint_eq(node.errors, 0);
    node_close(&node);
}

START_TEST(nearest_of_two_is_used_in_any_order)
{
    static const char *const orders[] = {
        NEAR_0 "," NEAR_1, NEAR_1 "," NEAR_0, NEAR_1 ",none," NEAR_0};

    bind_to(_i % 2);
    expect(orders[_i / 2], NULL, _i % 2 == 0 ? NEAR_0 : NEAR_1,
        "nearest of 2, in one Package with the process");
    ck_assert(is_mapped("libhwloc"));
}
END_TEST

/* Cores 0 and 1: the first card of package 0, then the second. */
START_TEST(nearest_of_equal_distance_depends_on_the_core)
{
    bind_to(_i);
    expect(ALL, NULL, _i == 0 ? NEAR_0 : NEAR_1_TOO,
        "one of 2 nearest of 4, in one Package with the process, by its core");
}
END_TEST

START_TEST(nearest_of_an_unbound_process_depends_on_its_pid)
{
    static const char *const sorted[] = {
        NEAR_0, NEAR_0_TOO, NEAR_1, NEAR_1_TOO};
    int seen[4] = {0};

    for (int i = 0; i < 4; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            expect(ALL, NULL, sorted[getpid() % 4],
                "one of 4 nearest of 4, in one Machine with the process, by "
                "its process id");
            _exit(0);
        }
        seen[child % 4]++;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_int_lt(seen[0], 4);
}
END_TEST

START_TEST(nearest_unknown_to_hwloc_is_not_preferred)
{
    bind_to(1);
    expect(NOWHERE "," NEAR_0, NULL, NEAR_0,
        "nearest of 2, in one Machine with the process");
}
END_TEST

/* A nearer card is ignored if it is of another fabric, was not requested, or
 * has no location. */
START_TEST(nearest_is_chosen_among_equals_only)
{
    static const struct {
        const char *nics;
        const char *device;
        const char *taken;
        const char *reason;
    } rows[] = {
        {NEAR_0 "," NEAR_1 "@elsewhere", NULL, NEAR_0, "first that fits"},
        {NEAR_0 "," NEAR_1, "awkward-" NEAR_0, NEAR_0, "as named"},
        {"none," NEAR_1, NULL, "none", "first that fits"},
        {"none,none", NULL, "none", "first that fits"},
        {NEAR_0, NULL, NEAR_0, "first that fits"},
        {NEAR_0 "," NEAR_0, NULL, NEAR_0, "first that fits"},
    };

    bind_to(1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        expect(rows[i].nics, rows[i].device, rows[i].taken, rows[i].reason);
    ck_assert_msg(comes_with_libfabric || !is_mapped("libhwloc"),
        "hwloc was loaded, and nothing to choose");
}
END_TEST

START_TEST(nearest_without_topology_is_the_first)
{
    bind_to(1);
    setenv("HWLOC_XMLFILE", "/proc/self/no-such-file", 1);
    setenv("HWLOC_COMPONENTS", "xml,stop", 1);
    expect(NEAR_0 "," NEAR_1, NULL, NEAR_0, "first of 2, places not known");
}
END_TEST

/* The plugin was built without hwloc. */
START_TEST(nearest_without_hwloc_is_the_first)
{
    bind_to(1);
    expect(NEAR_0 "," NEAR_1, NULL, NEAR_0, "first of 2, places not known");
    ck_assert(comes_with_libfabric || !is_mapped("libhwloc"));
}
END_TEST

int
main(int argc, char **argv)
{
    char path[64];

    if (!find_cpus()) {
        puts("skipped: it takes two processors");
        return 77;
    }
    warm_up();
    comes_with_libfabric = is_mapped("libhwloc");
    write_machine(path);
    TCase *cases = tcase_create("nearest");
    if (argc > 1 && strcmp(argv[1], "without") == 0)
        tcase_add_test(cases, nearest_without_hwloc_is_the_first);
    else {
        tcase_add_loop_test(cases, nearest_of_two_is_used_in_any_order, 0, 6);
        tcase_add_loop_test(
            cases, nearest_of_equal_distance_depends_on_the_core, 0, 2);
        tcase_add_test(cases, nearest_of_an_unbound_process_depends_on_its_pid);
        tcase_add_test(cases, nearest_unknown_to_hwloc_is_not_preferred);
        tcase_add_test(cases, nearest_is_chosen_among_equals_only);
        tcase_add_test(cases, nearest_without_topology_is_the_first);
    }
    int ret = run_tcase("ofi nearest", cases);
    unlink(path);
    return ret;
}
