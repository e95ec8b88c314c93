/* SPDX-License-Identifier: BSD-3-Clause */
/* The wire format: each MPI message begins with a struct nampi_wire. A
 * NAMPI_FRAME continues with a struct tp_frame and its bytes. Integers are in
 * host byte order, since a job's processes share it; where they do not, the
 * magic differs. */
#ifndef NAMPI_WIRE_H
#define NAMPI_WIRE_H

#include <stdint.h>

#define NAMPI_MAGIC 0x32504D4EU /* "NMP2": version 2 of the format */
#define NAMPI_TAG 32767 /* MPI tag of all messages: every MPI permits it */

enum nampi_kind {
    NAMPI_FRAME = 1,
    NAMPI_GONE, /* answer to a frame: no such class, or no such connection */
    NAMPI_BYE,  /* the sender has closed its class, or this connection */
    NAMPI_KINDS
};

struct nampi_wire {
    uint32_t magic;
    uint32_t kind;
    uint32_t from_class; /* number of the class in its process */
    uint32_t to_class;
    uint32_t from_instance; /* random: tells a class from a later one with the
                               same number */
    uint32_t to_instance;   /* 0: not known yet */
};

_Static_assert(
    sizeof(struct nampi_wire) == 24, "the wire format has no padding");

#endif /* NAMPI_WIRE_H */
