/* SPDX-License-Identifier: BSD-3-Clause */
/* Hosts, interfaces, subnets and ports: from text to socket addresses and back, by
 * the C library's resolver and its list of interfaces. [any thread] */
#ifndef TP_HOST_H
#define TP_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "na_plugin.h"

/* A socket address of IP. */
struct tp_place {
    struct sockaddr_storage address;
    socklen_t length;
};

/* "10.1.0.0/16" as bytes; family 0: none. */
struct tp_subnet {
    int family;
    unsigned char bytes[16];
    unsigned long bits;
};

/* False: it is malformed. */
bool tp_subnet_parse(const char *text, struct tp_subnet *subnet);

/* Addresses below are of struct sockaddr_in or sockaddr_in6. */

bool tp_subnet_has(const struct tp_subnet *subnet, const void *address);

/* The place of a class: name may be NULL (the first interface that is up and
 * no loopback, of the subnet if one is given), an address, an interface, a
 * host's name. port 0: any. family: AF_UNSPEC, or the preferred one. NODEV,
 * ADDRNOTAVAIL, INVALID_ARG, logged at level ERROR. May block. */
int32_t tp_host_own(const na_plugin_host *host, const char *name, uint32_t port,
    int family, const char *subnet, struct tp_place *place_p);

/* An address that stands for all of this host's becomes one of them, by which
 * others may reach it. */
void tp_host_reach(struct tp_place *place, const char *subnet);

/* What "host:port" or "[host]:port" stands for, of length bytes. family: as above.
 * resolve: names of a user too, which may block; else a peer wrote it: addresses
 * only, and log lines are thinned. INVALID_ARG, NOENTRY, logged. */
int32_t tp_host_parse(const na_plugin_host *host, const char *text,
    size_t length, int family, bool resolve, struct tp_place *place_p);

/* Writes "host:port", "[host]:port"; false if there is no room. */
bool tp_host_text(
    const struct sockaddr_storage *address, char *text, size_t room);

uint32_t tp_host_port(const struct sockaddr_storage *address);
void tp_host_set_port(struct sockaddr_storage *address, uint32_t port);

/* Whether both have the same address; whether they are the same host's, as far as
 * can be seen from here. */
bool tp_host_equal(const void *a, const void *b);
bool tp_host_same(
    const struct sockaddr_storage *a, const struct sockaddr_storage *b);

/* Whether an address is one of this host's. */
bool tp_host_is_local(const struct sockaddr_storage *address);
bool tp_host_is_any(const void *address);
bool tp_host_is_loopback(const void *address);
bool tp_host_is_link_local(const void *address);

/* Whether an interface of this name is there, and is up. */
bool tp_host_interface(const char *name);

/* The name of a loopback interface that is up; the one called wanted, unless
 * that is NULL. False if there is none. */
bool tp_host_loopback_interface(const char *wanted, char *name, size_t room);

/* Calls found with the name and the text of the address of each interface that
 * is up. */
void tp_host_list(
    void *arg, void (*found)(void *arg, const char *name, const char *address));

/* na_plugin.info of a transport on IP that has one protocol: each interface that
 * is up is a device. */
int32_t tp_host_devices(const char *spoken, const char *protocol, void *arg,
    void (*found)(void *arg, const na_plugin_device *device));

#endif /* TP_HOST_H */
