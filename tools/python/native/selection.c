/* SPDX-License-Identifier: Apache-2.0 */
#include "selection.h"

#include <string.h>

#include "allocation.h"
#include "driver.h"
#include "number.h"
#include "tensor.h"

/** A selection under way. */
typedef struct selection {
    tkp_state *state;
    tkp_request *request;
    tkp_framework *framework;     /* of score */
    int opened[TKP_TENSOR_COUNT]; /* views that hold something, in order */
    int opened_count;
    PyObject *allocated[TKP_TENSOR_COUNT]; /* owned outputs */
    tkp_view views[TKP_TENSOR_COUNT];      /* those of absent tensors are never touched */
} selection;

#define TENSOR_NAME(place, name) #name,
static const char *const tensor_names[] = {TKP_TENSORS(TENSOR_NAME)};
#undef TENSOR_NAME

static bool is_output(int place)
{
    return place >= TKP_INDICES;
}

static bool is_absent(const PyObject *object)
{
    return object == NULL || object == Py_None;
}

/* ---- options ---- */

static const char *const layouts[] = {"plain", "paged", "ragged", NULL};
static const char *const index_dtypes[] = {"int32", "int64", NULL};
static const char *const tie_breaks[] = {"none", "smallest", "largest", NULL};

int tkp_request_read_constants(tkp_request *request, PyObject *const *constants)
{
    topk_jit_select_args *args = &request->args;
    *args = (topk_jit_select_args)TOPK_JIT_SELECT_ARGS_INIT;
    int layout, element, tie_break;
    int64_t max_sms;
    if (tkp_read_name(constants[0], "layout", layouts, &layout) != 0 ||
        tkp_read_integer(constants[1], "topk", &args->topk) != 0 ||
        tkp_read_integer(constants[2], "page_size", &args->page_size) != 0 ||
        tkp_read_integer(constants[3], "next_n", &args->next_n) != 0 ||
        tkp_read_integer(constants[4], "compress_ratio", &args->compress_ratio) != 0 ||
        tkp_read_name(constants[5], "index_dtype", index_dtypes, &element) != 0 ||
        tkp_read_switch(constants[6], &args->sorted) != 0 ||
        tkp_read_switch(constants[7], &args->deterministic) != 0 ||
        tkp_read_name(constants[8], "tie_break", tie_breaks, &tie_break) != 0 ||
        tkp_read_switch(constants[9], &args->nan_last) != 0 ||
        tkp_read_switch(constants[10], &args->pdl) != 0 ||
        tkp_read_integer(constants[11], "max_sms", &max_sms) != 0)
        return -1;
    if (args->next_n < 1 || args->compress_ratio < 1) { /* to the library 0 is 1 */
        PyErr_SetString(PyExc_ValueError,
                        args->next_n < 1 ? "next_n is less than 1, expected 1 or more"
                                         : "compress_ratio is less than 1, expected 1 or more");
        return -1;
    }
    if (max_sms < INT32_MIN || max_sms > INT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "max_sms does not fit 32 bits");
        return -1;
    }
    args->layout = (topk_jit_layout)layout;
    args->tie_break = (topk_jit_tie_break)tie_break;
    args->max_sms = (int32_t)max_sms;
    request->index_element = element == 1 ? TKP_INT64 : TKP_INT32;
    return 0;
}

/* ---- tensors ---- */

static int open_view(selection *self, int place, PyObject *object)
{
    tkp_framework *framework = tkp_framework_of(self->state, object, tensor_names[place]);
    if (framework == NULL)
        return -1;
    tkp_view *view = &self->views[place];
    int result =
        tkp_view_open(self->state, framework, object, tensor_names[place], is_output(place), view);
    if (view->capsule != NULL || view->managed != NULL)
        self->opened[self->opened_count++] = place;
    if (place == TKP_SCORE)
        self->framework = framework;
    return result;
}

static int open_given(selection *self)
{
    for (int i = 0; i < TKP_TENSOR_COUNT; i++)
        if (!is_absent(self->request->tensors[i]) &&
            open_view(self, i, self->request->tensors[i]) != 0)
            return -1;
    return 0;
}

/** A new output with a row for each of score's. */
static int allocate(selection *self, int place, tkp_element element)
{
    const DLTensor *score = &self->views[TKP_SCORE].tensor;
    int64_t topk = self->request->args.topk;
    int64_t shape[2] = {score->ndim > 0 ? score->shape[0] : 0, topk > 0 ? topk : 0};
    self->allocated[place] = tkp_allocate(
        self->state, self->framework, self->request->tensors[TKP_SCORE], score, shape, 2, element);
    if (self->allocated[place] == NULL)
        return -1;
    return open_view(self, place, self->allocated[place]);
}

static int allocate_missing(selection *self)
{
    const tkp_request *request = self->request;
    if (is_absent(request->tensors[TKP_INDICES]) &&
        allocate(self, TKP_INDICES, request->index_element) != 0)
        return -1;
    if (request->want_raw_indices && allocate(self, TKP_RAW_INDICES, TKP_INT32) != 0)
        return -1;
    return request->want_values ? allocate(self, TKP_VALUES, TKP_ALIKE) : 0;
}

/* ---- what the library takes by address ---- */

static bool is_compact(const DLTensor *tensor)
{
    int64_t expected = 1;
    for (int i = tensor->ndim - 1; tensor->strides != NULL && i >= 0; i--) {
        if (tensor->shape[i] > 1 && tensor->strides[i] != expected)
            return false;
        expected *= tensor->shape[i];
    }
    return true;
}

static int64_t elements_of(const DLTensor *tensor)
{
    int64_t count = 1;
    for (int i = 0; i < tensor->ndim; i++)
        count *= tensor->shape[i];
    return count;
}

/** Address of a compact tensor on score's device. */
static void *address_of(const selection *self, int place)
{
    const DLTensor *tensor = &self->views[place].tensor;
    DLDevice device = self->views[TKP_SCORE].tensor.device;
    if (!is_compact(tensor)) {
        PyErr_Format(PyExc_ValueError, "%s has gaps, expected a contiguous tensor",
                     tensor_names[place]);
        return NULL;
    }
    if (tensor->device.device_type != device.device_type ||
        tensor->device.device_id != device.device_id) {
        PyErr_Format(PyExc_ValueError, "%s is on device (%d, %d), expected score's device (%d, %d)",
                     tensor_names[place], (int)tensor->device.device_type,
                     (int)tensor->device.device_id, (int)device.device_type, (int)device.device_id);
        return NULL;
    }
    return (char *)tensor->data + tensor->byte_offset;
}

static int take_check_counts(selection *self)
{
    const DLTensor *tensor = &self->views[TKP_CHECK_COUNTS].tensor;
    if ((tensor->dtype.code != kDLInt && tensor->dtype.code != kDLUInt) ||
        tensor->dtype.bits != 32 || elements_of(tensor) < 8) {
        PyErr_SetString(PyExc_ValueError,
                        "check_counts is not 8 elements of uint32 or int32, as expected");
        return -1;
    }
    self->request->args.check_counts = address_of(self, TKP_CHECK_COUNTS);
    return PyErr_Occurred() ? -1 : 0;
}

static int take_workspace(selection *self)
{
    const DLTensor *tensor = &self->views[TKP_WORKSPACE].tensor;
    self->request->args.workspace = address_of(self, TKP_WORKSPACE);
    self->request->args.workspace_size =
        (size_t)elements_of(tensor) * ((size_t)(tensor->dtype.bits * tensor->dtype.lanes + 7) / 8);
    return PyErr_Occurred() ? -1 : 0;
}

static const DLTensor *given(const selection *self, int place)
{
    bool absent = is_absent(self->request->tensors[place]) && self->allocated[place] == NULL;
    return absent ? NULL : &self->views[place].tensor;
}

static int fill_args(selection *self)
{
    topk_jit_select_args *args = &self->request->args;
    args->score = given(self, TKP_SCORE);
    args->lengths = given(self, TKP_LENGTHS);
    args->row_starts = given(self, TKP_ROW_STARTS);
    args->row_ends = given(self, TKP_ROW_ENDS);
    args->page_table = given(self, TKP_PAGE_TABLE);
    args->page_table_row_starts = given(self, TKP_PAGE_TABLE_ROW_STARTS);
    args->cu_seqlens_q = given(self, TKP_CU_SEQLENS_Q);
    args->row_to_batch = given(self, TKP_ROW_TO_BATCH);
    args->topk_indices_offset = given(self, TKP_TOPK_INDICES_OFFSET);
    args->indices = given(self, TKP_INDICES);
    args->raw_indices = given(self, TKP_RAW_INDICES);
    args->values = given(self, TKP_VALUES);
    if (!is_absent(self->request->tensors[TKP_CHECK_COUNTS]) && take_check_counts(self) != 0)
        return -1;
    if (!is_absent(self->request->tensors[TKP_WORKSPACE]) && take_workspace(self) != 0)
        return -1;
    return 0;
}

/* ---- the call ---- */

static tkp_spec_key key_of(const selection *self)
{
    const topk_jit_select_args *args = &self->request->args;
    const DLTensor *score = args->score;
    unsigned switches = (unsigned)(args->sorted | args->deterministic << 1 | args->nan_last << 2 |
                                   (args->check_counts != NULL) << 3);
    return (tkp_spec_key){
        .topk = args->topk,
        .page_size = args->page_size,
        .device = score->device.device_id,
        .options = tkp_pack_options(TOPK_JIT_OPERATION_SELECT, args->layout, args->tie_break,
                                    score->dtype, args->indices->dtype, switches),
    };
}

static topk_jit_status call_without_gil(const selection *self, tkp_context *context,
                                        CUstream stream)
{
    PyThreadState *thread = tkp_context_begin(context);
    topk_jit_status status =
        self->state->library.select(context->context, &self->request->args, stream);
    tkp_context_end(context, thread);
    return status;
}

static int score_device(const selection *self)
{
    return self->views[TKP_SCORE].tensor.device.device_id;
}

static topk_jit_status call_on_gpu(const selection *self, tkp_context *context, CUstream stream)
{
    const tkp_spec_key key = key_of(self);
    tkp_device_scope scope = {false};
    if ((uintptr_t)stream <= 2) /* a default stream: whose, the current context says */
        scope = tkp_driver_enter(score_device(self));
    topk_jit_status status;
    if (tkp_context_is_ready(context, &key)) {
        status = self->state->library.select(context->context, &self->request->args, stream);
    } else {
        status = call_without_gil(self, context, stream);
        if (status == TOPK_JIT_OK)
            tkp_context_set_ready(context, &key);
    }
    tkp_driver_leave(scope);
    return status;
}

static int call_in(selection *self, tkp_context *context)
{
    CUstream stream;
    if (tkp_framework_stream(self->state, self->framework, self->request->stream,
                             self->views[TKP_SCORE].tensor.device, &stream) != 0)
        return -1;
    topk_jit_status status = tkp_view_is_on_gpu(&self->views[TKP_SCORE])
                                 ? call_on_gpu(self, context, stream)
                                 : call_without_gil(self, context, stream);
    return status == TOPK_JIT_OK ? 0 : tkp_raise_status(self->state, status);
}

/* The context is kept: its owner may let go of it while the GIL is away. */
static int call(selection *self, PyObject *context_argument)
{
    tkp_context *context = tkp_context_of(self->state, context_argument);
    if (context == NULL)
        return -1;
    Py_INCREF(context);
    int result = call_in(self, context);
    Py_DECREF(context);
    return result;
}

/** An output for the caller: theirs, or the one that was allocated. @return new reference */
static PyObject *output(selection *self, int place)
{
    PyObject *result = self->allocated[place];
    if (result != NULL) {
        self->allocated[place] = NULL;
        return tkp_allocation_finish(self->framework, result);
    }
    result = self->request->tensors[place];
    if (result == NULL)
        result = Py_None;
    Py_INCREF(result);
    return result;
}

static PyObject *whole_result(selection *self)
{
    PyObject *indices = output(self, TKP_INDICES);
    PyObject *raw_indices = indices == NULL ? NULL : output(self, TKP_RAW_INDICES);
    PyObject *values = raw_indices == NULL ? NULL : output(self, TKP_VALUES);
    PyObject *result = NULL;
    if (values != NULL)
        result = PyObject_CallFunctionObjArgs(self->state->selection, indices, raw_indices, values,
                                              NULL);
    Py_XDECREF(values);
    Py_XDECREF(raw_indices);
    Py_XDECREF(indices);
    return result;
}

static void close_views(selection *self)
{
    while (self->opened_count > 0)
        tkp_view_close(&self->views[self->opened[--self->opened_count]]);
}

PyObject *tkp_selection_run(tkp_state *state, PyObject *context, tkp_request *request)
{
    selection self; /* the views are large and written only where they are used */
    self.state = state;
    self.request = request;
    self.framework = NULL;
    self.opened_count = 0;
    memset(self.allocated, 0, sizeof self.allocated);
    PyObject *result = NULL;
    if (open_given(&self) == 0 && allocate_missing(&self) == 0 && fill_args(&self) == 0 &&
        call(&self, context) == 0) {
        close_views(&self); /* a view may lock what is returned */
        result = request->whole ? whole_result(&self) : output(&self, TKP_INDICES);
    }
    close_views(&self);
    for (int i = TKP_INDICES; i <= TKP_VALUES; i++)
        Py_XDECREF(self.allocated[i]);
    return result;
}

/* ---- the functions ---- */

/** Arguments of select and workspace_size: the tensors, the constants, and the rest. */
enum {
    STREAM_ARGUMENT = TKP_TENSOR_COUNT + TKP_CONSTANT_COUNT,
    CONTEXT_ARGUMENT,
    WHOLE_ARGUMENT,
    ARGUMENT_COUNT,
};

static int read_request(tkp_request *request, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != ARGUMENT_COUNT) {
        PyErr_Format(PyExc_TypeError, "%zd arguments, expected %d", count, (int)ARGUMENT_COUNT);
        return -1;
    }
    memcpy(request->tensors, arguments, sizeof request->tensors);
    request->want_raw_indices = arguments[TKP_RAW_INDICES] == Py_True;
    request->want_values = arguments[TKP_VALUES] == Py_True;
    if (request->want_raw_indices || arguments[TKP_RAW_INDICES] == Py_False)
        request->tensors[TKP_RAW_INDICES] = NULL;
    if (request->want_values || arguments[TKP_VALUES] == Py_False)
        request->tensors[TKP_VALUES] = NULL;
    request->stream = arguments[STREAM_ARGUMENT];
    request->whole = arguments[WHOLE_ARGUMENT] == Py_True;
    return tkp_request_read_constants(request, arguments + TKP_TENSOR_COUNT);
}

PyObject *tkp_trace(PyObject *function, PyObject *const *arguments, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple != NULL && i < count; i++) {
        Py_INCREF(arguments[i]);
        PyTuple_SetItem(tuple, i, arguments[i]);
    }
    PyObject *result = tuple == NULL ? NULL : PyObject_CallObject(function, tuple);
    Py_XDECREF(tuple);
    return result;
}

PyObject *tkp_select(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    tkp_state *state = tkp_state_of_module(module);
    tkp_request request;
    if (count == ARGUMENT_COUNT) {
        const tkp_framework *framework =
            tkp_framework_of(state, arguments[TKP_SCORE], tensor_names[TKP_SCORE]);
        if (framework == NULL)
            return NULL;
        if (framework->how == TKP_EXPORT_TRACED)
            return tkp_trace(state->trace, arguments, count);
    }
    if (read_request(&request, arguments, count) != 0)
        return NULL;
    return tkp_selection_run(state, arguments[CONTEXT_ARGUMENT], &request);
}

/** Stands for indices that are not there: their place is checked, and never accessed. */
static void pretend_indices(selection *self, int64_t shape[2])
{
    const DLTensor *score = &self->views[TKP_SCORE].tensor;
    shape[0] = score->ndim > 0 ? score->shape[0] : 0;
    shape[1] = self->request->args.topk;
    self->views[TKP_INDICES].tensor = (DLTensor){
        .data = (void *)(uintptr_t)4096,
        .device = score->device,
        .ndim = 2,
        .dtype = {kDLInt, self->request->index_element == TKP_INT64 ? 64 : 32, 1},
        .shape = shape,
    };
}

static PyObject *size_of_workspace(selection *self)
{
    int64_t shape[2];
    size_t size;
    if (open_given(self) != 0)
        return NULL;
    if (is_absent(self->request->tensors[TKP_INDICES]))
        pretend_indices(self, shape);
    if (fill_args(self) != 0)
        return NULL;
    self->request->args.indices = &self->views[TKP_INDICES].tensor;
    topk_jit_status status =
        self->state->library.select_workspace_size(&self->request->args, &size);
    if (status == TOPK_JIT_OK)
        return PyLong_FromSize_t(size);
    tkp_raise_status(self->state, status);
    return NULL;
}

PyObject *tkp_workspace_size(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    tkp_request request;
    selection self;
    self.state = tkp_state_of_module(module);
    self.request = &request;
    self.framework = NULL;
    self.opened_count = 0;
    memset(self.allocated, 0, sizeof self.allocated);
    if (read_request(&request, arguments, count) != 0)
        return NULL;
    PyObject *result = size_of_workspace(&self);
    close_views(&self);
    return result;
}
