/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a connection. Every function wants progress. */
#ifndef SM_TEARDOWN_H
#define SM_TEARDOWN_H

#include "conn.h"

/* Ends a connection: what is pending to or from its peer ends with status, its
 * memory and descriptors are freed. */
void sm_conn_end(na_plugin_class *cls, struct sm_conn *conn, int32_t status);

/* The same for a peer that has broken the protocol; logs how. */
void sm_conn_break(
    na_plugin_class *cls, struct sm_conn *conn, const char *wrong);

/* Makes the memory of ended connections that nobody uses any more available
 * again. */
void sm_conn_recycle(na_plugin_class *cls);

/* Frees everything. [exclusive] */
void sm_conn_fini(na_plugin_class *cls);

#endif /* SM_TEARDOWN_H */
