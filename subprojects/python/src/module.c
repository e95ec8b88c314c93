/* SPDX-License-Identifier: BSD-3-Clause */
/* The extension module talaria._talaria, private to the package. */
#include "binding.h"

PyObject *name_set_result;

static const struct {
    const char *name;
    PyTypeObject **type;
    PyType_Spec *spec;
} types[] = {
    {"Class", &class_type, &class_spec},
    {"Format", &format_type, &format_spec},
    {"Rpc", &rpc_type, &rpc_spec},
    {"Address", &address_type, &address_spec},
    {"Bulk", &bulk_type, &bulk_spec},
    {"Memory", &memory_type, &memory_spec},
    {"Operation", &operation_type, &operation_spec},
    {"Request", &request_type, &request_spec},
};

static int
add_types(PyObject *module)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        PyObject *type = PyType_FromSpec(types[i].spec);

        if (!type)
            return -1;
        *types[i].type = (PyTypeObject *) type; /* keeps this reference */
        if (PyModule_AddObjectRef(module, types[i].name, type) != 0)
            return -1;
    }
    return 0;
}

/* Names of the codes, for the enumeration in talaria.errors. */
static PyObject *
return_codes(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *names = PyList_New(0);

    for (int code = 0; names && code < HG_RETURN_MAX; code++) {
        PyObject *name =
            PyUnicode_FromString(HG_Error_to_string((hg_return_t) code));

        if (!name || PyList_Append(names, name) != 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

static PyMethodDef functions[] = {
    {"return_codes", return_codes, METH_NOARGS,
        "The names of all return codes, in their order."},
    {NULL, NULL, 0, NULL}};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
    .m_name = "talaria._talaria", .m_size = -1, .m_methods = functions};

PyMODINIT_FUNC PyInit__talaria(void);

PyMODINIT_FUNC
PyInit__talaria(void)
{
    PyObject *module = PyModule_Create(&definition);

    if (!module)
        return NULL;
    name_set_result = PyUnicode_InternFromString("set_result");
    if (!name_set_result || add_types(module) != 0 || error_init() != 0 ||
        PyModule_AddStringConstant(
            module, "library_version", talaria_version()) != 0 ||
        PyModule_AddIntConstant(module, "READ", HG_BULK_READ_ONLY) != 0 ||
        PyModule_AddIntConstant(module, "WRITE", HG_BULK_WRITE_ONLY) != 0 ||
        PyModule_AddIntConstant(module, "READ_WRITE", HG_BULK_READWRITE) != 0)
        Py_CLEAR(module);
    return module;
}
