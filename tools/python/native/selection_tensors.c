/* SPDX-License-Identifier: Apache-2.0 */
#include "selection_tensors.h"

#include <string.h>

#include "allocation.h"

void tkp_selection_begin(tkp_selection *self, tkp_state *state, tkp_request *request)
{
    self->state = state;
    self->request = request;
    self->framework = NULL;
    self->opened_count = 0;
    memset(self->allocated, 0, sizeof self->allocated);
}

static bool is_output(int place)
{
    return place >= TKP_INDICES;
}

static int open_view(tkp_selection *self, int place, PyObject *object)
{
    tkp_framework *framework = tkp_framework_of(self->state, object, tkp_tensor_names[place]);
    if (framework == NULL)
        return -1;
    tkp_view *view = &self->views[place];
    int result = tkp_view_open(self->state, framework, object, tkp_tensor_names[place],
                               is_output(place), view);
    if (view->capsule != NULL || view->managed != NULL)
        self->opened[self->opened_count++] = place;
    if (place == TKP_SCORE)
        self->framework = framework;
    return result;
}

int tkp_selection_open(tkp_selection *self)
{
    PyObject *const *tensors = self->request->tensors;
    if (open_view(self, TKP_SCORE, tensors[TKP_SCORE]) != 0)
        return -1;
    for (int i = TKP_SCORE + 1; i < TKP_TENSOR_COUNT; i++)
        if (!tkp_is_absent(tensors[i]) && open_view(self, i, tensors[i]) != 0)
            return -1;
    return 0;
}

/** A new output with a row for each of score's. */
static int allocate(tkp_selection *self, int place, tkp_element element)
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

int tkp_selection_allocate(tkp_selection *self)
{
    const tkp_request *request = self->request;
    if (tkp_is_absent(request->tensors[TKP_INDICES]) &&
        allocate(self, TKP_INDICES, request->index_element) != 0)
        return -1;
    if (request->want_raw_indices && allocate(self, TKP_RAW_INDICES, TKP_INT32) != 0)
        return -1;
    return request->want_values ? allocate(self, TKP_VALUES, TKP_ALIKE) : 0;
}

const DLTensor *tkp_selection_tensor(const tkp_selection *self, int place)
{
    bool absent = tkp_is_absent(self->request->tensors[place]) && self->allocated[place] == NULL;
    return absent ? NULL : &self->views[place].tensor;
}

void tkp_selection_close(tkp_selection *self)
{
    while (self->opened_count > 0)
        tkp_view_close(&self->views[self->opened[--self->opened_count]]);
}
