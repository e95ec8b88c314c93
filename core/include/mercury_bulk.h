/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk data: a descriptor names memory of one process. It is sent in the
 * arguments of an RPC (hg_proc_hg_bulk_t), and the receiving process can pull
 * from that memory or push into it. "Origin" is the owner of a remote
 * descriptor, "local" the process that starts the transfer. The rules at the
 * top of mercury.h for threads, ownership and operations apply here too. */
#ifndef MERCURY_BULK_H
#define MERCURY_BULK_H

#include "mercury_types.h"

/* Access that transfers have to the memory of a descriptor. */
#define HG_BULK_READ_ONLY NA_MEM_READ_ONLY
#define HG_BULK_WRITE_ONLY NA_MEM_WRITE_ONLY
#define HG_BULK_READWRITE NA_MEM_READWRITE

/* Flags for serializing a descriptor.
 * HG_BULK_EAGER: includes a copy of the data, if the descriptor is
 *   HG_BULK_READ_ONLY, in host memory, at most 64 KiB, and the class was not
 *   opened with no_bulk_eager; else no effect. A pull then copies the data as
 *   they were when they were serialized: it sees no later change, and works
 *   after the owner has freed the memory. hg_proc_hg_bulk_t sets the flag if
 *   the data fit into the message.
 * HG_BULK_SM: for a peer of the same node that is reached through shared memory
 *   (auto_sm): leaves out what only other peers need; else no effect. */
#define HG_BULK_EAGER 0x10
#define HG_BULK_SM 0x20

#ifdef __cplusplus
extern "C" {
#endif

/* Creates a descriptor of `count` segments of host memory and registers it.
 * buf_ptrs: their addresses. The caller owns the memory, which must outlive the
 *   descriptor. If the array or an entry is NULL, the descriptor allocates that
 *   memory and frees it when it is destroyed.
 * buf_sizes: their sizes in bytes; 0 is allowed.
 * flags: HG_BULK_READ_ONLY, HG_BULK_WRITE_ONLY or HG_BULK_READWRITE.
 * handle: set to the descriptor, with one reference, which HG_Bulk_free drops.
 * May block to register the memory. HG_NOMEM: also when the system's limit of
 * pinned memory is reached. */
HG_PUBLIC hg_return_t HG_Bulk_create(hg_class_t *hg_class, uint32_t count,
    void **buf_ptrs, const hg_size_t *buf_sizes, uint8_t flags,
    hg_bulk_t *handle);

/* HG_Bulk_create for memory of the type and device in attrs; NULL: host memory.
 * HG_OPNOTSUPPORTED, after a log line: the transport has no access to that type
 * of memory, or buf_ptrs asks to allocate it. */
HG_PUBLIC hg_return_t HG_Bulk_create_attr(hg_class_t *hg_class, uint32_t count,
    void **buf_ptrs, const hg_size_t *buf_sizes, uint8_t flags,
    const struct hg_bulk_attr *attrs, hg_bulk_t *handle);

/* Drops one reference. The caller has references, and each running transfer;
 * the last one deregisters the memory. HG_BULK_NULL is HG_SUCCESS. */
HG_PUBLIC hg_return_t HG_Bulk_free(hg_bulk_t handle);

/* Takes another reference, which HG_Bulk_free drops. */
HG_PUBLIC hg_return_t HG_Bulk_ref_incr(hg_bulk_t handle);

/* Includes the owner's address and the context's id in the descriptor when it
 * is serialized, so that a process that received it from a third process can
 * use it (HG_Bulk_bind_transfer). A second call changes the id. No other thread
 * may be using the descriptor. HG_OPNOTSUPPORTED: the class has no address that
 * peers can read; HG_INVALID_ARG: also for a deserialized descriptor, which
 * only its owner can bind. */
HG_PUBLIC hg_return_t HG_Bulk_bind(hg_bulk_t handle, hg_context_t *context);

/* Returns the owner's address of a bound descriptor, or HG_ADDR_NULL. The
 * descriptor owns it. */
HG_PUBLIC hg_addr_t HG_Bulk_get_addr(hg_bulk_t handle);

/* Returns the owner's context id of a bound descriptor, or 0. */
HG_PUBLIC uint8_t HG_Bulk_get_context_id(hg_bulk_t handle);

/* Gets pointers to the memory of a local descriptor, or to the eager data of a
 * deserialized one.
 * offset, size: the range in bytes, over all segments.
 * flags: the access wanted, HG_BULK_*. Ignored for a local descriptor.
 * max_count: entries of buf_ptrs and buf_sizes, each of which may be NULL.
 * actual_count: set to the number of segments in the range, which may exceed
 *   max_count; may be NULL.
 * The pointers are valid as long as the descriptor. HG_INVALID_ARG: the range
 * exceeds the memory; HG_PERMISSION: access that a deserialized descriptor
 * doesn't allow; HG_OPNOTSUPPORTED: the memory is in another process. */
HG_PUBLIC hg_return_t HG_Bulk_access(hg_bulk_t handle, hg_size_t offset,
    hg_size_t size, uint8_t flags, uint32_t max_count, void **buf_ptrs,
    hg_size_t *buf_sizes, uint32_t *actual_count);

/* Returns the total bytes of all segments. */
HG_PUBLIC hg_size_t HG_Bulk_get_size(hg_bulk_t handle);

/* Returns the number of segments. */
HG_PUBLIC uint32_t HG_Bulk_get_segment_count(hg_bulk_t handle);

/* Returns the access flags with which the owner created the descriptor. */
HG_PUBLIC uint8_t HG_Bulk_get_flags(hg_bulk_t handle);

/* Returns the bytes that HG_Bulk_serialize writes with the same flags: 0, or
 * HG_BULK_EAGER and HG_BULK_SM combined. */
HG_PUBLIC hg_size_t HG_Bulk_get_serialize_size(
    hg_bulk_t handle, unsigned long flags);

/* Serializes a descriptor into buf_size bytes. The descriptor must live until
 * the peer has finished its transfers, unless HG_BULK_EAGER included the data.
 * A deserialized descriptor can be serialized again for a third process; the
 * owner's address is included only if it is bound. HG_OVERFLOW: buf_size is too
 * small. */
HG_PUBLIC hg_return_t HG_Bulk_serialize(
    void *buf, hg_size_t buf_size, unsigned long flags, hg_bulk_t handle);

/* Makes a descriptor of a peer's memory from buf_size bytes that start with
 * what HG_Bulk_serialize wrote; bytes after it are ignored. *handle has one
 * reference, which HG_Bulk_free drops. HG_PROTOCOL_ERROR: malformed; HG_NOMEM.
 */
HG_PUBLIC hg_return_t HG_Bulk_deserialize(hg_class_t *hg_class,
    hg_bulk_t *handle, const void *buf, hg_size_t buf_size);

/* Transfers data between the memory of a peer and that of this process. An
 * operation.
 * op: HG_BULK_PULL, from the origin's memory (readable) to local memory
 *   (writable); HG_BULK_PUSH, from local memory (readable) to the origin's
 *   (writable).
 * origin_addr: the owner of origin_handle. If it is this process, the memory is
 *   copied before this returns, and both ranges may overlap.
 * origin_offset, local_offset: bytes, over all segments. The segments of both
 *   descriptors may have different sizes.
 * size: bytes; 0 completes at once.
 * op_id: set to the id for HG_Bulk_cancel, before the operation can complete;
 *   NULL or HG_OP_ID_IGNORE if not wanted.
 * The transfer keeps references to descriptors and address until its callback,
 * which gets info.bulk. The memory of both sides must remain until then.
 * HG_INVALID_ARG: a range exceeds its memory; HG_PERMISSION: the flags of a
 * descriptor don't allow it; HG_NOENTRY: the owner is this process and has
 * freed the descriptor; HG_OPNOTSUPPORTED: a descriptor isn't registered with
 * the transport of the address, or device memory would have to be copied. */
HG_PUBLIC hg_return_t HG_Bulk_transfer(hg_context_t *context, hg_cb_t callback,
    void *arg, hg_bulk_op_t op, hg_addr_t origin_addr, hg_bulk_t origin_handle,
    hg_size_t origin_offset, hg_bulk_t local_handle, hg_size_t local_offset,
    hg_size_t size, hg_op_id_t *op_id);

/* HG_Bulk_transfer with the owner to which origin_handle is bound.
 * HG_INVALID_ARG: also if it isn't bound. */
HG_PUBLIC hg_return_t HG_Bulk_bind_transfer(hg_context_t *context,
    hg_cb_t callback, void *arg, hg_bulk_op_t op, hg_bulk_t origin_handle,
    hg_size_t origin_offset, hg_bulk_t local_handle, hg_size_t local_offset,
    hg_size_t size, hg_op_id_t *op_id);

/* HG_Bulk_transfer with the id of the origin's context, which is 0 there. */
HG_PUBLIC hg_return_t HG_Bulk_transfer_id(hg_context_t *context,
    hg_cb_t callback, void *arg, hg_bulk_op_t op, hg_addr_t origin_addr,
    uint8_t origin_id, hg_bulk_t origin_handle, hg_size_t origin_offset,
    hg_bulk_t local_handle, hg_size_t local_offset, hg_size_t size,
    hg_op_id_t *op_id);

/* Cancels a transfer. Its callback runs with HG_CANCELED, or with the result if
 * it completed first. HG_SUCCESS, without effect, if it has completed. */
HG_PUBLIC hg_return_t HG_Bulk_cancel(hg_op_id_t op_id);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_BULK_H */
