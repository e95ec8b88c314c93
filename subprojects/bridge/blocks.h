/* SPDX-License-Identifier: BSD-3-Clause */
/* The service: blocks of bytes under a name, written and read as a whole. */
#ifndef BLOCKS_H
#define BLOCKS_H

#include <mercury.h>
#include <mercury_bulk.h>
#include <mercury_macros.h>
#include <mercury_proc_bulk.h>
#include <mercury_proc_string.h>

#define BLOCK_SIZE_MAX (64ULL << 20) /* bytes; more is refused */

/* data: the origin's memory, to be pulled (write) or pushed into (read); its
 * size is the size of the transfer. Null for no bytes at all. */
MERCURY_GEN_PROC(block_in_t, ((hg_const_string_t) (name))((hg_bulk_t) (data)))

/* ret: an hg_return_t, how it went where the blocks are. size: bytes that the
 * block has; a read moves as many of them as there is room for. */
MERCURY_GEN_PROC(block_out_t, ((int32_t) (ret))((uint64_t) (size)))

struct block_ids {
    hg_id_t write;
    hg_id_t read;
};

/* Registers both RPCs. Origins give no handlers. */
struct block_ids blocks_register(
    hg_class_t *hg_class, hg_rpc_cb_t on_write, hg_rpc_cb_t on_read);

/* Answers with a code and a size, and gives back the handler's reference. */
void blocks_answer(hg_handle_t handle, hg_return_t ret, uint64_t size);

/* Prints a label and the own address of a class, one line. 0: done. */
int blocks_print_address(hg_class_t *hg_class, const char *label);

#endif /* BLOCKS_H */
