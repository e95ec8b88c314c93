/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens, polls and closes an NA class; allocates message buffers. */
#include "perf/na_side.h"

#include <inttypes.h>
#include <string.h>

#include "talaria.h"

uint64_t
perf_na_message_size(const struct perf_plan *plan)
{
    return plan->bandwidth ? sizeof(struct perf_na_command) : plan->size_max;
}

/* Reads the sizes of the transport and checks that they suffice. */
static bool
measure(struct perf_na *na, const struct perf_plan *plan)
{
    size_t unexpected = NA_Msg_get_max_unexpected_size(na->na_class);
    size_t expected = NA_Msg_get_max_expected_size(na->na_class);

    na->unexpected_header = NA_Msg_get_unexpected_header_size(na->na_class);
    na->expected_header = NA_Msg_get_expected_header_size(na->na_class);
    unexpected -= na->unexpected_header;
    expected -= na->expected_header;
    na->data_max = unexpected < expected ? unexpected : expected;
    if (perf_na_message_size(plan) > na->data_max) {
        perf_failure_set(na->failure,
            "%" PRIu64 " bytes are too many for a message of this transport, "
            "which holds %zu",
            perf_na_message_size(plan), na->data_max);
        return false;
    }
    if (NA_Msg_get_max_tag(na->na_class) >> PERF_NA_TAG_BITS <
        plan->contexts - 1) {
        perf_failure_set(na->failure, "this transport's tags are too short");
        return false;
    }
    return true;
}

bool
perf_na_open(struct perf_na *na, const char *info, bool listen,
    const struct perf_plan *plan, struct perf_failure *failure)
{
    struct na_init_info init = NA_INIT_INFO_INITIALIZER;
    bool good;

    *na = (struct perf_na){.failure = failure, .at_once = 64};
    init.progress_mode = plan->busy ? NA_NO_BLOCK : 0;
    init.thread_mode = plan->single ? NA_THREAD_MODE_SINGLE : 0;
    init.max_contexts = (uint8_t) plan->contexts;
    na->na_class = NA_Initialize_opt2(
        info, listen, NA_VERSION(NA_VERSION_MAJOR, NA_VERSION_MINOR), &init);
    if (!na->na_class) {
        perf_failure_set(failure, "cannot open the transport %s", info);
        return false;
    }
    good = measure(na, plan);
    for (uint32_t i = 0; good && i < plan->contexts; i++) {
        na->contexts[i] = NA_Context_create_id(na->na_class, (uint8_t) i);
        good = na->contexts[i] != NULL;
        if (!good)
            perf_failure_set(failure, "cannot create context %u", i);
    }
    if (!good)
        perf_na_close(na, plan);
    return good;
}

char *
perf_na_memory_alloc(
    struct perf_na *na, const struct perf_plan *plan, uint64_t size)
{
    void *memory;

    if (!plan->mem_alloc)
        return perf_memory_create(size);
    return talaria_mem_alloc(na->na_class, size, &memory) == NA_SUCCESS
               ? memset(memory, 1, size)
               : NULL;
}

void
perf_na_close(struct perf_na *na, const struct perf_plan *plan)
{
    na_return_t ret = NA_SUCCESS;

    for (uint32_t i = 0; i < plan->contexts && ret == NA_SUCCESS; i++)
        if (na->contexts[i])
            ret = NA_Context_destroy(na->na_class, na->contexts[i]);
    if (ret == NA_SUCCESS)
        ret = NA_Finalize(na->na_class);
    if (ret != NA_SUCCESS)
        perf_failure_set(na->failure, "cannot close the transport: %s",
            NA_Error_to_string(ret));
}

enum perf_poll
perf_na_poll(struct perf_na *na, uint32_t context, unsigned int timeout_ms)
{
    na_return_t ret =
        NA_Progress(na->na_class, na->contexts[context], timeout_ms);

    if (ret == NA_SUCCESS)
        ret = NA_Trigger(na->contexts[context], na->at_once, NULL);
    if (ret == NA_SUCCESS)
        return PERF_POLL_WORK;
    if (ret == NA_TIMEOUT || ret == NA_INTERRUPT)
        return PERF_POLL_IDLE;
    perf_failure_set(
        na->failure, "the transport failed: %s", NA_Error_to_string(ret));
    return PERF_POLL_FAILED;
}

na_return_t
perf_na_buffer_create(struct perf_na *na, enum perf_na_kind kind,
    unsigned long direction, uint64_t size, struct perf_na_buffer *buffer)
{
    size_t header = kind == PERF_NA_UNEXPECTED ? na->unexpected_header
                                               : na->expected_header;

    buffer->op = NA_Op_create(na->na_class, NA_OP_SINGLE);
    buffer->start = NA_Msg_buf_alloc(
        na->na_class, header + size, direction, &buffer->plugin_data);
    if (!buffer->op || !buffer->start)
        return NA_NOMEM;
    buffer->data = buffer->start + header;
    for (uint64_t i = 0; i < size; i++)
        buffer->data[i] = 1;
    if (direction != NA_SEND)
        return NA_SUCCESS;
    return kind == PERF_NA_UNEXPECTED ? NA_Msg_init_unexpected(na->na_class,
                                            buffer->start, header + size)
                                      : NA_Msg_init_expected(na->na_class,
                                            buffer->start, header + size);
}

void
perf_na_buffer_finish(struct perf_na *na, struct perf_na_buffer *buffer)
{
    if (buffer->op)
        NA_Op_destroy(na->na_class, buffer->op);
    if (buffer->start)
        NA_Msg_buf_free(na->na_class, buffer->start, buffer->plugin_data);
}
