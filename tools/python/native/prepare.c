/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "context.h"
#include "driver.h"
#include "framework.h"

/** One spec from a tuple of numbers in the order of topk_jit_spec. */
static int read_spec(PyObject *tuple, topk_jit_spec *spec)
{
    int operation, layout, dtype, index_dtype, tie_break, sorted, deterministic, nan_last, check;
    long long topk, page_size;
    if (!PyTuple_Check(tuple)) {
        PyErr_SetString(PyExc_TypeError, "a spec is no topk_jit.Spec");
        return -1;
    }
    if (!PyArg_ParseTuple(tuple, "iiLiiLipppp", &operation, &layout, &topk, &dtype, &index_dtype,
                          &page_size, &tie_break, &sorted, &deterministic, &nan_last, &check))
        return -1;
    *spec = (topk_jit_spec)TOPK_JIT_SPEC_INIT;
    spec->operation = (topk_jit_operation)operation;
    spec->layout = (topk_jit_layout)layout;
    spec->topk = topk;
    spec->dtype = (topk_jit_dtype)dtype;
    spec->index_dtype = (topk_jit_dtype)index_dtype;
    spec->page_size = page_size;
    spec->tie_break = (topk_jit_tie_break)tie_break;
    spec->sorted = (uint8_t)sorted;
    spec->deterministic = (uint8_t)deterministic;
    spec->nan_last = (uint8_t)nan_last;
    spec->check = (uint8_t)check;
    return 0;
}

/** Specs from a tuple of tuples. @return owned by the caller, NULL with an exception */
static topk_jit_spec *read_specs(PyObject *tuple, size_t *count)
{
    *count = (size_t)PyTuple_Size(tuple);
    topk_jit_spec *specs = PyMem_Calloc(*count + 1, sizeof *specs);
    if (specs == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (size_t i = 0; i < *count; i++)
        if (read_spec(PyTuple_GetItem(tuple, (Py_ssize_t)i), &specs[i]) != 0) {
            PyMem_Free(specs);
            return NULL;
        }
    return specs;
}

typedef topk_jit_status many(topk_jit_context *context, const topk_jit_spec *specs, size_t count,
                             CUstream stream);

/** prepare or is_prepared: (specs, device, stream or None, context). */
static int call_many(tkp_state *state, many *function, PyObject *arguments, topk_jit_status *status)
{
    PyObject *tuples, *stream_argument, *context_argument;
    int device;
    if (!PyArg_ParseTuple(arguments, "O!iOO", &PyTuple_Type, &tuples, &device, &stream_argument,
                          &context_argument))
        return -1;
    CUstream stream = NULL;
    if (stream_argument != Py_None && tkp_stream_from_object(state, stream_argument, &stream) != 0)
        return -1;
    tkp_context *context = tkp_context_of(state, context_argument);
    size_t count;
    topk_jit_spec *specs = context == NULL ? NULL : read_specs(tuples, &count);
    if (specs == NULL)
        return -1;
    tkp_device_scope scope = {false};
    if ((uintptr_t)stream <= 2)
        scope = tkp_driver_enter(device);
    PyThreadState *thread = tkp_context_begin(context);
    *status = function(context->context, specs, count, stream);
    tkp_context_end(context, thread);
    tkp_driver_leave(scope);
    if (*status == TOPK_JIT_OK && count > 0)
        context->used_gpu = true;
    PyMem_Free(specs);
    return 0;
}

PyObject *tkp_prepare(PyObject *module, PyObject *arguments)
{
    tkp_state *state = tkp_state_of_module(module);
    topk_jit_status status;
    if (call_many(state, state->library.prepare, arguments, &status) != 0)
        return NULL;
    if (status == TOPK_JIT_OK)
        return tkp_none();
    tkp_raise_status(state, status);
    return NULL;
}

PyObject *tkp_is_prepared(PyObject *module, PyObject *arguments)
{
    tkp_state *state = tkp_state_of_module(module);
    topk_jit_status status;
    if (call_many(state, state->library.is_prepared, arguments, &status) != 0)
        return NULL;
    if (status == TOPK_JIT_OK || status == TOPK_JIT_NOT_PREPARED)
        return PyBool_FromLong(status == TOPK_JIT_OK);
    tkp_raise_status(state, status);
    return NULL;
}

/** The text, in as much memory as it needs. */
static PyObject *explain(tkp_state *state, tkp_context *context, const topk_jit_spec *spec,
                         const char *target, CUstream stream)
{
    size_t capacity = 8192, length = 0;
    char *text = NULL;
    topk_jit_status status = TOPK_JIT_OK;
    do {
        capacity = length + 1 > capacity ? length + 1 : capacity;
        char *larger = PyMem_Realloc(text, capacity);
        if (larger == NULL) {
            PyMem_Free(text);
            return PyErr_NoMemory();
        }
        text = larger;
        PyThreadState *thread = tkp_context_begin(context);
        status =
            state->library.explain(context->context, spec, target, stream, text, capacity, &length);
        tkp_context_end(context, thread);
    } while (status == TOPK_JIT_OK && length >= capacity);
    PyObject *result = NULL;
    if (status == TOPK_JIT_OK)
        result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "replace");
    else
        tkp_raise_status(state, status);
    PyMem_Free(text);
    return result;
}

/** (spec, target or None, device, stream or None, context) */
PyObject *tkp_explain(PyObject *module, PyObject *arguments)
{
    tkp_state *state = tkp_state_of_module(module);
    PyObject *tuple, *stream_argument, *context_argument;
    const char *target;
    int device;
    topk_jit_spec spec;
    CUstream stream = NULL;
    if (!PyArg_ParseTuple(arguments, "OziOO", &tuple, &target, &device, &stream_argument,
                          &context_argument) ||
        read_spec(tuple, &spec) != 0)
        return NULL;
    if (stream_argument != Py_None && tkp_stream_from_object(state, stream_argument, &stream) != 0)
        return NULL;
    tkp_context *context = tkp_context_of(state, context_argument);
    if (context == NULL)
        return NULL;
    tkp_device_scope scope = {false};
    if (target == NULL && (uintptr_t)stream <= 2)
        scope = tkp_driver_enter(device);
    PyObject *result = explain(state, context, &spec, target, stream);
    tkp_driver_leave(scope);
    return result;
}
