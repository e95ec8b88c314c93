/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: the object as a file, and as loaded. No function of the plugin is
 * called. */
#include "check/cases.h"
#include "check/shared.h"
#include "check/static.h"
#include "check/target.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Names for a message, as many as fit, and their number. */
struct names {
    char text[KIT_TEXT_MAX / 2];
    size_t length;
    uint32_t count;
};

/* Up to 100 printable bytes of the object's text. */
static void
names_add(struct names *names, const char *name)
{
    int n = snprintf(names->text + names->length,
        sizeof names->text - names->length, "%s%.100s",
        names->count > 0 ? ", " : "", name);

    names->count++;
    for (char *p = names->text + names->length; *p; p++)
        if (*p < ' ' || *p > '~')
            *p = '?';
    names->length += (size_t) n;
    if (names->length >= sizeof names->text)
        names->length = sizeof names->text - 1;
}

static bool
begins(const char *name, const char *const *beginnings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

/* Symbols of instrumentation: sanitizers, gcov. */
static bool
is_instrument(const char *name)
{
    static const char *const known[] = {"__odr_asan", "__asan_", "__lsan_",
        "__msan_", "__tsan_", "__ubsan_", "__sanitizer", "__gcov_", "__llvm_",
        "mangle_path"};

    return begins(name, known, sizeof known / sizeof known[0]);
}

/* Symbols that linkers add. */
static bool
is_linkers(const char *name)
{
    static const char *const known[] = {"_init", "_fini", "_edata", "_end",
        "_etext", "__bss_start", "__bss_start__", "__bss_end__", "_bss_end__",
        "__end__"};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i]) == 0)
            return true;
    return false;
}

static bool
is_talarias(const char *name)
{
    static const char *const known[] = {"HG_", "NA_", "hg_", "na_", "talaria_"};

    return begins(name, known, sizeof known / sizeof known[0]);
}

/* THE FILE */

const struct elf *
kit_static_object(void)
{
    static struct elf elf;

    if (!elf.bytes && !elf_open(&elf, kit_target.path))
        kit_not_run("the object cannot be read: %s", elf.fault);
    return &elf;
}

static void
file_is_object(void)
{
    struct elf elf;
    bool ok = elf_open(&elf, kit_target.path);

    kit_expect(
        ok, 2, "a shared object of this machine, all of it", "%s", elf.fault);
    elf_close(&elf);
}

bool
kit_static_symbol(ElfW(Sym) * symbol)
{
    const struct elf *elf = kit_static_object();

    for (uint64_t i = 0; elf_symbol(elf, i, symbol); i++)
        if (elf_exported(symbol) && strcmp(elf_string(elf, symbol->st_name),
                                        NA_PLUGIN_SYMBOL_NAME) == 0)
            return true;
    return false;
}

static void
file_exports(void)
{
    const struct elf *elf = kit_static_object();
    struct names more = {.count = 0};
    ElfW(Sym) symbol;

    for (uint64_t i = 0; elf_symbol(elf, i, &symbol); i++) {
        const char *name = elf_string(elf, symbol.st_name);
        /* The name of a version is a symbol too. */
        bool version = symbol.st_shndx == SHN_ABS && symbol.st_size == 0;

        if (elf_exported(&symbol) && !version && !is_linkers(name) &&
            !is_instrument(name) && strcmp(name, NA_PLUGIN_SYMBOL_NAME) != 0)
            names_add(&more, name);
    }
    kit_expect(kit_static_symbol(&symbol), 2,
        "the object exports " NA_PLUGIN_SYMBOL_NAME, "it does not");
    kit_expect((symbol.st_info & 0xfU) == STT_OBJECT, 2,
        NA_PLUGIN_SYMBOL_NAME " is data", "its type is %u, not %d",
        symbol.st_info & 0xfU, STT_OBJECT);
    kit_expect(more.count == 0, 2,
        NA_PLUGIN_SYMBOL_NAME " is all that the object exports", "%u more: %s",
        more.count, more.text);
}

/* Read-only once loaded: the segment is, or becomes so after relocation. */
static void
file_constant(void)
{
    const struct elf *elf = kit_static_object();
    bool constant = false;
    ElfW(Phdr) segment;
    ElfW(Sym) symbol;

    if (!kit_static_symbol(&symbol))
        kit_not_run("it exports no " NA_PLUGIN_SYMBOL_NAME);
    for (uint64_t i = 0; elf_segment(elf, i, &segment); i++) {
        uint64_t at = (uint64_t) symbol.st_value - segment.p_vaddr;

        if (at < segment.p_memsz && symbol.st_size <= segment.p_memsz - at)
            constant |=
                segment.p_type == PT_GNU_RELRO ||
                (segment.p_type == PT_LOAD && !(segment.p_flags & PF_W));
    }
    kit_expect(constant, 2, NA_PLUGIN_SYMBOL_NAME " is constant data",
        "its %llu bytes stay writable", (unsigned long long) symbol.st_size);
}

static void
file_undefined(void)
{
    const struct elf *elf = kit_static_object();
    struct names lacked = {.count = 0};
    ElfW(Sym) symbol;

    for (uint64_t i = 1; elf_symbol(elf, i, &symbol); i++) {
        const char *name = elf_string(elf, symbol.st_name);

        if (symbol.st_shndx == SHN_UNDEF && is_talarias(name))
            names_add(&lacked, name);
    }
    kit_expect(lacked.count == 0, 2,
        "the object calls nothing of Talaria by name", "%u undefined: %s",
        lacked.count, lacked.text);
}

static void
file_needs(void)
{
    static const char *const libraries[] = {
        "libtalaria.", "libmercury.", "libmercury_", "libna."};
    const struct elf *elf = kit_static_object();
    struct names needed = {.count = 0};
    ElfW(Dyn) entry;

    for (uint64_t i = 0; elf_dynamic(elf, i, &entry); i++) {
        const char *name, *slash;

        if (entry.d_tag != DT_NEEDED)
            continue;
        name = elf_string(elf, entry.d_un.d_val);
        slash = strrchr(name, '/');
        if (begins(slash ? slash + 1 : name, libraries,
                sizeof libraries / sizeof libraries[0]))
            names_add(&needed, name);
    }
    kit_expect(needed.count == 0, 2,
        "the object does not depend on the program that loads it",
        "it needs %s", needed.text);
}

/* A process has little static TLS for objects that it loads late. */
static void
file_static_tls(void)
{
    const struct elf *elf = kit_static_object();
    uint64_t relocations = elf_static_tls(elf), flags = 0;

    elf_find(elf, DT_FLAGS, &flags);
    kit_expect(relocations == 0 && !(flags & DF_STATIC_TLS), 13,
        "the object loads at any time: no static TLS",
        "%llu relocations of it%s", (unsigned long long) relocations,
        flags & DF_STATIC_TLS ? ", and DF_STATIC_TLS" : "");
}

static void
file_memory(void)
{
    const struct elf *elf = kit_static_object();
    unsigned int machine = elf->header.e_machine;
    /* Without this header the stack is executable on these machines. */
    bool stack = machine == EM_X86_64 || machine == EM_386 || machine == EM_ARM;
    uint64_t flags = 0, unused;
    ElfW(Phdr) segment;

    for (uint64_t i = 0; elf_segment(elf, i, &segment); i++)
        if (segment.p_type == PT_GNU_STACK)
            stack = segment.p_flags & PF_X;
    kit_expect(!stack, 13, "loading leaves stacks as they are",
        "the object requires executable stacks");
    elf_find(elf, DT_FLAGS, &flags);
    kit_expect(!elf_find(elf, DT_TEXTREL, &unused) && !(flags & DF_TEXTREL), 13,
        "loading does not write into code", "the object has text relocations");
}

/* A file or a folder, as the core checks them. */
static void
trust(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        kit_not_run("%s: %s", path, strerror(errno));
    kit_expect(st.st_uid == 0 || st.st_uid == geteuid(), 15,
        "files and folders belong to root or the current user",
        "%s is owned by user %ju", path, (uintmax_t) st.st_uid);
    kit_expect(!(st.st_mode & (S_IWGRP | S_IWOTH)), 15,
        "files and folders are written by their owner only",
        "%s may be written by %s (mode %04o)", path,
        st.st_mode & S_IWOTH ? "everyone" : "its group",
        (unsigned int) (st.st_mode & 07777U));
}

static void
trust_with_folder(const char *path)
{
    char *folder = strdup(path), *slash;

    if (!folder)
        kit_not_run("out of memory");
    trust(path);
    slash = strrchr(folder, '/');
    /* A file in the root directory. */
    slash[slash == folder ? 1 : 0] = '\0';
    trust(folder);
    free(folder);
}

static void
file_trust(void)
{
    char *manifest = realpath(kit_target.manifest, NULL);

    trust_with_folder(kit_target.path);
    if (manifest)
        trust_with_folder(manifest);
    free(manifest);
}

/* LOADING */

void *
kit_static_load(void)
{
    static bool loaded;
    void *handle;

    kit_static_object();
    kit_step("loading it");
    handle = dlopen(kit_target.path, RTLD_NOW | RTLD_LOCAL);
    if (!handle && loaded)
        kit_fail(13, "what was loaded loads again", "%s", dlerror());
    if (!handle)
        kit_not_run("it does not load: %s", dlerror());
    loaded = true;
    return handle;
}

const na_plugin *
kit_static_table(void *handle)
{
    ElfW(Sym) symbol;

    if (!kit_static_symbol(&symbol))
        kit_not_run("it exports no " NA_PLUGIN_SYMBOL_NAME);
    return dlsym(handle, NA_PLUGIN_SYMBOL_NAME);
}

/* Symbols must be found in the object's own dependencies: this process has more
 * libraries than a plugin may rely on. */
static void
load_resolves(void)
{
    const struct elf *elf = kit_static_object();
    void *handle = dlopen(kit_target.path, RTLD_NOW | RTLD_LOCAL);
    struct names lacked = {.count = 0};
    ElfW(Sym) symbol;

    if (!handle)
        kit_fail(2, "the object loads", "%s", dlerror());
    for (uint64_t i = 1; elf_symbol(elf, i, &symbol); i++) {
        const char *name = elf_string(elf, symbol.st_name);

        if (symbol.st_shndx != SHN_UNDEF || !*name ||
            symbol.st_info >> 4 != STB_GLOBAL || elf_versioned(elf, i) ||
            is_instrument(name))
            continue;
        dlerror();
        if (!dlsym(handle, name) && dlerror())
            names_add(&lacked, name);
    }
    kit_expect(lacked.count == 0, 2,
        "what the object lacks is in its dependencies", "%u are not: %s",
        lacked.count, lacked.text);
}

/* Properties of the process that loading must not change. */
struct traces {
    uint32_t descriptors;
    uint32_t threads;
    uint64_t environment;
    uint64_t signals;
    off_t printed;
};

static void
look(struct traces *traces)
{
    extern char **environ;

    fflush(NULL);
    traces->descriptors = kit_descriptors();
    traces->threads = kit_threads();
    traces->environment = 0;
    for (char **p = environ; *p; p++)
        traces->environment =
            traces->environment * 31 + kit_hash(*p, strlen(*p));
    traces->signals = 0;
    for (int i = 1; i < NSIG; i++) {
        struct sigaction action;

        if (sigaction(i, NULL, &action) == 0)
            traces->signals =
                traces->signals * 31 + (uintptr_t) action.sa_handler;
    }
    traces->printed = lseek(STDOUT_FILENO, 0, SEEK_CUR);
}

static bool
thread_at_work(const char *id)
{
    char path[64], line[256];
    const char *state = NULL;
    FILE *stream;

    snprintf(path, sizeof path, "/proc/self/task/%.16s/stat", id);
    stream = fopen(path, "re");
    if (!stream)
        return false; /* it has ended */
    if (fgets(line, sizeof line, stream))
        state = strrchr(line, ')');
    fclose(stream);
    return state && state[1] && state[2] != 'S';
}

/* Threads other than the first one. */
static bool
others_at_work(void)
{
    DIR *dir = opendir("/proc/self/task");
    struct dirent *entry;
    bool found = false;

    if (!dir)
        kit_not_run("/proc/self/task cannot be read");
    while (!found && (entry = readdir(dir)) != NULL)
        found = entry->d_name[0] != '.' &&
                strtol(entry->d_name, NULL, 10) != getpid() &&
                thread_at_work(entry->d_name);
    closedir(dir);
    return found;
}

/* What the dependencies do when loaded is not the plugin's fault: they are
 * loaded before. UCX starts a thread, which ends if it finds no folder for its
 * sockets. */
static void
load_dependencies(void)
{
    const struct elf *elf = kit_static_object();
    uint64_t limit = kit_now() + kit_patience();
    ElfW(Dyn) entry;

    for (uint64_t i = 0; elf_dynamic(elf, i, &entry); i++)
        if (entry.d_tag == DT_NEEDED)
            dlopen(elf_string(elf, entry.d_un.d_val), RTLD_NOW | RTLD_LOCAL);
    while (others_at_work() && kit_now() < limit)
        sched_yield();
}

static void
load_quiet(void)
{
    static const char expected[] = "nothing of a plugin runs on loading it";
    struct traces before, after;

    load_dependencies();
    look(&before);
    kit_static_load();
    look(&after);
    kit_expect(after.descriptors <= before.descriptors, 13, expected,
        "%u descriptors were opened", after.descriptors - before.descriptors);
    kit_expect(after.threads <= before.threads, 13, expected,
        "%u threads were started", after.threads - before.threads);
    kit_expect(after.environment == before.environment, 13, expected,
        "the environment changed");
    kit_expect(after.signals == before.signals, 13, expected,
        "the disposition of a signal changed");
    kit_expect(
        after.printed == before.printed, 13, expected, "something was printed");
}

static void
unload(void *handle)
{
    kit_step("unloading it, unused");
    if (dlclose(handle) != 0)
        kit_fail(
            13, "an object that was not used can be closed", "%s", dlerror());
}

/* A refused object is closed and can be examined again. */
static void
load_repeated(void)
{
    void *first = kit_static_load(), *second;
    const na_plugin *table = kit_static_table(first);
    na_plugin copy;
    ElfW(Sym) symbol;
    size_t length = sizeof copy;

    if (kit_static_symbol(&symbol) && symbol.st_size < length)
        length = symbol.st_size;
    memcpy(&copy, table, length);
    second = kit_static_load();
    kit_expect(kit_static_table(second) == table, 13,
        "loaded twice it has the same table", "there are two");
    kit_expect(memcmp(table, &copy, length) == 0, 13,
        "loaded twice it has the same table", "the table changed");
    unload(second);
    unload(first);
    for (uint32_t i = 0; i < kit_times(20); i++) {
        void *handle = kit_static_load();

        kit_expect(kit_static_table(handle) != NULL, 13,
            "loaded again it has a table", "it has none");
        unload(handle);
    }
    kit_step("the end of the process after it was unloaded");
}

static const struct kit_case cases[] = {
    {"file_is_object", 2, 0, 0, 0,
        "the file is a shared object of this machine", file_is_object},
    {"file_exports", 2, 0, 0, 0, "it exports one symbol", file_exports},
    {"file_constant", 2, 0, 0, 0, "its table is constant data", file_constant},
    {"file_undefined", 2, 0, 0, 0, "it needs no symbol of Talaria",
        file_undefined},
    {"file_needs", 2, 0, 0, 0, "it depends on no library of the core",
        file_needs},
    {"file_static_tls", 13, 0, 0, 0, "it can be loaded late: no static TLS",
        file_static_tls},
    {"file_memory", 13, 0, 0, 0, "no executable stack, no text relocations",
        file_memory},
    {"file_trust", 15, 0, 0, 0,
        "other users can write neither files nor folders", file_trust},
    {"load_resolves", 2, 0, 0, 0,
        "its dependencies define all symbols that it needs", load_resolves},
    {"load_quiet", 13, 0, 0, 0, "loading runs no code of it", load_quiet},
    {"load_repeated", 13, 0, 0, 0, "it can be loaded and closed repeatedly",
        load_repeated},
    {"table_versions", 3, 0, 0, 0, "magic, versions and size are accepted",
        kit_static_versions},
    {"table_bits", 4, 0, 0, 0, "reserved bits are zero", kit_static_bits},
    {"table_fields", 12, 0, 0, 0, "the required fields of the table are set",
        kit_static_fields},
    {"table_settings", 12, 0, 0, 0,
        "settings have unique keys, a text, and a default within their range",
        kit_static_settings},
    {"manifest_agrees", 14, 0, 0, 0, "its manifest agrees with the table",
        kit_static_manifest},
};

const struct kit_group kit_cases_static = {
    cases, sizeof cases / sizeof cases[0]};
