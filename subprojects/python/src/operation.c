/* SPDX-License-Identifier: BSD-3-Clause */
/* Forwards and transfers. Each completes one future, whose class (Call,
 * Transfer) is Python's; `_canceled` is called for a cancelled one. */
#include "binding.h"

PyTypeObject *operation_type;

/* Makes an operation in progress; its second reference is the callback's. */
static struct operation *
operation_new(struct class_object *owner, PyObject *future)
{
    struct operation *operation =
        (struct operation *) operation_type->tp_alloc(operation_type, 0);

    if (!operation)
        return NULL;
    operation->owner = (struct class_object *) Py_NewRef(owner);
    operation->future = Py_NewRef(future);
    LIST_INSERT_HEAD(&owner->operations, operation, entry);
    return operation;
}

static void
bulk_unused(struct bulk_object **bulk)
{
    if (*bulk)
        (*bulk)->transfers--;
    Py_CLEAR(*bulk);
}

/* Gives back what the operation had, once. */
static void
operation_end(struct operation *operation)
{
    if (!operation->future)
        return;
    LIST_REMOVE(operation, entry);
    HG_Destroy(operation->handle);
    operation->handle = HG_HANDLE_NULL;
    operation->op_id = HG_OP_ID_NULL;
    bulk_unused(&operation->remote);
    bulk_unused(&operation->local);
    Py_CLEAR(operation->future);
    Py_CLEAR(operation->kept);
    Py_CLEAR(operation->rpc);
    Py_CLEAR(operation->owner);
}

static void
operation_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    operation_end((struct operation *) self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Completes the future: with value, or with the exception that is set. Drops
 * the reference to value. */
static void
operation_complete(struct operation *operation, PyObject *value)
{
    PyObject *future = operation->future, *result;

    if (value) {
        result = PyObject_CallMethodOneArg(future, name_set_result, value);
        Py_DECREF(value);
    } else {
        PyObject *error = error_take();

        result = PyObject_CallMethod(future, "set_exception", "O", error);
        Py_DECREF(error);
    }
    if (!result)
        PyErr_WriteUnraisable(future); /* it is completed already */
    Py_XDECREF(result);
}

void
operation_cancel(struct operation *operation)
{
    if (!operation->future)
        return;
    operation->canceled = true;
    if (operation->handle)
        HG_Cancel(operation->handle);
    else if (operation->op_id)
        HG_Bulk_cancel(operation->op_id);
}

/* Forwards */

static PyObject *
output_of(struct operation *operation)
{
    struct rpc_object *rpc = operation->rpc;
    struct payload payload = {.owner = operation->owner, .format = rpc->output};
    PyObject *value;
    hg_return_t ret;

    if (!rpc->output || !rpc->responds)
        return Py_NewRef(Py_None);
    ret = HG_Get_output(operation->handle, &payload);
    if (ret != HG_SUCCESS) {
        Py_CLEAR(payload.value);
        return payload_failed(ret, PyUnicode_AsUTF8(rpc->name));
    }
    value = Py_NewRef(payload.value);
    HG_Free_output(operation->handle, &payload);
    if (rpc->output->codes[0] == 'r' && PyTuple_CheckExact(value)) {
        hg_return_t code =
            (hg_return_t) PyLong_AsLong(PyTuple_GET_ITEM(value, 0));
        PyObject *text = PyTuple_GET_ITEM(value, 1);
        PyObject *error = PyObject_CallMethod(
            operation->future, "_refused", "iO", (int) code, text);

        if (error)
            PyErr_SetObject((PyObject *) Py_TYPE(error), error);
        Py_XDECREF(error);
        Py_CLEAR(value);
    }
    return value;
}

static hg_return_t
forwarded(const struct hg_cb_info *info)
{
    struct operation *operation = info->arg;

    if (!operation->canceled)
        operation_complete(operation,
            info->ret == HG_SUCCESS
                ? output_of(operation)
                : error_set(info->ret, PyUnicode_AsUTF8(operation->rpc->name)));
    operation_end(operation);
    Py_DECREF(operation);
    return HG_SUCCESS;
}

/* Sets the deadline, rounded up: at least 1 ms. */
static int
set_deadline(hg_handle_t handle, PyObject *timeout)
{
    double seconds = PyFloat_AsDouble(timeout);
    hg_return_t ret;

    if (seconds == -1.0 && PyErr_Occurred())
        return -1;
    if (!(seconds >= 0 && seconds * 1000 <= UINT_MAX - 1)) {
        PyErr_SetString(PyExc_ValueError, "timeout: seconds");
        return -1;
    }
    ret = talaria_handle_set_deadline(
        handle, seconds > 0 ? (unsigned int) (seconds * 1000 + 0.999) : 1);
    if (ret == HG_SUCCESS)
        return 0;
    error_set(ret, "talaria_handle_set_deadline");
    return -1;
}

static int
forward(struct operation *operation, struct address_object *address,
    PyObject *input, PyObject *timeout)
{
    struct rpc_object *rpc = operation->rpc;
    struct payload payload = {
        .owner = operation->owner, .format = rpc->input, .value = input};
    hg_return_t ret = HG_Create(
        operation->owner->context, address->addr, rpc->id, &operation->handle);

    if (ret == HG_SUCCESS) {
        if (timeout != Py_None && set_deadline(operation->handle, timeout) != 0)
            return -1;
        ret = HG_Forward(operation->handle, forwarded, operation, &payload);
    }
    if (ret == HG_SUCCESS)
        return 0;
    payload_failed(ret, PyUnicode_AsUTF8(rpc->name));
    return -1;
}

PyObject *
operation_forward(struct rpc_object *rpc, PyObject *address, PyObject *input,
    PyObject *timeout, PyObject *future)
{
    struct address_object *target = address_from(rpc->owner, address);
    struct operation *operation;

    if (!target)
        return NULL;
    operation = operation_new(rpc->owner, future);
    if (operation) {
        operation->rpc = (struct rpc_object *) Py_NewRef(rpc);
        operation->kept = Py_NewRef(input);
        Py_INCREF(operation);
        if (forward(operation, target, input, timeout) != 0) {
            operation_end(operation);
            Py_DECREF(operation);
            Py_CLEAR(operation);
        }
    }
    Py_DECREF(target);
    return (PyObject *) operation;
}

/* Transfers */

static hg_return_t
transferred(const struct hg_cb_info *info)
{
    struct operation *operation = info->arg;

    if (operation->canceled) {
        PyObject *result =
            PyObject_CallMethod(operation->future, "_canceled", NULL);

        if (!result)
            PyErr_WriteUnraisable(operation->future);
        Py_XDECREF(result);
    } else {
        operation_complete(
            operation, info->ret == HG_SUCCESS
                           ? PyLong_FromUnsignedLongLong(info->info.bulk.size)
                           : error_set(info->ret, "HG_Bulk_transfer"));
    }
    operation_end(operation);
    Py_DECREF(operation);
    return HG_SUCCESS;
}

static struct bulk_object *
bulk_used(struct class_object *owner, PyObject *object)
{
    struct bulk_object *bulk = (struct bulk_object *) object;

    if (!PyObject_TypeCheck(object, bulk_type)) {
        PyErr_SetString(PyExc_TypeError, "a Bulk is needed");
        return NULL;
    }
    if (bulk->resource.owner != owner) {
        PyErr_SetString(
            PyExc_ValueError, "the Bulk was freed, or is another class's");
        return NULL;
    }
    bulk->transfers++;
    return (struct bulk_object *) Py_NewRef(object);
}

/* args: op, address, remote, offset, local, offset, size, future. */
PyObject *
operation_transfer(
    struct class_object *owner, PyObject *const *args, Py_ssize_t count)
{
    unsigned long long numbers[4];
    static const int places[4] = {0, 3, 5, 6};
    struct operation *operation;
    struct address_object *address;
    hg_return_t ret;

    if (count != 8) {
        PyErr_SetString(PyExc_TypeError, "8 arguments are needed");
        return NULL;
    }
    for (int i = 0; i < 4; i++) {
        numbers[i] = PyLong_AsUnsignedLongLong(args[places[i]]);
        if (numbers[i] == (unsigned long long) -1 && PyErr_Occurred())
            return NULL;
    }
    address = address_from(owner, args[1]);
    if (!address)
        return NULL;
    operation = operation_new(owner, args[7]);
    if (!operation)
        goto free_address;
    operation->remote = bulk_used(owner, args[2]);
    if (!operation->remote)
        goto drop_operation;
    operation->local = bulk_used(owner, args[4]);
    if (!operation->local)
        goto drop_operation;
    Py_INCREF(operation);
    ret = HG_Bulk_transfer(owner->context, transferred, operation,
        numbers[0] ? HG_BULK_PULL : HG_BULK_PUSH, address->addr,
        operation->remote->bulk, numbers[1], operation->local->bulk, numbers[2],
        numbers[3], &operation->op_id);
    if (ret == HG_SUCCESS)
        goto free_address;
    Py_DECREF(operation);
    error_set(ret, "HG_Bulk_transfer");

drop_operation:
    operation_end(operation);
    Py_CLEAR(operation);
free_address:
    Py_DECREF(address);
    return (PyObject *) operation;
}

/* The type */

static PyObject *
cancel(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct operation *operation = (struct operation *) self;

    if (operation->owner && class_check(operation->owner) != 0)
        return NULL;
    operation_cancel(operation);
    Py_RETURN_NONE;
}

static PyObject *
active(PyObject *self, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(((struct operation *) self)->future != NULL);
}

static PyGetSetDef operation_properties[] = {
    {"active", active, NULL, "Whether the library has not completed it.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef operation_methods[] = {
    {"cancel", cancel, METH_NOARGS, "HG_Cancel or HG_Bulk_cancel."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot operation_slots[] = {{Py_tp_dealloc, operation_dealloc},
    {Py_tp_methods, operation_methods}, {Py_tp_getset, operation_properties},
    {0, NULL}};

PyType_Spec operation_spec = {.name = "talaria._talaria.Operation",
    .basicsize = sizeof(struct operation),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = operation_slots};
