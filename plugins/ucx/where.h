/* SPDX-License-Identifier: BSD-3-Clause */
/* Hosts, interfaces and ports: from text to socket addresses and back. */
#ifndef UCX_WHERE_H
#define UCX_WHERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/log.h"

/* A socket address, of IP. */
struct ucx_where {
    struct sockaddr_storage address;
    socklen_t length;
};

/* Where a class is to be: host may be NULL (the first interface that is up and
 * no loopback, of the subnet if one is given), an address, an interface, a
 * host's name. port 0: any. family: AF_UNSPEC, or the preferred one. NODEV,
 * ADDRNOTAVAIL, INVALID_ARG, logged at level ERROR. */
int32_t ucx_where_own(const na_plugin_host *host, const char *name,
    uint32_t port, int family, const char *subnet, struct ucx_where *where_p);

/* An address that stands for all of this host's becomes one of them, by which
 * others may reach it. */
void ucx_where_reach(struct ucx_where *where, const char *subnet);

/* What "host:port" or "[host]:port" stands for, of length bytes. INVALID_ARG,
 * NOENTRY, logged. resolve: names too, else addresses only. */
int32_t ucx_where_parse(const na_plugin_host *host, const char *text,
    size_t length, bool resolve, struct ucx_where *where_p);

/* Writes "host:port", "[host]:port"; false if there is no room. */
bool ucx_where_text(
    const struct sockaddr_storage *address, char *text, size_t room);

uint32_t ucx_where_port(const struct sockaddr_storage *address);

/* Whether both are the same host's, as far as can be seen from here. */
bool ucx_where_same_host(
    const struct sockaddr_storage *a, const struct sockaddr_storage *b);

/* Whether an interface of this name is there, and is up. */
bool ucx_where_interface(const char *name);

/* Whether an address is a loopback one. */
bool ucx_where_loopback(const struct sockaddr_storage *address);

/* The name of a loopback interface that is up; the one called wanted, unless
 * that is NULL. False if there is none. */
bool ucx_where_loopback_interface(const char *wanted, char *name, size_t room);

/* Calls found with the name and the text of the address of each interface that
 * is up. */
void ucx_where_list(
    void *arg, void (*found)(void *arg, const char *name, const char *address));

#endif /* UCX_WHERE_H */
