/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a shared object from its file by its dynamic segment, as the loader
 * does. */
#include "check/elf.h"

#include "object/object.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef EM_LOONGARCH /* in an older elf.h, such as musl's */
#define EM_LOONGARCH 258
#endif
#ifndef R_LARCH_TLS_TPREL32
#define R_LARCH_TLS_TPREL32 10
#define R_LARCH_TLS_TPREL64 11
#endif

__attribute__((format(printf, 2, 3))) static bool
refuse(struct elf *elf, const char *text, ...)
{
    va_list values;

    va_start(values, text);
    vsnprintf(elf->fault, sizeof elf->fault, text, values);
    va_end(values);
    return false;
}

static bool
within(const struct elf *elf, uint64_t offset, uint64_t length)
{
    return offset <= elf->size && length <= elf->size - offset;
}

/* Structures in a file may be unaligned, so they are copied. */
static bool
read_at(const struct elf *elf, uint64_t offset, void *into, size_t length)
{
    if (!within(elf, offset, length))
        return false;
    memcpy(into, elf->bytes + offset, length);
    return true;
}

/* Whether `count` elements of `size` bytes at an offset are within the file,
 * and `number` is one of them. */
static bool
read_entry(const struct elf *elf, uint64_t offset, uint64_t count,
    uint64_t number, void *into, size_t size)
{
    return number < count && read_at(elf, offset + number * size, into, size);
}

bool
elf_segment(const struct elf *elf, uint64_t number, ElfW(Phdr) * segment)
{
    return read_entry(elf, elf->header.e_phoff, elf->header.e_phnum, number,
        segment, sizeof *segment);
}

bool
elf_dynamic(const struct elf *elf, uint64_t number, ElfW(Dyn) * entry)
{
    return read_entry(
        elf, elf->dynamic, elf->dynamic_count, number, entry, sizeof *entry);
}

bool
elf_symbol(const struct elf *elf, uint64_t number, ElfW(Sym) * symbol)
{
    return read_entry(
        elf, elf->symbols, elf->symbol_count, number, symbol, sizeof *symbol);
}

bool
elf_find(const struct elf *elf, int64_t tag, uint64_t *value_p)
{
    ElfW(Dyn) entry;

    for (uint64_t i = 0; elf_dynamic(elf, i, &entry); i++)
        if (entry.d_tag == tag) {
            *value_p = entry.d_un.d_val;
            return true;
        }
    return false;
}

const char *
elf_string(const struct elf *elf, uint64_t offset)
{
    /* The last of them ends within the file: see read_strings. */
    if (offset >= elf->strings_size)
        return NULL;
    return (const char *) elf->bytes + elf->strings + offset;
}

bool
elf_exported(const ElfW(Sym) * symbol)
{
    unsigned int binding = symbol->st_info >> 4;
    unsigned int visibility = symbol->st_other & 3U;

    return symbol->st_shndx != SHN_UNDEF && binding != STB_LOCAL &&
           visibility != STV_HIDDEN && visibility != STV_INTERNAL;
}

bool
elf_versioned(const struct elf *elf, uint64_t number)
{
    uint16_t version;

    return elf->versions &&
           read_entry(elf, elf->versions, elf->symbol_count, number, &version,
               sizeof version) &&
           (version & 0x7fffU) > VER_NDX_GLOBAL;
}

static bool
map_file(struct elf *elf, const char *path)
{
    struct stat st;
    void *bytes = MAP_FAILED;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool is_file = false;
    int err;

    if (fd < 0)
        return refuse(elf, "cannot be opened: %s", strerror(errno));
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        is_file = true;
        bytes = mmap(NULL, (size_t) st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    err = errno;
    close(fd);
    if (!is_file)
        return refuse(elf, "it is not a file");
    if (st.st_size == 0)
        return refuse(elf, "it is empty");
    if (bytes == MAP_FAILED)
        return refuse(elf, "cannot be read: %s", strerror(err));
    elf->bytes = bytes;
    elf->size = (size_t) st.st_size;
    return true;
}

static bool
read_segments(struct elf *elf)
{
    ElfW(Phdr) segment;
    ElfW(Dyn) entry;
    uint64_t room = 0;

    for (uint64_t i = 0; elf_segment(elf, i, &segment); i++) {
        if (segment.p_type == PT_DYNAMIC) {
            elf->dynamic = segment.p_offset;
            room = segment.p_filesz / sizeof entry;
        }
    }
    if (room == 0)
        return refuse(elf, "it has no dynamic segment");
    do {
        if (!read_entry(elf, elf->dynamic, room, elf->dynamic_count++, &entry,
                sizeof entry))
            return refuse(elf, "its dynamic segment does not end");
    } while (entry.d_tag != DT_NULL);
    elf->dynamic_count--;
    return true;
}

/* Returns the file offset of an address. */
static bool
locate(const struct elf *elf, uint64_t address, uint64_t length,
    uint64_t *offset_p)
{
    ElfW(Phdr) segment;

    for (uint64_t i = 0; elf_segment(elf, i, &segment); i++) {
        uint64_t at = address - segment.p_vaddr;

        if (segment.p_type != PT_LOAD || address < segment.p_vaddr ||
            at > segment.p_filesz || length > segment.p_filesz - at)
            continue;
        *offset_p = segment.p_offset + at;
        return true;
    }
    return false;
}

static bool
read_strings(struct elf *elf)
{
    uint64_t address, size;
    ElfW(Dyn) entry;

    if (!elf_find(elf, DT_STRTAB, &address) ||
        !elf_find(elf, DT_STRSZ, &size) || size == 0 ||
        !locate(elf, address, size, &elf->strings) ||
        elf->bytes[elf->strings + size - 1] != '\0')
        return refuse(elf, "its dynamic strings do not lie in it");
    elf->strings_size = size;
    for (uint64_t i = 0; elf_dynamic(elf, i, &entry); i++)
        if (entry.d_tag == DT_NEEDED && !elf_string(elf, entry.d_un.d_val))
            return refuse(elf, "a dependency's name does not lie in it");
    return true;
}

/* Counts the symbols of a GNU hash table: up to the end of the last chain. */
static bool
count_gnu_hash(const struct elf *elf, uint64_t offset, uint64_t *count_p)
{
    enum { BUCKETS, FIRST, BLOOM, SHIFT };
    uint32_t head[SHIFT + 1], word = 0;
    uint64_t buckets, chains, last = 0;

    if (!read_at(elf, offset, head, sizeof head) || head[BUCKETS] == 0)
        return false;
    buckets = offset + sizeof head + head[BLOOM] * sizeof(ElfW(Addr));
    chains = buckets + (uint64_t) head[BUCKETS] * sizeof word;
    for (uint64_t i = 0; i < head[BUCKETS]; i++) {
        if (!read_at(elf, buckets + i * sizeof word, &word, sizeof word))
            return false;
        if (word > last)
            last = word;
    }
    if (last < head[FIRST]) {
        *count_p = head[FIRST];
        return true;
    }
    do {
        if (!read_at(elf, chains + (last - head[FIRST]) * sizeof word, &word,
                sizeof word))
            return false;
        last++;
    } while (!(word & 1U));
    *count_p = last;
    return true;
}

/* Reads the number of symbols of an old hash table. */
static bool
count_hash(const struct elf *elf, uint64_t offset, uint64_t *count_p)
{
    uint32_t head[2];

    if (!read_at(elf, offset, head, sizeof head) || head[0] == 0)
        return false;
    *count_p = head[1];
    return true;
}

/* Reads the number of symbols from the section headers, if any; else 0. A hash
 * table may omit undefined symbols. */
static uint64_t
count_section(const struct elf *elf, uint64_t address)
{
    const ElfW(Ehdr) *header = &elf->header;
    ElfW(Shdr) section;

    if (header->e_shentsize != sizeof section)
        return 0;
    for (uint64_t i = 0; read_entry(elf, header->e_shoff, header->e_shnum, i,
             &section, sizeof section);
         i++)
        if (section.sh_type == SHT_DYNSYM && section.sh_addr == address)
            return section.sh_size / sizeof(ElfW(Sym));
    return 0;
}

static bool
count_symbols(struct elf *elf, uint64_t symbols, uint64_t *count_p)
{
    uint64_t address, offset, gnu = 0, old = 0, section;

    if (elf_find(elf, DT_GNU_HASH, &address) &&
        (!locate(elf, address, 0, &offset) ||
            !count_gnu_hash(elf, offset, &gnu)))
        return refuse(elf, "its hash table is broken");
    if (elf_find(elf, DT_HASH, &address) &&
        (!locate(elf, address, 0, &offset) || !count_hash(elf, offset, &old)))
        return refuse(elf, "its hash table is broken");
    *count_p = gnu > old ? gnu : old;
    section = count_section(elf, symbols);
    if (section > *count_p &&
        locate(elf, symbols, section * sizeof(ElfW(Sym)), &offset))
        *count_p = section;
    return true;
}

static bool
read_symbols(struct elf *elf)
{
    uint64_t address, count = 0;
    ElfW(Sym) symbol;

    if (!elf_find(elf, DT_SYMTAB, &address))
        return refuse(elf, "it has no dynamic symbols");
    if (!count_symbols(elf, address, &count))
        return false;
    if (!locate(elf, address, count * sizeof symbol, &elf->symbols))
        return refuse(elf, "its %llu dynamic symbols do not lie in it",
            (unsigned long long) count);
    elf->symbol_count = count;
    if (elf_find(elf, DT_VERSYM, &address) &&
        !locate(elf, address, count * sizeof(uint16_t), &elf->versions))
        return refuse(elf, "its symbols' versions do not lie in it");
    for (uint64_t i = 0; elf_symbol(elf, i, &symbol); i++)
        if (!elf_string(elf, symbol.st_name))
            return refuse(elf, "the name of symbol %llu does not lie in it",
                (unsigned long long) i);
    return true;
}

static bool
read_relocations(struct elf *elf)
{
    static const struct {
        int64_t address, length;
        uint32_t size; /* 0: given by DT_PLTREL */
    } kinds[] = {{DT_RELA, DT_RELASZ, sizeof(ElfW(Rela))},
        {DT_REL, DT_RELSZ, sizeof(ElfW(Rel))}, {DT_JMPREL, DT_PLTRELSZ, 0}};
    uint64_t address, length, kind;

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct elf_relocations *into = &elf->relocations[i];

        if (!elf_find(elf, kinds[i].address, &address) ||
            !elf_find(elf, kinds[i].length, &length))
            continue;
        if (!locate(elf, address, length, &into->offset))
            return refuse(elf, "its relocations do not lie in it");
        into->size = kinds[i].size;
        if (into->size == 0)
            into->size = elf_find(elf, DT_PLTREL, &kind) && kind == DT_REL
                             ? sizeof(ElfW(Rel))
                             : sizeof(ElfW(Rela));
        into->count = length / into->size;
    }
    return true;
}

bool
elf_open(struct elf *elf, const char *path)
{
    memset(elf, 0, sizeof *elf);
    if (!object_check(path, elf->fault, sizeof elf->fault) ||
        !map_file(elf, path))
        return false;
    if (!read_at(elf, 0, &elf->header, sizeof elf->header))
        return refuse(elf, "it was changed while it was read");
    return read_segments(elf) && read_strings(elf) && read_symbols(elf) &&
           read_relocations(elf);
}

void
elf_close(struct elf *elf)
{
    if (elf->bytes)
        munmap((void *) (uintptr_t) elf->bytes, elf->size);
    memset(elf, 0, sizeof *elf);
}

static bool
is_static_tls(unsigned int machine, uint64_t type)
{
    static const struct {
        unsigned int machine;
        uint64_t type;
    } known[] = {{EM_X86_64, R_X86_64_TPOFF64}, {EM_X86_64, R_X86_64_TPOFF32},
        {EM_AARCH64, R_AARCH64_TLS_TPREL}, {EM_386, R_386_TLS_TPOFF},
        {EM_386, R_386_TLS_TPOFF32}, {EM_ARM, R_ARM_TLS_TPOFF32},
        {EM_PPC64, R_PPC64_TPREL64}, {EM_PPC, R_PPC_TPREL32},
        {EM_S390, R_390_TLS_TPOFF}, {EM_RISCV, R_RISCV_TLS_TPREL64},
        {EM_RISCV, R_RISCV_TLS_TPREL32}, {EM_LOONGARCH, R_LARCH_TLS_TPREL64},
        {EM_LOONGARCH, R_LARCH_TLS_TPREL32}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].machine == machine && known[i].type == type)
            return true;
    return false;
}

uint64_t
elf_static_tls(const struct elf *elf)
{
    uint64_t count = 0;

    for (size_t i = 0; i < 3; i++) {
        const struct elf_relocations *from = &elf->relocations[i];
        ElfW(Rel) relocation; /* the start of both kinds */

        for (uint64_t j = 0; j < from->count; j++)
            if (read_at(elf, from->offset + j * from->size, &relocation,
                    sizeof relocation))
                count += is_static_tls(elf->header.e_machine,
                    sizeof(ElfW(Addr)) == 8
                        ? ELF64_R_TYPE((uint64_t) relocation.r_info)
                        : ELF32_R_TYPE(relocation.r_info));
    }
    return count;
}
