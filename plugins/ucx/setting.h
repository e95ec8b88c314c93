/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX's settings: what the environment, the info string and a service want. */
#ifndef UCX_SETTING_H
#define UCX_SETTING_H

#include "class.h"

/* Reads UCX's configuration for a class whose tls and devices are set, and sets
 * the family of its addresses. The caller releases *config_p. NOMEM;
 * OPNOTSUPPORTED, logged, if UCX cannot be restricted to the class's family. */
int32_t ucx_setting_read(na_plugin_class *cls, ucp_config_t **config_p);

#endif /* UCX_SETTING_H */
