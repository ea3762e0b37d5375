/* SPDX-License-Identifier: Apache-2.0 */
#include "prelude.h"

#include <inttypes.h>
#include <stdio.h>

#include "spec.h"

static const char *short_dtype(topk_jit_dtype dtype)
{
    static const char *const names[] = {"f32", "f16", "bf16", "f64", "i32", "i64"};
    return names[dtype];
}

static const char *dtype_constant(topk_jit_dtype dtype)
{
    static const char *const names[] = {"TKJ_FLOAT32", "TKJ_FLOAT16", "TKJ_BFLOAT16",
                                        "TKJ_FLOAT64", "TKJ_INT32",   "TKJ_INT64"};
    return names[dtype];
}

static const char *layout_constant(topk_jit_layout layout)
{
    static const char *const names[] = {"TKJ_PLAIN", "TKJ_PAGED", "TKJ_RAGGED"};
    return names[layout];
}

static int page_shift(const topk_jit_spec *spec)
{
    return spec->page_size > 0 ? __builtin_ctzll((unsigned long long)spec->page_size) : 0;
}

void tkj_entry_name(const topk_jit_spec *spec, const tkj_variant *variant,
                    char name[TKJ_ENTRY_NAME_SIZE])
{
    char page_size[24] = "";
    bool fast_topk = spec->operation == TOPK_JIT_OPERATION_FAST_TOPK;
    if (spec->layout == TOPK_JIT_LAYOUT_PAGED)
        snprintf(page_size, sizeof page_size, "%" PRId64, spec->page_size);
    snprintf(name, TKJ_ENTRY_NAME_SIZE, "topk_jit_%s%s_k%" PRId64 "_%s%s%s%s%s%s%s%s%s%s",
             fast_topk ? "fast_topk_" : "", variant->name, spec->topk, short_dtype(spec->dtype),
             spec->index_dtype == TOPK_JIT_INT64 && !fast_topk ? "_i64" : "", fast_topk ? "" : "_",
             fast_topk ? "" : tkj_layout_name(spec->layout), page_size,
             spec->sorted ? "_sorted" : "",
             spec->tie_break == TOPK_JIT_TIE_BREAK_NONE       ? ""
             : spec->tie_break == TOPK_JIT_TIE_BREAK_SMALLEST ? "_smallest"
                                                              : "_largest",
             spec->deterministic ? "_deterministic" : "", spec->nan_last ? "_nan_last" : "",
             spec->check ? "_check" : "");
}

void tkj_prelude(const topk_jit_spec *spec, const tkj_variant *variant, char text[TKJ_PRELUDE_SIZE])
{
    const topk_jit_spec selection = tkj_spec_of_rows(spec);
    char entry[TKJ_ENTRY_NAME_SIZE];
    tkj_entry_name(spec, variant, entry);
    snprintf(text, TKJ_PRELUDE_SIZE,
             "#define TKJ_ENTRY %s\n"
             "#define TKJ_TOPK %" PRId64 "ll\n"
             "#define TKJ_DTYPE %s\n"
             "#define TKJ_INDEX_BITS %d\n"
             "#define TKJ_LAYOUT %s\n"
             "#define TKJ_PAGE_SHIFT %d\n"
             "#define TKJ_SORTED %d\n"
             "#define TKJ_ORDERED %d\n"
             "#define TKJ_TIE_LARGEST %d\n"
             "#define TKJ_NAN_LAST %d\n"
             "#define TKJ_CHECK %d\n"
             "#define TKJ_THREADS %" PRIu32 "\n"
             "#define TKJ_ITEMS %" PRIu32 "\n"
             "#define TKJ_BLOCKS_PER_SM %" PRIu32 "\n"
             "#define TKJ_CLUSTERS %d\n"
             "#define TKJ_ONE_ROW %d\n"
             "#define TKJ_SORT_CAPACITY %" PRIu32 "\n"
             "#define TKJ_STAGED_PAGES %" PRIu32 "\n"
             "#define TKJ_SHARED_BYTES %" PRIu32 "\n"
             "#include \"%s\"\n",
             entry, spec->topk, dtype_constant(spec->dtype),
             spec->index_dtype == TOPK_JIT_INT64 ? 64 : 32, layout_constant(spec->layout),
             page_shift(spec), selection.sorted,
             selection.deterministic || selection.tie_break != TOPK_JIT_TIE_BREAK_NONE,
             selection.tie_break == TOPK_JIT_TIE_BREAK_LARGEST, selection.nan_last, selection.check,
             variant->threads, variant->items, variant->blocks_per_sm, variant->clusters,
             variant->one_row, variant->sort_capacity, variant->staged_pages, variant->shared_bytes,
             variant->template_name);
}
