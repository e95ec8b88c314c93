/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptions of settings, and the forms of their values. */
#include "setting/setting.h"

#include "setting/nearest.h"

#include <stdio.h>
#include <string.h>

/* No pointers in these tables, since each needs a relocation. */
struct unit {
    char name[8];
    uint64_t factor;
};

#define SECOND UINT64_C(1000000000)
static const struct unit byte_units[] = {
    {"G", 1U << 30}, {"M", 1U << 20}, {"K", 1U << 10}, {"", 1}};
static const struct unit time_units[] = {{"h", 3600 * SECOND},
    {"min", 60 * SECOND}, {"s", SECOND}, {"ms", 1000000}, {"us", 1000},
    {"ns", 1}};

static const char kinds[][9] = {
    [NA_PLUGIN_SETTING_TEXT] = "text",
    [NA_PLUGIN_SETTING_NUMBER] = "number",
    [NA_PLUGIN_SETTING_BYTES] = "bytes",
    [NA_PLUGIN_SETTING_DURATION] = "duration",
    [NA_PLUGIN_SETTING_BOOLEAN] = "boolean",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Returns the units of a kind, the largest first; the last is the base unit. */
static const struct unit *
units_of(uint32_t kind, size_t *count_p)
{
    *count_p = 1;
    if (kind == NA_PLUGIN_SETTING_DURATION) {
        *count_p = COUNT(time_units);
        return time_units;
    }
    if (kind != NA_PLUGIN_SETTING_BYTES)
        return &byte_units[3];
    *count_p = COUNT(byte_units);
    return byte_units;
}

static bool
parse_digits(const char **text_p, uint64_t *number_p)
{
    const char *text = *text_p;
    uint64_t number = 0;

    if (*text < '0' || *text > '9')
        return false;
    for (; *text >= '0' && *text <= '9'; text++)
        if (__builtin_mul_overflow(number, UINT64_C(10), &number) ||
            __builtin_add_overflow(number, (uint64_t) (*text - '0'), &number))
            return false;
    *text_p = text;
    *number_p = number;
    return true;
}

/* Parses a number with a unit. Zero needs none. */
static bool
parse_measure(const char *text, uint32_t kind, uint64_t *number_p)
{
    size_t count;
    const struct unit *units = units_of(kind, &count);

    if (!parse_digits(&text, number_p))
        return false;
    if (*number_p == 0 && *text == '\0')
        return true;
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, units[i].name) == 0)
            return !__builtin_mul_overflow(
                *number_p, units[i].factor, number_p);
    return false;
}

bool
setting_parse_boolean(const char *text, bool *on_p)
{
    static const char words[][6] = {
        "0", "1", "no", "yes", "off", "on", "false", "true"};

    for (size_t i = 0; i < COUNT(words); i++) {
        if (strcmp(text, words[i]) == 0) {
            *on_p = i % 2 != 0;
            return true;
        }
    }
    return false;
}

static bool
parse_boolean(const char *text, uint64_t *number_p)
{
    bool on = false;

    if (!setting_parse_boolean(text, &on))
        return false;
    *number_p = on;
    return true;
}

bool
setting_parse(
    const na_plugin_setting *setting, const char *text, uint64_t *number_p)
{
    uint64_t number = 0;

    *number_p = 0;
    if (setting->kind >= COUNT(kinds)) /* of a later minor version */
        return true;
    if (setting->kind == NA_PLUGIN_SETTING_TEXT)
        number = strlen(text);
    else if (setting->kind == NA_PLUGIN_SETTING_BOOLEAN
                 ? !parse_boolean(text, &number)
                 : !parse_measure(text, setting->kind, &number))
        return false;
    if (number < setting->least || number > setting->most)
        return false;
    if (setting->kind != NA_PLUGIN_SETTING_TEXT)
        *number_p = number;
    return true;
}

/* Writes a number in the largest unit that divides it. */
static void
write_limit(uint64_t number, uint32_t kind, char text[32])
{
    size_t count, i = 0;
    const struct unit *units = units_of(kind, &count);

    while (i + 1 < count && number % units[i].factor != 0)
        i++;
    snprintf(text, 32, "%llu%s",
        (unsigned long long) (number / units[i].factor),
        number == 0 ? "" : units[i].name);
}

void
setting_wanted(const na_plugin_setting *setting, char *text, size_t size)
{
    const char *kind = setting_kind(setting->kind);
    char least[32], most[32];

    if (setting->kind == NA_PLUGIN_SETTING_BOOLEAN) {
        snprintf(text, size, "%s", SETTING_BOOLEANS);
        return;
    }
    write_limit(setting->least, setting->kind, least);
    write_limit(setting->most, setting->kind, most);
    snprintf(text, size, "%s from %s to %s%s", kind, least, most,
        setting->kind == NA_PLUGIN_SETTING_TEXT       ? " bytes"
        : setting->kind == NA_PLUGIN_SETTING_DURATION ? ", with its unit"
                                                      : "");
}

const char *
setting_kind(uint32_t kind)
{
    return kind < COUNT(kinds) ? kinds[kind] : "unknown";
}

/* Returns the length of a word if key begins with it in lower case, else 0.
 * Without <ctype.h>: in a Turkish locale the small 'I' is not 'i'. */
static size_t
prefix_length(const char *key, const char *word)
{
    size_t i = 0;

    for (; word[i]; i++) {
        char c = word[i];

        if (c >= 'A' && c <= 'Z')
            c = (char) (c - 'A' + 'a');
        if (key[i] != c)
            return 0;
    }
    return key[i] == '.' ? i + 1 : 0;
}

/* Returns the error in a key, or NULL. */
static const char *
key_fault(const na_plugin *plugin, const char *key)
{
    static const char set[] = "-.abcdefghijklmnopqrstuvwxyz0123456789_";
    size_t length = strnlen(key, NA_PLUGIN_SETTING_KEY_MAX + 1);
    size_t prefix = prefix_length(key, plugin->name);

    if (length > NA_PLUGIN_SETTING_KEY_MAX)
        return "a key longer than 63 bytes";
    for (const char *const *p = plugin->protocols; *p && prefix == 0; p++)
        prefix = prefix_length(key, *p);
    if (prefix == 0 || prefix_length(key, "hg") > 0 ||
        prefix_length(key, "plugin") > 0)
        return "a key that does not begin with the plugin's name, or a "
               "protocol "
               "of its own, and a dot";
    if (strspn(key, set) != length || !key[prefix] ||
        strpbrk(key + prefix, "-."))
        return "a key without [a-z0-9_]+ behind the dot";
    return NULL;
}

static bool
is_line(const char *text)
{
    size_t length = strnlen(text, NA_PLUGIN_SETTING_TEXT_MAX + 1);

    if (length > NA_PLUGIN_SETTING_TEXT_MAX)
        return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char) text[i] < ' ' || text[i] == 0x7f)
            return false;
    return true;
}

/* Returns the error in the other members of an entry, or NULL. */
static const char *
entry_fault(const na_plugin *plugin, const na_plugin_setting *setting)
{
    uint64_t number;

    if (setting->kind >= COUNT(kinds) &&
        plugin->abi_minor <= NA_PLUGIN_ABI_MINOR)
        return "an unknown kind";
    if (!setting->text || !*setting->text || !is_line(setting->text))
        return "no text that is one line of 1 to 255 bytes";
    if (setting->least > setting->most ||
        (setting->kind == NA_PLUGIN_SETTING_BOOLEAN &&
            (setting->least != 0 || setting->most != 1)))
        return "no range, or, as a boolean, not that from 0 to 1";
    if (!setting->initial || !is_line(setting->initial) ||
        !setting_parse(setting, setting->initial, &number))
        return "no initial value within its range";
    return NULL;
}

/* Returns the error in entry i, or NULL. */
static const char *
fault_of(const na_plugin *plugin, size_t i)
{
    const na_plugin_setting *const *list = plugin->settings;
    const char *what;

    if (i == NA_PLUGIN_SETTINGS_MAX)
        return "more before it than the 128 that there may be";
    if (list[i]->size < NA_PLUGIN_SETTING_SIZE_1_0)
        return "a size below that of 1.0";
    what = list[i]->key ? key_fault(plugin, list[i]->key) : "no key";
    if (!what)
        what = entry_fault(plugin, list[i]);
    for (size_t j = 0; j < i && !what; j++) {
        size_t length = strlen(list[j]->key);

        if (length == strlen(list[i]->key) &&
            setting_distance(list[i]->key, length, list[j]->key, length) == 0)
            what = "a key that is there before";
    }
    return what;
}

bool
setting_list_check(const na_plugin *plugin, char *fault, size_t size)
{
    const na_plugin_setting *const *list = plugin->settings;

    for (size_t i = 0; list && list[i]; i++) {
        const char *what = fault_of(plugin, i);
        bool named = i < NA_PLUGIN_SETTINGS_MAX && what &&
                     list[i]->size >= NA_PLUGIN_SETTING_SIZE_1_0 &&
                     list[i]->key && is_line(list[i]->key);

        if (!what)
            continue;
        snprintf(fault, size, "its descriptor's settings[%zu]%s%s has %s", i,
            named ? ", " : "", named ? list[i]->key : "", what);
        return false;
    }
    return true;
}
