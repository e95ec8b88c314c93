/* SPDX-License-Identifier: BSD-3-Clause */
/* A program in C and C++ that uses only what is installed: one RPC from a class
 * to another one over na+sm, whose plugin it has to find itself. Prints where
 * the plugin was found, as talaria_source_to_string. With CARRIED defined, the
 * plugin is linked into the program. */
#include <mercury.h>
#include <mercury_macros.h>
#include <talaria.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#define DEADLINE 20 /* seconds */

#ifdef CARRIED
#ifdef __cplusplus
extern "C"
#else
extern
#endif
    const struct na_plugin CARRIED;
#endif

MERCURY_GEN_PROC(twice_in_t, ((int32_t) (number))((hg_const_string_t) (name)))
MERCURY_GEN_PROC(twice_out_t, ((int32_t) (number))((hg_string_t) (name)))

struct answer {
    int32_t number;
    int come;
};

static hg_return_t
twice(hg_handle_t handle)
{
    char name[] = "served";
    twice_in_t in;
    twice_out_t out;
    hg_return_t ret = HG_Get_input(handle, &in);

    if (ret != HG_SUCCESS)
        return ret;
    out.number = strcmp(in.name, "asked") == 0 ? 2 * in.number : 0;
    out.name = name;
    (void) HG_Free_input(handle, &in);
    ret = HG_Respond(handle, NULL, NULL, &out);
    (void) HG_Destroy(handle);
    return ret;
}

static hg_return_t
answered(const struct hg_cb_info *info)
{
    struct answer *answer = (struct answer *) info->arg;
    twice_out_t out;

    answer->come = 1;
    if (info->ret != HG_SUCCESS ||
        HG_Get_output(info->info.forward.handle, &out) != HG_SUCCESS)
        return info->ret;
    answer->number = strcmp(out.name, "served") == 0 ? out.number : 0;
    return HG_Free_output(info->info.forward.handle, &out);
}

/* The source of the plugin chosen for the info string. */
static const char *
source_of_sm(void)
{
    struct talaria_plugin_list *list;
    const char *source = NULL;

    if (talaria_plugin_list(&list) != NA_SUCCESS)
        return NULL;
    for (size_t i = 0; i < list->count && !source; i++)
        if (list->entries[i]->name && !strcmp(list->entries[i]->name, "na"))
            source = talaria_source_to_string(list->entries[i]->source);
    talaria_plugin_list_free(list);
    return source;
}

/* Asks the target for twice 21, and progresses it meanwhile. */
static int32_t
ask(hg_class_t *origin_class, hg_class_t *target_class)
{
    hg_context_t *origin = HG_Context_create(origin_class);
    hg_context_t *target = HG_Context_create(target_class);
    hg_id_t id =
        MERCURY_REGISTER(origin_class, "twice", twice_in_t, twice_out_t, NULL);
    struct answer answer = {0, 0};
    twice_in_t in = {21, "asked"};
    hg_addr_t addr = HG_ADDR_NULL;
    hg_handle_t handle = HG_HANDLE_NULL;
    time_t end = time(NULL) + DEADLINE;
    char name[128];
    hg_size_t size = sizeof name;

    MERCURY_REGISTER(target_class, "twice", twice_in_t, twice_out_t, twice);
    if (HG_Addr_self(target_class, &addr) == HG_SUCCESS &&
        HG_Addr_to_string(target_class, name, &size, addr) == HG_SUCCESS &&
        HG_Addr_free(target_class, addr) == HG_SUCCESS &&
        HG_Addr_lookup(origin_class, name, &addr) == HG_SUCCESS &&
        HG_Create(origin, addr, id, &handle) == HG_SUCCESS &&
        HG_Forward(handle, answered, &answer, &in) == HG_SUCCESS)
        while (!answer.come && time(NULL) < end) {
            (void) HG_Progress(target, 1);
            (void) HG_Trigger(target, 0, 1, NULL);
            (void) HG_Progress(origin, 1);
            (void) HG_Trigger(origin, 0, 1, NULL);
        }
    (void) HG_Destroy(handle);
    (void) HG_Addr_free(origin_class, addr);
    if (HG_Context_destroy(origin) != HG_SUCCESS ||
        HG_Context_destroy(target) != HG_SUCCESS)
        answer.number = 0;
    return answer.number;
}

int
main(void)
{
#ifdef CARRIED
    if (talaria_plugin_register(&CARRIED) != NA_SUCCESS)
        return 1;
#endif
    hg_class_t *target_class = HG_Init("na+sm", HG_TRUE);
    hg_class_t *origin_class = HG_Init("na+sm", HG_FALSE);
    const char *source = source_of_sm();
    int32_t number = target_class && origin_class && source
                         ? ask(origin_class, target_class)
                         : 0;

    if (HG_Finalize(origin_class) != HG_SUCCESS ||
        HG_Finalize(target_class) != HG_SUCCESS || number != 42) {
        fprintf(stderr, "an answer of %d\n", (int) number);
        return 1;
    }
    printf("%s\n", source);
    return 0;
}
