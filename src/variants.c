/* SPDX-License-Identifier: Apache-2.0 */
#include "variants.h"

/* Every thread owns bins of an 11-bit digit: a divisor of 2048. 512 threads a block leave room for
   several blocks an SM at any register count. */
#define GENERAL_THREADS 512u
#define GENERAL_ITEMS 8u

/* The 2048 32-bit bins of a digit and the scratch of a block's scan, in 64-bit counts. */
#define RADIX_SHARED_BYTES (2048u * 4u + (GENERAL_THREADS / 32u) * 8u + 32u)

/* More slots than this are sorted in place: 48 KiB is what every GPU grants without opting in. */
#define SORT_SHARED_BYTES_MAX (48u * 1024u)

static uint32_t key_bytes(topk_jit_dtype dtype)
{
    return dtype == TOPK_JIT_FLOAT64 || dtype == TOPK_JIT_INT64 ? 8 : 4;
}

static bool is_sorted(const topk_jit_spec *spec)
{
    return spec->sorted || spec->operation == TOPK_JIT_OPERATION_FAST_TOPK;
}

/** Slots that are sorted in shared memory: all or none. */
static uint32_t sort_capacity(const topk_jit_spec *spec)
{
    uint32_t slot = key_bytes(spec->dtype) + (spec->index_dtype == TOPK_JIT_INT64 ? 8 : 4);
    bool fits = spec->topk <= SORT_SHARED_BYTES_MAX / slot;
    return is_sorted(spec) && fits ? (uint32_t)spec->topk : 0;
}

static uint32_t sort_bytes(const topk_jit_spec *spec, uint32_t capacity)
{
    uint32_t keys = (capacity * key_bytes(spec->dtype) + 7u) / 8u * 8u;
    return keys + capacity * (spec->index_dtype == TOPK_JIT_INT64 ? 8u : 4u);
}

size_t tkj_variants_enumerate(const topk_jit_spec *spec, int architecture,
                              tkj_variant out[TKJ_VARIANTS_MAX])
{
    (void)architecture; /* the general variants serve every architecture from sm_75 on */
    bool select = spec->operation == TOPK_JIT_OPERATION_SELECT;
    uint32_t capacity = sort_capacity(spec);
    uint32_t sort = sort_bytes(spec, capacity);
    out[0] = (tkj_variant){
        .name = "general",
        .template_name = select ? "select_general.cu" : "fast_topk_general.cu",
        .threads = GENERAL_THREADS,
        .items = GENERAL_ITEMS,
        .sort_capacity = capacity,
        .shared_bytes = sort > RADIX_SHARED_BYTES ? sort : RADIX_SHARED_BYTES,
    };
    return 1;
}

size_t tkj_variants_choose(const topk_jit_spec *spec, const tkj_call_shape *shape,
                           const tkj_device_facts *facts)
{
    (void)spec;
    (void)shape;
    (void)facts;
    return 0;
}

uint32_t tkj_variants_grid(const tkj_variant *variant, const tkj_call_shape *shape)
{
    (void)variant;
    /* A block takes rows in turn, so a grid of max_sms blocks occupies at most as many SMs. */
    int64_t limit = shape->max_sms > 0 ? shape->max_sms : INT32_MAX;
    return (uint32_t)(shape->rows < limit ? shape->rows : limit);
}
