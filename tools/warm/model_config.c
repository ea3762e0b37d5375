/* SPDX-License-Identifier: Apache-2.0 */
#include "model_config.h"

#include <inttypes.h>

#include "command.h"
#include "complain.h"
#include "model_facts.h"
#include "product.h"

#define PAGE_TOKENS 64
#define COMPRESSED_PAGE_TOKENS 256

/** Keys in a page. @return 0 if that is no whole number */
static int64_t page_size_of(const warm_model *model)
{
    if (model->ratio == 1)
        return PAGE_TOKENS;
    return COMPRESSED_PAGE_TOKENS % model->ratio == 0 ? COMPRESSED_PAGE_TOKENS / model->ratio : 0;
}

/** Has what the model says in the places of options that were not given. */
static bool fill_in(const char *path, const warm_model *model, warm_options *options)
{
    options->topk[0] = model->topk;
    options->topk_count = 1;
    if (options->layouts == 0)
        options->layouts = 1u << TOPK_JIT_LAYOUT_PAGED | 1u << TOPK_JIT_LAYOUT_RAGGED;
    if (options->index_dtypes == 0)
        options->index_dtypes = 1u << TOPK_JIT_INT32;
    if (options->page_sizes != 0 || (options->layouts & 1u << TOPK_JIT_LAYOUT_PAGED) == 0)
        return true;
    options->page_sizes = (uint32_t)page_size_of(model) | 1;
    if (page_size_of(model) != 0)
        return true;
    warm_complain("%s: a compress ratio of %" PRId64 " does not divide a page of %d tokens; "
                  "--page-size says what the server's pages hold",
                  path, model->ratio, COMPRESSED_PAGE_TOKENS);
    return false;
}

/** An index is a position in a row of scores, one for each key of the context. */
static bool indices_reach(const char *path, const warm_model *model, const warm_options *options)
{
    const int64_t last = model->context / model->ratio - 1;
    if ((options->index_dtypes & 1u << TOPK_JIT_INT32) == 0 || last <= INT32_MAX)
        return true;
    warm_complain("%s: max_position_embeddings is %" PRId64
                  ", expected at most what int32 indices reach, or --index-dtype int64",
                  path, model->context);
    return false;
}

int warm_model_config(const char *path, const warm_options *options, warm_gpus gpus,
                      warm_pairs *out)
{
    warm_model model;
    warm_options filled = *options;
    if (!warm_model_read(path, &model) || !fill_in(path, &model, &filled) ||
        !indices_reach(path, &model, &filled))
        return WARM_EXIT_USAGE;
    return warm_product(&filled, gpus, out);
}
