/* SPDX-License-Identifier: BSD-3-Clause */
/* What subcommands print: aligned columns for people, JSON for programs. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <jansson.h>
#include <stdio.h>

/* Most columns of a table. */
#define OUTPUT_COLUMNS_MAX 8

/* A row; what is missing is NULL and shown as "-". */
struct output_row {
    const char *cells[OUTPUT_COLUMNS_MAX];
};

/* Prints rows of so many cells, each column as wide as its longest cell and
 * every line preceded by indent. */
void output_table(FILE *stream, const char *indent,
    const struct output_row *rows, size_t count, size_t columns);

/* Prints a field of CSV (RFC 4180); nothing of NULL. */
void output_csv_text(FILE *stream, const char *text);

/* A JSON string of any bytes, those that are not ASCII as '?' when they are
 * not UTF-8; null of NULL. */
json_t *output_json_text(const char *text);

/* Appends a value to an array, giving it up. Short of memory *array_p becomes
 * NULL, which json_pack and output_json pass on. */
void output_json_append(json_t **array_p, json_t *value);

/* Prints a value and gives it up; NULL, for want of memory, is an error.
 * Returns what a subcommand does. */
int output_json(json_t *value);

#endif /* OUTPUT_H */
