/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX's settings. What the environment sets stays, other than transports and
 * devices that the info string names. Settings of UCX's lower layer have changed
 * their names: that layer is asked which one it takes, as ucp_config_modify of
 * most versions succeeds with any. */
#include <stdio.h>
#include <string.h>
#include <uct/api/uct.h>

#include "conn.h"
#include "descriptor.h"
#include "environment.h"
#include "exposure.h"
#include "setting.h"
#include "transport.h"

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
#define SEGMENT "64k" /* a fragment and its headers; as TCP_RX_SEG_SIZE is */

/* What a service wants other than UCX's default: as UCX calls it in the
 * environment, and as ucp_config_modify finds it. */
static const struct {
    const char *variable;
    const char *name;
    const char *value;
    const char *transport; /* only with this one: UCX warns of others */
} wishes[] = {
    /* a server that was restarted gets its port back */
    {"TCP_CM_REUSEADDR", "CM_REUSEADDR", "y", NULL},
    /* peers in shared memory are noticed when they die */
    {"POSIX_ERROR_HANDLING", "MM_ERROR_HANDLING", "y", "posix"},
    {"KEEPALIVE_INTERVAL", "KEEPALIVE_INTERVAL", TEXT(UCX_KEEPALIVE_S) "s",
        NULL},
};

/* Sets what UCX has to take. */
static bool
set(na_plugin_class *cls, ucp_config_t *config, const char *name,
    const char *value)
{
    ucs_status_t status = ucp_config_modify(config, name, value);

    if (status != UCS_OK)
        TP_LOG(cls->host, WARNING, "UCX %s takes no %s=%s: %s",
            ucp_get_version_string(), name, value, ucs_status_string(status));
    return status == UCS_OK;
}

/* Sets what the info string has decided. */
static void
decide(na_plugin_class *cls, ucp_config_t *config, const char *name,
    const char *value)
{
    const char *given = ucx_environment(name);

    if (value[0] == '\0')
        return;
    if (given != NULL && strcmp(given, value) != 0)
        TP_LOG(cls->host, INFO,
            "UCX_%s=%.100s of the environment is overridden by \"%s\"", name,
            given, value);
    set(cls, config, name, value);
}

/* Whether the memory domains of a component take a setting by that name. */
static bool
domain_takes(uct_component_h component, const char *name, const char *value)
{
    uct_md_config_t *config;

    if (uct_md_config_read(component, NULL, NULL, &config) != UCS_OK)
        return false;
    ucs_status_t status = uct_config_modify(config, name, value);
    uct_config_release(config);
    return status == UCS_OK;
}

/* What stands before the names of tcp's settings, NULL: none is taken. Settings
 * of UCX 1.13's lower layer have no such prefix. */
static const char *
tcp_prefix(void)
{
    static const char *const prefixes[] = {"TCP_", ""};
    uct_component_h *components;
    const char *found = NULL;
    char name[32];
    unsigned count;

    if (uct_query_components(&components, &count) != UCS_OK)
        return NULL;
    for (unsigned i = 0; i < count && found == NULL; i++) {
        uct_component_attr_t attr = {
            .field_mask = UCT_COMPONENT_ATTR_FIELD_NAME};
        if (uct_component_query(components[i], &attr) != UCS_OK ||
            strcmp(attr.name, "tcp") != 0)
            continue;
        for (size_t j = 0; j < 2 && found == NULL; j++) {
            snprintf(name, sizeof(name), "%sAF_PRIO", prefixes[j]);
            if (domain_takes(components[i], name, "inet"))
                found = prefixes[j];
        }
    }
    uct_release_component_list(components);
    return found;
}

/* TCP's interfaces are of one family each: that of the class. With one of the
 * other UCX writes beyond the room that it has for addresses. */
static int32_t
choose_family(na_plugin_class *cls, ucp_config_t *config, const char *prefix)
{
    const char *given = ucx_environment("TCP_AF_PRIO");
    char name[32];

    if (given != NULL)
        cls->family = strncmp(given, "inet6", 5) == 0 ? AF_INET6 : AF_INET;
    const char *value = cls->family == AF_INET6 ? "inet6" : "inet";
    if (given != NULL && strcmp(given, value) != 0)
        TP_LOG(cls->host, INFO,
            "UCX_TCP_AF_PRIO=%.100s of the environment is overridden by \"%s\"",
            given, value);
    snprintf(name, sizeof(name), "%sAF_PRIO", prefix != NULL ? prefix : "");
    if (prefix != NULL && set(cls, config, name, value))
        return NA_PLUGIN_OK;
    if (cls->family != AF_INET6)
        return NA_PLUGIN_OK;
    TP_LOG(cls->host, ERROR,
        "UCX %s: cannot restrict it to IPv6: it has no TCP_AF_PRIO",
        ucp_get_version_string());
    return NA_PLUGIN_E_OPNOTSUPPORTED;
}

static int32_t
configure_tcp(na_plugin_class *cls, ucp_config_t *config)
{
    const char *prefix = tcp_prefix();

    /* newer versions put a message together of fragments of TX_SEG_SIZE, 8 KiB,
     * which costs as much again as all else; 1.13 sends it as it is */
    if (prefix != NULL && prefix[0] != '\0' &&
        ucx_environment("TCP_TX_SEG_SIZE") == NULL)
        set(cls, config, "TCP_TX_SEG_SIZE", SEGMENT);
    return choose_family(cls, config, prefix);
}

/* Newer versions choose a protocol for each kind of operation of each new
 * endpoint, which takes longer than all else of a connection; and all that is sent
 * here is eager. Devices that are named keep it. */
static void
spare_protocols(na_plugin_class *cls, ucp_config_t *config)
{
    if (ucx_environment("PROTO_ENABLE") != NULL ||
        (cls->tls[0] != '\0' && strcmp(cls->tls, "tcp") != 0))
        return;
    ucs_status_t status = ucp_config_modify(config, "PROTO_ENABLE", "n");
    if (status != UCS_OK)
        TP_LOG(cls->host, INFO, "UCX %s has no PROTO_ENABLE: %s",
            ucp_get_version_string(), ucs_status_string(status));
}

/* tcp registers no memory. Yet UCX 1.18 keeps 150 bytes of every unmapping in the
 * process for its registration cache until the next registration, of which there
 * is none here. */
static void
spare_cache(na_plugin_class *cls, ucp_config_t *config)
{
    if (strcmp(cls->tls, "tcp") == 0 &&
        ucx_environment("RCACHE_ENABLE") == NULL)
        set(cls, config, "RCACHE_ENABLE", "n");
}

static void
wish(na_plugin_class *cls, ucp_config_t *config)
{
    for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++)
        if (ucx_environment(wishes[i].variable) == NULL &&
            (wishes[i].transport == NULL ||
                ucx_transport_used(cls, wishes[i].transport)))
            set(cls, config, wishes[i].name, wishes[i].value);
}

int32_t
ucx_setting_read(na_plugin_class *cls, ucp_config_t **config_p)
{
    ucp_config_t *config;
    ucs_status_t status = ucp_config_read(NULL, NULL, &config);
    int32_t ret = NA_PLUGIN_OK;

    if (status != UCS_OK) {
        TP_LOG(cls->host, ERROR, "UCX %s reads no settings: %s",
            ucp_get_version_string(), ucs_status_string(status));
        return ucx_conn_code(status);
    }
    /* UCX writes to standard output, which is the program's */
    if (ucx_environment("LOG_LEVEL") == NULL)
        set(cls, config, "LOG_LEVEL", "fatal");
    ucx_exposure_configure(cls, config);
    decide(cls, config, "TLS", cls->tls);
    decide(cls, config, "NET_DEVICES", cls->devices);
    /* without UCX's memory access nothing is sent by rendezvous: a second
     * interface for that would be polled, and connected to, in vain; and UCX
     * 1.13 does not connect to a peer with another number of them */
    decide(cls, config, "MAX_RNDV_RAILS", cls->keys ? "" : "1");
    if (ucx_transport_used(cls, "tcp"))
        ret = configure_tcp(cls, config);
    spare_protocols(cls, config);
    spare_cache(cls, config);
    wish(cls, config);
    if (ret == NA_PLUGIN_OK)
        *config_p = config;
    else
        ucp_config_release(config);
    return ret;
}
