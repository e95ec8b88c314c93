/* SPDX-License-Identifier: BSD-3-Clause */
/* What the checks of talaria doctor find. */
#ifndef DOCTOR_H
#define DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct settings_list;

enum doctor_result { DOCTOR_OK, DOCTOR_WARNING, DOCTOR_FAILED };

struct doctor {
    json_t *checks; /* NULL: print lines */
    bool failed;    /* one check at least */
};

/* Reports a check. advice: what to type or to change, or NULL. text: printf. */
__attribute__((format(printf, 5, 6))) void doctor_report(struct doctor *doctor,
    enum doctor_result result, const char *check, const char *advice,
    const char *text, ...);

/* Limits and permissions of this process and its machine. */
void doctor_check_system(struct doctor *doctor);

/* Settings in the environment, and variables that only look like settings. */
void doctor_check_environment(
    struct doctor *doctor, const struct settings_list *settings);

/* Checks that all installed plugins load, of which `settings` has those that do
 * not. transports_p: set to an array of info strings, one for each plugin, NULL
 * at the end, which doctor_free_transports frees; NULL: out of memory. */
void doctor_check_plugins(struct doctor *doctor,
    const struct settings_list *settings, char ***transports_p);
void doctor_free_transports(char **transports);

/* Opens a transport, lists its devices, and calls an RPC within this process.
 */
void doctor_check_transport(struct doctor *doctor, const char *info_string);

/* Calls an RPC at an address. timeout: seconds. */
void doctor_check_address(
    struct doctor *doctor, const char *address, unsigned int timeout);

#endif /* DOCTOR_H */
