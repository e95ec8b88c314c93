/* SPDX-License-Identifier: BSD-3-Clause */
/* Layout of messages and tags for each transport. */
#include "hg/net.h"

#include "hg/header.h"
#include "na.h"

/* A context numbers at most 2^20 handles in its tags; the other bits of a tag
 * count a handle's uses. */
#define INDEX_BITS_MAX 20U

/* Returns the number of bits of a value. */
static uint32_t
bits_of(uint64_t value)
{
    uint32_t bits = 0;

    while (bits < 64 && value >> bits != 0)
        bits++;
    return bits;
}

void
hg_net_init(struct hg_net *net, struct na_class *na_class)
{
    const na_plugin_opened *opened = &na_class->opened;
    uint64_t max_tag = NA_Msg_get_max_tag(na_class);
    uint32_t tag_bits = bits_of(max_tag);

    /* Uses only tags below a power of two. */
    if (max_tag != (1ULL << tag_bits) - 1)
        tag_bits--;
    net->na_class = na_class;
    net->tag_mask = (1ULL << tag_bits) - 1;
    net->index_bits = tag_bits < INDEX_BITS_MAX ? tag_bits : INDEX_BITS_MAX;
    net->in_size = opened->max_unexpected_size;
    net->out_size = opened->max_expected_size;
    net->in_payload = opened->unexpected_header_size + HG_HEADER_REQUEST_SIZE;
    net->out_payload = opened->expected_header_size + HG_HEADER_RESPONSE_SIZE;
    net->in_most = net->in_size - net->in_payload;
    net->out_most = net->out_size - net->out_payload;
    net->tag_step = 1ULL << net->index_bits;
    net->in_room = net->in_size - opened->unexpected_header_size;
    net->out_room = net->out_size - opened->expected_header_size;
}

void
hg_port_init(struct hg_port *port, const struct hg_net *net,
    struct na_context *na_context)
{
    port->net = *net;
    port->na_context = na_context;
    SLIST_INIT(&port->free_handles);
    SLIST_INIT(&port->spare_handles);
    atomic_init(&port->loaded, 0);
    port->refusals = 0;
    atomic_init(&port->taken, 0);
    atomic_init(&port->posted, 0);
    atomic_init(&port->out_of_receives, false);
    atomic_init(&port->postponed, false);
    port->multi = NULL;
    port->side = NULL;
    port->receiver = NULL;
}
