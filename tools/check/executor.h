/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands of a script, executed by a class: in this process by a call, in a
 * worker process by a packet in each direction. */
#ifndef KIT_EXECUTOR_H
#define KIT_EXECUTOR_H

#include "check/class.h"

#define KIT_BYTES_MAX 16384U

enum kit_verb {
    KIT_OPEN_CLASS, /* bytes: text of how.at, if any */
    KIT_CLOSE_CLASS,
    KIT_GET_ADDRESS, /* answer: bytes */
    KIT_LOOKUP,      /* bytes: text; numbers[0] */
    KIT_KEEP_SOURCE, /* numbers: operation, address */
    KIT_FREE_ADDR,   /* numbers[0] */
    KIT_FORGET_PEER,
    KIT_CREATE_CTX,
    KIT_DESTROY_CTX,
    KIT_SET_POLLS,
    KIT_SET_POLL_MAX,
    KIT_POLL_ONCE, /* numbers: context; answer: number of events */
    KIT_POST,
    KIT_GET_COMPLETION, /* numbers[0]: operation */
    KIT_MESSAGE,
    KIT_CANCEL,
    KIT_MAKE_REGION,
    KIT_FREE_MEM,
    KIT_SERIALIZE_MEM,   /* answer: bytes */
    KIT_DESERIALIZE_MEM, /* bytes */
    KIT_FILL,            /* numbers[0], wide: offset, length, seed */
    KIT_HASH,            /* likewise; answer: wide */
    KIT_BEGIN,           /* function, bytes */
    KIT_JOIN,            /* answer: what the function of KIT_BEGIN left */
    KIT_EXIT
};

struct kit_command {
    enum kit_verb verb;
    uint32_t numbers[2];
    uint64_t wide[3];
    struct kit_open_options how;
    struct kit_request request;
    struct kit_region region;
    kit_act_t act;
    uint32_t length;
    unsigned char bytes[KIT_BYTES_MAX];
};

struct kit_answer {
    uint32_t number;
    int32_t result;
    uint64_t wide;
    struct kit_completion end;
    na_plugin_opened opened; /* its pointers are invalid in other processes */
    uint32_t length;
    unsigned char bytes[KIT_BYTES_MAX];
};

struct kit_executor {
    struct kit_class *cls;
    uint32_t number;
};

void kit_execute(struct kit_executor *executor,
    const struct kit_command *command, struct kit_answer *answer);

#endif /* KIT_EXECUTOR_H */
