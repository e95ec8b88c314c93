/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a shared object of this machine without loading it. The object is
 * untrusted: each offset is checked against the file's size. */
#ifndef KIT_ELF_H
#define KIT_ELF_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A table of relocations: its file offset and length. */
struct elf_relocations {
    uint64_t offset;
    uint64_t count;
    uint32_t size; /* of one, in bytes */
};

struct elf {
    const unsigned char *bytes; /* the file, mapped */
    size_t size;
    ElfW(Ehdr) header;
    /* From the dynamic segment, as file offsets. */
    uint64_t dynamic;
    uint64_t dynamic_count;
    uint64_t strings;
    uint64_t strings_size;
    uint64_t symbols;
    uint64_t symbol_count;
    uint64_t versions; /* 0: its symbols have none */
    struct elf_relocations relocations[3];
    char fault[160]; /* what is wrong with it */
};

/* Maps a file and checks all that the functions below read. false: not a shared
 * object of this machine, or invalid; see fault. elf_close must be called in
 * any case. */
bool elf_open(struct elf *elf, const char *path);
void elf_close(struct elf *elf);

/* Read an entry by number; false beyond the last. */
bool elf_segment(const struct elf *elf, uint64_t number, ElfW(Phdr) * segment);
bool elf_dynamic(const struct elf *elf, uint64_t number, ElfW(Dyn) * entry);
bool elf_symbol(const struct elf *elf, uint64_t number, ElfW(Sym) * symbol);

/* Returns the first entry with a tag; false: none. */
bool elf_find(const struct elf *elf, int64_t tag, uint64_t *value_p);

/* Returns a string of the dynamic segment; NULL beyond its end. */
const char *elf_string(const struct elf *elf, uint64_t offset);

/* Whether a symbol is defined and visible to other objects. */
bool elf_exported(const ElfW(Sym) * symbol);

/* Whether a symbol's version names the dependency that defines it. */
bool elf_versioned(const struct elf *elf, uint64_t number);

/* Counts relocations that need static TLS. */
uint64_t elf_static_tls(const struct elf *elf);

#endif /* KIT_ELF_H */
