/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one place that reads the environment. What is read:
 *
 *   HG_LOG_LEVEL          none, error (default), warning, info, debug
 *   HG_LOG_SUBSYS         which subsystems log, see base/log.h
 *   TALARIA_PLUGIN_FILES  colon-separated shared objects: only these plugins
 *   TALARIA_PLUGIN_PATH   colon-separated folders with manifests
 *   TALARIA_HG_*          settings of the core, see hg/limits.c
 *   TALARIA_<PLUGIN>_*    settings of a plugin, see setting/values.h
 *
 * In a privileged process (AT_SECURE) all but the first two are ignored, with
 * a log line.
 */
#ifndef BASE_ENV_H
#define BASE_ENV_H

#include <stdbool.h>
#include <stddef.h>

/* The longest name of a variable that is looked at, with its zero. */
#define BASE_ENV_NAME_SIZE 128U

/* The value of a variable, NULL when unset, empty, or not to be trusted.
 * Valid until the environment changes. */
const char *base_env_get(const char *name);

/* The value of a plugin's setting: key "sm.ring_size" is the variable
 * TALARIA_SM_RING_SIZE. NULL when it is unset or the key has other characters
 * than letters, digits, '_', '-' and '.'. */
const char *base_env_plugin_setting(const char *key);

/* The variable of a key; false where it has none. */
bool base_env_variable(const char *key, char name[BASE_ENV_NAME_SIZE]);

/* The name of the next variable that begins with "TALARIA_"; false: that was
 * all. *at_p: 0 at first. Not while another thread changes the environment. */
bool base_env_next(size_t *at_p, char name[BASE_ENV_NAME_SIZE]);

#endif /* BASE_ENV_H */
