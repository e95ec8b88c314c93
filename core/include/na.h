/* SPDX-License-Identifier: BSD-3-Clause */
/* The network abstraction: addresses, messages and remote memory access over
 * a transport that a plugin offers. Unless a function says otherwise:
 *
 * - It may be called in any thread, also while another progresses the context,
 *   as far as thread_mode allows, and it doesn't block.
 * - Objects are the caller's until given back in the call that pairs with the
 *   one that made them; giving back NULL does nothing. Strings, arrays and
 *   structs passed in are only read during the call.
 * - Outputs are set on NA_SUCCESS only. A missing or senseless argument is
 *   NA_INVALID_ARG (NULL, 0 or false from what returns no code).
 *
 * An operation is a call that takes a callback and an op_id:
 *
 * - NA_SUCCESS: it was accepted, and its callback runs exactly once, in
 *   NA_Trigger on the same context, with how it ended in ret: NA_SUCCESS,
 *   NA_CANCELED, or why it failed (NA_HOSTUNREACH, NA_MSGSIZE, NA_IO_ERROR...).
 * - Any other code: nothing was started and the callback never runs. NA_BUSY:
 *   the op_id is in use; NA_MSGSIZE: larger than the transport allows;
 *   NA_HOSTUNREACH: the peer is known to be gone; NA_NOMEM; NA_AGAIN: short of
 *   something for now (with NA_NO_RETRY only: otherwise NA queues it).
 * - Until the callback runs, buffers, addresses, memory handles and the op_id
 *   must stay as they are; inside it they can be used again.
 * - NULL as callback: nothing is called. plugin_data is what NA_Msg_buf_alloc
 *   gave with the buffer, NULL for a buffer from elsewhere. Context ids
 *   (dest_id...) name a context of the peer, 0 where it has only one.
 *
 * Fork: once a class has been opened, a forked child may only exec or exit.
 * Fork before the first class is opened, or exec. Descriptors are
 * close-on-exec. */
#ifndef NA_H
#define NA_H

#include "na_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Classes */

/* Gives the version of the interface, that of the NA_VERSION_* macros when the
 * library was built. NULL for what isn't wanted. */
NA_PUBLIC void NA_Version_get(
    unsigned int *major, unsigned int *minor, unsigned int *patch);

/* Lists the protocols, and the devices they can use. info_string: a protocol
 * ("tcp"), a plugin and a protocol ("ofi+tcp"), or NULL for all, which loads
 * every plugin found. The list is freed by NA_Free_protocol_info. Blocks while
 * plugins load. NA_PROTONOSUPPORT: nobody offers it; NA_NOMEM. */
NA_PUBLIC na_return_t NA_Get_protocol_info(
    const char *info_string, struct na_protocol_info **na_protocol_info_p);

/* Frees the whole list that starts there. */
NA_PUBLIC void NA_Free_protocol_info(struct na_protocol_info *na_protocol_info);

/* Opens a transport with default options.
 * info_string: "[plugin+]protocol[://host part]", such as
 *   "ofi+tcp://eth0:5000"; what the host part means is the plugin's affair.
 * listen: whether peers may address us first, at what the host part says.
 * Returns the class for NA_Finalize, or NULL; the reason is then one line of
 * the log at level error. Blocks while the plugin and its devices are opened,
 * and on names. */
NA_PUBLIC na_class_t *NA_Initialize(const char *info_string, bool listen);

/* Like NA_Initialize, with the options of na_init_info (NULL: the defaults), of
 * which only the fields of NA 4.0 are read. */
NA_PUBLIC na_class_t *NA_Initialize_opt(const char *info_string, bool listen,
    const struct na_init_info *na_init_info);

/* Like NA_Initialize_opt, reading the fields of `version`, a number of
 * NA_VERSION: before 5.0 those of 4.0, later all that are known here. */
NA_PUBLIC na_class_t *NA_Initialize_opt2(const char *info_string, bool listen,
    unsigned int version, const struct na_init_info *na_init_info);

/* Closes a class. NA_BUSY, with the class left open and the counts in the log:
 * there are contexts or addresses left. No other call may be using it. May
 * block while the transport disconnects. */
NA_PUBLIC na_return_t NA_Finalize(na_class_t *na_class);

/* Forgets registered plugins, added search folders (talaria.h) and reports; the
 * next class that is opened searches again. Loaded plugins stay loaded. Removes
 * nothing on disk: na+sm leaves nothing there, and ofi+shm removes what killed
 * processes left whenever a class is opened. To be called when no class is
 * open. */
NA_PUBLIC void NA_Cleanup(void);

/* Tells whether a class has every feature in flags (NA_OPT_*). */
NA_PUBLIC bool NA_Has_opt_feature(na_class_t *na_class, unsigned long flags);

/* Sets how much is logged, by all classes: "none", "error", "warning", "info"
 * or "debug"; another name changes nothing. Starts as HG_LOG_LEVEL in the
 * environment says. */
NA_PUBLIC void NA_Set_log_level(const char *level);

/* Kept for programs that call it: NA counts nothing itself. Writes a line at
 * level info that names HG_Class_get_counters and talaria_class_report. */
NA_PUBLIC void NA_Diag_dump_counters(void);

/* Returns the plugin's name, such as "ofi"; valid as long as the class. */
NA_PUBLIC const char *NA_Get_class_name(const na_class_t *na_class);

/* Returns the protocol's name, such as "tcp"; valid as long as the class. */
NA_PUBLIC const char *NA_Get_class_protocol(const na_class_t *na_class);

/* Tells whether the class was opened with listen. */
NA_PUBLIC bool NA_Is_listening(const na_class_t *na_class);

/* Contexts */

/* Creates the context with id 0. Returns it for NA_Context_destroy, or NULL. */
NA_PUBLIC na_context_t *NA_Context_create(na_class_t *na_class);

/* Creates the context that peers address by id, below max_contexts and not yet
 * taken. Returns it for NA_Context_destroy, or NULL. */
NA_PUBLIC na_context_t *NA_Context_create_id(na_class_t *na_class, uint8_t id);

/* Destroys a context. NA_BUSY, with nothing changed: operations are pending
 * (cancel them) or their callbacks haven't run (trigger them). Operations that
 * were destroyed while pending end with the context, without a callback. No
 * other thread may be using it. */
NA_PUBLIC na_return_t NA_Context_destroy(
    na_class_t *na_class, na_context_t *context);

/* Returns how many callbacks NA_Trigger could run now. */
NA_PUBLIC unsigned int NA_Context_get_completion_count(
    const na_context_t *context);

/* Creates the state of one operation at a time, to be used again and again.
 * flags: NA_OP_SINGLE, or NA_OP_MULTI for a multi-receive. Returns it for
 * NA_Op_destroy, or NULL. */
NA_PUBLIC na_op_id_t *NA_Op_create(na_class_t *na_class, unsigned long flags);

/* Destroys it; inside its last callback is fine. While the operation is pending
 * it goes on, calls back if it ends before its context is destroyed, and is
 * freed then; so is its buffer, if NA_Msg_buf_free frees that meanwhile. */
NA_PUBLIC void NA_Op_destroy(na_class_t *na_class, na_op_id_t *op_id);

/* Addresses */

/* Makes an address from the string that a peer's NA_Addr_to_string gave. Says
 * nothing about whether the peer is there: its first use does. *addr_p is freed
 * by NA_Addr_free. Blocks only to resolve a host name. NA_INVALID_ARG: not an
 * address; NA_PROTONOSUPPORT: of another transport; NA_NOMEM. */
NA_PUBLIC na_return_t NA_Addr_lookup(
    na_class_t *na_class, const char *name, na_addr_t **addr_p);

/* Gives back one reference to an address. NULL is NA_SUCCESS. */
NA_PUBLIC na_return_t NA_Addr_free(na_class_t *na_class, na_addr_t *addr);

/* Forgets what the transport keeps of a peer, so that one that was restarted at
 * the same address is reached afresh. The address remains to be freed. */
NA_PUBLIC na_return_t NA_Addr_set_remove(na_class_t *na_class, na_addr_t *addr);

/* Gives the class's own address, to be freed by NA_Addr_free. */
NA_PUBLIC na_return_t NA_Addr_self(na_class_t *na_class, na_addr_t **addr_p);

/* Takes another reference to an address, to be freed by NA_Addr_free. */
NA_PUBLIC na_return_t NA_Addr_dup(
    na_class_t *na_class, na_addr_t *addr, na_addr_t **new_addr_p);

/* Tells whether both name the same peer. NULL equals nothing. */
NA_PUBLIC bool NA_Addr_cmp(
    na_class_t *na_class, na_addr_t *addr1, na_addr_t *addr2);

/* Tells whether it is what NA_Addr_self gave, or a copy of that. */
NA_PUBLIC bool NA_Addr_is_self(na_class_t *na_class, na_addr_t *addr);

/* Writes an address as the string that a peer can look up.
 * buf: *buf_size bytes, or NULL to ask for the size only.
 * buf_size: set to the bytes needed, terminating zero included, also when it
 *   was too small (NA_OVERFLOW).
 * NA_OPNOTSUPPORTED: it has no such form, as our own may when we don't listen.
 */
NA_PUBLIC na_return_t NA_Addr_to_string(
    na_class_t *na_class, char *buf, size_t *buf_size, na_addr_t *addr);

/* Returns the bytes that NA_Addr_serialize writes. */
NA_PUBLIC size_t NA_Addr_get_serialize_size(
    na_class_t *na_class, na_addr_t *addr);

/* Writes an address as bytes that any peer can read. NA_OVERFLOW: buf_size
 * bytes are too few; NA_OPNOTSUPPORTED as in NA_Addr_to_string. */
NA_PUBLIC na_return_t NA_Addr_serialize(
    na_class_t *na_class, void *buf, size_t buf_size, na_addr_t *addr);

/* Makes an address from buf_size bytes that NA_Addr_serialize wrote. *addr_p is
 * freed by NA_Addr_free. flags: none are public, 0. NA_PROTOCOL_ERROR: not the
 * bytes of an address of this transport; NA_NOMEM. */
NA_PUBLIC na_return_t NA_Addr_deserialize(na_class_t *na_class,
    na_addr_t **addr_p, const void *buf, size_t buf_size, uint64_t flags);

/* Messages */

/* Returns the most bytes of an unexpected message, header space included. */
NA_PUBLIC size_t NA_Msg_get_max_unexpected_size(const na_class_t *na_class);

/* Returns the most bytes of an expected message, header space included. */
NA_PUBLIC size_t NA_Msg_get_max_expected_size(const na_class_t *na_class);

/* Returns the bytes at the start of each unexpected message that are the
 * transport's: the caller's data begins after them, in sends and receives. */
NA_PUBLIC size_t NA_Msg_get_unexpected_header_size(const na_class_t *na_class);

/* Returns the same for expected messages. */
NA_PUBLIC size_t NA_Msg_get_expected_header_size(const na_class_t *na_class);

/* Returns the highest tag. */
NA_PUBLIC na_tag_t NA_Msg_get_max_tag(const na_class_t *na_class);

/* Allocates memory that the transport sends from and receives into best.
 * buf_size: bytes. flags: what for, of NA_SEND, NA_RECV, NA_MULTI_RECV.
 * plugin_data_p: set to what goes with the buffer wherever it is used.
 * Returns the buffer for NA_Msg_buf_free, or NULL. May block to register it. */
NA_PUBLIC void *NA_Msg_buf_alloc(na_class_t *na_class, size_t buf_size,
    unsigned long flags, void **plugin_data_p);

/* Frees such a buffer, when no operation uses it. */
NA_PUBLIC void NA_Msg_buf_free(
    na_class_t *na_class, void *buf, void *plugin_data);

/* Writes the transport's header into a buffer of buf_size bytes, once before
 * its first unexpected send; it lasts for the sends after. NA_OVERFLOW: the
 * header doesn't fit. */
NA_PUBLIC na_return_t NA_Msg_init_unexpected(
    na_class_t *na_class, void *buf, size_t buf_size);

/* Sends a message that the target needn't wait for. An operation.
 * buf: initialized, buf_size bytes including the header.
 * tag: at most NA_Msg_get_max_tag, given to the receiver.
 * When the callback runs the buffer is free; the message may still be on its
 * way. No order is promised between messages. */
NA_PUBLIC na_return_t NA_Msg_send_unexpected(na_class_t *na_class,
    na_context_t *context, na_cb_t callback, void *arg, const void *buf,
    size_t buf_size, void *plugin_data, na_addr_t *dest_addr, uint8_t dest_id,
    na_tag_t tag, na_op_id_t *op_id);

/* Receives one unexpected message, from anybody, with any tag. An operation;
 * what came is in info.recv_unexpected, whose source the callback keeps or frees
 * by NA_Addr_free. A message longer than buf_size ends it with NA_MSGSIZE. A
 * message that finds no receive waits for the next one. */
NA_PUBLIC na_return_t NA_Msg_recv_unexpected(na_class_t *na_class,
    na_context_t *context, na_cb_t callback, void *arg, void *buf,
    size_t buf_size, void *plugin_data, na_op_id_t *op_id);

/* Receives unexpected messages into one buffer until it is used up. An
 * operation, made with NA_OP_MULTI, whose callback runs once for each message
 * (info.multi_recv_unexpected, its source as in NA_Msg_recv_unexpected); the
 * one with `last` set is the last, and may come without a message. An error
 * without `last` lost one message only. What was received stays untouched until
 * the buffer is posted again.
 * NA_OPNOTSUPPORTED: the class lacks NA_OPT_MULTI_RECV. */
NA_PUBLIC na_return_t NA_Msg_multi_recv_unexpected(na_class_t *na_class,
    na_context_t *context, na_cb_t callback, void *arg, void *buf,
    size_t buf_size, void *plugin_data, na_op_id_t *op_id);

/* NA_Msg_init_unexpected for expected sends. */
NA_PUBLIC na_return_t NA_Msg_init_expected(
    na_class_t *na_class, void *buf, size_t buf_size);

/* Sends a message that the target has posted a receive for; without one it may
 * be dropped. An operation; otherwise as NA_Msg_send_unexpected. */
NA_PUBLIC na_return_t NA_Msg_send_expected(na_class_t *na_class,
    na_context_t *context, na_cb_t callback, void *arg, const void *buf,
    size_t buf_size, void *plugin_data, na_addr_t *dest_addr, uint8_t dest_id,
    na_tag_t tag, na_op_id_t *op_id);

/* Receives the message that source_addr sends with this tag; to be posted
 * before the source can send it. An operation; the length is in
 * info.recv_expected. A message longer than buf_size ends it with NA_MSGSIZE,
 * the loss of the peer with NA_HOSTUNREACH where the transport notices. */
NA_PUBLIC na_return_t NA_Msg_recv_expected(na_class_t *na_class,
    na_context_t *context, na_cb_t callback, void *arg, void *buf,
    size_t buf_size, void *plugin_data, na_addr_t *source_addr,
    uint8_t source_id, na_tag_t tag, na_op_id_t *op_id);

/* Memory */

/* Describes buf_size bytes of memory, without registering it. flags: what peers
 * may do, NA_MEM_*. The memory stays the caller's and must outlive the handle,
 * which NA_Mem_handle_free frees. NA_NOMEM. */
NA_PUBLIC na_return_t NA_Mem_handle_create(na_class_t *na_class, void *buf,
    size_t buf_size, unsigned long flags, na_mem_handle_t **mem_handle_p);

/* Describes several pieces of memory as one, in order, of at most
 * NA_Mem_handle_get_max_segments. Otherwise as NA_Mem_handle_create.
 * NA_OPNOTSUPPORTED: the transport takes one piece only. */
NA_PUBLIC na_return_t NA_Mem_handle_create_segments(na_class_t *na_class,
    struct na_segment *segments, size_t segment_count, unsigned long flags,
    na_mem_handle_t **mem_handle_p);

/* Frees a handle, deregistered or of a peer, that no operation uses. */
NA_PUBLIC void NA_Mem_handle_free(
    na_class_t *na_class, na_mem_handle_t *mem_handle);

/* Returns the most pieces that one handle can have. */
NA_PUBLIC size_t NA_Mem_handle_get_max_segments(const na_class_t *na_class);

/* Opens the memory of a handle to RMA, in every context, later ones included.
 * device: number of the device, 0 for NA_MEM_TYPE_HOST. May block to pin pages.
 * NA_OPNOTSUPPORTED: not this type of memory; NA_NOMEM: beyond a limit of the
 * system; NA_BUSY: registered already. */
NA_PUBLIC na_return_t NA_Mem_register(na_class_t *na_class,
    na_mem_handle_t *mem_handle, enum na_mem_type mem_type, uint64_t device);

/* Closes it again. No operation, here or of a peer, may be using it. */
NA_PUBLIC na_return_t NA_Mem_deregister(
    na_class_t *na_class, na_mem_handle_t *mem_handle);

/* Returns the bytes that NA_Mem_handle_serialize writes. */
NA_PUBLIC size_t NA_Mem_handle_get_serialize_size(
    na_class_t *na_class, na_mem_handle_t *mem_handle);

/* Writes a registered handle as bytes for the peers that will use the memory.
 * NA_OVERFLOW: buf_size bytes are too few. */
NA_PUBLIC na_return_t NA_Mem_handle_serialize(na_class_t *na_class, void *buf,
    size_t buf_size, na_mem_handle_t *mem_handle);

/* Makes the handle of a peer's memory from buf_size bytes that the peer's
 * NA_Mem_handle_serialize wrote, to be freed by NA_Mem_handle_free.
 * NA_PROTOCOL_ERROR: not such bytes; NA_NOMEM. */
NA_PUBLIC na_return_t NA_Mem_handle_deserialize(na_class_t *na_class,
    na_mem_handle_t **mem_handle_p, const void *buf, size_t buf_size);

/* Writes data_size bytes of local memory to a peer's. An operation.
 * local_mem_handle, remote_mem_handle: registered here, and deserialized.
 * local_offset, remote_offset: bytes from their starts.
 * When the callback runs, the data is there before any message that is sent
 * afterwards. NA_INVALID_ARG: beyond the end of either memory; NA_PERMISSION:
 * its flags forbid it. */
NA_PUBLIC na_return_t NA_Put(na_class_t *na_class, na_context_t *context,
    na_cb_t callback, void *arg, na_mem_handle_t *local_mem_handle,
    na_offset_t local_offset, na_mem_handle_t *remote_mem_handle,
    na_offset_t remote_offset, size_t data_size, na_addr_t *remote_addr,
    uint8_t remote_id, na_op_id_t *op_id);

/* Reads data_size bytes of a peer's memory into local memory; the data is here
 * when the callback runs. Otherwise as NA_Put. */
NA_PUBLIC na_return_t NA_Get(na_class_t *na_class, na_context_t *context,
    na_cb_t callback, void *arg, na_mem_handle_t *local_mem_handle,
    na_offset_t local_offset, na_mem_handle_t *remote_mem_handle,
    na_offset_t remote_offset, size_t data_size, na_addr_t *remote_addr,
    uint8_t remote_id, na_op_id_t *op_id);

/* Progress */

/* Returns a descriptor that becomes readable when NA_Poll would find work, the
 * same for the life of the context, or a negative number when the transport has
 * none. It stays the context's: wait on it, don't read or close it. */
NA_PUBLIC int NA_Poll_get_fd(na_class_t *na_class, na_context_t *context);

/* Tells whether to sleep on the descriptor: false means that there is, or may
 * be, something to do, so NA_Poll first. No wake-up is lost after true. */
NA_PUBLIC bool NA_Poll_try_wait(na_class_t *na_class, na_context_t *context);

/* Progresses a context without waiting. *count_p, NULL if not wanted: callbacks
 * that NA_Trigger could run now. NA_SUCCESS also when that is 0; a peer's
 * failure is its operation's, not this call's. */
NA_PUBLIC na_return_t NA_Poll(
    na_class_t *na_class, na_context_t *context, unsigned int *count_p);

/* Progresses a context until NA_Trigger could run something, at most for
 * timeout_ms. Blocks. NA_TIMEOUT: nothing came. */
NA_PUBLIC na_return_t NA_Poll_wait(na_class_t *na_class, na_context_t *context,
    unsigned int timeout_ms, unsigned *count_p);

/* NA_Poll_wait without the count. */
NA_PUBLIC na_return_t NA_Progress(
    na_class_t *na_class, na_context_t *context, unsigned int timeout_ms);

/* Runs at most max_count callbacks that are due, in this thread, without a lock
 * held. *actual_count, NULL if not wanted: how many; NA_SUCCESS also when
 * none. Blocks as long as they do. */
NA_PUBLIC na_return_t NA_Trigger(
    na_context_t *context, unsigned int max_count, unsigned int *actual_count);

/* Asks for an operation to end early: its callback runs, with NA_CANCELED or
 * with what came first. NA_SUCCESS also when it has ended. */
NA_PUBLIC na_return_t NA_Cancel(
    na_class_t *na_class, na_context_t *context, na_op_id_t *op_id);

/* Returns the name of a code, such as "NA_NOMEM"; a constant, never NULL. */
NA_PUBLIC const char *NA_Error_to_string(na_return_t errnum);

#ifdef __cplusplus
}
#endif

#endif /* NA_H */
