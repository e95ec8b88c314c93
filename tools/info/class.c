/* SPDX-License-Identifier: BSD-3-Clause */
/* talaria info INFO: opens a plugin and shows its properties, or why it
 * fails. */
#include "info/info.h"

#include "common/device.h"
#include "common/output.h"
#include "common/tool.h"
#include "na.h"
#include "talaria.h"

#include <stdlib.h>
#include <string.h>

/* What a class reports. */
struct facts {
    struct talaria_report *report;
    struct na_protocol_info *devices;
};

static void
facts_finish(struct facts *facts)
{
    talaria_class_report_free(facts->report);
    NA_Free_protocol_info(facts->devices);
}

static na_return_t
facts_get(na_class_t *na_class, struct facts *facts)
{
    char *protocol;
    na_return_t ret = talaria_class_report(na_class, &facts->report);

    if (ret != NA_SUCCESS)
        return ret;
    if (asprintf(&protocol, "%s+%s", NA_Get_class_name(na_class),
            NA_Get_class_protocol(na_class)) < 0)
        return NA_NOMEM;
    ret = NA_Get_protocol_info(protocol, &facts->devices);
    free(protocol);
    return ret;
}

static json_t *
entry_json(const struct talaria_report_entry *entry)
{
    return json_pack("{s:o, s:o}", "name", output_json_text(entry->name),
        "value",
        entry->text ? output_json_text(entry->text)
                    : json_integer((json_int_t) entry->value));
}

/* Returns the addresses of a device as an array. */
static json_t *
addresses_json(const char *device)
{
    char *addresses = device_addresses(device), *rest = NULL;
    json_t *array = json_array();

    for (char *word = addresses ? strtok_r(addresses, " ", &rest) : NULL; word;
         word = strtok_r(NULL, " ", &rest))
        output_json_append(&array, output_json_text(word));
    free(addresses);
    return array;
}

static int
print_facts_json(const char *info_string, const struct facts *facts)
{
    json_t *report = json_array(), *devices = json_array();

    for (size_t i = 0; i < facts->report->count; i++)
        output_json_append(&report, entry_json(facts->report->entries[i]));
    for (const struct na_protocol_info *p = facts->devices; p; p = p->next)
        json_array_append_new(
            devices, json_pack("{s:o, s:o, s:o, s:o}", "plugin",
                         output_json_text(p->class_name), "protocol",
                         output_json_text(p->protocol_name), "device",
                         output_json_text(p->device_name), "addresses",
                         addresses_json(p->device_name)));
    return output_json(json_pack("{s:o, s:o, s:o}", "info",
        output_json_text(info_string), "report", report, "devices", devices));
}

static int
print_entries(const struct facts *facts)
{
    size_t count = facts->report->count;
    struct output_row *rows = calloc(count + 1, sizeof *rows);
    char(*values)[24] = calloc(count + 1, sizeof *values);

    if (rows && values) {
        for (size_t i = 0; i < count; i++) {
            const struct talaria_report_entry *entry =
                facts->report->entries[i];

            snprintf(
                values[i], sizeof values[i], "%ju", (uintmax_t) entry->value);
            rows[i].cells[0] = entry->name;
            rows[i].cells[1] = entry->text ? entry->text : values[i];
        }
        output_table(stdout, "", rows, count, 2);
    }
    free(values);
    free(rows);
    return rows && values ? TOOL_OK : TOOL_FAILED;
}

/* A device that is listed once for each of its addresses is shown once. */
static int
print_facts(const struct facts *facts)
{
    const struct na_protocol_info *before = NULL;
    int result = print_entries(facts);

    for (const struct na_protocol_info *p = facts->devices; p; p = p->next) {
        const char *device = p->device_name ? p->device_name : "";
        char *addresses;

        if (before && strcmp(before->protocol_name, p->protocol_name) == 0 &&
            before->device_name && strcmp(before->device_name, device) == 0)
            continue;
        addresses = device_addresses(device);
        printf("%s  %s+%s  %s%s%s\n", before ? "" : "\nDevices:\n",
            p->class_name, p->protocol_name, *device ? device : "-",
            addresses && *addresses ? "  " : "", addresses ? addresses : "");
        free(addresses);
        before = p;
    }
    return result;
}

static json_t *
candidate_json(const struct talaria_candidate *candidate)
{
    return json_pack("{s:o, s:o, s:s, s:s, s:o}", "plugin",
        output_json_text(candidate->plugin), "path",
        output_json_text(candidate->path), "stage",
        talaria_stage_to_string(candidate->stage), "code",
        NA_Error_to_string(candidate->code), "text",
        output_json_text(candidate->text));
}

static int
print_failure_json(
    const char *info_string, const struct talaria_open_result *result)
{
    json_t *candidates = json_array();

    for (size_t i = 0; i < result->count; i++)
        output_json_append(&candidates, candidate_json(result->candidates[i]));
    return output_json(json_pack("{s:o, s:{s:s, s:o}, s:o}", "info",
        output_json_text(info_string), "error", "code",
        NA_Error_to_string(result->code), "text",
        output_json_text(result->text), "candidates", candidates));
}

static void
print_failure(const char *info_string, const struct talaria_open_result *result)
{
    fprintf(stderr, "%s: %s: %s\n", info_string,
        NA_Error_to_string(result->code), result->text);
    if (result->count > 0)
        fputs("Candidates:\n", stderr);
    for (size_t i = 0; i < result->count; i++) {
        const struct talaria_candidate *candidate = result->candidates[i];

        if (!candidate->path && !candidate->plugin)
            continue;
        fprintf(stderr, "  %s%s%s\n    %s%s%s\n",
            candidate->plugin ? candidate->plugin : "",
            candidate->plugin && candidate->path ? "  " : "",
            candidate->path ? candidate->path : "",
            talaria_stage_to_string(candidate->stage),
            *candidate->text ? ": " : "", candidate->text);
    }
}

static void
show_failure(const char *info_string, bool json)
{
    struct talaria_open_result *result;
    na_return_t ret = talaria_open_report(&result);

    if (ret != NA_SUCCESS) {
        fprintf(
            stderr, "talaria info: no report: %s\n", NA_Error_to_string(ret));
        return;
    }
    if (json)
        print_failure_json(info_string, result);
    else
        print_failure(info_string, result);
    talaria_open_report_free(result);
}

int
info_class(const char *info_string, bool json)
{
    na_class_t *na_class = NA_Initialize(info_string, false);
    struct facts facts = {.report = NULL};
    na_return_t ret;
    int result;

    if (!na_class) {
        show_failure(info_string, json);
        return TOOL_FAILED;
    }
    ret = facts_get(na_class, &facts);
    if (ret != NA_SUCCESS) {
        fprintf(stderr, "talaria info: %s: %s\n", info_string,
            NA_Error_to_string(ret));
        result = TOOL_FAILED;
    } else if (json) {
        result = print_facts_json(info_string, &facts);
    } else {
        result = print_facts(&facts);
    }
    facts_finish(&facts);
    if (NA_Finalize(na_class) != NA_SUCCESS)
        result = TOOL_FAILED;
    return result;
}
