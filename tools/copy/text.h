/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and sizes as text. A peer's name cannot control the terminal. */
#ifndef COPY_TEXT_H
#define COPY_TEXT_H

#include <stdint.h>
#include <stdio.h>

/* Writes a name; control bytes, backslashes and invalid UTF-8 as \xHH. */
void copy_text_name(FILE *stream, const char *name);

/* Writes a number of bytes for people, such as "12.3 MiB", into text. */
void copy_text_bytes(char *text, size_t size, uint64_t bytes);

#endif /* COPY_TEXT_H */
