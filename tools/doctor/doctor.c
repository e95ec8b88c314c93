/* SPDX-License-Identifier: BSD-3-Clause */
/* talaria doctor: checks the machine, the environment, plugins, transports. */
#include "doctor/doctor.h"

#include "common/output.h"
#include "common/tool.h"
#include "settings/settings.h"
#include "talaria.h"

#include <argp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>

#define TIMEOUT_DEFAULT 15
#define TIMEOUT_MAX 3600
#define OPTION_TO 256

struct arguments {
    const char *info_string; /* NULL: every installed transport */
    const char *address;     /* NULL: none */
    unsigned int timeout;    /* s */
    bool json;
};

static const struct argp_option options[] = {
    {"json", 'j', NULL, 0, "Print JSON", 0},
    {"timeout", 't', "SECONDS", 0,
        "Time to wait for an answer of ADDRESS (default 15)", 0},
    {"to", OPTION_TO, "ADDRESS", 0, "Call the server at ADDRESS as well", 0},
    {0},
};

static error_t
parse_option(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    char *end;
    long number;

    switch (key) {
    case 'j':
        arguments->json = true;
        return 0;
    case 't':
        number = strtol(arg, &end, 10);
        if (end == arg || *end || number < 1 || number > TIMEOUT_MAX)
            argp_error(
                state, "'%s' is not a number from 1 to %d", arg, TIMEOUT_MAX);
        arguments->timeout = (unsigned int) number;
        return 0;
    case OPTION_TO:
        arguments->address = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->info_string)
            argp_error(state, "one INFO at a time");
        arguments->info_string = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void
doctor_report(struct doctor *doctor, enum doctor_result result,
    const char *check, const char *advice, const char *text, ...)
{
    static const char *const words[] = {"ok", "warning", "failed"};
    char *line;
    va_list list;

    va_start(list, text);
    if (vasprintf(&line, text, list) < 0)
        line = NULL;
    va_end(list);
    if (result == DOCTOR_FAILED)
        doctor->failed = true;
    if (doctor->checks)
        output_json_append(&doctor->checks,
            json_pack("{s:o, s:s, s:o, s:o}", "check", output_json_text(check),
                "result", words[result], "text", output_json_text(line),
                "advice", output_json_text(advice)));
    else
        printf("%-7s  %s: %s%s%s\n", words[result], check,
            line ? line : "out of memory", advice ? "; " : "",
            advice ? advice : "");
    free(line);
}

static void
check_all(struct doctor *doctor, const struct arguments *arguments)
{
    struct settings_list settings;
    char **transports = NULL;

    doctor_report(doctor, DOCTOR_OK, "version", NULL,
        "talaria %s, libtalaria %s", TALARIA_VERSION, talaria_version());
    doctor_check_system(doctor);
    if (settings_collect(&settings, NULL, 0)) {
        doctor_check_environment(doctor, &settings);
        doctor_check_plugins(doctor, &settings, &transports);
        settings_free(&settings);
    } else {
        doctor_report(doctor, DOCTOR_FAILED, "environment", NULL,
            "settings and plugins cannot be read: out of memory");
    }
    if (arguments->info_string)
        doctor_check_transport(doctor, arguments->info_string);
    for (char **p = transports; !arguments->info_string && p && *p; p++)
        doctor_check_transport(doctor, *p);
    if (arguments->address)
        doctor_check_address(doctor, arguments->address, arguments->timeout);
    doctor_free_transports(transports);
}

int
tool_doctor(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
        .parser = parse_option,
        .args_doc = "[INFO]",
        .doc =
            "Checks limits and permissions, the variables of the environment, "
            "the installed plugins, and the transport INFO, such as ofi+tcp, "
            "or one of each plugin: its devices, and a call within this "
            "process. Prints a line for each check: ok, warning or failed, "
            "what was found, and what to type.\v"
            "Exit status: 0 if no check fails, 1 if one fails, 2 if the "
            "command line is invalid."};
    struct arguments arguments = {.timeout = TIMEOUT_DEFAULT};
    struct doctor doctor = {.checks = NULL};
    int result;

    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0)
        return TOOL_USAGE;
    /* In order with the log, where both go to one place. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    /* A file beyond the limit on sizes is a finding, not the end. */
    signal(SIGXFSZ, SIG_IGN);
    doctor.checks = arguments.json ? json_array() : NULL;
    check_all(&doctor, &arguments);
    result = doctor.failed ? TOOL_FAILED : TOOL_OK;
    if (arguments.json &&
        output_json(json_pack("{s:o}", "checks", doctor.checks)) != TOOL_OK)
        result = TOOL_FAILED;
    return result;
}
