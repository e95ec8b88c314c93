/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The only code that reads the environment. Variables:
 *
 *   HG_LOG_LEVEL          none, error (default), warning, info, debug
 *   HG_LOG_SUBSYS         which subsystems log, see base/log.h
 *   TALARIA_PLUGIN_FILES  colon-separated shared objects: only these plugins
 *   TALARIA_PLUGIN_PATH   colon-separated folders with manifests
 *   TALARIA_PUBLISH       1: publish statistics, see watch/page.h
 *   TALARIA_TRACE         a file: write a trace of calls, see watch/trace.c
 *   TALARIA_HG_*          settings of the core, see setting/core.c
 *   TALARIA_<PLUGIN>_*    settings of a plugin, see setting/values.h
 *
 * In a privileged process (AT_SECURE) all but the first two are ignored, with
 * a log line.
 */
#ifndef BASE_ENV_H
#define BASE_ENV_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the longest variable name that is read, with its zero. */
#define BASE_ENV_NAME_SIZE 128U

/* Returns the value of a variable, or NULL if it is unset, empty, or the
 * process is privileged. Valid until the environment changes. */
const char *base_env_get(const char *name);

/* Returns whether a variable is set, and ignored because the process is
 * privileged; not for HG_LOG_*, which are read anyway. BASE_ENV_IGNORED: the text
 * for that, after its name. */
bool base_env_is_ignored(const char *name);
#define BASE_ENV_IGNORED " is ignored in a privileged process"

/* Returns the value of a plugin's setting: key "sm.ring_size" is the variable
 * TALARIA_SM_RING_SIZE. NULL: unset, or the key has characters other than
 * letters, digits, '_', '-' and '.'. */
const char *base_env_plugin_setting(const char *key);

/* Writes the variable of a key. Returns false if the key has none. */
bool base_env_variable(const char *key, char name[BASE_ENV_NAME_SIZE]);

/* Writes the name of the next variable that begins with "TALARIA_". Returns
 * false after the last. *at_p: 0 at first. No other thread may change the
 * environment meanwhile. */
bool base_env_next(size_t *at_p, char name[BASE_ENV_NAME_SIZE]);

#endif /* BASE_ENV_H */
