/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are not a complete shared object for this process: each is
 * rejected with a reason before dlopen. */
#include "object/object.h"

#include "fixture.h"
#include "plugin/load.h"
#include "plugin/manifest.h"
#include "runner.h"

#include <check.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) ((int) (sizeof(array) / sizeof(array)[0]))

/* A copy of the valid plugin that a case changes. */
static char *bytes;
static size_t length;
static ElfW(Ehdr) header;

static void
take_good(void)
{
    FILE *file = fopen(fixture_variant("good"), "re");
    struct stat st;

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fstat(fileno(file), &st), 0);
    length = (size_t) st.st_size;
    bytes = malloc(length);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_eq(fread(bytes, 1, length, file), length);
    fclose(file);
    memcpy(&header, bytes, sizeof header);
}

/* Rejected in the load stage, with this text. */
static void
ck_refused(const char *path, const char *text)
{
    struct plugin_manifest *manifest = NULL;
    struct plugin_fault fault = {.stage = TALARIA_STAGE_OK};

    ck_assert_int_eq(
        plugin_load_describe(path, "x.so", &manifest, &fault), NA_FAULT);
    ck_assert_ptr_null(manifest);
    ck_assert_int_eq(fault.stage, TALARIA_STAGE_DLOPEN);
    ck_assert_msg(strncmp(fault.text, path, strlen(path)) == 0 &&
                      strstr(fault.text, text),
        "\"%s\" lacks \"%s\"", fault.text, text);
}

static const char *
written(const char *name, size_t size)
{
    const char *path = fixture_write(name, "");
    FILE *file = fopen(path, "we");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

static void
ck_cut(size_t size)
{
    ck_refused(written("cut.so", size), size == 0 ? "it is empty"
                                        : size < SELFMAG
                                            ? "it is not an ELF file"
                                            : "it is cut off: ");
}

/* Truncated at each byte of the headers, around the ends of segments and header
 * tables, and in the middle of pages. */
START_TEST(object_truncated_is_rejected)
{
    fixture_begin();
    take_good();
    for (size_t size = 0; size <= sizeof header + 8; size++)
        ck_cut(size);
    for (unsigned i = 0; i <= header.e_phnum; i++) {
        size_t at = header.e_phoff + i * sizeof(ElfW(Phdr));
        ElfW(Phdr) segment;

        ck_cut(at - 1);
        ck_cut(at);
        ck_cut(at + 1);
        if (i == header.e_phnum)
            break;
        memcpy(&segment, bytes + at, sizeof segment);
        for (int d = -1; d <= 1; d++) {
            if (segment.p_offset + (size_t) d < length)
                ck_cut(segment.p_offset + (size_t) d);
            if (segment.p_offset + segment.p_filesz + (size_t) d < length)
                ck_cut(segment.p_offset + segment.p_filesz + (size_t) d);
        }
    }
    for (size_t size = 2048; size < length; size += 2048)
        ck_cut(size);
    ck_cut(header.e_shoff - 1);
    ck_cut(header.e_shoff);
    ck_cut(length - 1);
    free(bytes);
}
END_TEST

START_TEST(object_complete_is_accepted)
{
    struct plugin_manifest *manifest = NULL;
    struct plugin_fault fault;
    char text[256] = "";

    fixture_begin();
    take_good();
    ck_assert_msg(
        object_check(written("x.so", length), text, sizeof text), "%s", text);
    /* Section headers are not needed for loading. */
    memset(bytes + offsetof(ElfW(Ehdr), e_shnum), 0, sizeof header.e_shnum);
    ck_assert_int_eq(plugin_load_describe(written("stripped.so", length),
                         "x.so", &manifest, &fault),
        NA_SUCCESS);
    plugin_manifest_destroy(manifest);
    free(bytes);
}
END_TEST

/* One or two changed bytes of the header. */
static const struct {
    size_t at;
    uint16_t value;
    unsigned size;
    const char *text;
} changes[] = {
    {EI_CLASS, ELFCLASS32, 1, "it is a 32-bit object, this process is 64-bit"},
    {EI_CLASS, 7, 1, "it is a broken object, this process is 64-bit"},
    {EI_DATA, ELFDATA2MSB, 1, "it is of the other byte order"},
    {offsetof(ElfW(Ehdr), e_machine), EM_S390, 2,
        "it is built for s390 (22), "},
    {offsetof(ElfW(Ehdr), e_machine), EM_ARM, 2, "it is built for arm (40), "},
    {offsetof(ElfW(Ehdr), e_machine), 0x7777, 2,
        "it is built for an unknown machine (30583), "},
    {offsetof(ElfW(Ehdr), e_type), ET_EXEC, 2,
        "it is an executable, not a shared object"},
    {offsetof(ElfW(Ehdr), e_type), ET_REL, 2,
        "it is an object that is not linked, not a shared object"},
    {offsetof(ElfW(Ehdr), e_type), ET_CORE, 2,
        "it is a core dump, not a shared object"},
    {offsetof(ElfW(Ehdr), e_type), 99, 2, "it is an ELF file of unknown type"},
    {offsetof(ElfW(Ehdr), e_phentsize), 32, 2,
        "its program headers have 32 bytes, wanted 56"},
    {offsetof(ElfW(Ehdr), e_shentsize), 1, 2,
        "its section headers have 1 bytes, wanted 64"},
    {offsetof(ElfW(Ehdr), e_phnum), 0, 2, "it has no dynamic segment"},
    {offsetof(ElfW(Ehdr), e_phnum), 0xfff0, 2, "it is cut off: "},
    {offsetof(ElfW(Ehdr), e_phoff) + 6, 0xffff, 2, "it is cut off: "},
    {offsetof(ElfW(Ehdr), e_shoff) + 6, 0xffff, 2, "it is cut off: "},
};

START_TEST(object_of_another_kind_is_rejected)
{
    if (sizeof(ElfW(Addr)) != 8 || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
        return; /* offsets for x86-64 and similar */
    fixture_begin();
    take_good();
    memcpy(bytes + changes[_i].at, &changes[_i].value, changes[_i].size);
    ck_refused(written("x.so", length), changes[_i].text);
    free(bytes);
}
END_TEST

/* A segment that ends beyond the file. */
START_TEST(object_with_segment_beyond_end_is_rejected)
{
    ElfW(Phdr) segment;

    fixture_begin();
    take_good();
    memcpy(&segment, bytes + header.e_phoff, sizeof segment);
    segment.p_offset = UINT64_MAX - 8;
    memcpy(bytes + header.e_phoff, &segment, sizeof segment);
    ck_refused(written("x.so", length), "it is cut off: ");
    free(bytes);
}
END_TEST

START_TEST(object_that_is_not_elf_is_rejected)
{
    fixture_begin();
    ck_refused(fixture_write("text.so", "not an object"), "not an ELF file");
    ck_refused(fixture_write("script.so", "#!/bin/sh\necho and more of it\n"),
        "it is not an ELF file but a script");
    ck_refused(fixture_write("archive.so", "!<arch>\nand what is in it\n"),
        "it is not an ELF file but a static library");
    ck_refused("/proc/self/exe", "it is an executable, not a shared object");
    ck_refused(fixture_mkdir("folder.so"), "it is not a file");
    ck_refused(fixture_path("none.so"), "it cannot be opened: ");
}
END_TEST

int
main(void)
{
    TCase *tcase = tcase_create("plugin_object");

    tcase_add_unchecked_fixture(tcase, fixture_setup, fixture_teardown);
    tcase_add_test(tcase, object_truncated_is_rejected);
    tcase_add_test(tcase, object_complete_is_accepted);
    tcase_add_loop_test(
        tcase, object_of_another_kind_is_rejected, 0, COUNT(changes));
    tcase_add_test(tcase, object_with_segment_beyond_end_is_rejected);
    tcase_add_test(tcase, object_that_is_not_elf_is_rejected);
    return run_tcase("plugin_object", tcase);
}
