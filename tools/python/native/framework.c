/* SPDX-License-Identifier: Apache-2.0 */
#include "framework.h"

/** The table of the type, in a layout that is known here; NULL without an exception if none. */
static const tkp_exchange *find_exchange(tkp_state *state, PyTypeObject *type)
{
    PyObject *capsule = PyObject_GetAttr((PyObject *)type, state->names.__dlpack_c_exchange_api__);
    const tkp_exchange *table = NULL;
    if (capsule != NULL && PyCapsule_IsValid(capsule, "dlpack_exchange_api"))
        table = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    Py_XDECREF(capsule);
    PyErr_Clear();
    while (table != NULL && table->version.major > TKP_DLPACK_MAJOR)
        table = table->previous;
    return table != NULL && table->version.major == TKP_DLPACK_MAJOR ? table : NULL;
}

static PyObject *unless_none(PyObject *object)
{
    if (object == Py_None)
        return NULL;
    Py_INCREF(object);
    return object;
}

/** Fills a record from what classify() says. */
static int read_answer(tkp_framework *record, PyObject *answer)
{
    PyObject *exporter, *stream, *allocate, *int32, *int64, *alike, *here, *device, *wrap;
    int how, takes, immutable;
    if (!PyArg_ParseTuple(answer, "iOOOiOOOOOOp", &how, &exporter, &stream, &allocate, &takes,
                          &int32, &int64, &alike, &here, &device, &wrap, &immutable))
        return -1;
    record->how = (tkp_export)how;
    record->exporter = unless_none(exporter);
    record->stream = unless_none(stream);
    record->allocate = unless_none(allocate);
    record->takes = (tkp_takes)takes;
    record->keywords[TKP_INT32] = unless_none(int32);
    record->keywords[TKP_INT64] = unless_none(int64);
    record->allocate_alike = unless_none(alike);
    record->allocate_here = unless_none(here);
    record->current_device = unless_none(device);
    record->wrap = unless_none(wrap);
    record->immutable = immutable;
    record->versioned = true;
    return 0;
}

static void release(tkp_framework *record)
{
    Py_XDECREF(record->type);
    Py_XDECREF(record->exporter);
    Py_XDECREF(record->stream);
    Py_XDECREF(record->allocate);
    Py_XDECREF(record->keywords[TKP_INT32]);
    Py_XDECREF(record->keywords[TKP_INT64]);
    Py_XDECREF(record->allocate_alike);
    Py_XDECREF(record->allocate_here);
    Py_XDECREF(record->current_device);
    for (int i = 0; i < TKP_ELEMENT_COUNT; i++)
        Py_XDECREF(record->recent[i].arguments);
    Py_XDECREF(record->wrap);
    PyMem_Free(record);
}

static tkp_framework *classify(tkp_state *state, PyTypeObject *type, const char *argument)
{
    PyObject *answer = PyObject_CallFunction(state->classify, "Os", type, argument);
    tkp_framework *record = answer == NULL ? NULL : PyMem_Calloc(1, sizeof *record);
    if (answer != NULL && record == NULL)
        PyErr_NoMemory();
    if (record != NULL) {
        record->type = type;
        Py_INCREF(type);
        if (read_answer(record, answer) != 0) {
            release(record);
            record = NULL;
        }
    }
    Py_XDECREF(answer);
    if (record == NULL || record->how != TKP_EXPORT_EXCHANGE)
        return record;
    record->exchange = find_exchange(state, type);
    if (record->exchange == NULL)
        record->how = record->exporter != NULL ? TKP_EXPORT_FUNCTION : TKP_EXPORT_DLPACK;
    return record;
}

static tkp_framework *find_known(tkp_framework *first, const PyTypeObject *type)
{
    while (first != NULL && first->type != type)
        first = first->next;
    return first;
}

/* A record stays for the life of the module: calls on other threads may be reading it. It keeps its
   type alive, so that no other type can come to that address. */
tkp_framework *tkp_framework_of(tkp_state *state, PyObject *tensor, const char *argument)
{
    PyTypeObject *type = Py_TYPE(tensor);
    tkp_framework **slot = &state->frameworks[((uintptr_t)type >> 5) % TKP_FRAMEWORK_SLOTS];
    tkp_framework *known = find_known(*slot, type);
    if (known != NULL)
        return known;
    tkp_framework *record = classify(state, type, argument);
    if (record == NULL)
        return NULL;
    known = find_known(*slot, type); /* another thread may have been here meanwhile */
    if (known != NULL) {
        release(record);
        return known;
    }
    record->next = *slot;
    *slot = record;
    return record;
}

int tkp_stream_from_object(tkp_state *state, PyObject *given, CUstream *out)
{
    PyObject *handle = given;
    if (PyLong_Check(given))
        Py_INCREF(handle);
    else
        handle = PyObject_CallFunctionObjArgs(state->stream_handle, given, NULL);
    if (handle == NULL)
        return -1;
    *out = PyLong_AsVoidPtr(handle);
    Py_DECREF(handle);
    return *out == NULL && PyErr_Occurred() ? -1 : 0;
}

static int ask_for_stream(tkp_state *state, const tkp_framework *framework, int device,
                          CUstream *out)
{
    PyObject *handle = PyObject_CallFunction(framework->stream, "i", device);
    if (handle == NULL)
        return -1;
    int result = tkp_stream_from_object(state, handle, out);
    Py_DECREF(handle);
    return result;
}

int tkp_framework_stream(tkp_state *state, const tkp_framework *framework, PyObject *given,
                         DLDevice device, CUstream *out)
{
    if (given != NULL && given != Py_None)
        return tkp_stream_from_object(state, given, out);
    *out = NULL;
    if (device.device_type != kDLCUDA && device.device_type != kDLCUDAManaged)
        return 0;
    if (framework->exchange != NULL) {
        void *stream = NULL;
        int result = framework->exchange->current_stream(kDLCUDA, device.device_id, &stream);
        *out = stream;
        return result;
    }
    if (framework->stream != NULL)
        return ask_for_stream(state, framework, device.device_id, out);
    PyErr_SetString(PyExc_TypeError,
                    "stream is not given, expected a stream handle (0 is the legacy default "
                    "stream): the current stream of this framework is not known");
    return -1;
}

void tkp_frameworks_clear(tkp_state *state)
{
    for (size_t i = 0; i < TKP_FRAMEWORK_SLOTS; i++)
        while (state->frameworks[i] != NULL) {
            tkp_framework *first = state->frameworks[i];
            state->frameworks[i] = first->next;
            release(first);
        }
}

int tkp_frameworks_traverse(tkp_state *state, visitproc visit, void *arg)
{
    for (size_t i = 0; i < TKP_FRAMEWORK_SLOTS; i++)
        for (const tkp_framework *f = state->frameworks[i]; f != NULL; f = f->next) {
            Py_VISIT(f->type);
            Py_VISIT(f->exporter);
            Py_VISIT(f->stream);
            Py_VISIT(f->allocate);
            Py_VISIT(f->allocate_alike);
            Py_VISIT(f->allocate_here);
            Py_VISIT(f->current_device);
            Py_VISIT(f->wrap);
        }
    return 0;
}
