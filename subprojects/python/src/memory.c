/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of the transport's own kind, as a buffer of Python. Views of it may
 * outlive the class: what is in use when the class closes stays until the last
 * view is released, and so does the library's class. */
#include "binding.h"

PyTypeObject *memory_type;

struct memory_object {
    struct resource resource;
    hg_bulk_t bulk; /* which the library has allocated memory for */
    void *memory;   /* NULL: freed */
    Py_ssize_t size;
    Py_ssize_t views;
    struct class_object *closed; /* the class, closed while there are views */
};

static void
memory_drop(struct memory_object *memory)
{
    HG_Bulk_free(memory->bulk);
    memory->bulk = HG_BULK_NULL;
    memory->memory = NULL;
}

static void
memory_release(struct resource *resource)
{
    struct memory_object *memory = (struct memory_object *) resource;

    if (memory->views == 0) {
        memory_drop(memory);
        return;
    }
    memory->closed = (struct class_object *) Py_NewRef(resource->owner);
    memory->closed->memories++;
}

PyObject *
memory_new(struct class_object *owner, Py_ssize_t size)
{
    struct memory_object *memory;
    hg_size_t bytes = (hg_size_t) size;
    hg_return_t ret;

    if (size < 1) {
        PyErr_SetString(PyExc_ValueError, "at least one byte is needed");
        return NULL;
    }
    memory = (struct memory_object *) memory_type->tp_alloc(memory_type, 0);
    if (!memory)
        return NULL;
    memory->size = size;
    ret = HG_Bulk_create(
        owner->hg_class, 1, NULL, &bytes, HG_BULK_READWRITE, &memory->bulk);
    if (ret == HG_SUCCESS)
        ret = HG_Bulk_access(memory->bulk, 0, bytes, HG_BULK_READWRITE, 1,
            &memory->memory, NULL, NULL);
    if (ret != HG_SUCCESS) {
        HG_Bulk_free(memory->bulk);
        Py_DECREF(memory);
        return error_set(ret, "HG_Bulk_create");
    }
    resource_attach(&memory->resource, owner, memory_release);
    return (PyObject *) memory;
}

static void
memory_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    resource_release((struct resource *) self);
    type->tp_free(self);
    Py_DECREF(type);
}

static int
memory_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    struct memory_object *memory = (struct memory_object *) self;

    if (!memory->memory || memory->closed) {
        view->obj = NULL;
        PyErr_SetString(PyExc_BufferError, "the memory was freed");
        return -1;
    }
    if (PyBuffer_FillInfo(view, self, memory->memory, memory->size, 0, flags) !=
        0)
        return -1;
    memory->views++;
    return 0;
}

static void
memory_release_buffer(PyObject *self, Py_buffer *Py_UNUSED(view))
{
    struct memory_object *memory = (struct memory_object *) self;
    struct class_object *closed = memory->closed;

    if (--memory->views > 0 || !closed)
        return;
    memory_drop(memory);
    memory->closed = NULL;
    if (--closed->memories == 0 && closed->unfinished) {
        HG_Finalize(closed->unfinished);
        closed->unfinished = NULL;
    }
    Py_DECREF(closed);
}

static PyObject *
memory_free(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct memory_object *memory = (struct memory_object *) self;

    if (memory->resource.owner && class_check(memory->resource.owner) != 0)
        return NULL;
    if (memory->views > 0) {
        PyErr_SetString(PyExc_BufferError, "views of the memory are in use");
        return NULL;
    }
    resource_release(&memory->resource);
    Py_RETURN_NONE;
}

static Py_ssize_t
memory_length(PyObject *self)
{
    struct memory_object *memory = (struct memory_object *) self;

    return memory->memory ? memory->size : 0;
}

static PyMethodDef memory_methods[] = {
    {"free", memory_free, METH_NOARGS,
        "Frees it. BufferError: views of it are in use."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot memory_slots[] = {{Py_tp_dealloc, memory_dealloc},
    {Py_tp_methods, memory_methods}, {Py_sq_length, memory_length},
    {Py_bf_getbuffer, memory_get_buffer},
    {Py_bf_releasebuffer, memory_release_buffer}, {0, NULL}};

PyType_Spec memory_spec = {.name = "talaria._talaria.Memory",
    .basicsize = sizeof(struct memory_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = memory_slots};
