/* SPDX-License-Identifier: BSD-3-Clause */
/* Generates a struct and its proc from a list of fields, and registers RPCs by
 * the names of such structs. */
#ifndef MERCURY_MACROS_H
#define MERCURY_MACROS_H

#include "mercury.h"
#include "mercury_bulk.h"
#include "mercury_proc.h"
#include "mercury_proc_bulk.h"
#include "mercury_proc_string.h"

/* Nothing here needs Boost, but programs use BOOST_PP_* through this header. */
#ifdef __has_include
#if __has_include(<boost/preprocessor.hpp>)
#include <boost/preprocessor.hpp>
#endif
#endif

/* MERCURY_REGISTER(hg_class, "name", in_t, out_t, rpc_cb)
 *
 * HG_Register_name with the procs hg_proc_<in_t> and hg_proc_<out_t>. `void`
 * means no input, or no output. */
#define MERCURY_REGISTER(hg_class, func_name, in_t, out_t, rpc_cb)             \
    HG_Register_name(hg_class, func_name, HG_GEN_CAT(hg_proc_, in_t),          \
        HG_GEN_CAT(hg_proc_, out_t), rpc_cb)

/* MERCURY_GEN_PROC(open_in_t, ((hg_const_string_t)(path)) ((int32_t)(mode)))
 *
 * Defines the struct type open_in_t with these fields, and its proc
 * hg_proc_open_in_t. Any number of fields; each type is one identifier for
 * which hg_proc_<type> exists. */
#define MERCURY_GEN_PROC(struct_t, fields)                                     \
    typedef struct {                                                           \
        HG_GEN_END(HG_GEN_DECL_1 fields)                                       \
    } struct_t;                                                                \
    MERCURY_GEN_STRUCT_PROC(struct_t, fields)

/* MERCURY_GEN_STRUCT_PROC(open_in_t, fields as above)
 *
 * Defines the proc alone, for a struct type that exists already: fields in the
 * order given, up to the first error, which is returned. If decoding fails, the
 * fields decoded before are freed: a malformed message leaks no memory. */
#define MERCURY_GEN_STRUCT_PROC(struct_t, fields)                              \
    HG_GEN_FUNCTION HG_GEN_CAT(hg_proc_, struct_t)(hg_proc_t proc, void *data) \
    {                                                                          \
        struct_t *struct_data = (struct_t *) data;                             \
        const hg_proc_op_t proc_op = hg_proc_get_op(proc);                     \
        unsigned int fields_done = 0;                                          \
        hg_return_t ret;                                                       \
        HG_GEN_END(HG_GEN_PROC_1 fields)                                       \
        return HG_SUCCESS;                                                     \
    undo_fields:                                                               \
        if (proc_op != HG_DECODE)                                              \
            return ret;                                                        \
        (void) hg_proc_reset(proc, NULL, 0, HG_FREE);                          \
        HG_GEN_END(HG_GEN_UNDO_1 fields)                                       \
        return ret;                                                            \
    }

/* Implementation, not for use.
 *
 * Two macros expand a sequence of any length. Each takes one element and puts
 * the other's name before the next one, since the preprocessor does not expand
 * a macro in its own expansion. HG_GEN_END removes the name left after the last
 * element. An element (type)(name) is split in the same way: the macro that
 * takes the type puts the macro that takes the name before (name). */
#define HG_GEN_CAT(a, b) HG_GEN_PASTE(a, b)
#define HG_GEN_PASTE(a, b) a##b

#define HG_GEN_END(...) HG_GEN_PASTE_END(__VA_ARGS__)
#define HG_GEN_PASTE_END(...) __VA_ARGS__##_END

#define HG_GEN_DECL_1(field) HG_GEN_DECL_TYPE field HG_GEN_DECL_2
#define HG_GEN_DECL_2(field) HG_GEN_DECL_TYPE field HG_GEN_DECL_1
#define HG_GEN_DECL_1_END
#define HG_GEN_DECL_2_END
#define HG_GEN_DECL_TYPE(type) type HG_GEN_DECL_NAME
#define HG_GEN_DECL_NAME(name) name;

#define HG_GEN_PROC_1(field) HG_GEN_PROC_TYPE field HG_GEN_PROC_2
#define HG_GEN_PROC_2(field) HG_GEN_PROC_TYPE field HG_GEN_PROC_1
#define HG_GEN_PROC_1_END
#define HG_GEN_PROC_2_END
#define HG_GEN_PROC_TYPE(type) ret = hg_proc_##type HG_GEN_PROC_NAME
#define HG_GEN_PROC_NAME(name)                                                 \
    (proc, &struct_data->name);                                                \
    if (ret != HG_SUCCESS)                                                     \
        goto undo_fields;                                                      \
    fields_done++;

#define HG_GEN_UNDO_1(field) HG_GEN_UNDO_TYPE field HG_GEN_UNDO_2
#define HG_GEN_UNDO_2(field) HG_GEN_UNDO_TYPE field HG_GEN_UNDO_1
#define HG_GEN_UNDO_1_END
#define HG_GEN_UNDO_2_END
#define HG_GEN_UNDO_TYPE(type)                                                 \
    if (fields_done-- == 0)                                                    \
        return ret;                                                            \
    (void) hg_proc_##type HG_GEN_UNDO_NAME
#define HG_GEN_UNDO_NAME(name) (proc, &struct_data->name);

/* Programs may generate procs that they don't call. */
#ifdef __GNUC__
#define HG_GEN_FUNCTION static HG_INLINE __attribute__((unused)) hg_return_t
#else
#define HG_GEN_FUNCTION static HG_INLINE hg_return_t
#endif

#endif /* MERCURY_MACROS_H */
