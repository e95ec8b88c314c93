/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: classes opened with NA_PLUGIN_OPEN_NO_BLOCK and polled without
 * sleeping. They run other cases again. */
#include "check/cases.h"
#include "check/run.h"
#include "check/shared.h"

#include <string.h>

static const struct kit_case *
find(const char *name)
{
    for (size_t i = 0; i < kit_groups_count; i++)
        for (size_t j = 0; j < kit_groups[i]->count; j++)
            if (strcmp(kit_groups[i]->cases[j].name, name) == 0)
                return &kit_groups[i]->cases[j];
    return NULL;
}

/* Runs a case with all classes, or every second one, opened in this way. It
 * must need no more processes than the running one has. */
static void
run_busy(const char *name, enum kit_busy busy)
{
    const struct kit_case *it = find(name);

    if (!it || it->processes > kit_running->processes)
        kit_not_run("case %s does not exist, or needs more processes", name);
    kit_open_busy(busy);
    it->run();
}

static void
cycles(void)
{
    run_busy("open_close_repeated", KIT_BUSY_ALL);
}

static void
messages(void)
{
    run_busy("both_ways", KIT_BUSY_ALL);
}

static void
busy_and_sleeping(void)
{
    run_busy("both_ways", KIT_BUSY_HALF);
}

static void
sizes(void)
{
    run_busy("unexpected_sizes_interprocess", KIT_BUSY_ALL);
}

static void
transfers(void)
{
    run_busy("rma_many_interprocess", KIT_BUSY_ALL);
}

static void
multi(void)
{
    run_busy("multi_queued_before_interprocess", KIT_BUSY_ALL);
}

static void
contexts(void)
{
    run_busy("contexts_polled", KIT_BUSY_ALL);
}

static void
context_transfers(void)
{
    run_busy("contexts_transfers", KIT_BUSY_ALL);
}

static void
pollers(void)
{
    run_busy("thread_per_context", KIT_BUSY_ALL);
}

static void
sends_cancelled(void)
{
    run_busy("cancel_sends", KIT_BUSY_ALL);
}

static void
threads(void)
{
    run_busy("thread_submits", KIT_BUSY_ALL);
}

static void
killed(void)
{
    run_busy("killed_receives", KIT_BUSY_ALL);
}

static void
stopped(void)
{
    run_busy("stopped", KIT_BUSY_ALL);
}

static const struct kit_case cases[] = {
    {"busy_messages", 11, 0, 1, 0,
        "two classes that never sleep exchange messages", messages},
    {"busy_and_sleeping", 11, 0, 1, 0, "likewise if one of them may sleep",
        busy_and_sleeping},
    {"busy_sizes", 11, 0, 1, 0,
        "likewise messages of all sizes arrive complete", sizes},
    {"busy_transfers", 7, KIT_NEEDS_RMA, 1, 0,
        "likewise many puts and gets in both directions", transfers},
    {"busy_multi", 11, KIT_NEEDS_MULTI_RECV, 1, 0,
        "likewise messages arrive in a multi-receive", multi},
    {"busy_contexts", 11, KIT_NEEDS_CONTEXTS, 1, 0,
        "polling any context advances a class that never sleeps", contexts},
    {"busy_context_transfers", 11, KIT_NEEDS_CONTEXTS | KIT_NEEDS_RMA, 1, 0,
        "each context of a class that never sleeps puts and gets",
        context_transfers},
    {"busy_thread_per_context", 9, KIT_NEEDS_CONTEXTS, 1, 120,
        "each context has a thread of its own that never sleeps", pollers},
    {"busy_cancel_sends", 10, 0, 1, 0,
        "held-back sends are canceled by a class that never sleeps",
        sends_cancelled},
    {"busy_threads", 9, 0, 1, 120,
        "four threads submit while one polls and never sleeps", threads},
    {"busy_killed", 12, 0, 2, 0,
        "a class that never sleeps notices the death of its peer", killed},
    {"busy_stopped", 12, 0, 2, 40,
        "a stopped peer does not block a class that never sleeps", stopped},
    {"busy_open_close", 12, 0, 0, 0,
        "open and close leak no descriptor, thread or memory", cycles},
};

const struct kit_group kit_cases_busy = {cases, sizeof cases / sizeof cases[0]};
