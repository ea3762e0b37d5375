/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <topk_jit/topk_jit.h>

#include "abi.h"
#include "context.h"
#include "host.h"
#include "plan.h"
#include "problem.h"
#include "spec.h"
#include "status.h"
#include "tensor.h"
#include "variant_choice.h"

static topk_jit_status reject_unprepared(const topk_jit_spec *spec)
{
    char text[TKJ_SPEC_TEXT_SIZE];
    tkj_spec_format(spec, text);
    return tkj_fail(TOPK_JIT_NOT_PREPARED,
                    "stream is capturing and the spec was not prepared, expected topk_jit_prepare "
                    "before the capture: %s",
                    text);
}

static topk_jit_status check_stream_device(int ordinal, CUstream stream)
{
    int given = ordinal;
    topk_jit_status status = tkj_driver_stream_device(stream, &given);
    if (status != TOPK_JIT_OK || given == ordinal)
        return status;
    return tkj_fail(TOPK_JIT_INVALID_ARGUMENT,
                    "stream is one of CUDA device %d, expected one of device %d, where the tensors "
                    "are",
                    given, ordinal);
}

/** Prepares a spec in the middle of a call, unless the stream is being captured or does not fit
 *  the tensors, which is told before it costs time.
 *  @return borrowed; NULL with the reason in *status */
static const tkj_prepared *prepare_for_call(topk_jit_context *context, const topk_jit_spec *spec,
                                            int ordinal, CUstream stream, topk_jit_status *status)
{
    int version;
    bool capturing = false;
    const tkj_prepared *prepared = NULL;
    *status = tkj_driver_open(&version);
    if (*status == TOPK_JIT_OK)
        *status = tkj_driver_is_capturing(stream, &capturing);
    if (*status == TOPK_JIT_OK && capturing)
        *status = reject_unprepared(spec);
    if (*status == TOPK_JIT_OK)
        *status = check_stream_device(ordinal, stream);
    if (*status == TOPK_JIT_OK)
        *status = tkj_plan_prepare(context, spec, stream, &prepared);
    return prepared;
}

/** Enqueues both launches of a split: only the second one writes to the outputs. */
static topk_jit_status launch_split(const tkj_launch *second, const tkj_call_shape *shape,
                                    uint32_t parts, tkj_select_params *params, CUstream stream)
{
    tkj_launch first = *second;
    first.grid = tkj_variants_parts_grid(shape, parts);
    params->parts = parts;
    params->launch = 0;
    topk_jit_status status = tkj_driver_launch(&first, params, stream);
    params->launch = 1;
    return status != TOPK_JIT_OK ? status : tkj_driver_launch(second, params, stream);
}

/** Enqueues a kernel of lines, which is given all of its parameters, dimensions or not. */
static topk_jit_status launch_lines(const tkj_launch *work, tkj_line_share share,
                                    tkj_fast_topk_params *params, CUstream stream)
{
    tkj_outer_dim *unused = &params->outer[params->outer_dims];
    memset(unused, 0, (size_t)(TKJ_FAST_TOPK_DIMS - params->outer_dims) * sizeof *unused);
    params->lines = share.lines;
    params->lanes = share.lanes;
    return tkj_driver_launch(work, params, stream);
}

/** What is enqueued: parameters of a selection, of lines, or either. */
typedef struct gpu_call {
    const topk_jit_spec *spec;
    int ordinal; /* of the device */
    const tkj_call_shape *shape;
    bool pdl;
    tkj_select_params *selection;
    tkj_fast_topk_params *lines;
} gpu_call;

/** Enqueues the kernel that serves a call best. */
static topk_jit_status launch_best(const tkj_prepared *prepared, const gpu_call *call,
                                   CUstream stream)
{
    const tkj_call_shape *shape = call->shape;
    const tkj_device_facts *facts = &prepared->facts;
    size_t v = tkj_variants_choose(call->spec, prepared->variants, prepared->count, shape, facts);
    const tkj_variant *variant = &prepared->variants[v];
    uint32_t cluster = tkj_variants_cluster(variant, shape, facts);
    uint32_t parts = tkj_variants_parts(variant, shape, facts);
    tkj_line_share share = tkj_variants_lines(variant, shape, facts);
    const tkj_launch work = {
        .kernel = prepared->kernels[v].kernel,
        .grid = tkj_variants_grid(shape, cluster, share.lines),
        .threads = variant->threads,
        .shared_bytes = variant->shared_bytes,
        .cluster = cluster,
        .pdl = call->pdl && facts->compute_major >= 9,
    };
    if (parts > 1)
        return launch_split(&work, shape, parts, call->selection, stream);
    if (variant->lines == TKJ_LINES_NONE || call->lines == NULL) /* params are a selection's */
        return tkj_driver_launch(&work, call->selection, stream);
    return launch_lines(&work, share, call->lines, stream);
}

static topk_jit_status launch(topk_jit_context *context, const gpu_call *call, CUstream stream)
{
    topk_jit_status status = TOPK_JIT_OK;
    if (call->shape->rows == 0)
        return TOPK_JIT_OK;
    const tkj_prepared *prepared =
        tkj_kernel_map_find(&context->kernels, call->spec, call->ordinal);
    if (prepared == NULL)
        prepared = prepare_for_call(context, call->spec, call->ordinal, stream, &status);
    return prepared == NULL ? status : launch_best(prepared, call, stream);
}

static topk_jit_status check_host_stream(CUstream stream)
{
    if (stream == NULL)
        return TOPK_JIT_OK;
    return tkj_fail(TOPK_JIT_INVALID_ARGUMENT,
                    "stream is given, expected NULL for tensors on the host");
}

/** The checked problem of a caller's arguments; those of this version are read where they are. */
static topk_jit_status read_problem(const topk_jit_select_args *args, tkj_select_problem *problem)
{
    topk_jit_select_args known;
    if (args != NULL && args->struct_size == sizeof known)
        return tkj_problem_select(args, problem);
    topk_jit_status status = tkj_abi_read("topk_jit_select_args", args, &known, sizeof known);
    return status != TOPK_JIT_OK ? status : tkj_problem_select(&known, problem);
}

topk_jit_status topk_jit_select(topk_jit_context *context, const topk_jit_select_args *args,
                                CUstream stream)
{
    tkj_select_problem problem;
    topk_jit_status status = tkj_context_check(context);
    if (status == TOPK_JIT_OK)
        status = read_problem(args, &problem);
    if (status != TOPK_JIT_OK)
        return status;
    if (!tkj_device_is_host(problem.device)) {
        const gpu_call call = {
            .spec = &problem.spec,
            .ordinal = problem.device.device_id,
            .shape = &problem.shape,
            .pdl = problem.pdl,
            .selection = &problem.params,
        };
        return launch(context, &call, stream);
    }
    status = check_host_stream(stream);
    if (status == TOPK_JIT_OK)
        status = tkj_host_select(&context->config.allocator, &problem.spec, &problem.params);
    return status;
}

topk_jit_status topk_jit_fast_topk(topk_jit_context *context, const DLTensor *values, int64_t topk,
                                   int64_t dim, const DLTensor *out_values,
                                   const DLTensor *out_indices, CUstream stream)
{
    tkj_fast_topk_problem problem;
    topk_jit_status status = tkj_context_check(context);
    if (status == TOPK_JIT_OK)
        status = tkj_problem_fast_topk(values, topk, dim, out_values, out_indices, &problem);
    if (status != TOPK_JIT_OK)
        return status;
    if (!tkj_device_is_host(problem.device)) {
        const gpu_call call = {
            .spec = &problem.spec,
            .ordinal = problem.device.device_id,
            .shape = &problem.shape,
            .selection = &problem.selection,
            .lines = &problem.params,
        };
        return launch(context, &call, stream);
    }
    status = check_host_stream(stream);
    if (status == TOPK_JIT_OK)
        status = tkj_host_fast_topk(&context->config.allocator, &problem.spec, &problem.params);
    return status;
}

topk_jit_status topk_jit_fast_topk_v2(topk_jit_context *context, const DLTensor *score,
                                      const DLTensor *lengths, int64_t topk,
                                      const DLTensor *row_starts, const DLTensor *indices,
                                      CUstream stream)
{
    const topk_jit_select_args args = {
        .struct_size = sizeof args,
        .score = score,
        .lengths = lengths,
        .row_starts = row_starts,
        .topk = topk,
        .indices = indices,
    };
    return topk_jit_select(context, &args, stream);
}

topk_jit_status topk_jit_fast_topk_transform_fused(topk_jit_context *context, const DLTensor *score,
                                                   const DLTensor *lengths,
                                                   const DLTensor *page_table, int64_t page_size,
                                                   const DLTensor *cu_seqlens_q, int64_t topk,
                                                   const DLTensor *row_starts,
                                                   const DLTensor *indices, CUstream stream)
{
    const topk_jit_select_args args = {
        .struct_size = sizeof args,
        .score = score,
        .lengths = lengths,
        .row_starts = row_starts,
        .layout = TOPK_JIT_LAYOUT_PAGED,
        .page_table = page_table,
        .page_size = page_size,
        .cu_seqlens_q = cu_seqlens_q,
        .topk = topk,
        .indices = indices,
    };
    return topk_jit_select(context, &args, stream);
}

topk_jit_status topk_jit_fast_topk_transform_ragged_fused(topk_jit_context *context,
                                                          const DLTensor *score,
                                                          const DLTensor *lengths,
                                                          const DLTensor *topk_indices_offset,
                                                          int64_t topk, const DLTensor *row_starts,
                                                          const DLTensor *indices, CUstream stream)
{
    const topk_jit_select_args args = {
        .struct_size = sizeof args,
        .score = score,
        .lengths = lengths,
        .row_starts = row_starts,
        .layout = TOPK_JIT_LAYOUT_RAGGED,
        .topk_indices_offset = topk_indices_offset,
        .topk = topk,
        .indices = indices,
    };
    return topk_jit_select(context, &args, stream);
}

topk_jit_status topk_jit_select_spec(const topk_jit_select_args *args, topk_jit_spec *spec)
{
    tkj_select_problem problem;
    topk_jit_status status = read_problem(args, &problem);
    if (status != TOPK_JIT_OK)
        return status;
    return tkj_abi_write("topk_jit_spec", &problem.spec, sizeof problem.spec, spec);
}

topk_jit_status topk_jit_select_workspace_size(const topk_jit_select_args *args, size_t *size)
{
    tkj_select_problem problem;
    if (size == NULL)
        return tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "size is NULL, expected a place for the size");
    topk_jit_status status = read_problem(args, &problem);
    if (status != TOPK_JIT_OK)
        return status;
    *size = tkj_device_is_host(problem.device) || problem.params.rows == 0
                ? 0
                : tkj_variants_workspace(&problem.spec, &problem.shape);
    return TOPK_JIT_OK;
}
