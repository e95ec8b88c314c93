/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A folder of its own for each test, with copies of the test plugins and their
 * manifests; and the lines that the core logs.
 */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "talaria.h"

/* Unchecked fixtures: they run in the process of libcheck, so that a test that
 * dies leaves nothing behind. */
void fixture_setup(void);
void fixture_teardown(void);

/* Makes a fresh folder the one that the others mean, unsets TALARIA_PLUGIN_*,
 * and begins to collect the log at level debug. First call of each test. */
void fixture_begin(void);

/* A path in the folder, by format. Stays valid for 16 calls more. */
const char *fixture_path(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* Creates a folder, a file with a text, a copy of the test plugin variant. The
 * path is relative to the folder; its real path is returned. A copy that is
 * loaded must not be written again. */
const char *fixture_mkdir(const char *path);
const char *fixture_write(const char *path, const char *text);
const char *fixture_copy(const char *path, const char *variant);

/* Writes the manifest that a plugin with these properties has. protocols: as
 * JSON. */
const char *fixture_manifest(const char *path, const char *library,
    const char *name, const char *protocols, int priority);

/* The path of a test plugin as it was built. */
const char *fixture_variant(const char *variant);

/* How many lines of a level, "error" to "debug", were logged; all of them. */
size_t fixture_log_count(const char *level);
const char *fixture_log(void);
bool fixture_logged(const char *text);
void fixture_log_clear(void);

/* Candidate index of the last report is this one. */
void fixture_ck_candidate(size_t index, const char *path, const char *plugin,
    enum talaria_stage stage, na_return_t code);

#endif /* FIXTURE_H */
