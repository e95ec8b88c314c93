/* SPDX-License-Identifier: BSD-3-Clause */
/* Who can reach what UCX opens. UCX trusts whoever connects to its TCP ports or
 * attaches its shared memory; this keeps the number of those small, and warns
 * where it can't. README.md, "Untrusted peers", says what they could do. */
#ifndef UCX_EXPOSURE_H
#define UCX_EXPOSURE_H

#include "class.h"
#include "common/host.h"

/* A class at a loopback address gets the loopback interface alone, and calls no
 * other address, unless the info string or the environment names devices. */
void ucx_exposure_restrict(na_plugin_class *cls, const struct tp_place *where);

/* Turns off in UCX's configuration what a class doesn't need and attackers could
 * use. What the environment sets stays. */
void ucx_exposure_configure(const na_plugin_class *cls, ucp_config_t *config);

/* Warns, once per process, if other hosts can connect to a class that listens
 * over TCP. */
void ucx_exposure_warn(const na_plugin_class *cls);

#endif /* UCX_EXPOSURE_H */
