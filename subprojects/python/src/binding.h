/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects of the extension module and what its files share. Everything runs
 * in the thread of the class's event loop, with the GIL. Functions that return
 * an object return NULL, those that return an int -1, with a Python exception
 * set. */
#ifndef BINDING_H
#define BINDING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <sys/queue.h>

#include <mercury.h>
#include <mercury_bulk.h>
#include <talaria.h>

struct class_object;

/* An object of Python that owns something of the class. The class is alive as
 * long as it is, and closing the class releases it. */
struct resource {
    PyObject_HEAD LIST_ENTRY(resource) entry;
    struct class_object *owner; /* NULL: released */
    void (*release)(struct resource *resource);
};

/* A class with one context. */
struct class_object {
    PyObject_HEAD hg_class_t *hg_class; /* NULL: closed */
    hg_context_t *context;
    PyObject *rpcs; /* list: keeps what HG_Registered_data points to */
    LIST_HEAD(, resource) resources;
    LIST_HEAD(, operation) operations;
    Py_ssize_t memories;    /* in use after the class was closed, and until */
    hg_class_t *unfinished; /* then this, NULL: finalized */
    unsigned long thread;
    bool working;     /* in work() */
    uint64_t spin_ns; /* see spin in progress.c */
    uint64_t slept_ns;
};

/* How one message is encoded: one code a field, see format.c. */
struct format_object {
    PyObject_HEAD char *codes;
    Py_ssize_t count;
    PyTypeObject *type; /* subclass of tuple; NULL: a bare value */
};

struct rpc_object {
    PyObject_HEAD struct class_object *owner;
    PyObject *name;
    struct format_object *input;  /* NULL: none */
    struct format_object *output; /* NULL: none */
    PyObject *handler;            /* NULL: this process only calls it */
    hg_id_t id;
    bool responds;
};

struct address_object {
    struct resource resource;
    hg_addr_t addr;
};

struct bulk_object {
    struct resource resource;
    hg_bulk_t bulk;
    Py_buffer view; /* view.obj is NULL: the memory of a peer */
    Py_ssize_t transfers;
};

/* A forward or a transfer in progress; the library's callback owns a reference.
 */
struct operation {
    PyObject_HEAD LIST_ENTRY(operation) entry;
    struct class_object *owner;
    PyObject *future; /* NULL: completed */
    PyObject *kept;   /* what must live as long: the input */
    struct rpc_object *rpc;
    hg_handle_t handle;
    struct bulk_object *remote; /* of a transfer, as the next two */
    struct bulk_object *local;
    hg_op_id_t op_id;
    bool canceled;
};

struct request_object {
    struct resource resource;
    struct rpc_object *rpc;
    PyObject *input;
    hg_handle_t handle; /* NULL: answered or dropped */
    hg_return_t code;   /* what the running handler shall return */
    bool in_handler;
};

/* The argument of payload_proc. */
struct payload {
    struct class_object *owner;
    const struct format_object *format;
    PyObject *value;  /* owned after decoding, borrowed while encoding */
    const char *text; /* encoding: the reply is a failure with `code` */
    hg_return_t code;
};

extern PyObject *name_set_result; /* "set_result" */
extern PyTypeObject *class_type, *format_type, *rpc_type, *address_type,
    *bulk_type, *memory_type, *operation_type, *request_type;

extern PyType_Spec class_spec, format_spec, rpc_spec, address_spec, bulk_spec,
    memory_spec, operation_spec, request_spec;

/* Creates the exceptions of talaria.errors. `what` names what failed. */
int error_init(void);
PyObject *error_new(hg_return_t code, const char *what);
PyObject *error_set(hg_return_t code, const char *what); /* returns NULL */
PyObject *error_take(void); /* the exception that is set, which it clears */

/* The message's end of a call: encodes, decodes or frees a struct payload. */
hg_return_t payload_proc(hg_proc_t proc, void *data);

/* Takes the exception of a failed encoding or decoding, or makes one. Returns
 * NULL with the exception set. */
PyObject *payload_failed(hg_return_t ret, const char *what);

/* Checks that the class is open and that this is its thread. */
int class_check(const struct class_object *owner);

void resource_attach(struct resource *resource, struct class_object *owner,
    void (*release)(struct resource *resource));
/* Calls `release` unless the resource was released before. */
void resource_release(struct resource *resource);

/* Takes over the reference to addr, also if it fails. */
PyObject *address_new(struct class_object *owner, hg_addr_t addr);
PyObject *address_lookup(struct class_object *owner, PyObject *string);
PyObject *address_to_string(struct class_object *owner, hg_addr_t addr);
/* Returns a new reference to an address: `address` itself, or what the string
 * names. */
struct address_object *address_from(
    struct class_object *owner, PyObject *address);

/* Describes the memory of a buffer. flags: HG_BULK_*; -1: as the buffer allows.
 */
PyObject *bulk_expose(struct class_object *owner, PyObject *buffer, int flags);
/* Takes over the reference to bulk, also if it fails. */
PyObject *bulk_new_remote(struct class_object *owner, hg_bulk_t bulk);

/* Allocates `size` bytes that the transport moves fastest. */
PyObject *memory_new(struct class_object *owner, Py_ssize_t size);

PyObject *operation_forward(struct rpc_object *rpc, PyObject *address,
    PyObject *input, PyObject *timeout, PyObject *future);
PyObject *operation_transfer(
    struct class_object *owner, PyObject *const *args, Py_ssize_t count);
void operation_cancel(struct operation *operation);

/* The library's handler of every registered RPC. */
hg_return_t request_received(hg_handle_t handle);

/* A batch of the context's work. Returns True if more has to follow before the
 * loop may wait on the descriptor. */
PyObject *progress_work(struct class_object *owner);

#endif /* BINDING_H */
