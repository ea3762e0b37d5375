/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fake_tensor.c
 * @brief A module with a tensor type that has DLPack's C exchange API, as torch has it: tensors on
 * a GPU that does not exist, whose addresses nobody reads, and on the CPU, whose memory is real.
 *
 * Tensor(shape, code, bits, on_gpu=False, device=0) has an address and a shape. set_stream(handle)
 * sets the current stream, set_borrowing(bool) whether tensors can be read without an owner,
 * capsule() makes DLPack's, and live() counts what was allocated and exported and not released.
 */
#include <Python.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "dlpack_exchange.h"

enum { MAX_DIMENSIONS = 8 };

typedef struct fake_tensor {
    PyObject_HEAD DLTensor tensor;
    int64_t shape[MAX_DIMENSIONS];
    int64_t strides[MAX_DIMENSIONS];
    tkp_managed_tensor *owner; /* of the memory, or NULL: a fake address */
} fake_tensor;

static PyObject *new_none(void)
{
    Py_INCREF(Py_None);
    return Py_None;
}

static PyTypeObject *tensor_type;
static void *stream = (void *)(uintptr_t)64; /* no default stream */
static uintptr_t next_address = (uintptr_t)1 << 40;
static long live;

/** A fake tensor's memory as DLPack hands it on. */
typedef struct memory {
    tkp_managed_tensor managed;
    int64_t shape[MAX_DIMENSIONS];
    void *host;
} memory;

static void release_memory(tkp_managed_tensor *managed)
{
    memory *self = (memory *)managed;
    live--;
    free(self->host);
    free(self);
}

static size_t bytes_of(const DLTensor *tensor)
{
    size_t bytes = tensor->dtype.bits / 8;
    for (int i = 0; i < tensor->ndim; i++)
        bytes *= (size_t)tensor->shape[i];
    return bytes;
}

static int allocate(DLTensor *prototype, tkp_managed_tensor **out, void *user, tkp_set_error fail)
{
    memory *self = prototype->ndim > MAX_DIMENSIONS ? NULL : calloc(1, sizeof *self);
    if (self == NULL) {
        fail(user, "MemoryError", "no memory for a fake tensor");
        return -1;
    }
    size_t bytes = bytes_of(prototype) + 256;
    self->managed.version = (tkp_dlpack_version){1, 3};
    self->managed.deleter = release_memory;
    self->managed.tensor = *prototype;
    self->managed.tensor.strides = NULL;
    self->managed.tensor.byte_offset = 0;
    self->managed.tensor.shape = self->shape;
    memcpy(self->shape, prototype->shape, (size_t)prototype->ndim * sizeof self->shape[0]);
    if (prototype->device.device_type == kDLCPU) {
        self->host = aligned_alloc(256, (bytes + 255) / 256 * 256);
        self->managed.tensor.data = self->host;
    } else {
        self->managed.tensor.data = (void *)next_address;
        next_address += (bytes + 255) / 256 * 256;
    }
    live++;
    *out = &self->managed;
    return 0;
}

static int import_managed(tkp_managed_tensor *stolen, void **object)
{
    fake_tensor *self = PyObject_New(fake_tensor, tensor_type);
    if (self == NULL)
        return -1;
    self->owner = stolen;
    self->tensor = stolen->tensor;
    int64_t stride = 1;
    for (int i = stolen->tensor.ndim - 1; i >= 0; i--) {
        self->shape[i] = stolen->tensor.shape[i];
        self->strides[i] = stride;
        stride *= self->shape[i];
    }
    self->tensor.shape = self->shape;
    self->tensor.strides = self->strides;
    *object = self;
    return 0;
}

static int export_borrowed(void *object, DLTensor *out)
{
    *out = ((fake_tensor *)object)->tensor;
    return 0;
}

static void release_export(tkp_managed_tensor *managed)
{
    Py_DECREF((PyObject *)managed->manager);
    live--;
    free(managed);
}

static int export_managed(void *object, tkp_managed_tensor **out)
{
    tkp_managed_tensor *managed = calloc(1, sizeof *managed);
    if (managed == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    managed->version = (tkp_dlpack_version){1, 3};
    managed->manager = object;
    managed->deleter = release_export;
    managed->tensor = ((fake_tensor *)object)->tensor;
    Py_INCREF((PyObject *)object);
    live++;
    *out = managed;
    return 0;
}

static int current_stream(DLDeviceType type, int32_t device, void **out)
{
    (void)type, (void)device;
    *out = stream;
    return 0;
}

static tkp_exchange exchange = {
    .version = {1, 3},
    .allocate = allocate,
    .export_managed = export_managed,
    .import_managed = import_managed,
    .export_borrowed = export_borrowed,
    .current_stream = current_stream,
};

/* A producer of a later major, which also has the table of ours. */
static tkp_exchange later = {.version = {2, 0}, .previous = &exchange};

/* ---- the type ---- */

static void fail(void *user, const char *kind, const char *message)
{
    (void)user, (void)kind;
    PyErr_SetString(PyExc_MemoryError, message);
}

static PyObject *new_tensor(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    (void)type, (void)keywords;
    PyObject *shape;
    int code, bits, on_gpu = 0, device = 0;
    if (!PyArg_ParseTuple(arguments, "O!ii|pi", &PyTuple_Type, &shape, &code, &bits, &on_gpu,
                          &device))
        return NULL;
    int64_t sizes[MAX_DIMENSIONS];
    DLTensor prototype = {
        .device = {on_gpu ? kDLCUDA : kDLCPU, device},
        .ndim = (int)PyTuple_Size(shape),
        .dtype = {(uint8_t)code, (uint8_t)bits, 1},
        .shape = sizes,
    };
    for (int i = 0; i < prototype.ndim && i < MAX_DIMENSIONS; i++)
        sizes[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
    tkp_managed_tensor *managed;
    void *object;
    if (PyErr_Occurred() || allocate(&prototype, &managed, NULL, fail) != 0 ||
        import_managed(managed, &object) != 0)
        return NULL;
    return object;
}

static void dealloc(PyObject *object)
{
    fake_tensor *self = (fake_tensor *)object;
    PyTypeObject *type = Py_TYPE(object);
    if (self->owner != NULL)
        self->owner->deleter(self->owner);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyObject *get_address(PyObject *object, void *closure)
{
    (void)closure;
    return PyLong_FromVoidPtr(((fake_tensor *)object)->tensor.data);
}

static PyObject *get_shape(PyObject *object, void *closure)
{
    (void)closure;
    const DLTensor *tensor = &((fake_tensor *)object)->tensor;
    PyObject *shape = PyTuple_New(tensor->ndim);
    for (int i = 0; shape != NULL && i < tensor->ndim; i++)
        PyTuple_SetItem(shape, i, PyLong_FromLongLong(tensor->shape[i]));
    return shape;
}

static PyGetSetDef attributes[] = {
    {"address", get_address, NULL, NULL, NULL},
    {"shape", get_shape, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, new_tensor},
    {Py_tp_dealloc, dealloc},
    {Py_tp_getset, attributes},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "fake_tensor.Tensor",
    .basicsize = sizeof(fake_tensor),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};

/* ---- DLPack capsules ---- */

static void drop_versioned(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) { /* else it was consumed */
        tkp_managed_tensor *managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        managed->deleter(managed);
    }
}

static void release_legacy(DLManagedTensor *managed)
{
    Py_DECREF((PyObject *)managed->manager_ctx);
    live--;
    free(managed);
}

static void drop_legacy(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        DLManagedTensor *managed = PyCapsule_GetPointer(capsule, "dltensor");
        managed->deleter(managed);
    }
}

static PyObject *new_legacy(PyObject *object)
{
    DLManagedTensor *managed = calloc(1, sizeof *managed);
    if (managed == NULL)
        return PyErr_NoMemory();
    managed->dl_tensor = ((fake_tensor *)object)->tensor;
    managed->manager_ctx = object;
    managed->deleter = release_legacy;
    Py_INCREF(object);
    live++;
    return PyCapsule_New(managed, "dltensor", drop_legacy);
}

/** capsule(tensor, major, flags): of DLPack major 0 (without a version), 1 or another. */
static PyObject *new_capsule(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *object;
    unsigned major;
    unsigned long long flags;
    tkp_managed_tensor *managed;
    if (!PyArg_ParseTuple(arguments, "O!IK", tensor_type, &object, &major, &flags))
        return NULL;
    if (major == 0)
        return new_legacy(object);
    if (export_managed(object, &managed) != 0)
        return NULL;
    managed->version.major = major;
    managed->flags = flags;
    return PyCapsule_New(managed, "dltensor_versioned", drop_versioned);
}

/* ---- the module ---- */

static PyObject *set_stream(PyObject *module, PyObject *handle)
{
    (void)module;
    stream = PyLong_AsVoidPtr(handle);
    if (PyErr_Occurred())
        return NULL;
    return new_none();
}

static PyObject *set_borrowing(PyObject *module, PyObject *on)
{
    (void)module;
    exchange.export_borrowed = PyObject_IsTrue(on) ? export_borrowed : NULL;
    return new_none();
}

static PyObject *count_live(PyObject *module, PyObject *ignored)
{
    (void)module, (void)ignored;
    return PyLong_FromLong(live);
}

static PyMethodDef methods[] = {
    {"set_stream", set_stream, METH_O, NULL},
    {"set_borrowing", set_borrowing, METH_O, NULL},
    {"capsule", new_capsule, METH_VARARGS, NULL},
    {"live", count_live, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "fake_tensor", .m_size = -1,
                                 .m_methods = methods};

__attribute__((visibility("default"))) PyMODINIT_FUNC PyInit_fake_tensor(void);
PyMODINIT_FUNC PyInit_fake_tensor(void)
{
    PyObject *module = PyModule_Create(&definition);
    tensor_type = (PyTypeObject *)PyType_FromSpec(&spec);
    PyObject *capsule = PyCapsule_New(&later, "dlpack_exchange_api", NULL);
    if (module == NULL || tensor_type == NULL || capsule == NULL ||
        PyObject_SetAttrString((PyObject *)tensor_type, "__dlpack_c_exchange_api__", capsule) !=
            0 ||
        PyModule_AddObjectRef(module, "Tensor", (PyObject *)tensor_type) != 0)
        return NULL;
    Py_DECREF(capsule);
    return module;
}
