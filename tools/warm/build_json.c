/* SPDX-License-Identifier: Apache-2.0 */
#include "build_json.h"

#include "spec.h"

static json_t *describe_kernel(const warm_kernel *kernel)
{
    static const char *const states[] = {
        [WARM_NOT_TRIED] = "not_tried",         [WARM_FAILED] = "failed",
        [WARM_COMPILED] = "compiled",           [WARM_ALREADY_THERE] = "already_there",
        [WARM_WOULD_COMPILE] = "would_compile", [WARM_EVICTED] = "evicted",
    };
    char spec[TKJ_SPEC_TEXT_SIZE];
    char target[TKJ_TARGET_NAME_SIZE];
    tkj_spec_format(&kernel->spec, spec);
    tkj_target_format(kernel->target, target);
    return json_pack("{s:s, s:s, s:s, s:s, s:I, s:f, s:s?}", "spec", spec, "target", target,
                     "variant", kernel->variant.name, "status", states[kernel->state], "bytes",
                     (json_int_t)kernel->bytes, "seconds", (double)kernel->nanoseconds * 1e-9,
                     "error", kernel->error);
}

json_t *warm_build_json(const warm_kernels *kernels, const warm_summary *summary)
{
    json_t *list = json_array();
    for (size_t i = 0; list != NULL && i < kernels->count; i++) {
        if (json_array_append_new(list, describe_kernel(&kernels->at[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return json_pack(
        "{s:s, s:{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:I}, s:o}", "version",
        topk_jit_version(), "summary", "kernels", (json_int_t)kernels->count, "compiled",
        (json_int_t)summary->compiled, "already_there", (json_int_t)summary->already_there,
        "would_compile", (json_int_t)summary->would_compile, "failed", (json_int_t)summary->failed,
        "not_tried", (json_int_t)summary->not_tried, "evicted", (json_int_t)summary->evicted,
        "seconds", summary->seconds, "bytes", (json_int_t)summary->bytes, "kernels", list);
}
