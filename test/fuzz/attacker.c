/* SPDX-License-Identifier: BSD-3-Clause */
/* Forges messages. */
#include "attacker.h"

#include "hg/header.h"
#include "na.h"
#include "proc/proc.h"
#include "talaria.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY_MAX 20000U
#define VALIDITY 0x1122334455667788U

/* In each as many messages are taken as receives are posted. */
#define IDLE_ROUNDS 10U

static hg_class_t *attacker;
static hg_context_t *attacker_context; /* of one input: it keeps messages */
static char attacker_address[64];
static na_class_t *na_class;
static uint8_t memory[MEMORY_MAX + sizeof(uint64_t)];

/* What can be referred to: memory of these sizes, the validity cookie included. */
static const size_t sizes[] = {9, 24, 5000, MEMORY_MAX + 8, 8};
#define SIZES (sizeof sizes / sizeof sizes[0])
static hg_bulk_t bulks[SIZES];

hg_return_t
hg_proc_blob_t(hg_proc_t proc, void *data)
{
    blob_t *blob = data;
    hg_return_t ret;

    if (hg_proc_get_op(proc) == HG_FREE) {
        free(blob->data);
        blob->data = NULL;
        return HG_SUCCESS;
    }
    ret = hg_proc_uint32_t(proc, &blob->size);
    if (ret != HG_SUCCESS)
        return ret;
    if (hg_proc_get_op(proc) == HG_DECODE) {
        if (blob->size > hg_proc_get_size_left(proc))
            return HG_OVERFLOW;
        blob->data = malloc(blob->size);
        if (!blob->data)
            return HG_NOMEM;
    }
    return hg_proc_bytes(proc, blob->data, blob->size);
}

static void
learn_address(hg_class_t *hg_class, char address[64])
{
    hg_size_t size = 64;
    hg_addr_t self;

    fuzz_require(HG_Addr_self(hg_class, &self) == HG_SUCCESS);
    fuzz_require(
        HG_Addr_to_string(hg_class, address, &size, self) == HG_SUCCESS);
    fuzz_require(HG_Addr_free(hg_class, self) == HG_SUCCESS);
}

static hg_class_t *
open_class(struct hg_init_info *info, const char *info_string)
{
    hg_class_t *hg_class;

    info->request_post_init = 4;
    info->request_post_incr = 2;
    info->no_multi_recv = 1;
    hg_class = HG_Init_opt2(info_string, HG_TRUE,
        HG_VERSION(HG_VERSION_MAJOR, HG_VERSION_MINOR), info);
    fuzz_require(hg_class != NULL);
    return hg_class;
}

void
attacker_open(void)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;

    fuzz_log_drop();
    fuzz_require(talaria_plugin_register(&loop_plugin) == NA_SUCCESS);
    attacker = open_class(&info, "loop+mem");
    learn_address(attacker, attacker_address);
    for (size_t i = 0; i < SIZES; i++) {
        hg_size_t size = sizes[i];
        void *base = memory;

        fuzz_require(HG_Bulk_create(attacker, 1, &base, &size,
                         HG_BULK_READ_ONLY, &bulks[i]) == HG_SUCCESS);
    }
    na_class = NA_Initialize("loop+mem", true);
    fuzz_require(na_class != NULL);
}

void
attacker_peer_open(struct attacker_peer *peer, uint8_t checksum_level)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;

    info.na_class = na_class;
    info.checksum_level = (hg_checksum_level_t) (checksum_level % 3);
    peer->hg_class = open_class(&info, NULL);
    attacker_context = HG_Context_create(attacker);
    fuzz_require(attacker_context != NULL);
    peer->context = HG_Context_create(peer->hg_class);
    fuzz_require(peer->context != NULL);
    learn_address(peer->hg_class, peer->address);
}

void
attacker_peer_close(struct attacker_peer *peer)
{
    fuzz_require(HG_Context_destroy(attacker_context) == HG_SUCCESS);
    fuzz_require(HG_Context_destroy(peer->context) == HG_SUCCESS);
    fuzz_require(HG_Finalize(peer->hg_class) == HG_SUCCESS);
    fuzz_require(loop_pending() == 0);
}

/* Progress that only drops invalid input reports that nothing arrived. */
void
attacker_peer_step(const struct attacker_peer *peer)
{
    unsigned count, idle = 0;

    while (idle < IDLE_ROUNDS) {
        HG_Progress(peer->context, 0);
        count = 0;
        HG_Trigger(peer->context, 0, 16, &count);
        idle = count > 0 ? 0 : idle + 1;
    }
}

hg_addr_t
attacker_addr(const struct attacker_peer *peer)
{
    hg_addr_t addr;

    fuzz_require(
        HG_Addr_lookup2(peer->hg_class, attacker_address, &addr) == HG_SUCCESS);
    return addr;
}

static void
put_sum(struct attacker_message *message, size_t at, uint32_t sum)
{
    sum = htole32(sum);
    memcpy(message->bytes + at, &sum, sizeof sum);
}

/* The input's bytes as what follows the header; the sum of them. */
static uint32_t
put_payload(struct fuzz_input *input, struct attacker_message *message)
{
    size_t size;
    uint8_t *bytes = fuzz_bytes(input, fuzz_u8(input), &size);

    memcpy(message->bytes + message->header, bytes, size);
    message->size = message->header + size;
    free(bytes);
    return (uint32_t) proc_hash(message->bytes + message->header, size, 0);
}

/* The same elsewhere: the memory has the input's bytes, again and again. */
static uint32_t
put_reference(struct fuzz_input *input, struct attacker_message *message)
{
    unsigned choice = fuzz_u8(input);
    size_t which = choice % SIZES, size, length;
    uint8_t *bytes = fuzz_bytes(input, fuzz_u8(input), &length);
    struct hg_header_more more = {
        .validity = VALIDITY, .tag = fuzz_u8(input), .cookie = fuzz_u8(input)};
    uint64_t validity = htole64(choice & 0x80 ? 0 : VALIDITY);
    uint8_t *at = message->bytes + message->header;

    for (size_t i = 0; i < sizes[which]; i++)
        memory[i] = length > 0 ? bytes[i % length] : 0;
    free(bytes);
    /* Arguments as they are encoded, as many as there are. */
    size = sizes[which] - sizeof validity;
    if (size >= 4 && !(choice & 0x40))
        memcpy(memory, &(uint32_t){htole32((uint32_t) size - 4)}, 4);
    memcpy(memory + size, &validity, sizeof validity);
    hg_header_more_encode(at, &more);
    length = HG_Bulk_get_serialize_size(bulks[which], 0);
    fuzz_require(HG_Bulk_serialize(at + HG_HEADER_MORE_SIZE, length, 0,
                     bulks[which]) == HG_SUCCESS);
    message->size = message->header + HG_HEADER_MORE_SIZE + length;
    return (uint32_t) proc_hash(memory, size, proc_hash(at, 0, 0));
}

static void
put_sums(struct attacker_message *message, uint8_t flags, uint32_t sum)
{
    if (flags & HG_HEADER_PAYLOAD_SUM)
        put_sum(message, message->header - 4, sum);
    if (flags & HG_HEADER_SUMS)
        hg_header_sum_put(
            message->bytes, message->header, HG_HEADER_SUM_AT(message->header));
}

void
attacker_request(struct fuzz_input *input, struct attacker_message *message,
    uint8_t flags, hg_id_t id, uint32_t cookie)
{
    struct hg_header_request header = {
        .flags = flags, .cookie = cookie, .id = id};
    uint32_t sum;

    message->header = HG_HEADER_REQUEST_SIZE;
    sum = flags & HG_HEADER_MORE ? put_reference(input, message)
                                 : put_payload(input, message);
    header.payload_size = (uint32_t) (message->size - message->header);
    hg_header_request_encode(message->bytes, &header);
    put_sums(message, flags, sum);
}

void
attacker_response(struct fuzz_input *input, struct attacker_message *message,
    uint8_t flags, uint32_t cookie)
{
    struct hg_header_response header = {.flags = flags, .cookie = cookie};
    uint32_t sum;

    header.ret = (hg_return_t) (fuzz_u8(input) % HG_RETURN_MAX);
    message->header = HG_HEADER_RESPONSE_SIZE;
    sum = flags & HG_HEADER_MORE ? put_reference(input, message)
                                 : put_payload(input, message);
    header.payload_size = (uint32_t) (message->size - message->header);
    hg_header_response_encode(message->bytes, &header);
    put_sums(message, flags, sum);
}

void
attacker_raw(
    struct fuzz_input *input, struct attacker_message *message, size_t header)
{
    size_t size;
    uint8_t *bytes = fuzz_bytes(input, fuzz_u8(input), &size);

    memcpy(message->bytes, bytes, size);
    message->size = size;
    message->header = header;
    free(bytes);
}

void
attacker_corrupt(struct fuzz_input *input, struct attacker_message *message)
{
    fuzz_patch(input, message->bytes, message->size);
    if ((fuzz_u8(input) & 1) && message->size >= message->header)
        hg_header_sum_put(
            message->bytes, message->header, HG_HEADER_SUM_AT(message->header));
}

void
attacker_send(const struct attacker_peer *peer, enum loop_kind kind,
    const struct attacker_message *message, uint64_t tag)
{
    fuzz_require(loop_inject(attacker_address, peer->address, 0, kind,
        message->bytes, message->size, tag));
}
