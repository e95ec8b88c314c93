/* SPDX-License-Identifier: BSD-3-Clause */
/* Parsing a program's settings, and finding unknown ones. */
#include "setting/pairs.h"

#include "setting/nearest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static na_return_t
pair_init(
    struct setting_pairs *pairs, const char *text, char *fault, size_t size)
{
    struct setting_pair *pair = &pairs->pairs[pairs->count];
    const char *equals = strchr(text, '=');

    if (!equals || equals == text) {
        snprintf(fault, size, "the setting \"%.64s\" is not key=value", text);
        return NA_INVALID_ARG;
    }
    *pair = (struct setting_pair){.key = text,
        .key_length = (size_t) (equals - text),
        .value = equals + 1};
    for (size_t i = 0; i < pairs->count; i++) {
        const struct setting_pair *other = &pairs->pairs[i];

        if (!other->key || other->key_length != pair->key_length ||
            strncmp(other->key, text, pair->key_length) != 0)
            continue;
        snprintf(fault, size, "the setting \"%.*s\" is given twice",
            pair->key_length < 64 ? (int) pair->key_length : 64, text);
        return NA_INVALID_ARG;
    }
    pairs->count++;
    return NA_SUCCESS;
}

na_return_t
setting_pairs_init(struct setting_pairs *pairs, const char *const *settings,
    char *fault, size_t size)
{
    size_t count = 0;
    na_return_t ret = NA_SUCCESS;

    *pairs = (struct setting_pairs){.count = 0};
    while (settings && settings[count])
        count++;
    if (count == 0)
        return NA_SUCCESS;
    pairs->pairs = calloc(count, sizeof *pairs->pairs);
    if (!pairs->pairs) {
        snprintf(fault, size, "out of memory");
        return NA_NOMEM;
    }
    for (size_t i = 0; i < count && ret == NA_SUCCESS; i++)
        ret = pair_init(pairs, settings[i], fault, size);
    if (ret != NA_SUCCESS)
        setting_pairs_finish(pairs);
    return ret;
}

void
setting_pairs_finish(struct setting_pairs *pairs)
{
    free(pairs->pairs);
    *pairs = (struct setting_pairs){.count = 0};
}

bool
setting_pairs_all_taken(const struct setting_pairs *pairs,
    const na_plugin_setting *const *const *lists, size_t count, char *fault,
    size_t size)
{
    const struct setting_pair *pair;
    const char *near;
    size_t at = 0;

    while (at < pairs->count && pairs->pairs[at].taken)
        at++;
    if (at == pairs->count)
        return true;
    pair = &pairs->pairs[at];
    near = setting_nearest(pair->key, pair->key_length, lists, count);
    snprintf(fault, size, "there is no setting \"%.*s\" here%s%s%s",
        pair->key_length < 64 ? (int) pair->key_length : 64, pair->key,
        near ? ", the nearest is \"" : "", near ? near : "",
        near ? "\"" : ", nor any other");
    return false;
}
