/* SPDX-License-Identifier: BSD-3-Clause */
/* Executes commands on a class. */
#include "check/executor.h"

#include "check/shared.h"

#include <string.h>

static void
adopt(struct kit_class *cls, uint32_t number, uint32_t as)
{
    struct kit_op *op = &cls->ops_made[number];

    if (!op->source || cls->addrs[as])
        kit_not_run("operation %u has no source for number %u", number, as);
    cls->addrs[as] = op->source;
    op->source = NULL;
}

static void
addr_free(struct kit_class *cls, uint32_t number)
{
    const char *before = kit_call_enter("addr_free");

    cls->ops.addr_free(cls->cls, cls->addrs[number]);
    kit_call_leave(before);
    cls->addrs[number] = NULL;
}

static void
forget(struct kit_class *cls, uint32_t number)
{
    const char *before = kit_call_enter("addr_forget");

    cls->ops.addr_forget(cls->cls, cls->addrs[number]);
    kit_call_leave(before);
}

/* Fills or hashes a part of a region, segment by segment. */
static uint64_t
walk_region(struct kit_class *cls, const struct kit_command *command)
{
    uint64_t offset = command->wide[0], rest = command->wide[1];
    uint64_t hash = 0;

    while (rest > 0) {
        uint64_t length = rest;
        unsigned char *at =
            kit_class_mem_at(cls, command->numbers[0], offset, &length);

        if (command->verb == KIT_FILL)
            kit_pattern(at, length, command->wide[2] + offset);
        else
            for (uint64_t i = 0; i < length; i++)
                hash = (hash ^ at[i]) * 0x100000001B3U;
        offset += length;
        rest -= length;
    }
    return hash;
}

static void
execute_memory(struct kit_class *cls, const struct kit_command *command,
    struct kit_answer *answer)
{
    switch (command->verb) {
    case KIT_MAKE_REGION:
        kit_class_region(cls, &command->region);
        break;
    case KIT_FREE_MEM:
        kit_class_mem_free(cls, command->numbers[0]);
        break;
    case KIT_SERIALIZE_MEM:
        answer->length = (uint32_t) kit_class_mem_bytes(
            cls, command->numbers[0], answer->bytes, sizeof answer->bytes);
        break;
    case KIT_DESERIALIZE_MEM:
        kit_class_mem_remote(
            cls, command->numbers[0], command->bytes, command->length);
        break;
    default:
        answer->wide = walk_region(cls, command);
        break;
    }
}

static void
execute_address(struct kit_executor *executor,
    const struct kit_command *command, struct kit_answer *answer)
{
    struct kit_class *cls = executor->cls;

    switch (command->verb) {
    case KIT_GET_ADDRESS:
        kit_class_text(cls, cls->addrs[executor->number],
            (char *) answer->bytes, KIT_TEXT_MAX);
        answer->length = (uint32_t) strlen((char *) answer->bytes) + 1;
        break;
    case KIT_LOOKUP:
        kit_class_lookup(
            cls, command->numbers[0], (const char *) command->bytes);
        break;
    case KIT_KEEP_SOURCE:
        adopt(cls, command->numbers[0], command->numbers[1]);
        break;
    case KIT_FREE_ADDR:
        addr_free(cls, command->numbers[0]);
        break;
    default:
        forget(cls, command->numbers[0]);
        break;
    }
}

static void
execute_operation(struct kit_class *cls, const struct kit_command *command,
    struct kit_answer *answer)
{
    switch (command->verb) {
    case KIT_POLL_ONCE:
        answer->number = kit_class_poll(cls, command->numbers[0]);
        break;
    case KIT_POST:
        answer->result = kit_class_post(cls, &command->request);
        break;
    case KIT_GET_COMPLETION:
        kit_class_end(cls, command->numbers[0], &answer->end);
        break;
    case KIT_MESSAGE:
        kit_class_message(
            cls, command->numbers[0], command->numbers[1], &answer->end);
        break;
    default:
        kit_class_cancel(cls, command->numbers[0]);
        break;
    }
}

static void
open_class(struct kit_executor *executor, const struct kit_command *command)
{
    struct kit_open_options how = command->how;

    how.at = command->length > 0 ? (const char *) command->bytes : NULL;
    executor->number = command->numbers[0];
    executor->cls = kit_class_open(&how, executor->number);
}

void
kit_execute(struct kit_executor *executor, const struct kit_command *command,
    struct kit_answer *answer)
{
    answer->length = 0;
    switch (command->verb) {
    case KIT_OPEN_CLASS:
        open_class(executor, command);
        answer->opened = executor->cls->opened;
        break;
    case KIT_CLOSE_CLASS:
        kit_class_close(executor->cls);
        executor->cls = NULL;
        break;
    case KIT_CREATE_CTX:
        kit_class_ctx_create(executor->cls, command->numbers[0]);
        break;
    case KIT_DESTROY_CTX:
        kit_class_ctx_destroy(executor->cls, command->numbers[0]);
        break;
    case KIT_SET_POLLS:
        executor->cls->polls = command->numbers[0] != 0;
        break;
    case KIT_SET_POLL_MAX:
        executor->cls->poll_max = command->numbers[0];
        break;
    case KIT_GET_ADDRESS:
    case KIT_LOOKUP:
    case KIT_KEEP_SOURCE:
    case KIT_FREE_ADDR:
    case KIT_FORGET_PEER:
        execute_address(executor, command, answer);
        break;
    case KIT_MAKE_REGION:
    case KIT_FREE_MEM:
    case KIT_SERIALIZE_MEM:
    case KIT_DESERIALIZE_MEM:
    case KIT_FILL:
    case KIT_HASH:
        execute_memory(executor->cls, command, answer);
        break;
    default:
        execute_operation(executor->cls, command, answer);
        break;
    }
}
