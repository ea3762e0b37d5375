/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prelude.h"
#include "spec.h"
#include "spec_sweep.h"
#include "template.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const tkj_variant some_variant = {
    .name = "general",
    .template_name = "select_general.cu",
    .threads = 512,
    .items = 8,
    .blocks_per_sm = 3,
    .sort_capacity = 40,
    .shared_bytes = 9000,
};

/* Fails unless each text is a line of the prelude. */
static void expect_lines(const char *prelude, const char *const *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char line[160];
        snprintf(line, sizeof line, "%s\n", lines[i]);
        const char *at = strstr(prelude, line);
        bool is_line = at != NULL && (at == prelude || at[-1] == '\n');
        if (!is_line || strstr(at + 1, line) != NULL)
            fail_msg("\"%s\" is not one line of\n%s", lines[i], prelude);
    }
}

static void prelude_defines_the_fields_of_the_spec(void **state)
{
    (void)state;
    static const char *const lines[] = {"#define TKJ_ENTRY topk_jit_general_k2048_f32_paged64",
                                        "#define TKJ_TOPK 2048ll",
                                        "#define TKJ_DTYPE TKJ_FLOAT32",
                                        "#define TKJ_INDEX_BITS 32",
                                        "#define TKJ_LAYOUT TKJ_PAGED",
                                        "#define TKJ_PAGE_SHIFT 6",
                                        "#define TKJ_SORTED 0",
                                        "#define TKJ_TIE_LARGEST 0",
                                        "#define TKJ_NAN_LAST 0",
                                        "#define TKJ_CHECK 0",
                                        "#include \"select_general.cu\""};
    char text[TKJ_PRELUDE_SIZE];
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.layout = TOPK_JIT_LAYOUT_PAGED;
    spec.page_size = 64;
    tkj_prelude(&spec, &some_variant, text);
    expect_lines(text, lines, COUNT(lines));
}

static void prelude_defines_the_options_of_the_spec(void **state)
{
    (void)state;
    static const char *const lines[] = {"#define TKJ_TOPK 9223372036854775807ll",
                                        "#define TKJ_DTYPE TKJ_BFLOAT16",
                                        "#define TKJ_INDEX_BITS 64",
                                        "#define TKJ_PAGE_SHIFT 30",
                                        "#define TKJ_SORTED 1",
                                        "#define TKJ_TIE_LARGEST 0",
                                        "#define TKJ_NAN_LAST 1",
                                        "#define TKJ_CHECK 1"};
    char text[TKJ_PRELUDE_SIZE];
    topk_jit_spec spec = spec_sweep_longest();
    tkj_prelude(&spec, &some_variant, text);
    expect_lines(text, lines, COUNT(lines));
}

static bool is_word_character(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* True if `text` has `before` directly followed by the word. */
static bool has_after(const char *text, const char *before, const char *word, size_t length)
{
    for (const char *at = strstr(text, before); at != NULL; at = strstr(at + 1, before)) {
        const char *follows = at + strlen(before);
        if (strncmp(follows, word, length) == 0 && !is_word_character(follows[length]))
            return true;
    }
    return false;
}

/* True if some template defines the macro, or asks whether it is defined. */
static bool templates_provide(const char *word, size_t length)
{
    static const char *const places[] = {"#define ", "#ifdef ", "#ifndef ", "defined("};
    for (size_t i = 0; i < tkj_embedded_template_count; i++)
        for (size_t p = 0; p < COUNT(places); p++)
            if (has_after(tkj_embedded_templates[i].text, places[p], word, length))
                return true;
    return false;
}

static void every_macro_that_templates_need_is_defined(void **state)
{
    (void)state;
    char prelude[TKJ_PRELUDE_SIZE];
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    size_t needed = 0;
    tkj_prelude(&spec, &some_variant, prelude);
    for (size_t i = 0; i < tkj_embedded_template_count; i++) {
        const char *text = tkj_embedded_templates[i].text;
        for (const char *at = strstr(text, "TKJ_"); at != NULL; at = strstr(at + 1, "TKJ_")) {
            size_t length = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
            if ((at > text && is_word_character(at[-1])) || templates_provide(at, length))
                continue;
            needed++;
            if (!has_after(prelude, "#define ", at, length))
                fail_msg("%.*s in %s is not defined", (int)length, at,
                         tkj_embedded_templates[i].name);
        }
    }
    assert_true(needed > 0);
}

/* One line less its newline; returns the next line. */
static const char *take_line(const char *text, char line[256])
{
    size_t length = strcspn(text, "\n");
    assert_in_range(length, 1, 255);
    memcpy(line, text, length);
    line[length] = '\0';
    return text[length] == '\n' ? text + length + 1 : text + length;
}

/* The macros whose lines differ: "ENTRY TOPK ". */
static void list_differences(const topk_jit_spec *a, const topk_jit_spec *b, char names[256])
{
    char text_a[TKJ_PRELUDE_SIZE], text_b[TKJ_PRELUDE_SIZE];
    tkj_prelude(a, &some_variant, text_a);
    tkj_prelude(b, &some_variant, text_b);
    const char *rest_a = text_a, *rest_b = text_b;
    names[0] = '\0';
    while (*rest_a != '\0' && *rest_b != '\0') {
        char line_a[256], line_b[256];
        rest_a = take_line(rest_a, line_a);
        rest_b = take_line(rest_b, line_b);
        if (strcmp(line_a, line_b) == 0)
            continue;
        const char *name = line_a + strlen("#define TKJ_");
        strncat(names, name, strcspn(name, " ") + 1);
    }
    assert_string_equal(rest_a, rest_b); /* both are at their end */
}

static void prelude_differs_exactly_where_the_spec_does(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        const char *differences;
    } cases[] = {
        {"topk=2049", "ENTRY TOPK "},
        {"dtype=float16", "ENTRY DTYPE "},
        {"dtype=bfloat16", "ENTRY DTYPE "},
        {"index=int64", "ENTRY INDEX_BITS "},
        {"layout=ragged", "ENTRY LAYOUT "},
        {"layout=paged,page_size=1", "ENTRY LAYOUT "},
        {"layout=paged,page_size=1073741824", "ENTRY LAYOUT PAGE_SHIFT "},
        {"sorted", "ENTRY SORTED "},
        {"tie_break=smallest", "ENTRY ORDERED "},
        {"tie_break=largest", "ENTRY ORDERED TIE_LARGEST "},
        {"deterministic", "ENTRY ORDERED "},
        {"nan_last", "ENTRY NAN_LAST "},
        {"check", "ENTRY CHECK "},
        {"topk=2048", ""},
    };
    const topk_jit_spec plain = TOPK_JIT_SPEC_INIT;
    for (size_t i = 0; i < COUNT(cases); i++) {
        topk_jit_spec spec;
        char names[256];
        assert_int_equal(tkj_spec_parse(cases[i].spec, &spec), TOPK_JIT_OK);
        list_differences(&plain, &spec, names);
        assert_string_equal(names, cases[i].differences);
    }
}

static void constants_of_the_variant_are_defined(void **state)
{
    (void)state;
    static const tkj_variant other = {.name = "other",
                                      .template_name = "other.cu",
                                      .threads = 1024,
                                      .items = UINT32_MAX,
                                      .blocks_per_sm = 2,
                                      .sort_capacity = 7,
                                      .staged_pages = 2048,
                                      .shared_bytes = 232448};
    static const char *const lines[] = {"#define TKJ_ENTRY topk_jit_other_k2048_f32_plain",
                                        "#define TKJ_THREADS 1024",
                                        "#define TKJ_ITEMS 4294967295",
                                        "#define TKJ_BLOCKS_PER_SM 2",
                                        "#define TKJ_SORT_CAPACITY 7",
                                        "#define TKJ_STAGED_PAGES 2048",
                                        "#define TKJ_SHARED_BYTES 232448",
                                        "#include \"other.cu\""};
    char text[TKJ_PRELUDE_SIZE];
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    tkj_prelude(&spec, &other, text);
    expect_lines(text, lines, COUNT(lines));
}

/* Longest spec, and a variant with a longer name and larger numbers than any there is. */
static void longest_prelude_is_whole(void **state)
{
    (void)state;
    static const tkj_variant longest = {.name = "cluster_refine",
                                        .template_name = "select_cluster_refine_of_a_long_name.cu",
                                        .threads = UINT32_MAX,
                                        .items = UINT32_MAX,
                                        .sort_capacity = UINT32_MAX,
                                        .staged_pages = UINT32_MAX,
                                        .shared_bytes = UINT32_MAX,
                                        .blocks_per_sm = UINT32_MAX};
    topk_jit_spec spec = spec_sweep_longest();
    char text[TKJ_PRELUDE_SIZE], name[TKJ_ENTRY_NAME_SIZE];
    static const char last[] = "#include \"select_cluster_refine_of_a_long_name.cu\"\n";
    tkj_entry_name(&spec, &longest, name);
    assert_string_equal(name,
                        "topk_jit_cluster_refine_k9223372036854775807_bf16_i64_paged1073741824_"
                        "sorted_smallest_deterministic_nan_last_check");
    tkj_prelude(&spec, &longest, text);
    assert_true(strlen(text) < TKJ_PRELUDE_SIZE - 1);
    assert_string_equal(text + strlen(text) - strlen(last), last);
}

static void entry_names_are_identifiers_and_never_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < spec_sweep_count(); i++) {
        topk_jit_spec spec = spec_sweep_at(i);
        tkj_variant variants[TKJ_VARIANTS_MAX];
        size_t count = tkj_variants_enumerate(&spec, 90, variants);
        for (size_t v = 0; v < count; v++) {
            char name[TKJ_ENTRY_NAME_SIZE];
            tkj_entry_name(&spec, &variants[v], name);
            assert_true(strlen(name) < TKJ_ENTRY_NAME_SIZE - 1);
            assert_memory_equal(name, "topk_jit_", 9);
            for (const char *c = name; *c != '\0'; c++)
                assert_true(is_word_character(*c));
        }
    }
}

typedef char entry_name[TKJ_ENTRY_NAME_SIZE];

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void no_two_specs_share_an_entry_name(void **state)
{
    (void)state;
    size_t count = spec_sweep_count();
    entry_name *names = malloc(count * sizeof *names);
    assert_non_null(names);
    for (size_t i = 0; i < count; i++) {
        topk_jit_spec spec = spec_sweep_at(i);
        tkj_entry_name(&spec, &some_variant, names[i]);
    }
    qsort(names, count, sizeof *names, by_name);
    for (size_t i = 1; i < count; i++)
        assert_string_not_equal(names[i - 1], names[i]);
    free(names);
}

static void names_of_fast_topk_have_no_layout(void **state)
{
    (void)state;
    topk_jit_spec spec;
    char name[TKJ_ENTRY_NAME_SIZE];
    assert_int_equal(tkj_spec_parse("operation=fast_topk,topk=5,dtype=float64,index=int64", &spec),
                     TOPK_JIT_OK);
    tkj_entry_name(&spec, &some_variant, name);
    assert_string_equal(name, "topk_jit_fast_topk_general_k5_f64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prelude_defines_the_fields_of_the_spec),
        cmocka_unit_test(prelude_defines_the_options_of_the_spec),
        cmocka_unit_test(every_macro_that_templates_need_is_defined),
        cmocka_unit_test(prelude_differs_exactly_where_the_spec_does),
        cmocka_unit_test(constants_of_the_variant_are_defined),
        cmocka_unit_test(longest_prelude_is_whole),
        cmocka_unit_test(entry_names_are_identifiers_and_never_cut),
        cmocka_unit_test(no_two_specs_share_an_entry_name),
        cmocka_unit_test(names_of_fast_topk_have_no_layout),
    };
    return cmocka_run_group_tests_name("prelude", tests, NULL, NULL);
}
