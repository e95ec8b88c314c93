/* SPDX-License-Identifier: BSD-3-Clause */
/* talaria check: the conformance kit's command line. */
#include "check/launch.h"
#include "check/report.h"
#include "check/target.h"
#include "common/tool.h"

#include <argp.h>
#include <argz.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPT_JUNIT = 256,
    OPT_LIST,
    OPT_MANIFEST,
    OPT_PATIENCE,
    OPT_LIMIT,
    OPT_QUICK,
    OPT_FAIL_FAST,
    OPT_LAUNCH,
    OPT_LEND,
    OPT_CASE
};

struct options {
    const char *plugin;
    const char *info;
    const char *junit;
    char *patterns; /* of case names, an argz vector; NULL: all */
    size_t patterns_size;
    const char *lend; /* in a launched process: the socket of its case */
    uint32_t rules;   /* bits; 0: all */
    bool json;
    bool list;
    bool verbose;
    bool fail_fast;
    bool stopped;
};

static const struct argp_option option_list[] = {
    {"json", 'j', NULL, 0, "Print the report as JSON", 0},
    {"junit", OPT_JUNIT, "FILE", 0, "Also write it as JUnit XML", 0},
    {"rule", 'r', "N", 0, "Only cases about this rule; may be repeated", 0},
    {"case", OPT_CASE, "PATTERN", 0,
        "Only cases whose name matches; may be repeated", 0},
    {"list", OPT_LIST, NULL, 0, "List the cases, and run none", 0},
    {"manifest", OPT_MANIFEST, "FILE", 0,
        "The plugin's manifest (default: the object's name with .json)", 0},
    {"set", 's', "KEY=VALUE", 0,
        "Set a setting of the plugin (sm.ring_size=65536)", 0},
    {"patience", OPT_PATIENCE, "SECONDS", 0,
        "Longest wait for an expected event (default: 10)", 0},
    {"limit", OPT_LIMIT, "SECONDS", 0, "Limit of one case (default: 60)", 0},
    {"quick", OPT_QUICK, NULL, 0, "A tenth of the repetitions", 0},
    {"fail-fast", OPT_FAIL_FAST, NULL, 0,
        "Stop at the first case that finds one of the selected rules broken",
        0},
    {"launch", OPT_LAUNCH, "COMMAND", 0,
        "Start the processes of a case by \"COMMAND -n N\" (mpirun)", 0},
    {"lend", OPT_LEND, "NAME", OPTION_HIDDEN, NULL, 0},
    {"verbose", 'v', NULL, 0, "Print a line for each case", 0},
    {0},
};

static unsigned long
parse_number(const char *text, unsigned long max, const char *what,
    const struct argp_state *state)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || value < 1 || value > max)
        argp_error(
            state, "%s is a number from 1 to %lu, not \"%s\"", what, max, text);
    return value;
}

static void
add_setting(char *text, const struct argp_state *state)
{
    struct kit_target *target = &kit_target;
    size_t size = (target->settings_count + 1) * sizeof *target->settings;
    char *equals = strchr(text, '=');
    struct kit_setting *settings;

    if (!equals || equals == text) {
        argp_error(state, "\"%s\" is not KEY=VALUE", text);
        return;
    }
    settings = realloc(target->settings, size);
    if (!settings) {
        argp_failure(state, TOOL_FAILED, 0, "out of memory");
        return;
    }
    *equals = '\0';
    settings[target->settings_count++] = (struct kit_setting){text, equals + 1};
    target->settings = settings;
}

static error_t
parse_argument(
    char *arg, struct options *options, const struct argp_state *state)
{
    if (!options->plugin)
        options->plugin = arg;
    else if (!options->info)
        options->info = arg;
    else
        argp_error(state, "\"%s\" is one argument too many", arg);
    return 0;
}

static error_t
parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case 'j':
        options->json = true;
        return 0;
    case 'r':
        options->rules |= 1U << parse_number(arg, 15, "a rule", state);
        return 0;
    case 's':
        add_setting(arg, state);
        return 0;
    case 'v':
        options->verbose = true;
        return 0;
    case OPT_JUNIT:
        options->junit = arg;
        return 0;
    case OPT_CASE:
        if (argz_add(&options->patterns, &options->patterns_size, arg) != 0)
            argp_failure(state, TOOL_FAILED, 0, "out of memory");
        return 0;
    case OPT_LIST:
        options->list = true;
        return 0;
    case OPT_MANIFEST:
        kit_target.manifest = arg;
        return 0;
    case OPT_PATIENCE:
        kit_target.patience_ns =
            parse_number(arg, 3600, "--patience", state) * 1000000000UL;
        return 0;
    case OPT_LIMIT:
        kit_target.seconds =
            (uint32_t) parse_number(arg, 86400, "--limit", state);
        return 0;
    case OPT_FAIL_FAST:
        options->fail_fast = true;
        return 0;
    case OPT_LAUNCH:
        kit_target.launcher = arg;
        return 0;
    case OPT_LEND:
        options->lend = arg;
        return 0;
    case OPT_QUICK:
        kit_target.quick = true;
        return 0;
    case ARGP_KEY_ARG:
        return parse_argument(arg, options, state);
    case ARGP_KEY_END:
        if (!options->plugin && !options->list && !options->lend)
            argp_error(state, "the plugin is missing");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool
wanted(const struct options *options, const struct kit_case *it)
{
    const char *pattern = NULL;

    if (options->rules && !(options->rules & (1U << it->rule)))
        return false;
    if (!options->patterns)
        return true;
    while ((pattern =
                argz_next(options->patterns, options->patterns_size, pattern)))
        if (fnmatch(pattern, it->name, FNM_EXTMATCH) == 0)
            return true;
    return false;
}

static int
list_cases(const struct options *options)
{
    for (uint32_t rule = 1; rule < KIT_RULES; rule++) {
        bool named = false;

        for (size_t i = 0; i < kit_groups_count; i++)
            for (size_t j = 0; j < kit_groups[i]->count; j++) {
                const struct kit_case *it = &kit_groups[i]->cases[j];

                if (it->rule != rule || !wanted(options, it))
                    continue;
                if (!named)
                    printf("rule %u: %s\n", rule, kit_rule_title(rule));
                named = true;
                printf("  %-36s %s\n", it->name, it->text);
            }
    }
    return TOOL_OK;
}

/* Shows the current case on a terminal. */
static void
show_progress(const struct kit_case *it)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K%s", it ? it->name : "");
}

static void
run_one(struct options *options, const struct kit_case *it,
    struct kit_facts *facts, struct kit_report *report)
{
    struct kit_outcome *outcome = &report->outcomes[report->count++];

    show_progress(it);
    kit_run_case(it, facts, outcome);
    show_progress(NULL);
    if (options->fail_fast && outcome->verdict == KIT_FAILED &&
        (!options->rules || options->rules & (1U << outcome->rule)))
        options->stopped = true;
    if (options->json)
        return;
    if (options->verbose)
        printf("%-11s rule %2u  %-36s %7.2f s%s%s\n",
            kit_verdict_text(outcome->verdict), it->rule, it->name,
            outcome->seconds, *outcome->found ? "  " : "",
            outcome->verdict == KIT_FAILED ? "" : outcome->found);
    if (outcome->verdict == KIT_FAILED)
        kit_print_failure(stdout, outcome);
    fflush(stdout);
}

/* If the class does not open, the static cases report why, and the others are
 * not run. */
static void
run_cases(
    struct options *options, struct kit_facts *facts, struct kit_report *report)
{
    for (size_t i = 0; i < kit_groups_count; i++) {
        if (i == 1)
            run_one(options, &kit_case_first, facts, report);
        for (size_t j = 0; j < kit_groups[i]->count; j++) {
            const struct kit_case *it = &kit_groups[i]->cases[j];

            if (options->stopped || !wanted(options, it))
                continue;
            if (i == 0 || facts->known) {
                run_one(options, it, facts, report);
                continue;
            }
            report->outcomes[report->count++] = (struct kit_outcome){.it = it,
                .verdict = KIT_NOT_RUN,
                .found = "the class does not open"};
        }
    }
    if (facts->known) {
        report->name = facts->name;
        report->version = facts->version;
        report->protocol = facts->protocol;
    }
}

/* Returns the manifest's path: .json in place of .so. */
static char *
manifest_beside(const char *path)
{
    size_t length = strlen(path);
    char *text;

    if (length > 3 && strcmp(path + length - 3, ".so") == 0)
        length -= 3;
    if (asprintf(&text, "%.*s.json", (int) length, path) < 0)
        return NULL;
    return text;
}

static int
check_plugin(struct options *options)
{
    struct kit_report report = {.path = options->plugin,
        .name = "?",
        .version = "?",
        .protocol = options->info ? options->info : "?"};
    struct kit_facts facts = {.known = false};
    size_t count = 1, failed = 0, passed = 0;
    int result = TOOL_OK;

    for (size_t i = 0; i < kit_groups_count; i++)
        count += kit_groups[i]->count;
    report.outcomes = calloc(count, sizeof *report.outcomes);
    /* Without a slash the loader would search elsewhere. */
    kit_target.path = realpath(options->plugin, NULL);
    if (!report.outcomes || !kit_target.path) {
        fprintf(stderr, "talaria check: %s: %s%s\n", options->plugin,
            strerror(errno),
            errno == ENOENT && !strchr(options->plugin, '/')
                ? "; expected the path of a plugin, which talaria info prints"
                : "");
        free(report.outcomes);
        return TOOL_FAILED;
    }
    if (!kit_target.manifest)
        kit_target.manifest = manifest_beside(kit_target.path);
    run_cases(options, &facts, &report);
    for (size_t i = 0; i < report.count; i++) {
        failed += report.outcomes[i].verdict == KIT_FAILED;
        passed += report.outcomes[i].verdict == KIT_PASSED;
    }
    if (options->json)
        result = kit_print_json(&report);
    else
        kit_print_summary(stdout, &report);
    if (options->junit && kit_write_junit(&report, options->junit) != TOOL_OK)
        result = TOOL_FAILED;
    free(report.outcomes);
    return failed == 0 && passed > 0 ? result : TOOL_FAILED;
}

int
tool_check(int argc, char **argv)
{
    static const struct argp argp = {.options = option_list,
        .parser = parse_option,
        .args_doc = "PLUGIN.so [PROTOCOL | INFO]",
        .doc = "Checks whether a transport plugin keeps the contract of "
               "na_plugin.h, rule by rule, in processes of its own. INFO is "
               "an info string, the protocol by default the first that the "
               "plugin lists.\v" TOOL_EXIT_CODES};
    struct options options = {.plugin = NULL};
    int result;

    kit_target.patience_ns = 10000000000U;
    kit_target.seconds = 60;
    if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
        return TOOL_FAILED;
    if (options.list) {
        result = list_cases(&options);
    } else if (options.lend) {
        result = kit_launch_lend(options.lend);
    } else if (options.info && !kit_target_parse(&kit_target, options.info)) {
        fprintf(
            stderr, "talaria check: \"%s\" names no protocol\n", options.info);
        result = TOOL_USAGE;
    } else {
        result = check_plugin(&options);
    }
    free(options.patterns);
    return result;
}
