/* SPDX-License-Identifier: BSD-3-Clause */
/* The second transport of a class, for peers of its own node. */
#ifndef HG_AUTO_SM_H
#define HG_AUTO_SM_H

#include "hg/host_address.h"
#include "mercury_types.h"

struct hg_class;
struct setting_pairs;

/* Opens it beside the first, which is open, if the options say so; it takes its
 * settings of pairs, which may be NULL. Without success the class goes on alone.
 * INVALID_ARG, after a log line: one of pairs is wrong, or of no transport. */
hg_return_t hg_auto_sm_open(struct hg_class *hg_class,
    const struct hg_init_info *info, struct setting_pairs *pairs);

/* Whose processes a transport of the node admits: a user's, or any. */
void hg_auto_sm_user(struct na_class *na_class, char user[HG_HOST_USER_MAX]);

/* Closes it, if it is open. */
void hg_auto_sm_close(struct hg_class *hg_class);

#endif /* HG_AUTO_SM_H */
