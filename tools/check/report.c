/* SPDX-License-Identifier: BSD-3-Clause */
/* The kit's report in three formats. */
#include "check/report.h"

#include "common/output.h"
#include "common/tool.h"

#include <errno.h>
#include <string.h>

enum kit_verdict
kit_report_rule(
    const struct kit_report *report, uint32_t rule, struct kit_tally *tally_p)
{
    enum kit_verdict verdict = KIT_NOT_RUN;

    memset(tally_p, 0, sizeof *tally_p);
    for (size_t i = 0; i < report->count; i++) {
        const struct kit_outcome *outcome = &report->outcomes[i];
        bool failed = outcome->verdict == KIT_FAILED;

        /* A case that broke another rule has no result for its own. */
        if ((failed ? outcome->rule : outcome->it->rule) != rule)
            continue;
        tally_p->verdicts[outcome->verdict]++;
    }
    if (tally_p->verdicts[KIT_FAILED] > 0)
        verdict = KIT_FAILED;
    else if (tally_p->verdicts[KIT_PASSED] > 0)
        verdict = KIT_PASSED;
    else if (tally_p->verdicts[KIT_NOT_OFFERED] > 0)
        verdict = KIT_NOT_OFFERED;
    return verdict;
}

/* Returns the logged lines, oldest first. */
static const char *
log_line(const struct kit_outcome *outcome, uint32_t i)
{
    uint32_t first =
        outcome->lines > KIT_LINES ? outcome->lines - KIT_LINES : 0;

    return first + i < outcome->lines ? outcome->log[(first + i) % KIT_LINES]
                                      : NULL;
}

static void
print_indented(FILE *stream, const char *head, const char *text)
{
    while (*text) {
        size_t length = strcspn(text, "\n");

        fprintf(stream, "    %-10s %.*s\n", head, (int) length, text);
        text += length + (text[length] == '\n');
        head = "";
    }
}

void
kit_print_failure(FILE *stream, const struct kit_outcome *outcome)
{
    const char *line;

    fprintf(stream, "FAILED  rule %u  %s: %s\n", outcome->rule,
        outcome->it->name, outcome->it->text);
    print_indented(stream, "expected", outcome->expected);
    print_indented(stream, "found", outcome->found);
    if (outcome->step)
        print_indented(stream, "while", outcome->step);
    if (outcome->call)
        fprintf(stream, "    %-10s %s\n", "in", outcome->call);
    for (uint32_t i = 0; (line = log_line(outcome, i)) != NULL; i++)
        print_indented(stream, i == 0 ? "log" : "", line);
    print_indented(stream, "output", outcome->output);
}

void
kit_print_summary(FILE *stream, const struct kit_report *report)
{
    struct kit_tally tally, all = {{0}};

    for (uint32_t rule = 1; rule < KIT_RULES; rule++) {
        enum kit_verdict verdict = kit_report_rule(report, rule, &tally);
        size_t cases = 0;

        for (size_t i = 0; i <= KIT_NOT_RUN; i++)
            cases += tally.verdicts[i];
        if (cases == 0)
            continue;
        fprintf(stream, "rule %2u  %-42s %-11s", rule, kit_rule_title(rule),
            kit_verdict_text(verdict));
        for (size_t i = 0; i <= KIT_NOT_RUN; i++)
            if (tally.verdicts[i] > 0 && tally.verdicts[i] < cases)
                fprintf(stream, " %zu %s", tally.verdicts[i],
                    kit_verdict_text((enum kit_verdict) i));
        fputc('\n', stream);
    }
    for (size_t i = 0; i < report->count; i++)
        all.verdicts[report->outcomes[i].verdict]++;
    fprintf(stream,
        "%s+%s: %zu passed, %zu failed, %zu not offered, %zu not run\n",
        report->name, report->protocol, all.verdicts[KIT_PASSED],
        all.verdicts[KIT_FAILED], all.verdicts[KIT_NOT_OFFERED],
        all.verdicts[KIT_NOT_RUN]);
}

static json_t *
outcome_json(const struct kit_outcome *outcome)
{
    json_t *log = json_array();
    bool failed = outcome->verdict == KIT_FAILED;
    const char *line;

    for (uint32_t i = 0; (line = log_line(outcome, i)) != NULL; i++)
        output_json_append(&log, output_json_text(line));
    return json_pack(
        "{s:s, s:i, s:s, s:s, s:o, s:o, s:o, s:s?, s:s?, s:f, s:o, s:o}",
        "name", outcome->it->name, "rule", (int) outcome->it->rule, "text",
        outcome->it->text, "verdict", kit_verdict_text(outcome->verdict),
        "broken_rule",
        failed ? json_integer((json_int_t) outcome->rule) : json_null(),
        "expected", output_json_text(failed ? outcome->expected : NULL),
        failed ? "came" : "reason",
        output_json_text(
            outcome->verdict == KIT_PASSED ? NULL : outcome->found),
        "step", outcome->step, "call", outcome->call, "seconds",
        outcome->seconds, "log", log, "output",
        output_json_text(outcome->output));
}

int
kit_print_json(const struct kit_report *report)
{
    json_t *rules = json_array(), *cases = json_array();
    struct kit_tally tally, all = {{0}};

    for (uint32_t rule = 1; rule < KIT_RULES; rule++) {
        enum kit_verdict verdict = kit_report_rule(report, rule, &tally);
        size_t count = 0;

        for (size_t i = 0; i <= KIT_NOT_RUN; i++)
            count += tally.verdicts[i];
        if (count > 0)
            output_json_append(
                &rules, json_pack("{s:i, s:s, s:s}", "rule", (int) rule,
                            "title", kit_rule_title(rule), "verdict",
                            kit_verdict_text(verdict)));
    }
    for (size_t i = 0; i < report->count; i++) {
        all.verdicts[report->outcomes[i].verdict]++;
        output_json_append(&cases, outcome_json(&report->outcomes[i]));
    }
    return output_json(
        json_pack("{s:s, s:{s:o, s:o, s:o, s:o}, s:i, s:i, s:i, s:i, s:o, s:o}",
            "format", "1.0", "plugin", "path", output_json_text(report->path),
            "name", output_json_text(report->name), "version",
            output_json_text(report->version), "protocol",
            output_json_text(report->protocol), "passed",
            (int) all.verdicts[KIT_PASSED], "failed",
            (int) all.verdicts[KIT_FAILED], "not_offered",
            (int) all.verdicts[KIT_NOT_OFFERED], "not_run",
            (int) all.verdicts[KIT_NOT_RUN], "rules", rules, "cases", cases));
}

/* Writes text for XML 1.0; '?' replaces invalid characters. */
static void
put_xml(FILE *stream, const char *text)
{
    for (const char *p = text; *p; p++) {
        unsigned char byte = (unsigned char) *p;

        if (byte == '&')
            fputs("&amp;", stream);
        else if (byte == '<')
            fputs("&lt;", stream);
        else if (byte == '>')
            fputs("&gt;", stream);
        else if (byte == '"')
            fputs("&quot;", stream);
        else
            fputc((byte < ' ' && byte != '\n') || byte > '~' ? '?' : byte,
                stream);
    }
}

static void
put_case(FILE *stream, const struct kit_outcome *outcome)
{
    fprintf(stream,
        "  <testcase classname=\"rule %u\" name=\"%s\" time=\"%.3f\"",
        outcome->it->rule, outcome->it->name, outcome->seconds);
    if (outcome->verdict == KIT_PASSED) {
        fputs("/>\n", stream);
        return;
    }
    fputs(">\n", stream);
    if (outcome->verdict == KIT_FAILED) {
        fprintf(
            stream, "    <failure message=\"rule %u: expected ", outcome->rule);
        put_xml(stream, outcome->expected);
        fputs("\">", stream);
        put_xml(stream, outcome->found);
        fputs("</failure>\n", stream);
    } else {
        fprintf(stream,
            "    <skipped message=\"%s: ", kit_verdict_text(outcome->verdict));
        put_xml(stream, outcome->found);
        fputs("\"/>\n", stream);
    }
    fputs("  </testcase>\n", stream);
}

int
kit_write_junit(const struct kit_report *report, const char *path)
{
    FILE *stream = fopen(path, "we");
    size_t failed = 0, skipped = 0;
    bool whole;

    if (!stream) {
        fprintf(stderr, "talaria check: %s: %s\n", path, strerror(errno));
        return TOOL_FAILED;
    }
    for (size_t i = 0; i < report->count; i++) {
        failed += report->outcomes[i].verdict == KIT_FAILED;
        skipped += report->outcomes[i].verdict > KIT_FAILED;
    }
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"",
        stream);
    put_xml(stream, report->name);
    fputc('+', stream);
    put_xml(stream, report->protocol);
    fprintf(stream, "\" tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\">\n",
        report->count, failed, skipped);
    for (size_t i = 0; i < report->count; i++)
        put_case(stream, &report->outcomes[i]);
    fputs("</testsuite>\n", stream);
    whole = !ferror(stream);
    if (fclose(stream) == 0 && whole)
        return TOOL_OK;
    fprintf(stderr, "talaria check: %s: %s\n", path, strerror(errno));
    return TOOL_FAILED;
}
