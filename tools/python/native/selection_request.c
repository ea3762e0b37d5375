/* SPDX-License-Identifier: Apache-2.0 */
#include "selection_request.h"

#include <string.h>

#include "number.h"

#define TENSOR_NAME(place, name) #name,
const char *const tkp_tensor_names[] = {TKP_TENSORS(TENSOR_NAME)};
#undef TENSOR_NAME

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

int tkp_request_read(tkp_request *request, PyObject *const *arguments, Py_ssize_t count)
{
    if (count != TKP_ARGUMENT_COUNT) {
        PyErr_Format(PyExc_TypeError, "%zd arguments, expected %d", count, (int)TKP_ARGUMENT_COUNT);
        return -1;
    }
    memcpy(request->tensors, arguments, sizeof request->tensors);
    request->want_raw_indices = arguments[TKP_RAW_INDICES] == Py_True;
    request->want_values = arguments[TKP_VALUES] == Py_True;
    if (request->want_raw_indices || arguments[TKP_RAW_INDICES] == Py_False)
        request->tensors[TKP_RAW_INDICES] = NULL;
    if (request->want_values || arguments[TKP_VALUES] == Py_False)
        request->tensors[TKP_VALUES] = NULL;
    request->stream = arguments[TKP_STREAM_ARGUMENT];
    request->whole = arguments[TKP_WHOLE_ARGUMENT] == Py_True;
    return tkp_request_read_constants(request, arguments + TKP_TENSOR_COUNT);
}
