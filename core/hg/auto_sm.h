/* SPDX-License-Identifier: BSD-3-Clause */
/* The second transport of a class, for peers on the same node. */
#ifndef HG_AUTO_SM_H
#define HG_AUTO_SM_H

#include "hg/host_address.h"
#include "mercury_types.h"

struct hg_class;
struct setting_pairs;

/* Opens the second transport if the options ask for it, after the first one. It
 * takes its settings out of pairs, which may be NULL. If it cannot be opened,
 * the class works without it. INVALID_ARG, after a log line: a pair is invalid,
 * or belongs to no transport. */
hg_return_t hg_auto_sm_open(struct hg_class *hg_class,
    const struct hg_init_info *info, struct setting_pairs *pairs);

/* Writes the user whose processes a transport of this node admits, or "any". */
void hg_auto_sm_user(struct na_class *na_class, char user[HG_HOST_USER_MAX]);

/* Closes the second transport, if it is open. */
void hg_auto_sm_close(struct hg_class *hg_class);

#endif /* HG_AUTO_SM_H */
