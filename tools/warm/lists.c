/* SPDX-License-Identifier: Apache-2.0 */
#include "lists.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse_number.h"
#include "spec.h"

/* Each taker adds one word to the options; false = it is none that is known. */

static bool take_arch(warm_options *options, const char *word)
{
    if (strcmp(word, "native") == 0) {
        options->native = true;
        return true;
    }
    if (options->target_count == WARM_TARGETS_MAX ||
        !tkj_target_parse(word, &options->targets[options->target_count]))
        return false;
    options->target_count++;
    return true;
}

static bool take_operation(warm_options *options, const char *word)
{
    topk_jit_operation value;
    if (!tkj_operation_parse(word, &value))
        return false;
    options->operations |= 1u << value;
    return true;
}

static bool take_topk(warm_options *options, const char *word)
{
    if (options->topk_count == WARM_TOPK_MAX ||
        !tkj_parse_number(word, 1, INT64_MAX, &options->topk[options->topk_count]))
        return false;
    options->topk_count++;
    return true;
}

static bool take_dtype(warm_options *options, const char *word)
{
    topk_jit_dtype value;
    if (!tkj_dtype_parse(word, &value))
        return false;
    options->dtypes |= 1u << value;
    return true;
}

static bool take_layout(warm_options *options, const char *word)
{
    topk_jit_layout value;
    if (!tkj_layout_parse(word, &value))
        return false;
    options->layouts |= 1u << value;
    return true;
}

static bool take_page_size(warm_options *options, const char *word)
{
    int64_t value;
    if (!tkj_parse_number(word, 1, INT64_C(1) << 30, &value) || (value & (value - 1)) != 0)
        return false;
    options->page_sizes |= (uint32_t)value;
    return true;
}

static bool take_index_dtype(warm_options *options, const char *word)
{
    topk_jit_dtype value;
    if (!tkj_dtype_parse(word, &value) || (value != TOPK_JIT_INT32 && value != TOPK_JIT_INT64))
        return false;
    options->index_dtypes |= 1u << value;
    return true;
}

static bool take_tie_break(warm_options *options, const char *word)
{
    topk_jit_tie_break value;
    if (!tkj_tie_break_parse(word, &value))
        return false;
    options->tie_breaks |= 1u << value;
    return true;
}

/** One flag: how a word is taken, and how it is refused. */
typedef struct list_flag {
    const char *name;
    bool (*take)(warm_options *options, const char *word);
    const char *refusal;
    const char *known; /* NULL: the architectures of tkj_architectures */
} list_flag;

static const list_flag list_flags[WARM_LIST_COUNT] = {
    [WARM_LIST_ARCH] = {"arch", take_arch, "unknown architecture", NULL},
    [WARM_LIST_OPERATION] = {"operation", take_operation, "unknown operation", "select, fast_topk"},
    [WARM_LIST_TOPK] = {"topk", take_topk, "wrong number", "from 1 on, at most 256 of them"},
    [WARM_LIST_DTYPE] = {"dtype", take_dtype, "unknown dtype",
                         "float32, float16, bfloat16, float64, int32, int64"},
    [WARM_LIST_LAYOUT] = {"layout", take_layout, "unknown layout", "plain, paged, ragged"},
    [WARM_LIST_PAGE_SIZE] = {"page-size", take_page_size, "wrong page size",
                             "powers of two from 1 to 2^30"},
    [WARM_LIST_INDEX_DTYPE] = {"index-dtype", take_index_dtype, "unknown index dtype",
                               "int32, int64"},
    [WARM_LIST_TIE_BREAK] = {"tie-break", take_tie_break, "unknown tie break",
                             "none, smallest, largest"},
};

static void complain_unknown(const list_flag *flag, const char *word)
{
    char known[1024] = "native";
    for (size_t i = 0; flag->known == NULL && i < tkj_architecture_count; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, ", sm_%d", tkj_architectures[i].number);
    }
    warm_complain("--%s: %s '%s' (known: %s)", flag->name, flag->refusal, word,
                  flag->known != NULL ? flag->known : known);
}

bool warm_list_take(warm_options *options, warm_list list, const char *words)
{
    const list_flag *flag = &list_flags[list];
    char *copy = strdup(words);
    bool ok = copy != NULL;
    char *rest = copy;
    for (char *word = strsep(&rest, ","); ok && word != NULL; word = strsep(&rest, ",")) {
        ok = flag->take(options, word);
        if (!ok)
            complain_unknown(flag, word);
    }
    free(copy);
    return ok;
}
