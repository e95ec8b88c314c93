/* SPDX-License-Identifier: BSD-3-Clause */
/* Listening: the names that a class is bound to, and its callers. */
#ifndef SM_LISTEN_H
#define SM_LISTEN_H

#include "class.h"

/* In the epoll set; no connection has them. */
#define SM_LISTEN_TAG_NAME 2U
#define SM_LISTEN_TAG_SHORT 4U

#define SM_LISTEN_HELLO_NS (5 * TP_SECOND) /* for a caller to say hello */
#define SM_LISTEN_PAUSE_NS (100 * TP_MS)   /* when out of descriptors */

/* Binds and listens as the class was opened: its unique name, and the short one
 * if there is a prefix (NULL: none) that is free. */
int32_t sm_listen_init(na_plugin_class *cls, const char *prefix);

/* Closes the sockets. */
void sm_listen_fini(na_plugin_class *cls);

/* Accepts callers. Out of descriptors, the sockets are not watched for a while,
 * or they would keep everyone awake. [progress] */
void sm_listen_accept(na_plugin_class *cls, int listener, uint64_t now);

/* Watches them again. [progress] */
void sm_listen_resume(na_plugin_class *cls);

#endif /* SM_LISTEN_H */
