/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of fault is found in a kernel that has it, and none in its corrected twin. */
#include <stdio.h>
#include <string.h>

#include "small_launch.h"
#include "testing.h"
#include "wrong.h"

#define DECLARE(name, wrong, grid, cluster, by, text) extern const tkj_simt_kernel wrong_##name;
WRONG_KERNELS(DECLARE)
WRONG_ASYNC_KERNELS(DECLARE)

/** One way of one kernel to be wrong. */
typedef struct wrong_case {
    const char *name;
    const tkj_simt_kernel *kernel;
    uint32_t wrong;
    uint32_t grid;
    uint32_t cluster;
    int by;
    const char *text; /* parts of messages, separated by | */
} wrong_case;

#define CASE(name, wrong, grid, cluster, by, text)                                                 \
    {#name, &wrong_##name, wrong, grid, cluster, by, text},
static const wrong_case cases[] = {WRONG_KERNELS(CASE) WRONG_ASYNC_KERNELS(CASE)};

#define CASE_COUNT (sizeof cases / sizeof cases[0])
#define SEEDS 12

static bool run(const wrong_case *c, uint32_t wrong, uint64_t seed, char *message)
{
    small_memory memory;
    bool right = small_launch_run(&memory, c->kernel, wrong, c->grid, c->cluster, seed, message);
    small_launch_release(&memory);
    return right;
}

static bool says(const char *message, const char *parts)
{
    for (;;) {
        char part[64];
        size_t length = strcspn(parts, "|");
        snprintf(part, sizeof part, "%.*s", (int)length, parts);
        if (strstr(message, part) != NULL)
            return true;
        if (parts[length] == '\0')
            return false;
        parts += length + 1;
    }
}

static void wrong_kernel_is_caught_and_its_twin_is_not(void **state)
{
    const wrong_case *c = *state;
    char message[TKJ_SIMT_MESSAGE_SIZE];
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        if (!run(c, 0, seed, message))
            fail_msg("%s, seed %d: the corrected kernel: %s", c->name, (int)seed, message);
        if ((c->by & (tkj_simt_finds_races() ? BY_RACE : BY_SANITIZED)) == 0)
            continue;
        if (run(c, c->wrong, seed, message))
            fail_msg("%s, seed %d: nothing was found", c->name, (int)seed);
        if (!says(message, c->text))
            fail_msg("%s, seed %d: %s", c->name, (int)seed, message);
    }
}

int main(void)
{
    struct CMUnitTest tests[CASE_COUNT];
    for (size_t i = 0; i < CASE_COUNT; i++)
        tests[i] = (struct CMUnitTest){.name = cases[i].name,
                                       .test_func = wrong_kernel_is_caught_and_its_twin_is_not,
                                       .initial_state = (void *)(uintptr_t)&cases[i]};
    return cmocka_run_group_tests_name("simt_wrong", tests, NULL, NULL);
}
