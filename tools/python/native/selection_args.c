/* SPDX-License-Identifier: Apache-2.0 */
#include "selection_args.h"

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
static void *address_of(const tkp_selection *self, int place)
{
    const DLTensor *tensor = &self->views[place].tensor;
    DLDevice device = self->views[TKP_SCORE].tensor.device;
    if (!is_compact(tensor)) {
        PyErr_Format(PyExc_ValueError, "%s has gaps, expected a contiguous tensor",
                     tkp_tensor_names[place]);
        return NULL;
    }
    if (tensor->device.device_type != device.device_type ||
        tensor->device.device_id != device.device_id) {
        PyErr_Format(PyExc_ValueError, "%s is on device (%d, %d), expected score's device (%d, %d)",
                     tkp_tensor_names[place], (int)tensor->device.device_type,
                     (int)tensor->device.device_id, (int)device.device_type, (int)device.device_id);
        return NULL;
    }
    return (char *)tensor->data + tensor->byte_offset;
}

static int take_check_counts(tkp_selection *self)
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

static int take_workspace(tkp_selection *self)
{
    const DLTensor *tensor = &self->views[TKP_WORKSPACE].tensor;
    self->request->args.workspace = address_of(self, TKP_WORKSPACE);
    self->request->args.workspace_size =
        (size_t)elements_of(tensor) * ((size_t)(tensor->dtype.bits * tensor->dtype.lanes + 7) / 8);
    return PyErr_Occurred() ? -1 : 0;
}

int tkp_selection_fill_args(tkp_selection *self)
{
    topk_jit_select_args *args = &self->request->args;
    args->score = tkp_selection_tensor(self, TKP_SCORE);
    args->lengths = tkp_selection_tensor(self, TKP_LENGTHS);
    args->row_starts = tkp_selection_tensor(self, TKP_ROW_STARTS);
    args->row_ends = tkp_selection_tensor(self, TKP_ROW_ENDS);
    args->page_table = tkp_selection_tensor(self, TKP_PAGE_TABLE);
    args->page_table_row_starts = tkp_selection_tensor(self, TKP_PAGE_TABLE_ROW_STARTS);
    args->cu_seqlens_q = tkp_selection_tensor(self, TKP_CU_SEQLENS_Q);
    args->row_to_batch = tkp_selection_tensor(self, TKP_ROW_TO_BATCH);
    args->topk_indices_offset = tkp_selection_tensor(self, TKP_TOPK_INDICES_OFFSET);
    args->indices = tkp_selection_tensor(self, TKP_INDICES);
    args->raw_indices = tkp_selection_tensor(self, TKP_RAW_INDICES);
    args->values = tkp_selection_tensor(self, TKP_VALUES);
    if (!tkp_is_absent(self->request->tensors[TKP_CHECK_COUNTS]) && take_check_counts(self) != 0)
        return -1;
    if (!tkp_is_absent(self->request->tensors[TKP_WORKSPACE]) && take_workspace(self) != 0)
        return -1;
    return 0;
}
