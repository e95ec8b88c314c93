/* SPDX-License-Identifier: BSD-3-Clause */
/* Over libfabric's shm, which never says that it refused a put or get, and keeps
 * some of the owner's room for each. */
#include <stdlib.h>
#include <string.h>

#include "pair.h"

#define BYTES 4096U
#define REFUSALS 600U /* more than a class has buffers for gets */
#define PLACES 65536U /* registrations that peers can see */

static const struct node_options over_shm = {
    .protocol = "shm", .anywhere = true};
static unsigned char here[BYTES], there[BYTES];

static na_plugin_mem *
expose(struct node *node, void *bytes)
{
    const na_plugin_segment segment = {bytes, BYTES};
    na_plugin_mem *mem = NULL;

    ck_assert_int_eq(node->ops->mem_register(node->cls, &segment, 1,
                         NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE,
                         NA_PLUGIN_MEM_HOST, 0, &mem),
        NA_PLUGIN_OK);
    return mem;
}

/* A get of all, which must work. */
static void
get_all(struct pair *pair, na_plugin_mem *local, na_plugin_mem *remote)
{
    static uint32_t seed;

    fill(there, BYTES, ++seed);
    ck_assert_int_eq(
        pair_transfer(pair, local, remote, 0, BYTES, false), NA_PLUGIN_OK);
    ck_assert(is_filled(here, BYTES, seed));
}

START_TEST(shm_transfers_of_what_was_deregistered_are_refused)
{
    struct pair pair;

    pair_open_as(&pair, &over_shm);
    na_plugin_mem *local = expose(&pair.a, here);
    na_plugin_mem *mem = expose(&pair.b, there);
    na_plugin_mem *remote = pair_describe(&pair, mem);
    get_all(&pair, local, remote);
    pair.b.ops->mem_deregister(pair.b.cls, mem);
    for (uint32_t i = 0; i < REFUSALS; i++)
        ck_assert_int_eq(pair_transfer(&pair, local, remote, 0,
                             i % 3 == 0 ? 100 : BYTES, i % 2 == 0),
            NA_PLUGIN_E_PERMISSION);
    pair.a.ops->mem_free(pair.a.cls, remote);

    mem = expose(&pair.b, there);
    remote = pair_describe(&pair, mem);
    get_all(&pair, local, remote);
    pair.a.ops->mem_free(pair.a.cls, remote);
    pair.b.ops->mem_deregister(pair.b.cls, mem);
    pair.a.ops->mem_deregister(pair.a.cls, local);
    pair_close(&pair);
}
END_TEST

/* Its owner polls not before it takes the memory back. */
START_TEST(shm_transfers_that_were_begun_end_when_their_memory_goes)
{
    struct pair pair;
    bool put = _i != 0;

    pair_open_as(&pair, &over_shm);
    na_plugin_mem *local = expose(&pair.a, here);
    na_plugin_mem *mem = expose(&pair.b, there);
    na_plugin_mem *remote = pair_describe(&pair, mem);
    get_all(&pair, local, remote);
    fill(put ? here : there, BYTES, 200);
    ck_assert_int_eq((put ? pair.a.ops->put : pair.a.ops->get)(pair.a.ctx,
                         pair.a_op, local, 0, remote, 0, BYTES, pair.to_b, 0),
        NA_PLUGIN_PENDING);
    pair.b.ops->mem_deregister(pair.b.cls, mem);
    ck_assert_int_eq(
        pair_await(&pair, &pair.a, pair.a_op).status, NA_PLUGIN_OK);
    ck_assert(is_filled(put ? there : here, BYTES, 200));
    pair.a.ops->mem_free(pair.a.cls, remote);
    pair.a.ops->mem_deregister(pair.a.cls, local);
    pair_close(&pair);
}
END_TEST

START_TEST(shm_registrations_beyond_what_peers_can_see_are_of_use)
{
    static na_plugin_mem *mems[PLACES + 2];
    struct pair pair;

    pair_open_as(&pair, &over_shm);
    na_plugin_mem *local = expose(&pair.a, here);
    for (uint32_t i = 0; i < PLACES + 2; i++)
        mems[i] = expose(&pair.b, there);
    na_plugin_mem *first = pair_describe(&pair, mems[0]);
    na_plugin_mem *last = pair_describe(&pair, mems[PLACES + 1]);
    get_all(&pair, local, first);
    get_all(&pair, local, last);
    pair.b.ops->mem_deregister(pair.b.cls, mems[PLACES + 1]);
    pair.b.ops->mem_deregister(pair.b.cls, mems[PLACES]);
    get_all(&pair, local, first);
    ck_assert_int_eq(pair_transfer(&pair, local, last, 0, BYTES, false),
        NA_PLUGIN_E_PERMISSION);
    /* one place, which is not the next number's */
    pair.b.ops->mem_deregister(pair.b.cls, mems[PLACES / 2]);
    mems[PLACES / 2] = expose(&pair.b, there);
    pair.a.ops->mem_free(pair.a.cls, last);
    last = pair_describe(&pair, mems[PLACES / 2]);
    get_all(&pair, local, last);

    for (uint32_t i = 0; i < PLACES; i++)
        pair.b.ops->mem_deregister(pair.b.cls, mems[i]);
    ck_assert_int_eq(pair_transfer(&pair, local, first, 0, BYTES, false),
        NA_PLUGIN_E_PERMISSION);
    pair.a.ops->mem_free(pair.a.cls, first);
    pair.a.ops->mem_free(pair.a.cls, last);
    pair.a.ops->mem_deregister(pair.a.cls, local);
    pair_close(&pair);
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("shm");

    warm_up();
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, shm_transfers_of_what_was_deregistered_are_refused);
    tcase_add_loop_test(
        cases, shm_transfers_that_were_begun_end_when_their_memory_goes, 0, 2);
    tcase_add_test(
        cases, shm_registrations_beyond_what_peers_can_see_are_of_use);
    return run_case("ofi_shm", cases);
}
