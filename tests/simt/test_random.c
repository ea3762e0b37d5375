/* SPDX-License-Identifier: Apache-2.0 */
/* Random calls of every listed kernel, judged and compared with the host engine, for some seconds.
   Arguments, or TOPK_JIT_SIMT_SECONDS and TOPK_JIT_SIMT_SEED: seconds, first seed, largest B and L.
   A failure is shrunk to a smaller call before it is shown. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "run_call.h"
#include "spec.h"
#include "testing.h"

#define LONG_ROW 9000

static struct {
    uint64_t seconds;
    uint64_t seed;
    tkj_call_limits limits;
} asked = {5, 0, {9, 700}};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/** Rows wide enough that k of them is a choice, sometimes longer than what a block holds, and few
 *  where they are wide. */
static tkj_call_limits limits_for(const tkj_simt_listed *listed, tkj_call_limits limits,
                                  uint64_t seed)
{
    int64_t wide = tkj_simt_spec(listed).topk + 200;
    if (seed / tkj_simt_kernel_count % 8 == 7)
        wide += LONG_ROW;
    if (limits.width > 100 && limits.width < wide)
        return (tkj_call_limits){limits.rows < 3 ? limits.rows : 3, wide};
    return limits;
}

static bool run(const tkj_simt_listed *listed, uint64_t seed, tkj_call_limits limits, char *message)
{
    topk_jit_spec spec = tkj_simt_spec(listed);
    tkj_call call;
    tkj_call twin;
    tkj_call_random(&call, &spec, seed, limits);
    tkj_call_random(&twin, &spec, seed, limits);
    bool right =
        !tkj_simt_serves(listed, &call) || tkj_simt_run_call(listed, &call, &twin, seed, message);
    tkj_call_release(&call);
    tkj_call_release(&twin);
    return right;
}

/** The smallest call near a failing one that fails too, and says so. */
static void report(const tkj_simt_listed *listed, uint64_t seed, tkj_call_limits limits,
                   char *message)
{
    static const int64_t rows[] = {1, 2, 4};
    const topk_jit_spec spec = tkj_simt_spec(listed);
    const int64_t widths[] = {2, 8, 40, spec.topk + 1, spec.topk + 40, 2 * spec.topk + 100};
    uint64_t first = seed;
    print_message("%s, seed %" PRIu64 ", B <= %" PRId64 ", L <= %" PRId64 ": %s\n", listed->spec,
                  seed, limits.rows, limits.width, message);
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
            for (uint64_t s = first; s < first + 40 && widths[w] < limits.width; s++)
                if (!run(listed, s, (tkj_call_limits){rows[r], widths[w]}, message)) {
                    limits = (tkj_call_limits){rows[r], widths[w]};
                    seed = s;
                    goto found;
                }
found:
    (void)run(listed, seed, limits, message);
    fail_msg("%s, seed %" PRIu64 ", B <= %" PRId64 ", L <= %" PRId64 ": %s", listed->spec, seed,
             limits.rows, limits.width, message);
}

static bool is_select(const tkj_simt_listed *listed)
{
    return tkj_simt_spec(listed).operation == TOPK_JIT_OPERATION_SELECT;
}

static void random_calls_are_judged_right(void **state)
{
    (void)state;
    char message[TKJ_SIMT_MESSAGE_SIZE] = "";
    uint64_t cases = 0;
    double start = now();
    print_message("first seed %" PRIu64 "\n", asked.seed);
    for (uint64_t seed = asked.seed; now() - start < (double)asked.seconds; seed++) {
        const tkj_simt_listed *listed = &tkj_simt_kernels[seed % tkj_simt_kernel_count];
        if (!is_select(listed))
            continue;
        tkj_call_limits limits = limits_for(listed, asked.limits, seed);
        if (!run(listed, seed, limits, message))
            report(listed, seed, limits, message);
        cases++;
    }
    print_message("%" PRIu64 " calls, %.0f a second\n", cases, (double)cases / (now() - start));
}

static uint64_t setting(int argc, char **argv, int i, const char *name, uint64_t otherwise)
{
    const char *text = i < argc ? argv[i] : name != NULL ? getenv(name) : NULL;
    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_calls_are_judged_right)};
    asked.seconds = setting(argc, argv, 1, "TOPK_JIT_SIMT_SECONDS", asked.seconds);
    asked.seed = setting(argc, argv, 2, "TOPK_JIT_SIMT_SEED", (uint64_t)time(NULL) << 20);
    asked.limits.rows = (int64_t)setting(argc, argv, 3, NULL, (uint64_t)asked.limits.rows);
    asked.limits.width = (int64_t)setting(argc, argv, 4, NULL, (uint64_t)asked.limits.width);
    return cmocka_run_group_tests_name("simt_random", tests, NULL, NULL);
}
