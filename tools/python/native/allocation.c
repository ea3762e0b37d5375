/* SPDX-License-Identifier: Apache-2.0 */
#include "allocation.h"

#include <string.h>

/** A tuple of `count` numbers, after `like` unless it is NULL. */
static PyObject *number_tuple(PyObject *like, const int64_t *numbers, int count)
{
    int before = like != NULL ? 1 : 0;
    PyObject *tuple = PyTuple_New(before + count);
    if (tuple != NULL && like != NULL) {
        Py_INCREF(like);
        PyTuple_SetItem(tuple, 0, like);
    }
    for (int i = 0; tuple != NULL && i < count; i++) {
        PyObject *number = PyLong_FromLongLong(numbers[i]);
        if (number == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SetItem(tuple, before + i, number);
    }
    return tuple;
}

/* ---- by the exchange API ---- */

static void raise_from_producer(void *user, const char *kind, const char *message)
{
    (void)user;
    bool memory = strcmp(kind, "MemoryError") == 0;
    PyErr_SetString(memory ? PyExc_MemoryError : PyExc_RuntimeError, message);
}

static PyObject *allocate_by_exchange(const tkp_exchange *exchange, const DLTensor *view,
                                      int64_t *shape, int dimensions, tkp_element element)
{
    DLTensor prototype = {
        .device = view->device,
        .ndim = dimensions,
        .dtype = view->dtype,
        .shape = shape,
    };
    if (element != TKP_ALIKE)
        prototype.dtype = (DLDataType){kDLInt, element == TKP_INT64 ? 64 : 32, 1};
    tkp_managed_tensor *managed = NULL;
    void *object = NULL;
    if (exchange->allocate(&prototype, &managed, NULL, raise_from_producer) != 0 ||
        exchange->import_managed(managed, &object) != 0)
        return NULL;
    return object;
}

/* ---- on the current GPU ---- */

/** @return 1 if the framework's current GPU is the one of `device`; -1 with an exception */
static int is_current(const tkp_framework *framework, DLDevice device)
{
    if (framework->allocate_here == NULL || device.device_type != kDLCUDA)
        return 0;
    PyObject *current = PyObject_CallNoArgs(framework->current_device);
    if (current == NULL)
        return -1;
    long number = PyLong_AsLong(current);
    Py_DECREF(current);
    return number == -1 && PyErr_Occurred() ? -1 : number == device.device_id;
}

static PyObject *dtype_of(tkp_state *state, const tkp_framework *framework, PyObject *like,
                          tkp_element element)
{
    if (element == TKP_ALIKE)
        return PyObject_GetAttr(like, state->names.dtype);
    return PyObject_GetItem(framework->keywords[element], state->names.dtype);
}

/** Strides of a contiguous tensor; sizes of 0 count as 1, as frameworks have it. */
static PyObject *stride_tuple(const int64_t *shape, int dimensions)
{
    PyObject *tuple = PyTuple_New(dimensions);
    uint64_t stride = 1; /* of a shape that is refused for its size it may wrap */
    for (int i = dimensions - 1; tuple != NULL && i >= 0; i--) {
        PyObject *number = PyLong_FromUnsignedLongLong(stride);
        if (number == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SetItem(tuple, i, number);
        stride *= shape[i] > 1 ? (uint64_t)shape[i] : 1;
    }
    return tuple;
}

static bool is_recent(const tkp_recent *recent, DLDataType dtype, const int64_t *shape,
                      int dimensions)
{
    return recent->arguments != NULL && recent->dimensions == dimensions &&
           recent->dtype.code == dtype.code && recent->dtype.bits == dtype.bits &&
           memcmp(recent->shape, shape, (size_t)dimensions * sizeof *shape) == 0;
}

static void remember(tkp_recent *recent, DLDataType dtype, const int64_t *shape, int dimensions,
                     PyObject *arguments)
{
    if (dimensions > TKP_RECENT_DIMENSIONS)
        return;
    recent->dtype = dtype;
    recent->dimensions = dimensions;
    memcpy(recent->shape, shape, (size_t)dimensions * sizeof *shape);
    Py_INCREF(arguments);
    tkp_replace(&recent->arguments, arguments);
}

static PyObject *allocate_here(tkp_state *state, tkp_framework *framework, PyObject *like,
                               const DLTensor *view, const int64_t *shape, int dimensions,
                               tkp_element element)
{
    tkp_recent *recent = &framework->recent[element];
    PyObject *arguments = recent->arguments;
    if (is_recent(recent, view->dtype, shape, dimensions)) {
        Py_INCREF(arguments);
    } else {
        PyObject *dtype = dtype_of(state, framework, like, element);
        PyObject *sizes = number_tuple(NULL, shape, dimensions);
        PyObject *strides = stride_tuple(shape, dimensions);
        arguments = NULL;
        if (dtype != NULL && sizes != NULL && strides != NULL)
            arguments = PyTuple_Pack(3, sizes, strides, dtype);
        Py_XDECREF(strides);
        Py_XDECREF(sizes);
        Py_XDECREF(dtype);
        if (arguments == NULL)
            return NULL;
        remember(recent, view->dtype, shape, dimensions, arguments);
    }
    PyObject *result = PyObject_Call(framework->allocate_here, arguments, NULL);
    Py_DECREF(arguments);
    return result;
}

/* ---- anywhere ---- */

static PyObject *allocate_by_arguments(const tkp_framework *framework, PyObject *like,
                                       const int64_t *shape, int dimensions, tkp_element element)
{
    bool alike = element == TKP_ALIKE;
    PyObject *arguments = NULL;
    if (framework->takes == TKP_TAKES_SIZES && dimensions > 0) {
        arguments = number_tuple(like, shape, dimensions);
    } else {
        PyObject *sizes = number_tuple(NULL, shape, dimensions);
        if (sizes != NULL && (alike || framework->takes != TKP_TAKES_SHAPE))
            arguments = PyTuple_Pack(2, like, sizes);
        else if (sizes != NULL)
            arguments = PyTuple_Pack(1, sizes);
        Py_XDECREF(sizes);
    }
    if (arguments == NULL)
        return NULL;
    PyObject *result =
        alike ? PyObject_Call(framework->allocate_alike, arguments, NULL)
              : PyObject_Call(framework->allocate, arguments, framework->keywords[element]);
    Py_DECREF(arguments);
    return result;
}

PyObject *tkp_allocate(tkp_state *state, tkp_framework *framework, PyObject *like,
                       const DLTensor *view, int64_t *shape, int dimensions, tkp_element element)
{
    if (framework->allocate == NULL && framework->exchange != NULL)
        return allocate_by_exchange(framework->exchange, view, shape, dimensions, element);
    if (framework->allocate == NULL) {
        PyErr_SetString(PyExc_TypeError, "out is not given, expected a tensor to write to: how "
                                         "this framework allocates is not known");
        return NULL;
    }
    int here = is_current(framework, view->device);
    if (here < 0)
        return NULL;
    if (here)
        return allocate_here(state, framework, like, view, shape, dimensions, element);
    return allocate_by_arguments(framework, like, shape, dimensions, element);
}

PyObject *tkp_allocation_finish(const tkp_framework *framework, PyObject *allocated)
{
    if (framework->wrap == NULL)
        return allocated;
    PyObject *wrapped = PyObject_CallFunctionObjArgs(framework->wrap, allocated, NULL);
    Py_DECREF(allocated);
    return wrapped;
}
