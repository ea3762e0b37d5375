/* SPDX-License-Identifier: Apache-2.0 */
#include "explain.h"
#include "inventory.h"
#include "out_json.h"
#include "spec.h"
#include "variant_text.h"

static const char *answer_name(const warm_answer *answer)
{
    static const char *const names[] = {
        [TKJ_CACHE_HIT] = "hit",           [TKJ_CACHE_ABSENT] = "absent",
        [TKJ_CACHE_UNUSABLE] = "unusable", [TKJ_CACHE_UNREADABLE] = "unreadable",
        [TKJ_CACHE_CORRUPT] = "corrupt",
    };
    return answer->too_new ? "too_new" : names[answer->cache.outcome];
}

static json_t *number_if(bool is_there, json_int_t number)
{
    return is_there ? json_integer(number) : json_null();
}

static json_t *describe_answer(const warm_answer *answer)
{
    const bool hit = answer->cache.outcome == TKJ_CACHE_HIT;
    return json_pack("{s:s, s:o, s:s, s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "layer",
                     warm_place_kind(answer->cache.kind), "path",
                     warm_json_string(answer->cache.path), "answer", answer_name(answer), "why",
                     warm_json_string(answer->cache.note.why), "used", answer->used, "major",
                     number_if(hit || answer->too_new, answer->major), "target",
                     warm_json_string(answer->cache.entry.target), "toolchain",
                     warm_json_string(answer->cache.entry.toolchain), "bytes",
                     number_if(hit, (json_int_t)answer->cache.bytes.size), "modified",
                     number_if(hit, (json_int_t)answer->cache.note.modified));
}

static json_t *describe_kernel(const warm_explained *kernel)
{
    char purpose[TKJ_VARIANT_TEXT_SIZE];
    char key[2 * TKJ_DIGEST_SIZE + 1];
    json_t *layers = json_array();
    for (size_t i = 0; i < kernel->answer_count; i++)
        if (json_array_append_new(layers, describe_answer(&kernel->answers[i])) != 0) {
            json_decref(layers);
            return NULL;
        }
    tkj_variant_text(&kernel->variant, purpose);
    tkj_digest_format(kernel->build.key.digest, key);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:o}", "entry_name",
                     kernel->build.entry_name, "variant", kernel->variant.name, "purpose", purpose,
                     "template", kernel->variant.template_name, "key", key, "preimage",
                     kernel->build.key.preimage, "found", kernel->found, "layers", layers);
}

static json_t *command_of(const warm_explanation *explanation)
{
    char command[WARM_EXPLAIN_COMMAND_SIZE];
    if (explanation->missing == 0 || warm_explain_advice(explanation) != NULL)
        return json_null();
    warm_explain_command(explanation, command);
    return warm_json_string(command);
}

json_t *warm_explain_json(const warm_explanation *explanation)
{
    char target[TKJ_TARGET_NAME_SIZE];
    json_t *kernels = json_array();
    for (size_t i = 0; i < explanation->kernel_count; i++)
        if (json_array_append_new(kernels, describe_kernel(&explanation->kernels[i])) != 0) {
            json_decref(kernels);
            return NULL;
        }
    const tkj_plan_aim *aim = &explanation->aim;
    tkj_target_format(aim->order[0], target);
    return json_pack("{s:s, s:o, s:o, s:o, s:I, s:o, s:s?, s:o}", "target", target, "device",
                     number_if(aim->ordinal >= 0, aim->ordinal), "driver_cuda",
                     number_if(aim->ordinal >= 0, aim->newest_major), "only_toolchain",
                     warm_json_string(explanation->toolchain), "missing",
                     (json_int_t)explanation->missing, "command", command_of(explanation), "advice",
                     warm_explain_advice(explanation), "kernels", kernels);
}
