/* SPDX-License-Identifier: Apache-2.0 */
/* Calls with tensors on a GPU: what is launched. */
#include "plan_case.h"

#include <string.h>

#include "prelude.h"
#include "problem.h"

/* ---- selections ---- */

static void prepare_for(plan_case *it, const plan_call *call, int ordinal)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    assert_int_equal(topk_jit_select_spec(&call->args, &spec), TOPK_JIT_OK);
    assert_int_equal(plan_case_prepare(it, &spec, ordinal), TOPK_JIT_OK);
}

/** The prepared variant whose kernel was launched. */
static const tkj_variant *variant_of(const tkj_prepared *prepared, const fake_cuda_launch *launch)
{
    for (size_t v = 0; prepared != NULL && v < prepared->count; v++) {
        char name[TKJ_ENTRY_NAME_SIZE];
        tkj_entry_name(&prepared->spec, &prepared->variants[v], name);
        if (strcmp(name, launch->kernel) == 0)
            return &prepared->variants[v];
    }
    fail_msg("%s is no kernel of the spec", launch->kernel);
    return NULL;
}

/** The last launch was of a variant of the problem's spec, in that variant's shape. */
static void assert_launched(const plan_case *it, const topk_jit_select_args *args, int ordinal,
                            fake_cuda_launch *launch)
{
    tkj_select_problem problem;
    assert_int_equal(tkj_problem_select(args, &problem), TOPK_JIT_OK);
    cuda->last_launch(launch);
    const tkj_prepared *prepared = plan_case_find(it, &problem.spec, ordinal);
    const tkj_variant *variant = variant_of(prepared, launch);
    uint32_t cluster = tkj_variants_cluster(variant, &problem.shape, &prepared->facts);
    assert_int_equal(launch->ordinal, ordinal);
    assert_ptr_equal(launch->stream, streams[ordinal]);
    assert_int_equal(launch->grid[0], tkj_variants_grid(&problem.shape, cluster, 1));
    assert_int_equal(launch->attribute_count, (cluster > 1 ? 1 : 0) + (launch->pdl ? 1 : 0));
    assert_int_equal(launch->grid[1], 1);
    assert_int_equal(launch->grid[2], 1);
    assert_int_equal(launch->block[0], variant->threads);
    assert_int_equal(launch->block[1], 1);
    assert_int_equal(launch->block[2], 1);
    assert_int_equal(launch->shared_bytes, variant->shared_bytes);
    assert_memory_equal(launch->params, &problem.params, sizeof problem.params);
}

static topk_jit_status select_on(plan_case *it, const plan_call *call, int ordinal)
{
    cuda->set_params_size(sizeof(tkj_select_params));
    return topk_jit_select(it->context, &call->args, streams[ordinal]);
}

static void launch_has_the_shape_and_parameters_of_the_call(void **state)
{
    plan_case *it = *state;
    fake_cuda_launch launch;
    plan_call call;
    plan_call_init(&call, SM90, 7, 9, 2048);
    prepare_for(it, &call, SM90);
    assert_int_equal(select_on(it, &call, SM90), TOPK_JIT_OK);
    assert_launched(it, &call.args, SM90, &launch);
    assert_int_equal(cuda->launches(), 1);
    assert_false(launch.captured);
}

static void row_of_any_length_launches_a_prepared_kernel(void **state)
{
    plan_case *it = *state;
    plan_call call;
    plan_call_init(&call, SM90, 3, 3, 2048);
    prepare_for(it, &call, SM90);
    for (int64_t width = 1; width < INT32_MAX; width *= 7) {
        fake_cuda_launch launch;
        const int before = cuda->total_calls();
        call.score_shape[1] = width;
        assert_int_equal(select_on(it, &call, SM90), TOPK_JIT_OK);
        assert_int_equal(cuda->total_calls(), before + 1);
        cuda->last_launch(&launch);
        const topk_jit_spec spec = plan_case_spec(2048);
        variant_of(plan_case_find(it, &spec, SM90), &launch); /* asserts that there is one */
    }
}

static void call_without_rows_launches_nothing(void **state)
{
    plan_case *it = *state;
    plan_call call;
    plan_call_init(&call, SM90, 0, 0, 2048);
    assert_int_equal(select_on(it, &call, SM90), TOPK_JIT_OK);
    assert_int_equal(cuda->total_calls(), 0);
    assert_int_equal(plan_case_statistics(it).misses, 0);
}

static void call_with_padding_rows_only_launches_once(void **state)
{
    plan_case *it = *state;
    fake_cuda_launch launch;
    plan_call call;
    plan_call_init(&call, SM90, 0, 5, 2048);
    assert_int_equal(select_on(it, &call, SM90), TOPK_JIT_OK);
    assert_launched(it, &call.args, SM90, &launch);
    assert_int_equal(cuda->launches(), 1);
}

static void max_sms_bounds_the_grid(void **state)
{
    plan_case *it = *state;
    fake_cuda_launch launch;
    plan_call call;
    plan_call_init(&call, SM90, 1000, 1000, 2048);
    call.args.max_sms = 3;
    assert_int_equal(select_on(it, &call, SM90), TOPK_JIT_OK);
    assert_launched(it, &call.args, SM90, &launch);
    assert_in_range(launch.grid[0], 1, 3);
}

static void assert_pdl(plan_case *it, int ordinal, bool expected)
{
    fake_cuda_launch launch;
    plan_call call;
    plan_call_init(&call, ordinal, 2, 2, 2048);
    call.args.pdl = 1;
    assert_int_equal(select_on(it, &call, ordinal), TOPK_JIT_OK);
    assert_launched(it, &call.args, ordinal, &launch);
    assert_int_equal(launch.pdl, expected);
}

static void pdl_is_an_attribute_on_sm_90(void **state)
{
    assert_pdl(*state, SM90, true);
}

static void pdl_is_ignored_before_sm_90(void **state)
{
    assert_pdl(*state, SM80, false);
}

static void managed_memory_goes_to_the_gpu(void **state)
{
    plan_case *it = *state;
    plan_call call;
    plan_call_init(&call, SM90, 2, 2, 2048);
    call.score.device.device_type = call.indices.device.device_type = kDLCUDAManaged;
    assert_int_equal(select_on(it, &call, SM90), TOPK_JIT_OK);
    assert_int_equal(cuda->launches(), 1);
}

static void refused_launch_is_reported_and_the_next_one_works(void **state)
{
    plan_case *it = *state;
    plan_call call;
    plan_call_init(&call, SM90, 2, 2, 2048);
    prepare_for(it, &call, SM90);
    cuda->inject("cuLaunchKernelEx", ANY_CODE, 1);
    assert_int_equal(select_on(it, &call, SM90), TOPK_JIT_LAUNCH_FAILED);
    assert_int_equal(topk_jit_last_error()->native_code, ANY_CODE);
    plan_case_assert_message("cuLaunchKernelEx");
    assert_int_equal(select_on(it, &call, SM90), TOPK_JIT_OK);
    assert_int_equal(cuda->launches(), 1);
}

/* ---- fast_topk ---- */

static void fast_topk_launches_with_its_own_parameters(void **state)
{
    plan_case *it = *state;
    int64_t shape[3] = {2, 5, 300}, out_shape[3] = {2, 5, 4};
    const DLDevice device = {kDLCUDA, SM90};
    DLTensor in = {(void *)(1ULL << 40), device, 3, {kDLInt, 32, 1}, shape, NULL, 0};
    DLTensor values = {(void *)(1ULL << 41), device, 3, {kDLInt, 32, 1}, out_shape, NULL, 0};
    DLTensor indices = {(void *)(1ULL << 42), device, 3, {kDLInt, 64, 1}, out_shape, NULL, 0};
    tkj_fast_topk_problem problem;
    fake_cuda_launch launch;
    cuda->set_params_size(FAKE_CUDA_PARAMS_MAX); /* the dimensions used are among the first */
    assert_int_equal(topk_jit_fast_topk(it->context, &in, 4, -1, &values, &indices, streams[SM90]),
                     TOPK_JIT_OK);
    assert_int_equal(cuda->launches(), 1);
    cuda->last_launch(&launch);
    assert_int_equal(tkj_problem_fast_topk(&in, 4, -1, &values, &indices, &problem), TOPK_JIT_OK);
    const tkj_variant *variant = variant_of(plan_case_find(it, &problem.spec, SM90), &launch);
    assert_int_equal(launch.block[0], variant->threads);
    assert_int_equal(launch.shared_bytes, variant->shared_bytes);
    const tkj_line_share share = tkj_variants_lines(
        variant, &problem.shape, &plan_case_find(it, &problem.spec, SM90)->facts);
    assert_int_equal(launch.grid[0], tkj_variants_grid(&problem.shape, 1, share.lines));
    problem.params.lines = share.lines;
    problem.params.lanes = share.lanes;
    const size_t used = offsetof(tkj_fast_topk_params, outer) +
                        (size_t)problem.params.outer_dims * sizeof problem.params.outer[0];
    assert_memory_equal(launch.params, &problem.params, used);
    assert_int_equal(launch.attribute_count, 0);
    shape[0] = out_shape[0] = 0;
    assert_int_equal(topk_jit_fast_topk(it->context, &in, 4, -1, &values, &indices, streams[SM90]),
                     TOPK_JIT_OK);
    assert_int_equal(cuda->launches(), 1);
}

static void fast_topk_of_rows_launches_a_selection(void **state)
{
    plan_case *it = *state;
    int64_t shape[3] = {2, 5, 3000}, out_shape[3] = {2, 5, 4};
    const DLDevice device = {kDLCUDA, SM90};
    DLTensor in = {(void *)(1ULL << 40), device, 3, {kDLFloat, 32, 1}, shape, NULL, 0};
    DLTensor values = {(void *)(1ULL << 41), device, 3, {kDLFloat, 32, 1}, out_shape, NULL, 0};
    DLTensor indices = {(void *)(1ULL << 42), device, 3, {kDLInt, 64, 1}, out_shape, NULL, 0};
    const tkj_select_params expected = {
        .score = in.data,
        .score_stride = 3000,
        .width = 3000,
        .rows = 10,
        .out_rows = 10,
        .indices = indices.data,
        .indices_stride = 4,
        .values = values.data,
        .values_stride = 4,
        .next_n = 1,
        .compress_ratio = 1,
    };
    fake_cuda_launch launch;
    cuda->set_params_size(sizeof expected);
    assert_int_equal(topk_jit_fast_topk(it->context, &in, 4, -1, &values, &indices, streams[SM90]),
                     TOPK_JIT_OK);
    cuda->last_launch(&launch);
    assert_string_equal(launch.kernel, "topk_jit_fast_topk_registers_256x32_k4_f32");
    assert_int_equal(launch.grid[0], 10);
    assert_memory_equal(launch.params, &expected, sizeof expected);
}

/* ---- the named operations are doors to the same launch ---- */

/** Inputs that the layouts need beside a plan_call. */
typedef struct inputs {
    int64_t rows;
    int64_t table_shape[2];
    DLTensor lengths;
    DLTensor offsets;
    DLTensor table;
} inputs;

static void make_inputs(inputs *in, const plan_call *call)
{
    in->rows = call->score_shape[0];
    in->table_shape[0] = in->rows;
    in->table_shape[1] = 1024;
    in->table = call->indices;
    in->table.data = (void *)(1ULL << 42);
    in->table.shape = in->table_shape;
    in->lengths = in->table;
    in->lengths.data = (void *)(1ULL << 43);
    in->lengths.ndim = 1;
    in->lengths.shape = &in->rows;
    in->offsets = in->lengths;
    in->offsets.data = (void *)(1ULL << 44);
}

static void plain_operation_launches_what_select_would(void **state)
{
    plan_case *it = *state;
    fake_cuda_launch launch;
    plan_call call;
    inputs in;
    plan_call_init(&call, SM90, 2, 2, 64);
    make_inputs(&in, &call);
    call.args.lengths = call.args.row_starts = &in.lengths;
    cuda->set_params_size(sizeof(tkj_select_params));
    assert_int_equal(topk_jit_fast_topk_v2(it->context, &call.score, &in.lengths, 64, &in.lengths,
                                           &call.indices, streams[SM90]),
                     TOPK_JIT_OK);
    assert_launched(it, &call.args, SM90, &launch);
    assert_int_equal(cuda->launches(), 1);
}

static void paged_operation_launches_what_select_would(void **state)
{
    plan_case *it = *state;
    fake_cuda_launch launch;
    plan_call call;
    inputs in;
    plan_call_init(&call, SM90, 2, 2, 64);
    make_inputs(&in, &call);
    call.args.lengths = call.args.row_starts = &in.lengths;
    call.args.layout = TOPK_JIT_LAYOUT_PAGED;
    call.args.page_table = &in.table;
    call.args.page_size = 64;
    cuda->set_params_size(sizeof(tkj_select_params));
    assert_int_equal(topk_jit_fast_topk_transform_fused(it->context, &call.score, &in.lengths,
                                                        &in.table, 64, NULL, 64, &in.lengths,
                                                        &call.indices, streams[SM90]),
                     TOPK_JIT_OK);
    assert_launched(it, &call.args, SM90, &launch);
    assert_int_equal(cuda->launches(), 1);
}

static void ragged_operation_launches_what_select_would(void **state)
{
    plan_case *it = *state;
    fake_cuda_launch launch;
    plan_call call;
    inputs in;
    plan_call_init(&call, SM90, 2, 2, 64);
    make_inputs(&in, &call);
    call.args.lengths = call.args.row_starts = &in.lengths;
    call.args.layout = TOPK_JIT_LAYOUT_RAGGED;
    call.args.topk_indices_offset = &in.offsets;
    cuda->set_params_size(sizeof(tkj_select_params));
    assert_int_equal(topk_jit_fast_topk_transform_ragged_fused(
                         it->context, &call.score, &in.lengths, &in.offsets, 64, &in.lengths,
                         &call.indices, streams[SM90]),
                     TOPK_JIT_OK);
    assert_launched(it, &call.args, SM90, &launch);
    assert_int_equal(cuda->launches(), 1);
}

#define TEST(function)                                                                             \
    cmocka_unit_test_setup_teardown(function, plan_case_set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(launch_has_the_shape_and_parameters_of_the_call),
        TEST(row_of_any_length_launches_a_prepared_kernel),
        TEST(call_without_rows_launches_nothing),
        TEST(call_with_padding_rows_only_launches_once),
        TEST(max_sms_bounds_the_grid),
        TEST(pdl_is_an_attribute_on_sm_90),
        TEST(pdl_is_ignored_before_sm_90),
        TEST(managed_memory_goes_to_the_gpu),
        TEST(refused_launch_is_reported_and_the_next_one_works),
        TEST(fast_topk_launches_with_its_own_parameters),
        TEST(fast_topk_of_rows_launches_a_selection),
        TEST(plain_operation_launches_what_select_would),
        TEST(paged_operation_launches_what_select_would),
        TEST(ragged_operation_launches_what_select_would),
    };
    return cmocka_run_group_tests_name("api_gpu", tests, NULL, NULL);
}
