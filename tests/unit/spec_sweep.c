/* SPDX-License-Identifier: Apache-2.0 */
#include "spec_sweep.h"

#include "spec.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const int64_t topks[] = {1,    2,    225,  256,  257,  512,  2048, 3072,
                                3073, 4096, 4097, 6144, 6145, 8192, 8193, INT64_MAX};
static const int64_t page_sizes[] = {1, 64, INT64_C(1) << 30};

/* Layouts, each page size being one. */
#define LAYOUTS (2 + COUNT(page_sizes))
#define SELECT_DTYPES 3
#define FAST_TOPK_DTYPES 6
/* Tie breaks and deterministic: a deterministic spec names its tie break. */
#define TIES 5
#define OPTIONS 8

#define SELECTS (COUNT(topks) * LAYOUTS * SELECT_DTYPES * 2 * TIES * OPTIONS)
#define FAST_TOPKS (COUNT(topks) * FAST_TOPK_DTYPES)

size_t spec_sweep_count(void)
{
    return SELECTS + FAST_TOPKS;
}

/** Takes the next digit of a number of mixed radix. */
static size_t digit(size_t *number, size_t radix)
{
    size_t value = *number % radix;
    *number /= radix;
    return value;
}

static void set_layout(topk_jit_spec *spec, size_t layout)
{
    static const topk_jit_layout layouts[] = {TOPK_JIT_LAYOUT_PLAIN, TOPK_JIT_LAYOUT_RAGGED,
                                              TOPK_JIT_LAYOUT_PAGED};
    spec->layout = layouts[layout < 2 ? layout : 2];
    spec->page_size = layout < 2 ? 0 : page_sizes[layout - 2];
}

static void set_tie(topk_jit_spec *spec, size_t tie)
{
    static const topk_jit_tie_break tie_breaks[TIES] = {
        TOPK_JIT_TIE_BREAK_NONE, TOPK_JIT_TIE_BREAK_SMALLEST, TOPK_JIT_TIE_BREAK_LARGEST,
        TOPK_JIT_TIE_BREAK_SMALLEST, TOPK_JIT_TIE_BREAK_LARGEST};
    spec->tie_break = tie_breaks[tie];
    spec->deterministic = tie >= 3;
}

static topk_jit_spec select_at(size_t i)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    size_t options = digit(&i, OPTIONS);
    spec.sorted = options & 1u;
    spec.nan_last = options >> 1 & 1u;
    spec.check = options >> 2 & 1u;
    set_tie(&spec, digit(&i, TIES));
    spec.index_dtype = digit(&i, 2) ? TOPK_JIT_INT64 : TOPK_JIT_INT32;
    spec.dtype = (topk_jit_dtype)digit(&i, SELECT_DTYPES);
    set_layout(&spec, digit(&i, LAYOUTS));
    spec.topk = topks[i];
    return tkj_spec_canonical(&spec);
}

static topk_jit_spec fast_topk_at(size_t i)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.operation = TOPK_JIT_OPERATION_FAST_TOPK;
    spec.index_dtype = TOPK_JIT_INT64;
    spec.dtype = (topk_jit_dtype)digit(&i, FAST_TOPK_DTYPES);
    spec.topk = topks[i];
    return tkj_spec_canonical(&spec);
}

topk_jit_spec spec_sweep_at(size_t i)
{
    return i < SELECTS ? select_at(i) : fast_topk_at(i - SELECTS);
}

topk_jit_spec spec_sweep_longest(void)
{
    topk_jit_spec spec = {
        .struct_size = sizeof spec,
        .layout = TOPK_JIT_LAYOUT_PAGED,
        .topk = INT64_MAX,
        .dtype = TOPK_JIT_BFLOAT16,
        .index_dtype = TOPK_JIT_INT64,
        .page_size = INT64_C(1) << 30,
        .tie_break = TOPK_JIT_TIE_BREAK_SMALLEST,
        .sorted = 1,
        .deterministic = 1,
        .nan_last = 1,
        .check = 1,
    };
    return tkj_spec_canonical(&spec);
}
