/* SPDX-License-Identifier: BSD-3-Clause */
/* String objects. In a message they are strings: ownership is local. */
#include <stdlib.h>

#include "mercury_proc_string.h"
#include "proc/proc.h"

static hg_return_t
make(hg_string_object_t *string, char *s, bool is_const, bool is_owned)
{
    if (string == NULL)
        return HG_INVALID_ARG;
    string->data = s;
    string->is_const = is_const;
    string->is_owned = is_owned;
    return HG_SUCCESS;
}

hg_return_t
hg_string_object_init(hg_string_object_t *string)
{
    return make(string, NULL, false, false);
}

hg_return_t
hg_string_object_init_char(
    hg_string_object_t *string, char *s, uint8_t is_owned)
{
    return make(string, s, false, is_owned != 0);
}

hg_return_t
hg_string_object_init_const_char(
    hg_string_object_t *string, const char *s, uint8_t is_owned)
{
    /* is_const remembers what the type of the member can't say. */
    return make(string, (char *) (uintptr_t) s, true, is_owned != 0);
}

hg_return_t
hg_string_object_free(hg_string_object_t *string)
{
    if (string == NULL)
        return HG_SUCCESS;
    if (string->is_owned)
        free(string->data);
    return hg_string_object_init(string);
}

hg_return_t
hg_string_object_dup(hg_string_object_t string, hg_string_object_t *new_string)
{
    char *copy;

    if (new_string == NULL)
        return HG_INVALID_ARG;
    if (string.data == NULL)
        return hg_string_object_init(new_string);
    copy = strdup(string.data);
    if (copy == NULL)
        return HG_NOMEM;
    return make(new_string, copy, false, true);
}

char *
hg_string_object_swap(hg_string_object_t *string, char *s)
{
    char *old;

    if (string == NULL)
        return NULL;
    old = string->data;
    string->data = s;
    return old;
}

hg_return_t
hg_proc_hg_string_object_t(hg_proc_t proc, void *string)
{
    hg_string_object_t *object = string;
    char *s;
    hg_return_t ret;

    if (proc->op == HG_FREE)
        return hg_string_object_free(object);
    if (proc->op == HG_ENCODE)
        return proc_string_encode(proc, object->data);

    ret = proc_string_decode(proc, &s);
    if (ret != HG_SUCCESS)
        return ret;
    return make(object, s, false, true);
}
