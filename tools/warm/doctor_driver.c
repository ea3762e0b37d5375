/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <link.h>

#include "doctor.h"
#include "driver.h"
#include "plan.h"
#include "plan_explain.h"

/** The file that the loader took for libcuda, which stays open. */
static const char *driver_file(void)
{
    static const char unknown[] = "libcuda.so.1";
    struct link_map *map = NULL;
    void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle == NULL || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map->l_name[0] == '\0')
        return unknown;
    return map->l_name;
}

void warm_check_driver(warm_doctor *doctor)
{
    int version = 0;
    const topk_jit_status status = tkj_driver_open(&version);
    if (status == TOPK_JIT_OK) {
        warm_ok(doctor, "%s, for CUDA %d.%d", driver_file(), version / 1000, version % 1000 / 10);
    } else if (status == TOPK_JIT_DRIVER_NOT_FOUND || status == TOPK_JIT_NO_DEVICE) {
        warm_note(doctor, "%s", topk_jit_last_error()->message);
        warm_advise(doctor, "nothing, if this machine only builds; a server needs driver and GPU");
    } else {
        warm_problem(doctor, "%s", topk_jit_last_error()->message);
        warm_advise(doctor, status == TOPK_JIT_DRIVER_TOO_OLD
                                ? "install a newer driver"
                                : "see what nvidia-smi says; reload or reinstall the driver");
    }
}

void warm_check_toolkit(warm_doctor *doctor)
{
    int version = 0;
    const tkj_nvrtc *nvrtc = warm_doctor_nvrtc(doctor);
    if (nvrtc == NULL || tkj_driver_open(&version) != TOPK_JIT_OK)
        return;
    if (tkj_plan_check_toolkit(nvrtc, version) == TOPK_JIT_OK) {
        warm_ok(doctor, "the driver loads what CUDA %d compiles", tkj_nvrtc_major(nvrtc));
        return;
    }
    warm_problem(doctor, "%s: what it compiles does not load here", topk_jit_last_error()->message);
    warm_advise(doctor, "install a newer driver, or name an NVRTC of CUDA %d with TOPK_JIT_NVRTC",
                version / 1000);
}

static void check_gpu(warm_doctor *doctor, int ordinal)
{
    tkj_device_facts facts;
    tkj_plan_aim aim;
    char target[TKJ_TARGET_NAME_SIZE];
    size_t chosen = 0;
    if (tkj_driver_device_facts(ordinal, &facts) != TOPK_JIT_OK ||
        tkj_plan_aim_device(ordinal, &aim) != TOPK_JIT_OK) {
        warm_problem(doctor, "GPU %d: %s", ordinal, topk_jit_last_error()->message);
        return;
    }
    const tkj_nvrtc *nvrtc = warm_doctor_nvrtc(doctor);
    if (nvrtc != NULL && !tkj_plan_choose_target(nvrtc, aim.order, aim.order_count, &chosen)) {
        warm_problem(doctor, "GPU %d: compute capability %d.%d, for which %s cannot compile",
                     ordinal, facts.compute_major, facts.compute_minor, tkj_nvrtc_identity(nvrtc));
        warm_advise(doctor, "install a newer NVRTC");
        return;
    }
    tkj_target_format(aim.order[chosen], target);
    if (chosen == 0) {
        warm_ok(doctor, "GPU %d: compute capability %d.%d, %d SMs: kernels for %s", ordinal,
                facts.compute_major, facts.compute_minor, facts.sm_count, target);
        return;
    }
    warm_note(doctor,
              "GPU %d: compute capability %d.%d, %d SMs: kernels for %s, for want of better",
              ordinal, facts.compute_major, facts.compute_minor, facts.sm_count, target);
    warm_advise(doctor, "install an NVRTC that knows sm_%d", aim.order[0].architecture);
}

void warm_check_gpus(warm_doctor *doctor)
{
    int version = 0;
    int count = 0;
    if (tkj_driver_open(&version) != TOPK_JIT_OK)
        return; /* as was said of the driver */
    if (tkj_driver_device_count(&count) != TOPK_JIT_OK) {
        warm_problem(doctor, "%s", topk_jit_last_error()->message);
        return;
    }
    for (int i = 0; i < count; i++)
        check_gpu(doctor, i);
    if (count == 0)
        warm_note(doctor, "none");
}
