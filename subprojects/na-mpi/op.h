/* SPDX-License-Identifier: BSD-3-Clause */
/* How operations begin and end. Under nampi_lock. */
#ifndef NAMPI_OP_H
#define NAMPI_OP_H

#include "class.h"

/* Promises the final event. False: no memory. */
bool nampi_op_begin(na_plugin_ctx *ctx, struct nampi_op *op);

/* Reports the final event; one that has only a status. */
void nampi_op_report(struct nampi_op *op, const na_plugin_event *event);
void nampi_op_end(struct nampi_op *op, int32_t status);

/* Takes a pending operation out of the lists and tables it is in. */
void nampi_op_withdraw(struct nampi_op *op);

/* Fills in a receive from a message, and ends it. */
void nampi_op_fill(struct nampi_op *op, const void *data, uint32_t length,
    uint32_t tag, na_plugin_addr *source);

int32_t nampi_poll(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max);
int32_t nampi_cancel(na_plugin_ctx *ctx, void *op);
int32_t nampi_ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p);
void nampi_ctx_destroy(na_plugin_ctx *ctx);

#endif /* NAMPI_OP_H */
