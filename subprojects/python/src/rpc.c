/* SPDX-License-Identifier: BSD-3-Clause */
/* A registered RPC. */
#include "binding.h"

PyTypeObject *rpc_type;

/* format: None or a Format. */
static int
format_of(PyObject *format, struct format_object **format_p)
{
    if (format == Py_None)
        return 0;
    if (!PyObject_TypeCheck(format, format_type)) {
        PyErr_SetString(PyExc_TypeError, "a Format is needed");
        return -1;
    }
    *format_p = (struct format_object *) Py_NewRef(format);
    return 0;
}

static int
rpc_register(struct rpc_object *rpc)
{
    hg_class_t *hg_class = rpc->owner->hg_class;
    const char *name = PyUnicode_AsUTF8(rpc->name);
    hg_return_t ret;

    if (!name || PyList_Append(rpc->owner->rpcs, (PyObject *) rpc) != 0)
        return -1;
    rpc->id = HG_Register_name(hg_class, name, rpc->input ? payload_proc : NULL,
        rpc->output ? payload_proc : NULL,
        rpc->handler ? request_received : NULL);
    ret = rpc->id ? HG_Register_data(hg_class, rpc->id, rpc, NULL)
                  : HG_INVALID_ARG;
    if (ret == HG_SUCCESS)
        ret = HG_Registered_disable_response(
            hg_class, rpc->id, rpc->responds ? 0 : 1);
    if (ret == HG_SUCCESS)
        return 0;
    error_set(ret, name);
    return -1;
}

static PyObject *
rpc_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(keywords))
{
    PyObject *owner, *name, *input, *output, *handler;
    struct rpc_object *rpc;
    int responds;

    if (!PyArg_ParseTuple(args, "O!UOOOp", class_type, &owner, &name, &input,
            &output, &handler, &responds) ||
        class_check((struct class_object *) owner) != 0)
        return NULL;
    rpc = (struct rpc_object *) type->tp_alloc(type, 0);
    if (!rpc)
        return NULL;
    rpc->owner = (struct class_object *) Py_NewRef(owner);
    rpc->name = Py_NewRef(name);
    rpc->responds = responds;
    if (handler != Py_None)
        rpc->handler = Py_NewRef(handler);
    if (format_of(input, &rpc->input) == 0 &&
        format_of(output, &rpc->output) == 0 && rpc_register(rpc) == 0)
        return (PyObject *) rpc;
    Py_DECREF(rpc);
    return NULL;
}

static int
rpc_traverse(PyObject *self, visitproc visit, void *arg)
{
    struct rpc_object *rpc = (struct rpc_object *) self;

    Py_VISIT(Py_TYPE(self));
    Py_VISIT(rpc->owner);
    Py_VISIT(rpc->input);
    Py_VISIT(rpc->output);
    Py_VISIT(rpc->handler);
    return 0;
}

/* The class is not cleared here: dealloc of others may need it. */
static int
rpc_clear(PyObject *self)
{
    struct rpc_object *rpc = (struct rpc_object *) self;

    Py_CLEAR(rpc->handler);
    return 0;
}

static void
rpc_dealloc(PyObject *self)
{
    struct rpc_object *rpc = (struct rpc_object *) self;
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    rpc_clear(self);
    Py_XDECREF(rpc->input);
    Py_XDECREF(rpc->output);
    Py_XDECREF(rpc->name);
    Py_XDECREF(rpc->owner);
    type->tp_free(self);
    Py_DECREF(type);
}

/* forward(address, input, timeout, future) */
static PyObject *
rpc_forward(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    struct rpc_object *rpc = (struct rpc_object *) self;

    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "4 arguments are needed");
        return NULL;
    }
    if (class_check(rpc->owner) != 0)
        return NULL;
    return operation_forward(rpc, args[0], args[1], args[2], args[3]);
}

static PyObject *
rpc_name(PyObject *self, void *Py_UNUSED(closure))
{
    return Py_NewRef(((struct rpc_object *) self)->name);
}

static PyObject *
rpc_id(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLongLong(((struct rpc_object *) self)->id);
}

static PyMethodDef rpc_methods[] = {
    {"_forward", (PyCFunction) (void (*)(void)) rpc_forward, METH_FASTCALL,
        NULL},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef rpc_properties[] = {
    {"name", rpc_name, NULL, "The name by which it is registered.", NULL},
    {"id", rpc_id, NULL, "A hash of the name, the same everywhere.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot rpc_slots[] = {{Py_tp_new, rpc_new},
    {Py_tp_dealloc, rpc_dealloc}, {Py_tp_traverse, rpc_traverse},
    {Py_tp_clear, rpc_clear}, {Py_tp_methods, rpc_methods},
    {Py_tp_getset, rpc_properties}, {0, NULL}};

PyType_Spec rpc_spec = {.name = "talaria._talaria.Rpc",
    .basicsize = sizeof(struct rpc_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = rpc_slots};
