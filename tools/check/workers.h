/* SPDX-License-Identifier: BSD-3-Clause */
/* Worker threads of cases: four threads submit to one class while others
 * poll. */
#ifndef KIT_WORKERS_H
#define KIT_WORKERS_H

#include "check/class.h"

#define WORKERS 4U       /* threads that submit */
#define WORKER_CHAINS 4U /* conversations by expected messages of each */
#define WORKER_PIECE UINT64_C(512)
#define WORKER_MEMORY (WORKER_PIECE * 2 * WORKERS)
#define WORKER_SEED 5U

/* The work of the threads; passed to a worker process as bytes. The plan of the
 * other side differs in begins, self and peer only. */
struct kit_workers_plan {
    uint32_t self; /* numbers of addresses */
    uint32_t peer;
    uint32_t rounds;   /* of each conversation; half as many unexpected
                          messages, puts and gets of each thread */
    uint32_t contexts; /* each polled by a thread of its own */
    bool begins;       /* sends the first message of each conversation */
    bool rma;          /* regions 0 (read), 1 (written), 2 (local) exist, the
                        peer's 0 and 1 are 4 and 5 here */
    bool cancels;      /* the poller cancels receives */
    bool objects;      /* two more threads create and free objects */
    uint64_t length;   /* of a message */
};

/* Posts the first receive of a conversation, before either side sends. */
struct kit_request kit_workers_receive(
    const struct kit_workers_plan *plan, uint32_t worker, uint32_t chain);

/* Runs the threads (kit_act_t). The calling thread polls context 0. */
void kit_workers_act(struct kit_class *cls, void *bytes);

#endif /* KIT_WORKERS_H */
