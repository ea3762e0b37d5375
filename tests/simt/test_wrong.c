/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of fault is found in a kernel that has it, and none in its corrected twin. */
#include <stdio.h>
#include <string.h>

#include "guarded.h"
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

static tkj_simt_region region_of(const char *name, const tkj_guarded *memory, bool output)
{
    return (tkj_simt_region){
        .name = name,
        .data = tkj_guarded_data(memory),
        .rows = memory->rows,
        .row_bytes = memory->columns * 4,
        .pitch_bytes = memory->stride * 4,
        .writable = output,
        .written = !output,
        .block = memory->block,
        .block_size = memory->block_size,
    };
}

static bool run(const wrong_case *c, uint32_t wrong, uint64_t seed, char *message)
{
    tkj_guarded in;
    tkj_guarded out;
    uint32_t counter = 0;
    assert_true(tkj_guarded_create(&in, WRONG_ROWS, WRONG_COLUMNS, WRONG_PITCH, 4, 0));
    assert_true(tkj_guarded_create(&out, WRONG_ROWS, WRONG_COLUMNS, WRONG_PITCH, 4, 0));
    const wrong_params params = {tkj_guarded_data(&in), tkj_guarded_data(&out), &counter, wrong};
    const tkj_simt_region regions[] = {
        region_of("in", &in, false),
        region_of("out", &out, true),
        {.name = "counter", .data = &counter, .rows = 1, .row_bytes = 4, .writable = true, .written = true},
    };
    const tkj_simt_launch launch = {c->kernel, c->grid, c->cluster, &params, regions, 3, seed};
    bool right = tkj_simt_run(&launch, message);
    tkj_guarded_destroy(&in);
    tkj_guarded_destroy(&out);
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
