/* SPDX-License-Identifier: BSD-3-Clause */
/* A request at the target. */
#include "binding.h"

PyTypeObject *request_type;

static void
request_release(struct resource *resource)
{
    struct request_object *request = (struct request_object *) resource;

    HG_Destroy(request->handle);
    request->handle = HG_HANDLE_NULL;
}

static struct request_object *
request_new(struct rpc_object *rpc, hg_handle_t handle)
{
    struct request_object *request =
        (struct request_object *) request_type->tp_alloc(request_type, 0);

    if (!request)
        return NULL;
    request->rpc = (struct rpc_object *) Py_NewRef(rpc);
    request->handle = handle;
    resource_attach(&request->resource, rpc->owner, request_release);
    return request;
}

static int
request_decode(struct request_object *request)
{
    struct payload payload = {
        .owner = request->rpc->owner, .format = request->rpc->input};
    hg_return_t ret;

    if (!payload.format) {
        request->input = Py_NewRef(Py_None);
        return 0;
    }
    ret = HG_Get_input(request->handle, &payload);
    if (ret != HG_SUCCESS) {
        request->code = PyErr_Occurred() ? HG_NOMEM : ret;
        PyErr_Clear(); /* malformed: the origin's fault */
        Py_CLEAR(payload.value);
        return -1;
    }
    request->input = Py_NewRef(payload.value);
    HG_Free_input(request->handle, &payload);
    return 0;
}

/* Answers with payload. Returns 0, or -1 with an exception: another answer may
 * be given. */
static int
request_answer(struct request_object *request, struct payload *payload)
{
    hg_return_t ret = HG_SUCCESS;

    if (!request->handle) {
        PyErr_SetString(
            PyExc_RuntimeError, "the request was answered or dropped");
        return -1;
    }
    payload->owner = request->rpc->owner;
    payload->format = request->rpc->output;
    if (request->rpc->responds)
        ret = HG_Respond(request->handle, NULL, NULL, payload);
    if (ret != HG_SUCCESS) {
        payload_failed(ret, PyUnicode_AsUTF8(request->rpc->name));
        return -1;
    }
    resource_release(&request->resource);
    return 0;
}

/* Passes the exception that is set to the class, which answers. */
static void
request_failed(struct request_object *request)
{
    PyObject *error = error_take();
    PyObject *result = PyObject_CallMethod(
        (PyObject *) request->rpc->owner, "_failed", "OO", request, error);

    if (!result) {
        PyErr_WriteUnraisable((PyObject *) request);
        request->code = HG_OTHER_ERROR;
    }
    Py_XDECREF(result);
    Py_DECREF(error);
}

static void
request_handle(struct request_object *request)
{
    PyObject *result =
        PyObject_CallOneArg(request->rpc->handler, (PyObject *) request);

    if (result && Py_TYPE(result)->tp_as_async &&
        Py_TYPE(result)->tp_as_async->am_await) {
        PyObject *started = PyObject_CallMethod(
            (PyObject *) request->rpc->owner, "_start", "OO", request, result);

        if (!started)
            request_failed(request);
        Py_XDECREF(started);
    } else if (!result) {
        request_failed(request);
    } else if (request->handle) {
        struct payload payload = {.value = result};

        if (request_answer(request, &payload) != 0)
            request_failed(request);
    }
    Py_XDECREF(result);
}

hg_return_t
request_received(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct rpc_object *rpc = HG_Registered_data(info->hg_class, info->id);
    struct request_object *request = rpc ? request_new(rpc, handle) : NULL;
    hg_return_t ret;

    if (!request) {
        PyErr_Clear();
        return rpc ? HG_NOMEM : HG_NOENTRY;
    }
    request->in_handler = true;
    if (request_decode(request) == 0)
        request_handle(request);
    request->in_handler = false;
    ret = request->code;
    /* The library sends a code and drops the reference itself. */
    if (ret != HG_SUCCESS && request->handle) {
        request->handle = HG_HANDLE_NULL;
        resource_release(&request->resource);
    }
    Py_DECREF(request);
    return ret;
}

/* The type */

static void
request_dealloc(PyObject *self)
{
    struct request_object *request = (struct request_object *) self;
    PyTypeObject *type = Py_TYPE(self);

    resource_release(&request->resource);
    Py_XDECREF(request->input);
    Py_XDECREF(request->rpc);
    type->tp_free(self);
    Py_DECREF(type);
}

static int
request_check(struct request_object *request)
{
    if (request->resource.owner)
        return class_check(request->resource.owner);
    PyErr_SetString(PyExc_RuntimeError, "the request was answered or dropped");
    return -1;
}

static PyObject *
request_respond(PyObject *self, PyObject *value)
{
    struct request_object *request = (struct request_object *) self;
    struct payload payload = {.value = value};

    if (request_check(request) != 0 || request_answer(request, &payload) != 0)
        return NULL;
    Py_RETURN_NONE;
}

/* Returns False if the failure cannot be sent: the origin's form of an answer has
 * no field for it. */
static PyObject *
request_fail(PyObject *self, PyObject *args)
{
    struct request_object *request = (struct request_object *) self;
    struct payload payload = {0};
    int code;

    if (!PyArg_ParseTuple(args, "is", &code, &payload.text) ||
        request_check(request) != 0)
        return NULL;
    if (code <= HG_SUCCESS || code >= HG_RETURN_MAX)
        code = HG_OTHER_ERROR;
    payload.code = (hg_return_t) code;
    if (request->rpc->output && request->rpc->output->codes[0] == 'r') {
        if (request_answer(request, &payload) != 0)
            return NULL;
        Py_RETURN_TRUE;
    }
    if (!request->in_handler)
        Py_RETURN_FALSE;
    request->code = (hg_return_t) code;
    Py_RETURN_TRUE;
}

static PyObject *
request_drop(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct request_object *request = (struct request_object *) self;
    hg_return_t ret;

    if (request_check(request) != 0)
        return NULL;
    ret = talaria_handle_drop(request->handle);
    if (ret != HG_SUCCESS)
        return error_set(ret, "talaria_handle_drop");
    resource_release(&request->resource);
    Py_RETURN_NONE;
}

static PyObject *
request_input(PyObject *self, void *Py_UNUSED(closure))
{
    return Py_NewRef(((struct request_object *) self)->input);
}

static PyObject *
request_name(PyObject *self, void *Py_UNUSED(closure))
{
    return Py_NewRef(((struct request_object *) self)->rpc->name);
}

static PyObject *
request_address(PyObject *self, void *Py_UNUSED(closure))
{
    struct request_object *request = (struct request_object *) self;
    hg_addr_t addr;
    hg_return_t ret;

    if (request_check(request) != 0)
        return NULL;
    ret = HG_Addr_dup(request->resource.owner->hg_class,
        HG_Get_info(request->handle)->addr, &addr);
    return ret == HG_SUCCESS ? address_new(request->resource.owner, addr)
                             : error_set(ret, "HG_Addr_dup");
}

static PyObject *
request_rpc(PyObject *self, void *Py_UNUSED(closure))
{
    return Py_NewRef(((struct request_object *) self)->rpc);
}

static PyObject *
request_done(PyObject *self, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(!((struct request_object *) self)->handle);
}

static PyMethodDef request_methods[] = {
    {"respond", request_respond, METH_O, "Answers, in place of a result."},
    {"_fail", request_fail, METH_VARARGS, NULL},
    {"drop", request_drop, METH_NOARGS, "Never answers."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef request_properties[] = {
    {"input", request_input, NULL, "What the origin sent.", NULL},
    {"name", request_name, NULL, "The name of the RPC.", NULL},
    {"rpc", request_rpc, NULL, "The RPC.", NULL},
    {"done", request_done, NULL, "Whether it was answered or dropped.", NULL},
    {"address", request_address, NULL, "The origin, until the answer.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot request_slots[] = {{Py_tp_dealloc, request_dealloc},
    {Py_tp_methods, request_methods}, {Py_tp_getset, request_properties},
    {0, NULL}};

PyType_Spec request_spec = {.name = "talaria._talaria.Request",
    .basicsize = sizeof(struct request_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = request_slots};
