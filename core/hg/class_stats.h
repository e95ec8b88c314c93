/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of open classes: which of them are observed, and their statistics.
 */
#ifndef HG_CLASS_STATS_H
#define HG_CLASS_STATS_H

struct hg_class;

/* Adds a class to the list. */
void hg_class_stats_enter(struct hg_class *hg_class);

/* Removes a class from the list, and logs its counters if it has statistics and
 * level info is on. */
void hg_class_stats_leave(struct hg_class *hg_class);

#endif /* HG_CLASS_STATS_H */
