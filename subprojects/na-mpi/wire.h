/* SPDX-License-Identifier: BSD-3-Clause */
/* What passes between processes: this header, then the bytes of the message. All
 * processes of a job have the same byte order; the magic tells if one has not. */
#ifndef NAMPI_WIRE_H
#define NAMPI_WIRE_H

#include <stdint.h>

#define NAMPI_MAGIC 0x31504D4EU /* "NMP1": the first version */
#define NAMPI_TAG 32767         /* MPI's tag of all of them */

enum nampi_kind {
    NAMPI_UNEXPECTED = 1,
    NAMPI_EXPECTED,
    NAMPI_CREDIT, /* value: messages that from_ctx has received; 0: a greeting */
    NAMPI_GONE,   /* the class that was addressed is not there */
    NAMPI_BYE,    /* the class is closed, or has forgotten its peer */
    NAMPI_PUT,    /* a chunk to be written */
    NAMPI_GET,    /* a chunk that is asked for */
    NAMPI_ACK,    /* answer to a put; value: status */
    NAMPI_DATA,   /* answer to a get; value: status */
    NAMPI_KINDS
};

struct nampi_wire {
    uint32_t magic;
    uint8_t kind;
    uint8_t from_ctx;
    uint8_t to_ctx;
    uint8_t zero;
    uint32_t from_class; /* numbers in their processes */
    uint32_t to_class;
    uint32_t
        from_life;    /* random: tells a class from a later one of the number */
    uint32_t to_life; /* 0: not known yet */
    uint32_t value;   /* tag, status or count */
    uint32_t length;  /* bytes that follow; of a GET and ACK: of the chunk */
    uint64_t transfer; /* the origin's number of a put or get */
    uint64_t memory;   /* the target's number of a registration */
    uint64_t offset;   /* of the chunk in the registration */
};

_Static_assert(sizeof(struct nampi_wire) == 56, "the same everywhere");

#endif /* NAMPI_WIRE_H */
