/* SPDX-License-Identifier: Apache-2.0 */
#include "explain.h"

#include <stdint.h>
#include <stdlib.h>

#include "complain.h"
#include "context.h"
#include "plan_offline.h"

static tkj_cache *cache_of(const warm_explained *kernel)
{
    return kernel->build.context->cache;
}

/** A hit says more than anything, something that does not count more than nothing. */
static bool says_more(const tkj_cache_answer *answer, const tkj_cache_answer *than)
{
    return answer->outcome == TKJ_CACHE_HIT || answer->outcome > than->outcome ||
           (answer->outcome == than->outcome && than->note.modified == 0 &&
            answer->note.modified != 0);
}

/** Asks one layer for one target and CUDA major; the answer replaces one that says less. */
static bool ask(const warm_explanation *about, warm_explained *kernel, size_t layer, int major,
                warm_answer *best)
{
    tkj_cache_answer answer;
    const tkj_cache_query query = tkj_build_query(&kernel->build, major, about->toolchain);
    if (!tkj_cache_ask(cache_of(kernel), &query, layer, &answer))
        return false;
    const bool is_first = best->cache.path == NULL;
    if (is_first || says_more(&answer, &best->cache)) {
        if (!is_first)
            tkj_cache_answer_release(cache_of(kernel), &best->cache);
        best->cache = answer;
        best->major = major;
    } else {
        tkj_cache_answer_release(cache_of(kernel), &answer);
    }
    return true;
}

/** Whether a layer that has nothing that counts has an entry that only a newer driver could load.
 */
static void look_for_newer(const warm_explanation *about, warm_explained *kernel, size_t layer,
                           warm_answer *best)
{
    tkj_build_aim(&kernel->build, about->aim.order[0]);
    for (int i = 1; i <= TKJ_NEWER_MAJORS && !best->too_new; i++) {
        warm_answer newer = {.rank = 0};
        if (!ask(about, kernel, layer, about->aim.newest_major + i, &newer))
            return;
        best->too_new = newer.cache.outcome == TKJ_CACHE_HIT;
        if (best->too_new)
            best->major = newer.major;
        tkj_cache_answer_release(cache_of(kernel), &newer.cache);
    }
}

/** The answer of one layer: the first hit in the order in which the library looks. @return false
 *  past the last layer */
static bool answer_of(const warm_explanation *about, warm_explained *kernel, size_t layer,
                      warm_answer *out)
{
    const int majors = about->aim.newest_major - TKJ_OLDEST_MAJOR + 1;
    *out = (warm_answer){.rank = 0};
    for (size_t target = 0; target < about->aim.order_count; target++) {
        tkj_build_aim(&kernel->build, about->aim.order[target]);
        for (int i = 0; i < majors; i++) {
            if (!ask(about, kernel, layer, about->aim.newest_major - i, out))
                return false;
            out->rank = target * (size_t)majors + (size_t)i;
            if (out->cache.outcome == TKJ_CACHE_HIT || out->cache.outcome == TKJ_CACHE_UNUSABLE)
                return true; /* what cannot be used cannot be for any query */
        }
    }
    if (out->cache.outcome == TKJ_CACHE_ABSENT && about->aim.ordinal >= 0)
        look_for_newer(about, kernel, layer, out);
    return true;
}

/** What a look-up takes: of equal rank the first layer. */
static void choose(warm_explained *kernel)
{
    warm_answer *chosen = NULL;
    for (size_t i = 0; i < kernel->answer_count; i++) {
        warm_answer *answer = &kernel->answers[i];
        if (answer->cache.outcome == TKJ_CACHE_HIT &&
            (chosen == NULL || answer->rank < chosen->rank))
            chosen = answer;
    }
    kernel->found = chosen != NULL;
    if (chosen != NULL)
        chosen->used = true;
}

static bool refuse(const char *why)
{
    warm_complain("%s", why);
    return false;
}

static bool ask_all(const warm_explanation *about, warm_explained *kernel)
{
    warm_answer answer;
    for (size_t layer = 1; answer_of(about, kernel, layer, &answer); layer++) {
        warm_answer *larger = reallocarray(kernel->answers, layer, sizeof *larger);
        if (larger == NULL) {
            tkj_cache_answer_release(cache_of(kernel), &answer.cache);
            return refuse("out of memory");
        }
        kernel->answers = larger;
        kernel->answers[kernel->answer_count++] = answer;
    }
    choose(kernel);
    tkj_build_aim(&kernel->build, about->aim.order[0]);
    return true;
}

bool warm_explain(topk_jit_context *context, const topk_jit_spec *spec, const tkj_plan_aim *aim,
                  warm_explanation *out)
{
    tkj_variant variants[TKJ_VARIANTS_MAX];
    *out = (warm_explanation){.context = context, .spec = *spec, .aim = *aim};
    out->toolchain = tkj_context_toolchain(context);
    const size_t count = tkj_variants_enumerate(spec, aim->architecture, variants);
    out->kernels = calloc(count, sizeof *out->kernels);
    if (out->kernels == NULL || tkj_cache_user_layer(context->cache) == SIZE_MAX)
        return refuse("out of memory");
    for (size_t i = 0; i < count; i++) {
        warm_explained *kernel = &out->kernels[out->kernel_count++];
        kernel->variant = variants[i];
        if (tkj_build_start(&kernel->build, context, &out->spec, &kernel->variant) != TOPK_JIT_OK)
            return refuse(topk_jit_last_error()->message);
        if (!ask_all(out, kernel))
            return false;
        out->missing += !kernel->found;
    }
    return true;
}

void warm_explanation_release(warm_explanation *explanation)
{
    for (size_t i = 0; i < explanation->kernel_count; i++) {
        warm_explained *kernel = &explanation->kernels[i];
        for (size_t k = 0; k < kernel->answer_count; k++)
            tkj_cache_answer_release(cache_of(kernel), &kernel->answers[k].cache);
        free(kernel->answers);
    }
    free(explanation->kernels);
}

const char *warm_explain_advice(const warm_explanation *explanation)
{
    return explanation->context->config.values.mode == TOPK_JIT_MODE_OFF
               ? "nothing is looked for while TOPK_JIT_MODE is off: unset it"
               : NULL;
}

void warm_explain_command(const warm_explanation *explanation, char out[WARM_EXPLAIN_COMMAND_SIZE])
{
    tkj_text text = tkj_text_start(out, WARM_EXPLAIN_COMMAND_SIZE);
    const tkj_plan_aim *aim = &explanation->aim;
    tkj_build build = explanation->kernels[0].build;
    build.spec = &explanation->spec;
    tkj_build_aim(&build, tkj_target_best_known(aim->order, aim->order_count));
    tkj_plan_command(&text, &build);
}
