/*
 * The search for plugins: the places in order, and the candidates in each.
 * Loads nothing.
 */
#ifndef PLUGIN_SEARCH_H
#define PLUGIN_SEARCH_H

#include "plugin/candidate.h"

struct plugin_search {
    size_t count;
    struct plugin_candidate **candidates; /* in search order */
    size_t folder_count;
    char **folders;  /* searched, or missing */
    bool files_only; /* TALARIA_PLUGIN_FILES has ended the search */
};

/* Runs the search. Only NOMEM. The caller calls plugin_search_finish in any
 * case. [any thread] */
na_return_t plugin_search_run(struct plugin_search *search);
void plugin_search_finish(struct plugin_search *search);

/* Marks shadowed candidates again, after a name became known. */
void plugin_search_mark_shadowed(struct plugin_search *search);

#endif /* PLUGIN_SEARCH_H */
