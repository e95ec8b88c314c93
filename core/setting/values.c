/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding and checking the values of settings. */
#include "setting/values.h"

#include "base/env.h"
#include "setting/setting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct setting_pair *
find_pair(struct setting_pairs *pairs, const char *key)
{
    size_t length = strlen(key);

    for (size_t i = 0; pairs && i < pairs->count; i++)
        if (pairs->pairs[i].key_length == length &&
            memcmp(pairs->pairs[i].key, key, length) == 0)
            return &pairs->pairs[i];
    return NULL;
}

/* Replaces control characters, which would garble the log line. */
static void
keep_one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char) *text < ' ' || *text == 0x7f)
            *text = '?';
}

static void
describe(const na_plugin_setting *setting, const char *text,
    const struct setting_pair *pair, char *fault, size_t size)
{
    char wanted[128], variable[BASE_ENV_NAME_SIZE] = "";

    setting_wanted(setting, wanted, sizeof wanted);
    if (!pair)
        base_env_variable(setting->key, variable);
    snprintf(fault, size, "%s is \"%.64s\" by %s%s, wanted %s", setting->key,
        text, pair ? "the program's settings" : "the variable ", variable,
        wanted);
    keep_one_line(fault);
}

static na_return_t
read_value(struct setting_value *value, struct setting_pairs *pairs,
    char *fault, size_t size)
{
    const na_plugin_setting *setting = value->setting;
    struct setting_pair *pair = find_pair(pairs, setting->key);
    const char *given =
        pair ? pair->value : base_env_plugin_setting(setting->key);

    if (pair)
        pair->taken = true;
    if (!setting_parse(
            setting, given ? given : setting->initial, &value->number)) {
        describe(setting, given ? given : setting->initial, pair, fault, size);
        if (pair)
            pairs->refused = true;
        return NA_INVALID_ARG;
    }
    value->text = strdup(given ? given : setting->initial);
    if (value->text)
        return NA_SUCCESS;
    snprintf(fault, size, "out of memory");
    return NA_NOMEM;
}

na_return_t
setting_values_read(struct setting_values *values,
    const na_plugin_setting *const *list, struct setting_pairs *pairs,
    char *fault, size_t size)
{
    size_t count = 0;
    na_return_t ret = NA_SUCCESS;

    *values = (struct setting_values){.count = 0};
    while (list && list[count])
        count++;
    if (count == 0)
        return NA_SUCCESS;
    values->values = calloc(count, sizeof *values->values);
    if (!values->values) {
        snprintf(fault, size, "out of memory");
        return NA_NOMEM;
    }
    for (; values->count < count && ret == NA_SUCCESS; values->count++) {
        values->values[values->count].setting = list[values->count];
        ret = read_value(&values->values[values->count], pairs, fault, size);
    }
    if (ret != NA_SUCCESS)
        setting_values_finish(values);
    return ret;
}

void
setting_values_finish(struct setting_values *values)
{
    for (size_t i = 0; i < values->count; i++)
        free(values->values[i].text);
    free(values->values);
    *values = (struct setting_values){.count = 0};
}

const struct setting_value *
setting_values_find(const struct setting_values *values, const char *key)
{
    for (size_t i = 0; i < values->count; i++)
        if (strcmp(values->values[i].setting->key, key) == 0)
            return &values->values[i];
    return NULL;
}
