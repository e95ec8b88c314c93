/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a shared object of this machine's kind as a file, without loading it.
 * The object is untrusted: each offset in it is checked against its size.
 */
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
    /* Of the dynamic segment, all in terms of the file. */
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

/* Maps a file and checks all that the functions below read. false: it is no
 * shared object of this machine's kind, or refers past its end; fault says how.
 * Call elf_close in any case. */
bool elf_open(struct elf *elf, const char *path);
void elf_close(struct elf *elf);

/* By number, false beyond the last. */
bool elf_segment(const struct elf *elf, uint64_t number, ElfW(Phdr) * segment);
bool elf_dynamic(const struct elf *elf, uint64_t number, ElfW(Dyn) * entry);
bool elf_symbol(const struct elf *elf, uint64_t number, ElfW(Sym) * symbol);

/* The first with that tag; false if there is none. */
bool elf_find(const struct elf *elf, int64_t tag, uint64_t *value_p);

/* A string of the dynamic segment, NULL beyond their end. */
const char *elf_string(const struct elf *elf, uint64_t offset);

/* Whether others see a symbol that the object defines. */
bool elf_exported(const ElfW(Sym) * symbol);

/* Whether a symbol's version names the dependency that defines it. */
bool elf_versioned(const struct elf *elf, uint64_t number);

/* Relocations that want a place in the thread's block of static storage. */
uint64_t elf_static_tls(const struct elf *elf);

#endif /* KIT_ELF_H */
