/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments as programs describe them: structs in structs, integers of each
 * size, strings of each kind, arrays, bulk descriptors.
 *
 *   u8 which struct, its bytes */
#include "loop_plugin.h"
#include "round.h"

#include "mercury_macros.h"
#include "talaria.h"

#include <stdlib.h>

/* Names: an array as programs write one, its length checked against what is
 * left before memory is allocated for it. */
typedef struct {
    uint32_t count;
    char **names;
} names_t;

static hg_return_t
free_names(hg_proc_t proc, names_t *names, uint32_t count)
{
    if (hg_proc_get_op(proc) == HG_DECODE)
        hg_proc_reset(proc, NULL, 0, HG_FREE);
    for (uint32_t i = 0; i < count; i++)
        hg_proc_hg_string_t(proc, &names->names[i]);
    free(names->names);
    names->names = NULL;
    return HG_SUCCESS;
}

static hg_return_t
hg_proc_names_t(hg_proc_t proc, void *data)
{
    names_t *names = data;
    hg_return_t ret = hg_proc_uint32_t(proc, &names->count);
    bool decode = hg_proc_get_op(proc) == HG_DECODE;

    if (hg_proc_get_op(proc) == HG_FREE)
        return free_names(proc, names, names->count);
    if (ret != HG_SUCCESS)
        return ret;
    if (decode && names->count > hg_proc_get_size_left(proc) / 8)
        return HG_OVERFLOW;
    if (decode)
        names->names = calloc(names->count + 1, sizeof names->names[0]);
    if (!names->names)
        return HG_NOMEM;
    for (uint32_t i = 0; i < names->count; i++) {
        ret = hg_proc_hg_string_t(proc, &names->names[i]);
        if (ret == HG_SUCCESS)
            continue;
        if (decode)
            free_names(proc, names, i);
        return ret;
    }
    return HG_SUCCESS;
}

/* clang-format off */
MERCURY_GEN_PROC(numbers_t,
    ((int8_t)(a)) ((uint8_t)(b)) ((int16_t)(c)) ((uint16_t)(d))
    ((int32_t)(e)) ((uint32_t)(f)) ((int64_t)(g)) ((uint64_t)(h))
    ((hg_bool_t)(i)) ((hg_size_t)(j)) ((hg_id_t)(k)))
MERCURY_GEN_PROC(strings_t,
    ((hg_string_t)(a)) ((hg_const_string_t)(b)) ((hg_string_object_t)(c)))
MERCURY_GEN_PROC(inner_t,
    ((uint16_t)(a)) ((strings_t)(strings)) ((hg_bulk_t)(bulk))
    ((hg_string_t)(last)))
MERCURY_GEN_PROC(outer_t,
    ((numbers_t)(numbers)) ((inner_t)(one)) ((names_t)(names))
    ((inner_t)(two)) ((hg_bulk_t)(bulk)))
/* clang-format on */

static hg_class_t *hg_class;

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_log_drop();
    fuzz_require(talaria_plugin_register(&loop_plugin) == NA_SUCCESS);
    hg_class = HG_Init("loop+mem", HG_TRUE);
    fuzz_require(hg_class != NULL);
    return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        hg_proc_cb_t proc_cb;
        size_t size;
    } types[] = {{hg_proc_numbers_t, sizeof(numbers_t)},
        {hg_proc_strings_t, sizeof(strings_t)},
        {hg_proc_inner_t, sizeof(inner_t)}, {hg_proc_outer_t, sizeof(outer_t)},
        {hg_proc_names_t, sizeof(names_t)},
        {hg_proc_hg_bulk_t, sizeof(hg_bulk_t)}};
    struct fuzz_input input = {data, size};
    unsigned type = fuzz_u8(&input) % (sizeof types / sizeof types[0]);

    fuzz_round(
        hg_class, types[type].proc_cb, types[type].size, input.at, input.left);
    return 0;
}
