/* SPDX-License-Identifier: BSD-3-Clause */
#include "binding.h"

static PyObject *make; /* talaria.errors.make(code, name, what) */

int
error_init(void)
{
    PyObject *errors = PyImport_ImportModule("talaria.errors");

    if (!errors)
        return -1;
    make = PyObject_GetAttrString(errors, "make");
    Py_DECREF(errors);
    return make ? 0 : -1;
}

PyObject *
error_new(hg_return_t code, const char *what)
{
    return PyObject_CallFunction(
        make, "iss", (int) code, HG_Error_to_string(code), what);
}

PyObject *
error_set(hg_return_t code, const char *what)
{
    PyObject *error = error_new(code, what);

    if (error) {
        PyErr_SetObject((PyObject *) Py_TYPE(error), error);
        Py_DECREF(error);
    }
    return NULL;
}

PyObject *
error_take(void)
{
#if PY_VERSION_HEX >= 0x030c0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *error, *traceback;

    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback)
        PyException_SetTraceback(error, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return error;
#endif
}

PyObject *
payload_failed(hg_return_t ret, const char *what)
{
    return PyErr_Occurred() ? NULL : error_set(ret, what);
}
