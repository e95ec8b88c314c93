/* SPDX-License-Identifier: BSD-3-Clause */
/* The network abstraction: addresses, messages and remote memory access over a
 * transport, which a plugin implements. Unless a function says otherwise:
 *
 * - Threads: it may be called from any thread, also while another thread makes
 *   progress on the context, as far as thread_mode allows. It doesn't block.
 * - Ownership: the caller owns an object until it passes it to the function
 *   that pairs with the one that created it (create and destroy, get and free).
 *   Passing NULL there has no effect. Strings, arrays and structs passed in are
 *   only read during the call.
 * - Outputs are set on NA_SUCCESS only. A missing or invalid argument is
 *   NA_INVALID_ARG; functions without a return code return NULL, 0 or false.
 *
 * An operation is a call that takes a callback and an op_id:
 *
 * - NA_SUCCESS: the operation was accepted. Its callback runs exactly once, in
 *   NA_Trigger on the same context, with the outcome in ret: NA_SUCCESS,
 *   NA_CANCELED, or an error (NA_HOSTUNREACH, NA_MSGSIZE, NA_IO_ERROR...).
 * - Any other code: nothing was started and the callback never runs. NA_BUSY:
 *   the op_id is in use; NA_MSGSIZE: larger than the transport allows;
 *   NA_HOSTUNREACH: the peer is known to be unreachable; NA_NOMEM; NA_AGAIN: a
 *   resource of the transport is short (with NA_NO_RETRY only, otherwise NA
 *   queues the operation).
 * - Until the callback runs, buffers, addresses, memory handles and the op_id
 *   must not be changed or freed. They can be reused in the callback.
 * - A NULL callback is allowed. plugin_data is what NA_Msg_buf_alloc returned
 *   with the buffer, NULL for other buffers. Context ids (dest_id...) select a
 *   context of the peer, 0 if it has only one.
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
#ifndef NA_H
#define NA_H

#include "na_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Classes */

/* Gets the version of the NA interface: the NA_VERSION_* macros as they were
 * when the library was built. Each pointer may be NULL. */
NA_PUBLIC void NA_Version_get(
    unsigned int *major, unsigned int *minor, unsigned int *patch);

/* Lists the protocols and the devices they can use.
 * info_string: a protocol ("tcp"), a plugin and a protocol ("ofi+tcp"), or NULL
 *   for all, which loads every plugin found.
 * na_protocol_info_p: set to the list, which the caller frees with
 *   NA_Free_protocol_info.
 * Blocks while plugins load. NA_PROTONOSUPPORT: no plugin offers it; NA_NOMEM.
 */
NA_PUBLIC na_return_t NA_Get_protocol_info(
    const char *info_string, struct na_protocol_info **na_protocol_info_p);

/* Frees a list of NA_Get_protocol_info. */
NA_PUBLIC void NA_Free_protocol_info(struct na_protocol_info *na_protocol_info);

/* Opens a transport with default options.
 * info_string: "[plugin+]protocol[://host part]", such as
 *   "ofi+tcp://eth0:5000". The plugin defines what the host part means.
 * listen: true to receive messages from peers that this process has not
 *   addressed, at the address in the host part.
 * Returns the class, to be closed with NA_Finalize, or NULL after one log line
 * at level error. Blocks while the plugin opens its devices and resolves host
 * names. */
NA_PUBLIC na_class_t *NA_Initialize(const char *info_string, bool listen);

/* NA_Initialize with options, of which it reads the fields of NA 4.0.
 * na_init_info: NULL for the defaults. */
NA_PUBLIC na_class_t *NA_Initialize_opt(const char *info_string, bool listen,
    const struct na_init_info *na_init_info);

/* NA_Initialize_opt that reads the fields of `version`, made by NA_VERSION. A
 * version before 5.0 reads the fields of 4.0, a later version all fields. */
NA_PUBLIC na_class_t *NA_Initialize_opt2(const char *info_string, bool listen,
    unsigned int version, const struct na_init_info *na_init_info);

/* Closes a class. No other call may be using it. NA_BUSY: it has contexts or
 * addresses; it remains open, and the log has their numbers. May block while
 * the transport disconnects. */
NA_PUBLIC na_return_t NA_Finalize(na_class_t *na_class);

/* Removes registered plugins, added search folders (talaria.h) and reports; the
 * next class that is opened searches again. Loaded plugins remain loaded. No
 * class may be open. Deletes no files: na+sm leaves none, and ofi+shm deletes
 * those of killed processes whenever it opens a class. */
NA_PUBLIC void NA_Cleanup(void);

/* Returns whether a class has every feature in flags (NA_OPT_*). */
NA_PUBLIC bool NA_Has_opt_feature(na_class_t *na_class, unsigned long flags);

/* Sets the log level of the process: "none", "error", "warning", "info" or
 * "debug". Other names are ignored. The initial level is that of HG_LOG_LEVEL
 * in the environment. */
NA_PUBLIC void NA_Set_log_level(const char *level);

/* For compatibility: NA has no counters. Logs a line at level info that names
 * HG_Class_get_counters and talaria_class_report. */
NA_PUBLIC void NA_Diag_dump_counters(void);

/* Returns the plugin's name, such as "ofi"; valid until the class is finalized.
 */
NA_PUBLIC const char *NA_Get_class_name(const na_class_t *na_class);

/* Returns the protocol's name, such as "tcp"; valid until the class is
 * finalized. */
NA_PUBLIC const char *NA_Get_class_protocol(const na_class_t *na_class);

/* Returns whether the class was opened with listen. */
NA_PUBLIC bool NA_Is_listening(const na_class_t *na_class);

/* Contexts */

/* Creates the context with id 0. Returns the context, to be destroyed with
 * NA_Context_destroy, or NULL. */
NA_PUBLIC na_context_t *NA_Context_create(na_class_t *na_class);

/* Creates a context that peers select by id: below max_contexts, and not in
 * use. Returns the context, to be destroyed with NA_Context_destroy, or NULL.
 */
NA_PUBLIC na_context_t *NA_Context_create_id(na_class_t *na_class, uint8_t id);

/* Destroys a context. No other thread may be using it. NA_BUSY, without effect:
 * operations are pending (cancel them), or callbacks are queued (trigger them).
 * Pending operations whose op_id was destroyed end with the context, without a
 * callback. */
NA_PUBLIC na_return_t NA_Context_destroy(
    na_class_t *na_class, na_context_t *context);

/* Returns the number of callbacks that NA_Trigger can run now. */
NA_PUBLIC unsigned int NA_Context_get_completion_count(
    const na_context_t *context);

/* Creates the object for one operation at a time, which can be reused. flags:
 * NA_OP_SINGLE, or NA_OP_MULTI for a multi-receive. Returns the op_id, to be
 * destroyed with NA_Op_destroy, or NULL. */
NA_PUBLIC na_op_id_t *NA_Op_create(na_class_t *na_class, unsigned long flags);

/* Destroys an op_id; allowed in its own callback. A pending operation
 * continues: its callback runs if it completes before the context is destroyed,
 * then the op_id is freed. A buffer that NA_Msg_buf_free frees meanwhile is
 * kept until then too. */
NA_PUBLIC void NA_Op_destroy(na_class_t *na_class, na_op_id_t *op_id);

/* Addresses */

/* Makes an address from a string of a peer's NA_Addr_to_string. Does not
 * connect: the first operation to the peer does. The caller frees *addr_p with
 * NA_Addr_free. Blocks only to resolve a host name. NA_INVALID_ARG: malformed
 * address; NA_PROTONOSUPPORT: an address of another transport; NA_NOMEM. */
NA_PUBLIC na_return_t NA_Addr_lookup(
    na_class_t *na_class, const char *name, na_addr_t **addr_p);

/* Drops one reference to an address. NULL is NA_SUCCESS. */
NA_PUBLIC na_return_t NA_Addr_free(na_class_t *na_class, na_addr_t *addr);

/* Disconnects the peer, so that a process restarted at the same address can be
 * reached. The next operation reconnects. The caller still frees the address.
 */
NA_PUBLIC na_return_t NA_Addr_set_remove(na_class_t *na_class, na_addr_t *addr);

/* Gets the address of the class itself. The caller frees it with NA_Addr_free.
 */
NA_PUBLIC na_return_t NA_Addr_self(na_class_t *na_class, na_addr_t **addr_p);

/* Takes another reference to an address. The caller frees it with NA_Addr_free.
 */
NA_PUBLIC na_return_t NA_Addr_dup(
    na_class_t *na_class, na_addr_t *addr, na_addr_t **new_addr_p);

/* Returns whether both addresses are of the same peer. NULL equals no address.
 */
NA_PUBLIC bool NA_Addr_cmp(
    na_class_t *na_class, na_addr_t *addr1, na_addr_t *addr2);

/* Returns whether an address is that of NA_Addr_self, or a duplicate of it. */
NA_PUBLIC bool NA_Addr_is_self(na_class_t *na_class, na_addr_t *addr);

/* Writes an address as a string that peers can look up.
 * buf: *buf_size bytes, or NULL to get the size only.
 * buf_size: set to the bytes needed, terminating zero included, also with
 *   NA_OVERFLOW: the buffer was too small.
 * NA_OPNOTSUPPORTED: the address has no such string, which can be the case for
 * the address of a class that doesn't listen. */
NA_PUBLIC na_return_t NA_Addr_to_string(
    na_class_t *na_class, char *buf, size_t *buf_size, na_addr_t *addr);

/* Returns the bytes that NA_Addr_serialize writes. */
NA_PUBLIC size_t NA_Addr_get_serialize_size(
    na_class_t *na_class, na_addr_t *addr);

/* Serializes an address into buf_size bytes that any peer can read.
 * NA_OVERFLOW: buf_size is too small; NA_OPNOTSUPPORTED as of
 * NA_Addr_to_string. */
NA_PUBLIC na_return_t NA_Addr_serialize(
    na_class_t *na_class, void *buf, size_t buf_size, na_addr_t *addr);

/* Makes an address from buf_size bytes of NA_Addr_serialize. The caller frees
 * *addr_p with NA_Addr_free. flags: 0. NA_PROTOCOL_ERROR: not an address of
 * this transport; NA_NOMEM. */
NA_PUBLIC na_return_t NA_Addr_deserialize(na_class_t *na_class,
    na_addr_t **addr_p, const void *buf, size_t buf_size, uint64_t flags);

/* Messages */

/* Returns the maximum bytes of an unexpected message, header space included. */
NA_PUBLIC size_t NA_Msg_get_max_unexpected_size(const na_class_t *na_class);

/* Returns the maximum bytes of an expected message, header space included. */
NA_PUBLIC size_t NA_Msg_get_max_expected_size(const na_class_t *na_class);

/* Returns the bytes at the start of each unexpected message that the transport
 * uses. The caller's data begins after them, in sends and receives. */
NA_PUBLIC size_t NA_Msg_get_unexpected_header_size(const na_class_t *na_class);

/* Returns the bytes at the start of each expected message that the transport
 * uses. The caller's data begins after them, in sends and receives. */
NA_PUBLIC size_t NA_Msg_get_expected_header_size(const na_class_t *na_class);

/* Returns the maximum tag. */
NA_PUBLIC na_tag_t NA_Msg_get_max_tag(const na_class_t *na_class);

/* Allocates a message buffer that the transport can use without copying.
 * buf_size: bytes.
 * flags: what it is used for, NA_SEND, NA_RECV and NA_MULTI_RECV combined.
 * plugin_data_p: set to a value to pass wherever the buffer is used.
 * Returns the buffer, to be freed with NA_Msg_buf_free, or NULL. May block to
 * register the memory. */
NA_PUBLIC void *NA_Msg_buf_alloc(na_class_t *na_class, size_t buf_size,
    unsigned long flags, void **plugin_data_p);

/* Frees a buffer of NA_Msg_buf_alloc. No operation may be using it. */
NA_PUBLIC void NA_Msg_buf_free(
    na_class_t *na_class, void *buf, void *plugin_data);

/* Writes the transport's header into a buffer of buf_size bytes, before the
 * first unexpected send from it. Later sends keep the header. NA_OVERFLOW:
 * buf_size is too small. */
NA_PUBLIC na_return_t NA_Msg_init_unexpected(
    na_class_t *na_class, void *buf, size_t buf_size);

/* Sends a message for which the target need not have posted a receive. An
 * operation.
 * buf: initialized by NA_Msg_init_unexpected, buf_size bytes including the
 *   header.
 * tag: at most NA_Msg_get_max_tag; the receiver gets it.
 * When the callback runs, the buffer can be reused; the message may not have
 * arrived yet. The order of messages is not defined. */
NA_PUBLIC na_return_t NA_Msg_send_unexpected(na_class_t *na_class,
    na_context_t *context, na_cb_t callback, void *arg, const void *buf,
    size_t buf_size, void *plugin_data, na_addr_t *dest_addr, uint8_t dest_id,
    na_tag_t tag, na_op_id_t *op_id);

/* Receives one unexpected message, from any peer and with any tag. An
 * operation. The callback gets the message in info.recv_unexpected, and owns
 * its source: it keeps it or frees it with NA_Addr_free. NA_MSGSIZE in the
 * callback: the message was longer than buf_size. A message that arrives while
 * no receive is posted waits for the next one. */
NA_PUBLIC na_return_t NA_Msg_recv_unexpected(na_class_t *na_class,
    na_context_t *context, na_cb_t callback, void *arg, void *buf,
    size_t buf_size, void *plugin_data, na_op_id_t *op_id);

/* Receives unexpected messages into one buffer until it is full. An operation,
 * with an op_id of NA_OP_MULTI. The callback runs once for each message
 * (info.multi_recv_unexpected), and owns its source as in
 * NA_Msg_recv_unexpected. The callback with `last` set is the last, and may
 * have no message. An error without `last` lost one message only. Received
 * messages remain in the buffer until it is posted again. NA_OPNOTSUPPORTED:
 * the class lacks NA_OPT_MULTI_RECV. */
NA_PUBLIC na_return_t NA_Msg_multi_recv_unexpected(na_class_t *na_class,
    na_context_t *context, na_cb_t callback, void *arg, void *buf,
    size_t buf_size, void *plugin_data, na_op_id_t *op_id);

/* Does for expected sends what NA_Msg_init_unexpected does for unexpected ones.
 */
NA_PUBLIC na_return_t NA_Msg_init_expected(
    na_class_t *na_class, void *buf, size_t buf_size);

/* Sends a message for which the target has posted a receive; without one it may
 * be dropped. An operation; otherwise like NA_Msg_send_unexpected. */
NA_PUBLIC na_return_t NA_Msg_send_expected(na_class_t *na_class,
    na_context_t *context, na_cb_t callback, void *arg, const void *buf,
    size_t buf_size, void *plugin_data, na_addr_t *dest_addr, uint8_t dest_id,
    na_tag_t tag, na_op_id_t *op_id);

/* Receives the message that source_addr sends with this tag. Must be posted
 * before the source can send it. An operation; the callback gets the length in
 * info.recv_expected. NA_MSGSIZE in the callback: the message was longer than
 * buf_size; NA_HOSTUNREACH: the peer was lost, on transports that detect it. */
NA_PUBLIC na_return_t NA_Msg_recv_expected(na_class_t *na_class,
    na_context_t *context, na_cb_t callback, void *arg, void *buf,
    size_t buf_size, void *plugin_data, na_addr_t *source_addr,
    uint8_t source_id, na_tag_t tag, na_op_id_t *op_id);

/* Memory */

/* Creates a handle of buf_size bytes of memory, without registering it. flags:
 * access by peers, NA_MEM_*. The caller owns the memory, which must outlive the
 * handle, and frees the handle with NA_Mem_handle_free. NA_NOMEM. */
NA_PUBLIC na_return_t NA_Mem_handle_create(na_class_t *na_class, void *buf,
    size_t buf_size, unsigned long flags, na_mem_handle_t **mem_handle_p);

/* Creates one handle of several segments in order, at most
 * NA_Mem_handle_get_max_segments. Otherwise like NA_Mem_handle_create.
 * NA_OPNOTSUPPORTED: the transport supports one segment only. */
NA_PUBLIC na_return_t NA_Mem_handle_create_segments(na_class_t *na_class,
    struct na_segment *segments, size_t segment_count, unsigned long flags,
    na_mem_handle_t **mem_handle_p);

/* Frees a handle, deregistered or of a peer's memory. No operation may be using
 * it. */
NA_PUBLIC void NA_Mem_handle_free(
    na_class_t *na_class, na_mem_handle_t *mem_handle);

/* Returns the maximum number of segments of one handle. */
NA_PUBLIC size_t NA_Mem_handle_get_max_segments(const na_class_t *na_class);

/* Registers the memory of a handle for RMA in all contexts, also later ones.
 * device: number of the device, 0 for NA_MEM_TYPE_HOST. May block to pin pages.
 * NA_OPNOTSUPPORTED: the transport doesn't support this memory type; NA_NOMEM:
 * also when a limit of the system is reached; NA_BUSY: already registered. */
NA_PUBLIC na_return_t NA_Mem_register(na_class_t *na_class,
    na_mem_handle_t *mem_handle, enum na_mem_type mem_type, uint64_t device);

/* Deregisters the memory of a handle. No operation, local or of a peer, may be
 * using it. */
NA_PUBLIC na_return_t NA_Mem_deregister(
    na_class_t *na_class, na_mem_handle_t *mem_handle);

/* Returns the bytes that NA_Mem_handle_serialize writes. */
NA_PUBLIC size_t NA_Mem_handle_get_serialize_size(
    na_class_t *na_class, na_mem_handle_t *mem_handle);

/* Serializes a registered handle into buf_size bytes, for peers to access the
 * memory. NA_OVERFLOW: buf_size is too small. */
NA_PUBLIC na_return_t NA_Mem_handle_serialize(na_class_t *na_class, void *buf,
    size_t buf_size, na_mem_handle_t *mem_handle);

/* Makes a handle of a peer's memory from buf_size bytes of the peer's
 * NA_Mem_handle_serialize. The caller frees it with NA_Mem_handle_free.
 * NA_PROTOCOL_ERROR: malformed; NA_NOMEM. */
NA_PUBLIC na_return_t NA_Mem_handle_deserialize(na_class_t *na_class,
    na_mem_handle_t **mem_handle_p, const void *buf, size_t buf_size);

/* Writes data_size bytes of local memory to a peer's memory. An operation.
 * local_mem_handle: registered. remote_mem_handle: deserialized.
 * local_offset, remote_offset: bytes from the start of each.
 * When the callback runs, the data is visible to the peer before any message
 * that is sent afterwards. NA_INVALID_ARG: a range exceeds its memory;
 * NA_PERMISSION: the flags of a handle don't allow it. */
NA_PUBLIC na_return_t NA_Put(na_class_t *na_class, na_context_t *context,
    na_cb_t callback, void *arg, na_mem_handle_t *local_mem_handle,
    na_offset_t local_offset, na_mem_handle_t *remote_mem_handle,
    na_offset_t remote_offset, size_t data_size, na_addr_t *remote_addr,
    uint8_t remote_id, na_op_id_t *op_id);

/* Reads data_size bytes of a peer's memory into local memory, where they are
 * when the callback runs. Otherwise like NA_Put. */
NA_PUBLIC na_return_t NA_Get(na_class_t *na_class, na_context_t *context,
    na_cb_t callback, void *arg, na_mem_handle_t *local_mem_handle,
    na_offset_t local_offset, na_mem_handle_t *remote_mem_handle,
    na_offset_t remote_offset, size_t data_size, na_addr_t *remote_addr,
    uint8_t remote_id, na_op_id_t *op_id);

/* Progress */

/* Returns a file descriptor that becomes readable when NA_Poll has work to do,
 * or a negative number if the transport has none. The context owns it, for its
 * whole life: don't read or close it. */
NA_PUBLIC int NA_Poll_get_fd(na_class_t *na_class, na_context_t *context);

/* Returns true if the caller may wait on the descriptor; no wake-up is lost
 * after that. Returns false if there is, or may be, something to do: call
 * NA_Poll. */
NA_PUBLIC bool NA_Poll_try_wait(na_class_t *na_class, na_context_t *context);

/* Makes progress on a context without waiting. count_p: set to the number of
 * callbacks that NA_Trigger can run now, which may be 0; may be NULL. The
 * failure of a peer is reported by its operations, not by this call. */
NA_PUBLIC na_return_t NA_Poll(
    na_class_t *na_class, na_context_t *context, unsigned int *count_p);

/* Makes progress on a context until NA_Trigger has something to run, for at
 * most timeout_ms milliseconds. Blocks. NA_TIMEOUT: nothing happened. */
NA_PUBLIC na_return_t NA_Poll_wait(na_class_t *na_class, na_context_t *context,
    unsigned int timeout_ms, unsigned *count_p);

/* NA_Poll_wait without the count. */
NA_PUBLIC na_return_t NA_Progress(
    na_class_t *na_class, na_context_t *context, unsigned int timeout_ms);

/* Runs up to max_count queued callbacks in this thread, without a lock held;
 * blocks as long as they do. actual_count: set to the number that ran, which
 * may be 0; may be NULL. */
NA_PUBLIC na_return_t NA_Trigger(
    na_context_t *context, unsigned int max_count, unsigned int *actual_count);

/* Cancels an operation. Its callback runs with NA_CANCELED, or with the result
 * if it completed first. NA_SUCCESS also if it has completed. */
NA_PUBLIC na_return_t NA_Cancel(
    na_class_t *na_class, na_context_t *context, na_op_id_t *op_id);

/* Returns the name of a code, such as "NA_NOMEM"; a constant, never NULL. */
NA_PUBLIC const char *NA_Error_to_string(na_return_t errnum);

#ifdef __cplusplus
}
#endif

#endif /* NA_H */
