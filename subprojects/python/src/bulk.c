/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors of memory: that of a buffer, which is used in place, or that of a
 * peer. */
#include "binding.h"

PyTypeObject *bulk_type;

static void
bulk_release(struct resource *resource)
{
    struct bulk_object *bulk = (struct bulk_object *) resource;

    HG_Bulk_free(bulk->bulk);
    bulk->bulk = HG_BULK_NULL;
    PyBuffer_Release(&bulk->view); /* also if there is none */
}

PyObject *
bulk_expose(struct class_object *owner, PyObject *buffer, int flags)
{
    struct bulk_object *bulk =
        (struct bulk_object *) bulk_type->tp_alloc(bulk_type, 0);
    int access = PyBUF_C_CONTIGUOUS;
    static char nothing;
    hg_size_t size;
    void *memory;
    hg_return_t ret;

    if (!bulk)
        return NULL;
    if (flags >= 0 && flags != HG_BULK_READ_ONLY)
        access |= PyBUF_WRITABLE;
    if (PyObject_GetBuffer(buffer, &bulk->view, access) != 0)
        goto drop_bulk;
    if (flags < 0)
        flags = bulk->view.readonly ? HG_BULK_READ_ONLY : HG_BULK_READWRITE;
    size = (hg_size_t) bulk->view.len;
    /* A null pointer would ask the library for memory. */
    memory = bulk->view.buf ? bulk->view.buf : &nothing;
    ret = HG_Bulk_create(
        owner->hg_class, 1, &memory, &size, (uint8_t) flags, &bulk->bulk);
    if (ret != HG_SUCCESS) {
        PyBuffer_Release(&bulk->view);
        error_set(ret, "HG_Bulk_create");
        goto drop_bulk;
    }
    resource_attach(&bulk->resource, owner, bulk_release);
    return (PyObject *) bulk;

drop_bulk:
    Py_DECREF(bulk);
    return NULL;
}

PyObject *
bulk_new_remote(struct class_object *owner, hg_bulk_t descriptor)
{
    struct bulk_object *bulk =
        (struct bulk_object *) bulk_type->tp_alloc(bulk_type, 0);

    if (!bulk) {
        HG_Bulk_free(descriptor);
        return NULL;
    }
    bulk->bulk = descriptor;
    resource_attach(&bulk->resource, owner, bulk_release);
    return (PyObject *) bulk;
}

static void
bulk_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    resource_release((struct resource *) self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *
bulk_free(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct bulk_object *bulk = (struct bulk_object *) self;

    if (bulk->resource.owner && class_check(bulk->resource.owner) != 0)
        return NULL;
    if (bulk->transfers > 0)
        return error_set(HG_BUSY, "a transfer of this Bulk is in progress");
    resource_release(&bulk->resource);
    Py_RETURN_NONE;
}

static PyObject *
bulk_enter(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    return Py_NewRef(self);
}

static PyObject *
bulk_exit(PyObject *self, PyObject *Py_UNUSED(args))
{
    return bulk_free(self, NULL);
}

static Py_ssize_t
bulk_length(PyObject *self)
{
    struct bulk_object *bulk = (struct bulk_object *) self;

    return bulk->bulk ? (Py_ssize_t) HG_Bulk_get_size(bulk->bulk) : 0;
}

static PyObject *
bulk_flags(PyObject *self, void *Py_UNUSED(closure))
{
    struct bulk_object *bulk = (struct bulk_object *) self;

    return PyLong_FromLong(bulk->bulk ? HG_Bulk_get_flags(bulk->bulk) : 0);
}

static PyObject *
bulk_is_local(PyObject *self, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(((struct bulk_object *) self)->view.obj != NULL);
}

static PyMethodDef bulk_methods[] = {
    {"free", bulk_free, METH_NOARGS,
        "Releases the descriptor, and the buffer it was made of."},
    {"__enter__", bulk_enter, METH_NOARGS, NULL},
    {"__exit__", bulk_exit, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};

static PyGetSetDef bulk_properties[] = {
    {"flags", bulk_flags, NULL, "Access that peers have: a talaria.Access.",
        NULL},
    {"is_local", bulk_is_local, NULL, "Whether it is memory of this process.",
        NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot bulk_slots[] = {{Py_tp_dealloc, bulk_dealloc},
    {Py_tp_methods, bulk_methods}, {Py_tp_getset, bulk_properties},
    {Py_sq_length, bulk_length}, {0, NULL}};

PyType_Spec bulk_spec = {.name = "talaria._talaria.Bulk",
    .basicsize = sizeof(struct bulk_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = bulk_slots};
