/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: the contents of a plugin's table, and its manifest. */
#include "check/setting.h"
#include "check/static.h"
#include "check/target.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void
kit_static_versions(void)
{
    const na_plugin *table = kit_static_table(kit_static_load());
    uint64_t length = UINT64_MAX;
    ElfW(Sym) symbol;

    if (kit_static_symbol(&symbol) && symbol.st_size > 0)
        length = symbol.st_size;
    kit_expect((uintptr_t) table % _Alignof(na_plugin) == 0 && length >= 16, 3,
        NA_PLUGIN_SYMBOL_NAME " is a na_plugin", "%llu bytes at %p",
        (unsigned long long) length, (const void *) table);
    kit_expect(table->magic == NA_PLUGIN_MAGIC, 3,
        "the magic of this kit's na_plugin.h", "%#x, not %#x", table->magic,
        NA_PLUGIN_MAGIC);
    kit_expect(table->abi_major == NA_PLUGIN_ABI_MAJOR, 3,
        "the major of this kit's na_plugin.h", "%u.%u, not %d",
        (unsigned int) table->abi_major, (unsigned int) table->abi_minor,
        NA_PLUGIN_ABI_MAJOR);
    kit_expect(table->size >= NA_PLUGIN_SIZE_1_0, 3,
        "a table as long as in 1.0", "%u bytes, not %zu", table->size,
        NA_PLUGIN_SIZE_1_0);
    kit_expect(table->size <= length, 3, "the symbol has the table's size",
        "the table has %u bytes, the symbol %llu", table->size,
        (unsigned long long) length);
    kit_expect(table->min_host_minor <= NA_PLUGIN_ABI_MINOR, 3,
        "a min_host_minor not above this kit's minor", "%u, here %d",
        (unsigned int) table->min_host_minor, NA_PLUGIN_ABI_MINOR);
}

/* For cases about its contents. */
static const na_plugin *
known_table(void)
{
    const na_plugin *table = kit_static_table(kit_static_load());
    ElfW(Sym) symbol;

    if ((uintptr_t) table % _Alignof(na_plugin) != 0 ||
        (kit_static_symbol(&symbol) && symbol.st_size > 0 &&
            symbol.st_size < NA_PLUGIN_SIZE_1_0) ||
        table->magic != NA_PLUGIN_MAGIC ||
        table->abi_major != NA_PLUGIN_ABI_MAJOR ||
        table->size < NA_PLUGIN_SIZE_1_0)
        kit_not_run("this kit does not support the table's version");
    return table;
}

void
kit_static_bits(void)
{
    const uint32_t known = NA_PLUGIN_OPAQUE_NAME | NA_PLUGIN_OTHER_PROTOCOLS;
    const na_plugin *table = known_table();

    kit_expect(table->reserved_zero == 0, 4, "what must be zero is",
        "reserved_zero is %u", (unsigned int) table->reserved_zero);
    /* A newer minor version may define more. */
    kit_expect(
        table->abi_minor > NA_PLUGIN_ABI_MINOR || !(table->flags & ~known), 4,
        "flags that na_plugin.h defines", "%#x, of which it defines %#x",
        table->flags, table->flags & known);
}

/* Protocols, at most, before the list counts as unterminated. */
#define PROTOCOLS_MAX 4096U

static const char not_shown[] = "(not to be shown)";

/* Characters allowed in a message. */
static const char *
shown(const char *text)
{
    for (const char *p = text; *p; p++)
        if (*p < ' ' || *p > '~')
            return not_shown;
    return text;
}

static bool
is_name(const char *text)
{
    static const char set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "abcdefghijklmnopqrstuvwxyz0123456789_-";

    return *text && text[strspn(text, set)] == '\0';
}

/* Checks the part between '+' and "://" of an info string. */
static bool
is_protocol(const char *text)
{
    size_t length = strlen(text);

    return length > 0 && !strpbrk(text, "+/") && text[length - 1] != ':' &&
           !strchr(text, ' ') && shown(text) == text;
}

static void
check_protocols(const na_plugin *table)
{
    uint32_t count = 0;

    kit_step("reading its protocols, which NULL ends");
    for (; table->protocols[count]; count++) {
        const char *name = table->protocols[count];

        kit_expect(count < PROTOCOLS_MAX, 12, "NULL ends the protocols",
            "none within %u", count);
        kit_expect(is_protocol(name), 12,
            "names of protocols are printable, without space, '+', '/', and "
            "':' at the end",
            "protocols[%u] is \"%.100s\"", count, shown(name));
        for (uint32_t i = 0; i < count; i++)
            kit_expect(strcmp(table->protocols[i], name) != 0, 12,
                "each protocol is listed once",
                "protocols[%u] and [%u] are both \"%.100s\"", i, count, name);
    }
    kit_expect(count > 0 || table->flags & NA_PLUGIN_OTHER_PROTOCOLS, 12,
        "a protocol, or NA_PLUGIN_OTHER_PROTOCOLS", "neither");
}

void
kit_static_fields(void)
{
    const na_plugin *table = known_table();
    const char *lacking = NULL;

    if (!table->name)
        lacking = "name";
    else if (!table->version)
        lacking = "version";
    else if (!table->protocols)
        lacking = "protocols";
    else if (!table->info)
        lacking = "info";
    else if (!table->open)
        lacking = "open";
    else if (!table->close)
        lacking = "close";
    if (lacking)
        kit_fail(12, "name, version, protocols, info, open and close",
            "%s is NULL", lacking);
    kit_step("reading its name and version");
    kit_expect(is_name(table->name), 12, "a name of [A-Za-z0-9_-]+",
        "\"%.100s\"", shown(table->name));
    kit_expect(*table->version && shown(table->version) == table->version, 12,
        "a version that can be shown", "\"%.100s\"", shown(table->version));
    check_protocols(table);
}

void
kit_static_settings(void)
{
    const na_plugin *table = known_table();

    if (!table->name || !table->protocols)
        kit_not_run("this kit does not support the table's version");
    kit_step("reading its settings, which NULL ends");
    kit_settings_check(table);
}

/* Checks the manifest as the README.md next to na_plugin.h describes it. */
struct manifest {
    json_t *json;
    const char *format;
    const char *name;
    const char *version;
    const char *library_path;
    json_t *protocols;
    json_int_t major;
    json_int_t minor;
    json_int_t min_host_minor;
    json_int_t priority;
    int other_protocols;
};

static void
read_manifest(struct manifest *manifest)
{
    json_error_t error;
    struct stat st;

    memset(manifest, 0, sizeof *manifest);
    if (stat(kit_target.manifest, &st) != 0 && errno == ENOENT)
        kit_not_offered(
            "there is no %s; talaria manifest writes it", kit_target.manifest);
    kit_expect(stat(kit_target.manifest, &st) == 0 && S_ISREG(st.st_mode), 14,
        "the manifest is a file", "%s is no regular file", kit_target.manifest);
    manifest->json =
        json_load_file(kit_target.manifest, JSON_REJECT_DUPLICATES, &error);
    if (!manifest->json)
        kit_fail(14, "the manifest is JSON", "%s, line %d: %s",
            kit_target.manifest, error.line, error.text);
    if (json_unpack_ex(manifest->json, &error, 0,
            "{s:s, s:{s:s, s:s, s:s, s:{s:I, s:I, s:I}, s:o, s?I, s?b}}",
            "format", &manifest->format, "plugin", "name", &manifest->name,
            "version", &manifest->version, "library_path",
            &manifest->library_path, "abi", "major", &manifest->major, "minor",
            &manifest->minor, "min_host_minor", &manifest->min_host_minor,
            "protocols", &manifest->protocols, "priority", &manifest->priority,
            "other_protocols", &manifest->other_protocols) != 0)
        kit_fail(14, "the manifest has the keys that it needs", "%s: %s",
            kit_target.manifest, error.text);
    kit_expect(strncmp(manifest->format, "1.", 2) == 0 && manifest->format[2] &&
                   strspn(manifest->format + 2, "0123456789") ==
                       strlen(manifest->format + 2),
        14, "the manifest has format 1.x", "\"%.100s\"",
        shown(manifest->format));
}

static void
same_text(const char *key, const char *written, const char *is)
{
    kit_expect(strcmp(written, is) == 0, 14,
        "the manifest agrees with the table",
        "%s: \"%.100s\", in the table \"%.100s\"", key, shown(written),
        shown(is));
}

static void
same_number(const char *key, json_int_t written, int32_t is)
{
    kit_expect(written == is, 14, "the manifest agrees with the table",
        "%s: %lld, in the table %d", key, (long long) written, (int) is);
}

static void
same_protocols(const json_t *written, const na_plugin *table)
{
    uint32_t count = 0;

    kit_expect(
        json_is_array(written), 14, "protocols is a list", "another type");
    for (; table->protocols[count] && count < json_array_size(written);
         count++) {
        const char *name = json_string_value(json_array_get(written, count));

        kit_expect(name, 14, "protocols is a list of strings",
            "number %u is another type", count);
        same_text("protocols", name, table->protocols[count]);
    }
    kit_expect(!table->protocols[count] && count == json_array_size(written),
        14, "the manifest agrees with the table",
        "%zu protocols, which differ after %u", json_array_size(written),
        count);
}

/* Symbolic links to the manifest and to the object are resolved. */
static void
same_object(const char *library)
{
    char *manifest = realpath(kit_target.manifest, NULL);
    char *path = NULL, *found;
    int result;

    if (!manifest)
        kit_not_run("%s: %s", kit_target.manifest, strerror(errno));
    if (library[0] == '/')
        result = asprintf(&path, "%s", library);
    else
        result = asprintf(&path, "%.*s/%s",
            (int) (strrchr(manifest, '/') - manifest), manifest, library);
    if (result < 0)
        kit_not_run("out of memory");
    found = realpath(path, NULL);
    kit_expect(found && strcmp(found, kit_target.path) == 0, 14,
        "library_path leads from the manifest to this object",
        "\"%.100s\" leads to %s", shown(library),
        found ? found : strerror(errno));
    free(found);
    free(path);
    free(manifest);
}

void
kit_static_manifest(void)
{
    struct manifest manifest;
    const na_plugin *table;

    read_manifest(&manifest);
    same_object(manifest.library_path);
    table = known_table();
    if (!table->name || !table->version || !table->protocols)
        kit_not_run("this kit does not support the table's version");
    kit_step("comparing table and manifest");
    same_text("name", manifest.name, table->name);
    same_text("version", manifest.version, table->version);
    same_number("abi.major", manifest.major, table->abi_major);
    same_number("abi.minor", manifest.minor, table->abi_minor);
    same_number(
        "abi.min_host_minor", manifest.min_host_minor, table->min_host_minor);
    same_protocols(manifest.protocols, table);
    same_number("priority", manifest.priority, table->priority);
    same_number("other_protocols", manifest.other_protocols,
        (table->flags & NA_PLUGIN_OTHER_PROTOCOLS) != 0);
    json_decref(manifest.json);
}
