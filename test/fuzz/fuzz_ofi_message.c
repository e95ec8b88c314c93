/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages as libfabric brings them to the ofi plugin: the header, the names in
 * it, its sender and its kind.
 *
 *   messages: u8 how (ONE_OF_OURS: the plugin's header is made of the next bytes,
 *   else it is in them), its bytes, patches */
#include "fuzz.h"

#include "dispatch.h"
#include "header.h"
#include "ofi.h"
#include "receive.h"
#include "work.h"

#include <stdlib.h>

#define MESSAGES 12U
#define MESSAGE_MAX 300U
#define ONE_OF_OURS 0x1U /* the header is made, and right */
#define FOR_US 0x2U      /* it has the number of this class */
#define WITH_END 0x4U    /* it names an endpoint of a context */
#define FROM_US 0x8U     /* its sender has this class's name */
#define EXPECT 0x10U     /* receives are posted before it */
#define POLL 0x20U       /* the class is polled after it */

extern const na_plugin NA_PLUGIN_SYMBOL(ofi);

static struct fuzz_class cls;

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_class_open(&cls, &NA_PLUGIN_SYMBOL(ofi), "tcp", "127.0.0.1", true);
    return 0;
}

/* Names are of this host only, where no process listens. */
static void
keep_local(uint8_t *bytes, size_t size)
{
    static const uint8_t local[6] = {127, 0, 0, 1, 0, 1};
    size_t at = OFI_HEADER_NAME - 1;

    for (unsigned i = 0; i < 2 && at < size; i++) {
        uint8_t length = bytes[at++];

        if (length == sizeof local && at + length <= size) {
            memcpy(bytes + at, local, 4);
            /* Below 256: no port that a program is given. */
            bytes[at + 4] = 0;
        }
        at += length;
    }
}

/* A header with names, as a peer writes it; its length. */
static size_t
make_header(struct fuzz_input *input, unsigned how, uint8_t *bytes)
{
    uint8_t name[6] = {127, 0, 0, 1, 0, fuzz_u8(input)};
    size_t at = OFI_HEADER_NAME;

    memset(bytes, 0, MESSAGE_MAX);
    bytes[0] = OFI_HEADER_VERSION;
    bytes[1] = fuzz_u8(input);
    bytes[2] = fuzz_u8(input);
    bytes[3] = fuzz_u8(input);
    bytes[4] = fuzz_u8(input); /* tag */
    bytes[8] = fuzz_u8(input); /* number of its class */
    if (how & FROM_US)
        memcpy(name, cls.cls->first->own_name.bytes, sizeof name);
    bytes[at - 1] = sizeof name;
    memcpy(bytes + at, name, sizeof name);
    at += sizeof name;
    if (how & WITH_END) {
        bytes[at++] = sizeof name;
        name[5] = fuzz_u8(input);
        memcpy(bytes + at, name, sizeof name);
        return ofi_header_length(sizeof name, sizeof name);
    }
    return ofi_header_length(sizeof name, 0);
}

static uint8_t *
make_message(struct fuzz_input *input, unsigned how, size_t *size_p)
{
    static uint8_t bytes[MESSAGE_MAX];
    struct fuzz_input made = {bytes, 0};
    size_t size;
    uint8_t *rest;

    if (how & ONE_OF_OURS)
        made.left = make_header(input, how, bytes);
    rest = fuzz_bytes(input, fuzz_u8(input) % 200, &size);
    memcpy(bytes + made.left, rest, size);
    free(rest);
    made.left += size;
    fuzz_patch(input, bytes, made.left);
    if ((how & FOR_US) && made.left >= OFI_HEADER_NAME)
        memcpy(bytes + 16, &(uint64_t){htole64(cls.cls->number)}, 8);
    keep_local(bytes, made.left);
    return fuzz_bytes(&made, SIZE_MAX, size_p);
}

/* A receive for any source, and one for the peer with port 7. */
struct receives {
    void *ops[2];
    uint8_t buffers[2][128];
    na_plugin_addr *peer;
    bool posted;
};

static void
post(struct receives *receives)
{
    if (receives->posted)
        return;
    receives->posted = true;
    for (unsigned i = 0; i < 2; i++) {
        receives->ops[i] =
            aligned_alloc(64, (cls.opened.op_size + 63) / 64 * 64);
        fuzz_require(receives->ops[i] != NULL);
        memset(receives->ops[i], 0, cls.opened.op_size);
    }
    fuzz_require(cls.ops->addr_lookup(cls.cls, "tcp://127.0.0.1:7",
                     &receives->peer) == NA_PLUGIN_OK);
    fuzz_require(cls.ops->recv_unexpected(cls.ctx, receives->ops[0],
                     receives->buffers[0], 128, NULL, 0) == NA_PLUGIN_PENDING);
    fuzz_require(
        cls.ops->recv_expected(cls.ctx, receives->ops[1], receives->buffers[1],
            128, NULL, receives->peer, 0, 5, 0) == NA_PLUGIN_PENDING);
}

static void
take_in(struct fuzz_input *input, struct ofi_rx *rx, struct receives *receives,
    uint8_t **bytes_p)
{
    unsigned how = fuzz_u8(input);
    size_t size;

    if (how & EXPECT)
        post(receives);
    *bytes_p = make_message(input, how, &size);
    tp_mutex_take(&cls.cls->first->lock);
    fuzz_require(ofi_rx_prepare(cls.cls->first, 1));
    ofi_dispatch(cls.cls->first, rx, *bytes_p, size);
    tp_mutex_drop(&cls.cls->first->lock);
    if (how & POLL)
        fuzz_class_poll(&cls);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct ofi_rx rx = {.multi = true};
    struct receives receives = {.posted = false};
    uint8_t *messages[MESSAGES];
    unsigned count = 0;

    while (count < MESSAGES && input.left > 0)
        take_in(&input, &rx, &receives, &messages[count++]);
    fuzz_class_poll(&cls);
    /* What was kept is dropped with the context. */
    cls.ops->ctx_destroy(cls.ctx);
    fuzz_require(rx.left == 0);
    fuzz_require(
        cls.ops->ctx_create(cls.cls, 0, &cls, &cls.ctx) == NA_PLUGIN_OK);
    while (count > 0)
        free(messages[--count]);
    if (receives.posted) {
        cls.ops->addr_free(cls.cls, receives.peer);
        free(receives.ops[0]);
        free(receives.ops[1]);
    }
    return 0;
}
