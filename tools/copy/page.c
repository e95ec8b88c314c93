/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages of a listing: the server writes them, the client checks them. */
#include "copy/page.h"
#include "copy/path.h"

#include <errno.h>

/* Bytes of an encoded entry beside its name. */
#define ENTRY_FIXED (1 + 4 + 8 + 8 + 4 + 2)

copy_meta_t
copy_page_meta(const struct stat *st)
{
    copy_meta_t meta = {.type = COPY_SPECIAL_FILE,
        .mode = st->st_mode & 0777,
        .size = (uint64_t) st->st_size,
        .mtime = {st->st_mtim.tv_sec, (uint32_t) st->st_mtim.tv_nsec}};

    if (S_ISREG(st->st_mode))
        meta.type = COPY_FILE;
    else if (S_ISDIR(st->st_mode))
        meta.type = COPY_DIRECTORY;
    else if (S_ISLNK(st->st_mode))
        meta.type = COPY_LINK;
    return meta;
}

hg_return_t
copy_page_write(
    hg_class_t *hg_class, void *memory, size_t size, struct copy_page *page_p)
{
    page_p->count = 0;
    return hg_proc_create_set(
        hg_class, memory, size, HG_ENCODE, HG_NOHASH, &page_p->proc);
}

bool
copy_page_append(struct copy_page *page, copy_entry_t *entry)
{
    size_t size = ENTRY_FIXED + (size_t) entry->name.length;

    if (hg_proc_get_size_left(page->proc) < size ||
        hg_proc_copy_entry_t(page->proc, entry) != HG_SUCCESS)
        return false;
    page->count++;
    return true;
}

/* Decodes all entries and calls `found` for each, unless it is NULL. */
static int
decode(hg_proc_t proc, uint32_t count,
    int (*found)(void *arg, const copy_entry_t *entry), void *arg)
{
    copy_entry_t entry;
    int error = 0;

    for (; error == 0 && count > 0; count--) {
        if (hg_proc_copy_entry_t(proc, &entry) != HG_SUCCESS ||
            entry.meta.type >= COPY_TYPE_COUNT ||
            copy_name_check(entry.name.bytes, entry.name.length) != 0)
            return EPROTO;
        if (found != NULL)
            error = found(arg, &entry);
    }
    return error;
}

int
copy_page_read(hg_class_t *hg_class, void *memory, size_t size,
    const copy_list_out_t *out,
    int (*found)(void *arg, const copy_entry_t *entry), void *arg)
{
    hg_proc_t proc;
    int error;

    if (out->bytes > size)
        return EPROTO;
    if (hg_proc_create_set(hg_class, memory, out->bytes, HG_DECODE, HG_NOHASH,
            &proc) != HG_SUCCESS)
        return ENOMEM;
    error = decode(proc, out->count, NULL, NULL);
    if (error == 0 &&
        hg_proc_reset(proc, memory, out->bytes, HG_DECODE) != HG_SUCCESS)
        error = EPROTO;
    if (error == 0)
        error = decode(proc, out->count, found, arg);
    hg_proc_free(proc);
    return error;
}

uint32_t
copy_page_end(struct copy_page *page)
{
    uint32_t size = (uint32_t) hg_proc_get_size_used(page->proc);

    hg_proc_free(page->proc);
    return size;
}
