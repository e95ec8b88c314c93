/* SPDX-License-Identifier: BSD-3-Clause */
/* What subcommands print: aligned columns for people, JSON for programs. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <jansson.h>
#include <stdio.h>

/* Most columns of a table. */
#define OUTPUT_COLUMNS_MAX 8

/* A row. NULL: no value, shown as "-". */
struct output_row {
    const char *cells[OUTPUT_COLUMNS_MAX];
    const char *note; /* NULL, or a line below the row */
};

/* Prints rows of `columns` cells, each column as wide as its longest cell, up
 * to 60 characters, each line after `indent`. */
void output_table(FILE *stream, const char *indent,
    const struct output_row *rows, size_t count, size_t columns);

/* Prints a field of CSV (RFC 4180). NULL: an empty field. */
void output_csv_text(FILE *stream, const char *text);

/* Returns a JSON string. If the text is not UTF-8, '?' replaces each byte that
 * is not ASCII. NULL: a JSON null. */
json_t *output_json_text(const char *text);

/* Appends a value to an array and takes it over. Out of memory, *array_p
 * becomes NULL, which json_pack and output_json accept. */
void output_json_append(json_t **array_p, json_t *value);

/* Prints a value and takes it over; NULL (out of memory) is an error. Returns
 * the exit status. */
int output_json(json_t *value);

#endif /* OUTPUT_H */
