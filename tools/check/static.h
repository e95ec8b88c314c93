/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the static cases: the object under test, read and loaded. */
#ifndef KIT_STATIC_H
#define KIT_STATIC_H

#include "check/elf.h"
#include "check/kit.h"

/* The object as a file. One that is unreadable ends the case as not run: the
 * case file_is_object says what is wrong with it. */
const struct elf *kit_static_object(void);

/* na_plugin_v1, if the object itself exports it. */
bool kit_static_symbol(ElfW(Sym) * symbol);

/* Loads the object once more, for dlclose. Not run if it does not load: the
 * case load_resolves says why. */
void *kit_static_load(void);

/* Its table, with unchecked contents. Not run if there is none. */
const na_plugin *kit_static_table(void *handle);

/* Cases: static_table.c. */
void kit_static_versions(void);
void kit_static_bits(void);
void kit_static_fields(void);
void kit_static_settings(void);
void kit_static_manifest(void);

#endif /* KIT_STATIC_H */
