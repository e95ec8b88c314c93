/* SPDX-License-Identifier: BSD-3-Clause */
/* The descriptors of this process. Libraries open some without close-on-exec, and
 * do not tell which: they are those that appear meanwhile. */
#ifndef TP_DESCRIPTOR_H
#define TP_DESCRIPTOR_H

#include <stddef.h>
#include <stdint.h>

#define TP_DESCRIPTORS 65536U       /* those above are not noted */
#define TP_DESCRIPTORS_TAGGED 2048U /* those above are known by number only */

/* Those that were open at some time. Zeroed memory: none. */
struct tp_descriptors {
    uint64_t bits[TP_DESCRIPTORS / 64];
    uint16_t tags[TP_DESCRIPTORS_TAGGED]; /* for what they were open */
};

typedef void tp_descriptor_visit(int fd, void *arg);

/* Calls for each open descriptor. Nothing but system calls, so that it can be used
 * in a forked child. */
void tp_descriptors_each(tp_descriptor_visit *visit, void *arg);

/* The same, where folder is /proc/self/fd, opened by the caller. */
void tp_descriptors_each_in(int folder, tp_descriptor_visit *visit, void *arg);

/* The name that the system has for what is open, cut to size, such as
 * "socket:[123]" or "anon_inode:[eventpoll]". Returns its length; 0: fd is not open. */
size_t tp_descriptor_name(int fd, char *name, size_t size);

/* Adds those that are open. */
void tp_descriptors_note(struct tp_descriptors *noted);

/* Calls for each that is not among those. A number that was open for something
 * else is new: another thread may have closed it meanwhile. What other threads
 * have opened meanwhile is visited too. */
void tp_descriptors_each_new(
    const struct tp_descriptors *noted, tp_descriptor_visit *visit, void *arg);

#endif /* TP_DESCRIPTOR_H */
