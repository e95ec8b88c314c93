/* SPDX-License-Identifier: BSD-3-Clause */
/* The pipeline of put and get: chooses the next request of many concurrent file
 * transfers. put and get implement the requests.
 *
 * The walk of the tree runs ahead of the transfers and fills a queue. A file is
 * started (one request), moved (one request for each chunk, several at a time)
 * and finished (one request), or sent with others in one request. */
#ifndef COPY_PIPE_H
#define COPY_PIPE_H

#include <sys/stat.h>

#include "copy/client.h"
#include "copy/report.h"
#include "copy/temp.h"

struct copy_pipe;

/* put: a directory to create at the server before its contents are sent. */
struct copy_dir {
    unsigned int refs;
    enum copy_dir_state {
        COPY_DIR_WAITING,
        COPY_DIR_READY,
        COPY_DIR_FAILED
    } state;
};

/* A file, link or directory to copy. */
struct copy_item {
    struct copy_pipe *pipe;
    struct copy_item *next;
    char *remote;            /* path at the server */
    char *local;             /* put: as the user wrote it; get: beneath root */
    const char *shown;       /* remote or local, for messages */
    struct copy_dir *parent; /* created before this item, or NULL */
    struct copy_dir *made;   /* the directory, or NULL: not a directory */
    enum copy_item_state {
        COPY_ITEM_STARTING,
        COPY_ITEM_MOVING,
        COPY_ITEM_FINISHING
    } state;
    bool failed;
    mode_t mode;
    char *target; /* put: of a link */
    bool is_link;
    size_t base; /* components of the path above the copied tree */
    enum copy_item_check {
        COPY_CHECK_NONE,    /* it is copied */
        COPY_CHECK_WANTED,  /* an existing file is compared first */
        COPY_CHECK_RUNNING, /* chunks are hashed, not transferred */
        COPY_CHECK_DIFFERS  /* in size */
    } check;
    uint64_t size;
    uint64_t offset;        /* of the next chunk to request */
    unsigned int in_flight; /* chunks */
    uint64_t have;          /* bytes of the partial file */
    uint64_t *redo; /* offsets of its chunks that have to be transferred */
    size_t redo_count;
    size_t redo_room;
    bool resumable; /* a partial file stays if it is interrupted */
    uint64_t id;    /* at the server, 0: none */
    copy_sum_t sum;
    int fd; /* put: the source; get: the file to compare; -1: none */
    copy_time_t mtime;
    struct copy_temp temp; /* get: the new file */
    bool has_temp;
};

/* The result of a step that may use a slot. */
enum copy_step {
    COPY_STEP_SENT,  /* a request was sent in the slot */
    COPY_STEP_BATCH, /* the same, for many items */
    COPY_STEP_DONE,  /* done without a request */
    COPY_STEP_NONE   /* nothing to do now */
};

struct copy_pipe_ops {
    /* Finds items and adds them by copy_pipe_add. NONE: the walk has ended or
     * waits for answers (pipe->walks). */
    enum copy_step (*walk)(struct copy_pipe *pipe, struct copy_slot *slot);

    /* NULL, or sends several items that copy_pipe_next returns, in one request.
     * BATCH, DONE, or NONE: start the next item. */
    enum copy_step (*batch)(struct copy_pipe *pipe, struct copy_slot *slot);

    /* Starts an item. DONE: it was removed. Otherwise the answer sets state to
     * MOVING, fails the item, or removes it. */
    enum copy_step (*start)(struct copy_item *item, struct copy_slot *slot);

    /* Moves the chunk at slot->offset, slot->size bytes; offset and in_flight
     * include it already. DONE: the item failed. */
    enum copy_step (*move)(struct copy_item *item, struct copy_slot *slot);

    /* All chunks are moved, or the item failed. The answer removes it; after
     * DONE it was removed. */
    enum copy_step (*finish)(struct copy_item *item, struct copy_slot *slot);

    /* Closes the item's descriptors. */
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
    bool walked;        /* the walk has ended */
};

/* verb: "put" or "get". owner: for ops. Starts the clock of the summary. */
void copy_pipe_init(struct copy_pipe *pipe, struct copy_client *client,
    const struct copy_pipe_ops *ops, void *owner, const char *verb);

/* Copies everything that the walk finds, and reports failures. Blocks until all
 * is done, the server is lost, or a signal was received. */
void copy_pipe_run(struct copy_pipe *pipe);

/* Creates an item for copy_pipe_add and takes over both strings; one that is
 * NULL means out of memory. `local` is shown in messages. Returns NULL, with
 * the strings freed, if out of memory. */
struct copy_item *copy_item_create(char *local, char *remote);

/* Appends an item to the queue, which owns it then. */
void copy_pipe_add(struct copy_pipe *pipe, struct copy_item *item);

/* Returns the first queued item, or NULL if it waits for its directory or there
 * is none. Fails and frees those before it whose directory has failed. */
struct copy_item *copy_pipe_next(struct copy_pipe *pipe);

/* Removes the item that copy_pipe_next returned from the queue. The caller owns
 * it then. */
void copy_pipe_take(struct copy_pipe *pipe);

/* Gives such an item back when the connection has ended, to be reported. */
void copy_pipe_return(struct copy_item *item);

/* Frees an item that is neither queued nor active. */
void copy_item_destroy(struct copy_item *item);

/* Removes an active item and frees it. */
void copy_pipe_remove(struct copy_item *item);

/* Queues an active item again, to be copied without a comparison. */
void copy_pipe_requeue(struct copy_item *item);

/* Returns the modification time of a stat for the wire. */
copy_time_t copy_item_time(const struct stat *st);

/* Marks an item as failed and reports the first failure. */
void copy_item_fail(struct copy_item *item, const char *reason);

/* The same with an errno value. Returns COPY_STEP_DONE. */
enum copy_step copy_item_error(struct copy_item *item, int error);

/* Decodes the answer to an item's request (copy_slot_answer). Fails the item
 * unless the status is COPY_OK or COPY_LOST. */
enum copy_status copy_item_answer(
    struct copy_item *item, struct copy_slot *slot, union copy_out *out_p);

struct copy_dir *copy_dir_create(void);
struct copy_dir *copy_dir_ref(struct copy_dir *dir);
void copy_dir_unref(struct copy_dir *dir);

#endif /* COPY_PIPE_H */
