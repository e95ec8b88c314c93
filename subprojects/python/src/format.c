/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages: a format is a string of codes, one a field, which the procs of C
 * encode in the same way:
 *
 *   b h i q   int8_t … int64_t        B H I Q   uint8_t … uint64_t
 *   ?         hg_bool_t               f d       4 and 8 bytes of IEEE 754
 *   s z       hg_string_t; z: None is NULL
 *   m n       hg_bulk_t; n: None is HG_BULK_NULL
 *   y         uint64_t length, and so many bytes
 *   r         a reply: int32_t code, hg_string_t text, then as y
 *
 * Both halves of the library's contract are kept: nothing is allocated for a
 * size that the message does not have, and a failed decoding frees what it had
 * decoded. */
#include "binding.h"

#include <mercury_proc.h>
#include <mercury_proc_bulk.h>
#include <mercury_proc_string.h>

PyTypeObject *format_type;

/* Integers */

struct integer {
    char code;
    bool has_sign;
    hg_return_t (*proc)(hg_proc_t proc, void *data);
    long long least;
    unsigned long long most;
};

static const struct integer integers[] = {
    {'b', true, hg_proc_int8_t, INT8_MIN, INT8_MAX},
    {'h', true, hg_proc_int16_t, INT16_MIN, INT16_MAX},
    {'i', true, hg_proc_int32_t, INT32_MIN, INT32_MAX},
    {'q', true, hg_proc_int64_t, INT64_MIN, INT64_MAX},
    {'B', false, hg_proc_uint8_t, 0, UINT8_MAX},
    {'H', false, hg_proc_uint16_t, 0, UINT16_MAX},
    {'I', false, hg_proc_uint32_t, 0, UINT32_MAX},
    {'Q', false, hg_proc_uint64_t, 0, UINT64_MAX},
};

union number {
    int8_t b;
    int16_t h;
    int32_t i;
    int64_t q;
    uint8_t B;
    uint16_t H;
    uint32_t I;
    uint64_t Q;
};

static const struct integer *
integer_of(char code)
{
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        if (integers[i].code == code)
            return &integers[i];
    return NULL;
}

static int
number_from(
    const struct integer *integer, PyObject *value, union number *number)
{
    unsigned long long natural = 0;
    long long whole = 0;

    if (integer->has_sign) {
        whole = PyLong_AsLongLong(value);
        if (whole == -1 && PyErr_Occurred())
            return -1;
        if (whole < integer->least || whole > (long long) integer->most)
            goto out_of_range;
    } else {
        PyObject *index = PyNumber_Index(value);

        if (!index)
            return -1;
        natural = PyLong_AsUnsignedLongLong(index);
        Py_DECREF(index);
        if (natural == (unsigned long long) -1 && PyErr_Occurred())
            return -1;
        if (natural > integer->most)
            goto out_of_range;
    }
    switch (integer->code) {
    case 'b':
        number->b = (int8_t) whole;
        break;
    case 'h':
        number->h = (int16_t) whole;
        break;
    case 'i':
        number->i = (int32_t) whole;
        break;
    case 'q':
        number->q = whole;
        break;
    case 'B':
        number->B = (uint8_t) natural;
        break;
    case 'H':
        number->H = (uint16_t) natural;
        break;
    case 'I':
        number->I = (uint32_t) natural;
        break;
    default:
        number->Q = natural;
        break;
    }
    return 0;

out_of_range:
    PyErr_Format(PyExc_OverflowError, "%R does not fit into code '%c'", value,
        integer->code);
    return -1;
}

static PyObject *
number_to(char code, const union number *number)
{
    switch (code) {
    case 'b':
        return PyLong_FromLong(number->b);
    case 'h':
        return PyLong_FromLong(number->h);
    case 'i':
        return PyLong_FromLong(number->i);
    case 'q':
        return PyLong_FromLongLong(number->q);
    case 'B':
        return PyLong_FromLong(number->B);
    case 'H':
        return PyLong_FromLong(number->H);
    case 'I':
        return PyLong_FromUnsignedLong(number->I);
    default:
        return PyLong_FromUnsignedLongLong(number->Q);
    }
}

/* Encoding. An error of Python is HG_OTHER_ERROR with its exception set. */

static hg_return_t
encode_integer(hg_proc_t proc, const struct integer *integer, PyObject *value)
{
    union number number;

    if (number_from(integer, value, &number) != 0)
        return HG_OTHER_ERROR;
    return integer->proc(proc, &number);
}

static hg_return_t
encode_bool(hg_proc_t proc, PyObject *value)
{
    int truth = PyObject_IsTrue(value);
    uint8_t byte = truth > 0;

    return truth < 0 ? HG_OTHER_ERROR : hg_proc_uint8_t(proc, &byte);
}

static hg_return_t
encode_float(hg_proc_t proc, char code, PyObject *value)
{
    double number = PyFloat_AsDouble(value);
    char bytes[sizeof number];
    int failed;

    if (number == -1.0 && PyErr_Occurred())
        return HG_OTHER_ERROR;
    failed = code == 'f' ? PyFloat_Pack4(number, bytes, 1)
                         : PyFloat_Pack8(number, bytes, 1);
    if (failed)
        return HG_OTHER_ERROR;
    return hg_proc_bytes(proc, bytes, code == 'f' ? 4 : 8);
}

/* Bytes that are not UTF-8 stand in strings as surrogates, as in file names. */
static hg_return_t
encode_string(hg_proc_t proc, PyObject *value)
{
    hg_const_string_t string = NULL;
    hg_return_t ret;
    PyObject *bytes;
    Py_ssize_t size;

    if (value == Py_None)
        return hg_proc_hg_const_string_t(proc, &string);
    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "a string is needed, not %s",
            Py_TYPE(value)->tp_name);
        return HG_OTHER_ERROR;
    }
    bytes = PyUnicode_AsEncodedString(value, "utf-8", "surrogateescape");
    if (!bytes)
        return HG_OTHER_ERROR;
    string = PyBytes_AS_STRING(bytes);
    size = PyBytes_GET_SIZE(bytes);
    if (strlen(string) == (size_t) size) {
        ret = hg_proc_hg_const_string_t(proc, &string);
    } else {
        PyErr_SetString(PyExc_ValueError, "a string contains a zero");
        ret = HG_OTHER_ERROR;
    }
    Py_DECREF(bytes);
    return ret;
}

static hg_return_t
encode_bytes(hg_proc_t proc, PyObject *value)
{
    Py_buffer view;
    uint64_t size;
    hg_return_t ret;

    if (PyObject_GetBuffer(value, &view, PyBUF_SIMPLE) != 0)
        return HG_OTHER_ERROR;
    size = (uint64_t) view.len;
    ret = hg_proc_uint64_t(proc, &size);
    if (ret == HG_SUCCESS)
        ret = hg_proc_bytes(proc, view.buf, size);
    PyBuffer_Release(&view);
    return ret;
}

static hg_return_t
encode_bulk(hg_proc_t proc, const struct payload *payload, PyObject *value)
{
    hg_bulk_t bulk = HG_BULK_NULL;

    if (value != Py_None) {
        struct bulk_object *object = (struct bulk_object *) value;

        if (!PyObject_TypeCheck(value, bulk_type)) {
            PyErr_SetString(PyExc_TypeError, "a Bulk is needed");
            return HG_OTHER_ERROR;
        }
        if (object->resource.owner != payload->owner) {
            PyErr_SetString(
                PyExc_ValueError, "the Bulk was freed, or is another class's");
            return HG_OTHER_ERROR;
        }
        bulk = object->bulk;
    }
    return hg_proc_hg_bulk_t(proc, &bulk);
}

static hg_return_t
encode_reply(hg_proc_t proc, const struct payload *payload, PyObject *value)
{
    hg_const_string_t text = payload->text;
    int32_t code = (int32_t) payload->code;
    uint64_t none = 0;
    hg_return_t ret = hg_proc_int32_t(proc, &code);

    if (ret == HG_SUCCESS)
        ret = hg_proc_hg_const_string_t(proc, &text);
    if (ret != HG_SUCCESS)
        return ret;
    return text || value == Py_None ? hg_proc_uint64_t(proc, &none)
                                    : encode_bytes(proc, value);
}

static hg_return_t
encode_field(
    hg_proc_t proc, const struct payload *payload, char code, PyObject *value)
{
    const struct integer *integer;

    if (value == Py_None && strchr("sm", code)) {
        PyErr_SetString(PyExc_TypeError, "None is not allowed for this field");
        return HG_OTHER_ERROR;
    }
    switch (code) {
    case 'y':
        return encode_bytes(proc, value);
    case 'r':
        return encode_reply(proc, payload, value);
    case '?':
        return encode_bool(proc, value);
    case 'f':
    case 'd':
        return encode_float(proc, code, value);
    case 's':
    case 'z':
        return encode_string(proc, value);
    case 'm':
    case 'n':
        return encode_bulk(proc, payload, value);
    default:
        integer = integer_of(code);
        return integer ? encode_integer(proc, integer, value) : HG_INVALID_ARG;
    }
}

static hg_return_t
encode(hg_proc_t proc, const struct payload *payload)
{
    const struct format_object *format = payload->format;
    hg_return_t ret = HG_SUCCESS;

    if (!format->type)
        return encode_field(proc, payload, format->codes[0], payload->value);
    if (!PyTuple_Check(payload->value) ||
        PyTuple_GET_SIZE(payload->value) != format->count) {
        PyErr_Format(PyExc_TypeError, "%s with %zd fields is needed, not %R",
            format->type->tp_name, format->count, payload->value);
        return HG_OTHER_ERROR;
    }
    for (Py_ssize_t i = 0; ret == HG_SUCCESS && i < format->count; i++)
        ret = encode_field(proc, payload, format->codes[i],
            PyTuple_GET_ITEM(payload->value, i));
    return ret;
}

/* Decoding */

static hg_return_t
decoded(PyObject *value, PyObject **value_p)
{
    *value_p = value;
    return value ? HG_SUCCESS : HG_OTHER_ERROR;
}

static hg_return_t
decode_integer(
    hg_proc_t proc, const struct integer *integer, PyObject **value_p)
{
    union number number;
    hg_return_t ret = integer->proc(proc, &number);

    return ret == HG_SUCCESS
               ? decoded(number_to(integer->code, &number), value_p)
               : ret;
}

static hg_return_t
decode_bool(hg_proc_t proc, PyObject **value_p)
{
    uint8_t byte;
    hg_return_t ret = hg_proc_uint8_t(proc, &byte);

    return ret == HG_SUCCESS ? decoded(PyBool_FromLong(byte), value_p) : ret;
}

static hg_return_t
decode_float(hg_proc_t proc, char code, PyObject **value_p)
{
    char bytes[sizeof(double)];
    hg_return_t ret = hg_proc_bytes(proc, bytes, code == 'f' ? 4 : 8);
    double number;

    if (ret != HG_SUCCESS)
        return ret;
    number =
        code == 'f' ? PyFloat_Unpack4(bytes, 1) : PyFloat_Unpack8(bytes, 1);
    if (number == -1.0 && PyErr_Occurred())
        return HG_OTHER_ERROR;
    return decoded(PyFloat_FromDouble(number), value_p);
}

static hg_return_t
decode_string(hg_proc_t proc, bool optional, PyObject **value_p)
{
    hg_string_t string = NULL;
    hg_return_t ret = hg_proc_hg_string_t(proc, &string);

    if (ret != HG_SUCCESS)
        return ret;
    if (!string && !optional)
        return HG_PROTOCOL_ERROR;
    if (!string)
        return decoded(Py_NewRef(Py_None), value_p);
    ret = decoded(PyUnicode_DecodeUTF8(
                      string, (Py_ssize_t) strlen(string), "surrogateescape"),
        value_p);
    free(string);
    return ret;
}

static hg_return_t
decode_bytes(hg_proc_t proc, PyObject **value_p)
{
    uint64_t size;
    hg_return_t ret = hg_proc_uint64_t(proc, &size);
    void *bytes;

    if (ret != HG_SUCCESS)
        return ret;
    if (size > hg_proc_get_size_left(proc) || size > PY_SSIZE_T_MAX)
        return HG_OVERFLOW;
    bytes = hg_proc_save_ptr(proc, size);
    if (!bytes && size > 0)
        return HG_OVERFLOW;
    ret = decoded(PyBytes_FromStringAndSize(bytes, (Py_ssize_t) size), value_p);
    if (bytes)
        (void) hg_proc_restore_ptr(proc, bytes, size);
    return ret;
}

static hg_return_t
decode_bulk(hg_proc_t proc, const struct payload *payload, bool optional,
    PyObject **value_p)
{
    hg_bulk_t bulk = HG_BULK_NULL;
    hg_return_t ret = hg_proc_hg_bulk_t(proc, &bulk);

    if (ret != HG_SUCCESS)
        return ret;
    if (bulk == HG_BULK_NULL && !optional)
        return HG_PROTOCOL_ERROR;
    if (bulk == HG_BULK_NULL)
        return decoded(Py_NewRef(Py_None), value_p);
    return decoded(bulk_new_remote(payload->owner, bulk), value_p);
}

/* A failure decodes as a pair of its code and its text. */
static hg_return_t
decode_reply(hg_proc_t proc, PyObject **value_p)
{
    PyObject *text = NULL, *bytes = NULL;
    int32_t code;
    hg_return_t ret = hg_proc_int32_t(proc, &code);

    if (ret != HG_SUCCESS)
        return ret;
    ret = decode_string(proc, true, &text);
    if (ret == HG_SUCCESS)
        ret = decode_bytes(proc, &bytes);
    if (ret == HG_SUCCESS && code != HG_SUCCESS)
        ret = decoded(Py_BuildValue("iO", (int) code, text), value_p);
    else if (ret == HG_SUCCESS)
        *value_p = Py_NewRef(bytes);
    Py_XDECREF(text);
    Py_XDECREF(bytes);
    return ret;
}

static hg_return_t
decode_field(hg_proc_t proc, const struct payload *payload, char code,
    PyObject **value_p)
{
    const struct integer *integer;

    switch (code) {
    case 'y':
        return decode_bytes(proc, value_p);
    case 'r':
        return decode_reply(proc, value_p);
    case '?':
        return decode_bool(proc, value_p);
    case 'f':
    case 'd':
        return decode_float(proc, code, value_p);
    case 's':
    case 'z':
        return decode_string(proc, code == 'z', value_p);
    case 'm':
    case 'n':
        return decode_bulk(proc, payload, code == 'n', value_p);
    default:
        integer = integer_of(code);
        return integer ? decode_integer(proc, integer, value_p)
                       : HG_INVALID_ARG;
    }
}

/* Makes the NamedTuple in the way of its own _make. */
static PyObject *
tuple_of(PyTypeObject *type, PyObject *fields)
{
    PyObject *args, *value;

    if (type == &PyTuple_Type)
        return Py_NewRef(fields);
    args = PyTuple_Pack(1, fields);
    if (!args)
        return NULL;
    value = PyTuple_Type.tp_new(type, args, NULL);
    Py_DECREF(args);
    return value;
}

static hg_return_t
decode(hg_proc_t proc, struct payload *payload)
{
    const struct format_object *format = payload->format;
    hg_return_t ret = HG_SUCCESS;
    PyObject *fields;

    if (!format->type)
        return decode_field(proc, payload, format->codes[0], &payload->value);
    fields = PyTuple_New(format->count);
    if (!fields)
        return HG_OTHER_ERROR;
    for (Py_ssize_t i = 0; ret == HG_SUCCESS && i < format->count; i++) {
        PyObject *value = NULL;

        ret = decode_field(proc, payload, format->codes[i], &value);
        if (ret == HG_SUCCESS)
            PyTuple_SET_ITEM(fields, i, value);
    }
    if (ret == HG_SUCCESS)
        ret = decoded(tuple_of(format->type, fields), &payload->value);
    Py_DECREF(fields);
    return ret;
}

hg_return_t
payload_proc(hg_proc_t proc, void *data)
{
    struct payload *payload = data;

    switch (hg_proc_get_op(proc)) {
    case HG_ENCODE:
        return payload->format ? encode(proc, payload) : HG_SUCCESS;
    case HG_DECODE:
        return payload->format ? decode(proc, payload) : HG_SUCCESS;
    default:
        Py_CLEAR(payload->value);
        return HG_SUCCESS;
    }
}

/* The type */

static PyObject *
format_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"codes", "type", NULL};
    PyObject *tuple = Py_None;
    const char *codes;
    struct format_object *format;

    if (!PyArg_ParseTupleAndKeywords(
            args, keywords, "s|O", names, &codes, &tuple))
        return NULL;
    if (tuple != Py_None &&
        (!PyType_Check(tuple) ||
            !PyType_IsSubtype((PyTypeObject *) tuple, &PyTuple_Type)))
        return PyErr_Format(PyExc_TypeError, "type: a subclass of tuple");
    if (strspn(codes, "bhiqBHIQ?fdszmnyr") != strlen(codes) ||
        (tuple == Py_None && strlen(codes) != 1))
        return PyErr_Format(PyExc_ValueError, "codes: %s", codes);
    format = (struct format_object *) type->tp_alloc(type, 0);
    if (!format)
        return NULL;
    format->codes = PyMem_Malloc(strlen(codes) + 1);
    if (!format->codes) {
        Py_DECREF(format);
        return PyErr_NoMemory();
    }
    memcpy(format->codes, codes, strlen(codes) + 1);
    format->count = (Py_ssize_t) strlen(codes);
    if (tuple != Py_None)
        format->type = (PyTypeObject *) Py_NewRef(tuple);
    return (PyObject *) format;
}

static void
format_dealloc(PyObject *self)
{
    struct format_object *format = (struct format_object *) self;
    PyTypeObject *type = Py_TYPE(self);

    PyMem_Free(format->codes);
    Py_XDECREF(format->type);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot format_slots[] = {
    {Py_tp_new, format_new}, {Py_tp_dealloc, format_dealloc}, {0, NULL}};

PyType_Spec format_spec = {.name = "talaria._talaria.Format",
    .basicsize = sizeof(struct format_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = format_slots};
