/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk data: a descriptor names memory of one process, travels inside the
 * arguments of an RPC (hg_proc_hg_bulk_t), and lets the process that gets it
 * pull from that memory or push into it. "Origin" is the owner of a remote
 * descriptor, "local" is who transfers. What the head of mercury.h says of
 * threads, arguments and operations holds here too. */
#ifndef MERCURY_BULK_H
#define MERCURY_BULK_H

#include "mercury_types.h"

/* What a transfer may do with the memory of a descriptor. */
#define HG_BULK_READ_ONLY NA_MEM_READ_ONLY
#define HG_BULK_WRITE_ONLY NA_MEM_WRITE_ONLY
#define HG_BULK_READWRITE NA_MEM_READWRITE

/* How a descriptor is serialized, added up.
 * HG_BULK_EAGER: with a copy of its data, if it is HG_BULK_READ_ONLY, of host
 *   memory and at most 64 KiB, and the class was not opened with no_bulk_eager;
 *   else no effect. A pull from what a peer makes of that copies the data, as
 *   they were when it was serialized: what the owner writes afterwards is not
 *   seen, and neither is the owner's end. hg_proc_hg_bulk_t asks for it by
 *   itself where the data fit into the message.
 * HG_BULK_SM: for a peer of the same node, reached through shared memory
 *   (auto_sm): without what only others need; else no effect. */
#define HG_BULK_EAGER 0x10
#define HG_BULK_SM 0x20

#ifdef __cplusplus
extern "C" {
#endif

/* Creates the descriptor of `count` pieces of host memory, in order, for RMA.
 * buf_ptrs: where they start; the memory stays the caller's and must outlive
 *   the descriptor. NULL, the array or an entry: the descriptor allocates that
 *   memory and frees it in the end.
 * buf_sizes: their bytes; 0 is allowed.
 * flags: HG_BULK_READ_ONLY, HG_BULK_WRITE_ONLY or HG_BULK_READWRITE.
 * *handle is given back by HG_Bulk_free. May block to register the memory.
 * HG_NOMEM: also when beyond the system's limit of pinned memory. */
HG_PUBLIC hg_return_t HG_Bulk_create(hg_class_t *hg_class, uint32_t count,
    void **buf_ptrs, const hg_size_t *buf_sizes, uint8_t flags,
    hg_bulk_t *handle);

/* HG_Bulk_create for the memory that attrs names; NULL: host memory.
 * HG_OPNOTSUPPORTED: the transport can't reach that type of memory, or it
 * should be allocated here; either is logged. */
HG_PUBLIC hg_return_t HG_Bulk_create_attr(hg_class_t *hg_class, uint32_t count,
    void **buf_ptrs, const hg_size_t *buf_sizes, uint8_t flags,
    const struct hg_bulk_attr *attrs, hg_bulk_t *handle);

/* Gives back one reference. The last one, of the caller or of a transfer that
 * still runs, ends the registration. HG_BULK_NULL is HG_SUCCESS. */
HG_PUBLIC hg_return_t HG_Bulk_free(hg_bulk_t handle);

/* Takes another reference, to be given back by HG_Bulk_free. */
HG_PUBLIC hg_return_t HG_Bulk_ref_incr(hg_bulk_t handle);

/* Makes a local descriptor carry its owner's address and the id of one of its
 * contexts from now on when it is serialized, so that a process which got it
 * from somebody else can use it (HG_Bulk_bind_transfer). Again, with another
 * context: changes the id. Not while other threads use the descriptor.
 * HG_OPNOTSUPPORTED: our address has no form that others can read.
 * HG_INVALID_ARG: also for a deserialized one, which its owner alone binds. */
HG_PUBLIC hg_return_t HG_Bulk_bind(hg_bulk_t handle, hg_context_t *context);

/* Returns the owner's address of a bound descriptor, borrowed from it, or
 * HG_ADDR_NULL. */
HG_PUBLIC hg_addr_t HG_Bulk_get_addr(hg_bulk_t handle);

/* Returns the owner's context id of a bound descriptor, or 0. */
HG_PUBLIC uint8_t HG_Bulk_get_context_id(hg_bulk_t handle);

/* Gives pointers to the memory of a local descriptor, or to the data that came
 * with a deserialized one.
 * offset, size: the bytes wanted, counted over all pieces.
 * flags: what they are wanted for, HG_BULK_*. Not looked at for a local one,
 *   whose memory is the caller's own.
 * max_count: room in buf_ptrs and buf_sizes, each of which may be NULL.
 * actual_count: set to the pieces given, NULL if not wanted; there may be more
 *   of them than max_count had room for.
 * The memory stays as valid as the descriptor. HG_INVALID_ARG: beyond the end;
 * HG_PERMISSION: flags that a deserialized one lacks; HG_OPNOTSUPPORTED: the memory
 * is elsewhere. */
HG_PUBLIC hg_return_t HG_Bulk_access(hg_bulk_t handle, hg_size_t offset,
    hg_size_t size, uint8_t flags, uint32_t max_count, void **buf_ptrs,
    hg_size_t *buf_sizes, uint32_t *actual_count);

/* Returns the bytes of all pieces together. */
HG_PUBLIC hg_size_t HG_Bulk_get_size(hg_bulk_t handle);

/* Returns the number of pieces. */
HG_PUBLIC uint32_t HG_Bulk_get_segment_count(hg_bulk_t handle);

/* Returns the flags given at creation, here or at the owner. */
HG_PUBLIC uint8_t HG_Bulk_get_flags(hg_bulk_t handle);

/* Returns the bytes that HG_Bulk_serialize writes with these flags (0,
 * HG_BULK_EAGER, HG_BULK_SM). */
HG_PUBLIC hg_size_t HG_Bulk_get_serialize_size(
    hg_bulk_t handle, unsigned long flags);

/* Writes a descriptor as bytes that a peer can read; it must live until the
 * peer is done, unless its data are inside. A deserialized one is written as it
 * came, for a third process, with its owner's address only if it is bound.
 * flags: as asked for the size. HG_OVERFLOW: buf_size bytes are too few. */
HG_PUBLIC hg_return_t HG_Bulk_serialize(
    void *buf, hg_size_t buf_size, unsigned long flags, hg_bulk_t handle);

/* Makes the descriptor of a peer's memory from buf_size bytes that the peer's
 * HG_Bulk_serialize wrote, to be given back by HG_Bulk_free.
 * Bytes behind it are ignored. HG_PROTOCOL_ERROR: not such bytes; HG_NOMEM. */
HG_PUBLIC hg_return_t HG_Bulk_deserialize(hg_class_t *hg_class,
    hg_bulk_t *handle, const void *buf, hg_size_t buf_size);

/* Transfers data between a peer's memory and our own. An operation.
 * op: HG_BULK_PULL, the origin's memory (readable) to ours (writable), or
 *   HG_BULK_PUSH, ours (readable) to the origin's (writable).
 * origin_addr: the owner of origin_handle; with our own, memory is copied
 *   before this returns, and the two sides may overlap.
 * origin_offset, local_offset: bytes, counted over all pieces, which needn't be
 *   cut alike on the two sides.
 * size: bytes; 0 completes at once.
 * op_id: set, before the operation can end, to what HG_Bulk_cancel takes;
 *   NULL or HG_OP_ID_IGNORE if not wanted.
 * Descriptors and address are held until the callback, which gets info.bulk and
 * runs in HG_Trigger(context). Both sides' memory must stay until then.
 * HG_INVALID_ARG: beyond the end of either; HG_PERMISSION: flags of either
 * forbid it; HG_NOENTRY: with ourselves, and the origin's descriptor has been
 * freed; HG_OPNOTSUPPORTED: the address is of a transport that one of the two
 * isn't registered with, or device memory would have to be copied. */
HG_PUBLIC hg_return_t HG_Bulk_transfer(hg_context_t *context, hg_cb_t callback,
    void *arg, hg_bulk_op_t op, hg_addr_t origin_addr, hg_bulk_t origin_handle,
    hg_size_t origin_offset, hg_bulk_t local_handle, hg_size_t local_offset,
    hg_size_t size, hg_op_id_t *op_id);

/* HG_Bulk_transfer with the owner that origin_handle is bound to.
 * HG_INVALID_ARG: also when it isn't bound. */
HG_PUBLIC hg_return_t HG_Bulk_bind_transfer(hg_context_t *context,
    hg_cb_t callback, void *arg, hg_bulk_op_t op, hg_bulk_t origin_handle,
    hg_size_t origin_offset, hg_bulk_t local_handle, hg_size_t local_offset,
    hg_size_t size, hg_op_id_t *op_id);

/* HG_Bulk_transfer with a context of the origin other than 0. */
HG_PUBLIC hg_return_t HG_Bulk_transfer_id(hg_context_t *context,
    hg_cb_t callback, void *arg, hg_bulk_op_t op, hg_addr_t origin_addr,
    uint8_t origin_id, hg_bulk_t origin_handle, hg_size_t origin_offset,
    hg_bulk_t local_handle, hg_size_t local_offset, hg_size_t size,
    hg_op_id_t *op_id);

/* Asks for a transfer to end early: its callback runs, with HG_CANCELED or with
 * what came first. HG_SUCCESS, and nothing is touched, when it has ended. */
HG_PUBLIC hg_return_t HG_Bulk_cancel(hg_op_id_t op_id);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_BULK_H */
