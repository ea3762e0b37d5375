/* SPDX-License-Identifier: Apache-2.0 */
#include "sources.h"

#include "command.h"
#include "complain.h"
#include "manifest.h"
#include "model_config.h"
#include "product.h"
#include "recording.h"

static bool has_kind(const warm_options *options, warm_source_kind kind)
{
    for (size_t i = 0; i < options->source_count; i++)
        if (options->sources[i].kind == kind)
            return true;
    return false;
}

static bool describes_kernels(const warm_options *options)
{
    return options->topk_count > 0 || options->sorted || options->deterministic ||
           options->nan_last || options->check ||
           (options->operations | options->layouts | options->dtypes | options->index_dtypes |
            options->tie_breaks | options->page_sizes) != 0;
}

/** Options that describe kernels change those of a model; without one they are a product of their
 * own. */
static bool has_product(const warm_options *options)
{
    return !has_kind(options, WARM_SOURCE_MODEL_CONFIG) &&
           (options->source_count == 0 || describes_kernels(options));
}

bool warm_sources_allow(const warm_options *options)
{
    const bool model = has_kind(options, WARM_SOURCE_MODEL_CONFIG);
    if (model && (options->topk_count > 0 || options->operations != 0)) {
        warm_complain("--%s and --model-config do not go together: the model says it",
                      options->topk_count > 0 ? "topk" : "operation");
        return false;
    }
    /* a manifest may have targets of its own */
    if (options->targets.count == 0 && !options->native && !options->every &&
        (model || has_product(options) || has_kind(options, WARM_SOURCE_RECORDING))) {
        warm_complain("--arch is missing, such as --arch sm_90 or --arch native");
        return false;
    }
    return true;
}

static int add_source(const warm_options *options, const warm_source *source, warm_gpus gpus,
                      warm_pairs *out)
{
    switch (source->kind) {
    case WARM_SOURCE_MODEL_CONFIG:
        return warm_model_config(source->path, options, gpus, out);
    case WARM_SOURCE_MANIFEST:
        return warm_manifest(source->path, gpus, out);
    default:
        return warm_recording(source->path, gpus, out);
    }
}

static bool is_built(const warm_pairs *pairs, tkj_target target)
{
    for (size_t i = 0; i < pairs->count; i++)
        if (warm_target_same(pairs->at[i].gpu.target, target))
            return true;
    return false;
}

/** A GPU for which nothing is built is a misunderstanding. */
static int check_gpus(warm_gpus gpus, const warm_pairs *pairs)
{
    for (size_t i = 0; i < gpus.count; i++) {
        char name[TKJ_TARGET_NAME_SIZE];
        if (is_built(pairs, gpus.at[i].target))
            continue;
        tkj_target_format(gpus.at[i].target, name);
        warm_complain("--arch: %s applies to nothing: every kernel has targets in its manifest",
                      name);
        return WARM_EXIT_USAGE;
    }
    return WARM_EXIT_DONE;
}

int warm_sources(const warm_options *options, warm_gpus gpus, warm_pairs *out)
{
    int code = WARM_EXIT_DONE;
    *out = (warm_pairs){0};
    for (size_t i = 0; i < options->source_count && code == WARM_EXIT_DONE; i++)
        code = add_source(options, &options->sources[i], gpus, out);
    if (code == WARM_EXIT_DONE && has_product(options))
        code = warm_product(options, gpus, out);
    if (code == WARM_EXIT_DONE)
        code = check_gpus(gpus, out);
    return code == WARM_EXIT_DONE ? warm_pairs_unique(out) : code;
}
