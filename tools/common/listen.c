/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a server may listen: the class reports what the transport reaches, the
 * info string or the address shows whether the host is a loopback one. */
#include <arpa/inet.h>
#include <errno.h>
#include <na.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <talaria.h>
#include <unistd.h>

#include "common/listen.h"

#define LOOPBACK "127.0.0.1"
#define DEVICE "lo"
#define MARK "://"

/* Longer names are not loopback hosts. */
#define HOST_SIZE 64

/* Returns the host within "plugin+protocol://device/host:port", or the end of
 * the text. */
static const char *
host_begin(const char *text)
{
    const char *mark = strstr(text, MARK);
    const char *slash;

    if (mark == NULL)
        return text + strlen(text);
    mark += strlen(MARK);
    slash = strchr(mark, '/');
    return slash == NULL ? mark : slash + 1;
}

/* Copies the host of an info string without brackets; "" if it is too long. */
static void
copy_host(const char *text, char host_p[HOST_SIZE])
{
    const char *begin = host_begin(text);
    size_t length;

    if (*begin == '[') {
        begin++;
        length = strcspn(begin, "]");
    } else {
        length = strcspn(begin, ":");
    }
    if (length >= HOST_SIZE)
        length = 0;
    memcpy(host_p, begin, length);
    host_p[length] = 0;
}

static bool
is_loopback_number(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;

    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, host, &v6) != 1)
        return false;
    return IN6_IS_ADDR_LOOPBACK(&v6) ||
           (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
}

/* The resolved address is checked by listen_check. */
static bool
is_loopback_host(const char *host)
{
    return is_loopback_number(host) || strcasecmp(host, "localhost") == 0 ||
           strcmp(host, DEVICE) == 0;
}

/* A device precedes a slash. */
static bool
names_other_device(const char *info)
{
    const char *mark = strstr(info, MARK);
    const char *slash = mark == NULL ? NULL : strchr(mark + strlen(MARK), '/');

    return slash != NULL &&
           ((size_t) (slash - mark) != strlen(MARK DEVICE) ||
               strncmp(mark, MARK DEVICE, strlen(MARK DEVICE)) != 0);
}

/* There may be a port. */
static bool
names_no_host(const char *info)
{
    return *host_begin(info) == 0 || *host_begin(info) == ':';
}

/* The peers that can reach a class. */
enum reach {
    REACH_UNKNOWN, /* the transport did not open */
    REACH_USER,    /* processes of the same user, or of one parallel job */
    REACH_ANY,     /* of any user of this machine, as configured */
    REACH_NODE,    /* of this machine; the plugin reports no users */
    REACH_NETWORK
};

static enum reach
reach_of_class(na_class_t *na_class)
{
    struct talaria_report *report;
    enum reach reach = REACH_NETWORK;
    const char *peers = "";

    if (talaria_class_report(na_class, &report) != NA_SUCCESS)
        return REACH_UNKNOWN;
    for (size_t i = 0; i < report->count; i++) {
        const struct talaria_report_entry *entry = report->entries[i];

        if (entry->text == NULL)
            continue;
        if (strcmp(entry->name, "node_local") == 0 &&
            strcmp(entry->text, "yes") == 0)
            reach = REACH_NODE;
        if (strcmp(entry->name, "peers") == 0)
            peers = entry->text;
    }
    if (strcmp(peers, "job") == 0 ||
        (reach == REACH_NODE && strcmp(peers, "user") == 0))
        reach = REACH_USER;
    else if (reach == REACH_NODE && strcmp(peers, "any") == 0)
        reach = REACH_ANY;
    talaria_class_report_free(report);
    return reach;
}

static enum reach
reach_of_info(const char *info)
{
    na_class_t *na_class = NA_Initialize(info, false);
    enum reach reach = REACH_UNKNOWN;

    if (na_class != NULL) {
        reach = reach_of_class(na_class);
        NA_Finalize(na_class);
    }
    return reach;
}

/* The part after "://" may select the users of a node-local transport; for any
 * other it names a host, which is not opened twice. */
static enum reach
find_reach(const char *info)
{
    const char *mark = strstr(info, MARK);
    char *scheme =
        strndup(info, mark == NULL ? strlen(info) : (size_t) (mark - info));
    enum reach reach = scheme == NULL ? REACH_UNKNOWN : reach_of_info(scheme);

    free(scheme);
    if (reach == REACH_UNKNOWN || reach == REACH_NETWORK || mark == NULL)
        return reach;
    return reach_of_info(info);
}

/* Adds the loopback device, without which some libraries listen on all devices,
 * and the loopback address unless a host is named. */
static char *
with_loopback(const char *info)
{
    const char *mark = strstr(info, MARK);
    size_t scheme = mark == NULL ? strlen(info) : (size_t) (mark - info);
    const char *rest = host_begin(info);
    char host[HOST_SIZE];
    char *text;

    copy_host(info, host);
    if (host[0] == 0 || strcmp(host, DEVICE) == 0) {
        rest += strlen(host);
        snprintf(host, sizeof(host), "%s", LOOPBACK);
    } else {
        host[0] = 0;
    }
    if (asprintf(&text, "%.*s" MARK DEVICE "/%s%s", (int) scheme, info, host,
            rest) < 0)
        return NULL;
    return text;
}

/* Whether a host or a device other than loopback is named. */
static bool
names_outside(const char *info)
{
    char host[HOST_SIZE];

    copy_host(info, host);
    return names_other_device(info) ||
           (!names_no_host(info) && !is_loopback_host(host));
}

/* Returns why a server without a token may not listen, or NULL. */
static const char *
refuse(const char *info, enum reach reach, bool root_needs_token)
{
    if (reach == REACH_NETWORK && names_outside(info))
        return "other machines can reach that address: --token-file is "
               "required";
    if (reach == REACH_ANY)
        return "any user of this machine can reach that address: --token-file "
               "is required";
    if (reach != REACH_USER && root_needs_token && geteuid() == 0)
        return "any user of this machine can reach that address and act as "
               "root: --token-file is required, or na+sm, which serves root's "
               "own processes only";
    return NULL;
}

const char *
listen_decide(const char *info, bool has_token, bool root_needs_token,
    struct listen *listen_p)
{
    enum reach reach = find_reach(info);
    bool chosen = !names_no_host(info) || names_other_device(info);
    struct listen listen = {NULL, reach == REACH_NETWORK && !has_token};
    const char *reason = NULL;

    if (reach == REACH_UNKNOWN)
        return "cannot open the transport";
    if (!has_token)
        reason = refuse(info, reach, root_needs_token);
    if (reason != NULL)
        return reason;
    listen.info = listen.loopback_only || (reach == REACH_NETWORK && !chosen)
                      ? with_loopback(info)
                      : strdup(info);
    if (listen.info == NULL)
        return strerror(ENOMEM);
    *listen_p = listen;
    return NULL;
}

hg_return_t
listen_address(hg_class_t *hg_class, char *text, hg_size_t size)
{
    hg_addr_t self;
    hg_return_t ret = HG_Addr_self(hg_class, &self);

    if (ret != HG_SUCCESS)
        return ret;
    ret = HG_Addr_to_string(hg_class, text, &size, self);
    HG_Addr_free(hg_class, self);
    return ret;
}

const char *
listen_check(const struct listen *listen, const char *address)
{
    char host[HOST_SIZE] = "";

    if (!listen->loopback_only)
        return NULL;
    if (address != NULL)
        copy_host(address, host);
    return is_loopback_number(host)
               ? NULL
               : "is not a loopback address: --token-file is required";
}
