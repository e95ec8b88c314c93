/* SPDX-License-Identifier: BSD-3-Clause */
/* Capabilities of the calling thread: capget(2), capset(2). */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "privilege.h"

#define WORD (CAP_SYS_PTRACE >> 5)
#define BIT (UINT32_C(1) << (CAP_SYS_PTRACE & 31))

static bool
get(struct sm_privilege *privilege)
{
    struct __user_cap_header_struct header = {
        .version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];

    if (syscall(SYS_capget, &header, data) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        privilege->effective[i] = data[i].effective;
        privilege->permitted[i] = data[i].permitted;
        privilege->inheritable[i] = data[i].inheritable;
    }
    return true;
}

static bool
set(const struct sm_privilege *privilege, uint32_t without)
{
    struct __user_cap_header_struct header = {
        .version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];

    for (int i = 0; i < 2; i++) {
        data[i].effective = privilege->effective[i];
        data[i].permitted = privilege->permitted[i];
        data[i].inheritable = privilege->inheritable[i];
    }
    data[WORD].effective &= ~without;
    return syscall(SYS_capset, &header, data) == 0;
}

bool
sm_privilege_possible(void)
{
    struct sm_privilege privilege;

    return !get(&privilege) || (privilege.permitted[WORD] & BIT) != 0;
}

bool
sm_privilege_drop(struct sm_privilege *privilege)
{
    privilege->dropped = false;
    if (!get(privilege))
        return false;
    if ((privilege->effective[WORD] & BIT) == 0)
        return true;
    privilege->dropped = set(privilege, BIT);
    return privilege->dropped;
}

void
sm_privilege_restore(struct sm_privilege *privilege)
{
    int error = errno;

    if (privilege->dropped)
        set(privilege, 0);
    privilege->dropped = false;
    errno = error;
}

int
sm_privilege_open_memory(pid_t pid)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d/mem", (int) pid);
    return open(path, O_RDWR | O_CLOEXEC);
}
