/* SPDX-License-Identifier: BSD-3-Clause */
/* What scripts call: each command is executed by a class in this process or in
 * a worker process. */
#include "check/process.h"

#include "check/shared.h"
#include "check/target.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct kit_side {
    bool open;
    bool there;
    bool joining; /* asked whether what kit_begin began has ended */
    uint32_t process;
    uint32_t number;
    struct kit_executor executor; /* here */
    na_plugin_opened opened;
    char address[KIT_TEXT_MAX];
};

static struct kit_side sides[KIT_SIDES];
static enum kit_busy all_busy;
static struct kit_command command;
static struct kit_answer answer;

static struct kit_command *
begin(enum kit_verb verb)
{
    memset(&command, 0, offsetof(struct kit_command, bytes));
    command.verb = verb;
    return &command;
}

static const struct kit_answer *
ask(struct kit_side *side)
{
    if (side->there)
        kit_process_call(side->process, &command, &answer);
    else
        kit_execute(&side->executor, &command, &answer);
    return &answer;
}

static const struct kit_answer *
ask_number(struct kit_side *side, enum kit_verb verb, uint32_t a, uint32_t b)
{
    begin(verb);
    command.numbers[0] = a;
    command.numbers[1] = b;
    return ask(side);
}

static struct kit_side *
take_side(bool there, uint32_t process)
{
    struct kit_side *side = NULL;

    for (uint32_t i = 0; i < KIT_SIDES && !side; i++)
        if (!sides[i].open)
            side = &sides[i];
    if (!side)
        kit_not_run("more than %u sides", KIT_SIDES);
    *side = (struct kit_side){.open = true,
        .there = there,
        .process = process,
        .number = (uint32_t) (side - sides)};
    return side;
}

static struct kit_side *
open_side(bool there, uint32_t process, const struct kit_open_options *how)
{
    struct kit_side *side = take_side(there, process);

    begin(KIT_OPEN_CLASS);
    command.numbers[0] = side->number;
    if (how)
        command.how = *how;
    if (how && how->at) {
        command.length = (uint32_t) strlen(how->at) + 1;
        memcpy(command.bytes, how->at, command.length);
    }
    if (all_busy == KIT_BUSY_ALL ||
        (all_busy == KIT_BUSY_HALF && side->number % 2 == 0))
        command.how.flags |= NA_PLUGIN_OPEN_NO_BLOCK;
    side->opened = ask(side)->opened;
    return side;
}

void
kit_open_busy(enum kit_busy busy)
{
    all_busy = busy;
}

struct kit_side *
kit_local(const struct kit_open_options *how)
{
    return open_side(false, 0, how);
}

struct kit_side *
kit_remote(uint32_t process, const struct kit_open_options *how)
{
    return open_side(true, process, how);
}

struct kit_side *
kit_other(uint32_t process, const struct kit_open_options *how)
{
    return open_side(kit_running->processes > process, process, how);
}

struct kit_pair
kit_pair_open(const struct kit_open_options *how)
{
    struct kit_pair pair = {.a = kit_local(how)};

    pair.b = kit_other(0, how);
    kit_lookup_both(pair.a, pair.b);
    return pair;
}

struct kit_side *
kit_worker(uint32_t process)
{
    return take_side(true, process);
}

uint32_t
kit_number(const struct kit_side *side)
{
    return side->number;
}

void
kit_close(struct kit_side *side)
{
    if (!side->there || kit_process_alive(side->process)) {
        begin(KIT_CLOSE_CLASS);
        ask(side);
    }
    side->open = false;
}

/* Scripts may leave sides open. */
void
kit_sides_end(void)
{
    for (uint32_t i = 0; i < KIT_SIDES; i++)
        if (sides[i].open)
            kit_close(&sides[i]);
}

const na_plugin_opened *
kit_opened(const struct kit_side *side)
{
    return &side->opened;
}

const char *
kit_address(struct kit_side *side)
{
    begin(KIT_GET_ADDRESS);
    memcpy(side->address, ask(side)->bytes, sizeof side->address);
    return side->address;
}

void
kit_lookup(struct kit_side *side, struct kit_side *other)
{
    const char *text = kit_address(other);

    begin(KIT_LOOKUP);
    command.numbers[0] = other->number;
    command.length = (uint32_t) strlen(text) + 1;
    memcpy(command.bytes, text, command.length);
    ask(side);
}

void
kit_lookup_both(struct kit_side *a, struct kit_side *b)
{
    kit_lookup(a, b);
    kit_lookup(b, a);
}

void
kit_keep_source(struct kit_side *side, uint32_t op, uint32_t number)
{
    ask_number(side, KIT_KEEP_SOURCE, op, number);
}

void
kit_addr_free(struct kit_side *side, uint32_t number)
{
    ask_number(side, KIT_FREE_ADDR, number, 0);
}

void
kit_forget(struct kit_side *side, uint32_t number)
{
    ask_number(side, KIT_FORGET_PEER, number, 0);
}

void
kit_ctx_create(struct kit_side *side, uint32_t ctx)
{
    ask_number(side, KIT_CREATE_CTX, ctx, 0);
}

void
kit_ctx_destroy(struct kit_side *side, uint32_t ctx)
{
    ask_number(side, KIT_DESTROY_CTX, ctx, 0);
}

void
kit_polls(struct kit_side *side, bool polls)
{
    ask_number(side, KIT_SET_POLLS, polls, 0);
}

void
kit_poll_max(struct kit_side *side, uint32_t max)
{
    ask_number(side, KIT_SET_POLL_MAX, max, 0);
}

uint32_t
kit_poll(struct kit_side *side, uint32_t ctx)
{
    return ask_number(side, KIT_POLL_ONCE, ctx, 0)->number;
}

void
kit_run(void)
{
    for (uint32_t i = 0; i < KIT_SIDES; i++)
        if (sides[i].open && !sides[i].there && sides[i].executor.cls->polls)
            kit_class_progress(sides[i].executor.cls);
}

void
kit_run_for(uint64_t ns)
{
    uint64_t end = kit_now() + ns;

    while (kit_now() < end)
        kit_run();
}

int32_t
kit_post(struct kit_side *side, const struct kit_request *request)
{
    begin(KIT_POST);
    command.request = *request;
    return ask(side)->result;
}

void
kit_get_completion(
    struct kit_side *side, uint32_t op, struct kit_completion *end_p)
{
    *end_p = ask_number(side, KIT_GET_COMPLETION, op, 0)->end;
}

void
kit_message(struct kit_side *side, uint32_t op, uint32_t message,
    struct kit_completion *end_p)
{
    *end_p = ask_number(side, KIT_MESSAGE, op, message)->end;
}

void
kit_cancel(struct kit_side *side, uint32_t op)
{
    ask_number(side, KIT_CANCEL, op, 0);
}

void
kit_region(struct kit_side *side, const struct kit_region *region)
{
    begin(KIT_MAKE_REGION);
    command.region = *region;
    if (command.region.segments == 0)
        command.region.segments = 1;
    ask(side);
}

void
kit_region_free(struct kit_side *side, uint32_t number)
{
    ask_number(side, KIT_FREE_MEM, number, 0);
}

void
kit_expose(struct kit_side *owner, uint32_t region, struct kit_side *side,
    uint32_t number)
{
    ask_number(owner, KIT_SERIALIZE_MEM, region, 0);
    begin(KIT_DESERIALIZE_MEM);
    command.numbers[0] = number;
    command.length = answer.length;
    memcpy(command.bytes, answer.bytes, answer.length);
    ask(side);
}

size_t
kit_region_bytes(
    struct kit_side *owner, uint32_t region, void *bytes, size_t room)
{
    ask_number(owner, KIT_SERIALIZE_MEM, region, 0);
    if (answer.length > room)
        kit_not_run("a registration of %u bytes", answer.length);
    memcpy(bytes, answer.bytes, answer.length);
    return answer.length;
}

static uint64_t
region_walk(struct kit_side *side, enum kit_verb verb, uint32_t number,
    const uint64_t *wide)
{
    begin(verb);
    command.numbers[0] = number;
    memcpy(command.wide, wide, sizeof command.wide);
    return ask(side)->wide;
}

void
kit_region_fill(struct kit_side *side, uint32_t number, uint64_t offset,
    uint64_t length, uint64_t seed)
{
    region_walk(side, KIT_FILL, number, (uint64_t[]){offset, length, seed});
}

uint64_t
kit_region_hash(
    struct kit_side *side, uint32_t number, uint64_t offset, uint64_t length)
{
    return region_walk(side, KIT_HASH, number, (uint64_t[]){offset, length, 0});
}

void
kit_signal(struct kit_side *side, int number)
{
    kit_process_signal(side->process, number);
    if (number == SIGKILL)
        side->open = false;
}

void
kit_exit(struct kit_side *side)
{
    kit_process_exit(side->process);
    side->open = false;
}

void
kit_begin(
    struct kit_side *side, kit_act_t act, const void *bytes, size_t length)
{
    begin(KIT_BEGIN);
    command.act = act;
    memcpy(command.bytes, bytes, length);
    kit_process_call(side->process, &command, &answer);
}

bool
kit_joined(struct kit_side *side)
{
    if (!side->joining) {
        begin(KIT_JOIN);
        kit_process_send(side->process, &command);
        side->joining = true;
    }
    return kit_process_readable(side->process);
}

void
kit_join(struct kit_side *side, void *bytes, size_t length)
{
    while (!kit_joined(side))
        kit_run();
    kit_process_receive(side->process, &answer);
    side->joining = false;
    memcpy(bytes, answer.bytes, length);
}

struct kit_class *
kit_class_of(struct kit_side *side)
{
    return side->executor.cls;
}

uint64_t
kit_patience(void)
{
    return kit_target.patience_ns;
}

uint64_t
kit_quiet(void)
{
    return kit_target.quick ? 20000000U : 100000000U;
}

uint32_t
kit_times(uint32_t full)
{
    return kit_target.quick ? (full + 9) / 10 : full;
}
