/* SPDX-License-Identifier: BSD-3-Clause */
/* Which plugins are installed, and one transport of each. */
#include "doctor/doctor.h"

#include "na.h"
#include "settings/settings.h"
#include "talaria.h"

#include <stdlib.h>
#include <string.h>

static const char *
advice_for(enum talaria_stage stage)
{
    switch (stage) {
    case TALARIA_STAGE_NOT_FOUND:
        return "install the plugin again, or correct TALARIA_PLUGIN_FILES and "
               "TALARIA_PLUGIN_PATH";
    case TALARIA_STAGE_MANIFEST:
    case TALARIA_STAGE_NAME_MISMATCH:
        return "type: talaria manifest PLUGIN.so -o PLUGIN.json";
    case TALARIA_STAGE_PERMISSION:
        return "type: chmod go-w on it and its folder";
    case TALARIA_STAGE_ABI:
        return "install a plugin built for this version of Talaria";
    case TALARIA_STAGE_DLOPEN:
    case TALARIA_STAGE_SYMBOL:
        return "install the plugin and its libraries again";
    default:
        return NULL;
    }
}

/* Returns why a plugin does not load, or NULL. */
static const char *
load_fault(const struct settings_list *settings, const char *path)
{
    for (size_t i = 0; i < settings->fault_count; i++)
        if (strcmp(settings->faults[i].path, path) == 0)
            return settings->faults[i].text;
    return NULL;
}

/* Returns whether the plugin can be used. */
static bool
check_entry(struct doctor *doctor, const struct settings_list *settings,
    const struct talaria_plugin_entry *entry)
{
    const char *fault = NULL;
    const char *path =
        entry->library_path ? entry->library_path : entry->manifest_path;

    if (entry->stage == TALARIA_STAGE_OK && !entry->shadowed)
        fault = load_fault(settings, path);
    if (fault)
        doctor_report(doctor, DOCTOR_FAILED, "plugin",
            advice_for(TALARIA_STAGE_DLOPEN), "%s: %s", path, fault);
    else if (entry->stage != TALARIA_STAGE_OK)
        doctor_report(doctor, DOCTOR_FAILED, "plugin", advice_for(entry->stage),
            "%s: %s: %s", path, talaria_stage_to_string(entry->stage),
            entry->text);
    else if (entry->shadowed)
        doctor_report(doctor, DOCTOR_OK, "plugin", NULL,
            "%s at %s is not used: another one of that name precedes it",
            entry->name, path);
    else
        doctor_report(doctor, DOCTOR_OK, "plugin", NULL, "%s %s at %s",
            entry->name ? entry->name : "without a manifest",
            entry->version ? entry->version : "", path);
    return entry->stage == TALARIA_STAGE_OK && !entry->shadowed && !fault;
}

/* Returns "plugin+protocol" with its first protocol that has a device, else
 * with its first one; NULL: it lists none, or out of memory. */
static char *
transport_of(const struct talaria_plugin_entry *entry)
{
    char *first = NULL;

    for (const char *const *p = entry->protocols; p && *p; p++) {
        struct na_protocol_info *devices = NULL;
        char *info_string;
        bool found;

        if (asprintf(&info_string, "%s+%s", entry->name, *p) < 0)
            return first;
        found = NA_Get_protocol_info(info_string, &devices) == NA_SUCCESS &&
                devices;
        NA_Free_protocol_info(devices);
        if (found) {
            free(first);
            return info_string;
        }
        if (first)
            free(info_string);
        else
            first = info_string;
    }
    return first;
}

void
doctor_check_plugins(struct doctor *doctor,
    const struct settings_list *settings, char ***transports_p)
{
    struct talaria_plugin_list *list;
    na_return_t ret = talaria_plugin_list(&list);
    char **transports;
    size_t usable = 0, count = 0;

    *transports_p = NULL;
    if (ret != NA_SUCCESS) {
        doctor_report(doctor, DOCTOR_FAILED, "plugin", NULL, "%s",
            NA_Error_to_string(ret));
        return;
    }
    transports = calloc(list->count + 1, sizeof *transports);
    for (size_t i = 0; i < list->count; i++) {
        const struct talaria_plugin_entry *entry = list->entries[i];

        if (!check_entry(doctor, settings, entry))
            continue;
        usable++;
        if (transports && entry->name)
            transports[count] = transport_of(entry);
        if (transports)
            count += transports[count] != NULL;
    }
    if (usable == 0)
        doctor_report(doctor, DOCTOR_FAILED, "plugin",
            "install one, or set TALARIA_PLUGIN_PATH to its folder",
            "none is installed");
    *transports_p = transports;
    talaria_plugin_list_free(list);
}

void
doctor_free_transports(char **transports)
{
    for (char **p = transports; p && *p; p++)
        free(*p);
    free(transports);
}
