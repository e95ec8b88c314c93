/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that a file is a complete shared object for this process. */
#include "object/object.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef EM_LOONGARCH /* missing in older versions of elf.h, such as musl's */
#define EM_LOONGARCH 258
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_DATA ELFDATA2LSB
#else
#define OWN_DATA ELFDATA2MSB
#endif
#define OWN_CLASS (sizeof(ElfW(Addr)) == 8 ? ELFCLASS64 : ELFCLASS32)

/* The linker puts it where the header of this object's own file is. */
extern const ElfW(Ehdr) __ehdr_start /* NOLINT: the linker's name */
    __attribute__((visibility("hidden")));

struct object {
    int fd;
    uint64_t length;
    ElfW(Ehdr) header;
    char *text;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static bool
refuse(const struct object *object, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(object->text, object->size, format, args);
    va_end(args);
    return false;
}

static bool
within(const struct object *object, uint64_t offset, uint64_t length)
{
    return offset <= object->length && length <= object->length - offset;
}

/* Returns false if the range is not in the file, which may have been truncated
 * since it was opened. */
static bool
read_at(const struct object *object, uint64_t offset, void *into, size_t length)
{
    return within(object, offset, length) &&
           pread(object->fd, into, length, (off_t) offset) == (ssize_t) length;
}

/* machine: EM_*, of elf(5). */
static const char *
elf_machine_name(unsigned machine)
{
    static const struct {
        unsigned machine;
        const char *name;
    } names[] = {{EM_X86_64, "x86-64"}, {EM_386, "i386"},
        {EM_AARCH64, "aarch64"}, {EM_ARM, "arm"}, {EM_RISCV, "riscv"},
        {EM_PPC64, "ppc64"}, {EM_PPC, "ppc"}, {EM_S390, "s390"},
        {EM_LOONGARCH, "loongarch"}, {EM_MIPS, "mips"},
        {EM_SPARCV9, "sparc64"}};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].machine == machine)
            return names[i].name;
    return "an unknown machine";
}

static bool
check_ident(const struct object *object)
{
    unsigned char ident[EI_NIDENT] = {0};

    if (object->length == 0)
        return refuse(object, "it is empty");
    if (!read_at(object, 0, ident,
            object->length < sizeof ident ? object->length : sizeof ident) ||
        memcmp(ident, ELFMAG, SELFMAG) != 0)
        return refuse(object, "it is not an ELF file%s",
            memcmp(ident, "!<arch>", 7) == 0 ? " but a static library"
            : memcmp(ident, "#!", 2) == 0    ? " but a script"
                                             : "");
    if (object->length < sizeof ident)
        return refuse(object, "it is cut off: its %llu bytes end in its header",
            (unsigned long long) object->length);
    if (ident[EI_CLASS] != OWN_CLASS)
        return refuse(object, "it is a %s object, this process is %d-bit",
            ident[EI_CLASS] == ELFCLASS32   ? "32-bit"
            : ident[EI_CLASS] == ELFCLASS64 ? "64-bit"
                                            : "broken",
            OWN_CLASS == ELFCLASS64 ? 64 : 32);
    if (ident[EI_DATA] != OWN_DATA)
        return refuse(object, "it is of the other byte order");
    return true;
}

static bool
check_header(struct object *object)
{
    const ElfW(Ehdr) *header = &object->header;
    unsigned own = __ehdr_start.e_machine;

    if (!check_ident(object))
        return false;
    if (!read_at(object, 0, &object->header, sizeof object->header))
        return refuse(object, "it is cut off: its %llu bytes end in its header",
            (unsigned long long) object->length);
    if (header->e_machine != own)
        return refuse(object,
            "it is built for %s (%u), this process is %s (%u)",
            elf_machine_name(header->e_machine), header->e_machine,
            elf_machine_name(own), own);
    if (header->e_type != ET_DYN)
        return refuse(object, "it is %s, not a shared object",
            header->e_type == ET_EXEC   ? "an executable"
            : header->e_type == ET_REL  ? "an object that is not linked"
            : header->e_type == ET_CORE ? "a core dump"
                                        : "an ELF file of unknown type");
    return true;
}

/* Checks a table of headers. */
static bool
check_table(const struct object *object, const char *name, uint64_t offset,
    uint64_t count, uint64_t size, uint64_t wanted)
{
    unsigned long long end = offset + count * size;

    if (count == 0)
        return true;
    if (size != wanted)
        return refuse(object, "its %s headers have %llu bytes, wanted %llu",
            name, (unsigned long long) size, (unsigned long long) wanted);
    if (!within(object, offset, count * size))
        return refuse(object,
            "it is cut off: it has %llu bytes, its %s headers are at %llu to "
            "%llu",
            (unsigned long long) object->length, name,
            (unsigned long long) offset, end);
    return true;
}

/* Returns whether one of the first 128 entries of the dynamic segment marks an
 * executable. dlopen refuses others too, with a less clear message. */
static bool
is_program(const struct object *object, const ElfW(Phdr) * segment)
{
    ElfW(Dyn) entries[128];
    size_t size = segment->p_filesz < sizeof entries
                      ? (size_t) segment->p_filesz
                      : sizeof entries;

    if (!read_at(object, segment->p_offset, entries, size))
        return false;
    for (size_t i = 0;
         i < size / sizeof entries[0] && entries[i].d_tag != DT_NULL; i++)
        if (entries[i].d_tag == DT_FLAGS_1)
            return entries[i].d_un.d_val & DF_1_PIE;
    return false;
}

static bool
check_segments(const struct object *object)
{
    const ElfW(Ehdr) *header = &object->header;
    bool dynamic = false;
    ElfW(Phdr) segment;

    for (uint64_t i = 0; i < header->e_phnum; i++) {
        if (!read_at(object, header->e_phoff + i * sizeof segment, &segment,
                sizeof segment))
            return refuse(object, "its program headers cannot be read");
        if (segment.p_type != PT_LOAD && segment.p_type != PT_DYNAMIC)
            continue;
        if (!within(object, segment.p_offset, segment.p_filesz))
            return refuse(object,
                "it is cut off: it has %llu bytes, segment %llu is at %llu and "
                "has %llu",
                (unsigned long long) object->length, (unsigned long long) i,
                (unsigned long long) segment.p_offset,
                (unsigned long long) segment.p_filesz);
        if (segment.p_type != PT_DYNAMIC)
            continue;
        dynamic = true;
        if (is_program(object, &segment))
            return refuse(
                object, "it is %s, not a shared object", "an executable");
    }
    return dynamic ? true : refuse(object, "it has no dynamic segment");
}

static bool
check(struct object *object)
{
    const ElfW(Ehdr) *header = &object->header;

    return check_header(object) &&
           check_table(object, "program", header->e_phoff, header->e_phnum,
               header->e_phentsize, sizeof(ElfW(Phdr))) &&
           check_segments(object) &&
           check_table(object, "section", header->e_shoff, header->e_shnum,
               header->e_shentsize, sizeof(ElfW(Shdr)));
}

bool
object_check(const char *path, char *text, size_t size)
{
    struct object object = {
        .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY),
        .text = text,
        .size = size};
    struct stat st;
    bool good;

    if (object.fd < 0 || fstat(object.fd, &st) != 0) {
        good = refuse(&object, "it cannot be opened: %s", strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        good = refuse(&object, "it is not a file");
    } else {
        object.length = (uint64_t) st.st_size;
        good = check(&object);
    }
    if (object.fd >= 0)
        close(object.fd);
    return good;
}
