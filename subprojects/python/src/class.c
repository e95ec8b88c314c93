/* SPDX-License-Identifier: BSD-3-Clause */
/* The class, which talaria.Class extends. */
#include "binding.h"

PyTypeObject *class_type;

int
class_check(const struct class_object *owner)
{
    if (!owner->hg_class) {
        PyErr_SetString(PyExc_RuntimeError, "the class is closed");
        return -1;
    }
    if (PyThread_get_thread_ident() != owner->thread) {
        PyErr_SetString(
            PyExc_RuntimeError, "a class belongs to the thread that opened it");
        return -1;
    }
    return 0;
}

/* Opening */

/* Returns the reason why the class did not open, in the library's words. */
static PyObject *
open_reason(const char *info)
{
    struct talaria_open_result *result;
    PyObject *text;

    if (talaria_open_report(&result) != NA_SUCCESS)
        return PyUnicode_FromString(info);
    text = PyUnicode_FromFormat(
        "%s: %s", info, result->text ? result->text : "not opened");
    talaria_open_report_free(result);
    return text;
}

static void
open_failed(hg_return_t ret, const char *info)
{
    PyObject *reason = open_reason(info);

    if (reason)
        error_set(ret, PyUnicode_AsUTF8(reason));
    Py_XDECREF(reason);
}

/* Copies pointers to the strings of a tuple, NULL at the end. */
static const char **
settings_of(PyObject *tuple)
{
    Py_ssize_t count = PyTuple_GET_SIZE(tuple);
    const char **settings =
        PyMem_Malloc(((size_t) count + 1) * sizeof *settings);

    if (!settings) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        settings[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(tuple, i));
        if (!settings[i]) {
            PyMem_Free(settings);
            return NULL;
        }
    }
    settings[count] = NULL;
    return settings;
}

static int
class_open(struct class_object *owner, const char *info, bool listen,
    const struct hg_init_info *init, PyObject *tuple)
{
    const char **settings = settings_of(tuple);
    hg_return_t ret;

    if (!settings)
        return -1;
    Py_BEGIN_ALLOW_THREADS ret = talaria_hg_init(
        info, listen, HG_VERSION(2, 4), init, settings, &owner->hg_class);
    Py_END_ALLOW_THREADS PyMem_Free(settings);
    if (ret != HG_SUCCESS) {
        owner->hg_class = NULL;
        open_failed(ret, info);
        return -1;
    }
    owner->context = HG_Context_create(owner->hg_class);
    if (owner->context)
        return 0;
    error_set(HG_OTHER_ERROR, "HG_Context_create");
    return -1;
}

/* Class(info, listen, auto_sm, stats, auth_key, settings) */
static PyObject *
class_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(keywords))
{
    struct hg_init_info init = HG_INIT_INFO_INITIALIZER;
    int listen, auto_sm, stats;
    const char *info, *auth_key;
    PyObject *settings;
    struct class_object *owner;

    if (!PyArg_ParseTuple(args, "spppzO!", &info, &listen, &auto_sm, &stats,
            &auth_key, &PyTuple_Type, &settings))
        return NULL;
    owner = (struct class_object *) type->tp_alloc(type, 0);
    if (!owner)
        return NULL;
    init.auto_sm = (uint8_t) auto_sm;
    init.stats = (uint8_t) stats;
    init.na_init_info.auth_key = auth_key;
    LIST_INIT(&owner->resources);
    LIST_INIT(&owner->operations);
    owner->thread = PyThread_get_thread_ident();
    owner->rpcs = PyList_New(0);
    if (owner->rpcs && class_open(owner, info, listen, &init, settings) == 0)
        return (PyObject *) owner;
    Py_DECREF(owner);
    return NULL;
}

/* Closing */

/* Returns the first error; what can be closed is. */
static hg_return_t
class_end(struct class_object *owner)
{
    hg_class_t *hg_class = owner->hg_class;
    hg_context_t *context = owner->context;
    hg_return_t ret = HG_SUCCESS;

    while (!LIST_EMPTY(&owner->resources))
        resource_release(LIST_FIRST(&owner->resources));
    owner->hg_class = NULL;
    owner->context = NULL;
    Py_BEGIN_ALLOW_THREADS if (context) ret = HG_Context_destroy(context);
    if (ret == HG_SUCCESS && owner->memories > 0)
        owner->unfinished = hg_class;
    else if (ret == HG_SUCCESS)
        ret = HG_Finalize(hg_class);
    Py_END_ALLOW_THREADS return ret;
}

static PyObject *
class_destroy(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct class_object *owner = (struct class_object *) self;
    PyObject *rpcs;
    hg_return_t ret;

    if (!owner->hg_class)
        Py_RETURN_NONE;
    if (class_check(owner) != 0)
        return NULL;
    if (owner->working || !LIST_EMPTY(&owner->operations))
        return error_set(HG_BUSY, "operations are in progress");
    ret = class_end(owner);
    rpcs = owner->rpcs;
    owner->rpcs = NULL;
    Py_XDECREF(rpcs);
    if (ret != HG_SUCCESS)
        return error_set(ret, "the class does not close");
    Py_RETURN_NONE;
}

static int
class_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((struct class_object *) self)->rpcs);
    return 0;
}

static int
class_clear(PyObject *self)
{
    (void) self; /* the rpcs are, whose handlers make the cycles */
    return 0;
}

static void
class_dealloc(PyObject *self)
{
    struct class_object *owner = (struct class_object *) self;
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    if (owner->hg_class)
        class_end(owner);
    Py_XDECREF(owner->rpcs);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Methods */

static PyObject *
class_work(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    return progress_work((struct class_object *) self);
}

static PyObject *
class_unpost(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct class_object *owner = (struct class_object *) self;
    hg_return_t ret;

    if (class_check(owner) != 0)
        return NULL;
    ret = HG_Context_unpost(owner->context);
    if (ret != HG_SUCCESS)
        return error_set(ret, "HG_Context_unpost");
    Py_RETURN_NONE;
}

static PyObject *
class_cancel(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct class_object *owner = (struct class_object *) self;
    struct operation *operation;

    if (class_check(owner) != 0)
        return NULL;
    LIST_FOREACH (operation, &owner->operations, entry)
        operation_cancel(operation);
    Py_RETURN_NONE;
}

static PyObject *
class_lookup(PyObject *self, PyObject *string)
{
    struct class_object *owner = (struct class_object *) self;

    if (class_check(owner) != 0)
        return NULL;
    if (!PyUnicode_Check(string)) {
        PyErr_SetString(PyExc_TypeError, "a string is needed");
        return NULL;
    }
    return address_lookup(owner, string);
}

static PyObject *
class_expose(PyObject *self, PyObject *args)
{
    struct class_object *owner = (struct class_object *) self;
    PyObject *buffer;
    int flags;

    if (!PyArg_ParseTuple(args, "Oi", &buffer, &flags) ||
        class_check(owner) != 0)
        return NULL;
    return bulk_expose(owner, buffer, flags);
}

static PyObject *
class_allocate(PyObject *self, PyObject *number)
{
    struct class_object *owner = (struct class_object *) self;
    Py_ssize_t size = PyNumber_AsSsize_t(number, PyExc_OverflowError);

    if ((size == -1 && PyErr_Occurred()) || class_check(owner) != 0)
        return NULL;
    return memory_new(owner, size);
}

static PyObject *
class_transfer(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    struct class_object *owner = (struct class_object *) self;

    return class_check(owner) == 0 ? operation_transfer(owner, args, count)
                                   : NULL;
}

static PyObject *
class_address(PyObject *self, void *Py_UNUSED(closure))
{
    struct class_object *owner = (struct class_object *) self;
    PyObject *string;
    hg_addr_t addr;
    hg_return_t ret;

    if (class_check(owner) != 0)
        return NULL;
    ret = HG_Addr_self(owner->hg_class, &addr);
    if (ret != HG_SUCCESS)
        return error_set(ret, "HG_Addr_self");
    string = address_to_string(owner, addr);
    HG_Addr_free(owner->hg_class, addr);
    return string;
}

static PyObject *
class_stats(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct class_object *owner = (struct class_object *) self;
    PyObject *string;
    char *json;
    hg_return_t ret;

    if (class_check(owner) != 0)
        return NULL;
    ret = talaria_class_stats_json(owner->hg_class, &json);
    if (ret != HG_SUCCESS)
        return error_set(ret, "talaria_class_stats_json");
    string = PyUnicode_FromString(json);
    free(json);
    return string;
}

static PyObject *
class_fd(PyObject *self, void *Py_UNUSED(closure))
{
    struct class_object *owner = (struct class_object *) self;

    return class_check(owner) == 0
               ? PyLong_FromLong(HG_Event_get_wait_fd(owner->context))
               : NULL;
}

static PyObject *
class_busy(PyObject *self, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(
        !LIST_EMPTY(&((struct class_object *) self)->operations));
}

static PyObject *
class_closed(PyObject *self, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(!((struct class_object *) self)->hg_class);
}

static PyMethodDef class_methods[] = {
    {"_progress", class_work, METH_NOARGS, NULL},
    {"_unpost", class_unpost, METH_NOARGS, NULL},
    {"_cancel_operations", class_cancel, METH_NOARGS, NULL},
    {"_destroy", class_destroy, METH_NOARGS, NULL},
    {"_stats_json", class_stats, METH_NOARGS, NULL},
    {"_expose", class_expose, METH_VARARGS, NULL},
    {"_transfer", (PyCFunction) (void (*)(void)) class_transfer, METH_FASTCALL,
        NULL},
    {"allocate", class_allocate, METH_O,
        "Makes a Memory: a buffer of zeros that peers transfer fastest."},
    {"lookup", class_lookup, METH_O, "Makes an Address of a string."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef class_properties[] = {
    {"address", class_address, NULL, "The string that peers look up.", NULL},
    {"closed", class_closed, NULL, "Whether it is closed.", NULL},
    {"_fd", class_fd, NULL, NULL, NULL},
    {"_busy", class_busy, NULL, NULL, NULL}, {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot class_slots[] = {{Py_tp_new, class_new},
    {Py_tp_dealloc, class_dealloc}, {Py_tp_traverse, class_traverse},
    {Py_tp_clear, class_clear}, {Py_tp_methods, class_methods},
    {Py_tp_getset, class_properties}, {0, NULL}};

PyType_Spec class_spec = {.name = "talaria._talaria.Class",
    .basicsize = sizeof(struct class_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = class_slots};
