/* SPDX-License-Identifier: BSD-3-Clause */
/* Four threads that submit to one class while others poll it, for cases. */
#ifndef KIT_CREW_H
#define KIT_CREW_H

#include "check/class.h"

#define CREW 4U        /* threads that submit */
#define CREW_CHAINS 4U /* conversations by expected messages, of each thread */
#define CREW_PIECE UINT64_C(512)
#define CREW_MEMORY (CREW_PIECE * 2 * CREW)
#define CREW_SEED 5U

/* What a crew does; passed to a puppet as bytes. The other crew's differs in
 * begins, self and peer only. */
struct kit_crew_plan {
    uint32_t self; /* numbers of addresses */
    uint32_t peer;
    uint32_t rounds;   /* of each conversation; half as many unexpected
                          messages, puts and gets of each thread */
    uint32_t contexts; /* each polled by a thread of its own */
    bool begins;       /* the conversations */
    bool rma;        /* regions 0 (read), 1 (written), 2 (local) are there, the
                     peer's 0 and 1 are known as 4 and 5 */
    bool cancels;    /* the poller cancels receives */
    bool objects;    /* two more threads make and free objects */
    uint64_t length; /* of a message */
};

/* The first receive of a conversation, posted before either crew begins. */
struct kit_request kit_crew_receive(
    const struct kit_crew_plan *plan, uint32_t worker, uint32_t chain);

/* Does it all; a kit_act_t. The calling thread polls context 0. */
void kit_crew_act(struct kit_class *cls, void *bytes);

#endif /* KIT_CREW_H */
