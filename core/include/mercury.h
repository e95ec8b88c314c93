/* SPDX-License-Identifier: BSD-3-Clause */
/* Remote procedure calls: the origin forwards a handle, the target's registered
 * function runs with it and responds. Unless a function says otherwise:
 *
 * - It may be called in any thread, also while another progresses the context,
 *   as far as thread_mode allows, and it doesn't block.
 * - Objects are the caller's until given back in the call that pairs with the
 *   one that made them; giving back a null one is HG_SUCCESS. Strings and
 *   structs passed in are only read during the call.
 * - Outputs are set on HG_SUCCESS only. A missing or senseless argument is
 *   HG_INVALID_ARG (NULL or 0 from what returns no code).
 *
 * An operation is a call that takes a callback, NULL if none is wanted:
 *
 * - HG_SUCCESS: it was accepted, and its callback runs exactly once, in
 *   HG_Trigger on the same context (or, of HG_Respond alone, HG_Context_destroy),
 *   with how it ended in ret.
 * - Any other code: nothing was started and the callback never runs. Besides
 *   what is said at the call: HG_HOSTUNREACH, the peer is known to be gone;
 *   HG_NOMEM; HG_AGAIN, short of something for now: of the transport's room with
 *   NA_NO_RETRY, of TALARIA_HG_OVERFLOW_TOTAL in HG_Respond always.
 *
 * Callbacks and handlers run without a lock held: they may block, start other
 * operations, and give back anything but their own context and class.
 *
 * Fork: once a class has been opened, a forked child may only exec or exit.
 * Fork before the first class is opened, or exec. Descriptors are
 * close-on-exec. */
#ifndef MERCURY_H
#define MERCURY_H

#include <stdio.h>

#include "mercury_types.h"
#include "na.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The library */

/* Gives the version of the interface, that of the HG_VERSION_* macros when the
 * library was built. NULL for what isn't wanted. */
HG_PUBLIC hg_return_t HG_Version_get(
    unsigned int *major_p, unsigned int *minor_p, unsigned int *patch_p);

/* Returns the name of a code, such as "HG_NOMEM"; a constant, never NULL. */
HG_PUBLIC const char *HG_Error_to_string(hg_return_t errnum);

/* NA_Get_protocol_info: the protocols, and the devices they can use. */
HG_PUBLIC hg_return_t HG_Get_na_protocol_info(
    const char *info_string, struct na_protocol_info **na_protocol_info_p);

/* Frees the whole list that starts there. */
HG_PUBLIC void HG_Free_na_protocol_info(
    struct na_protocol_info *na_protocol_info);

/* NA_Cleanup. */
HG_PUBLIC void HG_Cleanup(void);

/* Sets how much is logged, by all classes: "none", "error", "warning", "info"
 * or "debug" ("fatal" and "err" mean error, "warn" warning, "min_debug" info);
 * another name changes nothing. Starts as HG_LOG_LEVEL in the
 * environment says. */
HG_PUBLIC void HG_Set_log_level(const char *level);

/* Sets which parts log: names separated by commas, "~name" turns one off.
 * Starts as HG_LOG_SUBSYS in the environment says. */
HG_PUBLIC void HG_Set_log_subsys(const char *subsys);

/* Sets who writes the log, called as fprintf is, in any thread; NULL: fprintf.
 * It must not call into this library. */
HG_PUBLIC void HG_Set_log_func(
    int (*log_func)(FILE *stream, const char *format, ...));

/* Sets where lines of a level (other than "none") go. The stream stays the
 * caller's and must stay open; NULL: the default. */
HG_PUBLIC void HG_Set_log_stream(const char *level, FILE *stream);

/* Writes the counters of all classes that were opened with stats to the log,
 * whatever its level. */
HG_PUBLIC void HG_Diag_dump_counters(void);

/* Classes */

/* Opens a transport for RPCs with default options.
 * na_info_string: "[plugin+]protocol[://host part]", such as
 *   "ofi+tcp://eth0:5000"; what the host part means is the plugin's affair.
 * na_listen: whether peers may send us requests, at what the host part says.
 * Returns the class for HG_Finalize, or NULL; the reason is then one line of
 * the log at level error. Blocks while the plugin and its devices are opened,
 * and on names. */
HG_PUBLIC hg_class_t *HG_Init(const char *na_info_string, uint8_t na_listen);

/* Like HG_Init, with the options of hg_init_info (NULL: the defaults), of which
 * only the fields of version 2.2 are read. */
HG_PUBLIC hg_class_t *HG_Init_opt(const char *na_info_string, uint8_t na_listen,
    const struct hg_init_info *hg_init_info);

/* Like HG_Init_opt, reading the fields of `version`, a number of HG_VERSION:
 * before 2.3 those of 2.2, later than 2.4 those of 2.4. */
HG_PUBLIC hg_class_t *HG_Init_opt2(const char *na_info_string,
    uint8_t na_listen, unsigned int version,
    const struct hg_init_info *hg_init_info);

/* Closes a class and frees what was registered with it. HG_BUSY, with the class
 * left open and the counts in the log: there are contexts or addresses left. No
 * other call may be using it. May block while the transport disconnects. */
HG_PUBLIC hg_return_t HG_Finalize(hg_class_t *hg_class);

/* Returns the plugin's name, such as "ofi"; valid as long as the class. */
HG_PUBLIC const char *HG_Class_get_name(const hg_class_t *hg_class);

/* Returns the protocol's name, such as "tcp"; valid as long as the class. */
HG_PUBLIC const char *HG_Class_get_protocol(const hg_class_t *hg_class);

/* Tells whether the class was opened with na_listen. */
HG_PUBLIC bool HG_Class_is_listening(const hg_class_t *hg_class);

/* Returns the most bytes of encoded input that travel in the request itself;
 * larger ones are moved by RMA. With auto_sm: whichever way it takes. */
HG_PUBLIC hg_size_t HG_Class_get_input_eager_size(const hg_class_t *hg_class);

/* Returns the most bytes of encoded output that travel in the answer itself. */
HG_PUBLIC hg_size_t HG_Class_get_output_eager_size(const hg_class_t *hg_class);

/* Keeps `offset` bytes free before the encoded input of each request, for the
 * caller's own header (HG_Get_input_buf). Origin and target must agree; to be
 * set before contexts are created. HG_INVALID_ARG: beyond the eager size. */
HG_PUBLIC hg_return_t HG_Class_set_input_offset(
    hg_class_t *hg_class, hg_size_t offset);

/* The same before the encoded output of each answer (HG_Get_output_buf). */
HG_PUBLIC hg_return_t HG_Class_set_output_offset(
    hg_class_t *hg_class, hg_size_t offset);

/* Attaches data, in place of earlier data, which isn't freed. free_callback,
 * NULL if none, gets it in HG_Finalize. */
HG_PUBLIC hg_return_t HG_Class_set_data(
    hg_class_t *hg_class, void *data, void (*free_callback)(void *));

/* Returns the data attached, or NULL. */
HG_PUBLIC void *HG_Class_get_data(const hg_class_t *hg_class);

/* Copies the counters of a class. */
HG_PUBLIC hg_return_t HG_Class_get_counters(
    const hg_class_t *hg_class, struct hg_diag_counters *diag_counters);

/* Sets what is called with each handle that is made, at origin and target, so
 * that data can be attached to it (HG_Set_data); handles that are used again
 * don't count. An error that it returns fails the making. It runs in the thread
 * that makes the handle; to be set before contexts are created. */
HG_PUBLIC hg_return_t HG_Class_set_handle_create_callback(hg_class_t *hg_class,
    hg_return_t (*callback)(hg_handle_t, void *), void *arg);

/* Contexts */

/* Creates the context with id 0; of a listening class, it receives requests
 * from now on. Returns it for HG_Context_destroy, or NULL. */
HG_PUBLIC hg_context_t *HG_Context_create(hg_class_t *hg_class);

/* Creates the context that peers choose by id (HG_Set_target_id), below
 * max_contexts and not yet taken. Otherwise as HG_Context_create. */
HG_PUBLIC hg_context_t *HG_Context_create_id(hg_class_t *hg_class, uint8_t id);

/* Destroys a context. Blocks up to 5 s for handles that are still in use, then
 * HG_BUSY, with their number in the log and the context still there. What peers
 * cause keeps no context: requests that no handler has got are answered with
 * HG_NODEV; answers that the transport has not sent, or that their origins have
 * not acknowledged, are cancelled after half of the time; arguments that are
 * being fetched need not be. The callbacks of answers that end meanwhile run
 * inside this call. No other thread may be using the context. */
HG_PUBLIC hg_return_t HG_Context_destroy(hg_context_t *context);

/* Stops receiving requests, for good; those received are still handled. May
 * block until the transport has given its buffers back. */
HG_PUBLIC hg_return_t HG_Context_unpost(hg_context_t *context);

/* Returns the class of a context. */
HG_PUBLIC hg_class_t *HG_Context_get_class(const hg_context_t *context);

/* Returns the id of a context. */
HG_PUBLIC uint8_t HG_Context_get_id(const hg_context_t *context);

/* Attaches data, in place of earlier data, which isn't freed. free_callback,
 * NULL if none, gets it in HG_Context_destroy. */
HG_PUBLIC hg_return_t HG_Context_set_data(
    hg_context_t *context, void *data, void (*free_callback)(void *));

/* Returns the data attached, or NULL. */
HG_PUBLIC void *HG_Context_get_data(const hg_context_t *context);

/* Registered RPCs */

/* Registers an RPC under the id that its name hashes to, the same everywhere.
 * in_proc_cb, out_proc_cb: encode and decode arguments; NULL: it has none.
 * rpc_cb: handles requests; NULL where it is only called, never served.
 * Registering again replaces all three. Returns the id, or 0.
 *
 * rpc_cb gets a handle with one reference, to be given back by HG_Destroy in the
 * handler or any time later. If it returns an error without having answered
 * (HG_Respond), that code is the answer, unless the request was dropped
 * (talaria_handle_drop) or is never answered, and the handle is given up: the
 * reference is taken back, if the handler has not destroyed the handle itself.
 * Another thread that uses the handle after that needs a reference of its own
 * (HG_Ref_incr). A handler that has called HG_Destroy at all has given back its
 * own reference: those that it took besides are not touched. */
HG_PUBLIC hg_id_t HG_Register_name(hg_class_t *hg_class, const char *func_name,
    hg_proc_cb_t in_proc_cb, hg_proc_cb_t out_proc_cb, hg_rpc_cb_t rpc_cb);

/* Tells whether a name is registered: *flag_p 1 or 0. *id_p, NULL if not
 * wanted: its id, or 0. */
HG_PUBLIC hg_return_t HG_Registered_name(hg_class_t *hg_class,
    const char *func_name, hg_id_t *id_p, uint8_t *flag_p);

/* HG_Register_name with an id of the caller's choice, not 0. HG_NOMEM. */
HG_PUBLIC hg_return_t HG_Register(hg_class_t *hg_class, hg_id_t id,
    hg_proc_cb_t in_proc_cb, hg_proc_cb_t out_proc_cb, hg_rpc_cb_t rpc_cb);

/* Forgets an RPC and frees its data. Handles of it must be gone; requests that
 * come later are answered HG_NOENTRY. HG_NOENTRY: it isn't registered. */
HG_PUBLIC hg_return_t HG_Deregister(hg_class_t *hg_class, hg_id_t id);

/* Tells whether an id is registered: *flag_p 1 or 0. */
HG_PUBLIC hg_return_t HG_Registered(
    hg_class_t *hg_class, hg_id_t id, uint8_t *flag_p);

/* HG_Registered that also gives the procs, NULL where not wanted; they are set
 * only when the id is registered. */
HG_PUBLIC hg_return_t HG_Registered_proc_cb(hg_class_t *hg_class, hg_id_t id,
    uint8_t *flag_p, hg_proc_cb_t *in_proc_cb_p, hg_proc_cb_t *out_proc_cb_p);

/* Attaches data to an RPC, in place of earlier data, which isn't freed.
 * free_callback, NULL if none, gets it in HG_Deregister or HG_Finalize.
 * HG_NOENTRY: it isn't registered. */
HG_PUBLIC hg_return_t HG_Register_data(hg_class_t *hg_class, hg_id_t id,
    void *data, void (*free_callback)(void *));

/* Returns the data attached to an RPC, or NULL. */
HG_PUBLIC void *HG_Registered_data(hg_class_t *hg_class, hg_id_t id);

/* Makes an RPC one that isn't answered (disable 1) or is (0): its forwards
 * complete when the request has left, and HG_Respond is HG_OPNOTSUPPORTED.
 * Origin and target must agree. HG_NOENTRY: it isn't registered. */
HG_PUBLIC hg_return_t HG_Registered_disable_response(
    hg_class_t *hg_class, hg_id_t id, uint8_t disable);

/* Tells whether answers are disabled: *disabled_p 1 or 0. HG_NOENTRY. */
HG_PUBLIC hg_return_t HG_Registered_disabled_response(
    hg_class_t *hg_class, hg_id_t id, uint8_t *disabled_p);

/* Addresses */

/* HG_Addr_lookup2 as an operation: the callback gets info.lookup.addr, the
 * caller's to free. *op_id_p, which may be NULL or behind HG_OP_ID_IGNORE, is
 * set to HG_OP_ID_NULL: there is nothing to cancel. Blocks as HG_Addr_lookup2.
 */
HG_PUBLIC hg_return_t HG_Addr_lookup1(hg_context_t *context, hg_cb_t callback,
    void *arg, const char *name, hg_op_id_t *op_id_p);

/* Makes an address from the string that a peer's HG_Addr_to_string gave. Says
 * nothing about whether the peer is there: its first use does. A string with two
 * ways (auto_sm) is taken by each class: which way is decided here, once. *addr_p
 * is freed
 * by HG_Addr_free. Blocks only to resolve a host name. HG_INVALID_ARG: not an
 * address; HG_PROTONOSUPPORT: of another transport; HG_NOMEM. */
HG_PUBLIC hg_return_t HG_Addr_lookup2(
    hg_class_t *hg_class, const char *name, hg_addr_t *addr_p);

/* With five arguments HG_Addr_lookup1, with three HG_Addr_lookup2: the sixth of
 * arguments and names together is the function. */
#define HG_Addr_lookup(...)                                                    \
    HG_ADDR_LOOKUP_SIXTH(__VA_ARGS__, HG_Addr_lookup1,                         \
        HG_Addr_lookup_takes_3_or_5_arguments, HG_Addr_lookup2,                \
        HG_Addr_lookup_takes_3_or_5_arguments,                                 \
        HG_Addr_lookup_takes_3_or_5_arguments, 0)                              \
    (__VA_ARGS__)
#define HG_ADDR_LOOKUP_SIXTH(a, b, c, d, e, name, ...) name

/* Gives back one reference to an address. */
HG_PUBLIC hg_return_t HG_Addr_free(hg_class_t *hg_class, hg_addr_t addr);

/* Forgets what the transport keeps of a peer, so that one that was restarted at
 * the same address is reached afresh. The address remains to be freed. */
HG_PUBLIC hg_return_t HG_Addr_set_remove(hg_class_t *hg_class, hg_addr_t addr);

/* Gives the class's own address, to be freed by HG_Addr_free. */
HG_PUBLIC hg_return_t HG_Addr_self(hg_class_t *hg_class, hg_addr_t *addr_p);

/* Takes another reference to an address, to be freed by HG_Addr_free. */
HG_PUBLIC hg_return_t HG_Addr_dup(
    hg_class_t *hg_class, hg_addr_t addr, hg_addr_t *new_addr_p);

/* Tells, by 1 or 0, whether both name the same peer. Null equals nothing; and
 * with auto_sm an address of one way none of the other, but one's own. */
HG_PUBLIC uint8_t HG_Addr_cmp(
    hg_class_t *hg_class, hg_addr_t addr1, hg_addr_t addr2);

/* Writes an address as the string that a peer can look up.
 * buf: *buf_size_p bytes, or NULL to ask for the size only.
 * buf_size_p: set to the bytes needed, terminating zero included, also when it
 *   was too small (HG_OVERFLOW).
 * HG_OPNOTSUPPORTED: it has no such form, as our own may when we don't listen.
 */
HG_PUBLIC hg_return_t HG_Addr_to_string(
    hg_class_t *hg_class, char *buf, hg_size_t *buf_size_p, hg_addr_t addr);

/* Handles */

/* Creates a handle to forward, again and again, on this context.
 * addr: the target, held by the handle; id: the RPC. Either may be null, to be
 *   set by HG_Reset before the first HG_Forward.
 * *handle_p has one reference, given back by HG_Destroy. HG_NOENTRY: the RPC
 * isn't registered; HG_NOMEM. */
HG_PUBLIC hg_return_t HG_Create(
    hg_context_t *context, hg_addr_t addr, hg_id_t id, hg_handle_t *handle_p);

/* Gives back one reference. A running operation and each HG_Get_input or
 * HG_Get_output hold others: the handle goes with the last. A handler that
 * won't answer may destroy its handle again at once, which does nothing. One
 * that returns an error instead of answering need not (HG_Register_name). */
HG_PUBLIC hg_return_t HG_Destroy(hg_handle_t handle);

/* Makes a handle of HG_Create ready for another target or RPC; a null addr or
 * id keeps the old one. Data attached stays. HG_BUSY: a forward isn't over;
 * HG_NOENTRY: the RPC isn't registered. */
HG_PUBLIC hg_return_t HG_Reset(hg_handle_t handle, hg_addr_t addr, hg_id_t id);

/* Takes another reference, to be given back by HG_Destroy. */
HG_PUBLIC hg_return_t HG_Ref_incr(hg_handle_t hg_handle);

/* Returns the number of references, or -1 for no handle. Beside those of the
 * caller and of HG_Get_*: 1 for a forward until its callback has returned; at
 * the target 1 while the handler runs, and 1 until the answer has left or its
 * callback has returned. To oneself a target's handle counts its origin's 2
 * instead of the answer's. */
HG_PUBLIC int32_t HG_Ref_get(hg_handle_t handle);

/* Returns what the handle is for, borrowed from it; HG_Addr_dup keeps the
 * address longer. */
HG_PUBLIC const struct hg_info *HG_Get_info(hg_handle_t handle);

/* Attaches data, in place of earlier data, which isn't freed. It survives
 * HG_Reset, and at the target the reuse of the handle for other requests.
 * free_callback, NULL if none, gets it when the handle's memory goes. */
HG_PUBLIC hg_return_t HG_Set_data(
    hg_handle_t handle, void *data, void (*free_callback)(void *));

/* Returns the data attached, or NULL. */
HG_PUBLIC void *HG_Get_data(hg_handle_t handle);

/* Chooses the target's context for the next forwards; 0 at first. A call to
 * oneself runs on the caller's context in any case, unless it goes through the
 * transport (no_loopback). */
HG_PUBLIC hg_return_t HG_Set_target_id(hg_handle_t handle, uint8_t id);

/* Arguments, decoded */

/* Returns the bytes of encoded input. */
HG_PUBLIC hg_size_t HG_Get_input_payload_size(hg_handle_t handle);

/* Decodes the input of a request into in_struct, at the target. What it
 * allocates, and one reference, are given back by HG_Free_input. May be called
 * again, unless release_input_early. HG_INVALID_ARG: in_struct is NULL;
 * HG_FAULT: no proc is registered;
 * HG_OVERFLOW or HG_PROTOCOL_ERROR: the bytes aren't such a struct;
 * HG_CHECKSUM_ERROR: they were altered, or decoded only in part under
 * HG_CHECKSUM_RPC_PAYLOAD (then what the decoded part allocated is freed
 * again); HG_NOMEM. */
HG_PUBLIC hg_return_t HG_Get_input(hg_handle_t handle, void *in_struct);

/* Frees what HG_Get_input put into in_struct. At the origin it runs the proc of
 * the input with HG_FREE, for a struct of the caller's own. */
HG_PUBLIC hg_return_t HG_Free_input(hg_handle_t handle, void *in_struct);

/* Returns the bytes of encoded output. */
HG_PUBLIC hg_size_t HG_Get_output_payload_size(hg_handle_t handle);

/* Decodes the output of an answer into out_struct, at the origin, once the
 * forward's callback has run with HG_SUCCESS. To be given back by
 * HG_Free_output. Errors as HG_Get_input. */
HG_PUBLIC hg_return_t HG_Get_output(hg_handle_t handle, void *out_struct);

/* Frees what HG_Get_output put into out_struct. At the target as HG_Free_input at
 * the origin, with the proc of the output. */
HG_PUBLIC hg_return_t HG_Free_output(hg_handle_t handle, void *out_struct);

/* Arguments, as bytes. Pointers are the handle's, valid until it is forwarded
 * again, reset or destroyed; sizes in bytes, NULL if not wanted. */

/* Gives the payload of the request in its message, beginning with the space of
 * HG_Class_set_input_offset: at the origin to fill that before HG_Forward, at
 * the target to read. */
HG_PUBLIC hg_return_t HG_Get_input_buf(
    hg_handle_t handle, void **in_buf_p, hg_size_t *in_buf_size_p);

/* Gives the buffer of a request back early, at the target; HG_Get_input and
 * HG_Get_input_buf no longer work. HG_BUSY: decoded input isn't freed yet. */
HG_PUBLIC hg_return_t HG_Release_input_buf(hg_handle_t handle);

/* Gives the payload of the answer in its message, beginning with the space of
 * HG_Class_set_output_offset: at the target to fill that before HG_Respond, at
 * the origin to read. */
HG_PUBLIC hg_return_t HG_Get_output_buf(
    hg_handle_t handle, void **out_buf_p, hg_size_t *out_buf_size_p);

/* Gives the encoded input that was too large for the message; NULL and 0 when
 * it wasn't. */
HG_PUBLIC hg_return_t HG_Get_input_extra_buf(
    hg_handle_t handle, void **in_buf_p, hg_size_t *in_buf_size_p);

/* Gives the encoded output that was too large for the message; NULL and 0 when
 * it wasn't. */
HG_PUBLIC hg_return_t HG_Get_output_extra_buf(
    hg_handle_t handle, void **out_buf_p, hg_size_t *out_buf_size_p);

/* Calls */

/* Sends a request to the handle's target. An operation.
 * in_struct: encoded before the call returns; NULL sends no payload, nor does a
 * struct when no proc is registered.
 * The callback gets info.forward.handle when the answer is here, with ret
 * HG_SUCCESS, or when there will be none: HG_NOENTRY, the target doesn't know
 * the RPC; what its handler returned instead of responding; HG_MSGSIZE or
 * HG_AGAIN, arguments or results beyond the limits of either side
 * (TALARIA_HG_OVERFLOW_MAX, _TOTAL); HG_CANCELED;
 * HG_HOSTUNREACH or alike, the target is gone; HG_CHECKSUM_ERROR. There is no
 * time limit of its own: cancel, or talaria_handle_set_deadline (HG_TIMEOUT).
 * HG_BUSY: the last forward isn't over; HG_OVERFLOW: too large, and no_overflow; or what the proc returned. */
HG_PUBLIC hg_return_t HG_Forward(
    hg_handle_t handle, hg_cb_t callback, void *arg, void *in_struct);

/* Answers a request, once, inside its handler or any time later. An operation.
 * out_struct: as in_struct of HG_Forward.
 * The callback gets info.respond.handle when the answer has left, and when it
 * was too large for a message, when the origin has fetched it.
 * A large answer is held until then: HG_TIMEOUT in the callback, the origin has
 * not acknowledged it in time (TALARIA_HG_ACK_TIMEOUT_MS, 5 minutes).
 * HG_OPNOTSUPPORTED: answers are disabled; HG_BUSY: it was answered already;
 * HG_AGAIN: with it the context, or this origin, would hold more than its limit
 * of large payloads (TALARIA_HG_OVERFLOW_TOTAL), HG_MSGSIZE: it alone is more;
 * HG_OVERFLOW and procs as HG_Forward. After an error it can be called
 * again, or the handler returns the code. */
HG_PUBLIC hg_return_t HG_Respond(
    hg_handle_t handle, hg_cb_t callback, void *arg, void *out_struct);

/* Asks for the handle's operation to end early: its callback runs, with
 * HG_CANCELED or with what came first, soon also if the transport can't end it:
 * HG_Forward and HG_Reset of the handle are then HG_BUSY until it has. HG_SUCCESS
 * also when it has ended, or was cancelled before. */
HG_PUBLIC hg_return_t HG_Cancel(hg_handle_t handle);

/* Progress */

/* Progresses a context until HG_Trigger could run something, at most for
 * `timeout` ms. Blocks. Several threads may be in it at once. HG_TIMEOUT:
 * nothing came. A peer's failure is its operations', not this call's. */
HG_PUBLIC hg_return_t HG_Progress(hg_context_t *context, unsigned int timeout);

/* Runs at most max_count callbacks and handlers that are due, in this thread,
 * and blocks as long as they do. Waits up to `timeout` ms for the first one,
 * while another thread progresses. *actual_count_p, NULL if not wanted: how
 * many, set to 0 with HG_TIMEOUT: none came. */
HG_PUBLIC hg_return_t HG_Trigger(hg_context_t *context, unsigned int timeout,
    unsigned int max_count, unsigned int *actual_count_p);

/* For a loop that waits on other things too: wait on the descriptor, when
 * HG_Event_ready says so, then HG_Event_progress and HG_Event_trigger. */

/* Returns a descriptor that becomes readable when HG_Event_progress would find
 * work, the same for the life of the context, or a negative number when the
 * transport has none. It stays the context's: don't read or close it. */
HG_PUBLIC int HG_Event_get_wait_fd(const hg_context_t *context);

/* Tells whether there is, or may be, something to do: true means to call
 * HG_Event_progress now, false to sleep on the descriptor. (The opposite sense
 * of NA_Poll_try_wait.) No wake-up is lost after false. */
HG_PUBLIC bool HG_Event_ready(hg_context_t *context);

/* Progresses a context without waiting. *count_p, NULL if not wanted: what
 * HG_Event_trigger could run now. HG_SUCCESS also when that is 0. */
HG_PUBLIC hg_return_t HG_Event_progress(
    hg_context_t *context, unsigned int *count_p);

/* HG_Trigger that doesn't wait, and is HG_SUCCESS also when nothing ran. */
HG_PUBLIC hg_return_t HG_Event_trigger(hg_context_t *context,
    unsigned int max_count, unsigned int *actual_count_p);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_H */
