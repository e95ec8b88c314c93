/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds a second transport to a class, as auto_sm does. */
#include "second.h"

#include "na/addr.h"
#include "na/op.h"
#include "na/progress.h"

#include <check.h>

void
second_open(struct second *second, const char *info, hg_class_t *hg_class,
    hg_context_t *context)
{
    struct na_class *na_class = NA_Initialize(info, true);

    ck_assert_ptr_nonnull(na_class);
    *second = (struct second){.bulk_class = bulk_class_of(hg_class)};
    second->bulk_class->sm_class = na_class;
    second->bulk_class->host = (na_sm_id_t){.high = 0x1234, .low = 0x5678};
    ck_assert_int_eq(
        na_class->ops.addr_self(na_class->plugin_class, &second->self), 0);
    if (!context)
        return;
    second->na_context = NA_Context_create(na_class);
    ck_assert_ptr_nonnull(second->na_context);
    ck_assert_int_eq(
        na_progress_add(
            bulk_context_of(context)->na_context->progress, second->na_context),
        NA_SUCCESS);
    bulk_context_of(context)->sm_context = second->na_context;
}

void
second_close(struct second *second)
{
    struct na_class *na_class = second->bulk_class->sm_class;

    na_class->ops.addr_free(na_class->plugin_class, second->self);
    ck_assert_int_eq(
        NA_Context_destroy(na_class, second->na_context), NA_SUCCESS);
    ck_assert_int_eq(NA_Finalize(na_class), NA_SUCCESS);
    second->bulk_class->sm_class = NULL;
}

struct hg_addr
second_addr_of(const struct second *second, const struct second *other)
{
    struct na_class *na_class = second->bulk_class->sm_class;
    struct hg_addr addr = {.na_class = na_class};
    char name[256];
    size_t size = sizeof name;

    ck_assert_int_eq(na_addr_to_string(
                         other->bulk_class->sm_class, other->self, name, &size),
        NA_SUCCESS);
    ck_assert_int_eq(na_addr_lookup(na_class, name, &addr.addr), NA_SUCCESS);
    return addr;
}
