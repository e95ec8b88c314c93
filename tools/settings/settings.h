/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings of the core and of plugins: descriptions, values, and variables
 * of the environment that only look like settings. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#define SETTINGS_VARIABLE_SIZE 128
#define SETTINGS_RANGE_SIZE 160

/* Strings without an array are constant, of a plugin that stays loaded, or of
 * the environment, which must not change meanwhile. */
struct settings_row {
    const char *owner;                     /* "core", or the plugin's name */
    const char *key;                       /* NULL: a variable only */
    const char *const *protocols;          /* of the plugin, or NULL */
    char variable[SETTINGS_VARIABLE_SIZE]; /* "": none */
    const char *kind;
    char range[SETTINGS_RANGE_SIZE]; /* the valid values, in words */
    const char *initial;
    const char *value;
    bool from_environment;
    bool valid;
    const char *text; /* what it does */
};

/* A plugin whose settings could not be read. */
struct settings_fault {
    char *plugin; /* name, or NULL */
    char *path;
    char *text;
};

struct settings_list {
    struct settings_row *rows;
    size_t count;
    struct settings_fault *faults;
    size_t fault_count;
    bool privileged; /* the environment is ignored, except for the log */
};

/* Collects the settings of the core, and of the usable plugins that one of the
 * names may mean: an info string, a plugin, a protocol, a key or a variable;
 * without names, of all plugins. Loads these plugins, but calls none of their
 * functions. Returns false if out of memory. */
bool settings_collect(
    struct settings_list *list, const char *const *names, size_t name_count);
void settings_free(struct settings_list *list);

/* Whether a name means the row: its key or variable, its owner, the first word
 * of its key, a protocol of its plugin, or an info string of that. */
bool settings_is_named(const struct settings_row *row, const char *name);

/* Finds the next variable of the environment that looks like one of Talaria's
 * and is not in a list of all settings. *at_p: 0 at first. nearest_p: the
 * variable that was probably meant, or NULL. Returns its name, cut at
 * SETTINGS_VARIABLE_SIZE, or false after the last. */
bool settings_next_unknown(const struct settings_list *list, size_t *at_p,
    char name[SETTINGS_VARIABLE_SIZE], const char **nearest_p);

#endif /* SETTINGS_H */
