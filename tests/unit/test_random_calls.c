/* SPDX-License-Identifier: Apache-2.0 */
/* Random legal calls of many specs through the public function, on the host engine. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "call.h"
#include "judge.h"
#include "random_specs.h"
#include "testing.h"

static topk_jit_context *context;

static int create_context(void **state)
{
    (void)state;
    return topk_jit_context_create(&context, NULL) == TOPK_JIT_OK ? 0 : -1;
}

static int destroy_context(void **state)
{
    (void)state;
    topk_jit_context_destroy(context);
    return 0;
}

static void run_one(uint64_t seed)
{
    char message[TKJ_JUDGE_MESSAGE_SIZE];
    topk_jit_spec spec = tkj_random_spec(seed);
    tkj_call call;
    tkj_call_random(&call, &spec, seed, (tkj_call_limits){9, 700});
    tkj_call_poison(&call);
    topk_jit_select_args args = tkj_call_args(&call);
    if (topk_jit_select(context, &args, NULL) != TOPK_JIT_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, topk_jit_last_error()->message);
    if (!tkj_call_judge(&call, message))
        fail_msg("seed %llu: %s", (unsigned long long)seed, message);
    tkj_call_release(&call);
}

static void known_seeds_are_judged_right(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++)
        run_one(seed);
}

static void fresh_seeds_are_judged_right(void **state)
{
    (void)state;
    uint64_t first = (uint64_t)time(NULL) << 20;
    print_message("first seed %llu\n", (unsigned long long)first);
    for (uint64_t i = 0; i < 2000; i++)
        run_one(first + i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_seeds_are_judged_right),
        cmocka_unit_test(fresh_seeds_are_judged_right),
    };
    return cmocka_run_group_tests_name("random_calls", tests, create_context, destroy_context);
}
