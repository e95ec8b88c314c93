/* SPDX-License-Identifier: BSD-3-Clause */
/* One of a handle's two messages: a buffer of the transport's, and the state of
 * encoding or decoding it. */
#ifndef HG_MESSAGE_H
#define HG_MESSAGE_H

#include "proc/proc.h"

#include <stdint.h>

struct hg_overflow;

/* In hg_message.flags, beside HG_HEADER_MORE and HG_HEADER_SUMS. */
#define HG_MESSAGE_RELEASED 0x80U  /* the program has given it back */
#define HG_MESSAGE_FETCHED 0x40U   /* what was elsewhere is here */
#define HG_MESSAGE_OBSERVED 0x100U /* its handler is observed, see stage.h */

/* One of a handle's two messages. */
struct hg_message {
    char *buffer;       /* the transport's */
    void *buffer_data;  /* and what belongs to it */
    char *payload;      /* in buffer, the user's offset included */
    hg_size_t size;     /* bytes of payload, likewise */
    uint32_t decoded;   /* structs made of it that are not freed yet */
    uint32_t flags;     /* of its header, and HG_MESSAGE_* */
    uint32_t sum;       /* received: checksum of the payload, */
    uint64_t sum_begun; /* and this that of what the message held */
    struct hg_overflow *overflow; /* the arguments that it has no room for */
    struct hg_proc proc;
};

#endif /* HG_MESSAGE_H */
