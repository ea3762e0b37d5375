/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor.h"

static int refuse_read_only(const char *argument)
{
    PyErr_Format(PyExc_ValueError, "%s is read-only, expected a tensor to write to", argument);
    return -1;
}

/* ---- NumPy ---- */

/** What __array_struct__ points to: PyArrayInterface of NumPy's array interface, version 3. */
typedef struct array_struct {
    int two; /* always 2 */
    int dimensions;
    char kind; /* as in a dtype's kind */
    int item_size;
    int flags;
    Py_ssize_t *shape;
    Py_ssize_t *strides; /* in bytes */
    void *data;
    PyObject *descr;
} array_struct;

enum { NOT_SWAPPED = 0x200, WRITEABLE = 0x400 };

_Static_assert(sizeof(Py_ssize_t) == sizeof(int64_t), "NumPy's shape serves as DLPack's");

/** Extension dtypes such as ml_dtypes' have the kind of raw bytes: their name tells. */
static bool is_bfloat16(tkp_state *state, PyObject *array)
{
    PyObject *dtype = PyObject_GetAttr(array, state->names.dtype);
    PyObject *name = dtype == NULL ? NULL : PyObject_GetAttr(dtype, state->names.name);
    bool is = name != NULL && PyUnicode_Check(name) &&
              PyUnicode_CompareWithASCIIString(name, "bfloat16") == 0;
    PyErr_Clear();
    Py_XDECREF(name);
    Py_XDECREF(dtype);
    return is;
}

static int read_dtype(tkp_state *state, PyObject *array, const array_struct *description,
                      DLDataType *out)
{
    out->bits = (uint8_t)(description->item_size * 8);
    out->lanes = 1;
    switch (description->kind) {
    case 'f':
        out->code = kDLFloat;
        return 0;
    case 'i':
        out->code = kDLInt;
        return 0;
    case 'u':
    case 'b':
        out->code = kDLUInt;
        return 0;
    case 'V':
        if (description->item_size != 2 || !is_bfloat16(state, array))
            break;
        out->code = kDLBfloat;
        return 0;
    default:
        break;
    }
    return -1;
}

static int read_array_strides(const array_struct *description, tkp_view *view)
{
    for (int i = 0; i < description->dimensions; i++) {
        int64_t bytes = description->strides[i];
        if (description->shape[i] > 1 && bytes % description->item_size != 0)
            return -1;
        view->strides[i] = bytes / description->item_size;
    }
    return 0;
}

static bool has_elements(const array_struct *description)
{
    for (int i = 0; i < description->dimensions; i++)
        if (description->shape[i] == 0)
            return false;
    return true;
}

static int read_array(tkp_state *state, PyObject *array, const array_struct *description,
                      const char *argument, bool output, tkp_view *view)
{
    if (description->two != 2 || description->dimensions > TKP_MAX_DIMENSIONS ||
        description->item_size < 1 || description->item_size > 16 ||
        (description->flags & NOT_SWAPPED) == 0 ||
        read_dtype(state, array, description, &view->tensor.dtype) != 0 ||
        read_array_strides(description, view) != 0) {
        PyObject *dtype = PyObject_GetAttr(array, state->names.dtype);
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError,
                     "%s has dtype %S, expected numbers in native byte order, whole elements apart",
                     argument, dtype != NULL ? dtype : Py_None);
        Py_XDECREF(dtype);
        return -1;
    }
    if (output && (description->flags & WRITEABLE) == 0)
        return refuse_read_only(argument);
    view->tensor.data = description->data;
    view->tensor.device = (DLDevice){kDLCPU, 0};
    view->tensor.ndim = description->dimensions;
    view->tensor.shape = (int64_t *)description->shape;
    /* newer NumPy gives arrays without elements strides of 0: they stand for nothing */
    view->tensor.strides = has_elements(description) ? view->strides : NULL;
    view->tensor.byte_offset = 0;
    return 0;
}

static int open_array(tkp_state *state, PyObject *array, const char *argument, bool output,
                      tkp_view *view)
{
    view->capsule = PyObject_GetAttr(array, state->names.__array_struct__);
    if (view->capsule == NULL)
        return -1;
    const array_struct *description = PyCapsule_GetPointer(view->capsule, NULL);
    if (description == NULL)
        return -1;
    return read_array(state, array, description, argument, output, view);
}

/* ---- DLPack ---- */

/** A capsule that nobody consumes stays unused by name, and frees what it holds when it dies. */
static int read_capsule(PyObject *capsule, const char *argument, bool output, tkp_view *view)
{
    view->capsule = capsule;
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        const DLManagedTensor *managed = PyCapsule_GetPointer(capsule, "dltensor");
        view->tensor = managed->dl_tensor;
        return 0;
    }
    if (!PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        PyErr_Format(PyExc_TypeError, "%s gave no DLPack capsule", argument);
        return -1;
    }
    const tkp_managed_tensor *managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    if (managed->version.major != TKP_DLPACK_MAJOR) {
        PyErr_Format(PyExc_BufferError, "%s is exported as DLPack %u, expected version %d",
                     argument, (unsigned)managed->version.major, TKP_DLPACK_MAJOR);
        return -1;
    }
    if (output && (managed->flags & TKP_DLPACK_READ_ONLY) != 0)
        return refuse_read_only(argument);
    view->tensor = managed->tensor;
    return 0;
}

static int is_on_gpu(tkp_state *state, PyObject *object, bool *on_gpu)
{
    PyObject *method = PyObject_GetAttr(object, state->names.__dlpack_device__);
    PyObject *device = method == NULL ? NULL : PyObject_CallNoArgs(method);
    Py_XDECREF(method);
    PyObject *type = device == NULL ? NULL : PySequence_GetItem(device, 0);
    Py_XDECREF(device);
    if (type == NULL)
        return -1;
    long number = PyLong_AsLong(type);
    Py_DECREF(type);
    *on_gpu = number == kDLCUDA || number == kDLCUDAManaged;
    return number == -1 && PyErr_Occurred() ? -1 : 0;
}

/* Without a stream argument a producer on a GPU may make its stream wait for the legacy default
   stream, which breaks a capture; -1 asks for no synchronisation. On a CPU any stream is an error.
 */
static PyObject *call_dlpack(tkp_state *state, tkp_framework *framework, PyObject *object)
{
    bool on_gpu;
    if (is_on_gpu(state, object, &on_gpu) != 0)
        return NULL;
    PyObject *method = PyObject_GetAttr(object, state->names.__dlpack__);
    if (method == NULL)
        return NULL;
    PyObject **keywords = on_gpu ? state->export_on_gpu : state->export_on_host;
    PyObject *capsule = NULL;
    if (framework->versioned) {
        capsule = PyObject_Call(method, state->no_arguments, keywords[0]);
        if (capsule == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Clear(); /* a producer from before DLPack 1.0 */
            framework->versioned = false;
        }
    }
    if (!framework->versioned)
        capsule = PyObject_Call(method, state->no_arguments, keywords[1]);
    Py_DECREF(method);
    return capsule;
}

static int open_exchange(const tkp_exchange *exchange, PyObject *object, const char *argument,
                         bool output, tkp_view *view)
{
    if (exchange->export_borrowed != NULL)
        return exchange->export_borrowed(object, &view->tensor);
    if (exchange->export_managed(object, &view->managed) != 0) {
        view->managed = NULL;
        return -1;
    }
    if (output && (view->managed->flags & TKP_DLPACK_READ_ONLY) != 0)
        return refuse_read_only(argument);
    view->tensor = view->managed->tensor;
    return 0;
}

int tkp_view_open(tkp_state *state, tkp_framework *framework, PyObject *object,
                  const char *argument, bool output, tkp_view *view)
{
    view->capsule = NULL;
    view->managed = NULL;
    PyObject *capsule = NULL;
    if (output && framework->immutable) {
        PyErr_Format(PyExc_TypeError, "%s is immutable, expected a tensor to write to", argument);
        return -1;
    }
    switch (framework->how) {
    case TKP_EXPORT_EXCHANGE:
        return open_exchange(framework->exchange, object, argument, output, view);
    case TKP_EXPORT_ARRAY_STRUCT:
        return open_array(state, object, argument, output, view);
    case TKP_EXPORT_FUNCTION:
        capsule = PyObject_CallFunctionObjArgs(framework->exporter, object, NULL);
        break;
    case TKP_EXPORT_DLPACK:
        capsule = call_dlpack(state, framework, object);
        break;
    case TKP_EXPORT_TRACED:
        PyErr_Format(PyExc_TypeError,
                     "%s is a tensor without memory, expected one with data: in compiled and "
                     "exported code use the functions, with all tensors alike",
                     argument);
        break;
    }
    return capsule == NULL ? -1 : read_capsule(capsule, argument, output, view);
}

void tkp_view_close(tkp_view *view)
{
    Py_CLEAR(view->capsule);
    if (view->managed != NULL && view->managed->deleter != NULL)
        view->managed->deleter(view->managed);
    view->managed = NULL;
}
