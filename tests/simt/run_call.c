/* SPDX-License-Identifier: Apache-2.0 */
#include "run_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "judge.h"
#include "memory.h"
#include "problem.h"
#include "spec.h"
#include "testing.h"

topk_jit_spec tkj_simt_spec(const tkj_simt_listed *listed)
{
    topk_jit_spec spec;
    assert_int_equal(tkj_spec_parse(listed->spec, &spec), TOPK_JIT_OK);
    return tkj_spec_canonical(&spec);
}

static const char *const slot_names[TKJ_CALL_TENSORS] = {
    [TKJ_CALL_SCORE] = "score",
    [TKJ_CALL_LENGTHS] = "lengths",
    [TKJ_CALL_ROW_STARTS] = "row_starts",
    [TKJ_CALL_ROW_ENDS] = "row_ends",
    [TKJ_CALL_PAGE_TABLE] = "page_table",
    [TKJ_CALL_PAGE_TABLE_ROW_STARTS] = "page_table_row_starts",
    [TKJ_CALL_CU_SEQLENS_Q] = "cu_seqlens_q",
    [TKJ_CALL_ROW_TO_BATCH] = "row_to_batch",
    [TKJ_CALL_OFFSET] = "topk_indices_offset",
    [TKJ_CALL_INDICES] = "indices",
    [TKJ_CALL_RAW_INDICES] = "raw_indices",
    [TKJ_CALL_VALUES] = "values",
};

/** Exactly the elements of every tensor, and the counts. @return how many */
static size_t list_regions(tkj_call *call, tkj_simt_region regions[TKJ_CALL_TENSORS + 1])
{
    size_t count = 0;
    for (int slot = 0; slot < TKJ_CALL_TENSORS; slot++) {
        const tkj_guarded *memory = &call->tensors[slot].memory;
        int64_t size = (int64_t)memory->element_size;
        if (memory->block == NULL)
            continue;
        regions[count++] = (tkj_simt_region){
            .name = slot_names[slot],
            .data = tkj_guarded_data(memory),
            .rows = memory->rows,
            .row_bytes = memory->columns * size,
            .pitch_bytes = memory->stride * size,
            .writable = slot >= TKJ_CALL_INDICES,
            .written = slot < TKJ_CALL_INDICES,
            .block = memory->block,
            .block_size = memory->block_size,
        };
    }
    if (call->args.check_counts != NULL)
        regions[count++] = (tkj_simt_region){
            .name = "check_counts",
            .data = call->check_counts,
            .rows = 1,
            .row_bytes = sizeof call->check_counts,
            .writable = true,
            .written = true,
        };
    return count;
}

static tkj_variant variant_of(const tkj_simt_listed *listed)
{
    tkj_variant variants[TKJ_VARIANTS_MAX];
    topk_jit_spec spec = tkj_simt_spec(listed);
    size_t count = tkj_variants_enumerate(&spec, listed->kernel->architecture, variants);
    assert_true(listed->variant < count);
    return variants[listed->variant];
}

int64_t tkj_simt_capacity(const tkj_simt_listed *listed)
{
    return variant_of(listed).capacity;
}

bool tkj_simt_takes_lines(const tkj_simt_listed *listed)
{
    return variant_of(listed).lines != TKJ_LINES_NONE;
}

/** Between this kernel and one that takes anything, would the library choose this one? It may run
 * with any number of blocks a row, and gets the workspace that it needs. */
static bool serves(const tkj_variant *variant, const topk_jit_spec *spec,
                   const tkj_call_shape *shape)
{
    static const tkj_device_facts facts = {.compute_major = 9, .sm_count = 132};
    tkj_variant either[] = {{.capacity = 0, .lines = TKJ_LINES_ANY}, *variant};
    either[1].clusters = false;
    either[1].split = false;
    return variant->capacity == 0 || tkj_variants_choose(spec, either, 2, shape, &facts) == 1;
}

bool tkj_simt_serves_shape(const tkj_simt_listed *listed, const tkj_call_shape *shape)
{
    const tkj_variant variant = variant_of(listed);
    const topk_jit_spec spec = tkj_simt_spec(listed);
    return shape->rows > 0 && serves(&variant, &spec, shape);
}

bool tkj_simt_serves(const tkj_simt_listed *listed, tkj_call *call)
{
    const tkj_variant variant = variant_of(listed);
    tkj_select_problem problem;
    topk_jit_select_args args = tkj_call_args(call);
    return tkj_problem_select(&args, &problem) != TOPK_JIT_OK ||
           serves(&variant, &problem.spec, &problem.shape);
}

/** Any number of blocks a row is right, so the seed decides. */
static uint32_t blocks_of(uint64_t seed)
{
    static const uint32_t sizes[] = {1, 2, 4, 8, 1, 2, 4, 8, 16}; /* the largest takes longest */
    return sizes[seed % (sizeof sizes / sizeof sizes[0])];
}

/** Blocks of a cluster, by the seed too, but never more than max_sms. */
static uint32_t cluster_of(const tkj_variant *variant, const tkj_call_shape *shape, uint64_t seed)
{
    uint32_t size = variant->clusters ? blocks_of(seed) : 1;
    while (shape->max_sms > 0 && size > (uint32_t)shape->max_sms)
        size /= 2;
    return size;
}

/* Of the workspace's bytes: a multiple of what it is aligned to. */
#define WORKSPACE_ALIGNMENT ((size_t)256)

/** The workspace of a call: no byte more than the rows need, and poison around and in it. */
static tkj_simt_region create_workspace(const tkj_call_shape *shape)
{
    size_t size = (size_t)shape->rows * TKJ_SPLIT_ROW_BYTES;
    size_t block_size = size + 2 * WORKSPACE_ALIGNMENT;
    unsigned char *block = aligned_alloc(WORKSPACE_ALIGNMENT, block_size);
    bool *kept = calloc(size, sizeof *kept);
    assert_non_null(block);
    assert_non_null(kept);
    memset(block, 0x5A, block_size); /* as counts of a part too large, as scores large */
    return (tkj_simt_region){
        .name = "workspace",
        .data = block + WORKSPACE_ALIGNMENT,
        .rows = 1,
        .row_bytes = (int64_t)size,
        .writable = true,
        .kept = kept,
        .block = block,
        .block_size = block_size,
    };
}

/** Both launches of a split, on a workspace of their own: the first may not touch the outputs. */
static bool run_split(const tkj_simt_launch *whole, const tkj_call_shape *shape, char *message)
{
    enum { REGIONS_MAX = TKJ_CALL_TENSORS + 2 };
    tkj_simt_region regions[REGIONS_MAX];
    tkj_simt_launch work = *whole;
    tkj_select_params params;
    memcpy(&params, whole->params, sizeof params);
    assert_true(whole->region_count < REGIONS_MAX);
    regions[0] = create_workspace(shape);
    size_t count = 1;
    for (size_t i = 0; i < whole->region_count; i++)
        if (!whole->regions[i].writable)
            regions[count++] = whole->regions[i];
    params.workspace = regions[0].data;
    params.parts = blocks_of(whole->seed);
    params.launch = 0;
    work.grid = tkj_variants_parts_grid(shape, params.parts);
    work.params = &params;
    work.regions = regions;
    work.region_count = count;
    bool right = tkj_simt_run(&work, message);
    regions[0].writable = false;
    for (size_t i = 0; i < whole->region_count; i++)
        regions[1 + i] = whole->regions[i];
    params.launch = 1;
    work.grid = whole->grid;
    work.region_count = 1 + whole->region_count;
    right = right && tkj_simt_run(&work, message);
    free(regions[0].kept);
    free(regions[0].block);
    return right;
}

/** The launch that the library would make of a listed kernel. */
static tkj_simt_launch launch_of(const tkj_simt_listed *listed, const tkj_variant *variant,
                                 const tkj_call_shape *shape, tkj_line_share share, uint64_t seed)
{
    const uint32_t cluster = cluster_of(variant, shape, seed);
    assert_int_equal(variant->threads, listed->kernel->threads);
    assert_int_equal(variant->shared_bytes, listed->kernel->shared_bytes);
    return (tkj_simt_launch){
        .kernel = listed->kernel,
        .cluster = cluster,
        .grid = tkj_variants_grid(shape, cluster, share.lines),
        .seed = seed,
    };
}

bool tkj_simt_run_selection(const tkj_simt_listed *listed, const topk_jit_spec *spec,
                            const tkj_call_shape *shape, const tkj_select_params *params,
                            const tkj_simt_region *regions, size_t region_count, uint64_t seed,
                            char *message)
{
    const tkj_variant variant = variant_of(listed);
    tkj_simt_launch work = launch_of(listed, &variant, shape, (tkj_line_share){1, 1}, seed);
    work.params = params;
    work.regions = regions;
    work.region_count = region_count;
    if (shape->rows == 0 || variant.lines != TKJ_LINES_NONE || !serves(&variant, spec, shape))
        return true;
    return variant.split ? run_split(&work, shape, message) : tkj_simt_run(&work, message);
}

bool tkj_simt_run_lines(const tkj_simt_listed *listed, const topk_jit_spec *spec,
                        const tkj_call_shape *shape, const tkj_fast_topk_params *params,
                        const tkj_simt_region *regions, size_t region_count, uint64_t seed,
                        char *message)
{
    const tkj_variant variant = variant_of(listed);
    const tkj_device_facts facts = {.compute_major = 9, .sm_count = (int)(seed % 5)};
    const tkj_line_share share = tkj_variants_lines(&variant, shape, &facts);
    tkj_simt_launch work = launch_of(listed, &variant, shape, share, seed);
    tkj_fast_topk_params shared_out = *params;
    shared_out.lines = share.lines;
    shared_out.lanes = share.lanes;
    work.params = &shared_out;
    work.regions = regions;
    work.region_count = region_count;
    return shape->rows == 0 || !serves(&variant, spec, shape) || tkj_simt_run(&work, message);
}

/** Every output byte of the host engine's result, where the spec says what it must be. */
static bool matches_host(const topk_jit_spec *spec, const tkj_call *call, tkj_call *twin,
                         char *message)
{
    tkj_select_problem problem;
    topk_jit_select_args args = tkj_call_args(twin);
    tkj_call_poison(twin);
    assert_int_equal(tkj_problem_select(&args, &problem), TOPK_JIT_OK);
    assert_int_equal(tkj_host_select(&tkj_default_allocator, spec, &problem.params), TOPK_JIT_OK);
    if (tkj_call_same_outputs(call, twin))
        return true;
    snprintf(message, TKJ_SIMT_MESSAGE_SIZE, "the bytes differ from the host engine's");
    return false;
}

static bool run(const tkj_simt_listed *listed, tkj_call *call, uint64_t seed, char *message)
{
    tkj_select_problem problem;
    tkj_simt_region regions[TKJ_CALL_TENSORS + 1];
    topk_jit_select_args args = tkj_call_args(call);
    size_t count = list_regions(call, regions);
    tkj_call_poison(call);
    if (tkj_problem_select(&args, &problem) != TOPK_JIT_OK) {
        snprintf(message, TKJ_SIMT_MESSAGE_SIZE, "refused: %.200s", topk_jit_last_error()->message);
        return false;
    }
    return tkj_simt_run_selection(listed, &problem.spec, &problem.shape, &problem.params, regions,
                                  count, seed, message);
}

/** In the plain layout the indices are the positions. */
static void copy_positions(tkj_call *call)
{
    const tkj_guarded *from = &call->tensors[TKJ_CALL_INDICES].memory;
    const tkj_guarded *to = &call->tensors[TKJ_CALL_RAW_INDICES].memory;
    tkj_guarded_poison(to);
    for (int64_t row = 0; row < from->rows; row++)
        for (int64_t s = 0; s < from->columns; s++) {
            int64_t at = row * from->stride + s;
            int32_t *position = (int32_t *)tkj_guarded_data(to) + row * to->stride + s;
            *position = from->element_size == 8 ? (int32_t)((int64_t *)tkj_guarded_data(from))[at]
                                                : ((int32_t *)tkj_guarded_data(from))[at];
        }
}

/** The call once more without raw_indices, or values, or both, as the seed says: judged where the
 *  positions can be told, compared with the first run's indices where they must be the same. */
static bool run_without(const tkj_simt_listed *listed, tkj_call *call, uint64_t seed, char *message)
{
    static const tkj_call_tensor absent;
    const tkj_call_tensor raw = call->tensors[TKJ_CALL_RAW_INDICES];
    const tkj_call_tensor values = call->tensors[TKJ_CALL_VALUES];
    const tkj_guarded *indices = &call->tensors[TKJ_CALL_INDICES].memory;
    unsigned char *first = malloc(indices->block_size);
    assert_non_null(first);
    memcpy(first, indices->block, indices->block_size);
    bool keeps_raw = (seed & 4) != 0;
    if (!keeps_raw)
        call->tensors[TKJ_CALL_RAW_INDICES] = absent;
    if (keeps_raw || (seed & 2) != 0)
        call->tensors[TKJ_CALL_VALUES] = absent;
    bool right = run(listed, call, seed, message);
    bool same = memcmp(first, indices->block, indices->block_size) == 0;
    call->tensors[TKJ_CALL_RAW_INDICES] = raw;
    if (right && !keeps_raw && call->spec.layout == TOPK_JIT_LAYOUT_PLAIN)
        copy_positions(call);
    if (right && (keeps_raw || call->spec.layout == TOPK_JIT_LAYOUT_PLAIN))
        right = tkj_call_judge(call, message);
    call->tensors[TKJ_CALL_VALUES] = values;
    free(first);
    if (right && call->spec.deterministic && !same)
        snprintf(message, TKJ_SIMT_MESSAGE_SIZE, "without other outputs the indices are others");
    return right && (same || !call->spec.deterministic);
}

bool tkj_simt_run_call(const tkj_simt_listed *listed, tkj_call *call, tkj_call *twin, uint64_t seed,
                       char *message)
{
    if (!run(listed, call, seed, message) || !tkj_call_judge(call, message))
        return false;
    if (twin != NULL && call->spec.deterministic && !matches_host(&call->spec, call, twin, message))
        return false;
    return (seed & 1) == 0 || run_without(listed, call, seed, message);
}
