/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_getinfo: what to ask for, which answer to take, and what to log when
 * none fits. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/host.h"
#include "common/log.h"
#include "info.h"
#include "library.h"
#include "name.h"
#include "nearest.h"
#include "source.h"

/* The six classes of traffic have the same names on both sides, in another
 * order. */
static uint32_t
traffic_class(uint32_t wanted)
{
    static const uint32_t classes[] = {
        [NA_PLUGIN_TC_UNSPEC] = FI_TC_UNSPEC,
        [NA_PLUGIN_TC_BEST_EFFORT] = FI_TC_BEST_EFFORT,
        [NA_PLUGIN_TC_LOW_LATENCY] = FI_TC_LOW_LATENCY,
        [NA_PLUGIN_TC_BULK_DATA] = FI_TC_BULK_DATA,
        [NA_PLUGIN_TC_DEDICATED_ACCESS] = FI_TC_DEDICATED_ACCESS,
        [NA_PLUGIN_TC_SCAVENGER] = FI_TC_SCAVENGER,
        [NA_PLUGIN_TC_NETWORK_CTRL] = FI_TC_NETWORK_CTRL,
    };
    return classes[wanted];
}

static struct fi_info *
make_hints(
    const char *provider, const na_plugin_open_info *wanted, bool its_keys)
{
    struct fi_info *hints = ofi_library.dupinfo(NULL);
    if (hints == NULL)
        return NULL;

    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_ENDPOINT;
    if (its_keys)
        hints->domain_attr->mr_mode |= FI_MR_PROV_KEY;
    /* One lock serializes all but registering, see README.md: unless there is one
     * thread only, a provider has to be safe. */
    hints->domain_attr->threading =
        wanted != NULL &&
                (wanted->thread_mode & NA_PLUGIN_THREAD_SINGLE_CLASS) != 0
            ? FI_THREAD_DOMAIN
            : FI_THREAD_SAFE;
    hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    if (provider != NULL)
        hints->fabric_attr->prov_name = strdup(provider);
    if (wanted == NULL)
        return hints;
    hints->tx_attr->tclass = traffic_class(wanted->traffic_class);
    if (wanted->flags & NA_PLUGIN_OPEN_MEM_DEVICE) {
        hints->caps |= FI_HMEM;
        hints->domain_attr->mr_mode |= FI_MR_HMEM;
    }
    if (wanted->auth_key != NULL) {
        hints->domain_attr->auth_key = (uint8_t *) strdup(wanted->auth_key);
        hints->domain_attr->auth_key_size = strlen(wanted->auth_key);
    }
    return hints;
}

static bool
is_provider(const struct fi_info *info, const char *provider)
{
    return strcmp(info->fabric_attr->prov_name, provider) == 0;
}

/* Takes the other providers out of a list. */
static struct fi_info *
keep_provider(struct fi_info *infos, const char *provider)
{
    struct fi_info **link = &infos;

    while (*link != NULL) {
        struct fi_info *info = *link;
        if (is_provider(info, provider)) {
            link = &info->next;
            continue;
        }
        *link = info->next;
        info->next = NULL;
        ofi_library.freeinfo(info);
    }
    return infos;
}

/* fi_getinfo for one provider, NULL: for all. its_keys: the provider may choose
 * the keys of registrations. The caller frees the list; NULL: empty. */
static struct fi_info *
ask(const char *provider, const na_plugin_open_info *wanted, bool its_keys)
{
    struct fi_info *hints = make_hints(provider, wanted, its_keys);
    struct fi_info *infos = NULL;

    if (hints == NULL)
        return NULL;
    if (ofi_library.getinfo(OFI_API, NULL, NULL, 0, hints, &infos) != 0)
        infos = NULL;
    ofi_library.freeinfo(hints);
    return provider != NULL ? keep_provider(infos, provider) : infos;
}

/* Keys that a provider chooses may be guessed: it does so only if it has to. */
static struct fi_info *
query(const char *provider, const na_plugin_open_info *wanted)
{
    struct fi_info *infos =
        provider != NULL ? ask(provider, wanted, false) : NULL;

    return infos != NULL ? infos : ask(provider, wanted, true);
}

/* The same, of all options that are offered; NULL: empty. */
static struct fi_info *
query_offered(const char *provider, const na_plugin_open_info *wanted)
{
    struct fi_info *infos = query(provider, wanted);
    if (infos != NULL || wanted == NULL)
        return infos;

    /* options that are not offered are left out, one after the other */
    na_plugin_open_info less = *wanted;
    less.flags &= ~NA_PLUGIN_OPEN_MEM_DEVICE;
    infos = query(provider, &less);
    if (infos != NULL)
        return infos;
    less.auth_key = NULL;
    infos = query(provider, &less);
    if (infos != NULL)
        return infos;
    less.traffic_class = NA_PLUGIN_TC_UNSPEC;
    return query(provider, &less);
}

/* The names of all providers that are here, with blanks between. */
static void
name_providers(char *text, size_t room)
{
    struct fi_info *infos = query(NULL, NULL);
    size_t used = 0;

    text[0] = '\0';
    for (struct fi_info *info = infos; info != NULL; info = info->next) {
        const char *name = info->fabric_attr->prov_name;
        const struct fi_info *before = infos;
        while (before != info && !is_provider(before, name))
            before = before->next;
        if (before != info || used + strlen(name) + 3 > room)
            continue;
        used += (size_t) snprintf(
            text + used, room - used, "%s%s", used == 0 ? "" : ", ", name);
    }
    ofi_library.freeinfo(infos);
    if (used == 0)
        snprintf(text, room, "none");
}

/* The devices of a list, likewise. */
static void
name_devices(const struct ofi_trait *trait, const struct fi_info *infos,
    char *text, size_t room)
{
    size_t used = 0;

    text[0] = '\0';
    for (const struct fi_info *info = infos; info != NULL; info = info->next) {
        char address[OFI_TEXT_MAX] = "";
        struct sockaddr_storage raw = {0};
        if (trait->format == OFI_FORMAT_IP && info->src_addr != NULL &&
            info->src_addrlen <= sizeof(raw)) {
            struct ofi_name name;
            memcpy(&raw, info->src_addr, info->src_addrlen);
            tp_host_set_port(&raw, 1);
            if (ofi_name_from_raw(trait, &raw, info->src_addrlen, &name))
                ofi_name_print(trait, &name, address);
            char *colon = strrchr(address, ':');
            if (colon != NULL)
                *colon = '\0';
        }
        char one[OFI_TEXT_MAX + 80];
        snprintf(one, sizeof(one), "%.64s%s%s%s", info->domain_attr->name,
            address[0] != '\0' ? " (" : "", address,
            address[0] != '\0' ? ")" : "");
        if (strstr(text, one) != NULL || used + strlen(one) + 3 > room)
            continue;
        used += (size_t) snprintf(
            text + used, room - used, "%s%s", used == 0 ? "" : ", ", one);
    }
}

/* The error for a provider that offers nothing usable. */
enum presence {
    UNKNOWN, /* also one that found no device when it was loaded, and left */
    IDLE,    /* no endpoint at all */
    UNFIT,   /* none with what is needed */
};

static const char *const presences[] = {
    [UNKNOWN] = "has none: it was built without, or found no device for it",
    [IDLE] = "has it, but it finds no device, or lacks a setting of its own",
    [UNFIT] =
        ("has it, but without what is needed: connectionless endpoints for "
         "messages and remote memory access"),
};

/* Whether a query of that kind finds a provider. */
static bool
is_told(const char *provider, uint64_t flags)
{
    size_t length = strcspn(provider, ";");
    struct fi_info *infos = NULL;
    bool found = false;

    if (ofi_library.getinfo(OFI_API, NULL, NULL, flags, NULL, &infos) != 0)
        return false;
    for (struct fi_info *info = infos; info != NULL; info = info->next) {
        const char *name = info->fabric_attr->prov_name;
        found = found ||
                (strncmp(name, provider, length) == 0 && name[length] == '\0');
    }
    ofi_library.freeinfo(infos);
    return found;
}

static enum presence
presence_of(const char *provider)
{
    if (is_told(provider, 0))
        return UNFIT;
    return is_told(provider, FI_PROV_ATTR_ONLY) ? IDLE : UNKNOWN;
}

static int32_t
refuse_protocol(const na_plugin_host *host, const na_plugin_open_info *wanted,
    struct ofi_choice *choice)
{
    uint32_t version = ofi_library.version();
    char providers[300], wants[128];
    enum presence presence = UNKNOWN;
    size_t used = 0;

    for (uint32_t i = 0;; i++) {
        const struct ofi_trait *form =
            ofi_provider_form(wanted->protocol, i, &choice->other);
        if (form == NULL || used + strlen(form->provider) + 5 > sizeof(wants))
            break;
        used += (size_t) snprintf(wants + used, sizeof(wants) - used, "%s%s",
            used == 0 ? "" : " or ", form->provider);
        enum presence one = presence_of(form->provider);
        presence = one > presence ? one : presence;
    }
    name_providers(providers, sizeof(providers));
    const char *only = getenv("FI_PROVIDER");
    TP_LOG(host, ERROR,
        "protocol \"%.64s\" needs provider %.120s; libfabric %u.%u here "
        "%s%s%.64s; there are: %s",
        wanted->protocol, wants, FI_MAJOR(version), FI_MINOR(version),
        presences[presence], only != NULL ? ", under FI_PROVIDER=" : "",
        only != NULL ? only : "", providers);
    return NA_PLUGIN_E_PROTONOSUPPORT;
}

static int32_t
refuse_source(const na_plugin_host *host, const struct ofi_choice *choice,
    const struct ofi_source *source, const struct fi_info *infos)
{
    char devices[400];
    bool device = source->device != NULL || source->is_device;

    name_devices(choice->trait, infos, devices, sizeof(devices));
    TP_LOG(host, ERROR,
        "%s \"%.64s%s%.200s\" is not one that provider %s can use here; there "
        "are: %s",
        device ? "device" : "host",
        source->device != NULL ? source->device : "",
        source->device != NULL && source->host != NULL ? "/" : "",
        source->host != NULL ? source->host : "", choice->trait->provider,
        devices);
    return device ? NA_PLUGIN_E_NODEV : NA_PLUGIN_E_ADDRNOTAVAIL;
}

/* The best of a list. */
static int32_t
choose_source(const na_plugin_host *host, const na_plugin_open_info *wanted,
    const struct fi_info *infos, struct ofi_choice *choice)
{
    const struct fi_info *best = NULL;
    uint32_t best_score = 0;
    struct ofi_source source;

    int32_t ret = ofi_source_read(host, choice->trait, wanted, infos, &source);
    if (ret != NA_PLUGIN_OK)
        return ret;
    for (const struct fi_info *info = infos; info != NULL; info = info->next) {
        uint32_t score = ofi_source_fits(choice->trait, &source, info);
        if (score > best_score) {
            best = info;
            best_score = score;
        }
    }
    if (best == NULL)
        return refuse_source(host, choice, &source, infos);
    best = ofi_nearest_choose(host, choice->trait, &source, best, choice->why);

    choice->info = ofi_library.dupinfo(best);
    if (choice->info == NULL) {
        TP_LOG(host, ERROR, "no memory for libfabric's list of providers");
        return NA_PLUGIN_E_NOMEM;
    }
    if (choice->trait->format == OFI_FORMAT_IP)
        tp_host_set_port(choice->info->src_addr,
            wanted->port > 0 ? (uint32_t) wanted->port : 0);
    return NA_PLUGIN_OK;
}

int32_t
ofi_info_choose(const na_plugin_host *host, const na_plugin_open_info *wanted,
    struct ofi_choice *choice)
{
    memset(choice, 0, sizeof(*choice));
    for (uint32_t i = 0;; i++) {
        choice->trait = ofi_provider_form(wanted->protocol, i, &choice->other);
        if (choice->trait == NULL)
            return refuse_protocol(host, wanted, choice);
        struct fi_info *infos = query_offered(choice->trait->provider, wanted);
        if (infos == NULL)
            continue;
        int32_t ret = choose_source(host, wanted, infos, choice);
        ofi_library.freeinfo(infos);
        return ret;
    }
}

bool
ofi_info_has_delivery(const struct ofi_trait *trait)
{
    struct fi_info *hints = make_hints(trait->provider, NULL, true);
    struct fi_info *infos = NULL;

    if (hints == NULL)
        return false;
    hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
    bool has = ofi_library.getinfo(OFI_API, NULL, NULL, 0, hints, &infos) == 0;
    ofi_library.freeinfo(infos);
    ofi_library.freeinfo(hints);
    return has;
}

/* LISTING */

static void
describe(const struct ofi_trait *trait, const struct fi_info *info,
    const char *protocol, void *arg,
    void (*found)(void *arg, const na_plugin_device *device))
{
    char detail[OFI_TEXT_MAX + 256], address[OFI_TEXT_MAX] = "", speed[64] = "";
    struct fi_info one = *info;

    one.next = NULL;
    if (trait->format == OFI_FORMAT_IP)
        name_devices(trait, &one, address, sizeof(address));
    if (info->nic != NULL && info->nic->link_attr != NULL &&
        info->nic->link_attr->speed != 0)
        snprintf(speed, sizeof(speed), ", %zu Mb/s",
            info->nic->link_attr->speed / 1000000);
    snprintf(detail, sizeof(detail), "provider %s, fabric %s%s%s%s",
        info->fabric_attr->prov_name, info->fabric_attr->name,
        address[0] != '\0' ? ", " : "", address, speed);
    found(arg, &(na_plugin_device){.size = sizeof(na_plugin_device),
                   .protocol = protocol,
                   .name = info->domain_attr->name,
                   .detail = detail});
}

/* The devices of the first form of a protocol that has some. False: the
 * protocol is unknown. */
static bool
list_protocol(const char *protocol, void *arg,
    void (*found)(void *arg, const na_plugin_device *device))
{
    struct ofi_trait other;

    for (uint32_t i = 0;; i++) {
        const struct ofi_trait *form = ofi_provider_form(protocol, i, &other);
        if (form == NULL)
            return true;
        struct fi_info *infos = query_offered(form->provider, NULL);
        const struct fi_info *before = NULL;
        for (struct fi_info *info = infos; info != NULL; info = info->next) {
            /* libfabric repeats a device for each set of capabilities */
            for (before = infos; before != info; before = before->next)
                if (strcmp(before->domain_attr->name,
                        info->domain_attr->name) == 0 &&
                    strcmp(before->fabric_attr->name,
                        info->fabric_attr->name) == 0)
                    break;
            if (before == info)
                describe(form, info, protocol, arg, found);
        }
        bool any = infos != NULL;
        ofi_library.freeinfo(infos);
        if (any)
            return true;
        if (form == &other)
            return false;
    }
}

int32_t
ofi_info_list(const na_plugin_host *host, const char *protocol, void *arg,
    void (*found)(void *arg, const na_plugin_device *device))
{
    struct ofi_signals signals;
    bool known = true;

    ofi_signals_note(&signals);
    if (ofi_library_load(host) != NA_PLUGIN_OK)
        known = false;
    else if (protocol != NULL)
        known = list_protocol(protocol, arg, found);
    else
        for (uint32_t i = 0; ofi_protocols[i] != NULL; i++)
            list_protocol(ofi_protocols[i], arg, found);
    ofi_signals_restore(&signals);
    return known ? NA_PLUGIN_OK : NA_PLUGIN_E_PROTONOSUPPORT;
}
