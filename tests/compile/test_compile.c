/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Compiles the covering set with the NVRTC of the machine, and holds what the kernels take against
 * the checked-in table of CUDA 13.0; with another NVRTC differences are printed only.
 *
 * Usage: test_compile TABLE          the tests; exit status 77 where there is no NVRTC
 *        test_compile --write TABLE  writes the table
 */
#include "testing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile_set.h"
#include "memory.h"

#define SKIPPED 77
#define TABLE_TOOLCHAIN "nvrtc 13.0 "

static const char *table_path;
static tkj_nvrtc *nvrtc;
static tkj_compiled kernels[TKJ_COMPILE_SET_MAX];
static size_t kernel_count;
static tkj_resource_row table[TKJ_COMPILE_SET_MAX];
static size_t table_count;

static void every_kernel_compiles(void **state)
{
    (void)state;
    size_t failed = 0;
    for (size_t i = 0; i < kernel_count; i++)
        if (kernels[i].failure.status != TOPK_JIT_OK) {
            print_error("%s: %s\n", kernels[i].row.kernel, kernels[i].failure.message);
            failed++;
        }
    assert_int_equal(failed, 0);
    assert_true(kernel_count > 0);
}

static void entry_functions_do_not_spill_on_sm_90(void **state)
{
    (void)state;
    size_t looked_at = 0, spilling = 0;
    for (size_t i = 0; i < kernel_count; i++) {
        const tkj_resource_row *row = &kernels[i].row;
        if (kernels[i].architecture != 90)
            continue;
        looked_at++;
        if (row->numbers[TKJ_SPILL] > 0) {
            print_error("%s: spill is %" PRIu32 "\n", row->kernel, row->numbers[TKJ_SPILL]);
            spilling++;
        }
    }
    assert_int_equal(spilling, 0);
    assert_true(looked_at > 0);
}

/** Ends a test: with another compiler than the table's, differences only were printed. */
static void judge(size_t differences)
{
    const char *identity = tkj_nvrtc_identity(nvrtc);
    if (strncmp(identity, TABLE_TOOLCHAIN, strlen(TABLE_TOOLCHAIN)) == 0) {
        assert_int_equal(differences, 0);
    } else {
        print_message("%s is not the table's: %zu differences\n", identity, differences);
        skip();
    }
}

static void table_is_sorted_and_has_these_kernels_and_no_other(void **state)
{
    (void)state;
    static tkj_resource_row names[TKJ_COMPILE_SET_MAX];
    size_t differences = 0;
    assert_true(tkj_resources_read(table_path, table, TKJ_COMPILE_SET_MAX, &table_count));
    for (size_t i = 0; i < kernel_count; i++) {
        names[i] = kernels[i].row;
        if (tkj_resources_find(table, table_count, names[i].kernel) == NULL) {
            print_error("%s: is not in the table\n", names[i].kernel);
            differences++;
        }
    }
    for (size_t i = 0; i < table_count; i++)
        if (tkj_resources_find(names, kernel_count, table[i].kernel) == NULL) {
            print_error("%s: is in the table and was not compiled\n", table[i].kernel);
            differences++;
        }
    judge(differences);
}

/** Compares one resource of a kernel with the table's. @return true if it grew */
static bool has_grown(const tkj_resource_row *row, const tkj_resource_row *expected,
                      enum tkj_resource resource)
{
    uint32_t now = row->numbers[resource], before = expected->numbers[resource];
    if (now < before)
        print_message("%s: %s is %" PRIu32 ", the table can be tightened from %" PRIu32 "\n",
                      row->kernel, tkj_resource_names[resource], now, before);
    if (now > before)
        print_error("%s: %s is %" PRIu32 ", expected at most %" PRIu32 "\n", row->kernel,
                    tkj_resource_names[resource], now, before);
    return now > before;
}

static size_t count_grown(enum tkj_resource resource)
{
    size_t grown = 0, compared = 0;
    for (size_t i = 0; i < kernel_count; i++) {
        const tkj_resource_row *row = &kernels[i].row;
        const tkj_resource_row *expected = tkj_resources_find(table, table_count, row->kernel);
        if (expected == NULL || kernels[i].failure.status != TOPK_JIT_OK)
            continue; /* other tests name these */
        compared++;
        grown += has_grown(row, expected, resource);
    }
    assert_true(compared > 0);
    return grown;
}

static void spills_do_not_grow(void **state)
{
    (void)state;
    judge(count_grown(TKJ_SPILL) + count_grown(TKJ_OTHER_SPILL));
}

static void registers_do_not_grow(void **state)
{
    (void)state;
    judge(count_grown(TKJ_REGISTERS));
}

static void shared_memory_does_not_grow(void **state)
{
    (void)state;
    judge(count_grown(TKJ_STATIC_SHARED) + count_grown(TKJ_DYNAMIC_SHARED));
}

static void stack_does_not_grow(void **state)
{
    (void)state;
    judge(count_grown(TKJ_STACK));
}

static int compare_times(const void *a, const void *b)
{
    uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

/** Prints what it took to compile the kernels of the template and variant of one of them. */
static void print_times(const tkj_variant *variant)
{
    static uint64_t times[TKJ_COMPILE_SET_MAX];
    size_t count = 0;
    for (size_t i = 0; i < kernel_count; i++)
        if (tkj_covering_same_variant(&kernels[i].pair.variant, variant))
            times[count++] = kernels[i].nanoseconds;
    qsort(times, count, sizeof times[0], compare_times);
    size_t middle = count / 2;
    double median = (double)times[middle], max = (double)times[count - 1];
    printf("%s %s: %zu kernels, compile time median %.0f ms, max %.0f ms\n", variant->template_name,
           variant->name, count, median * 1e-6, max * 1e-6);
}

static void print_all_times(uint64_t wall_ns)
{
    for (size_t i = 0; i < kernel_count; i++) {
        bool first = true;
        for (size_t j = 0; j < i && first; j++)
            first = !tkj_covering_same_variant(&kernels[j].pair.variant, &kernels[i].pair.variant);
        if (first)
            print_times(&kernels[i].pair.variant);
    }
    printf("%s: %zu kernels in %.0f s\n", tkj_nvrtc_identity(nvrtc), kernel_count,
           (double)wall_ns * 1e-9);
}

static bool compile_all(void)
{
    uint64_t start = tkj_os_now_ns();
    kernel_count = tkj_compile_set_list(nvrtc, kernels);
    bool done = tkj_compile_set_run(nvrtc, kernels, kernel_count);
    if (done)
        print_all_times(tkj_os_now_ns() - start);
    else
        fprintf(stderr, "nothing could be compiled: %s\n", topk_jit_last_error()->message);
    return done;
}

static int write_table(void)
{
    for (size_t i = 0; i < kernel_count; i++) {
        if (kernels[i].failure.status != TOPK_JIT_OK) {
            fprintf(stderr, "%s: %s\n", kernels[i].row.kernel, kernels[i].failure.message);
            return 1;
        }
        table[i] = kernels[i].row;
    }
    if (tkj_resources_write(table_path, table, kernel_count))
        return 0;
    fprintf(stderr, "%s: %s\n", table_path, strerror(errno));
    return 1;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_compiles),
        cmocka_unit_test(entry_functions_do_not_spill_on_sm_90),
        cmocka_unit_test(table_is_sorted_and_has_these_kernels_and_no_other),
        cmocka_unit_test(spills_do_not_grow),
        cmocka_unit_test(registers_do_not_grow),
        cmocka_unit_test(shared_memory_does_not_grow),
        cmocka_unit_test(stack_does_not_grow),
    };
    bool writing = argc == 3 && strcmp(argv[1], "--write") == 0;
    if (argc != 2 && !writing) {
        fprintf(stderr, "Usage: %s [--write] TABLE\n", argv[0]);
        return 2;
    }
    table_path = argv[argc - 1];
    const tkj_logger silent = {0};
    const tkj_nvrtc_search search = {.environment_path = getenv("TOPK_JIT_NVRTC"),
                                     .cuda_home = getenv("CUDA_HOME")};
    topk_jit_status status = tkj_nvrtc_load(&tkj_default_allocator, &silent, &search, &nvrtc);
    if (status != TOPK_JIT_OK) {
        printf("%zu tests\n%s\n", sizeof tests / sizeof tests[0], topk_jit_last_error()->message);
        return status == TOPK_JIT_NVRTC_NOT_FOUND ? SKIPPED : 1;
    }
    int failed = 1;
    if (compile_all())
        failed =
            writing ? write_table() : cmocka_run_group_tests_name("compile", tests, NULL, NULL);
    tkj_nvrtc_free(nvrtc);
    return failed;
}
