/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One plugin that was found, what its manifest says of it, and what speaks
 * against it. Nothing is loaded.
 */
#ifndef PLUGIN_CANDIDATE_H
#define PLUGIN_CANDIDATE_H

#include "plugin/fault.h"
#include "plugin/manifest.h"

struct na_plugin;

struct plugin_candidate {
    enum talaria_source source;
    bool shadowed;                      /* one of the name comes before it */
    bool from_manifest;                 /* path is a manifest's */
    const struct na_plugin *registered; /* or NULL: it is in a file */
    char *path; /* manifest, else shared object, else folder; else NULL */
    char *library_path; /* real path of the shared object, NULL if unknown */
    struct plugin_manifest *manifest; /* NULL: broken, or not known yet */
    struct plugin_fault fault;        /* stage OK: nothing is wrong with it */
};

/* path: copied; NULL for a registered one. NULL: out of memory. */
struct plugin_candidate *plugin_candidate_create(
    enum talaria_source source, const char *path);
void plugin_candidate_destroy(struct plugin_candidate *candidate);

/* Fill one in: from a plugin in the program; from the manifest at its path,
 * which is real; from the shared object at its path, and the manifest beside
 * that if there is one. Only NOMEM: what else is wrong stands in its fault. */
na_return_t plugin_candidate_set_registered(
    struct plugin_candidate *candidate, const struct na_plugin *plugin);
na_return_t plugin_candidate_set_manifest(struct plugin_candidate *candidate);
na_return_t plugin_candidate_set_library(struct plugin_candidate *candidate);

/* NULL while it is not known. */
const char *plugin_candidate_name(const struct plugin_candidate *candidate);

/* Whether it lists the protocol; with other, whether it may know it. */
bool plugin_candidate_offers(
    const struct plugin_candidate *candidate, const char *protocol, bool other);

#endif /* PLUGIN_CANDIDATE_H */
