/* SPDX-License-Identifier: BSD-3-Clause */
/* What an attacker answers to an origin's requests: answers, references to
 * results elsewhere. Each forward calls back once.
 *
 *   u8 level of checksums, then steps: u8 which one, what it needs */
#include "attacker.h"

#include "hg/header.h"

#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 24U

enum step {
    STEP_RAW,     /* message */
    STEP_ANSWER,  /* u8 flags, u8 code, results, patches */
    STEP_LATE,    /* the same, to an earlier request */
    STEP_FORWARD, /* u8 how large the arguments are */
    STEP_CANCEL,
    STEP_RUN, /* progresses */
    STEPS
};

static struct attacker_peer peer;
static hg_handle_t handle;
static unsigned forwarded, called;

static hg_return_t
on_answer(const struct hg_cb_info *info)
{
    blob_t out;

    called++;
    if (info->ret != HG_SUCCESS)
        return HG_SUCCESS;
    if (HG_Get_output(info->info.forward.handle, &out) == HG_SUCCESS)
        fuzz_require(
            HG_Free_output(info->info.forward.handle, &out) == HG_SUCCESS);
    return HG_SUCCESS;
}

static void
step_forward(struct fuzz_input *input)
{
    static const uint32_t sizes[] = {0, 10, 9000};
    static uint8_t bytes[9000];
    blob_t in = {sizes[fuzz_u8(input) % 3], bytes};
    hg_return_t ret = HG_Forward(handle, on_answer, NULL, &in);

    fuzz_require(ret == HG_SUCCESS || ret == HG_BUSY);
    if (ret == HG_SUCCESS)
        forwarded++;
}

static void
step_answer(struct fuzz_input *input, uint32_t late)
{
    struct attacker_message message;
    uint8_t flags = fuzz_u8(input);

    attacker_response(input, &message, flags, handle->cookie - late);
    attacker_corrupt(input, &message);
    attacker_send(&peer, LOOP_SEND_EXPECTED, &message, handle->tag);
}

static void
step(struct fuzz_input *input)
{
    struct attacker_message message;
    unsigned which = fuzz_u8(input) % STEPS;

    switch (which) {
    case STEP_RAW:
        attacker_raw(input, &message, HG_HEADER_RESPONSE_SIZE);
        attacker_corrupt(input, &message);
        attacker_send(&peer, LOOP_SEND_EXPECTED, &message, handle->tag);
        break;
    case STEP_ANSWER:
    case STEP_LATE:
        step_answer(input, which == STEP_LATE);
        break;
    case STEP_FORWARD:
        step_forward(input);
        break;
    case STEP_CANCEL:
        fuzz_require(HG_Cancel(handle) == HG_SUCCESS);
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
    hg_addr_t addr;
    hg_id_t id;

    attacker_peer_open(&peer, fuzz_u8(&input));
    id = HG_Register_name(
        peer.hg_class, "echo", hg_proc_blob_t, hg_proc_blob_t, NULL);
    addr = attacker_addr(&peer);
    fuzz_require(HG_Create(peer.context, addr, id, &handle) == HG_SUCCESS);
    forwarded = called = 0;
    for (unsigned i = 0; i < STEPS_MAX && input.left > 0; i++)
        step(&input);
    attacker_peer_step(&peer);
    if (called < forwarded)
        fuzz_require(HG_Cancel(handle) == HG_SUCCESS);
    attacker_peer_step(&peer);
    fuzz_require(called == forwarded);
    fuzz_require(HG_Destroy(handle) == HG_SUCCESS);
    fuzz_require(HG_Addr_free(peer.hg_class, addr) == HG_SUCCESS);
    attacker_peer_close(&peer);
    return 0;
}
