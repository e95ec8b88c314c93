/* SPDX-License-Identifier: BSD-3-Clause */
/* A file with an array of JSON values, one a line, which several processes may
 * write at once. Callers exclude one another. */
#ifndef WATCH_FILE_H
#define WATCH_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Opens the file and writes the first value. "%p" in the path is the process's
 * id. A file that no other process writes is emptied, if it is such a file.
 * Returns false with a reason. */
bool watch_file_open(const char *path, char *reason, size_t reason_size,
    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Adds a value, at most 1 KiB. */
void watch_file_add(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Writes what was added. After an error nothing is written any more. */
void watch_file_flush(void);

/* The same, and ends the array if no other process writes it. */
void watch_file_close(void);

/* Copies a text for a JSON string, cut to size. What is not printable ASCII
 * becomes '?'. */
void watch_file_escape(const char *text, char *to, size_t size);

#endif /* WATCH_FILE_H */
