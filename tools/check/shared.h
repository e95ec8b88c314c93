/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the processes of one case: the verdict, the current steps, and the
 * plugin's log. The kit reads it after they have ended. */
#ifndef KIT_SHARED_H
#define KIT_SHARED_H

#include "check/kit.h"

#include <stdatomic.h>
#include <sys/types.h>

#define KIT_LINES 12U
#define KIT_LINE_MAX 320U

/* Exit status of a process that has left a verdict. */
#define KIT_EXIT_VERDICT 77

/* Features of a plugin, determined by the first case. */
struct kit_facts {
    bool known;
    bool rma;
    bool multi_recv;
    bool wait;
    bool serialize;
    bool alloc;
    bool report;
    bool forget;
    uint32_t max_contexts;
    char name[128]; /* of the plugin, its version, the protocol */
    char version[128];
    char protocol[128];
};

/* A process of the case. */
struct kit_slot {
    _Atomic(const char *) step; /* of the script */
    _Atomic(const char *) call; /* function of the plugin in its main thread */
};

struct kit_shared {
    _Atomic uint32_t taken; /* by the process with the first verdict */
    _Atomic uint32_t written;
    enum kit_verdict verdict;
    uint32_t rule;
    char expected[KIT_TEXT_MAX];
    char found[KIT_TEXT_MAX];
    struct kit_slot slots[KIT_PROCESSES + 1];
    _Atomic uint32_t lines;
    char log[KIT_LINES][KIT_LINE_MAX];
    atomic_bool writing[KIT_LINES]; /* the line is being written */
    struct kit_facts facts;
};

extern struct kit_shared *kit_shared; /* of the running case */
extern const struct kit_case *kit_running;

/* Allocates memory shared with children. NULL: out of memory. */
struct kit_shared *kit_shared_create(void);
void kit_shared_destroy(struct kit_shared *shared);

/* Selects the entry of this process, and installs its crash handler. */
void kit_shared_enter(uint32_t slot);

/* Called around each call of the plugin with its name, and NULL. Recorded for
 * the main thread only. */
const char *kit_call_enter(const char *name);
void kit_call_leave(const char *before);

/* Keeps a log line of the plugin. */
void kit_shared_log(int32_t level, const char *text);

/* Explains an access to guarded memory (guard.c). false: not the kit's
 * memory. */
bool kit_guard_explain(
    const void *address, uint32_t *rule_p, const char **text_p);

#endif /* KIT_SHARED_H */
