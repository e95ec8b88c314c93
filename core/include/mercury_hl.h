/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The high-level layer, for programs that wait instead of using callbacks:
 * requests, lookup, and C functions that are called as RPCs. Included in
 * addition to mercury.h, which doesn't need it.
 *
 * An ordinary function becomes an RPC by one line that both sides compile:
 *
 *     int32_t add(int32_t a, int32_t b);
 *     MERCURY_GEN_RPC(add, int32_t, ((int32_t)(a))((int32_t)(b)))
 *
 * The target defines add, registers it, and makes progress as usual:
 *
 *     int32_t add(int32_t a, int32_t b) { return a + b; }
 *     ...
 *     add_register(hg_class);
 *
 * The origin registers it as a caller, and calls it:
 *
 *     hg_request_class_t *requests = hg_request_init(NULL, NULL, context);
 *     hg_addr_t target;
 *     int32_t sum;
 *
 *     add_register_origin(hg_class);
 *     if (HG_Addr_lookup_wait(context, name, &target) == HG_SUCCESS &&
 *         add_call(requests, target, 1000, 19, 23, &sum) == HG_SUCCESS)
 *         printf("%d\n", (int) sum);
 *     HG_Addr_free(hg_class, target);
 *     hg_request_finalize(requests, NULL);
 */
#ifndef MERCURY_HL_H
#define MERCURY_HL_H

#include "mercury.h"
#include "mercury_macros.h"
#include "mercury_request.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Looks an address up, as HG_Addr_lookup2 with the context's class. The caller
 * frees *addr_p with HG_Addr_free. */
static HG_INLINE hg_return_t
HG_Addr_lookup_wait(hg_context_t *context, const char *name, hg_addr_t *addr_p)
{
    return HG_Addr_lookup2(HG_Context_get_class(context), name, addr_p);
}

/* Calls an RPC and waits for its response.
 * request_class: made with a context and two NULLs.
 * func_name: the name under which the context's class has registered the RPC.
 * timeout_ms: milliseconds until HG_TIMEOUT; 0: no limit.
 * in_struct, out_struct: as for HG_Forward and HG_Get_output, or NULL. What
 *   decoding out_struct allocates is freed before this returns: out_struct must
 *   not contain pointers to it.
 * Returns the code of HG_Forward, of its callback or of HG_Get_output;
 * HG_NOENTRY: the RPC isn't registered. Blocks, also in the callbacks that it
 * runs. [any thread] */
HG_PUBLIC hg_return_t talaria_call(talaria_request_class_t *request_class,
    hg_addr_t addr, const char *func_name, unsigned int timeout_ms,
    void *in_struct, void *out_struct);

#ifdef __cplusplus
}
#endif

/* MERCURY_GEN_RPC(name, ret_t, ((type)(parameter))...)
 * MERCURY_GEN_RPC_VOID(name, ((type)(parameter))...)
 *
 * Makes an RPC of the function `ret_t name(type parameter, ...)`, or of one
 * that returns nothing, which has been declared. Types are as in
 * MERCURY_GEN_PROC, such as hg_const_string_t for a parameter `const char *`;
 * the list may be empty. What a parameter points to lives until the function
 * returns. ret_t is a type that holds no pointer. It defines, each static:
 *
 * hg_id_t name_register(hg_class_t *)
 *   registers it as "name" to be served, where the function is defined; it runs
 *   as a handler does. The origin gets the code if its arguments can't be
 *   decoded.
 * hg_id_t name_register_origin(hg_class_t *)
 *   registers it only to be called. Either returns the id, or 0.
 * hg_return_t name_call(talaria_request_class_t *, hg_addr_t,
 *     unsigned int timeout_ms, type parameter, ..., ret_t *result_p)
 *   calls it and waits, as talaria_call; *result_p is set on HG_SUCCESS.
 *   Without result_p for a function that returns nothing. */
#define MERCURY_GEN_RPC(name, ret_t, fields)                                   \
    MERCURY_GEN_PROC(name##_in_t, ((uint8_t) (call_form)) fields)              \
    MERCURY_GEN_PROC(name##_out_t, ((ret_t) (result)))                         \
    HG_GEN_FUNCTION name##_handler(hg_handle_t handle)                         \
    {                                                                          \
        name##_in_t hl_in;                                                     \
        name##_out_t hl_out;                                                   \
        hg_return_t hl_ret = HG_Get_input(handle, &hl_in);                     \
        if (hl_ret == HG_SUCCESS) {                                            \
            hl_out.result = name(HG_GEN_END(HG_HL_ARG_0 fields));              \
            (void) HG_Free_input(handle, &hl_in);                              \
            hl_ret = HG_Respond(handle, NULL, NULL, &hl_out);                  \
        }                                                                      \
        (void) HG_Destroy(handle);                                             \
        return hl_ret;                                                         \
    }                                                                          \
    HG_GEN_FUNCTION name##_call(talaria_request_class_t *hl_class,             \
        hg_addr_t hl_addr,                                                     \
        unsigned int hl_timeout HG_GEN_END(HG_HL_PARAM_1 fields),              \
        ret_t *hl_result_p)                                                    \
    {                                                                          \
        name##_in_t hl_in;                                                     \
        name##_out_t hl_out;                                                   \
        hg_return_t hl_ret;                                                    \
        HG_GEN_END(HG_HL_SET_1 fields)                                         \
        hl_in.call_form = 0;                                                   \
        hl_ret = talaria_call(                                                 \
            hl_class, hl_addr, #name, hl_timeout, &hl_in, &hl_out);            \
        if (hl_ret == HG_SUCCESS && hl_result_p != NULL)                       \
            *hl_result_p = hl_out.result;                                      \
        return hl_ret;                                                         \
    }                                                                          \
    HG_HL_REGISTER(name, name##_out_t)

#define MERCURY_GEN_RPC_VOID(name, fields)                                     \
    MERCURY_GEN_PROC(name##_in_t, ((uint8_t) (call_form)) fields)              \
    HG_GEN_FUNCTION name##_handler(hg_handle_t handle)                         \
    {                                                                          \
        name##_in_t hl_in;                                                     \
        hg_return_t hl_ret = HG_Get_input(handle, &hl_in);                     \
        if (hl_ret == HG_SUCCESS) {                                            \
            name(HG_GEN_END(HG_HL_ARG_0 fields));                              \
            (void) HG_Free_input(handle, &hl_in);                              \
            hl_ret = HG_Respond(handle, NULL, NULL, NULL);                     \
        }                                                                      \
        (void) HG_Destroy(handle);                                             \
        return hl_ret;                                                         \
    }                                                                          \
    HG_GEN_FUNCTION name##_call(talaria_request_class_t *hl_class,             \
        hg_addr_t hl_addr,                                                     \
        unsigned int hl_timeout HG_GEN_END(HG_HL_PARAM_1 fields))              \
    {                                                                          \
        name##_in_t hl_in;                                                     \
        HG_GEN_END(HG_HL_SET_1 fields)                                         \
        hl_in.call_form = 0;                                                   \
        return talaria_call(                                                   \
            hl_class, hl_addr, #name, hl_timeout, &hl_in, NULL);               \
    }                                                                          \
    HG_HL_REGISTER(name, void)

/* Implementation, not for use. It expands sequences in the same way as
 * mercury_macros.h. */
#define HG_HL_REGISTER(name, out_t)                                            \
    HG_HL_FUNCTION hg_id_t name##_register(hg_class_t *hg_class)               \
    {                                                                          \
        return MERCURY_REGISTER(                                               \
            hg_class, #name, name##_in_t, out_t, name##_handler);              \
    }                                                                          \
    HG_HL_FUNCTION hg_id_t name##_register_origin(hg_class_t *hg_class)        \
    {                                                                          \
        return MERCURY_REGISTER(hg_class, #name, name##_in_t, out_t, NULL);    \
    }

#define HG_HL_ARG_0(field) HG_HL_ARG_TYPE field HG_HL_ARG_1
#define HG_HL_ARG_1(field) , HG_HL_ARG_TYPE field HG_HL_ARG_2
#define HG_HL_ARG_2(field) , HG_HL_ARG_TYPE field HG_HL_ARG_1
#define HG_HL_ARG_0_END
#define HG_HL_ARG_1_END
#define HG_HL_ARG_2_END
#define HG_HL_ARG_TYPE(type) HG_HL_ARG_NAME
#define HG_HL_ARG_NAME(name) hl_in.name

#define HG_HL_PARAM_1(field) HG_HL_PARAM_TYPE field HG_HL_PARAM_2
#define HG_HL_PARAM_2(field) HG_HL_PARAM_TYPE field HG_HL_PARAM_1
#define HG_HL_PARAM_1_END
#define HG_HL_PARAM_2_END
#define HG_HL_PARAM_TYPE(type) , type HG_HL_PARAM_NAME
#define HG_HL_PARAM_NAME(name) name

#define HG_HL_SET_1(field) HG_HL_SET_TYPE field HG_HL_SET_2
#define HG_HL_SET_2(field) HG_HL_SET_TYPE field HG_HL_SET_1
#define HG_HL_SET_1_END
#define HG_HL_SET_2_END
#define HG_HL_SET_TYPE(type) HG_HL_SET_NAME
#define HG_HL_SET_NAME(name) hl_in.name = name;

#ifdef __GNUC__
#define HG_HL_FUNCTION static HG_INLINE __attribute__((unused))
#else
#define HG_HL_FUNCTION static HG_INLINE
#endif

#endif /* MERCURY_HL_H */
