/* SPDX-License-Identifier: BSD-3-Clause */
/* Over libfabric's shm: a peer's table of registrations is checked before it is
 * mapped. A table that can shrink would crash its reader. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pair.h"

#define BYTES 4096U
#define NAME "/memfd:talaria-ofi/"
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static unsigned char here[BYTES], there[BYTES];

/* How a false table differs from the peer's own. All of them contain no
 * registration. */
static const struct table {
    int seals;
    off_t shorter;            /* difference in bytes */
    unsigned char magic_bits; /* changed bits */
} tables[] = {
    {SEALS, 0, 0},
    {SEALS & ~F_SEAL_SHRINK, 0, 0},
    {SEALS & ~F_SEAL_SEAL, 0, 0},
    {SEALS, 4096, 0},
    {SEALS, 0, 1},
};

/* The file name of this descriptor, "" if it is not a table. */
static void
table_name(int fd, char name[PATH_MAX])
{
    char link[64], path[PATH_MAX] = "";

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    if (readlink(link, path, sizeof(path) - 1) < 0 ||
        strncmp(path, NAME, strlen(NAME)) != 0)
        path[0] = '\0';
    snprintf(name, PATH_MAX, "%s", path[0] ? path + strlen("/memfd:") : "");
    char *end = strstr(name, " (deleted)");
    if (end != NULL)
        *end = '\0';
}

/* The descriptor of the newest table in this process. */
static int
find_table(char name[PATH_MAX])
{
    int found = -1;

    for (int fd = 0; fd < 1024; fd++) {
        char one[PATH_MAX];
        table_name(fd, one);
        if (one[0] != '\0') {
            found = fd;
            snprintf(name, PATH_MAX, "%s", one);
        }
    }
    return found;
}

/* Replaces b's table, which was opened last, by a false one. */
static void
replace_table(const struct table *table)
{
    char name[PATH_MAX];
    unsigned char front[16];
    struct stat status;
    int old = find_table(name);
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    ck_assert_int_ge(old, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fstat(old, &status), 0);
    ck_assert_int_eq(
        pread(old, front, sizeof(front), 0), (ssize_t) sizeof(front));
    front[0] ^= table->magic_bits;
    ck_assert_int_eq(
        pwrite(fd, front, sizeof(front), 0), (ssize_t) sizeof(front));
    ck_assert_int_eq(ftruncate(fd, status.st_size - table->shorter), 0);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, table->seals), 0);
    ck_assert_int_eq(dup2(fd, old), old);
    close(fd);
}

static na_plugin_mem *
expose(struct node *node, void *bytes)
{
    const na_plugin_segment segment = {bytes, BYTES};
    const na_plugin_mem_info info = {sizeof(na_plugin_mem_info), 0, &segment, 1,
        NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE, 0, 0};
    na_plugin_mem *mem = NULL;

    ck_assert_int_eq(
        node->ops->mem_register(node->cls, &info, &mem), NA_PLUGIN_OK);
    return mem;
}

/* If the table is used, memory that it lacks is refused; if it is not, nothing
 * is refused. */
START_TEST(shm_table_is_used_only_if_valid)
{
    const struct node_options over_shm = {.protocol = "shm", .anywhere = true};
    struct pair pair;

    pair_open_as(&pair, &over_shm);
    na_plugin_mem *local = expose(&pair.a, here);
    na_plugin_mem *mem = expose(&pair.b, there);
    na_plugin_mem *remote = pair_describe(&pair, mem);
    replace_table(&tables[_i]);
    ck_assert_int_eq(pair_transfer(&pair, local, remote, 0, BYTES, false),
        _i == 0 ? NA_PLUGIN_E_PERMISSION : NA_PLUGIN_OK);
    pair.a.ops->mem_remote_free(pair.a.cls, remote);
    pair.b.ops->mem_deregister(pair.b.cls, mem);
    pair.a.ops->mem_deregister(pair.a.cls, local);
    pair_close(&pair);
}
END_TEST

int
main(void)
{
    const struct node_options over_shm = {.protocol = "shm", .anywhere = true};

    warm_up();
    if (is_refused(&over_shm))
        return 77;
    TCase *cases = tcase_create("shm_table");
    tcase_add_loop_test(cases, shm_table_is_used_only_if_valid, 0,
        (int) (sizeof(tables) / sizeof(tables[0])));
    return run_tcase("ofi_shm_table", cases);
}
