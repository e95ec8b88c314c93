/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables, CSV and JSON. */
#include "common/output.h"

#include "common/tool.h"

#include <stdlib.h>
#include <string.h>

/* Cells longer than this are not padded to. */
#define WIDEST 60

static const char *
shown(const char *cell)
{
    return cell && *cell ? cell : "-";
}

void
output_table(FILE *stream, const char *indent, const struct output_row *rows,
    size_t count, size_t columns)
{
    int widths[OUTPUT_COLUMNS_MAX] = {0};

    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < columns; j++) {
            int width = (int) strlen(shown(rows[i].cells[j]));

            if (width > widths[j] && width <= WIDEST)
                widths[j] = width;
        }
    for (size_t i = 0; i < count; i++) {
        fputs(indent, stream);
        for (size_t j = 0; j + 1 < columns; j++)
            fprintf(stream, "%-*s  ", widths[j], shown(rows[i].cells[j]));
        fprintf(stream, "%s\n", shown(rows[i].cells[columns - 1]));
        if (rows[i].note)
            fprintf(stream, "%s    %s\n", indent, rows[i].note);
    }
}

void
output_csv_text(FILE *stream, const char *text)
{
    if (!text)
        return;
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, stream);
        return;
    }
    fputc('"', stream);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', stream);
        fputc(*text, stream);
    }
    fputc('"', stream);
}

json_t *
output_json_text(const char *text)
{
    json_t *value;
    char *ascii;

    if (!text)
        return json_null();
    value = json_string(text);
    if (value)
        return value;
    ascii = strdup(text);
    for (char *p = ascii; p && *p; p++)
        if ((unsigned char) *p > '~')
            *p = '?';
    value = ascii ? json_string(ascii) : NULL;
    free(ascii);
    return value;
}

void
output_json_append(json_t **array_p, json_t *value)
{
    if (json_array_append_new(*array_p, value) == 0)
        return;
    json_decref(*array_p);
    *array_p = NULL;
}

int
output_json(json_t *value)
{
    int result = TOOL_OK;

    if (value && json_dumpf(value, stdout, JSON_INDENT(2)) == 0) {
        putchar('\n');
    } else {
        fputs("talaria: cannot write JSON\n", stderr);
        result = TOOL_FAILED;
    }
    json_decref(value);
    return result;
}
