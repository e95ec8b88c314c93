/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of transports, as UCX's lower layer lists them with their devices. */
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <uct/api/uct.h>

#include "environment.h"
#include "transport.h"

#define TEXT_MAX 400U
#define DOMAINS 64U /* of a component, more are not looked at */

/* Names that stand for several, by how those begin; as UCX defines them. */
static const struct {
    const char *alias;
    const char *begins;
} aliases[] = {
    {"rc", "rc_"},
    {"rc_v", "rc_verbs"},
    {"rc_x", "rc_mlx5"},
    {"ud", "ud_"},
    {"ud_v", "ud_verbs"},
    {"ud_x", "ud_mlx5"},
    {"dc", "dc_"},
    {"dc_x", "dc_mlx5"},
    {"ib", "rc_"},
    {"ib", "ud_"},
    {"sm", "posix"},
    {"sm", "sysv"},
    {"shm", "posix"},
    {"shm", "sysv"},
    {"mm", "posix"},
    {"mm", "sysv"},
    {"cuda", "cuda_"},
    {"rocm", "rocm_"},
    {"ugni", "ugni_"},
};

/* Whether a name that the user gave stands for a transport. */
static bool
stands_for(const char *name, size_t length, const char *transport)
{
    if (strlen(transport) == length && memcmp(name, transport, length) == 0)
        return true;
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
        if (strlen(aliases[i].alias) == length &&
            memcmp(name, aliases[i].alias, length) == 0 &&
            strncmp(transport, aliases[i].begins, strlen(aliases[i].begins)) ==
                0)
            return true;
    return false;
}

typedef void (*visitor)(void *arg, const char *transport, const char *device);

/* Visits the transports of a memory domain. */
static void
visit_domain(
    uct_component_h component, const char *name, void *arg, visitor visit)
{
    uct_md_config_t *config;
    uct_md_h domain;
    uct_tl_resource_desc_t *list = NULL;
    unsigned count = 0;

    if (uct_md_config_read(component, NULL, NULL, &config) != UCS_OK)
        return;
    ucs_status_t status = uct_md_open(component, name, config, &domain);
    uct_config_release(config);
    if (status != UCS_OK)
        return;
    if (uct_md_query_tl_resources(domain, &list, &count) == UCS_OK) {
        for (unsigned i = 0; i < count; i++)
            visit(arg, list[i].tl_name, list[i].dev_name);
        uct_release_tl_resource_list(list);
    }
    uct_md_close(domain);
}

static void
visit_component(uct_component_h component, void *arg, visitor visit)
{
    uct_component_attr_t attr = {
        .field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT};

    if (uct_component_query(component, &attr) != UCS_OK ||
        attr.md_resource_count == 0)
        return;
    uct_md_resource_desc_t domains[DOMAINS];
    if (attr.md_resource_count > sizeof(domains) / sizeof(domains[0]))
        return;
    attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
    attr.md_resources = domains;
    if (uct_component_query(component, &attr) != UCS_OK)
        return;
    for (unsigned i = 0; i < attr.md_resource_count; i++)
        visit_domain(component, domains[i].md_name, arg, visit);
}

/* Visits all transports of this machine, with their devices. */
static void
visit_all(void *arg, visitor visit)
{
    uct_component_h *components;
    unsigned count;

    if (uct_query_components(&components, &count) != UCS_OK)
        return;
    for (unsigned i = 0; i < count; i++)
        visit_component(components[i], arg, visit);
    uct_release_component_list(components);
}

/* Looks for a name, and collects what there is. */
struct search {
    const char *name;
    size_t length;
    bool found;
    bool devices;
    char text[TEXT_MAX];
};

/* The first name of a list with commas between. */
static struct search
begin(const char *names)
{
    return (struct search){.name = names, .length = strcspn(names, ",")};
}

/* The next one; false: there is none. */
static bool
next(struct search *search)
{
    const char *end = search->name + search->length;
    bool more = *end == ',';

    *search = begin(more ? end + 1 : end);
    return more;
}

static void
collect(void *arg, const char *transport, const char *device)
{
    struct search *search = arg;
    char entry[128];

    if (search->name != NULL &&
        stands_for(search->name, search->length, transport))
        search->found = true;
    snprintf(entry, sizeof(entry), search->devices ? "%s/%s" : "%s", transport,
        device);
    size_t length = strlen(entry);
    for (const char *at = strstr(search->text, entry); at != NULL;
         at = strstr(at + 1, entry))
        if ((at == search->text || at[-1] == ' ') &&
            (at[length] == '\0' || at[length] == ' '))
            return;
    size_t used = strlen(search->text);
    if (used + length + 2 < sizeof(search->text))
        snprintf(search->text + used, sizeof(search->text) - used, "%s%s",
            used != 0 ? " " : "", entry);
}

/* A device of several ports is meant by its name alone, too. */
static void
compare_device(void *arg, const char *transport, const char *device)
{
    struct search *search = arg;

    if (strncmp(device, search->name, search->length) == 0 &&
        (device[search->length] == '\0' || device[search->length] == ':'))
        search->found = true;
}

/* Whether a class has one interface and tcp alone. If that interface cannot be
 * used UCX has nothing left, and fails: it need not list all devices before. */
static bool
has_one_interface(const na_plugin_class *cls)
{
    return strcmp(cls->tls, "tcp") == 0 && if_nametoindex(cls->devices) != 0;
}

/* UCX would do without a device that is not there. Patterns are its own. */
static int32_t
check_devices(na_plugin_class *cls)
{
    struct search search = begin(cls->devices);

    if (cls->devices[0] == '\0' || strpbrk(cls->devices, "*?[^") != NULL ||
        strcmp(cls->devices, "all") == 0 || has_one_interface(cls))
        return NA_PLUGIN_OK;
    do {
        visit_all(&search, compare_device);
        if (!search.found) {
            ucx_transport_say_available(cls);
            return NA_PLUGIN_E_NODEV;
        }
    } while (next(&search));
    return NA_PLUGIN_OK;
}

int32_t
ucx_transport_check(na_plugin_class *cls)
{
    if (check_devices(cls) != NA_PLUGIN_OK)
        return NA_PLUGIN_E_NODEV;
    if (cls->tls[0] == '\0' || strcmp(cls->tls, "tcp") == 0)
        return NA_PLUGIN_OK;
    struct search search = begin(cls->tls);
    do {
        visit_all(&search, collect);
        if (!search.found) {
            TP_LOG(cls->host, ERROR,
                "UCX has no transport \"%.*s\" here; it has: %s",
                (int) search.length, search.name, search.text);
            return NA_PLUGIN_E_PROTONOSUPPORT;
        }
    } while (next(&search));
    return NA_PLUGIN_OK;
}

bool
ucx_transport_used(const na_plugin_class *cls, const char *transport)
{
    const char *names = cls->tls[0] != '\0' ? cls->tls : ucx_environment("TLS");

    if (names == NULL || *names == '^' || strcmp(names, "all") == 0)
        return true;
    struct search search = begin(names);
    do
        if (stands_for(search.name, search.length, transport))
            return true;
    while (next(&search));
    return false;
}

void
ucx_transport_say_available(na_plugin_class *cls)
{
    struct search search = {.devices = true};

    visit_all(&search, collect);
    TP_LOG(cls->host, ERROR,
        "nothing that UCX can use with transports \"%s\" and device \"%s\"; "
        "here are: %s",
        cls->tls[0] != '\0' ? cls->tls : "all",
        cls->devices[0] != '\0' ? cls->devices : "any", search.text);
}
