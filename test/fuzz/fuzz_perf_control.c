/* SPDX-License-Identifier: BSD-3-Clause */
/* Control messages between the processes of talaria perf.
 *
 *   u8 which, its bytes */
#include "round.h"

#include "perf/control.h"

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_log_drop();
    return 0;
}

#define TYPE(name)                                                             \
    {                                                                          \
        hg_proc_##name, sizeof(name)                                           \
    }

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        hg_proc_cb_t proc_cb;
        size_t size;
    } types[] = {TYPE(perf_hello_in_t), TYPE(perf_hello_out_t),
        TYPE(perf_open_in_t), TYPE(perf_open_out_t), TYPE(perf_remote_in_t),
        TYPE(perf_remote_out_t), TYPE(perf_run_in_t), TYPE(perf_run_out_t),
        TYPE(perf_close_in_t), TYPE(perf_close_out_t),
        TYPE(perf_challenge_in_t), TYPE(perf_challenge_out_t)};
    static char no_class; /* no descriptors here */
    struct fuzz_input input = {data, size};
    unsigned type = fuzz_u8(&input) % (sizeof types / sizeof types[0]);

    fuzz_round((hg_class_t *) &no_class, types[type].proc_cb, types[type].size,
        input.at, input.left);
    return 0;
}
