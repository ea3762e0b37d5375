/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "allocation.h"
#include "context.h"
#include "driver.h"
#include "framework.h"
#include "number.h"
#include "tensor.h"

enum { VALUES, TOPK, DIM, OUT_VALUES, OUT_INDICES, STREAM, CONTEXT, ARGUMENT_COUNT };
enum { INPUT, VALUES_OUT, INDICES_OUT, VIEW_COUNT };

typedef struct line_selection {
    tkp_state *state;
    tkp_framework *framework;
    int64_t topk, dim;
    PyObject *outputs[2]; /* new references */
    bool allocated;
    tkp_view views[VIEW_COUNT];
} line_selection;

static int open_view(line_selection *self, int view, PyObject *object, const char *argument)
{
    tkp_framework *framework = tkp_framework_of(self->state, object, argument);
    if (framework == NULL)
        return -1;
    if (view == INPUT)
        self->framework = framework;
    return tkp_view_open(self->state, framework, object, argument, view != INPUT,
                         &self->views[view]);
}

/** The shape of the outputs. A wrong dim is left for the library to judge. */
static int out_shape(const line_selection *self, int64_t *shape)
{
    const DLTensor *values = &self->views[INPUT].tensor;
    int64_t dim = self->dim < 0 ? self->dim + values->ndim : self->dim;
    for (int i = 0; i < values->ndim; i++)
        shape[i] = i == dim ? (self->topk > 0 ? self->topk : 0) : values->shape[i];
    return values->ndim;
}

static int allocate(line_selection *self, PyObject *like)
{
    int64_t shape[TKP_MAX_DIMENSIONS];
    if (self->views[INPUT].tensor.ndim > TKP_MAX_DIMENSIONS) {
        PyErr_SetString(PyExc_ValueError, "values has more than 64 dimensions");
        return -1;
    }
    int dimensions = out_shape(self, shape);
    const DLTensor *view = &self->views[INPUT].tensor;
    self->allocated = true;
    self->outputs[0] =
        tkp_allocate(self->state, self->framework, like, view, shape, dimensions, TKP_ALIKE);
    if (self->outputs[0] == NULL)
        return -1;
    self->outputs[1] =
        tkp_allocate(self->state, self->framework, like, view, shape, dimensions, TKP_INT64);
    return self->outputs[1] == NULL ? -1 : 0;
}

static int take_outputs(line_selection *self, PyObject *const *arguments)
{
    bool has_values = arguments[OUT_VALUES] != Py_None;
    if (has_values != (arguments[OUT_INDICES] != Py_None)) {
        PyErr_SetString(PyExc_TypeError, "out has one tensor, expected values and indices");
        return -1;
    }
    if (!has_values)
        return allocate(self, arguments[VALUES]);
    for (int i = 0; i < 2; i++) {
        self->outputs[i] = arguments[OUT_VALUES + i];
        Py_INCREF(self->outputs[i]);
    }
    return 0;
}

static topk_jit_status run(const line_selection *self, tkp_context *context, CUstream stream)
{
    return self->state->library.fast_topk(context->context, &self->views[INPUT].tensor, self->topk,
                                          self->dim, &self->views[VALUES_OUT].tensor,
                                          &self->views[INDICES_OUT].tensor, stream);
}

static topk_jit_status run_without_gil(const line_selection *self, tkp_context *context,
                                       CUstream stream)
{
    PyThreadState *thread = tkp_context_begin(context);
    topk_jit_status status = run(self, context, stream);
    tkp_context_end(context, thread);
    return status;
}

static topk_jit_status run_on_gpu(const line_selection *self, tkp_context *context, CUstream stream)
{
    const DLTensor *values = &self->views[INPUT].tensor;
    const tkp_spec_key key = {
        .topk = self->topk,
        .device = values->device.device_id,
        .options = tkp_pack_options(TOPK_JIT_OPERATION_FAST_TOPK, TOPK_JIT_LAYOUT_PLAIN,
                                    TOPK_JIT_TIE_BREAK_NONE, values->dtype,
                                    (DLDataType){kDLInt, 64, 1}, 0),
    };
    tkp_device_scope scope = {false};
    if ((uintptr_t)stream <= 2) /* as in selection.c */
        scope = tkp_driver_enter(values->device.device_id);
    topk_jit_status status;
    if (tkp_context_is_ready(context, &key)) {
        status = run(self, context, stream);
    } else {
        status = run_without_gil(self, context, stream);
        if (status == TOPK_JIT_OK)
            tkp_context_set_ready(context, &key);
    }
    tkp_driver_leave(scope);
    return status;
}

static int call_in(line_selection *self, tkp_context *context, PyObject *stream_argument)
{
    CUstream stream;
    if (tkp_framework_stream(self->state, self->framework, stream_argument,
                             self->views[INPUT].tensor.device, &stream) != 0)
        return -1;
    topk_jit_status status = tkp_view_is_on_gpu(&self->views[INPUT])
                                 ? run_on_gpu(self, context, stream)
                                 : run_without_gil(self, context, stream);
    return status == TOPK_JIT_OK ? 0 : tkp_raise_status(self->state, status);
}

/* The context is kept, as in selection.c. */
static int call(line_selection *self, PyObject *const *arguments)
{
    tkp_context *context = tkp_context_of(self->state, arguments[CONTEXT]);
    if (context == NULL)
        return -1;
    Py_INCREF(context);
    int result = call_in(self, context, arguments[STREAM]);
    Py_DECREF(context);
    return result;
}

static void close_views(line_selection *self)
{
    for (int i = 0; i < VIEW_COUNT; i++)
        tkp_view_close(&self->views[i]);
}

static PyObject *result_of(line_selection *self)
{
    for (int i = 0; self->allocated && i < 2; i++) {
        self->outputs[i] = tkp_allocation_finish(self->framework, self->outputs[i]);
        if (self->outputs[i] == NULL)
            return NULL;
    }
    return PyTuple_Pack(2, self->outputs[0], self->outputs[1]);
}

PyObject *tkp_fast_topk(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    line_selection self; /* the strides of the views are written where they are used */
    self.state = tkp_state_of_module(module);
    self.outputs[0] = self.outputs[1] = NULL;
    self.allocated = false;
    for (int i = 0; i < VIEW_COUNT; i++) {
        self.views[i].capsule = NULL;
        self.views[i].managed = NULL;
    }
    if (count != ARGUMENT_COUNT) {
        PyErr_Format(PyExc_TypeError, "%zd arguments, expected %d", count, (int)ARGUMENT_COUNT);
        return NULL;
    }
    const tkp_framework *framework = tkp_framework_of(self.state, arguments[VALUES], "values");
    if (framework == NULL)
        return NULL;
    if (framework->how == TKP_EXPORT_TRACED)
        return tkp_trace(self.state->trace_fast_topk, arguments, count);
    PyObject *result = NULL;
    if (tkp_read_integer(arguments[TOPK], "topk", &self.topk) == 0 &&
        tkp_read_integer(arguments[DIM], "dim", &self.dim) == 0 &&
        open_view(&self, INPUT, arguments[VALUES], "values") == 0 &&
        take_outputs(&self, arguments) == 0 &&
        open_view(&self, VALUES_OUT, self.outputs[0], "out[0]") == 0 &&
        open_view(&self, INDICES_OUT, self.outputs[1], "out[1]") == 0 &&
        call(&self, arguments) == 0) {
        close_views(&self); /* a view may lock what is returned */
        result = result_of(&self);
    }
    close_views(&self);
    Py_XDECREF(self.outputs[0]);
    Py_XDECREF(self.outputs[1]);
    return result;
}
