/* SPDX-License-Identifier: BSD-3-Clause */
/* The transports of a class and of its contexts, as indexes of arrays in bulk
 * and hg. */
#ifndef RT_TRANSPORT_H
#define RT_TRANSPORT_H

enum {
    RT_MAIN,      /* the transport of the info string */
    RT_LOCAL,     /* with auto_sm: for peers of this node */
    RT_TRANSPORTS /* count */
};

#endif /* RT_TRANSPORT_H */
