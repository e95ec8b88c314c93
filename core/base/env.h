/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one place that reads the environment. What is read:
 *
 *   HG_LOG_LEVEL          none, error (default), warning, info, debug
 *   HG_LOG_SUBSYS         which subsystems log, see base/log.h
 *   TALARIA_PLUGIN_FILES  colon-separated shared objects: only these plugins
 *   TALARIA_PLUGIN_PATH   colon-separated folders with manifests
 *   TALARIA_HG_ACK_TIMEOUT_MS
 *                         milliseconds until an answer beyond a message, which
 *                         its origin neither acknowledges nor gives up, ends
 *                         with HG_TIMEOUT; 300000 by default, 0: never
 *   TALARIA_HG_OVERFLOW_MAX
 *                         bytes of arguments or results beyond a message that a
 *                         peer may announce, 256 MiB by default; more is refused
 *                         with HG_MSGSIZE
 *   TALARIA_HG_OVERFLOW_TOTAL
 *                         bytes of such that a context holds at once, 1 GiB by
 *                         default: arguments and results that it fetched,
 *                         answers that their origin has yet to acknowledge, each
 *                         with the buffers of its handle. More is refused with
 *                         HG_AGAIN; so is, from half of that on, what one peer
 *                         asks a target for beyond an eighth of it
 *   TALARIA_<PLUGIN>_*    settings of a plugin, see base_env_plugin_setting
 *
 * In a privileged process (AT_SECURE) all but the first two are ignored, with
 * a log line.
 */
#ifndef BASE_ENV_H
#define BASE_ENV_H

/* The value of a variable, NULL when unset, empty, or not to be trusted.
 * Valid until the environment changes. */
const char *base_env_get(const char *name);

/* The value of a plugin's setting: key "sm.ring_size" is the variable
 * TALARIA_SM_RING_SIZE. NULL when it is unset or the key has other characters
 * than letters, digits, '_', '-' and '.'. */
const char *base_env_plugin_setting(const char *key);

#endif /* BASE_ENV_H */
