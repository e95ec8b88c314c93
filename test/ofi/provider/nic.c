/* SPDX-License-Identifier: BSD-3-Clause */
/* Simulated network cards, by FI_AWKWARD_NICS: PCI addresses, separated by commas,
 * each with @FABRIC if it is in another fabric. Each is a domain of the name
 * awkward-ADDRESS; "none" is one without an address. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "awkward.h"

static int
nic_close(struct fid *fid)
{
    struct fid_nic *nic = OBJECT(fid, struct fid_nic, fid);

    free(nic->bus_attr);
    free(nic);
    return 0;
}

static struct fid_nic *nic_new(const struct fi_bus_attr *bus);

static int
nic_control(struct fid *fid, int command, void *arg)
{
    struct fid_nic **copy_p = arg;

    if (command != FI_DUP)
        return -FI_ENOSYS;
    *copy_p = nic_new(OBJECT(fid, struct fid_nic, fid)->bus_attr);
    return *copy_p != NULL ? 0 : -FI_ENOMEM;
}

static struct fi_ops nic_ops = {
    .size = sizeof(nic_ops), .close = nic_close, .control = nic_control};

static struct fid_nic *
nic_new(const struct fi_bus_attr *bus)
{
    struct fid_nic *nic = calloc(1, sizeof(*nic));
    struct fi_bus_attr *copy = malloc(sizeof(*copy));

    if (nic == NULL || copy == NULL) {
        free(nic);
        free(copy);
        return NULL;
    }
    *copy = *bus;
    nic->fid.fclass = FI_CLASS_NIC;
    nic->fid.ops = &nic_ops;
    nic->bus_attr = copy;
    return nic;
}

bool
awkward_nic_read(const char **text_p, struct fi_info *info)
{
    struct fi_bus_attr bus = {.bus_type = FI_BUS_PCI};
    struct fi_pci_attr *pci = &bus.attr.pci;
    char one[64], name[80];
    size_t length = strcspn(*text_p, ",");

    snprintf(one, sizeof(one), "%.*s", (int) length, *text_p);
    *text_p += length + ((*text_p)[length] == ',' ? 1 : 0);
    char *fabric = strchr(one, '@');
    if (fabric != NULL) {
        *fabric = '\0';
        free(info->fabric_attr->name);
        info->fabric_attr->name = strdup(fabric + 1);
    }
    if (sscanf(one, "%4hx:%2hhx:%2hhx.%1hhx", &pci->domain_id, &pci->bus_id,
            &pci->device_id, &pci->function_id) != 4)
        bus.bus_type = FI_BUS_UNKNOWN;
    snprintf(name, sizeof(name), NAME "-%s", one);
    free(info->domain_attr->name);
    info->domain_attr->name = strdup(name);
    info->nic = nic_new(&bus);
    return info->nic != NULL && info->domain_attr->name != NULL;
}
