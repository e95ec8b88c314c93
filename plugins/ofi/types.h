/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of the plugin's objects, each of which has a header of its own, and
 * limits. */
#ifndef OFI_TYPES_H
#define OFI_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "na_plugin.h"

#define OFI_CONTEXTS 256U /* numbers of contexts: a byte in a header */
#define OFI_TAG_MAX UINT32_MAX
#define OFI_SEGMENTS 256U /* of a registration */
#define OFI_MESSAGE_DEFAULT 4096U
#define OFI_MESSAGE_MAX (1U << 20)
#define OFI_WHY 128U          /* bytes of the reason for a device */
#define OFI_INJECT_LIMIT 512U /* bytes that are put together on the stack */

struct ofi_choice;
struct ofi_conduct;
struct ofi_endpoint;
struct ofi_fragment;
struct ofi_gate;
struct ofi_header;
struct ofi_job;
struct ofi_message;
struct ofi_name;
struct ofi_op;
struct ofi_peer;
struct ofi_quirk;
struct ofi_rx;
struct ofi_trait;
struct ofi_tx;
struct ofi_upcalls;
struct ofi_work;
struct fid_ep;
struct fid_mr;
struct fi_cq_data_entry;
struct fi_info;
struct fi_mr_attr;

#endif /* OFI_TYPES_H */
