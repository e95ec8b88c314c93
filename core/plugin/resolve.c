/* SPDX-License-Identifier: BSD-3-Clause */
/* From a parsed info string to its plugin. */
#include "plugin/resolve.h"

#include "base/env.h"
#include "base/log.h"
#include "na_plugin.h"
#include "plugin/info_string.h"
#include "plugin/load.h"
#include "plugin/registered.h"
#include "plugin/report.h"
#include "plugin/search.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What is searched; NULL: any. */
struct wanted {
    const char *plugin;
    const char *protocol;
    const char *name; /* name for the plugin to parse */
};

/* Loads a shared object without a manifest to read its descriptor. */
static na_return_t
learn(struct plugin_candidate *candidate)
{
    na_return_t ret;

    if (candidate->manifest || !candidate->library_path ||
        candidate->fault.stage != TALARIA_STAGE_OK)
        return NA_SUCCESS;
    ret = plugin_load_describe(candidate->library_path, candidate->library_path,
        &candidate->manifest, &candidate->fault);
    return ret == NA_NOMEM ? ret : NA_SUCCESS;
}

static na_return_t
learn_all(struct plugin_search *search)
{
    for (size_t i = 0; i < search->count; i++)
        if (learn(search->candidates[i]) != NA_SUCCESS)
            return NA_NOMEM;
    plugin_search_mark_shadowed(search);
    return NA_SUCCESS;
}

static void
log_shadowed(const struct plugin_candidate *candidate)
{
    LOG_INFO(PLUGIN, "plugin %s of %s is shadowed by one found before it",
        plugin_candidate_name(candidate), candidate->path);
}

/* Returns whether a refused candidate could be the wanted plugin, since it is
 * not known to be another one. */
static bool
is_suspect(
    const struct plugin_candidate *candidate, const struct wanted *wanted)
{
    if (candidate->fault.stage == TALARIA_STAGE_OK)
        return false;
    if (!candidate->manifest)
        return true;
    return !wanted->plugin &&
           (!wanted->protocol ||
               plugin_candidate_offers(candidate, wanted->protocol, false));
}

/* Missing folders are normal. */
static void
log_suspect(const struct plugin_candidate *candidate)
{
    const struct plugin_fault *fault = &candidate->fault;

    if (fault->stage == TALARIA_STAGE_NOT_FOUND && !candidate->from_manifest &&
        candidate->source != TALARIA_SOURCE_ENV_FILES)
        LOG_INFO(PLUGIN, "nothing is found there: %s", fault->text);
    else
        LOG_WARNING(PLUGIN, "%s is passed over: %s: %s", candidate->path,
            talaria_stage_to_string(fault->stage), fault->text);
}

/* Reports a candidate that was not chosen. */
static void
pass_over(struct plugin_report *report,
    const struct plugin_candidate *candidate, const struct wanted *wanted)
{
    const struct plugin_fault *fault = &candidate->fault;
    const char *name = plugin_candidate_name(candidate);

    if (is_suspect(candidate, wanted)) {
        plugin_report_add(report, fault->stage, candidate->path, name,
            fault->code, "%s", fault->text);
        log_suspect(candidate);
    } else if (wanted->plugin) {
        plugin_report_add(report, TALARIA_STAGE_NOT_FOUND, candidate->path,
            name, NA_NOENTRY, "it is plugin \"%s\", wanted \"%s\"", name,
            wanted->plugin);
    } else if (!plugin_candidate_offers(candidate, wanted->protocol, false)) {
        plugin_report_add(report, TALARIA_STAGE_PROTOCOL, candidate->path, name,
            NA_PROTONOSUPPORT, "it does not list \"%s\"", wanted->protocol);
    } else if (candidate->shadowed) {
        plugin_report_add(report, TALARIA_STAGE_NOT_FOUND, candidate->path,
            name, NA_EXIST, "it is shadowed by one found before it");
        log_shadowed(candidate);
    } else {
        plugin_report_add(report, TALARIA_STAGE_OK, candidate->path, name,
            NA_SUCCESS, "its priority %d is not the highest, or not the first",
            candidate->manifest->priority);
    }
}

/* Appends to a text as far as there is room. */
static void __attribute__((format(printf, 3, 4)))
append(char *text, size_t size, const char *format, ...)
{
    size_t length = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + length, size - length, format, args);
    va_end(args);
}

/* Appends what was found instead, names of plugins or all protocols, and where it
 * was searched. */
static void
append_found(char *text, size_t size, const struct plugin_search *search,
    const struct wanted *wanted)
{
    const char *separator = "; found ";

    for (size_t i = 0; i < search->count; i++) {
        const struct plugin_candidate *candidate = search->candidates[i];
        const char *name = plugin_candidate_name(candidate);

        if (!name || candidate->shadowed ||
            candidate->fault.stage != TALARIA_STAGE_OK)
            continue;
        append(text, size, "%s%s", separator, name);
        separator = ", ";
        for (char **p = candidate->manifest->protocols; !wanted->plugin && *p;
             p++)
            append(text, size, "%s%s",
                p == candidate->manifest->protocols ? "+" : "|", *p);
        if (!wanted->plugin && strcmp(name, wanted->protocol) == 0)
            append(text, size, " (a plugin: name its protocol too)");
    }
    if (separator[0] == ';')
        append(text, size, "; found none");
    if (search->files_only)
        append(text, size, "; searched TALARIA_PLUGIN_FILES");
    separator = search->files_only ? ", " : "; searched ";
    for (size_t i = 0; i < search->folder_count; i++) {
        append(text, size, "%s%s", separator, search->folders[i]);
        separator = ", ";
    }
}

/* Reports that no plugin fits, what there is, and refused candidates that could
 * be it. */
static na_return_t
report_none(struct plugin_report *report, const struct plugin_search *search,
    const struct wanted *wanted)
{
    static const char *const variables[] = {
        "TALARIA_PLUGIN_PATH", "TALARIA_PLUGIN_FILES"};
    char text[900];
    na_return_t code = wanted->plugin ? NA_NOENTRY : NA_PROTONOSUPPORT;

    snprintf(text, sizeof text, "no plugin %s \"%s\"",
        wanted->plugin ? "is named" : "lists protocol",
        wanted->plugin ? wanted->plugin : wanted->protocol);
    for (size_t i = 0; i < search->count; i++) {
        const struct plugin_candidate *candidate = search->candidates[i];

        if (!is_suspect(candidate, wanted))
            continue;
        append(text, sizeof text, "; %s: %s: %s", candidate->path,
            talaria_stage_to_string(candidate->fault.stage),
            candidate->fault.text);
        break;
    }
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        if (base_env_is_ignored(variables[i]))
            append(text, sizeof text, "; %s" BASE_ENV_IGNORED, variables[i]);
    append_found(text, sizeof text, search, wanted);
    plugin_report_add(report,
        wanted->plugin ? TALARIA_STAGE_NOT_FOUND : TALARIA_STAGE_PROTOCOL, NULL,
        NULL, code, "%s", text);
    return code;
}

/* Checks the name, if the core parses it for the plugin. */
static void
check_name(const struct na_plugin *plugin, const char *name,
    struct plugin_fault *fault)
{
    const char *reason = NULL;

    if (name && !(plugin->flags & NA_PLUGIN_OPAQUE_NAME))
        reason = plugin_info_name_fault(name);
    if (reason)
        plugin_fault_set(fault, TALARIA_STAGE_INFO_STRING, NA_INVALID_ARG,
            "\"%s\": %s", name, reason);
}

/* Loads the chosen plugin. If it is refused, no other is tried. */
static na_return_t
load_chosen(struct plugin_report *report, struct plugin_candidate *candidate,
    const struct wanted *wanted, const struct na_plugin **plugin_p)
{
    const struct na_plugin *plugin = candidate->registered;
    struct plugin_fault *fault = &candidate->fault;

    if (fault->stage == TALARIA_STAGE_OK && wanted->protocol &&
        !plugin_candidate_offers(candidate, wanted->protocol, true))
        plugin_fault_set(fault, TALARIA_STAGE_PROTOCOL, NA_PROTONOSUPPORT,
            "plugin \"%s\" does not offer protocol \"%s\"",
            plugin_candidate_name(candidate), wanted->protocol);
    if (fault->stage == TALARIA_STAGE_OK && !plugin)
        plugin_load(
            candidate->library_path, candidate->manifest, &plugin, fault);
    if (fault->stage == TALARIA_STAGE_OK)
        check_name(plugin, wanted->name, fault);
    plugin_report_add(report, fault->stage, candidate->path,
        plugin_candidate_name(candidate), fault->code, "%s", fault->text);
    if (fault->stage == TALARIA_STAGE_OK)
        *plugin_p = plugin;
    return fault->code;
}

/* Chooses the first plugin of the name; later ones are not examined. */
static na_return_t
choose_named(struct plugin_report *report, const struct plugin_search *search,
    const struct wanted *wanted, struct plugin_candidate **chosen_p)
{
    struct plugin_candidate *chosen = NULL;

    for (size_t i = 0; i < search->count; i++) {
        struct plugin_candidate *candidate = search->candidates[i];
        const char *name;

        if (!chosen && learn(candidate) != NA_SUCCESS)
            return NA_NOMEM;
        name = plugin_candidate_name(candidate);
        if (name && strcmp(name, wanted->plugin) == 0) {
            if (chosen)
                log_shadowed(candidate);
            else
                chosen = candidate;
        } else if (!chosen) {
            pass_over(report, candidate, wanted);
        }
    }
    if (!chosen)
        return report_none(report, search, wanted);
    *chosen_p = chosen;
    return NA_SUCCESS;
}

static bool
is_eligible(const struct plugin_candidate *candidate, const char *protocol)
{
    return candidate->fault.stage == TALARIA_STAGE_OK && !candidate->shadowed &&
           plugin_candidate_offers(candidate, protocol, false);
}

/* Chooses the plugin of highest priority; of several the first. */
static na_return_t
choose_by_protocol(struct plugin_report *report, struct plugin_search *search,
    const struct wanted *wanted, struct plugin_candidate **chosen_p)
{
    struct plugin_candidate *chosen = NULL;

    if (learn_all(search) != NA_SUCCESS)
        return NA_NOMEM;
    for (size_t i = 0; i < search->count; i++) {
        struct plugin_candidate *candidate = search->candidates[i];

        if (is_eligible(candidate, wanted->protocol) &&
            (!chosen ||
                candidate->manifest->priority > chosen->manifest->priority))
            chosen = candidate;
    }
    for (size_t i = 0; i < search->count; i++)
        if (search->candidates[i] != chosen)
            pass_over(report, search->candidates[i], wanted);
    if (!chosen)
        return report_none(report, search, wanted);
    *chosen_p = chosen;
    return NA_SUCCESS;
}

static na_return_t
resolve(struct plugin_report *report, const struct wanted *wanted,
    const struct na_plugin **plugin_p)
{
    struct plugin_search search;
    struct plugin_candidate *chosen = NULL;
    na_return_t ret = plugin_search_run(&search);

    if (ret == NA_SUCCESS)
        ret = wanted->plugin
                  ? choose_named(report, &search, wanted, &chosen)
                  : choose_by_protocol(report, &search, wanted, &chosen);
    if (ret == NA_NOMEM)
        plugin_report_add(
            report, TALARIA_STAGE_NOT_FOUND, NULL, NULL, ret, "out of memory");
    if (ret == NA_SUCCESS)
        ret = load_chosen(report, chosen, wanted, plugin_p);
    plugin_search_finish(&search);
    return ret;
}

na_return_t
plugin_resolve(const struct plugin_info *info, struct plugin_report *report,
    const struct na_plugin **plugin_p)
{
    const struct wanted wanted = {info->plugin, info->protocol, info->name};
    na_return_t ret;

    plugin_report_set_info(report, info);
    ret = resolve(report, &wanted, plugin_p);
    if (ret != NA_SUCCESS)
        plugin_report_log(report);
    return ret;
}

static na_return_t
each_named(struct plugin_report *report, const struct wanted *wanted,
    na_return_t (*visit)(void *arg, const struct na_plugin *plugin), void *arg)
{
    const struct na_plugin *plugin = NULL;
    na_return_t ret = resolve(report, wanted, &plugin);

    if (ret == NA_SUCCESS)
        return visit(arg, plugin);
    plugin_report_log(report);
    return ret;
}

static na_return_t
visit_all(const struct plugin_search *search, const struct wanted *wanted,
    na_return_t (*visit)(void *arg, const struct na_plugin *plugin), void *arg,
    size_t *count_p)
{
    for (size_t i = 0; i < search->count; i++) {
        struct plugin_candidate *candidate = search->candidates[i];
        const struct na_plugin *plugin = NULL;
        na_return_t ret;

        if (candidate->shadowed ||
            (wanted->protocol &&
                !plugin_candidate_offers(candidate, wanted->protocol, false)))
            continue;
        ++*count_p;
        ret = load_chosen(NULL, candidate, wanted, &plugin);
        if (ret == NA_NOMEM)
            return ret;
        if (ret != NA_SUCCESS) {
            log_suspect(candidate);
            continue;
        }
        ret = visit(arg, plugin);
        if (ret != NA_SUCCESS)
            return ret;
    }
    return NA_SUCCESS;
}

static na_return_t
each_found(struct plugin_report *report, const struct wanted *wanted,
    na_return_t (*visit)(void *arg, const struct na_plugin *plugin), void *arg)
{
    struct plugin_search search;
    size_t count = 0;
    na_return_t ret = plugin_search_run(&search);

    if (ret == NA_SUCCESS)
        ret = learn_all(&search);
    if (ret == NA_SUCCESS)
        ret = visit_all(&search, wanted, visit, arg, &count);
    if (ret == NA_SUCCESS && wanted->protocol && count == 0) {
        ret = report_none(report, &search, wanted);
        plugin_report_log(report);
    }
    plugin_search_finish(&search);
    return ret;
}

na_return_t
plugin_each(const char *plugin, const char *protocol,
    na_return_t (*visit)(void *arg, const struct na_plugin *plugin), void *arg)
{
    const struct wanted wanted = {plugin, protocol, NULL};
    const struct plugin_info info = {(char *) (uintptr_t) plugin,
        (char *) (uintptr_t) (protocol ? protocol : "*"), NULL, NULL, NULL, -1};
    struct plugin_report *report = plugin_report_create();
    na_return_t ret;

    plugin_report_set_info(report, &info);
    if (plugin)
        ret = each_named(report, &wanted, visit, arg);
    else
        ret = each_found(report, &wanted, visit, arg);
    plugin_report_destroy(report);
    return ret;
}

const char *
plugin_path(const struct na_plugin *plugin)
{
    return plugin_load_path(plugin);
}

void
plugin_cleanup(void)
{
    plugin_registered_cleanup();
    plugin_load_cleanup();
    plugin_report_cleanup();
}
