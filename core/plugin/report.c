/* SPDX-License-Identifier: BSD-3-Clause */
/* The candidates examined to open an info string. */
#include "plugin/report.h"

#include "base/log.h"
#include "plugin/info_string.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

/* Published reports that are kept, one for each thread; those of ended threads
 * are replaced first. Thread-specific data is not used, since its destructor
 * could run after the library was unloaded. */
#define PUBLISHED_MAX 256

struct plugin_report {
    struct talaria_open_result result; /* first: what a program gets */
    struct talaria_candidate **entries;
    uint64_t thread;
    bool silent;
    TAILQ_ENTRY(plugin_report) next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static TAILQ_HEAD(, plugin_report) published = TAILQ_HEAD_INITIALIZER(
    published);
static size_t published_count;

/* Returns a number of this thread that, unlike a pthread_t, is never reused. */
static uint64_t
own_thread(void)
{
    static _Atomic uint64_t last;
    static _Thread_local uint64_t own;

    if (own == 0)
        own = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
    return own;
}

struct plugin_report *
plugin_report_create(void)
{
    struct plugin_report *report = calloc(1, sizeof *report);

    if (report)
        report->result.text = "";
    return report;
}

static void
candidate_destroy(struct talaria_candidate *candidate)
{
    if (!candidate)
        return;
    free((void *) (uintptr_t) candidate->text);
    free((void *) (uintptr_t) candidate->path);
    free((void *) (uintptr_t) candidate->plugin);
    free(candidate);
}

void
plugin_report_destroy(struct plugin_report *report)
{
    if (!report)
        return;
    for (size_t i = 0; i < report->result.count; i++)
        candidate_destroy(report->entries[i]);
    free(report->entries);
    free((void *) (uintptr_t) report->result.info_string);
    free(report);
}

void
plugin_report_set_string(struct plugin_report *report, const char *string)
{
    if (!report)
        return;
    free((void *) (uintptr_t) report->result.info_string);
    report->result.info_string =
        string ? strndup(string, PLUGIN_INFO_MAX) : NULL;
}

void
plugin_report_set_info(
    struct plugin_report *report, const struct plugin_info *info)
{
    char *string;

    if (asprintf(&string, "%s%s%s%s%s", info->plugin ? info->plugin : "",
            info->plugin ? "+" : "", info->protocol, info->name ? "://" : "",
            info->name ? info->name : "") < 0)
        return;
    plugin_report_set_string(report, string);
    free(string);
}

/* Returns NULL if out of memory. */
static struct talaria_candidate *
candidate_create(enum talaria_stage stage, const char *path, const char *plugin,
    na_return_t code, const char *text)
{
    struct talaria_candidate *candidate = calloc(1, sizeof *candidate);

    if (!candidate)
        return NULL;
    candidate->stage = stage;
    candidate->code = code;
    candidate->text = strdup(text);
    candidate->path = path ? strdup(path) : NULL;
    candidate->plugin = plugin ? strdup(plugin) : NULL;
    if (candidate->text && (!path || candidate->path) &&
        (!plugin || candidate->plugin))
        return candidate;
    candidate_destroy(candidate);
    return NULL;
}

/* Removes the acceptance of a plugin, whose final result follows. */
static void
drop_accepted(struct plugin_report *report, const char *plugin)
{
    size_t count = report->result.count;
    struct talaria_candidate *last = count ? report->entries[count - 1] : NULL;

    if (!last || last->stage != TALARIA_STAGE_OK || !last->plugin || !plugin ||
        strcmp(last->plugin, plugin) != 0)
        return;
    candidate_destroy(last);
    report->result.count--;
}

static bool
add_entry(struct plugin_report *report, struct talaria_candidate *candidate)
{
    struct talaria_candidate **more;

    if (!candidate)
        return false;
    drop_accepted(report, candidate->plugin);
    more = realloc(report->entries, (report->result.count + 1) * sizeof *more);
    if (!more) {
        candidate_destroy(candidate);
        return false;
    }
    report->entries = more;
    more[report->result.count++] = candidate;
    report->result.candidates = more;
    report->result.text = candidate->text;
    return true;
}

void
plugin_report_add(struct plugin_report *report, enum talaria_stage stage,
    const char *path, const char *plugin, na_return_t code, const char *format,
    ...)
{
    char text[1000];
    va_list args;

    if (!report)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    report->result.code = code;
    if (!add_entry(report, candidate_create(stage, path, plugin, code, text))) {
        report->result.text = "";
        report->result.dropped++;
    }
}

/* Counts the entries about a plugin or a file. */
static size_t
candidate_count(const struct plugin_report *report)
{
    size_t count = report->result.dropped;

    for (size_t i = 0; i < report->result.count; i++)
        count += report->entries[i]->path || report->entries[i]->plugin;
    return count;
}

void
plugin_report_log(const struct plugin_report *report)
{
    const struct talaria_candidate *last;
    const char *info_string;
    size_t count;

    if (!report || report->silent)
        return;
    info_string = report->result.info_string ? report->result.info_string : "?";
    count = candidate_count(report);
    if (report->result.count == 0) {
        LOG_ERROR(PLUGIN, "cannot open \"%s\": out of memory", info_string);
        return;
    }
    last = report->entries[report->result.count - 1];
    LOG_ERROR(PLUGIN, "cannot open \"%s\": %s%s%s: %s (%zu candidate%s)",
        info_string, last->path ? last->path : "", last->path ? ": " : "",
        talaria_stage_to_string(last->stage), last->text, count,
        count == 1 ? "" : "s");
}

void
plugin_report_silence(struct plugin_report *report)
{
    if (report)
        report->silent = true;
}

const char *
plugin_report_text(const struct plugin_report *report)
{
    return report ? report->result.text : "";
}

static struct plugin_report *
find_published(uint64_t thread)
{
    struct plugin_report *report;

    TAILQ_FOREACH (report, &published, next)
        if (report->thread == thread)
            return report;
    return NULL;
}

static void
remove_published(struct plugin_report *report)
{
    TAILQ_REMOVE(&published, report, next);
    published_count--;
    plugin_report_destroy(report);
}

void
plugin_report_publish(struct plugin_report *report)
{
    struct plugin_report *before;

    if (!report)
        return;
    report->thread = own_thread();
    pthread_mutex_lock(&lock);
    before = find_published(report->thread);
    if (before)
        remove_published(before);
    else if (published_count == PUBLISHED_MAX)
        remove_published(TAILQ_FIRST(&published));
    TAILQ_INSERT_TAIL(&published, report, next);
    published_count++;
    pthread_mutex_unlock(&lock);
}

void
plugin_report_cleanup(void)
{
    pthread_mutex_lock(&lock);
    while (!TAILQ_EMPTY(&published))
        remove_published(TAILQ_FIRST(&published));
    pthread_mutex_unlock(&lock);
}

/* Returns NULL if out of memory. */
static struct plugin_report *
report_copy(const struct plugin_report *report)
{
    struct plugin_report *copy = plugin_report_create();

    if (!copy)
        return NULL;
    plugin_report_set_string(copy, report->result.info_string);
    for (size_t i = 0; i < report->result.count; i++) {
        const struct talaria_candidate *entry = report->entries[i];

        plugin_report_add(copy, entry->stage, entry->path, entry->plugin,
            entry->code, "%s", entry->text);
    }
    if (copy->result.dropped > 0 ||
        (report->result.info_string && !copy->result.info_string)) {
        plugin_report_destroy(copy);
        return NULL;
    }
    copy->result.code = report->result.code;
    copy->result.dropped = report->result.dropped;
    return copy;
}

na_return_t
talaria_open_report(struct talaria_open_result **result_p)
{
    const struct plugin_report *report;
    struct plugin_report *copy = NULL;

    pthread_mutex_lock(&lock);
    report = find_published(own_thread());
    if (report)
        copy = report_copy(report);
    pthread_mutex_unlock(&lock);
    if (!report)
        return NA_NOENTRY;
    if (!copy)
        return NA_NOMEM;
    *result_p = &copy->result;
    return NA_SUCCESS;
}

void
talaria_open_report_free(struct talaria_open_result *result)
{
    plugin_report_destroy((struct plugin_report *) result);
}
