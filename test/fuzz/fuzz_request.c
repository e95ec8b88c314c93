/* SPDX-License-Identifier: BSD-3-Clause */
/* What an attacker sends to a target: requests, references to arguments
 * elsewhere, acknowledgements of answers, cancel messages. It
 * answers each or not, ends well, and holds nothing afterwards.
 *
 *   u8 level of checksums, then steps: u8 which one, what it needs */
#include "attacker.h"

#include "hg/ack.h"
#include "hg/header.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_MAX 16U
#define STEPS_MAX 24U

enum step {
    STEP_RAW,    /* u8 tag, message */
    STEP_CALL,   /* u8 RPC, u8 flags, u8 cookie, u8 tag, arguments, patches */
    STEP_NOTICE, /* u8 cookie, u8 tag */
    STEP_ACK,    /* u8 which answer, u8 code, u8 flags, patches */
    STEP_LET_GO, /* answers what the handler kept */
    STEP_RUN,    /* progresses */
    STEPS
};

static struct attacker_peer peer;
static hg_id_t ids[4];
static hg_handle_t kept[KEPT_MAX];
static unsigned kept_count;

/* Answers with the input, or, if that begins with 'L', with much more. */
static hg_return_t
answer(hg_handle_t handle)
{
    static uint8_t large[10000];
    blob_t in, out = {0, NULL};
    hg_return_t ret = HG_Get_input(handle, &in);

    if (ret != HG_SUCCESS) {
        HG_Destroy(handle);
        return ret;
    }
    out = in;
    if (in.size > 0 && in.data[0] == 'L')
        out = (blob_t){sizeof large, large};
    ret = HG_Respond(handle, NULL, NULL, &out);
    /* CANCELED: a cancel message arrived first, and the answer is a large one;
     * HOSTUNREACH: the request names a context that the attacker lacks. */
    fuzz_require(ret == HG_SUCCESS || ret == HG_OPNOTSUPPORTED ||
                 ret == HG_CANCELED || ret == HG_HOSTUNREACH);
    fuzz_require(HG_Free_input(handle, &in) == HG_SUCCESS);
    fuzz_require(HG_Destroy(handle) == HG_SUCCESS);
    return HG_SUCCESS;
}

static hg_return_t
on_echo(hg_handle_t handle)
{
    return answer(handle);
}

static hg_return_t
on_keep(hg_handle_t handle)
{
    if (kept_count == KEPT_MAX)
        return answer(handle);
    kept[kept_count++] = handle;
    return HG_SUCCESS;
}

static void
let_go(void)
{
    while (kept_count > 0)
        answer(kept[--kept_count]);
}

static void
register_rpcs(void)
{
    ids[0] = HG_Register_name(
        peer.hg_class, "echo", hg_proc_blob_t, hg_proc_blob_t, on_echo);
    ids[1] = HG_Register_name(
        peer.hg_class, "keep", hg_proc_blob_t, hg_proc_blob_t, on_keep);
    ids[2] = HG_Register_name(
        peer.hg_class, "notify", hg_proc_blob_t, NULL, on_echo);
    fuzz_require(HG_Registered_disable_response(
                     peer.hg_class, ids[2], HG_TRUE) == HG_SUCCESS);
    ids[3] = 12345; /* no RPC */
}

/* An answer that is yet to be acknowledged: its tag, and the cookie. */
static bool
find_answer(unsigned number, uint64_t *tag_p, uint32_t *cookie_p)
{
    struct hg_context *context = peer.context;
    struct hg_handle *handle;

    LIST_FOREACH (handle, &context->handles, all_next) {
        if (!atomic_load(&handle->awaiting_ack) || number-- > 0)
            continue;
        *tag_p = handle->ack->tag;
        *cookie_p = handle->ack->cookie;
        return true;
    }
    return false;
}

static void
step_ack(struct fuzz_input *input)
{
    struct attacker_message message = {
        .size = HG_HEADER_ACK_SIZE, .header = HG_HEADER_ACK_SIZE + 4};
    struct hg_header_ack ack = {0};
    uint64_t tag;

    if (!find_answer(fuzz_u8(input), &tag, &ack.cookie))
        return;
    ack.ret = (hg_return_t) (fuzz_u8(input) % HG_RETURN_MAX);
    ack.flags = fuzz_u8(input);
    hg_header_ack_encode(message.bytes, &ack);
    attacker_corrupt(input, &message);
    attacker_send(&peer, LOOP_SEND_EXPECTED, &message, tag);
}

/* A class that ends would wait for these. */
static void
acknowledge_all(void)
{
    struct attacker_message message = {.size = HG_HEADER_ACK_SIZE};
    struct hg_header_ack ack = {0};
    uint64_t tag;

    for (unsigned i = 0; find_answer(0, &tag, &ack.cookie); i++) {
        fuzz_require(i < 2 * STEPS_MAX);
        hg_header_ack_encode(message.bytes, &ack);
        attacker_send(&peer, LOOP_SEND_EXPECTED, &message, tag);
        attacker_peer_step(&peer);
    }
}

static void
step_call(struct fuzz_input *input)
{
    struct attacker_message message;
    hg_id_t id = ids[fuzz_u8(input) % 4];
    uint8_t flags = fuzz_u8(input), cookie = fuzz_u8(input);
    uint8_t tag = fuzz_u8(input);

    attacker_request(input, &message, flags, id, cookie);
    attacker_corrupt(input, &message);
    attacker_send(&peer, LOOP_SEND_UNEXPECTED, &message, tag);
}

static void
step_cancel_message(struct fuzz_input *input)
{
    struct attacker_message message = {.size = sizeof(struct hg_header_front)};
    const struct hg_header_front front =
        hg_header_front_make(HG_HEADER_MAGIC_CANCEL, 0, fuzz_u8(input));

    memcpy(message.bytes, &front, sizeof front);
    attacker_send(&peer, LOOP_SEND_UNEXPECTED, &message, fuzz_u8(input));
}

static void
step(struct fuzz_input *input)
{
    struct attacker_message message;
    uint8_t tag;

    switch (fuzz_u8(input) % STEPS) {
    case STEP_RAW:
        tag = fuzz_u8(input);
        attacker_raw(input, &message, HG_HEADER_REQUEST_SIZE);
        attacker_corrupt(input, &message);
        attacker_send(&peer, LOOP_SEND_UNEXPECTED, &message, tag);
        break;
    case STEP_CALL:
        step_call(input);
        break;
    case STEP_NOTICE:
        step_cancel_message(input);
        break;
    case STEP_ACK:
        step_ack(input);
        break;
    case STEP_LET_GO:
        let_go();
        break;
    default:
        attacker_peer_step(&peer);
    }
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    attacker_open();
    return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};

    attacker_peer_open(&peer, fuzz_u8(&input));
    register_rpcs();
    for (unsigned i = 0; i < STEPS_MAX && input.left > 0; i++)
        step(&input);
    attacker_peer_step(&peer);
    while (kept_count > 0) {
        let_go();
        attacker_peer_step(&peer);
    }
    acknowledge_all();
    attacker_peer_close(&peer);
    return 0;
}
