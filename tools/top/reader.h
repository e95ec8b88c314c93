/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading the statistics that processes publish (core/watch/page.h). What is
 * read was written by other processes: all of it is checked. */
#ifndef TOP_READER_H
#define TOP_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "watch/page.h"

/* A process that publishes. */
struct reader_process {
    pid_t pid;
    char command[64]; /* printable */
    dev_t device;     /* of its page */
    ino_t inode;
    struct watch_page *page; /* mapped */
    bool seen;               /* in the latest search */
    bool valid;              /* the snapshots below are one */
    bool valid_before;
    struct watch_body now;
    struct watch_body before;
};

struct reader {
    struct reader_process **processes; /* by pid */
    size_t count;
    pid_t only; /* 0: all */
};

/* Finds the processes that publish, keeps those that it knows, and forgets
 * those that have ended. Returns false if /proc cannot be read, with errno. */
bool reader_search(struct reader *reader);

/* Asks all processes to publish for so many seconds, at most 10. */
void reader_look(struct reader *reader, unsigned seconds);

/* Takes a snapshot of each process; the last one becomes `before`. */
void reader_take(struct reader *reader);

/* Frees everything. */
void reader_finish(struct reader *reader);

#endif /* TOP_READER_H */
