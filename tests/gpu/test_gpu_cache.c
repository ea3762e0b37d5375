/* SPDX-License-Identifier: Apache-2.0 */
/* The cold path with a real driver: compile, store, hit, repair, and hits without a compiler. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "gpu_call.h"
#include "plan.h"
#include "spec.h"
#include "target.h"

static topk_jit_statistics statistics_of(topk_jit_context *context)
{
    topk_jit_statistics statistics = TOPK_JIT_STATISTICS_INIT;
    assert_int_equal(topk_jit_get_statistics(context, &statistics), TOPK_JIT_OK);
    return statistics;
}

static topk_jit_context *open_context(const char *cache_dir, const char *nvrtc_path)
{
    topk_jit_context *context = NULL;
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    options.cache_dir = cache_dir;
    options.nvrtc_path = nvrtc_path;
    assert_int_equal(topk_jit_context_create(&context, &options), TOPK_JIT_OK);
    return context;
}

/** Some selection, judged, on a context of its own. */
static void select_with(topk_jit_context *context)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    topk_jit_context *usual = tkj_gpu_context;
    spec.topk = 100;
    spec = tkj_spec_canonical(&spec);
    tkj_call call;
    tkj_gpu_context = context;
    tkj_call_random(&call, &spec, 42, (tkj_call_limits){8, 1000});
    tkj_gpu_call_run(&call, "select_with");
    tkj_call_release(&call);
    tkj_gpu_context = usual;
}

/** The kernels of the spec of select_with on this GPU. @return how many */
static size_t kernels_here(topk_jit_spec *spec, tkj_variant variants[TKJ_VARIANTS_MAX],
                           int *architecture)
{
    tkj_device_facts facts;
    int version;
    *spec = (topk_jit_spec)TOPK_JIT_SPEC_INIT;
    spec->topk = 100;
    assert_int_equal(tkj_driver_open(&version), TOPK_JIT_OK);
    assert_int_equal(tkj_driver_device_facts(0, &facts), TOPK_JIT_OK);
    *architecture = tkj_target_known_below(facts.compute_major, facts.compute_minor);
    return tkj_variants_enumerate(spec, *architecture, variants);
}

static void second_context_hits_what_the_first_compiled(void **state)
{
    (void)state;
    topk_jit_spec spec;
    int architecture;
    tkj_variant variants[TKJ_VARIANTS_MAX];
    size_t count = kernels_here(&spec, variants, &architecture);
    char *dir = tkj_test_dir_create();
    topk_jit_context *first = open_context(dir, NULL);
    select_with(first);
    assert_int_equal(statistics_of(first).compiles, count);
    assert_int_equal(statistics_of(first).stores, count);
    topk_jit_context *second = open_context(dir, "/nonexistent/libnvrtc.so");
    select_with(second);
    select_with(second);
    topk_jit_statistics statistics = statistics_of(second);
    assert_int_equal(statistics.compiles, 0);
    assert_int_equal(statistics.user_hits, count);
    print_message("%zu kernels: compile %.1f ms, load %.3f ms, disk hits %.3f ms\n", count,
                  (double)statistics_of(first).compile_ns / 1e6, (double)statistics.load_ns / 1e6,
                  (double)statistics.lookup_ns / 1e6);
    topk_jit_context_destroy(first);
    topk_jit_context_destroy(second);
    tkj_test_dir_remove(dir);
}

/** Entries of one target and of no other serve this GPU, with NVRTC out of reach. */
static void run_warmed(bool ptx)
{
    topk_jit_spec spec;
    tkj_target target = {0, ptx};
    tkj_variant variants[TKJ_VARIANTS_MAX];
    size_t count = kernels_here(&spec, variants, &target.architecture);
    char *dir = tkj_test_dir_create();
    topk_jit_context *warm = open_context(dir, NULL);
    for (size_t v = 0; v < count; v++) {
        tkj_warm_result result;
        assert_int_equal(tkj_plan_warm(warm, &spec, &variants[v], target, 0, &result), TOPK_JIT_OK);
    }
    topk_jit_context *context = open_context(dir, "/nonexistent/libnvrtc.so");
    select_with(context);
    assert_int_equal(statistics_of(context).user_hits, count);
    topk_jit_context_destroy(warm);
    topk_jit_context_destroy(context);
    tkj_test_dir_remove(dir);
}

static void warmed_entry_loads_without_a_compiler(void **state)
{
    (void)state;
    run_warmed(false);
}

static void ptx_entry_serves_where_there_is_no_cubin(void **state)
{
    (void)state;
    run_warmed(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_context_hits_what_the_first_compiled),
        cmocka_unit_test(warmed_entry_loads_without_a_compiler),
        cmocka_unit_test(ptx_entry_serves_where_there_is_no_cubin),
    };
    return TKJ_GPU_MAIN("gpu_cache", tests);
}
