/* SPDX-License-Identifier: Apache-2.0 */
#include "product.h"

#include "complain.h"
#include "spec.h"

#define BIT(enumerator) (1u << (enumerator))

static const uint32_t SELECT = BIT(TOPK_JIT_OPERATION_SELECT);
static const uint32_t FAST_TOPK = BIT(TOPK_JIT_OPERATION_FAST_TOPK);
static const uint32_t SELECT_DTYPES =
    BIT(TOPK_JIT_FLOAT32) | BIT(TOPK_JIT_FLOAT16) | BIT(TOPK_JIT_BFLOAT16);

/** The value, or what an absent flag means. */
static uint32_t set_or(uint32_t given, uint32_t otherwise)
{
    return given != 0 ? given : otherwise;
}

static bool refuse(const char *reason)
{
    warm_complain("%s", reason);
    return false;
}

/* A value that no kernel of the product could have is a misunderstanding: it is refused rather
   than ignored. */

static bool select_applies(const warm_options *options)
{
    const uint32_t layouts = set_or(options->layouts, BIT(TOPK_JIT_LAYOUT_PLAIN));
    const bool paged = (layouts & BIT(TOPK_JIT_LAYOUT_PAGED)) != 0;
    const uint32_t dtypes = set_or(options->dtypes, BIT(TOPK_JIT_FLOAT32));
    const bool alone = (options->operations & FAST_TOPK) == 0;
    if (paged && options->page_sizes == 0)
        return refuse("--layout paged needs --page-size");
    if (!paged && options->page_sizes != 0)
        return refuse("--page-size applies to --layout paged only");
    if (alone ? (dtypes & ~SELECT_DTYPES) == 0 : (dtypes & SELECT_DTYPES) != 0)
        return true;
    const unsigned wrong = (unsigned)__builtin_ctz(dtypes & ~SELECT_DTYPES);
    warm_complain("--dtype: operation select has no %s (known: float32, float16, bfloat16)",
                  tkj_dtype_name((topk_jit_dtype)wrong));
    return false;
}

static bool fast_topk_applies(const warm_options *options)
{
    if ((options->layouts & ~BIT(TOPK_JIT_LAYOUT_PLAIN)) != 0 || options->page_sizes != 0)
        return refuse("operation fast_topk has the plain layout only");
    if ((options->index_dtypes & BIT(TOPK_JIT_INT32)) != 0)
        return refuse("operation fast_topk has int64 indices only");
    if ((options->tie_breaks & ~BIT(TOPK_JIT_TIE_BREAK_NONE)) != 0 || options->sorted ||
        options->deterministic || options->nan_last || options->check)
        return refuse("operation fast_topk has no options: it is always sorted and deterministic");
    return true;
}

/** Everything that the product's steps share. */
typedef struct cross_product {
    const warm_options *options;
    warm_gpus gpus;
    warm_pairs *out;
} cross_product;

static int add_spec(const cross_product *product, const topk_jit_spec *spec)
{
    if (tkj_spec_validate(spec) != TOPK_JIT_OK) {
        warm_complain("%s", topk_jit_last_error()->message);
        return WARM_EXIT_USAGE;
    }
    return warm_pairs_add(product->out, spec, product->gpus);
}

/* The loops of the product, one list each. They leave a set's members in ascending order. */

static int add_tie_breaks(const cross_product *product, topk_jit_spec spec)
{
    const uint32_t set = set_or(product->options->tie_breaks, BIT(TOPK_JIT_TIE_BREAK_NONE));
    int code = WARM_EXIT_DONE;
    for (unsigned i = 0; i < 32 && code == WARM_EXIT_DONE; i++) {
        spec.tie_break = (topk_jit_tie_break)i;
        if ((set & BIT(i)) != 0)
            code = add_spec(product, &spec);
    }
    return code;
}

static int add_index_dtypes(const cross_product *product, topk_jit_spec spec)
{
    const uint32_t set = set_or(product->options->index_dtypes, BIT(TOPK_JIT_INT32));
    int code = WARM_EXIT_DONE;
    for (unsigned i = 0; i < 32 && code == WARM_EXIT_DONE; i++) {
        spec.index_dtype = (topk_jit_dtype)i;
        if ((set & BIT(i)) != 0)
            code = add_tie_breaks(product, spec);
    }
    return code;
}

static int add_page_sizes(const cross_product *product, topk_jit_spec spec)
{
    if (spec.layout != TOPK_JIT_LAYOUT_PAGED)
        return add_index_dtypes(product, spec);
    int code = WARM_EXIT_DONE;
    for (unsigned i = 0; i < 31 && code == WARM_EXIT_DONE; i++) {
        spec.page_size = INT64_C(1) << i;
        if ((product->options->page_sizes & BIT(i)) != 0)
            code = add_index_dtypes(product, spec);
    }
    return code;
}

static int add_select(const cross_product *product, topk_jit_spec spec)
{
    const warm_options *options = product->options;
    if ((BIT(spec.dtype) & SELECT_DTYPES) == 0)
        return WARM_EXIT_DONE; /* the dtype is meant for fast_topk */
    spec.operation = TOPK_JIT_OPERATION_SELECT;
    spec.sorted = options->sorted;
    spec.deterministic = options->deterministic;
    spec.nan_last = options->nan_last;
    spec.check = options->check;
    const uint32_t set = set_or(options->layouts, BIT(TOPK_JIT_LAYOUT_PLAIN));
    int code = WARM_EXIT_DONE;
    for (unsigned i = 0; i < 32 && code == WARM_EXIT_DONE; i++) {
        spec.layout = (topk_jit_layout)i;
        if ((set & BIT(i)) != 0)
            code = add_page_sizes(product, spec);
    }
    return code;
}

static int add_fast_topk(const cross_product *product, topk_jit_spec spec)
{
    spec.operation = TOPK_JIT_OPERATION_FAST_TOPK;
    spec.index_dtype = TOPK_JIT_INT64;
    return add_spec(product, &spec);
}

static int add_operations(const cross_product *product, int64_t topk)
{
    const uint32_t operations = set_or(product->options->operations, SELECT);
    const uint32_t dtypes = set_or(product->options->dtypes, BIT(TOPK_JIT_FLOAT32));
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.topk = topk;
    int code = WARM_EXIT_DONE;
    for (unsigned i = 0; i < 32 && code == WARM_EXIT_DONE; i++) {
        spec.dtype = (topk_jit_dtype)i;
        if ((dtypes & BIT(i)) == 0)
            continue;
        if ((operations & SELECT) != 0)
            code = add_select(product, spec);
        if ((operations & FAST_TOPK) != 0 && code == WARM_EXIT_DONE)
            code = add_fast_topk(product, spec);
    }
    return code;
}

int warm_product(const warm_options *options, warm_gpus gpus, warm_pairs *out)
{
    const cross_product product = {options, gpus, out};
    const bool select = (set_or(options->operations, SELECT) & SELECT) != 0;
    if (!(select ? select_applies(options) : fast_topk_applies(options)))
        return WARM_EXIT_USAGE;
    if (options->topk_count == 0)
        return add_operations(&product, ((topk_jit_spec)TOPK_JIT_SPEC_INIT).topk);
    int code = WARM_EXIT_DONE;
    for (size_t i = 0; i < options->topk_count && code == WARM_EXIT_DONE; i++)
        code = add_operations(&product, options->topk[i]);
    return code;
}
