/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor.h"

#include <inttypes.h>
#include <stdio.h>

#include "ordered_key.h"
#include "spec.h"
#include "status.h"

topk_jit_status tkj_reject(const char *name, const char *what, const char *given,
                           const char *expected)
{
    return tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "%s%s%s is %s, expected %s", name, what ? ": " : "",
                    what ? what : "", given, expected);
}

topk_jit_status tkj_reject_number(const char *name, const char *what, int64_t given,
                                  const char *expected)
{
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, given);
    return tkj_reject(name, what, number, expected);
}

topk_jit_status tkj_reject_size(const char *name, const char *what, int64_t given,
                                const char *expected, int64_t size)
{
    char text[96];
    snprintf(text, sizeof text, "%s%" PRId64, expected, size);
    return tkj_reject_number(name, what, given, text);
}

bool tkj_device_is_host(DLDevice device)
{
    return device.device_type == kDLCPU || device.device_type == kDLCUDAHost;
}

static bool device_is_known(DLDevice device)
{
    return device.device_type == kDLCUDA || device.device_type == kDLCUDAManaged ||
           tkj_device_is_host(device);
}

/** DLPack's dtype as one number. */
#define DTYPE(code, bits) ((unsigned)(code) << 8 | (unsigned)(bits))

static inline bool dtype_of(DLDataType given, topk_jit_dtype *out)
{
    const unsigned dtype = DTYPE(given.code, given.bits);
    if (given.lanes != 1)
        return false;
    if (dtype == DTYPE(kDLInt, 32)) { /* so are most tensors of a call */
        *out = TOPK_JIT_INT32;
        return true;
    }
    switch (dtype) {
    case DTYPE(kDLFloat, 32):
        *out = TOPK_JIT_FLOAT32;
        return true;
    case DTYPE(kDLFloat, 16):
        *out = TOPK_JIT_FLOAT16;
        return true;
    case DTYPE(kDLBfloat, 16):
        *out = TOPK_JIT_BFLOAT16;
        return true;
    case DTYPE(kDLFloat, 64):
        *out = TOPK_JIT_FLOAT64;
        return true;
    case DTYPE(kDLInt, 64):
        *out = TOPK_JIT_INT64;
        return true;
    default:
        return false;
    }
}

static void dtype_text(DLDataType given, char text[48])
{
    topk_jit_dtype dtype;
    if (dtype_of(given, &dtype))
        snprintf(text, 48, "%s", tkj_dtype_name(dtype));
    else
        snprintf(text, 48, "DLPack code %d, %d bits, %d lanes", given.code, given.bits,
                 given.lanes);
}

static topk_jit_status reject_dtype(const char *name, DLDataType given, unsigned dtypes)
{
    char text[48];
    char expected[96] = "";
    int used = 0;
    dtype_text(given, text);
    for (unsigned d = TOPK_JIT_FLOAT32; d <= TOPK_JIT_INT64; d++)
        if (dtypes >> d & 1u)
            used += snprintf(expected + used, sizeof expected - (size_t)used, "%s%s",
                             used ? " or " : "", tkj_dtype_name((topk_jit_dtype)d));
    return tkj_reject(name, "dtype", text, expected);
}

int64_t tkj_tensor_stride(const DLTensor *tensor, int dimension)
{
    if (tensor->shape[dimension] <= 1)
        return 0;
    if (tensor->strides != NULL)
        return tensor->strides[dimension];
    uint64_t stride = 1; /* wraps only where another size is 0: then it says nothing */
    for (int d = dimension + 1; d < tensor->ndim; d++)
        stride *= (uint64_t)tensor->shape[d];
    return (int64_t)stride;
}

/** What the dimensions of a tensor add up to. */
typedef struct tensor_extent {
    bool empty;
    bool countable; /* the number of elements fits 64 bits */
    bool fits;      /* the extent does */
    int64_t low;    /* bytes before the first element */
    int64_t high;   /* bytes from it to behind the last one */
} tensor_extent;

/** Goes through the dimensions, once and from the last one on, for compact strides are products. */
static topk_jit_status read_dimensions(const char *name, const DLTensor *tensor, tkj_view *view,
                                       tensor_extent *out)
{
    const int64_t element = view->element;
    int64_t count = 1, low = 0, high = element;
    uint64_t compact = 1; /* wraps only where another size is 0: then it says nothing */
    bool empty = false, uncountable = false, unfit = false;
    for (int d = tensor->ndim - 1; d >= 0; d--) {
        const int64_t size = tensor->shape[d];
        int64_t stride = 0, way; /* to the last element of the dimension, in bytes */
        if (size < 0)
            return tkj_reject_number(name, "a size of the shape", size, "at least 0");
        if (size > 1)
            stride = tensor->strides != NULL ? tensor->strides[d] : (int64_t)compact;
        compact *= (uint64_t)size;
        empty |= size == 0;
        uncountable |= __builtin_mul_overflow(count, size, &count);
        unfit |= __builtin_mul_overflow(size - 1, stride, &way);
        unfit |= __builtin_mul_overflow(way, element, &way);
        if (way < 0)
            unfit |= __builtin_add_overflow(low, way, &low);
        else
            unfit |= __builtin_add_overflow(high, way, &high);
        if (d < 2) {
            view->shape[d] = size;
            view->stride[d] = stride;
        }
    }
    *out = (tensor_extent){empty, !uncountable, !unfit, low, high};
    return TOPK_JIT_OK;
}

static topk_jit_status reject_rank(const char *name, int given, int rank_min, int rank_max)
{
    char expected[32] = "";
    if (rank_min != rank_max)
        snprintf(expected, sizeof expected, "from %d to ", rank_min);
    return tkj_reject_size(name, "rank", given, expected, rank_max);
}

/** Checks where the elements are: there, aligned, inside the address space. */
static topk_jit_status read_place(const char *name, const DLTensor *tensor,
                                  const tensor_extent *extent, tkj_view *view)
{
    const uintptr_t data = (uintptr_t)view->data;
    const uintptr_t off = data & ((uintptr_t)view->element - 1);
    const uintptr_t before = 0 - (uintptr_t)extent->low;
    if (tensor->data == NULL)
        return tkj_reject(name, "data", "NULL", "memory, since the tensor has elements");
    if (tensor->byte_offset > UINTPTR_MAX - (uintptr_t)tensor->data)
        return tkj_reject(name, "byte_offset", "beyond the address space", "a smaller one");
    if (off != 0)
        return tkj_reject_size(name, "the address modulo its element's size", (int64_t)off, "", 0);
    if (!extent->fits || before > data || (uintptr_t)extent->high > UINTPTR_MAX - data)
        return tkj_reject(name, "the extent in bytes", "beyond the address space",
                          "a smaller shape or stride");
    view->begin = data - before;
    view->end = data + (uintptr_t)extent->high;
    return TOPK_JIT_OK;
}

/* Sizes, strides and addresses below these bounds cannot overflow: 2^27 * 2^31 * 8 bytes, twice,
   behind an address and an offset. */
#define USUAL_SIZE (UINT64_C(1) << 27)
#define USUAL_STRIDE (UINT64_C(1) << 31)
#define USUAL_ADDRESS (UINT64_C(1) << 61)

/** read_any for what nearly all calls have, in a third of its time: an aligned vector or matrix of
 * some elements, on the first one's device, of sizes, strides and addresses whose products and sums
 * need no check. @return false if this is not one of them, whatever it is */
static bool read_usual(const tkj_tensor_rule *rule, const DLTensor *tensor, const tkj_view *first,
                       tkj_view *out)
{
    if (tensor == NULL || tensor->shape == NULL || tensor->ndim < rule->rank_min ||
        tensor->ndim > rule->rank_max || (unsigned)tensor->ndim - 1 > 1 ||
        !dtype_of(tensor->dtype, &out->dtype) || !(rule->dtypes >> out->dtype & 1u))
        return false;
    const bool matrix = tensor->ndim == 2;
    const uint64_t element = tensor->dtype.bits / 8;
    const uint64_t rows = (uint64_t)tensor->shape[0];
    const uint64_t columns = matrix ? (uint64_t)tensor->shape[1] : 1;
    uint64_t row_stride = columns, column_stride = 1;
    if (tensor->strides != NULL) {
        row_stride = (uint64_t)tensor->strides[0];
        column_stride = matrix ? (uint64_t)tensor->strides[1] : 1;
    }
    row_stride = rows > 1 ? row_stride : 0;
    column_stride = columns > 1 ? column_stride : 0;
    const uint64_t data = (uintptr_t)tensor->data + tensor->byte_offset;
    const bool empty = rows == 0 || columns == 0;
    const bool large = (rows | columns) >= USUAL_SIZE || /* negative ones, too */
                       (row_stride | column_stride) >= USUAL_STRIDE ||
                       ((uintptr_t)tensor->data | tensor->byte_offset) >= USUAL_ADDRESS;
    const bool elsewhere = first == NULL
                               ? !device_is_known(tensor->device)
                               : tensor->device.device_type != first->device.device_type ||
                                     tensor->device.device_id != first->device.device_id;
    if (empty || large || elsewhere || tensor->data == NULL || (data & (element - 1)) != 0)
        return false;
    out->name = rule->name;
    out->data = (void *)(uintptr_t)data;
    out->element = (uint16_t)element;
    out->device = tensor->device;
    out->matrix = true;
    out->shape[0] = (int64_t)rows;
    out->shape[1] = (int64_t)columns;
    out->stride[0] = (int64_t)row_stride;
    out->stride[1] = (int64_t)column_stride;
    const uint64_t last = (rows - 1) * row_stride + (columns - 1) * column_stride;
    out->begin = (uintptr_t)data;
    out->end = (uintptr_t)(data + (last + 1) * element);
    return true;
}

/** Any tensor, step by step; says what is wrong with it. */
static topk_jit_status read_any(const tkj_tensor_rule *rule, const DLTensor *tensor, tkj_view *out)
{
    const char *name = rule->name;
    if (tensor == NULL)
        return tkj_reject(name, "the tensor", "NULL", "a tensor");
    if (tensor->ndim < rule->rank_min || tensor->ndim > rule->rank_max)
        return reject_rank(name, tensor->ndim, rule->rank_min, rule->rank_max);
    if (!dtype_of(tensor->dtype, &out->dtype) || !(rule->dtypes >> out->dtype & 1u))
        return reject_dtype(name, tensor->dtype, rule->dtypes);
    if (tensor->ndim > 0 && tensor->shape == NULL)
        return tkj_reject(name, "shape", "NULL", "one size for each dimension");

    tensor_extent extent = {0};
    out->name = name;
    out->matrix = tensor->ndim <= 2;
    out->device = tensor->device;
    out->element = (uint16_t)tkj_dtype_size(out->dtype);
    out->data = (void *)((uintptr_t)tensor->data + tensor->byte_offset);
    out->shape[0] = out->shape[1] = 1;
    out->stride[0] = out->stride[1] = 0;
    out->begin = out->end = (uintptr_t)out->data;
    topk_jit_status status = read_dimensions(name, tensor, out, &extent);
    if (status != TOPK_JIT_OK || extent.empty)
        return status;
    if (!extent.countable)
        return tkj_reject(name, "the number of elements", "beyond 64 bits", "a smaller shape");
    return read_place(name, tensor, &extent, out);
}

static topk_jit_status check_device(const tkj_view *first, const tkj_view *view)
{
    char given[64];
    char expected[96];
    bool host = tkj_device_is_host(view->device);
    if (!device_is_known(view->device)) {
        snprintf(given, sizeof given, "DLPack device type %d", (int)view->device.device_type);
        return tkj_reject(view->name, "device", given, "CPU, CUDA, CUDA host or CUDA managed");
    }
    bool same = host == tkj_device_is_host(first->device) &&
                (host || view->device.device_id == first->device.device_id);
    if (same)
        return TOPK_JIT_OK;
    if (host)
        snprintf(given, sizeof given, "the host");
    else
        snprintf(given, sizeof given, "CUDA device %d", view->device.device_id);
    if (tkj_device_is_host(first->device))
        snprintf(expected, sizeof expected, "the host, where %s is", first->name);
    else
        snprintf(expected, sizeof expected, "CUDA device %d, where %s is", first->device.device_id,
                 first->name);
    return tkj_reject(view->name, "device", given, expected);
}

/** tkj_view_read for the others. Cold, so that the usual ones need not save its registers. */
__attribute__((cold, noinline)) static topk_jit_status read_unusual(const tkj_tensor_rule *rule,
                                                                    const DLTensor *tensor,
                                                                    const tkj_view *first,
                                                                    tkj_view *out)
{
    topk_jit_status status = read_any(rule, tensor, out);
    return status != TOPK_JIT_OK ? status : check_device(first != NULL ? first : out, out);
}

topk_jit_status tkj_view_read(const tkj_tensor_rule *rule, const DLTensor *tensor,
                              const tkj_view *first, tkj_view *out)
{
    return read_usual(rule, tensor, first, out) ? TOPK_JIT_OK
                                                : read_unusual(rule, tensor, first, out);
}

tkj_view tkj_view_of_bytes(const char *name, void *data, size_t size, DLDevice device)
{
    return (tkj_view){
        .name = name,
        .data = data,
        .element = 1,
        .matrix = true,
        .device = device,
        .shape = {(int64_t)size, 1},
        .stride = {1, 0},
        .begin = (uintptr_t)data,
        .end = (uintptr_t)data + size,
    };
}

/** Row pitch in bytes, and bytes that one row covers. A vector is a column of elements. Pitch 0:
 *  the tensor has no such form. */
static void columns_of(const tkj_view *view, int64_t *pitch, int64_t *width)
{
    *pitch = *width = 0;
    if (!view->matrix || view->stride[1] < 0)
        return;
    *pitch = view->stride[0] * view->element;
    *width = (view->shape[1] > 0 ? (view->shape[1] - 1) * view->stride[1] + 1 : 0) * view->element;
}

static bool in_separate_columns(const tkj_view *a, const tkj_view *b)
{
    int64_t pitch, width_a, pitch_b, width_b;
    columns_of(a, &pitch, &width_a);
    columns_of(b, &pitch_b, &width_b);
    if (pitch <= 0 || pitch != pitch_b)
        return false;
    int64_t distance = (int64_t)(b->begin - a->begin) % pitch;
    if (distance < 0)
        distance += pitch;
    return distance >= width_a && width_b <= pitch - distance;
}

topk_jit_status tkj_view_check_overlap(const tkj_view *output, const tkj_view *other)
{
    bool empty = output->begin == output->end || other->begin == other->end;
    if (!tkj_view_ranges_meet(output, other) || empty || in_separate_columns(output, other))
        return TOPK_JIT_OK;
    char given[64];
    snprintf(given, sizeof given, "overlapping %s", other->name);
    return tkj_reject(output->name, "memory", given, "memory of its own");
}
