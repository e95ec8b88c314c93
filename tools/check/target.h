/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin under test, and how it is opened. */
#ifndef KIT_TARGET_H
#define KIT_TARGET_H

#include "check/kit.h"

/* A value of a setting of the plugin. */
struct kit_setting {
    const char *key;
    const char *value;
};

struct kit_target {
    const char *path;
    const char *manifest; /* next to the object, or as given */
    char *protocol;       /* NULL: the first one in its list */
    char *name;           /* the part after "://", or NULL */
    char *device;         /* split as the core does, or NULL */
    char *host;
    int32_t port;
    struct kit_setting *settings;
    size_t settings_count;
    uint64_t patience_ns;
    bool quick;
    const char *launcher; /* starts the processes of a case, or NULL */
    uint32_t seconds;     /* default limit of a case */
};

extern struct kit_target kit_target;

/* Parses a protocol or an info string. false: invalid. */
bool kit_target_parse(struct kit_target *target, const char *info);

/* Splits the name as the core does. false: invalid. */
bool kit_target_split(struct kit_target *target);

/* Loads the object once and finds its table; fails the case without a readable
 * table. Selects the first protocol if none was given. */
const na_plugin *kit_target_load(void);

#endif /* KIT_TARGET_H */
