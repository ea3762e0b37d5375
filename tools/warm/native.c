/* SPDX-License-Identifier: Apache-2.0 */
#include "native.h"

#include "command.h"
#include "complain.h"
#include "context.h"
#include "driver.h"
#include "plan.h"

/** What a miss would take. */
static bool choose_target(const tkj_nvrtc *nvrtc, const tkj_device_facts *facts, tkj_target *out)
{
    tkj_target order[TKJ_TARGET_ORDER_MAX];
    size_t chosen = 0;
    const size_t count = tkj_target_order(facts->compute_major, facts->compute_minor, order);
    const bool found = tkj_plan_choose_target(nvrtc, order, count, &chosen);
    *out = order[chosen];
    return found;
}

static int describe(const tkj_nvrtc *nvrtc, int ordinal, warm_gpu *out)
{
    tkj_device_facts facts;
    if (tkj_driver_device_facts(ordinal, &facts) != TOPK_JIT_OK) {
        warm_complain("--arch native: GPU %d: %s", ordinal, topk_jit_last_error()->message);
        return WARM_EXIT_FAILED;
    }
    out->architecture = tkj_target_known_below(facts.compute_major, facts.compute_minor);
    if (out->architecture == 0 || !choose_target(nvrtc, &facts, &out->target)) {
        warm_complain("--arch native: %s cannot compile for GPU %d (compute capability %d.%d)",
                      tkj_nvrtc_identity(nvrtc), ordinal, facts.compute_major, facts.compute_minor);
        return WARM_EXIT_FAILED;
    }
    return WARM_EXIT_DONE;
}

int warm_native(topk_jit_context *context, warm_gpu out[WARM_NATIVE_MAX], size_t *count)
{
    int devices;
    *count = 0;
    const char *why = warm_devices(&devices);
    if (why != NULL) {
        warm_complain("--arch native: no GPU: %s", why);
        return WARM_EXIT_NO_GPU;
    }
    const tkj_nvrtc *nvrtc = NULL;
    if (tkj_context_nvrtc(context, &nvrtc) != TOPK_JIT_OK) {
        warm_complain("%s", topk_jit_last_error()->message);
        return WARM_EXIT_FAILED;
    }
    /* equal architectures are left to warm_pairs_unique */
    int code = WARM_EXIT_DONE;
    for (int i = 0; i < devices && code == WARM_EXIT_DONE; i++) {
        code = describe(nvrtc, i, &out[*count]);
        *count += code == WARM_EXIT_DONE;
    }
    return code;
}
