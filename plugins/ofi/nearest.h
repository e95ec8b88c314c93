/* SPDX-License-Identifier: BSD-3-Clause */
/* Of several network cards that would do equally well, the one that is nearest
 * to where the process runs. */
#ifndef OFI_NEAREST_H
#define OFI_NEAREST_H

#include "source.h"
#include "types.h"

/* One of the infos that do as well as the first of those that fit best: that
 * one, unless the user has named none, and another of the same fabric and kind
 * is nearer. why is filled in with the reason, for the log and the report.
 * Loads hwloc and the machine's topology, some tens of milliseconds, when there
 * are two cards to choose from; what is missing for that is logged. */
const struct fi_info *ofi_nearest_choose(const na_plugin_host *host,
    const struct ofi_trait *trait, const struct ofi_source *source,
    const struct fi_info *first, char why[OFI_WHY]);

#endif /* OFI_NEAREST_H */
