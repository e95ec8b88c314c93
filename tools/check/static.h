/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the static cases: the object under test as a file, and loaded. */
#ifndef KIT_STATIC_H
#define KIT_STATIC_H

#include "check/elf.h"
#include "check/kit.h"

/* Reads the object. Ends the case as not run if that fails, which the case
 * file_is_object reports. */
const struct elf *kit_static_object(void);

/* Finds na_plugin_v1 if the object itself exports it. */
bool kit_static_symbol(ElfW(Sym) * symbol);

/* Loads the object again, for dlclose. Ends the case as not run if that fails,
 * which the case load_resolves reports. */
void *kit_static_load(void);

/* Returns its table, unchecked. Without one it ends the case as not run. */
const na_plugin *kit_static_table(void *handle);

/* Cases: static_table.c. */
void kit_static_versions(void);
void kit_static_bits(void);
void kit_static_fields(void);
void kit_static_settings(void);
void kit_static_manifest(void);

#endif /* KIT_STATIC_H */
