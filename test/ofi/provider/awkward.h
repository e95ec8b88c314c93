/* SPDX-License-Identifier: BSD-3-Clause */
/* A provider of libfabric's over datagrams of AF_UNIX, as awkward as its
 * settings select, and strict about its user's duties. One lock for a domain. */
#ifndef AWKWARD_H
#define AWKWARD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#define NAME "awkward"
#define MESSAGE_MAX 32768U
#define RECEIVES_MAX 16U /* posted at an endpoint */

/* The object that contains a fid. */
#define OBJECT(pointer, type, member)                                          \
    ((type *) (void *) ((char *) (pointer) -offsetof(type, member)))

/* Of the environment, read again with each fi_getinfo and fi_fabric. */
struct settings {
    int mr_mode;     /* FI_AWKWARD_MR: names with commas, see settings.c */
    int own_keys;    /* FI_AWKWARD_OWN_KEYS: the provider chooses keys if the
                        hints permit it */
    int key_bytes;   /* FI_AWKWARD_KEY_BYTES */
    int eagain;      /* FI_AWKWARD_EAGAIN: refusals before each acceptance */
    int inject;      /* FI_AWKWARD_INJECT: bytes */
    int no_delivery; /* FI_AWKWARD_NO_DELIVERY: no FI_DELIVERY_COMPLETE */
    int no_wait;     /* FI_AWKWARD_NO_WAIT: no wait objects */
    int stuck_wait; /* FI_AWKWARD_STUCK_WAIT: readable from the first time on */
    int late_wait;  /* FI_AWKWARD_LATE_WAIT: refusals of fi_trywait
                        after each completion */
    int late_send;  /* FI_AWKWARD_LATE_SEND: reads of the queue before a send is
                        reported as complete */
    int fail_send;  /* FI_AWKWARD_FAIL_SEND: the send that fails, from 1 */
    int fail_recv;  /* FI_AWKWARD_FAIL_RECV: the message that fails to arrive;
                        -1: each that fills a buffer of many */
    int fail_rma;   /* FI_AWKWARD_FAIL_RMA: the put or get that fails */
    int error;      /* FI_AWKWARD_ERROR: with which error */
    int multi;      /* FI_AWKWARD_MULTI: FI_MULTI_RECV is offered; 2: messages
                        have gaps and unaligned offsets, buffers are given up
                        early, and released late and without a message */
    int one_thread; /* FI_AWKWARD_ONE_THREAD: calls have to be serialized */
};

struct domain {
    struct fid_domain fid;
    struct settings set;
    pthread_mutex_t lock;
    struct mr *mrs;
};

struct mr {
    struct fid_mr fid;
    struct domain *domain;
    struct mr *next;
    struct ep *ep; /* FI_MR_ENDPOINT */
    bool enabled;
    uint64_t base;
    uint64_t length;
    uint64_t access;
    uint64_t key;
};

struct av {
    struct fid_av fid;
    struct domain *domain;
    uint64_t *numbers; /* of the endpoints, 0: removed */
    size_t count;
};

struct completion {
    void *context;
    uint64_t flags;
    void *buffer;
    size_t length;
    int error;
};

/* The completion of a send that is to be read later. */
struct late_send {
    struct late_send *next;
    struct completion completion;
    uint64_t due; /* of cq.reads */
};

struct cq {
    struct fid_cq fid;
    struct domain *domain;
    struct ep *eps;
    struct completion *ring;
    size_t room;
    size_t first;
    size_t count;
    int epoll; /* what is handed out: the bell, and the endpoints' sockets */
    int bell;
    int refused;            /* calls of fi_trywait */
    struct late_send *late; /* the next one first */
    uint64_t reads;
};

struct receive {
    void *buffer;
    size_t length;
    void *context;
    bool multi; /* FI_MULTI_RECV, of which the first bytes are used */
    size_t used;
    uint32_t taken; /* messages */
};

/* A put or get that has not been answered. */
struct rma {
    struct rma *next;
    uint64_t cookie;
    uint64_t target;
    void *context;
    void *buffer;
    size_t length;
    bool put;
};

/* An answer that its receiver had no room for. */
struct reply {
    struct reply *next;
    uint64_t target;
    size_t length;
    unsigned char bytes[];
};

struct ep {
    struct fid_ep fid;
    struct domain *domain;
    struct av *av;
    struct cq *cq;
    struct ep *next;        /* of its queue */
    struct ep *next_of_all; /* of the process */
    int socket;
    uint64_t number; /* its name */
    struct receive receives[RECEIVES_MAX];
    uint32_t first;
    uint32_t posted;
    size_t min_multi;
    void *late; /* context of a buffer that is to be released */
    struct rma *rmas;
    uint64_t cookie;
    struct reply *replies;
    int refused;
    int sends;
    int received;
    int transfers;
    int64_t checked_ns; /* when peers were checked */
};

extern struct fi_provider awkward_provider;

void awkward_settings(struct settings *set);

int awkward_getinfo(uint32_t version, const char *node, const char *service,
    uint64_t flags, const struct fi_info *hints, struct fi_info **infos_p);

/* The next of FI_AWKWARD_NICS, which this moves on. False: no memory. */
bool awkward_nic_read(const char **text_p, struct fi_info *info);

/* fi_domain's part. */
int awkward_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
    struct fid_cq **cq_p, void *context);
int awkward_endpoint(struct fid_domain *domain, struct fi_info *info,
    struct fid_ep **ep_p, void *context);
extern struct fi_ops_mr awkward_mr_ops;

/* An endpoint's part. */
extern struct fi_ops_msg awkward_msg_ops;
extern struct fi_ops_rma awkward_rma_ops;

/* Under the domain's lock, all of these. */

/* Whether a local buffer may be used with this access: only FI_MR_LOCAL
 * requires a descriptor. */
bool awkward_mr_covers(const struct domain *domain, const void *desc,
    const void *buffer, size_t length, uint64_t access);

/* The memory that a peer means; NULL, and an error. */
void *awkward_mr_find(const struct ep *ep, uint64_t key, uint64_t address,
    uint64_t length, uint64_t access, int *error_p);

/* What libfabric calls the provider's context is marked while it has it. */
void awkward_mark(void *context);

void awkward_complete(
    struct cq *cq, void *context, uint64_t flags, size_t length, int error);
void awkward_complete_at(struct cq *cq, void *context, uint64_t flags,
    void *buffer, size_t length, int error);
void awkward_complete_send(struct cq *cq, void *context, int error);
int awkward_trywait(struct cq *cq);

/* Reads and answers the messages that have arrived at an endpoint. */
void awkward_progress(struct ep *ep);

#endif /* AWKWARD_H */
