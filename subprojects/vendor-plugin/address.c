/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses: the host and port on which a class listens. */
#include <stdlib.h>
#include <string.h>

#include "tcp.h"

na_plugin_addr *
tcp_addr_get(na_plugin_class *cls, const struct tp_place *place)
{
    na_plugin_addr *addr = tp_peer_new(&cls->base);

    if (addr == NULL ||
        !tp_host_text(&place->address, addr->base.name, TP_NAME)) {
        free(addr);
        return NULL;
    }
    addr->place = *place;
    return tp_peer_enter(&cls->base, addr);
}

int32_t
tcp_addr_parse(na_plugin_class *cls, const char *text, size_t length,
    bool resolve, na_plugin_addr *addr)
{
    int32_t ret = tp_host_parse(
        cls->base.host, text, length, cls->family, resolve, &addr->place);
    if (ret != NA_PLUGIN_OK)
        return ret;
    return tp_host_text(&addr->place.address, addr->base.name, TP_NAME)
               ? NA_PLUGIN_OK
               : NA_PLUGIN_E_INVALID_ARG;
}
