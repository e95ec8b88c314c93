/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages of a listing, written by the server and checked by the client. */
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

int
copy_page_next(struct copy_page *page, copy_entry_t *entry_p)
{
    if (page->count == 0)
        return 0;
    page->count--;
    if (hg_proc_copy_entry_t(page->proc, entry_p) != HG_SUCCESS ||
        entry_p->meta.type >= COPY_TYPE_COUNT ||
        copy_name_check(entry_p->name.bytes, entry_p->name.length) != 0)
        return -1;
    return 1;
}

/* Whether all entries are there and valid. */
static bool
is_whole(struct copy_page page)
{
    copy_entry_t entry;
    int more;

    while ((more = copy_page_next(&page, &entry)) > 0)
        ;
    return more == 0;
}

int
copy_page_read(hg_class_t *hg_class, void *memory, size_t size, uint32_t count,
    struct copy_page *page_p)
{
    struct copy_page page = {.count = count};

    if (hg_proc_create_set(hg_class, memory, size, HG_DECODE, HG_NOHASH,
            &page.proc) != HG_SUCCESS)
        return ENOMEM;
    if (!is_whole(page) ||
        hg_proc_reset(page.proc, memory, size, HG_DECODE) != HG_SUCCESS) {
        hg_proc_free(page.proc);
        return EPROTO;
    }
    *page_p = page;
    return 0;
}

uint32_t
copy_page_end(struct copy_page *page)
{
    uint32_t size = (uint32_t) hg_proc_get_size_used(page->proc);

    hg_proc_free(page->proc);
    return size;
}
