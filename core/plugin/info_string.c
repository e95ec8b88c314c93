/* SPDX-License-Identifier: BSD-3-Clause */
/* Info strings: "plugin+protocol://name". */
#include "plugin/info_string.h"

#include "base/log.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Maximum bytes of a plugin's name, and of a protocol. */
#define NAME_MAX_LENGTH 63
#define PROTOCOL_MAX_LENGTH 511

/* Maximum bytes of a malformed string in a log line. */
#define SHOWN_MAX 128

/* A part of a string; begin NULL: missing. */
struct span {
    const char *begin;
    size_t length;
};

/* The parts of an info string, or the error in it. */
struct parts {
    struct span plugin;
    struct span protocol;
    struct span name;
    const char *fault;
};

/* The parts of a name, or the error in it. */
struct location {
    struct span device;
    struct span host;
    int32_t port;
    const char *fault;
};

static bool
is_plugin_name(struct span name)
{
    if (name.length == 0 || name.length > NAME_MAX_LENGTH)
        return false;
    for (size_t i = 0; i < name.length; i++)
        if (!isalnum((unsigned char) name.begin[i]) && name.begin[i] != '_' &&
            name.begin[i] != '-')
            return false;
    return true;
}

/* Returns whether a string can be a protocol: any list for the plugin's
 * library, without the separators of info strings. */
static bool
is_protocol_name(struct span name)
{
    if (name.length == 0 || name.length > PROTOCOL_MAX_LENGTH ||
        name.begin[name.length - 1] == ':')
        return false;
    for (size_t i = 0; i < name.length; i++)
        if (name.begin[i] <= ' ' || name.begin[i] > '~' ||
            name.begin[i] == '+' || name.begin[i] == '/')
            return false;
    return true;
}

static bool
is_printable(const char *string, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (string[i] < ' ' || string[i] > '~')
            return false;
    return true;
}

static struct parts
string_parts(const char *string)
{
    struct parts parts = {.fault = NULL};
    const char *end, *plus;
    size_t length;

    if (!string || !*string) {
        parts.fault = "it is empty";
        return parts;
    }
    length = strnlen(string, PLUGIN_INFO_MAX + 1);
    if (length > PLUGIN_INFO_MAX) {
        parts.fault = "it is too long";
        return parts;
    }
    if (!is_printable(string, length)) {
        parts.fault = "it has bytes that are not printable ASCII";
        return parts;
    }

    end = strstr(string, "://");
    if (end && end[3])
        parts.name = (struct span){end + 3, strlen(end + 3)};
    else if (!end)
        end = string + length;
    plus = memchr(string, '+', (size_t) (end - string));
    if (plus) {
        parts.plugin = (struct span){string, (size_t) (plus - string)};
        if (!is_plugin_name(parts.plugin))
            parts.fault = "what precedes the '+' is not a plugin's name "
                          "(letters, digits, '_', '-'; at most 63)";
        string = plus + 1;
    }
    parts.protocol = (struct span){string, (size_t) (end - string)};
    if (!parts.fault && !is_protocol_name(parts.protocol))
        parts.fault = "there is no protocol in it: expected "
                      "[plugin+]protocol[://name]";
    return parts;
}

static bool
is_ipv6(struct span host)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;
    const char *scope = memchr(host.begin, '%', host.length);
    size_t length = scope ? (size_t) (scope - host.begin) : host.length;

    if (length >= sizeof text || (scope && length + 1 == host.length))
        return false;
    memcpy(text, host.begin, length);
    text[length] = '\0';
    return inet_pton(AF_INET6, text, &address) == 1;
}

static bool
is_host(struct span host)
{
    for (size_t i = 0; i < host.length; i++)
        if (host.begin[i] == ' ' || strchr("[]:\"'", host.begin[i]))
            return false;
    return true;
}

/* Returns the port, or -1 unless all of the string is a number from 0 to 65535.
 */
static int32_t
parse_port(const char *digits)
{
    int32_t port = 0;

    if (!*digits)
        return -1;
    for (; *digits; digits++) {
        if (*digits < '0' || *digits > '9')
            return -1;
        port = port * 10 + (*digits - '0');
        if (port > 65535)
            return -1;
    }
    return port;
}

/* Parses "[v6]" or "[v6]:port". rest: what follows the bracket. */
static const char *
bracketed_host(const char *rest, struct location *location)
{
    const char *end = strchr(rest, ']');

    if (!end)
        return "a '[' is not closed";
    location->host = (struct span){rest, (size_t) (end - rest)};
    if (!is_ipv6(location->host))
        return "what stands in brackets is not an IPv6 address";
    if (end[1] && end[1] != ':')
        return "only \":port\" may follow a bracket";
    if (end[1]) {
        location->port = parse_port(end + 2);
        if (location->port < 0)
            return "the port is not a number from 0 to 65535";
    }
    return NULL;
}

static const char *
plain_host(const char *rest, struct location *location)
{
    const char *colon = strchr(rest, ':');
    size_t length = colon ? (size_t) (colon - rest) : strlen(rest);

    if (colon && strchr(colon + 1, ':'))
        return "an IPv6 address stands in brackets, and a host has one port";
    if (length > 0)
        location->host = (struct span){rest, length};
    if (!is_host(location->host))
        return "the host has characters that no host has";
    if (colon) {
        location->port = parse_port(colon + 1);
        if (location->port < 0)
            return "the port is not a number from 0 to 65535";
    }
    return NULL;
}

static struct location
name_location(const char *name)
{
    struct location location = {.port = -1};
    const char *slash = strchr(name, '/');

    if (slash) {
        location.device = (struct span){name, (size_t) (slash - name)};
        name = slash + 1;
        if (location.device.length == 0 || strchr(name, '/') ||
            memchr(location.device.begin, ' ', location.device.length)) {
            location.fault = "what precedes the '/' is not one device";
            return location;
        }
    }
    location.fault = *name == '[' ? bracketed_host(name + 1, &location)
                                  : plain_host(name, &location);
    return location;
}

/* Replaces bytes that cannot be shown in a log line. */
static void
make_printable(const char *string, char text[SHOWN_MAX])
{
    size_t i = 0;

    for (; i + 1 < SHOWN_MAX && string[i]; i++) {
        text[i] = string[i];
        if (!is_printable(string + i, 1))
            text[i] = '?';
    }
    if (string[i])
        memset(text + i - 3, '.', 3);
    text[i] = '\0';
}

static char *
span_copy(struct span span)
{
    return span.begin ? strndup(span.begin, span.length) : NULL;
}

na_return_t
plugin_info_parse(const char *string, struct plugin_info *info_p)
{
    struct parts parts = string_parts(string);
    struct plugin_info info = {.port = -1};

    if (parts.fault) {
        char shown[SHOWN_MAX];

        make_printable(string ? string : "", shown);
        LOG_ERROR(
            PLUGIN, "\"%s\" is not an info string: %s", shown, parts.fault);
        return NA_INVALID_ARG;
    }
    info.plugin = span_copy(parts.plugin);
    info.protocol = span_copy(parts.protocol);
    info.name = span_copy(parts.name);
    if ((parts.plugin.begin && !info.plugin) || !info.protocol ||
        (parts.name.begin && !info.name)) {
        plugin_info_finish(&info);
        return NA_NOMEM;
    }
    *info_p = info;
    return NA_SUCCESS;
}

na_return_t
plugin_info_split(struct plugin_info *info)
{
    struct location location;
    char *device, *host;

    if (!info->name)
        return NA_SUCCESS;
    location = name_location(info->name);
    if (location.fault) {
        /* The reason comes first, since a long name may be cut. */
        LOG_ERROR(PLUGIN, "%s, in info string \"%s%s%s://%s\"", location.fault,
            info->plugin ? info->plugin : "", info->plugin ? "+" : "",
            info->protocol, info->name);
        return NA_INVALID_ARG;
    }
    device = span_copy(location.device);
    host = span_copy(location.host);
    if ((location.device.begin && !device) || (location.host.begin && !host)) {
        free(device);
        free(host);
        return NA_NOMEM;
    }
    free(info->device);
    free(info->host);
    info->device = device;
    info->host = host;
    info->port = location.port;
    return NA_SUCCESS;
}

void
plugin_info_finish(struct plugin_info *info)
{
    if (!info)
        return;
    free(info->plugin);
    free(info->protocol);
    free(info->name);
    free(info->device);
    free(info->host);
    *info = (struct plugin_info){.port = -1};
}

const char *
plugin_info_fault(const char *string, bool split)
{
    struct parts parts = string_parts(string);

    if (parts.fault || !split || !parts.name.begin)
        return parts.fault;
    return plugin_info_name_fault(parts.name.begin);
}

const char *
plugin_info_name_fault(const char *name)
{
    return name_location(name).fault;
}

bool
plugin_info_is_plugin(const char *name)
{
    return is_plugin_name(
        (struct span){name, strnlen(name, NAME_MAX_LENGTH + 1)});
}

bool
plugin_info_is_protocol(const char *protocol)
{
    return is_protocol_name(
        (struct span){protocol, strnlen(protocol, PROTOCOL_MAX_LENGTH + 1)});
}
