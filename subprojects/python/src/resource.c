/* SPDX-License-Identifier: BSD-3-Clause */
/* What the class owns, and addresses, the simplest of it. */
#include "binding.h"

PyTypeObject *address_type;

void
resource_attach(struct resource *resource, struct class_object *owner,
    void (*release)(struct resource *resource))
{
    resource->owner = (struct class_object *) Py_NewRef(owner);
    resource->release = release;
    LIST_INSERT_HEAD(&owner->resources, resource, entry);
}

void
resource_release(struct resource *resource)
{
    struct class_object *owner = resource->owner;

    if (!owner)
        return;
    LIST_REMOVE(resource, entry);
    resource->release(resource);
    resource->owner = NULL;
    Py_DECREF(owner);
}

/* Addresses */

static void
address_release(struct resource *resource)
{
    struct address_object *address = (struct address_object *) resource;

    HG_Addr_free(resource->owner->hg_class, address->addr);
    address->addr = HG_ADDR_NULL;
}

PyObject *
address_new(struct class_object *owner, hg_addr_t addr)
{
    struct address_object *address =
        (struct address_object *) address_type->tp_alloc(address_type, 0);

    if (!address) {
        HG_Addr_free(owner->hg_class, addr);
        return NULL;
    }
    address->addr = addr;
    resource_attach(&address->resource, owner, address_release);
    return (PyObject *) address;
}

PyObject *
address_lookup(struct class_object *owner, PyObject *string)
{
    const char *name = PyUnicode_AsUTF8(string);
    hg_addr_t addr;
    hg_return_t ret;

    if (!name)
        return NULL;
    ret = HG_Addr_lookup2(owner->hg_class, name, &addr);
    return ret == HG_SUCCESS ? address_new(owner, addr) : error_set(ret, name);
}

struct address_object *
address_from(struct class_object *owner, PyObject *object)
{
    struct address_object *address = (struct address_object *) object;

    if (PyUnicode_Check(object))
        return (struct address_object *) address_lookup(owner, object);
    if (!PyObject_TypeCheck(object, address_type)) {
        PyErr_SetString(PyExc_TypeError, "an Address or a string is needed");
        return NULL;
    }
    if (address->resource.owner != owner) {
        PyErr_SetString(PyExc_ValueError, "the Address is another class's");
        return NULL;
    }
    return (struct address_object *) Py_NewRef(object);
}

PyObject *
address_to_string(struct class_object *owner, hg_addr_t addr)
{
    char text[1024];
    hg_size_t size = sizeof text;
    hg_return_t ret = HG_Addr_to_string(owner->hg_class, text, &size, addr);

    return ret == HG_SUCCESS ? PyUnicode_FromString(text)
                             : error_set(ret, "HG_Addr_to_string");
}

static PyObject *
address_str(PyObject *self)
{
    struct address_object *address = (struct address_object *) self;

    if (!address->resource.owner)
        return PyUnicode_FromString("(closed)");
    return address_to_string(address->resource.owner, address->addr);
}

static void
address_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    resource_release((struct resource *) self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Whether two are of the same peer; addresses are not hashable therefore. */
static PyObject *
address_compare(PyObject *self, PyObject *other, int op)
{
    struct address_object *a = (struct address_object *) self;
    struct address_object *b = (struct address_object *) other;
    bool equal;

    if ((op != Py_EQ && op != Py_NE) ||
        !PyObject_TypeCheck(other, address_type))
        Py_RETURN_NOTIMPLEMENTED;
    equal = self == other ||
            (a->resource.owner && a->resource.owner == b->resource.owner &&
                HG_Addr_cmp(a->resource.owner->hg_class, a->addr, b->addr));
    return PyBool_FromLong(equal == (op == Py_EQ));
}

static PyType_Slot address_slots[] = {{Py_tp_dealloc, address_dealloc},
    {Py_tp_str, address_str}, {Py_tp_richcompare, address_compare},
    {Py_tp_hash, PyObject_HashNotImplemented}, {0, NULL}};

PyType_Spec address_spec = {.name = "talaria._talaria.Address",
    .basicsize = sizeof(struct address_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = address_slots};
