/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One plugin found by the search, with its manifest, or the reason why it is
 * refused. Nothing is loaded.
 */
#ifndef PLUGIN_CANDIDATE_H
#define PLUGIN_CANDIDATE_H

#include "plugin/fault.h"
#include "plugin/manifest.h"

struct na_plugin;

struct plugin_candidate {
    enum talaria_source source;
    bool shadowed;      /* a plugin of the same name precedes it */
    bool from_manifest; /* path is a manifest's */
    const struct na_plugin *registered; /* NULL: a file */
    char *path; /* manifest, else shared object, else folder; else NULL */
    char *library_path; /* real path of the shared object, NULL if unknown */
    struct plugin_manifest *manifest; /* NULL: malformed, or not read yet */
    struct plugin_fault fault;        /* stage OK: usable */
};

/* Creates a candidate. path: copied; NULL for a registered plugin. NULL: out of
 * memory. */
struct plugin_candidate *plugin_candidate_create(
    enum talaria_source source, const char *path);
void plugin_candidate_destroy(struct plugin_candidate *candidate);

/* Fill in a candidate: from a registered plugin; from the manifest at its real
 * path; from the shared object at its path, and the manifest next to that if
 * there is one. They return only NOMEM: other errors are in its fault. */
na_return_t plugin_candidate_set_registered(
    struct plugin_candidate *candidate, const struct na_plugin *plugin);
na_return_t plugin_candidate_set_manifest(struct plugin_candidate *candidate);
na_return_t plugin_candidate_set_library(struct plugin_candidate *candidate);

/* Returns its name, or NULL if it is not known yet. */
const char *plugin_candidate_name(const struct plugin_candidate *candidate);

/* Returns whether it lists the protocol; with `other`, whether it may offer it.
 */
bool plugin_candidate_offers(
    const struct plugin_candidate *candidate, const char *protocol, bool other);

#endif /* PLUGIN_CANDIDATE_H */
