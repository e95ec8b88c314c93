/* SPDX-License-Identifier: BSD-3-Clause */
/* Copying as an unprivileged process would. process_vm_readv and _writev check
 * at each call that the other process has the caller's credentials and is
 * dumpable, which a process that runs a set-user-ID program is not, unless the
 * caller has CAP_SYS_PTRACE (ptrace(2), "Ptrace access mode checking"). A thread
 * that has it therefore gives it up for the time of the calls. */
#ifndef SM_PRIVILEGE_H
#define SM_PRIVILEGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The calling thread's effective capabilities, as capget returns them. */
struct sm_privilege {
    uint32_t effective[2];
    uint32_t permitted[2];
    uint32_t inheritable[2];
    bool dropped;
};

/* Whether this process may have CAP_SYS_PTRACE, now or later, without another
 * exec. */
bool sm_privilege_possible(void);

/* Removes CAP_SYS_PTRACE from the effective set of the calling thread, if it is
 * there, until sm_privilege_restore. False: the kernel does not let it. */
bool sm_privilege_drop(struct sm_privilege *privilege);

/* Undoes sm_privilege_drop; keeps errno. */
void sm_privilege_restore(struct sm_privilege *privilege);

/*
 * Opens the memory of a process (/proc/PID/mem) with all privileges: a descriptor,
 * close-on-exec, the caller's to close, or -1. It leads to the program that the
 * process runs now, and nowhere once that has ended or has been replaced: it is
 * safe to use once a copy without the capability, begun afterwards, has shown that
 * the process is of this user. Reading and writing by it needs no look at the
 * process's pidfd and no dropping of the capability. It ignores the protection of
 * pages: what is registered for writing has to be writable.
 */
int sm_privilege_open_memory(pid_t pid);

#endif /* SM_PRIVILEGE_H */
