/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages of a listing: consecutive entries in memory that the server pushes to
 * the client. */
#ifndef COPY_PAGE_H
#define COPY_PAGE_H

#include <sys/stat.h>

#include "copy/proto.h"

/* A page that is being written. */
struct copy_page {
    hg_proc_t proc;
    uint32_t count; /* entries written */
};

/* Returns the metadata of a stat for the wire. */
copy_meta_t copy_page_meta(const struct stat *st);

/* Starts a page of `size` bytes, to be ended by copy_page_end. HG_NOMEM. */
hg_return_t copy_page_write(
    hg_class_t *hg_class, void *memory, size_t size, struct copy_page *page_p);

/* Appends an entry. Returns false if it doesn't fit; nothing is written
 * then. */
bool copy_page_append(struct copy_page *page, copy_entry_t *entry);

/* Ends a page. Returns the bytes written. */
uint32_t copy_page_end(struct copy_page *page);

/* Reads the page that a list answer `out` describes, in `size` bytes of memory,
 * and calls `found` for each entry until it returns an error. The page is
 * checked first: no entry of an invalid page is used. (Each entry is checked
 * again when it is used, since the peer may still write to the memory.) Returns
 * 0, ENOMEM, EPROTO: the page is invalid, or the error of `found`. */
int copy_page_read(hg_class_t *hg_class, void *memory, size_t size,
    const copy_list_out_t *out,
    int (*found)(void *arg, const copy_entry_t *entry), void *arg);

#endif /* COPY_PAGE_H */
