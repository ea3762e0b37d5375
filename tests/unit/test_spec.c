/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "spec.h"
#include "spec_sweep.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void every_spec_survives_its_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < spec_sweep_count(); i++) {
        topk_jit_spec spec = spec_sweep_at(i), back;
        char text[TKJ_SPEC_TEXT_SIZE];
        memset(&back, 0x5A, sizeof back);
        tkj_spec_format(&spec, text);
        if (tkj_spec_parse(text, &back) != TOPK_JIT_OK)
            fail_msg("%s: %s", text, topk_jit_last_error()->message);
        assert_memory_equal(&spec, &back, sizeof spec);
    }
}

static void text_is_the_documented_one(void **state)
{
    (void)state;
    char text[TKJ_SPEC_TEXT_SIZE];
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    tkj_spec_format(&spec, text);
    assert_string_equal(text, "operation=select,layout=plain,topk=2048,dtype=float32,index=int32");
    spec.layout = TOPK_JIT_LAYOUT_PAGED;
    spec.page_size = 64;
    spec.sorted = 1;
    spec.tie_break = TOPK_JIT_TIE_BREAK_SMALLEST;
    tkj_spec_format(&spec, text);
    assert_string_equal(text, "operation=select,layout=paged,topk=2048,dtype=float32,index=int32,"
                              "page_size=64,sorted,tie_break=smallest");
    spec = spec_sweep_longest();
    tkj_spec_format(&spec, text);
    assert_string_equal(text, "operation=select,layout=paged,topk=9223372036854775807,"
                              "dtype=bfloat16,index=int64,page_size=1073741824,sorted,"
                              "tie_break=smallest,deterministic,nan_last,check");
}

static void order_of_words_does_not_matter(void **state)
{
    (void)state;
    topk_jit_spec forward, backward;
    assert_int_equal(tkj_spec_parse("operation=select,layout=paged,topk=7,dtype=float16,"
                                    "index=int64,page_size=16,check,nan_last",
                                    &forward),
                     TOPK_JIT_OK);
    assert_int_equal(tkj_spec_parse("nan_last,check,page_size=16,index=int64,dtype=float16,topk=7,"
                                    "layout=paged,operation=select",
                                    &backward),
                     TOPK_JIT_OK);
    assert_memory_equal(&forward, &backward, sizeof forward);
}

static void absent_words_are_defaults(void **state)
{
    (void)state;
    const topk_jit_spec init = TOPK_JIT_SPEC_INIT;
    topk_jit_spec expected = tkj_spec_canonical(&init), spec;
    assert_int_equal(tkj_spec_parse("topk=2048", &spec), TOPK_JIT_OK);
    assert_memory_equal(&spec, &expected, sizeof spec);
    expected.topk = 512;
    assert_int_equal(tkj_spec_parse("topk=512,tie_break=none,page_size=0", &spec), TOPK_JIT_OK);
    assert_memory_equal(&spec, &expected, sizeof spec);
}

static void expect_parse_failure(const char *text, const char *message)
{
    topk_jit_spec spec, before;
    memset(&spec, 0x5A, sizeof spec);
    before = spec;
    if (tkj_spec_parse(text, &spec) != TOPK_JIT_INVALID_ARGUMENT)
        fail_msg("\"%s\" was read", text);
    assert_string_equal(topk_jit_last_error()->message, message);
    assert_memory_equal(&spec, &before, sizeof spec);
}

#define FIELDS                                                                                     \
    " (expected: operation, layout, topk, dtype, index, page_size, tie_break, sorted, "            \
    "deterministic, nan_last, check)"
#define OPERATIONS " (expected: select, fast_topk)"
#define LAYOUTS " (expected: plain, paged, ragged)"
#define DTYPES " (expected: float32, float16, bfloat16, float64, int32, int64)"
#define INDICES " (expected: int32, int64)"
#define TIES " (expected: none, smallest, largest)"

static void words_that_are_none_are_refused_with_what_they_may_be(void **state)
{
    (void)state;
    static const struct {
        const char *word, *message;
    } cases[] = {
        {"banana", "no field is called \"banana\"" FIELDS},
        {"banana=1", "no field is called \"banana\"" FIELDS},
        {"layuot=paged", "no field is called \"layuot\"; did you mean 'layout'?" FIELDS},
        {"page-size=64", "no field is called \"page-size\"; did you mean 'page_size'?" FIELDS},
        {"index_dtype=int32", "no field is called \"index_dtype\"; did you mean 'index'?" FIELDS},
        {"nan-last", "no field is called \"nan-last\"; did you mean 'nan_last'?" FIELDS},
        {"Topk=1", "no field is called \"Topk\"; did you mean 'topk'?" FIELDS},
        {" topk=1", "no field is called \" topk\"; did you mean 'topk'?" FIELDS},
        {"topk =1", "no field is called \"topk \"; did you mean 'topk'?" FIELDS},
        {"=", "no field is called \"\"" FIELDS},
        {"=1", "no field is called \"\"" FIELDS},
        {"?", "no field is called \"?\"" FIELDS},
        {"page_size", "page_size is \"\", expected a number"},
        {"page_size=6k", "page_size is \"6k\", expected a number"},
        {"sorted=", "sorted has the value \"\", expected none"},
        {"sorted=1", "sorted has the value \"1\", expected none"},
        {"check=0", "check has the value \"0\", expected none"},
        {"nan_last=", "nan_last has the value \"\", expected none"},
        {"deterministic=1", "deterministic has the value \"1\", expected none"},
        {"operation", "operation is \"\"" OPERATIONS},
        {"operation=", "operation is \"\"" OPERATIONS},
        {"operation=sort", "operation is \"sort\"" OPERATIONS},
        {"operation=Select", "operation is \"Select\"; did you mean 'select'?" OPERATIONS},
        {"operation=topk", "operation is \"topk\"" OPERATIONS},
        {"layout", "layout is \"\"" LAYOUTS},
        {"layout=pagd", "layout is \"pagd\"; did you mean 'paged'?" LAYOUTS},
        {"layout=page", "layout is \"page\"; did you mean 'paged'?" LAYOUTS},
        {"layout=pagedx", "layout is \"pagedx\"; did you mean 'paged'?" LAYOUTS},
        {"dtype=", "dtype is \"\"" DTYPES},
        {"dtype=?", "dtype is \"?\"" DTYPES},
        {"dtype=bfloat61", "dtype is \"bfloat61\"; did you mean 'bfloat16'?" DTYPES},
        {"dtype=half", "dtype is \"half\"" DTYPES},
        {"index=int3", "index is \"int3\"; did you mean 'int32'?" INDICES},
        {"index=int320", "index is \"int320\"; did you mean 'int32'?" INDICES},
        {"index=float32", "index is \"float32\"" INDICES},
        {"tie_break", "tie_break is \"\"" TIES},
        {"tie_break=any", "tie_break is \"any\"" TIES},
        {"tie_break=smallest ", "tie_break is \"smallest \"; did you mean 'smallest'?" TIES},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char message[256], text[64];
        snprintf(message, sizeof message, "spec text: %s", cases[i].message);
        expect_parse_failure(cases[i].word, message);
        snprintf(text, sizeof text, "topk=1,%s", cases[i].word);
        expect_parse_failure(text, message);
    }
}

static void empty_words_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"", ",", "topk=1,", ",topk=1", "topk=1,,sorted"};
    for (size_t i = 0; i < COUNT(texts); i++)
        expect_parse_failure(texts[i], "spec text: no field is called \"\"" FIELDS);
}

static void numbers_are_plain_digits_within_64_bits(void **state)
{
    (void)state;
    static const char *const numbers[] = {"",
                                          "+1",
                                          "-1",
                                          " 1",
                                          "1 ",
                                          "1x",
                                          "0x10",
                                          "1.0",
                                          "1e3",
                                          "x",
                                          "--1",
                                          "9223372036854775808",
                                          "18446744073709551617",
                                          "99999999999999999999999999"};
    static const char *const fields[] = {"topk", "page_size"};
    for (size_t i = 0; i < COUNT(numbers); i++)
        for (size_t f = 0; f < COUNT(fields); f++) {
            char text[64], message[128];
            snprintf(text, sizeof text, "%s=%s", fields[f], numbers[i]);
            snprintf(message, sizeof message, "spec text: %s is \"%s\", expected a number",
                     fields[f], numbers[i]);
            expect_parse_failure(text, message);
        }
    topk_jit_spec spec;
    assert_int_equal(tkj_spec_parse("topk=9223372036854775807", &spec), TOPK_JIT_OK);
    assert_true(spec.topk == INT64_MAX);
    assert_int_equal(tkj_spec_parse("topk=0008", &spec), TOPK_JIT_OK);
    assert_int_equal(spec.topk, 8);
}

static void word_given_twice_is_refused(void **state)
{
    (void)state;
    static const char *const words[][2] = {{"operation=select", "operation"},
                                           {"layout=paged", "layout"},
                                           {"topk=3", "topk"},
                                           {"dtype=float16", "dtype"},
                                           {"index=int32", "index"},
                                           {"page_size=2", "page_size"},
                                           {"tie_break=largest", "tie_break"},
                                           {"sorted", "sorted"},
                                           {"deterministic", "deterministic"},
                                           {"nan_last", "nan_last"},
                                           {"check", "check"}};
    for (size_t i = 0; i < COUNT(words); i++) {
        char text[128], message[128];
        snprintf(text, sizeof text, "%s,%s", words[i][0], words[i][0]);
        snprintf(message, sizeof message, "spec text: %s is given twice, expected once",
                 words[i][1]);
        expect_parse_failure(text, message);
    }
}

static void overlong_text_is_refused(void **state)
{
    (void)state;
    char text[2 * TKJ_SPEC_TEXT_SIZE];
    topk_jit_spec spec;
    snprintf(text, sizeof text, "topk=%0250d", 7); /* as long as a text may be */
    assert_int_equal(strlen(text), TKJ_SPEC_TEXT_SIZE - 1);
    assert_int_equal(tkj_spec_parse(text, &spec), TOPK_JIT_OK);
    snprintf(text, sizeof text, "topk=%0251d", 7);
    expect_parse_failure(text, "spec text: 256 bytes, expected at most 255");
    snprintf(text, sizeof text, "topk=%0400d", 7);
    expect_parse_failure(text, "spec text: 405 bytes, expected at most 255");
}

static void every_prefix_of_a_text_is_read_or_refused(void **state)
{
    (void)state;
    topk_jit_spec longest = spec_sweep_longest(), spec;
    char text[TKJ_SPEC_TEXT_SIZE];
    tkj_spec_format(&longest, text);
    for (size_t length = strlen(text); length-- > 0;) {
        text[length] = '\0';
        if (tkj_spec_parse(text, &spec) == TOPK_JIT_OK)
            assert_int_equal(tkj_spec_validate(&spec), TOPK_JIT_OK);
        else
            assert_int_equal(topk_jit_last_error()->status, TOPK_JIT_INVALID_ARGUMENT);
    }
}

static void parsed_specs_are_valid(void **state)
{
    (void)state;
    expect_parse_failure("topk=0", "topk is 0, expected at least 1");
    expect_parse_failure("layout=paged", "page_size is 0, expected a power of two from 1 to 2^30");
    expect_parse_failure("operation=fast_topk",
                         "index is int32, expected int64 for operation fast_topk");
}

static void canonical_specs_are_equal_as_bytes_whatever_the_padding_held(void **state)
{
    (void)state;
    topk_jit_spec zeros, garbage;
    memset(&zeros, 0, sizeof zeros);
    memset(&garbage, 0xA5, sizeof garbage);
    zeros.struct_size = garbage.struct_size = sizeof zeros;
    zeros.operation = garbage.operation = TOPK_JIT_OPERATION_SELECT;
    zeros.layout = garbage.layout = TOPK_JIT_LAYOUT_PLAIN;
    zeros.topk = garbage.topk = 5;
    zeros.dtype = garbage.dtype = TOPK_JIT_FLOAT32;
    zeros.index_dtype = garbage.index_dtype = TOPK_JIT_INT32;
    zeros.page_size = garbage.page_size = 0;
    zeros.tie_break = garbage.tie_break = TOPK_JIT_TIE_BREAK_NONE;
    zeros.sorted = 1;
    garbage.sorted = 200;
    zeros.deterministic = garbage.deterministic = 0;
    zeros.nan_last = 1;
    garbage.nan_last = 2;
    zeros.check = garbage.check = 0;
    topk_jit_spec a = tkj_spec_canonical(&zeros), b = tkj_spec_canonical(&garbage);
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(b.sorted, 1);
}

static void deterministic_names_its_tie_break(void **state)
{
    (void)state;
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.deterministic = 1;
    assert_int_equal(tkj_spec_canonical(&spec).tie_break, TOPK_JIT_TIE_BREAK_SMALLEST);
    spec.tie_break = TOPK_JIT_TIE_BREAK_LARGEST;
    assert_int_equal(tkj_spec_canonical(&spec).tie_break, TOPK_JIT_TIE_BREAK_LARGEST);
    spec.tie_break = TOPK_JIT_TIE_BREAK_SMALLEST;
    topk_jit_spec named = tkj_spec_canonical(&spec);
    spec.tie_break = TOPK_JIT_TIE_BREAK_NONE;
    topk_jit_spec unnamed = tkj_spec_canonical(&spec);
    assert_memory_equal(&named, &unnamed, sizeof named);
}

static void canonical_form_of_a_canonical_spec_is_itself(void **state)
{
    (void)state;
    for (size_t i = 0; i < spec_sweep_count(); i += 7) {
        topk_jit_spec spec = spec_sweep_at(i), again = tkj_spec_canonical(&spec);
        assert_memory_equal(&spec, &again, sizeof spec);
    }
}

static void names_of_enumerators_are_read_back(void **state)
{
    (void)state;
    for (unsigned d = TOPK_JIT_FLOAT32; d <= TOPK_JIT_INT64; d++) {
        topk_jit_dtype dtype = (topk_jit_dtype)99;
        assert_true(tkj_dtype_parse(tkj_dtype_name((topk_jit_dtype)d), &dtype));
        assert_int_equal(dtype, d);
    }
    assert_string_equal(tkj_operation_name(TOPK_JIT_OPERATION_FAST_TOPK), "fast_topk");
    assert_string_equal(tkj_layout_name(TOPK_JIT_LAYOUT_RAGGED), "ragged");
    assert_string_equal(tkj_tie_break_name(TOPK_JIT_TIE_BREAK_LARGEST), "largest");
    assert_string_equal(tkj_dtype_name((topk_jit_dtype)6), "?");
    assert_string_equal(tkj_layout_name((topk_jit_layout)-1), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spec_survives_its_text),
        cmocka_unit_test(text_is_the_documented_one),
        cmocka_unit_test(order_of_words_does_not_matter),
        cmocka_unit_test(absent_words_are_defaults),
        cmocka_unit_test(words_that_are_none_are_refused_with_what_they_may_be),
        cmocka_unit_test(empty_words_are_refused),
        cmocka_unit_test(numbers_are_plain_digits_within_64_bits),
        cmocka_unit_test(word_given_twice_is_refused),
        cmocka_unit_test(overlong_text_is_refused),
        cmocka_unit_test(every_prefix_of_a_text_is_read_or_refused),
        cmocka_unit_test(parsed_specs_are_valid),
        cmocka_unit_test(canonical_specs_are_equal_as_bytes_whatever_the_padding_held),
        cmocka_unit_test(deterministic_names_its_tie_break),
        cmocka_unit_test(canonical_form_of_a_canonical_spec_is_itself),
        cmocka_unit_test(names_of_enumerators_are_read_back),
    };
    return cmocka_run_group_tests_name("spec", tests, NULL, NULL);
}
