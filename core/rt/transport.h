/* SPDX-License-Identifier: BSD-3-Clause */
/* The transports of a class and of its contexts, by number: where bulk and hg keep
 * one of something for each. */
#ifndef RT_TRANSPORT_H
#define RT_TRANSPORT_H

enum {
    RT_MAIN,      /* the one that the class was opened for */
    RT_LOCAL,     /* with auto_sm: the one that reaches peers of this node */
    RT_TRANSPORTS /* how many there are */
};

#endif /* RT_TRANSPORT_H */
