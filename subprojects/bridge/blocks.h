/* SPDX-License-Identifier: BSD-3-Clause */
/* The service: named blocks of bytes, written and read as a whole. */
#ifndef BLOCKS_H
#define BLOCKS_H

#include <mercury.h>
#include <mercury_bulk.h>
#include <mercury_macros.h>
#include <mercury_proc_bulk.h>
#include <mercury_proc_string.h>

#define BLOCK_SIZE_MAX (64ULL << 20) /* bytes; larger requests are refused */

/* data: the origin's memory, to pull from (write) or push to (read); its size
 * is the size of the transfer. Null: no bytes. */
MERCURY_GEN_PROC(block_in_t, ((hg_const_string_t) (name))((hg_bulk_t) (data)))

/* ret: the hg_return_t of the store. size: bytes of the block; a read transfers
 * as many of them as fit. */
MERCURY_GEN_PROC(block_out_t, ((int32_t) (ret))((uint64_t) (size)))

struct block_ids {
    hg_id_t write;
    hg_id_t read;
};

/* Registers both RPCs. Origins pass no handlers. */
struct block_ids blocks_register(
    hg_class_t *hg_class, hg_rpc_cb_t on_write, hg_rpc_cb_t on_read);

/* Responds with a code and a size, and releases the handler's reference. */
void blocks_answer(hg_handle_t handle, hg_return_t ret, uint64_t size);

/* Prints a label and the address of a class as a line. Returns 0 on success. */
int blocks_print_address(hg_class_t *hg_class, const char *label);

#endif /* BLOCKS_H */
