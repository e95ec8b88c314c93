/* SPDX-License-Identifier: BSD-3-Clause */
/* A class with one context, in a module that has a copy of the library: node.c
 * is linked once to libtalaria.so, and once to libtalaria.a. The test loads
 * either with dlopen, and calls it through this table. */
#ifndef NODE_H
#define NODE_H

#include <stdbool.h>
#include <stddef.h>

struct node;

struct node_ops {
    /* Opens a class. One that listens also serves requests, in a thread of its
     * own, until it is closed. NULL on failure. */
    struct node *(*open)(const char *info, bool listen);
    /* Gets the address as a string; false on failure. */
    bool (*address)(struct node *node, char *text, size_t size);
    /* Calls the node at an address, which pulls a megabyte and responds with
     * its sum; waits for the response. False unless the sum is right. The node
     * must not listen: its thread would progress, too. */
    bool (*call)(struct node *node, const char *address);
    /* Closes the class; false if anything was left. */
    bool (*close)(struct node *node);
};

/* The only symbol of a module: struct node_ops. */
#define NODE_OPS "node_ops"

#endif /* NODE_H */
