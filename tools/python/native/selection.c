/* SPDX-License-Identifier: Apache-2.0 */
#include "selection.h"

#include "driver.h"
#include "selection_args.h"
#include "selection_results.h"

static tkp_spec_key key_of(const tkp_selection *self)
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

static topk_jit_status call_without_gil(const tkp_selection *self, tkp_context *context,
                                        CUstream stream)
{
    PyThreadState *thread = tkp_context_begin(context);
    topk_jit_status status =
        self->state->library.select(context->context, &self->request->args, stream);
    tkp_context_end(context, thread);
    return status;
}

static int score_device(const tkp_selection *self)
{
    return self->views[TKP_SCORE].tensor.device.device_id;
}

static topk_jit_status call_on_gpu(const tkp_selection *self, tkp_context *context, CUstream stream)
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

static int call_in(tkp_selection *self, tkp_context *context)
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
static int call(tkp_selection *self, PyObject *context_argument)
{
    tkp_context *context = tkp_context_of(self->state, context_argument);
    if (context == NULL)
        return -1;
    Py_INCREF(context);
    int result = call_in(self, context);
    Py_DECREF(context);
    return result;
}

PyObject *tkp_selection_run(tkp_state *state, PyObject *context, tkp_request *request)
{
    tkp_selection self;
    tkp_selection_begin(&self, state, request);
    PyObject *result = NULL;
    if (tkp_selection_open(&self) == 0 && tkp_selection_allocate(&self) == 0 &&
        tkp_selection_fill_args(&self) == 0 && call(&self, context) == 0) {
        tkp_selection_close(&self);
        result = tkp_selection_result(&self);
    }
    tkp_selection_close(&self);
    tkp_selection_release(&self);
    return result;
}

PyObject *tkp_select(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    tkp_state *state = tkp_state_of_module(module);
    tkp_request request;
    if (count == TKP_ARGUMENT_COUNT) {
        const tkp_framework *framework =
            tkp_framework_of(state, arguments[TKP_SCORE], tkp_tensor_names[TKP_SCORE]);
        if (framework == NULL)
            return NULL;
        if (framework->how == TKP_EXPORT_TRACED)
            return tkp_trace(state->trace, arguments, count);
    }
    if (tkp_request_read(&request, arguments, count) != 0)
        return NULL;
    return tkp_selection_run(state, arguments[TKP_CONTEXT_ARGUMENT], &request);
}
