/* SPDX-License-Identifier: BSD-3-Clause */
/* The classes that keep statistics. */
#ifndef HG_CLASS_STATS_H
#define HG_CLASS_STATS_H

struct hg_class;

/* Puts a class on the list of those with statistics; takes it off, and logs its
 * counters if level info is on. */
void hg_class_stats_enter(struct hg_class *hg_class);
void hg_class_stats_leave(struct hg_class *hg_class);

#endif /* HG_CLASS_STATS_H */
