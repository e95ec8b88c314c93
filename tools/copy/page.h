/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages of a listing: entries one after the other in memory that is pushed from
 * server to client. */
#ifndef COPY_PAGE_H
#define COPY_PAGE_H

#include <sys/stat.h>

#include "copy/proto.h"

/* A page that is being written or read. */
struct copy_page {
    hg_proc_t proc;
    uint32_t count; /* entries written, or still to be read */
};

/* What a stat says, for the wire. */
copy_meta_t copy_page_meta(const struct stat *st);

/* Starts to write a page into `size` bytes. To be ended. HG_NOMEM. */
hg_return_t copy_page_write(
    hg_class_t *hg_class, void *memory, size_t size, struct copy_page *page_p);

/* Appends an entry. Returns false, with nothing written, when it doesn't fit.
 */
bool copy_page_append(struct copy_page *page, copy_entry_t *entry);

/* Starts to read a page that a peer sent, once all of it was checked: nothing is
 * done for the first entries of a page that is invalid further on. To be ended
 * if it returns 0; else ENOMEM, or EPROTO when the page isn't `count` valid
 * entries. */
int copy_page_read(hg_class_t *hg_class, void *memory, size_t size,
    uint32_t count, struct copy_page *page_p);

/* Reads the next entry. Returns 1, 0 at the end, or -1 if the entry is invalid:
 * a peer may write to the memory while it is read. */
int copy_page_next(struct copy_page *page, copy_entry_t *entry_p);

/* Ends a page. Returns the bytes written or read. */
uint32_t copy_page_end(struct copy_page *page);

#endif /* COPY_PAGE_H */
