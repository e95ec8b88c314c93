/* SPDX-License-Identifier: BSD-3-Clause */
/* Many files on their way at once: which request is the next to be sent. What
 * the requests are is put's and get's affair.
 *
 * The tree is walked ahead of the transfers, and what is found waits in a
 * queue. A file is started (one request), moved (one request a chunk, several
 * at a time) and finished (one request). */
#ifndef COPY_PIPE_H
#define COPY_PIPE_H

#include <sys/stat.h>

#include "copy/client.h"
#include "copy/report.h"
#include "copy/temp.h"

struct copy_pipe;

/* A directory on its way to the server; what is in it has to wait. */
struct copy_dir {
    unsigned int refs;
    enum copy_dir_state {
        COPY_DIR_WAITING,
        COPY_DIR_READY,
        COPY_DIR_FAILED
    } state;
};

/* A file on its way, or a directory. */
struct copy_item {
    struct copy_pipe *pipe;
    struct copy_item *next;
    char *remote;      /* path at the server */
    char *local;       /* here: as put's user named it, or beneath get's root */
    const char *shown; /* the one of them that the user knows */
    struct copy_dir *parent; /* which has to be there before, or NULL */
    struct copy_dir *made;   /* which this is, or NULL: it is a file */
    enum copy_item_state {
        COPY_ITEM_STARTING,
        COPY_ITEM_MOVING,
        COPY_ITEM_FINISHING
    } state;
    bool failed;
    mode_t mode;
    char *target; /* put: a link, and where it points */
    bool is_link;
    size_t base; /* components of the path that are above its tree */
    enum copy_item_check {
        COPY_CHECK_NONE,    /* it is copied */
        COPY_CHECK_WANTED,  /* what stands at the target is looked at first */
        COPY_CHECK_RUNNING, /* chunks are hashed, not moved */
        COPY_CHECK_DIFFERS  /* in size */
    } check;
    uint64_t size;
    uint64_t offset;        /* of the next chunk to be asked for */
    unsigned int in_flight; /* chunks */
    uint64_t id;            /* at the server, 0: none */
    copy_sum_t sum;
    int fd; /* what is read: by put, or to be checked; -1: none */
    copy_time_t mtime;
    struct copy_temp temp; /* get: what is written */
    bool has_temp;
};

/* What a step did with the slot it was given. */
enum copy_step {
    COPY_STEP_SENT, /* a request */
    COPY_STEP_DONE, /* something else */
    COPY_STEP_NONE  /* nothing: nothing can be done now */
};

struct copy_pipe_ops {
    /* Finds more, for copy_pipe_add. NONE: there is no more to be found, at
     * least until requests of the walk (pipe->walks) are answered. */
    enum copy_step (*walk)(struct copy_pipe *pipe, struct copy_slot *slot);

    /* Starts the first of the queue. After DONE it is gone; NONE: its
     * directory isn't there yet. When it is answered, state is MOVING or
     * failed, or the item is retired. */
    enum copy_step (*start)(struct copy_item *item, struct copy_slot *slot);

    /* Moves the chunk at `offset`, slot->size bytes, both counted already.
     * After DONE it has failed. */
    enum copy_step (*move)(struct copy_item *item, struct copy_slot *slot);

    /* All chunks are moved, or the file has failed. In the end, in the answer
     * or after DONE, it is retired. */
    enum copy_step (*finish)(struct copy_item *item, struct copy_slot *slot);

    /* Closes what an item has open here. */
    void (*release)(struct copy_item *item);
};

struct copy_pipe {
    struct copy_client *client;
    struct copy_report report;
    const struct copy_pipe_ops *ops;
    void *owner; /* the put or the get */
    struct copy_item *queue;
    struct copy_item **queue_end;
    size_t queued;
    struct copy_item *active; /* started */
    unsigned int active_count;
    unsigned int walks; /* requests of the walk in flight */
    bool walked;        /* to the end */
};

/* verb: "put" or "get"; owner: for ops. Starts the clock. */
void copy_pipe_init(struct copy_pipe *pipe, struct copy_client *client,
    const struct copy_pipe_ops *ops, void *owner, const char *verb);

/* Walks, and moves everything; what fails is reported. Blocks until all is
 * done, the server is gone or a signal came. */
void copy_pipe_run(struct copy_pipe *pipe);

/* Makes an item for copy_pipe_add, and takes over the two strings, which may be
 * NULL for want of memory. `local` is what is shown. NULL: no memory; they are
 * freed. */
struct copy_item *copy_item_create(char *local, char *remote);

/* Appends an item to the queue, which takes it over. */
void copy_pipe_add(struct copy_pipe *pipe, struct copy_item *item);

/* Takes an item that is started out, and frees it. */
void copy_pipe_retire(struct copy_item *item);

/* Puts an item that is started back, to be started anew, without a check. */
void copy_pipe_again(struct copy_item *item);

/* The time of a stat, for the wire. */
copy_time_t copy_item_time(const struct stat *st);

/* Marks an item as failed, with a line about it unless it had failed before. */
void copy_item_fail(struct copy_item *item, const char *reason);

struct copy_dir *copy_dir_create(void);
struct copy_dir *copy_dir_ref(struct copy_dir *dir);
void copy_dir_unref(struct copy_dir *dir);

#endif /* COPY_PIPE_H */
