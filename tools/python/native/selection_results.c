/* SPDX-License-Identifier: Apache-2.0 */
#include "selection_results.h"

#include "allocation.h"

/** An output for the caller: theirs, or the one that was allocated. @return new reference */
static PyObject *output(tkp_selection *self, int place)
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

static PyObject *whole_result(tkp_selection *self)
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

PyObject *tkp_selection_result(tkp_selection *self)
{
    return self->request->whole ? whole_result(self) : output(self, TKP_INDICES);
}

void tkp_selection_release(tkp_selection *self)
{
    for (int i = TKP_INDICES; i <= TKP_VALUES; i++)
        Py_XDECREF(self->allocated[i]);
}
