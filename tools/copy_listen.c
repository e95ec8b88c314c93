/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a server may listen: what a transport reaches is what its class says;
 * which host is loopback, the text of an info string or an address. */
#include <arpa/inet.h>
#include <errno.h>
#include <na.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <talaria.h>

#include "copy_listen.h"
#include "copy_report.h"
#include "copy_status.h"

#define LOOPBACK "127.0.0.1"
#define DEVICE "lo"
#define MARK "://"

/* Longer hosts aren't loopback's. */
#define HOST_SIZE 64

/* Where the host begins in "plugin+protocol://device/host:port", or the text's
 * end. */
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

/* Copies the host out of an info string, without its brackets; "" for one that
 * is too long. */
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

bool
copy_listen_is_loopback(const char *address)
{
    char host[HOST_SIZE];

    copy_host(address, host);
    return is_loopback_number(host);
}

/* What the name means is looked at again once the transport is open. */
static bool
is_loopback_host(const char *host)
{
    return is_loopback_number(host) || strcasecmp(host, "localhost") == 0 ||
           strcmp(host, DEVICE) == 0;
}

/* Whether a device other than the loopback one is named, in front of a slash. */
static bool
names_other_device(const char *info)
{
    const char *mark = strstr(info, MARK);
    const char *slash = mark == NULL ? NULL : strchr(mark + strlen(MARK), '/');

    return slash != NULL &&
           ((size_t) (slash - mark) != strlen(MARK DEVICE) ||
               strncmp(mark, MARK DEVICE, strlen(MARK DEVICE)) != 0);
}

/* Whether no host is named; perhaps a port. */
static bool
names_no_host(const char *info)
{
    return *host_begin(info) == 0 || *host_begin(info) == ':';
}

/* Whether the transport reaches processes of this machine only: 1 or 0, or -1
 * after a line. */
static int
is_node_local(const char *info)
{
    struct talaria_report_entry *entries;
    const char *mark = strstr(info, MARK);
    char *scheme =
        strndup(info, mark == NULL ? strlen(info) : (size_t) (mark - info));
    na_class_t *na_class = scheme == NULL ? NULL : NA_Initialize(scheme, false);
    size_t count;
    int local = -1;

    free(scheme);
    if (na_class == NULL) {
        copy_report_error(info, "can't open the transport");
        return -1;
    }
    if (talaria_class_report(na_class, &entries, &count) == NA_SUCCESS) {
        local = 0;
        for (size_t i = 0; i < count; i++)
            if (strcmp(entries[i].name, "node_local") == 0 &&
                entries[i].text != NULL && strcmp(entries[i].text, "yes") == 0)
                local = 1;
        talaria_class_report_free(entries);
    } else {
        copy_report_error(info, "the transport doesn't say what it reaches");
    }
    NA_Finalize(na_class);
    return local;
}

/* The same, on the loopback device, without which there are libraries that
 * listen at others, too; and at the loopback address, if no other is named. */
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

int
copy_listen_decide(
    const char *info, bool has_token, struct copy_listen *listen_p)
{
    int local = is_node_local(info);
    bool chosen = !names_no_host(info) || names_other_device(info);
    struct copy_listen listen = {NULL, false};
    char host[HOST_SIZE];

    if (local < 0)
        return -1;
    copy_host(info, host);
    if (local == 0 && !has_token && chosen &&
        (names_other_device(info) || !is_loopback_host(host))) {
        copy_report_error(info,
            "other machines may reach that address, which needs --token-file");
        return -1;
    }
    listen.loopback_only = local == 0 && !has_token;
    listen.info = listen.loopback_only || (local == 0 && !chosen)
                      ? with_loopback(info)
                      : strdup(info);
    if (listen.info == NULL) {
        copy_report_error(info, copy_status_error_text(ENOMEM));
        return -1;
    }
    *listen_p = listen;
    return 0;
}
