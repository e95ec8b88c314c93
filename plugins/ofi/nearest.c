/* SPDX-License-Identifier: BSD-3-Clause */
/* Where network cards are, libfabric or the kernel says; where that is, and
 * where the process may run, hwloc. It is loaded when there is a choice. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "library.h"
#include "nearest.h"

#define NICS 64U

struct nic {
    const struct fi_info *info;
    struct fi_pci_attr at;
    int32_t depth;  /* of the smallest object that has it and the process; -1:
                      hwloc does not know the card */
    bool shares;    /* the process may run where it is */
    const char *in; /* what that object is called */
};

static bool
same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Whether they are alternatives that differ only in location. */
static bool
same_kind(const struct fi_info *a, const struct fi_info *b)
{
    const struct fi_link_attr none = {0};
    const struct fi_link_attr *left =
        a->nic != NULL && a->nic->link_attr ? a->nic->link_attr : &none;
    const struct fi_link_attr *right =
        b->nic != NULL && b->nic->link_attr ? b->nic->link_attr : &none;

    return same_text(a->fabric_attr->name, b->fabric_attr->name) &&
           same_text(a->fabric_attr->prov_name, b->fabric_attr->prov_name) &&
           a->caps == b->caps && a->mode == b->mode &&
           a->addr_format == b->addr_format &&
           a->domain_attr->mr_mode == b->domain_attr->mr_mode &&
           a->ep_attr->protocol == b->ep_attr->protocol &&
           a->ep_attr->max_msg_size == b->ep_attr->max_msg_size &&
           a->tx_attr->inject_size == b->tx_attr->inject_size &&
           left->speed == right->speed && left->state == right->state;
}

/* Some providers give a card's name only; its location is read from the kernel. */
static bool
find_by_name(const char *name, struct fi_pci_attr *at)
{
    char path[128], target[512];
    unsigned domain, bus, device, function;

    if (strlen(name) > 64 || strchr(name, '/') != NULL)
        return false;
    snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device", name);
    ssize_t length = readlink(path, target, sizeof(target) - 1);
    if (length < 0)
        return false;
    target[length] = '\0';
    const char *last = strrchr(target, '/');
    if (sscanf(last != NULL ? last + 1 : target, "%4x:%2x:%2x.%1x", &domain,
            &bus, &device, &function) != 4)
        return false;
    *at = (struct fi_pci_attr){
        (uint16_t) domain, (uint8_t) bus, (uint8_t) device, (uint8_t) function};
    return true;
}

static bool
find_place(const struct fi_info *info, struct fi_pci_attr *at)
{
    const struct fid_nic *nic = info->nic;

    if (nic == NULL)
        return false;
    if (nic->bus_attr != NULL && nic->bus_attr->bus_type == FI_BUS_PCI) {
        *at = nic->bus_attr->attr.pci;
        return true;
    }
    return nic->device_attr != NULL && nic->device_attr->name != NULL &&
           find_by_name(nic->device_attr->name, at);
}

static int
compare_places(const void *left, const void *right)
{
    const struct fi_pci_attr *a = &((const struct nic *) left)->at;
    const struct fi_pci_attr *b = &((const struct nic *) right)->at;

    if (a->domain_id != b->domain_id)
        return a->domain_id < b->domain_id ? -1 : 1;
    if (a->bus_id != b->bus_id)
        return a->bus_id < b->bus_id ? -1 : 1;
    if (a->device_id != b->device_id)
        return a->device_id < b->device_id ? -1 : 1;
    return (int) a->function_id - (int) b->function_id;
}

/* The cards that do as well as the first, each once, by their addresses. */
static uint32_t
gather(const struct ofi_trait *trait, const struct ofi_source *source,
    const struct fi_info *first, struct nic nics[NICS])
{
    uint32_t score = ofi_source_fits(trait, source, first), count = 0;

    for (const struct fi_info *info = first; info != NULL && count < NICS;
         info = info->next) {
        struct nic *nic = &nics[count];
        bool known = false;
        *nic = (struct nic){.info = info, .depth = -1, .in = "Machine"};
        if (ofi_source_fits(trait, source, info) != score ||
            !same_kind(first, info) || !find_place(info, &nic->at)) {
            if (info == first)
                return 0;
            continue;
        }
        for (uint32_t i = 0; i < count; i++)
            known = known || compare_places(&nics[i], nic) == 0;
        count += known ? 0 : 1;
    }
    qsort(nics, count, sizeof(*nics), compare_places);
    return count;
}

#ifdef OFI_HAVE_HWLOC
#include <hwloc.h>

#define SONAME "libhwloc.so.15"

OFI_LIBRARY_NOTE("[{\"feature\":\"hwloc\","
                 "\"description\":\"Choice of the nearest NIC\","
                 "\"priority\":\"suggested\",\"soname\":[\"" SONAME "\"]}]");

/* Its functions that are not inline, and a topology. */
#define FUNCTIONS(each)                                                        \
    each(topology_init) each(topology_abi_check) each(topology_set_flags)      \
        each(topology_set_type_filter) each(topology_load)                     \
            each(topology_destroy) each(get_type_depth) each(get_obj_by_depth) \
                each(obj_type_string) each(get_cpubind)                        \
                    each(get_last_cpu_location) each(bitmap_alloc)             \
                        each(bitmap_free) each(bitmap_isincluded)              \
                            each(bitmap_intersects)
#define DECLARE(name) __typeof__(hwloc_##name) *name;
#define SYMBOL(name) {"hwloc_" #name, &topology->name},

struct topology {
    FUNCTIONS(DECLARE)
    hwloc_topology_t machine;
    hwloc_bitmap_t process;
};

static bool
load_library(struct topology *topology, const char **missing_p)
{
    const struct ofi_symbol symbols[] = {FUNCTIONS(SYMBOL){NULL, NULL}};

    return ofi_library_open(SONAME, symbols, missing_p) != NULL;
}

/* The machine with all its processors, also those that the process may not
 * use: a card there is farther than one here. */
static bool
load_machine(struct topology *topology, const char **missing_p)
{
    hwloc_topology_t *machine = &topology->machine;

    if (topology->topology_init(machine) != 0) {
        *machine = NULL;
        *missing_p = "hwloc cannot begin a topology";
        return false;
    }
    *missing_p = SONAME " is not the one that the plugin was built with";
    if (topology->topology_abi_check(*machine) != 0)
        return false;
    *missing_p = "hwloc cannot load the topology";
    if (topology->topology_set_flags(
            *machine, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 ||
        topology->topology_set_type_filter(
            *machine, HWLOC_OBJ_PCI_DEVICE, HWLOC_TYPE_FILTER_KEEP_ALL) != 0 ||
        topology->topology_load(*machine) != 0)
        return false;
    *missing_p = "hwloc does not know where the process runs";
    topology->process = topology->bitmap_alloc();
    return topology->process != NULL &&
           (topology->get_cpubind(
                *machine, topology->process, HWLOC_CPUBIND_PROCESS) == 0 ||
               topology->get_last_cpu_location(
                   *machine, topology->process, HWLOC_CPUBIND_PROCESS) == 0);
}

static void
unload_machine(struct topology *topology)
{
    if (topology->process != NULL)
        topology->bitmap_free(topology->process);
    if (topology->machine != NULL)
        topology->topology_destroy(topology->machine);
}

/* What a card hangs from; NULL: it is not known. */
static hwloc_obj_t
find_ancestor(const struct topology *topology, const struct fi_pci_attr *at)
{
    hwloc_obj_t obj = NULL;

    for (unsigned i = 0;; i++) {
        obj = topology->get_obj_by_depth(
            topology->machine, HWLOC_TYPE_DEPTH_PCI_DEVICE, i);
        if (obj == NULL)
            return NULL;
        const struct hwloc_pcidev_attr_s *pci = &obj->attr->pcidev;
        if (pci->domain == at->domain_id && pci->bus == at->bus_id &&
            pci->dev == at->device_id && pci->func == at->function_id)
            break;
    }
    /* of I/O devices and such, which have no processors */
    while (obj != NULL && obj->cpuset == NULL)
        obj = obj->parent;
    return obj;
}

/* The smallest object that has all processors of both, the outermost of those
 * that have the same ones. */
static hwloc_obj_t
find_common(const struct topology *topology, hwloc_const_bitmap_t other)
{
    hwloc_obj_t common = topology->get_obj_by_depth(topology->machine, 0, 0);
    hwloc_obj_t child = common->first_child;

    while (child != NULL) {
        if (!topology->bitmap_isincluded(topology->process, child->cpuset) ||
            !topology->bitmap_isincluded(other, child->cpuset)) {
            child = child->next_sibling;
            continue;
        }
        if (!topology->bitmap_isincluded(common->cpuset, child->cpuset))
            common = child;
        child = child->first_child;
    }
    return common;
}

/* The number of the one core that the process is bound to; -1: none. */
static int32_t
find_core(const struct topology *topology)
{
    int depth = topology->get_type_depth(topology->machine, HWLOC_OBJ_CORE);

    for (unsigned i = 0; depth > 0; i++) {
        hwloc_obj_t core =
            topology->get_obj_by_depth(topology->machine, depth, i);
        if (core == NULL)
            break;
        if (topology->bitmap_isincluded(topology->process, core->cpuset))
            return (int32_t) i;
    }
    return -1;
}

static bool
is_nearer(const struct nic *a, const struct nic *b)
{
    return a->depth != b->depth ? a->depth > b->depth : a->shares && !b->shares;
}

static void
locate(const struct topology *topology, struct nic *nic)
{
    hwloc_obj_t ancestor = find_ancestor(topology, &nic->at);

    if (ancestor == NULL)
        return;
    hwloc_obj_t common = find_common(topology, ancestor->cpuset);
    nic->depth = common->depth;
    nic->in = topology->obj_type_string(common->type);
    nic->shares =
        topology->bitmap_intersects(topology->process, ancestor->cpuset) != 0;
}

static const struct fi_info *
choose(const struct topology *topology, struct nic *nics, uint32_t count,
    char why[OFI_WHY])
{
    const struct nic *best = &nics[0];
    const struct nic *near[NICS];
    uint32_t equal = 0;

    for (uint32_t i = 0; i < count; i++) {
        locate(topology, &nics[i]);
        if (is_nearer(&nics[i], best))
            best = &nics[i];
    }
    for (uint32_t i = 0; i < count; i++)
        if (!is_nearer(best, &nics[i]))
            near[equal++] = &nics[i];

    int32_t core = find_core(topology);
    best = near[(core >= 0 ? (uint32_t) core : (uint32_t) getpid()) % equal];
    int used = snprintf(why, OFI_WHY, "%04x:%02x:%02x.%x, ", best->at.domain_id,
        best->at.bus_id, best->at.device_id, best->at.function_id);
    if (equal == 1)
        snprintf(why + used, OFI_WHY - (size_t) used,
            "nearest of %u, in one %s with the process", count, best->in);
    else
        snprintf(why + used, OFI_WHY - (size_t) used,
            "one of %u nearest of %u, in one %s with the process, by its %s",
            equal, count, best->in, core >= 0 ? "core" : "process id");
    return best->info;
}

static const struct fi_info *
find_nearest(const na_plugin_host *host, struct nic *nics, uint32_t count,
    const struct fi_info *first, char why[OFI_WHY])
{
    struct topology topology = {0};
    const char *missing = NULL;

    if (load_library(&topology, &missing) && load_machine(&topology, &missing))
        first = choose(&topology, nics, count, why);
    else {
        TP_LOG(host, INFO, "which of %u devices is nearest is not known: %s",
            count, missing);
        snprintf(why, OFI_WHY, "first of %u, places not known", count);
    }
    unload_machine(&topology);
    return first;
}
#else
static const struct fi_info *
find_nearest(const na_plugin_host *host, struct nic *nics, uint32_t count,
    const struct fi_info *first, char why[OFI_WHY])
{
    TP_LOG(host, INFO,
        "which of %u devices is nearest is not known: built without hwloc",
        count);
    snprintf(why, OFI_WHY, "first of %u, places not known", count);
    return first;
}
#endif

const struct fi_info *
ofi_nearest_choose(const na_plugin_host *host, const struct ofi_trait *trait,
    const struct ofi_source *source, const struct fi_info *first,
    char why[OFI_WHY])
{
    struct nic nics[NICS];

    if (source->device != NULL || source->host != NULL) {
        snprintf(why, OFI_WHY, "as named");
        return first;
    }
    uint32_t count = gather(trait, source, first, nics);
    if (count >= 2)
        return find_nearest(host, nics, count, first, why);
    snprintf(why, OFI_WHY, "first that fits");
    return first;
}
