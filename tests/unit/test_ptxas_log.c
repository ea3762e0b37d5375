/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#include <string.h>

#include "ptxas_log.h"

/* NVRTC 13.0 for sm_75: two entries, and two functions that were not inlined. */
static const char log_of_13_0[] =
    "ptxas warning : Value of threads per SM for entry topk_jit_a is out of range. .minnctapersm "
    "will be ignored\n"
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'topk_jit_b' for 'sm_75'\n"
    "ptxas info    : Function properties for topk_jit_b\n"
    "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 6 registers, used 1 barriers, 400 bytes smem, 368 bytes cmem[0]\n"
    "ptxas info    : Compile time = 1.558 ms\n"
    "ptxas info    : Compiling entry function 'topk_jit_a' for 'sm_75'\n"
    "ptxas info    : Function properties for topk_jit_a\n"
    "ptxas         .     128 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads\n"
    "ptxas info    : Used 64 registers, used 1 barriers, 160 bytes cumulative stack size, 368 "
    "bytes cmem[0]\n"
    "ptxas info    : Compile time = 19.083 ms\n"
    "ptxas info    : Function properties for _Z6spillyPfi\n"
    "ptxas         .     0 bytes stack frame, 120 bytes spill stores, 124 bytes spill loads\n"
    "ptxas info    : Function properties for _ZN1q2ttILi16EEEfPf\n"
    "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";

/* CUDA 11 and 12: no barriers, properties of called functions before the entry's own. */
static const char log_of_12_0[] =
    "ptxas info    : 32 bytes gmem, 8 bytes cmem[4]\n"
    "ptxas info    : Compiling entry function 'kernel' for 'sm_80'\n"
    "ptxas info    : Function properties for _Z5otherv\n"
    "    24 bytes stack frame, 20 bytes spill stores, 16 bytes spill loads\n"
    "ptxas info    : Function properties for kernel\n"
    "    8 bytes stack frame, 3 bytes spill stores, 5 bytes spill loads\n"
    "ptxas info    : Used 255 registers, 49152 bytes smem, 376 bytes cmem[0], 16 bytes cmem[2]";

static void entry_of_nvrtc_13_0_is_read(void **state)
{
    (void)state;
    tkj_ptxas_usage usage;
    assert_true(tkj_ptxas_log_parse(log_of_13_0, "topk_jit_b", &usage));
    assert_int_equal(usage.registers, 6);
    assert_int_equal(usage.static_shared, 400);
    assert_int_equal(usage.stack, 0);
    assert_int_equal(usage.spill, 0);
    assert_int_equal(usage.other_spill, 4 + 8 + 120 + 124);
}

static void frame_with_callees_and_spills_are_told_apart(void **state)
{
    (void)state;
    tkj_ptxas_usage usage;
    assert_true(tkj_ptxas_log_parse(log_of_13_0, "topk_jit_a", &usage));
    assert_int_equal(usage.registers, 64);
    assert_int_equal(usage.static_shared, 0);
    assert_int_equal(usage.stack, 160);
    assert_int_equal(usage.spill, 12);
    assert_int_equal(usage.other_spill, 120 + 124);
}

static void older_format_is_read(void **state)
{
    (void)state;
    tkj_ptxas_usage usage;
    assert_true(tkj_ptxas_log_parse(log_of_12_0, "kernel", &usage));
    assert_int_equal(usage.registers, 255);
    assert_int_equal(usage.static_shared, 49152);
    assert_int_equal(usage.stack, 8);
    assert_int_equal(usage.spill, 8);
    assert_int_equal(usage.other_spill, 36);
}

static void name_that_is_part_of_another_does_not_match(void **state)
{
    (void)state;
    tkj_ptxas_usage usage;
    memset(&usage, 0xA5, sizeof usage);
    assert_false(tkj_ptxas_log_parse(log_of_13_0, "topk_jit", &usage));
    assert_false(tkj_ptxas_log_parse(log_of_13_0, "topk_jit_a2", &usage));
    assert_false(tkj_ptxas_log_parse(log_of_13_0, "jit_a", &usage));
    assert_int_equal(usage.registers, 0);
    assert_int_equal(usage.other_spill, 0);
}

static void function_that_is_no_entry_is_not_found(void **state)
{
    (void)state;
    tkj_ptxas_usage usage;
    assert_false(tkj_ptxas_log_parse(log_of_13_0, "_Z6spillyPfi", &usage));
    assert_int_equal(usage.stack, 0);
}

static void empty_log_speaks_of_nothing(void **state)
{
    (void)state;
    tkj_ptxas_usage usage = {1, 1, 1, 1, 1};
    assert_false(tkj_ptxas_log_parse("", "kernel", &usage));
    assert_memory_equal(&usage, &(tkj_ptxas_usage){0}, sizeof usage);
    assert_false(tkj_ptxas_log_parse("\n\n", "kernel", &usage));
}

static void carriage_returns_are_no_part_of_names(void **state)
{
    (void)state;
    tkj_ptxas_usage usage;
    assert_true(tkj_ptxas_log_parse(
        "ptxas info    : Compiling entry function 'k' for 'sm_90'\r\n"
        "ptxas info    : Function properties for k\r\n"
        "    16 bytes stack frame, 0 bytes spill stores, 4 bytes spill loads\r\n"
        "ptxas info    : Used 32 registers\r\n",
        "k", &usage));
    assert_int_equal(usage.registers, 32);
    assert_int_equal(usage.stack, 16);
    assert_int_equal(usage.spill, 4);
}

static void absurd_numbers_are_limited(void **state)
{
    (void)state;
    tkj_ptxas_usage usage;
    assert_true(tkj_ptxas_log_parse(
        "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
        "ptxas info    : Used 99999999999999999999999 registers, x bytes smem\n",
        "k", &usage));
    assert_int_equal(usage.registers, UINT32_MAX);
    assert_int_equal(usage.static_shared, 0);
}

static void every_truncated_log_is_read_without_harm(void **state)
{
    (void)state;
    char text[sizeof log_of_13_0];
    for (size_t length = 0; length < sizeof log_of_13_0; length++) {
        memcpy(text, log_of_13_0, length);
        text[length] = '\0';
        tkj_ptxas_usage usage;
        bool found = tkj_ptxas_log_parse(text, "topk_jit_a", &usage);
        assert_true(found == (strstr(text, "function 'topk_jit_a") != NULL));
        assert_true(usage.registers <= 64);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entry_of_nvrtc_13_0_is_read),
        cmocka_unit_test(frame_with_callees_and_spills_are_told_apart),
        cmocka_unit_test(older_format_is_read),
        cmocka_unit_test(name_that_is_part_of_another_does_not_match),
        cmocka_unit_test(function_that_is_no_entry_is_not_found),
        cmocka_unit_test(empty_log_speaks_of_nothing),
        cmocka_unit_test(carriage_returns_are_no_part_of_names),
        cmocka_unit_test(absurd_numbers_are_limited),
        cmocka_unit_test(every_truncated_log_is_read_without_harm),
    };
    return cmocka_run_group_tests_name("ptxas_log", tests, NULL, NULL);
}
