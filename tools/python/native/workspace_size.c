/* SPDX-License-Identifier: Apache-2.0 */
#include "selection_args.h"

/** Stands for indices that are not there: their place is checked, and never accessed. */
static void pretend_indices(tkp_selection *self, int64_t shape[2])
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

static PyObject *size_of_workspace(tkp_selection *self)
{
    int64_t shape[2];
    size_t size;
    if (tkp_selection_open(self) != 0)
        return NULL;
    if (tkp_is_absent(self->request->tensors[TKP_INDICES]))
        pretend_indices(self, shape);
    if (tkp_selection_fill_args(self) != 0)
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
    tkp_selection self;
    if (tkp_request_read(&request, arguments, count) != 0)
        return NULL;
    tkp_selection_begin(&self, tkp_state_of_module(module), &request);
    PyObject *result = size_of_workspace(&self);
    tkp_selection_close(&self);
    return result;
}
