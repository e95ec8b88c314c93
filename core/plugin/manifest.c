/* SPDX-License-Identifier: BSD-3-Clause */
/* The description of a plugin, without its code. */
#include "plugin/manifest.h"

#include "na_plugin.h"
#include "plugin/info_string.h"
#include "plugin/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The numbers of a manifest before their ranges are checked. */
struct numbers {
    json_int_t major;
    json_int_t minor;
    json_int_t min_host_minor;
    json_int_t priority;
};

static na_return_t
refuse_nomem(struct plugin_fault *fault)
{
    return plugin_fault_set(
        fault, TALARIA_STAGE_MANIFEST, NA_NOMEM, "out of memory");
}

/* Reports an error of jansson in `what`. */
static na_return_t
refuse_json(
    struct plugin_fault *fault, const char *what, const json_error_t *error)
{
    if (json_error_code(error) == json_error_out_of_memory)
        return refuse_nomem(fault);
    return plugin_fault_set(fault, TALARIA_STAGE_MANIFEST, NA_PROTOCOL_ERROR,
        "%s: %s", what, error->text);
}

/* Reads up to size bytes. Returns their number, or a negative errno. */
static ssize_t
read_all(int fd, char *buffer, size_t size)
{
    size_t length = 0;

    while (length < size) {
        ssize_t n = read(fd, buffer + length, size - length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        length += (size_t) n;
    }
    return (ssize_t) length;
}

/* Reads an open manifest. The buffer is one byte larger than the limit, to
 * detect a file that grows meanwhile. */
static na_return_t
read_checked(int fd, const char *path, char *buffer, size_t *length_p,
    struct plugin_fault *fault)
{
    struct stat st;
    ssize_t length;
    na_return_t ret;

    if (fstat(fd, &st) != 0)
        return plugin_fault_errno(fault, TALARIA_STAGE_MANIFEST, errno, path);
    if (!S_ISREG(st.st_mode))
        return plugin_fault_set(fault, TALARIA_STAGE_MANIFEST,
            NA_PROTOCOL_ERROR, "%s is not a file", path);
    ret = plugin_trust_stat(path, &st, fault);
    if (ret == NA_SUCCESS)
        ret = plugin_trust_folder_of(path, fault);
    if (ret != NA_SUCCESS)
        return ret;
    length = read_all(fd, buffer, PLUGIN_MANIFEST_MAX + 1);
    if (length < 0)
        return plugin_fault_errno(
            fault, TALARIA_STAGE_MANIFEST, (int) -length, path);
    if (length > PLUGIN_MANIFEST_MAX)
        return plugin_fault_set(fault, TALARIA_STAGE_MANIFEST,
            NA_PROTOCOL_ERROR, "%s is longer than %d bytes", path,
            PLUGIN_MANIFEST_MAX);
    *length_p = (size_t) length;
    return NA_SUCCESS;
}

static na_return_t
read_json(const char *path, json_t **json_p, struct plugin_fault *fault)
{
    char *buffer = NULL;
    size_t length = 0;
    json_error_t error;
    char line[32];
    na_return_t ret;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return plugin_fault_errno(fault,
            errno == EACCES ? TALARIA_STAGE_PERMISSION : TALARIA_STAGE_MANIFEST,
            errno, path);
    buffer = malloc(PLUGIN_MANIFEST_MAX + 1);
    if (!buffer) {
        ret = refuse_nomem(fault);
        goto close_fd;
    }
    ret = read_checked(fd, path, buffer, &length, fault);
    if (ret != NA_SUCCESS)
        goto free_buffer;
    /* If its buffer for a token cannot grow, jansson 2.14 loses the end of a
     * string of 14, 30, 62 … bytes, such as "min_host_minor", and writes beyond
     * the buffer if the next allocation succeeds. It can't be prevented here:
     * the allocator is that of the process. */
    *json_p = json_loadb(buffer, length, JSON_REJECT_DUPLICATES, &error);
    if (!*json_p) {
        snprintf(line, sizeof line, "line %d", error.line);
        ret = refuse_json(fault, line, &error);
    }

free_buffer:
    free(buffer);
close_fd:
    close(fd);
    return ret;
}

/* "1.0": the major version must match; a newer minor has keys that are ignored.
 */
static bool
is_format(const char *format)
{
    size_t digits;

    if (format[0] != '1' || format[1] != '.')
        return false;
    digits = strspn(format + 2, "0123456789");
    return digits > 0 && format[2 + digits] == '\0';
}

static bool
is_path(const char *text)
{
    size_t length = strnlen(text, PATH_MAX);

    if (length == 0 || length == PATH_MAX)
        return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char) text[i] < ' ' || text[i] == 0x7f)
            return false;
    return true;
}

bool
plugin_manifest_is_version(const char *version)
{
    size_t length = strnlen(version, PLUGIN_VERSION_MAX + 1);

    if (length == 0 || length > PLUGIN_VERSION_MAX)
        return false;
    for (size_t i = 0; i < length; i++)
        if (version[i] <= ' ' || version[i] > '~')
            return false;
    return true;
}

static na_return_t
check_strings(const char *name, const char *version, const char *library,
    struct plugin_fault *fault)
{
    const char *wrong = NULL;

    if (!plugin_info_is_plugin(name))
        wrong = "name (wanted letters, digits, '_', '-'; at most 63)";
    else if (!plugin_manifest_is_version(version))
        wrong = "version (wanted 1 to 63 printable bytes, no space)";
    else if (!is_path(library))
        wrong = "library_path (wanted a path)";
    if (!wrong)
        return NA_SUCCESS;
    return plugin_fault_set(fault, TALARIA_STAGE_MANIFEST, NA_PROTOCOL_ERROR,
        "it has a bad plugin.%s", wrong);
}

static na_return_t
check_numbers(const struct numbers *numbers, struct plugin_fault *fault)
{
    const char *wrong = NULL;
    json_int_t value = 0;

    if (numbers->major < 0 || numbers->major > UINT16_MAX) {
        wrong = "abi.major";
        value = numbers->major;
    } else if (numbers->minor < 0 || numbers->minor > UINT16_MAX) {
        wrong = "abi.minor";
        value = numbers->minor;
    } else if (numbers->min_host_minor < 0 ||
               numbers->min_host_minor > UINT16_MAX) {
        wrong = "abi.min_host_minor";
        value = numbers->min_host_minor;
    } else if (numbers->priority < INT32_MIN || numbers->priority > INT32_MAX) {
        wrong = "priority";
        value = numbers->priority;
    }
    if (!wrong)
        return NA_SUCCESS;
    return plugin_fault_set(fault, TALARIA_STAGE_MANIFEST, NA_PROTOCOL_ERROR,
        "its plugin.%s is out of range: %lld", wrong, (long long) value);
}

/* names: room for PLUGIN_PROTOCOLS_MAX entries and a NULL; they point into the
 * JSON. */
static na_return_t
parse_protocols(const json_t *protocols, bool other, const char **names,
    struct plugin_fault *fault)
{
    size_t count = json_array_size(protocols);

    if (!json_is_array(protocols) || count > PLUGIN_PROTOCOLS_MAX ||
        (count == 0 && !other))
        return plugin_fault_set(fault, TALARIA_STAGE_MANIFEST,
            NA_PROTOCOL_ERROR,
            "its plugin.protocols is not a list of 1 to %d (0 with "
            "other_protocols)",
            PLUGIN_PROTOCOLS_MAX);
    for (size_t i = 0; i < count; i++) {
        names[i] = json_string_value(json_array_get(protocols, i));
        if (!names[i] || !plugin_info_is_protocol(names[i]))
            return plugin_fault_set(fault, TALARIA_STAGE_MANIFEST,
                NA_PROTOCOL_ERROR,
                "its plugin.protocols[%zu] is not a protocol's name", i);
    }
    names[count] = NULL;
    return NA_SUCCESS;
}

/* Creates a manifest with copies of these strings; NULL: out of memory. */
static struct plugin_manifest *
manifest_create(const char *name, const char *version, const char *library,
    const char *const *protocols)
{
    struct plugin_manifest *manifest = calloc(1, sizeof *manifest);
    size_t count = 0;

    if (!manifest)
        return NULL;
    while (protocols[count])
        count++;
    manifest->name = strdup(name);
    manifest->version = strdup(version);
    manifest->library_path = strdup(library);
    manifest->protocols = calloc(count + 1, sizeof *manifest->protocols);
    if (!manifest->name || !manifest->version || !manifest->library_path ||
        !manifest->protocols)
        goto destroy_manifest;
    for (size_t i = 0; i < count; i++) {
        manifest->protocols[i] = strdup(protocols[i]);
        if (!manifest->protocols[i])
            goto destroy_manifest;
    }
    return manifest;

destroy_manifest:
    plugin_manifest_destroy(manifest);
    return NULL;
}

/* Makes a manifest of parsed JSON, and checks every field. Unknown keys are
 * ignored. */
static na_return_t
parse_json(json_t *json, struct plugin_manifest **manifest_p,
    struct plugin_fault *fault)
{
    struct plugin_manifest *manifest;
    struct numbers numbers = {.priority = 0};
    const char *format, *name, *version, *library;
    const char *names[PLUGIN_PROTOCOLS_MAX + 1];
    json_t *protocols;
    json_error_t error;
    int other = 0;
    na_return_t ret;

    if (json_unpack_ex(json, &error, 0, "{s:s}", "format", &format) != 0)
        return refuse_json(fault, "format", &error);
    if (!is_format(format))
        return plugin_fault_set(fault, TALARIA_STAGE_MANIFEST,
            NA_PROTOCOL_ERROR, "its format is \"%.16s\", wanted \"1.x\"",
            format);
    if (json_unpack_ex(json, &error, 0,
            "{s:{s:s, s:s, s:s, s:{s:I, s:I, s:I}, s:o, s?I, s?b}}", "plugin",
            "name", &name, "version", &version, "library_path", &library, "abi",
            "major", &numbers.major, "minor", &numbers.minor, "min_host_minor",
            &numbers.min_host_minor, "protocols", &protocols, "priority",
            &numbers.priority, "other_protocols", &other) != 0)
        return refuse_json(fault, "plugin", &error);
    ret = check_strings(name, version, library, fault);
    if (ret == NA_SUCCESS)
        ret = check_numbers(&numbers, fault);
    if (ret == NA_SUCCESS)
        ret = parse_protocols(protocols, other, names, fault);
    if (ret != NA_SUCCESS)
        return ret;

    manifest = manifest_create(name, version, library, names);
    if (!manifest)
        return refuse_nomem(fault);
    manifest->priority = (int32_t) numbers.priority;
    manifest->abi_major = (uint16_t) numbers.major;
    manifest->abi_minor = (uint16_t) numbers.minor;
    manifest->min_host_minor = (uint16_t) numbers.min_host_minor;
    manifest->other_protocols = other;
    *manifest_p = manifest;
    return NA_SUCCESS;
}

na_return_t
plugin_manifest_read(const char *path, struct plugin_manifest **manifest_p,
    struct plugin_fault *fault)
{
    json_t *json = NULL;
    na_return_t ret = read_json(path, &json, fault);

    if (ret != NA_SUCCESS)
        return ret;
    ret = parse_json(json, manifest_p, fault);
    json_decref(json);
    return ret;
}

na_return_t
plugin_manifest_copy(const struct na_plugin *plugin, const char *library_path,
    struct plugin_manifest **manifest_p, struct plugin_fault *fault)
{
    struct plugin_manifest *manifest = manifest_create(
        plugin->name, plugin->version, library_path, plugin->protocols);

    if (!manifest)
        return refuse_nomem(fault);
    manifest->priority = plugin->priority;
    manifest->abi_major = plugin->abi_major;
    manifest->abi_minor = plugin->abi_minor;
    manifest->min_host_minor = plugin->min_host_minor;
    manifest->other_protocols = plugin->flags & NA_PLUGIN_OTHER_PROTOCOLS;
    *manifest_p = manifest;
    return NA_SUCCESS;
}

void
plugin_manifest_destroy(struct plugin_manifest *manifest)
{
    if (!manifest)
        return;
    for (char **p = manifest->protocols; p && *p; p++)
        free(*p);
    free(manifest->protocols);
    free(manifest->library_path);
    free(manifest->version);
    free(manifest->name);
    free(manifest);
}

static bool
same_protocols(char *const *a, const char *const *b)
{
    for (; *a && *b; a++, b++)
        if (strcmp(*a, *b) != 0)
            return false;
    return !*a && !*b;
}

na_return_t
plugin_manifest_compare(const struct plugin_manifest *manifest,
    const struct na_plugin *plugin, struct plugin_fault *fault)
{
    bool other = plugin->flags & NA_PLUGIN_OTHER_PROTOCOLS;
    const char *wrong = NULL;

    if (strcmp(manifest->name, plugin->name) != 0)
        return plugin_fault_set(fault, TALARIA_STAGE_NAME_MISMATCH,
            NA_PROTOCOL_ERROR,
            "the manifest says plugin \"%s\", the shared object is \"%s\"",
            manifest->name, plugin->name);
    if (strcmp(manifest->version, plugin->version) != 0)
        return plugin_fault_set(fault, TALARIA_STAGE_MANIFEST,
            NA_PROTOCOL_ERROR,
            "the manifest says version %s, the shared object is %s",
            manifest->version, plugin->version);
    if (manifest->abi_major != plugin->abi_major ||
        manifest->abi_minor != plugin->abi_minor ||
        manifest->min_host_minor != plugin->min_host_minor)
        wrong = "ABI";
    else if (!same_protocols(manifest->protocols, plugin->protocols) ||
             manifest->other_protocols != other)
        wrong = "protocols";
    else if (manifest->priority != plugin->priority)
        wrong = "priority";
    if (!wrong)
        return NA_SUCCESS;
    return plugin_fault_set(fault, TALARIA_STAGE_MANIFEST, NA_PROTOCOL_ERROR,
        "manifest and shared object differ in their %s: make the manifest "
        "anew",
        wrong);
}

char *
plugin_manifest_format(const struct plugin_manifest *manifest)
{
    json_t *protocols = json_array(), *json;
    char *text, *line;

    for (char **p = manifest->protocols; *p; p++)
        if (json_array_append_new(protocols, json_string(*p)) != 0) {
            json_decref(protocols);
            return NULL;
        }
    json = json_pack("{s:s, s:{s:s, s:s, s:s, s:{s:i, s:i, s:i}, s:o, s:i}}",
        "format", "1.0", "plugin", "name", manifest->name, "version",
        manifest->version, "library_path", manifest->library_path, "abi",
        "major", manifest->abi_major, "minor", manifest->abi_minor,
        "min_host_minor", manifest->min_host_minor, "protocols", protocols,
        "priority", manifest->priority);
    if (manifest->other_protocols)
        json_object_set_new(
            json_object_get(json, "plugin"), "other_protocols", json_true());
    text = json_dumps(json, JSON_INDENT(2));
    json_decref(json);
    if (!text || asprintf(&line, "%s\n", text) < 0)
        line = NULL;
    free(text);
    return line;
}
