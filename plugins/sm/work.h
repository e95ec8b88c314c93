/* SPDX-License-Identifier: BSD-3-Clause */
/* What connections have reported (sm_conn_up, sm_conn_down): progress alone
 * consumes it, and has consumed all of it before it lets go of the lock. So no
 * connection ends while the class's lists are walked. Every function wants
 * progress. */
#ifndef SM_WORK_H
#define SM_WORK_H

#include "conn.h"

/* What sm_work does if there are reports. */
void sm_work_on(na_plugin_class *cls);

/* Begins connections that are up, and ends those that are down. */
static inline void
sm_work(na_plugin_class *cls)
{
    if (__builtin_expect(cls->reports.head != NULL, 0))
        sm_work_on(cls);
}

/* The same, then drops progress. */
static inline void
sm_work_unlock(na_plugin_class *cls)
{
    sm_work(cls);
    tp_lock_drop(&cls->progress);
}

/* Makes the memory of ended connections that are not in use any more available
 * again. */
void sm_work_recycle(na_plugin_class *cls);

/* Ends all and frees everything. [exclusive] */
void sm_work_fini(na_plugin_class *cls);

#endif /* SM_WORK_H */
