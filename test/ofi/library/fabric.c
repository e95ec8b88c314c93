/* SPDX-License-Identifier: BSD-3-Clause */
/* What may be found under libfabric's name and will not do: it is of another
 * age, or, without AGED, something else altogether. */
#include <rdma/fabric.h>
#include <stddef.h>

#ifdef AGED
uint32_t
fi_version(void)
{
    return FI_VERSION(1, 5);
}

int
fi_getinfo(uint32_t version, const char *node, const char *service,
    uint64_t flags, const struct fi_info *hints, struct fi_info **infos_p)
{
    return -1;
}

struct fi_info *
fi_dupinfo(const struct fi_info *info)
{
    return NULL;
}

void
fi_freeinfo(struct fi_info *info)
{
}

int
fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric_p, void *arg)
{
    return -1;
}
#endif

const char *
fi_strerror(int error)
{
    return "";
}
