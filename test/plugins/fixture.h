/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A folder per case, with copies of the test plugins and their manifests; and
 * the core's log lines.
 */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "talaria.h"

/* Unchecked fixtures: they run in libcheck's process, so that a crashing case
 * leaves nothing behind. */
void fixture_setup(void);
void fixture_teardown(void);

/* Creates a new folder for the functions below, unsets TALARIA_PLUGIN_*, and
 * starts to collect the log at level debug. First call of each case. */
void fixture_begin(void);

/* A path in the folder, by format. Valid for 16 more calls. */
const char *fixture_path(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Create a folder, a file with a text, a copy of a test plugin variant. The
 * path is relative to the folder; returns the real path. A copy that is loaded
 * must not be written again. */
const char *fixture_mkdir(const char *path);
const char *fixture_write(const char *path, const char *text);
const char *fixture_copy(const char *path, const char *variant);

/* Writes the manifest of a plugin with these properties. protocols: JSON. */
const char *fixture_manifest(const char *path, const char *library,
    const char *name, const char *protocols, int priority);

/* The path of a test plugin in the build folder. */
const char *fixture_variant(const char *variant);

/* Number of logged lines of a level, "error" to "debug"; all of them. */
size_t fixture_log_count(const char *level);
const char *fixture_log(void);
bool fixture_logged(const char *text);
void fixture_log_clear(void);

/* Checks candidate number index of the last report. */
void fixture_ck_candidate(size_t index, const char *path, const char *plugin,
    enum talaria_stage stage, na_return_t code);

#endif /* FIXTURE_H */
