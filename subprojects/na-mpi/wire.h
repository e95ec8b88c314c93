/* SPDX-License-Identifier: BSD-3-Clause */
/* What passes between processes: this header, of a FRAME then a struct tp_frame
 * and the bytes behind it. All processes of a job have the same byte order; the
 * magic tells if one has not. */
#ifndef NAMPI_WIRE_H
#define NAMPI_WIRE_H

#include <stdint.h>

#define NAMPI_MAGIC 0x32504D4EU /* "NMP2": the second version */
#define NAMPI_TAG 32767         /* MPI's tag of all of them */

enum nampi_kind {
    NAMPI_FRAME = 1,
    NAMPI_GONE, /* the class, or the connection, that was addressed is not there */
    NAMPI_BYE, /* the class is closed, or has forgotten its peer */
    NAMPI_KINDS
};

struct nampi_wire {
    uint32_t magic;
    uint32_t kind;
    uint32_t from_class; /* numbers in their processes */
    uint32_t to_class;
    uint32_t
        from_life;    /* random: tells a class from a later one of the number */
    uint32_t to_life; /* 0: not known yet */
};

_Static_assert(sizeof(struct nampi_wire) == 24, "the same everywhere");

#endif /* NAMPI_WIRE_H */
