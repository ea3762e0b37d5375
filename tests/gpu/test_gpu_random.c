/* SPDX-License-Identifier: Apache-2.0 */
/* Random calls of random specs on the GPU, judged, and compared with the host engine where the
   result is one of bytes. Arguments: number of specs, calls of each, largest B and L, first seed.
   Small numbers suit compute-sanitizer. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu_call.h"
#include "random_specs.h"
#include "spec.h"

static struct {
    uint64_t specs;
    uint64_t calls;
    tkj_call_limits limits;
    uint64_t seed;
} asked = {40, 100, {40, 20000}, 0};

/** The same call on the host engine: where the spec is deterministic, the same bytes. */
static void compare_with_host(const tkj_call *gpu, uint64_t seed, tkj_call_limits limits,
                              const char *name)
{
    tkj_call host;
    tkj_call_random(&host, &gpu->spec, seed, limits);
    tkj_call_poison(&host);
    topk_jit_select_args args = tkj_call_args(&host);
    assert_int_equal(topk_jit_select(tkj_gpu_context, &args, NULL), TOPK_JIT_OK);
    if (!tkj_call_same_outputs(gpu, &host))
        fail_msg("%s: the bytes differ from the host engine's", name);
    tkj_call_release(&host);
}

static void run_random_calls(tkj_call_limits limits)
{
    print_message("first seed %" PRIu64 "\n", asked.seed);
    for (uint64_t s = 0; s < asked.specs; s++) {
        topk_jit_spec spec = tkj_random_spec(asked.seed + s);
        char text[TKJ_SPEC_TEXT_SIZE];
        char name[TKJ_SPEC_TEXT_SIZE + 64];
        tkj_spec_format(&spec, text);
        for (uint64_t c = 0; c < asked.calls; c++) {
            uint64_t seed = asked.seed + s * asked.calls + c;
            tkj_call call;
            snprintf(name, sizeof name, "%s, seed %" PRIu64, text, seed);
            tkj_call_random(&call, &spec, seed, limits);
            tkj_gpu_call_run(&call, name);
            if (spec.deterministic)
                compare_with_host(&call, seed, limits, name);
            tkj_call_release(&call);
        }
    }
    print_message("%" PRIu64 " calls\n", asked.specs * asked.calls);
}

static void random_calls_are_judged_right(void **state)
{
    (void)state;
    run_random_calls(asked.limits);
}

/** More rows than the GPU takes at once, in as little memory. */
static void random_calls_of_many_rows_are_judged_right(void **state)
{
    (void)state;
    run_random_calls((tkj_call_limits){16 * asked.limits.rows, asked.limits.width / 10});
}

static uint64_t argument(int argc, char **argv, int i, uint64_t otherwise)
{
    return i < argc ? strtoull(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_calls_are_judged_right),
        cmocka_unit_test(random_calls_of_many_rows_are_judged_right),
    };
    asked.specs = argument(argc, argv, 1, asked.specs);
    asked.calls = argument(argc, argv, 2, asked.calls);
    asked.limits.rows = (int64_t)argument(argc, argv, 3, (uint64_t)asked.limits.rows);
    asked.limits.width = (int64_t)argument(argc, argv, 4, (uint64_t)asked.limits.width);
    asked.seed = argument(argc, argv, 5, (uint64_t)time(NULL) << 20);
    return TKJ_GPU_MAIN("gpu_random", tests);
}
