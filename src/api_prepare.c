/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <topk_jit/topk_jit.h>

#include "abi.h"
#include "context.h"
#include "memory.h"
#include "plan.h"
#include "plan_async.h"
#include "plan_explain.h"
#include "spec.h"
#include "status.h"

/** Spec i of an array whose elements may be of another version's size, checked. */
static topk_jit_status read_spec(const topk_jit_spec *specs, size_t i, topk_jit_spec *out)
{
    const char *place = (const char *)specs + i * specs->struct_size; /* of any alignment */
    topk_jit_spec spec;
    size_t size;
    memcpy(&size, place, sizeof size);
    if (size != specs->struct_size)
        return tkj_fail(TOPK_JIT_ABI_MISMATCH,
                        "specs[%zu].struct_size is %zu, expected that of specs[0], %zu", i, size,
                        specs->struct_size);
    topk_jit_status status = tkj_abi_read("topk_jit_spec", place, &spec, sizeof spec);
    if (status == TOPK_JIT_OK)
        status = tkj_spec_validate(&spec);
    if (status == TOPK_JIT_OK)
        *out = tkj_spec_canonical(&spec);
    return status;
}

/** All specs of an array: checked before any of them costs time. */
static topk_jit_status check_specs(const topk_jit_spec *specs, size_t count)
{
    topk_jit_spec spec;
    topk_jit_status status = TOPK_JIT_OK;
    if (count == 0)
        return TOPK_JIT_OK;
    if (specs == NULL) {
        tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "specs is NULL, expected %zu specs", count);
        return TOPK_JIT_INVALID_ARGUMENT;
    }
    for (size_t i = 0; status == TOPK_JIT_OK && i < count; i++)
        status = read_spec(specs, i, &spec);
    return status;
}

topk_jit_status topk_jit_prepare(topk_jit_context *context, const topk_jit_spec *specs,
                                 size_t count, CUstream stream)
{
    topk_jit_status status = tkj_context_check(context);
    if (status == TOPK_JIT_OK)
        status = check_specs(specs, count);
    for (size_t i = 0; status == TOPK_JIT_OK && i < count; i++) {
        topk_jit_spec spec;
        const tkj_prepared *prepared;
        status = read_spec(specs, i, &spec);
        if (status == TOPK_JIT_OK)
            status = tkj_plan_prepare(context, &spec, stream, &prepared);
    }
    return status;
}

topk_jit_status topk_jit_prepare_async(topk_jit_context *context, const topk_jit_spec *specs,
                                       size_t count, CUstream stream,
                                       topk_jit_prepare_callback callback, void *user)
{
    topk_jit_status status = tkj_context_check(context);
    if (status == TOPK_JIT_OK)
        status = check_specs(specs, count);
    if (status != TOPK_JIT_OK)
        return status;
    const topk_jit_allocator *allocator = &context->config.allocator;
    topk_jit_spec *canonical = tkj_alloc(allocator, count, sizeof *canonical);
    if (canonical == NULL)
        return TOPK_JIT_OUT_OF_MEMORY;
    for (size_t i = 0; status == TOPK_JIT_OK && i < count; i++)
        status = read_spec(specs, i, &canonical[i]);
    if (status == TOPK_JIT_OK)
        status = tkj_plan_prepare_async(context, canonical, count, stream, callback, user);
    tkj_free(allocator, canonical);
    return status;
}

static topk_jit_status check_prepared(const topk_jit_context *context, const topk_jit_spec *spec,
                                      int ordinal)
{
    char text[TKJ_SPEC_TEXT_SIZE];
    if (tkj_kernel_map_find(&context->kernels, spec, ordinal) != NULL)
        return TOPK_JIT_OK;
    tkj_spec_format(spec, text);
    return tkj_fail(TOPK_JIT_NOT_PREPARED, "%s is not prepared on CUDA device %d", text, ordinal);
}

topk_jit_status topk_jit_is_prepared(topk_jit_context *context, const topk_jit_spec *specs,
                                     size_t count, CUstream stream)
{
    int version, ordinal = 0;
    topk_jit_status status = tkj_context_check(context);
    if (status == TOPK_JIT_OK)
        status = check_specs(specs, count);
    if (status == TOPK_JIT_OK)
        status = tkj_driver_open(&version);
    if (status == TOPK_JIT_OK)
        status = tkj_driver_stream_device(stream, &ordinal);
    for (size_t i = 0; status == TOPK_JIT_OK && i < count; i++) {
        topk_jit_spec spec;
        status = read_spec(specs, i, &spec);
        if (status == TOPK_JIT_OK)
            status = check_prepared(context, &spec, ordinal);
    }
    return status;
}

topk_jit_status topk_jit_explain(topk_jit_context *context, const topk_jit_spec *spec,
                                 const char *target, CUstream stream, char *text, size_t capacity,
                                 size_t *length)
{
    topk_jit_spec canonical;
    size_t unwanted;
    topk_jit_status status = tkj_context_check(context);
    if (status == TOPK_JIT_OK && spec == NULL) {
        tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "spec is NULL, expected a spec");
        return TOPK_JIT_INVALID_ARGUMENT;
    }
    if (status == TOPK_JIT_OK && text == NULL && capacity > 0)
        status = tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "text is NULL, expected %zu bytes", capacity);
    if (status == TOPK_JIT_OK)
        status = read_spec(spec, 0, &canonical);
    if (status != TOPK_JIT_OK)
        return status;
    return tkj_plan_explain(context, &canonical, target, stream, text, capacity,
                            length != NULL ? length : &unwanted);
}
