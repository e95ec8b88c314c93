/* SPDX-License-Identifier: BSD-3-Clause */
/* Remote procedure calls: the origin forwards a handle; the target runs the
 * registered function with it and responds. Unless a function says otherwise:
 *
 * - Threads: it may be called from any thread, also while another thread makes
 *   progress on the context, as far as thread_mode allows. It doesn't block.
 * - Ownership: the caller owns an object until it passes it to the function
 *   that pairs with the one that created it (create and destroy, get and free).
 *   Passing a null object there is HG_SUCCESS. Strings and structs passed in
 *   are only read during the call.
 * - Outputs are set on HG_SUCCESS only. A missing or invalid argument is
 *   HG_INVALID_ARG; functions without a return code return NULL or 0.
 *
 * An operation is a call that takes a callback, NULL if none is wanted:
 *
 * - HG_SUCCESS: the operation was accepted. Its callback runs exactly once, in
 *   HG_Trigger on the same context, with the outcome in ret. (The callback of
 *   HG_Respond may also run in HG_Context_destroy.)
 * - Any other code: nothing was started and the callback never runs. Beside the
 *   codes listed at the function: HG_HOSTUNREACH, the peer is known to be
 *   unreachable; HG_NOMEM; HG_AGAIN, a resource is short at the moment: with
 *   NA_NO_RETRY one of the transport, in HG_Respond the memory that
 *   TALARIA_HG_OVERFLOW_TOTAL allows.
 *
 * Callbacks and handlers run without a lock held. They may block, start other
 * operations, and destroy any object but their own context and class.
 *
 * Fork: once a class has been opened, a forked child may only exec or exit,
 * which affects no class of the parent; file descriptors are close-on-exec. A
 * child may open classes if the parent had finalized all of its own, and they
 * were na+sm's.
 * Working directory: open classes do not depend on it. Relative paths in the
 * environment are resolved when a class is opened.
 * User: classes remain usable when a process changes its user. To peers over
 * na+sm it remains the user who opened the class.
 * Unloading: once all classes are finalized, dlclose may unload the library.
 * Plugins remain loaded. Two copies of the library in one process, one of them
 * linked statically into a module for instance, do not affect one another, and
 * their classes can call each other. */
#ifndef MERCURY_H
#define MERCURY_H

#include <stdio.h>

#include "mercury_types.h"
#include "na.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The library */

/* Gets the version of the Mercury interface: the HG_VERSION_* macros as they
 * were when the library was built. Each pointer may be NULL. */
HG_PUBLIC hg_return_t HG_Version_get(
    unsigned int *major_p, unsigned int *minor_p, unsigned int *patch_p);

/* Returns the name of a code, such as "HG_NOMEM"; a constant, never NULL. */
HG_PUBLIC const char *HG_Error_to_string(hg_return_t errnum);

/* Lists the protocols and the devices they can use, as NA_Get_protocol_info.
 * The caller frees the list with HG_Free_na_protocol_info. */
HG_PUBLIC hg_return_t HG_Get_na_protocol_info(
    const char *info_string, struct na_protocol_info **na_protocol_info_p);

/* Frees a list of HG_Get_na_protocol_info. NULL is allowed. */
HG_PUBLIC void HG_Free_na_protocol_info(
    struct na_protocol_info *na_protocol_info);

/* Does what NA_Cleanup does. */
HG_PUBLIC void HG_Cleanup(void);

/* Sets the log level of the process: "none", "error", "warning", "info" or
 * "debug" ("fatal" and "err" mean error, "warn" warning, "min_debug" info).
 * Other names are ignored. The initial level is that of HG_LOG_LEVEL in the
 * environment. */
HG_PUBLIC void HG_Set_log_level(const char *level);

/* Sets the subsystems that log: names separated by commas; "~name" turns one
 * off. The initial list is that of HG_LOG_SUBSYS in the environment. */
HG_PUBLIC void HG_Set_log_subsys(const char *subsys);

/* Sets the function that writes log lines, with the arguments of fprintf; NULL
 * restores fprintf. It may be called from any thread and must not call this
 * library. */
HG_PUBLIC void HG_Set_log_func(
    int (*log_func)(FILE *stream, const char *format, ...));

/* Sets the stream for lines of one level (not "none"). The caller keeps the
 * stream open as long as it is set; NULL restores the default. */
HG_PUBLIC void HG_Set_log_stream(const char *level, FILE *stream);

/* Logs the counters of all classes that were opened with the option stats,
 * whatever the log level. */
HG_PUBLIC void HG_Diag_dump_counters(void);

/* Classes */

/* Opens a transport for RPCs with default options.
 * na_info_string: "[plugin+]protocol[://host part]", such as
 *   "ofi+tcp://eth0:5000". The plugin defines what the host part means.
 * na_listen: not 0 to receive requests from peers, at the address in the host
 *   part.
 * Returns the class, to be closed with HG_Finalize, or NULL after one log line
 * at level error. Blocks while the plugin opens its devices and resolves host
 * names. */
HG_PUBLIC hg_class_t *HG_Init(const char *na_info_string, uint8_t na_listen);

/* HG_Init with options, of which it reads the fields of version 2.2.
 * hg_init_info: NULL for the defaults. */
HG_PUBLIC hg_class_t *HG_Init_opt(const char *na_info_string, uint8_t na_listen,
    const struct hg_init_info *hg_init_info);

/* HG_Init_opt that reads the fields of `version`, made by HG_VERSION. A version
 * before 2.3 reads the fields of 2.2, a version after 2.4 those of 2.4. */
HG_PUBLIC hg_class_t *HG_Init_opt2(const char *na_info_string,
    uint8_t na_listen, unsigned int version,
    const struct hg_init_info *hg_init_info);

/* Closes a class and frees all its registered RPCs. No other call may be using
 * it. HG_BUSY: it has contexts or addresses; it remains open, and the log has
 * their numbers. May block while the transport disconnects. */
HG_PUBLIC hg_return_t HG_Finalize(hg_class_t *hg_class);

/* Returns the plugin's name, such as "ofi"; valid until the class is finalized.
 */
HG_PUBLIC const char *HG_Class_get_name(const hg_class_t *hg_class);

/* Returns the protocol's name, such as "tcp"; valid until the class is
 * finalized. */
HG_PUBLIC const char *HG_Class_get_protocol(const hg_class_t *hg_class);

/* Returns whether the class was opened with na_listen. */
HG_PUBLIC bool HG_Class_is_listening(const hg_class_t *hg_class);

/* Returns the maximum bytes of encoded input that a request message carries,
 * without the input offset. Larger input is transferred by RMA. With auto_sm it
 * is the smaller size of both transports. */
HG_PUBLIC hg_size_t HG_Class_get_input_eager_size(const hg_class_t *hg_class);

/* Returns the maximum bytes of encoded output that a response message carries,
 * without the output offset. Larger output is transferred by RMA. */
HG_PUBLIC hg_size_t HG_Class_get_output_eager_size(const hg_class_t *hg_class);

/* Reserves `offset` bytes before the encoded input of each request for the
 * caller's own header (HG_Get_input_buf). Origin and target must set the same
 * value, before they create contexts. HG_INVALID_ARG: larger than the message.
 */
HG_PUBLIC hg_return_t HG_Class_set_input_offset(
    hg_class_t *hg_class, hg_size_t offset);

/* Reserves `offset` bytes before the encoded output of each response
 * (HG_Get_output_buf). Origin and target must set the same value, before they
 * create contexts. HG_INVALID_ARG: larger than the message. */
HG_PUBLIC hg_return_t HG_Class_set_output_offset(
    hg_class_t *hg_class, hg_size_t offset);

/* Attaches data to a class. Data attached earlier is replaced and not freed.
 * HG_Finalize calls free_callback with the data, unless it is NULL. */
HG_PUBLIC hg_return_t HG_Class_set_data(
    hg_class_t *hg_class, void *data, void (*free_callback)(void *));

/* Returns the attached data, or NULL. */
HG_PUBLIC void *HG_Class_get_data(const hg_class_t *hg_class);

/* Copies the counters of a class. HG_OPNOTSUPPORTED: it was opened without the
 * option stats. */
HG_PUBLIC hg_return_t HG_Class_get_counters(
    const hg_class_t *hg_class, struct hg_diag_counters *diag_counters);

/* Sets the function that is called with each newly created handle, at origin
 * and target, so that it can attach data (HG_Set_data). Handles that are reused
 * don't call it. If it returns an error, the handle is not created. It runs in
 * the thread that creates the handle. To be set before contexts are created. */
HG_PUBLIC hg_return_t HG_Class_set_handle_create_callback(hg_class_t *hg_class,
    hg_return_t (*callback)(hg_handle_t, void *), void *arg);

/* Contexts */

/* Creates the context with id 0. If the class listens, the context receives
 * requests from now on. Returns the context, to be destroyed with
 * HG_Context_destroy, or NULL. */
HG_PUBLIC hg_context_t *HG_Context_create(hg_class_t *hg_class);

/* Creates a context that peers select by id (HG_Set_target_id): below
 * max_contexts, and not in use. Otherwise like HG_Context_create. */
HG_PUBLIC hg_context_t *HG_Context_create_id(hg_class_t *hg_class, uint8_t id);

/* Destroys a context. No other thread may be using it. Waits up to 5 s for
 * handles that are in use, then returns HG_BUSY: the context remains, and the
 * log has the number of handles. Peers can't keep a context alive: requests
 * that no handler has received are answered with HG_NODEV; responses that were
 * not sent, or not acknowledged by their origins, are cancelled after 2.5 s;
 * arguments still being fetched are discarded. Callbacks of responses that
 * complete meanwhile run in this call. */
HG_PUBLIC hg_return_t HG_Context_destroy(hg_context_t *context);

/* Stops receiving requests permanently. Requests already received are still
 * handled. May block until the transport has released its buffers. */
HG_PUBLIC hg_return_t HG_Context_unpost(hg_context_t *context);

/* Returns the class of a context. */
HG_PUBLIC hg_class_t *HG_Context_get_class(const hg_context_t *context);

/* Returns the id of a context. */
HG_PUBLIC uint8_t HG_Context_get_id(const hg_context_t *context);

/* Attaches data to a context. Data attached earlier is replaced and not freed.
 * HG_Context_destroy calls free_callback with the data, unless it is NULL. */
HG_PUBLIC hg_return_t HG_Context_set_data(
    hg_context_t *context, void *data, void (*free_callback)(void *));

/* Returns the attached data, or NULL. */
HG_PUBLIC void *HG_Context_get_data(const hg_context_t *context);

/* Registered RPCs */

/* Registers an RPC. Its id is a hash of the name, the same in all processes.
 * Registering a name again replaces its three functions.
 * in_proc_cb, out_proc_cb: encode and decode input and output; NULL: the RPC
 *   has none.
 * rpc_cb: handles requests at the target; NULL at a process that only calls the
 *   RPC.
 * Returns the id, or 0.
 *
 * rpc_cb gets a handle with one reference, which it drops with HG_Destroy, in
 * the handler or any time later. If it returns an error without having
 * responded, that code is the response, unless the request was dropped
 * (talaria_handle_drop) or its RPC has no response. The handler's reference is
 * then dropped too, unless the handler called HG_Destroy, and references that
 * it took with HG_Ref_incr remain. Another thread that uses the handle after
 * that needs a reference of its own. */
HG_PUBLIC hg_id_t HG_Register_name(hg_class_t *hg_class, const char *func_name,
    hg_proc_cb_t in_proc_cb, hg_proc_cb_t out_proc_cb, hg_rpc_cb_t rpc_cb);

/* Gets whether a name is registered: *flag_p is set to 1 or 0. id_p: set to the
 * id, or to 0 if the name isn't registered; may be NULL. */
HG_PUBLIC hg_return_t HG_Registered_name(hg_class_t *hg_class,
    const char *func_name, hg_id_t *id_p, uint8_t *flag_p);

/* HG_Register_name with an id chosen by the caller, not 0, and a return code.
 * HG_NOMEM. */
HG_PUBLIC hg_return_t HG_Register(hg_class_t *hg_class, hg_id_t id,
    hg_proc_cb_t in_proc_cb, hg_proc_cb_t out_proc_cb, hg_rpc_cb_t rpc_cb);

/* Removes an RPC and frees its attached data. No handle may be using it.
 * Requests that arrive later are answered with HG_NOENTRY. HG_NOENTRY: it isn't
 * registered. */
HG_PUBLIC hg_return_t HG_Deregister(hg_class_t *hg_class, hg_id_t id);

/* Gets whether an id is registered: *flag_p is set to 1 or 0. */
HG_PUBLIC hg_return_t HG_Registered(
    hg_class_t *hg_class, hg_id_t id, uint8_t *flag_p);

/* HG_Registered that also gets the procs, if the id is registered.
 * in_proc_cb_p, out_proc_cb_p: may be NULL. */
HG_PUBLIC hg_return_t HG_Registered_proc_cb(hg_class_t *hg_class, hg_id_t id,
    uint8_t *flag_p, hg_proc_cb_t *in_proc_cb_p, hg_proc_cb_t *out_proc_cb_p);

/* Attaches data to an RPC. Data attached earlier is replaced and not freed.
 * HG_Deregister or HG_Finalize calls free_callback with the data, unless it is
 * NULL. HG_NOENTRY: the RPC isn't registered. */
HG_PUBLIC hg_return_t HG_Register_data(hg_class_t *hg_class, hg_id_t id,
    void *data, void (*free_callback)(void *));

/* Returns the data attached to an RPC, or NULL. */
HG_PUBLIC void *HG_Registered_data(hg_class_t *hg_class, hg_id_t id);

/* Disables (disable 1) or enables (0) responses to an RPC. Without responses a
 * forward completes when the request was sent, and HG_Respond returns
 * HG_OPNOTSUPPORTED. Origin and target must set the same. HG_NOENTRY: the RPC
 * isn't registered. */
HG_PUBLIC hg_return_t HG_Registered_disable_response(
    hg_class_t *hg_class, hg_id_t id, uint8_t disable);

/* Gets whether responses are disabled: *disabled_p is set to 1 or 0.
 * HG_NOENTRY: the RPC isn't registered. */
HG_PUBLIC hg_return_t HG_Registered_disabled_response(
    hg_class_t *hg_class, hg_id_t id, uint8_t *disabled_p);

/* Addresses */

/* HG_Addr_lookup2 as an operation. The callback gets info.lookup.addr, which
 * the caller frees. op_id_p: NULL, HG_OP_ID_IGNORE, or set to HG_OP_ID_NULL,
 * since a lookup can't be cancelled. Blocks as HG_Addr_lookup2. */
HG_PUBLIC hg_return_t HG_Addr_lookup1(hg_context_t *context, hg_cb_t callback,
    void *arg, const char *name, hg_op_id_t *op_id_p);

/* Makes an address from a string of a peer's HG_Addr_to_string. Does not
 * connect: the first operation to the peer does. Any class accepts a string
 * with two addresses (auto_sm); the transport to the peer is chosen here. The
 * caller frees *addr_p with HG_Addr_free. Blocks only to resolve a host name.
 * HG_INVALID_ARG: malformed address; HG_PROTONOSUPPORT: an address of another
 * transport; HG_NOMEM. */
HG_PUBLIC hg_return_t HG_Addr_lookup2(
    hg_class_t *hg_class, const char *name, hg_addr_t *addr_p);

/* HG_Addr_lookup1 with five arguments, HG_Addr_lookup2 with three: the macro
 * counts its arguments and selects the function. */
#define HG_Addr_lookup(...)                                                    \
    HG_ADDR_LOOKUP_SIXTH(__VA_ARGS__, HG_Addr_lookup1,                         \
        HG_Addr_lookup_takes_3_or_5_arguments, HG_Addr_lookup2,                \
        HG_Addr_lookup_takes_3_or_5_arguments,                                 \
        HG_Addr_lookup_takes_3_or_5_arguments, 0)                              \
    (__VA_ARGS__)
#define HG_ADDR_LOOKUP_SIXTH(a, b, c, d, e, name, ...) name

/* Drops one reference to an address. */
HG_PUBLIC hg_return_t HG_Addr_free(hg_class_t *hg_class, hg_addr_t addr);

/* Disconnects the peer, so that a process restarted at the same address can be
 * reached. The next operation reconnects. The caller still frees the address.
 */
HG_PUBLIC hg_return_t HG_Addr_set_remove(hg_class_t *hg_class, hg_addr_t addr);

/* Gets the address of the class itself. The caller frees it with HG_Addr_free.
 */
HG_PUBLIC hg_return_t HG_Addr_self(hg_class_t *hg_class, hg_addr_t *addr_p);

/* Takes another reference to an address. The caller frees it with HG_Addr_free.
 */
HG_PUBLIC hg_return_t HG_Addr_dup(
    hg_class_t *hg_class, hg_addr_t addr, hg_addr_t *new_addr_p);

/* Returns 1 if both addresses are of the same peer, else 0. A null address
 * equals no address. With auto_sm, addresses of one peer over different
 * transports are not equal, except those of the class itself. */
HG_PUBLIC uint8_t HG_Addr_cmp(
    hg_class_t *hg_class, hg_addr_t addr1, hg_addr_t addr2);

/* Writes an address as a string that peers can look up.
 * buf: *buf_size_p bytes, or NULL to get the size only.
 * buf_size_p: set to the bytes needed, terminating zero included, also with
 *   HG_OVERFLOW: the buffer was too small.
 * HG_OPNOTSUPPORTED: the address has no such string, which can be the case for
 * the address of a class that doesn't listen. */
HG_PUBLIC hg_return_t HG_Addr_to_string(
    hg_class_t *hg_class, char *buf, hg_size_t *buf_size_p, hg_addr_t addr);

/* Handles */

/* Creates a handle to forward RPCs on a context, any number of times in
 * sequence.
 * addr: the target; the handle keeps a reference. id: the RPC. If either is
 *   null, HG_Reset has to set it before the first HG_Forward.
 * handle_p: set to the handle, with one reference, which HG_Destroy drops.
 * HG_NOENTRY: the RPC isn't registered; HG_NOMEM. */
HG_PUBLIC hg_return_t HG_Create(
    hg_context_t *context, hg_addr_t addr, hg_id_t id, hg_handle_t *handle_p);

/* Drops one reference. A running operation has a reference, and so has each
 * HG_Get_input or HG_Get_output until its struct is freed; the handle is
 * released with the last one. A second HG_Destroy in a handler that doesn't
 * respond has no effect. A handler that returns an error need not call it: see
 * HG_Register_name. */
HG_PUBLIC hg_return_t HG_Destroy(hg_handle_t handle);

/* Prepares a handle of HG_Create for another target or RPC. A null addr or id
 * keeps the current one. Attached data remains. HG_BUSY: the last forward is
 * still in progress; HG_NOENTRY: the RPC isn't registered. */
HG_PUBLIC hg_return_t HG_Reset(hg_handle_t handle, hg_addr_t addr, hg_id_t id);

/* Takes another reference, which HG_Destroy drops. */
HG_PUBLIC hg_return_t HG_Ref_incr(hg_handle_t hg_handle);

/* Returns the number of references, or -1 for a null handle. Beside those of
 * the caller and of HG_Get_*: a forward has 1 until its callback has returned;
 * at the target the running handler has 1, and a response has 1 until it was
 * sent or its callback has returned. In a call to oneself the target's handle
 * counts 2 for the origin's handle instead of 1 for the response. */
HG_PUBLIC int32_t HG_Ref_get(hg_handle_t handle);

/* Returns class, context, peer and RPC of a handle. The handle owns the struct
 * and the address in it: use HG_Addr_dup to keep the address longer. */
HG_PUBLIC const struct hg_info *HG_Get_info(hg_handle_t handle);

/* Attaches data to a handle. Data attached earlier is replaced and not freed.
 * It remains after HG_Reset, and at the target when the handle is reused for
 * other requests. free_callback, unless NULL, is called with the data when the
 * memory of the handle is freed. */
HG_PUBLIC hg_return_t HG_Set_data(
    hg_handle_t handle, void *data, void (*free_callback)(void *));

/* Returns the attached data, or NULL. */
HG_PUBLIC void *HG_Get_data(hg_handle_t handle);

/* Sets the context of the target for later forwards; the default is 0. A call
 * to oneself runs on the caller's context, unless it uses the transport
 * (no_loopback). */
HG_PUBLIC hg_return_t HG_Set_target_id(hg_handle_t handle, uint8_t id);

/* Input and output as structs */

/* Returns the bytes of encoded input. */
HG_PUBLIC hg_size_t HG_Get_input_payload_size(hg_handle_t handle);

/* Decodes the input of a request into in_struct, at the target. HG_Free_input
 * frees what was allocated, and drops the reference that this takes. May be
 * repeated, except with release_input_early. HG_INVALID_ARG: in_struct is NULL;
 * HG_FAULT: no proc is registered; HG_OVERFLOW, HG_PROTOCOL_ERROR: malformed
 * input; HG_CHECKSUM_ERROR: it was altered, or with HG_CHECKSUM_RPC_PAYLOAD the
 * proc did not decode all of it (what it allocated is freed); HG_NOMEM. */
HG_PUBLIC hg_return_t HG_Get_input(hg_handle_t handle, void *in_struct);

/* Frees what HG_Get_input put into in_struct. At the origin it runs the proc of
 * the input with HG_FREE on a struct of the caller. */
HG_PUBLIC hg_return_t HG_Free_input(hg_handle_t handle, void *in_struct);

/* Returns the bytes of encoded output. */
HG_PUBLIC hg_size_t HG_Get_output_payload_size(hg_handle_t handle);

/* Decodes the output of a response into out_struct, at the origin, after the
 * callback of the forward got HG_SUCCESS. HG_Free_output frees what was
 * allocated, and drops the reference that this takes. Errors as of
 * HG_Get_input. */
HG_PUBLIC hg_return_t HG_Get_output(hg_handle_t handle, void *out_struct);

/* Frees what HG_Get_output put into out_struct. At the target it runs the proc
 * of the output with HG_FREE on a struct of the caller. */
HG_PUBLIC hg_return_t HG_Free_output(hg_handle_t handle, void *out_struct);

/* Input and output as bytes. The pointers are valid until the handle is
 * forwarded again, reset or destroyed. Sizes are in bytes; a size pointer may
 * be NULL. */

/* Gets the payload in the request message, beginning with the space reserved by
 * HG_Class_set_input_offset: at the origin to fill that space before
 * HG_Forward, at the target to read it. */
HG_PUBLIC hg_return_t HG_Get_input_buf(
    hg_handle_t handle, void **in_buf_p, hg_size_t *in_buf_size_p);

/* Releases the buffer of a request early, at the target. HG_Get_input and
 * HG_Get_input_buf then fail. HG_BUSY: decoded input was not freed yet. */
HG_PUBLIC hg_return_t HG_Release_input_buf(hg_handle_t handle);

/* Gets the payload in the response message, beginning with the space reserved
 * by HG_Class_set_output_offset: at the target to fill that space before
 * HG_Respond, at the origin to read it. */
HG_PUBLIC hg_return_t HG_Get_output_buf(
    hg_handle_t handle, void **out_buf_p, hg_size_t *out_buf_size_p);

/* Gets encoded input that was too large for the message; NULL and 0 if it was
 * not. */
HG_PUBLIC hg_return_t HG_Get_input_extra_buf(
    hg_handle_t handle, void **in_buf_p, hg_size_t *in_buf_size_p);

/* Gets encoded output that was too large for the message; NULL and 0 if it was
 * not. */
HG_PUBLIC hg_return_t HG_Get_output_extra_buf(
    hg_handle_t handle, void **out_buf_p, hg_size_t *out_buf_size_p);

/* Calls */

/* Sends a request to the handle's target. An operation.
 * in_struct: encoded before the call returns. Without it, or without a
 *   registered proc, the request has no payload.
 * The callback gets info.forward.handle, and in ret: HG_SUCCESS, the response
 * has arrived; HG_NOENTRY, the target has not registered the RPC; the error
 * that its handler returned; HG_MSGSIZE or HG_AGAIN, input or output exceeds a
 * limit of either side (TALARIA_HG_OVERFLOW_MAX, TALARIA_HG_OVERFLOW_TOTAL);
 * HG_CANCELED; HG_HOSTUNREACH or similar, the target is unreachable;
 * HG_CHECKSUM_ERROR. There is no default timeout: use HG_Cancel, or
 * talaria_handle_set_deadline (HG_TIMEOUT).
 * HG_BUSY: the last forward is still in progress; HG_OVERFLOW: too large for a
 * message, and the class has no_overflow; or the error that the proc returned.
 */
HG_PUBLIC hg_return_t HG_Forward(
    hg_handle_t handle, hg_cb_t callback, void *arg, void *in_struct);

/* Responds to a request, once, in its handler or any time later. An operation.
 * out_struct: encoded before the call returns. Without it, or without a
 *   registered proc, the response has no payload.
 * The callback gets info.respond.handle when the response was sent; if it was
 * too large for a message, when the origin has fetched it. Its memory is held
 * until then. HG_TIMEOUT in the callback: the origin did not acknowledge it in
 * time (TALARIA_HG_ACK_TIMEOUT_MS, default 5 minutes).
 * HG_OPNOTSUPPORTED: the RPC has no response; HG_BUSY: already responded;
 * HG_AGAIN: the large payloads of the context, or of this origin, would exceed
 * their limit (TALARIA_HG_OVERFLOW_TOTAL); HG_MSGSIZE: this payload alone
 * exceeds it; HG_OVERFLOW and errors of the proc as HG_Forward. After an error
 * HG_Respond can be called again, or the handler returns the code. */
HG_PUBLIC hg_return_t HG_Respond(
    hg_handle_t handle, hg_cb_t callback, void *arg, void *out_struct);

/* Cancels the handle's operation. Its callback runs with HG_CANCELED, or with
 * the result if it completed first. This takes some 10 ms at most, also if the
 * transport can't cancel; HG_Forward and HG_Reset then return HG_BUSY until the
 * transport has released the handle. HG_SUCCESS also if no operation is in
 * progress, or it was cancelled before. */
HG_PUBLIC hg_return_t HG_Cancel(hg_handle_t handle);

/* Progress */

/* Makes progress on a context until HG_Trigger has something to run, for at
 * most `timeout` ms. Blocks. Several threads may call it on one context.
 * HG_TIMEOUT: nothing happened. The failure of a peer is reported by its
 * operations, not by this call. */
HG_PUBLIC hg_return_t HG_Progress(hg_context_t *context, unsigned int timeout);

/* Runs up to max_count queued callbacks and handlers in this thread; blocks as
 * long as they do. If none is queued, waits up to `timeout` ms for one, while
 * another thread makes progress. actual_count_p: set to the number that ran, 0
 * with HG_TIMEOUT: none was queued in time; may be NULL. */
HG_PUBLIC hg_return_t HG_Trigger(hg_context_t *context, unsigned int timeout,
    unsigned int max_count, unsigned int *actual_count_p);

/* For event loops that wait on several things: when HG_Event_ready returns
 * false, wait on the descriptor. Once it is readable call HG_Event_progress,
 * whatever HG_Event_ready would return then, and HG_Event_trigger. */

/* Returns a file descriptor that becomes readable when HG_Event_progress has
 * work to do, or a negative number if the transport has none. The context owns
 * it, for its whole life: don't read or close it. */
HG_PUBLIC int HG_Event_get_wait_fd(const hg_context_t *context);

/* Returns true if there is, or may be, something to do: call HG_Event_progress.
 * Returns false if the caller may wait on the descriptor; no wake-up is lost
 * after that. (NA_Poll_try_wait has the opposite sense.) */
HG_PUBLIC bool HG_Event_ready(hg_context_t *context);

/* Makes progress on a context without waiting. count_p: set to the number of
 * entries that HG_Event_trigger can run now, which may be 0; may be NULL. */
HG_PUBLIC hg_return_t HG_Event_progress(
    hg_context_t *context, unsigned int *count_p);

/* HG_Trigger without waiting. HG_SUCCESS also if nothing was queued. */
HG_PUBLIC hg_return_t HG_Event_trigger(hg_context_t *context,
    unsigned int max_count, unsigned int *actual_count_p);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_H */
