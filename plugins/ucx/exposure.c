/* SPDX-License-Identifier: BSD-3-Clause */
/* Fewer ways in. UCX's tcp transport has a port of its own on each interface,
 * besides the listener's, and writes where a message by it says. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "environment.h"
#include "exposure.h"
#include "transport.h"

void
ucx_exposure_restrict(na_plugin_class *cls, const struct tp_place *where)
{
    /* UCX 1.13 has no IPv6 over the loopback interface */
    if (where->length == 0 || where->address.ss_family != AF_INET ||
        !tp_host_is_loopback(&where->address) || cls->devices[0] != '\0' ||
        ucx_environment("NET_DEVICES") != NULL)
        return;
    cls->loopback =
        tp_host_loopback_interface(NULL, cls->devices, sizeof(cls->devices));
}

void
ucx_exposure_configure(const na_plugin_class *cls, ucp_config_t *config)
{
    /* All senders share the queue of a receiver in shared memory: one that is
     * killed while it writes there holds up the messages of all others. And SysV
     * segments are open to the owner's whole group. */
    if (cls->tls[0] == '\0' && ucx_environment("TLS") == NULL)
        ucp_config_modify(config, "TLS", "^mm");
}

/* Whether all devices of a list are loopback interfaces. */
static bool
all_loopback(const char *devices)
{
    while (devices != NULL) {
        const char *comma = strchr(devices, ',');
        size_t length =
            comma != NULL ? (size_t) (comma - devices) : strlen(devices);
        char name[64];
        if (length == 0 || length >= sizeof(name))
            return false;
        memcpy(name, devices, length);
        name[length] = '\0';
        if (!tp_host_loopback_interface(name, name, sizeof(name)))
            return false;
        devices = comma != NULL ? comma + 1 : NULL;
    }
    return true;
}

void
ucx_exposure_warn(const na_plugin_class *cls)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    const char *devices =
        cls->devices[0] != '\0' ? cls->devices : ucx_environment("NET_DEVICES");

    if (!cls->listens || cls->network_trusted ||
        !ucx_transport_used(cls, "tcp") ||
        (devices != NULL && all_loopback(devices)) ||
        atomic_flag_test_and_set_explicit(&warned, memory_order_relaxed))
        return;
    TP_LOG(cls->host, WARNING,
        "UCX %s trusts whoever connects to its TCP ports (%s): such a host can "
        "overwrite this process's memory, or end it. Keep others out by a "
        "firewall; ucx.trusted_network=1 says that this has been done",
        ucp_get_version_string(), devices != NULL ? devices : "all interfaces");
}
