/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#include <stdlib.h>
#include <string.h>

#include "key.h"
#include "spec.h"
#include "spec_sweep.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const uint8_t some_templates[TKJ_DIGEST_SIZE] = {1, 2, 3};
static const tkj_target sm_90 = {90, false};

static void two_builds_are_equal(void **state)
{
    (void)state;
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    tkj_key first, second;
    memset(&first, 0x00, sizeof first);
    memset(&second, 0x5A, sizeof second);
    tkj_key_build(some_templates, &spec, "prelude", sm_90, &first);
    tkj_key_build(some_templates, &spec, "prelude", sm_90, &second);
    assert_memory_equal(first.digest, second.digest, TKJ_DIGEST_SIZE);
    assert_string_equal(first.preimage, second.preimage);
}

static void preimage_is_tagged_fields_with_their_lengths(void **state)
{
    (void)state;
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    tkj_key key;
    tkj_key_build(some_templates, &spec, "#define A\n", sm_90, &key);
    assert_string_equal(
        key.preimage, "schema 1:1\n"
                      "templates 32:01020300000000000000000000000000\n"
                      "spec 65:operation=select,layout=plain,topk=2048,dtype=float32,index=int32\n"
                      "prelude 10:#define A\n\n"
                      "target 5:sm_90\n");
}

static void assert_field(const char *preimage, const char *tag, const char *expected)
{
    const char *text = NULL;
    size_t length = 0;
    assert_true(tkj_key_field(preimage, tag, &text, &length));
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(text, expected, length);
}

static void each_field_of_a_preimage_is_found(void **state)
{
    (void)state;
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    tkj_key key;
    tkj_key_build(some_templates, &spec, "#define A\ntarget 5:sm_75\n", sm_90, &key);
    assert_field(key.preimage, "schema", "1");
    assert_field(key.preimage, "spec",
                 "operation=select,layout=plain,topk=2048,dtype=float32,index=int32");
    assert_field(key.preimage, "prelude", "#define A\ntarget 5:sm_75\n");
    assert_field(key.preimage, "target", "sm_90"); /* not the one inside the prelude */
}

static void text_that_is_no_field_has_none(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "spec",
        "spec ",
        "spec 1",
        "spec 1:",
        "spec 1:a",
        "spec 2:a\n",
        "spec 0:a\n",
        "spec a:b\n",
        "spec :a\n",
        "spec :\n",
        "spec -1:a\n",
        "spec\n1:a\n",
        "spec 18446744073709551617:a\n", /* 2^64 + 1 */
        "spe 1:a\n",
        "special 1:a\n",
        "x 1:aspec 1:b\n",
    };
    const char *text;
    size_t length;
    for (size_t i = 0; i < COUNT(texts); i++)
        if (tkj_key_field(texts[i], "spec", &text, &length))
            fail_msg("\"%s\" has a field", texts[i]);
    assert_field("spec 0:\n", "spec", "");
    assert_field("x 1:a\nspec 2:\n\n\nrest", "spec", "\n\n");
}

static void digest_is_that_of_the_preimage(void **state)
{
    (void)state;
    topk_jit_spec spec = spec_sweep_longest();
    uint8_t digest[TKJ_DIGEST_SIZE];
    tkj_key key;
    tkj_key_build(some_templates, &spec, "prelude", sm_90, &key);
    tkj_digest(key.preimage, strlen(key.preimage), digest);
    assert_memory_equal(key.digest, digest, TKJ_DIGEST_SIZE);
}

static void expect_other_key(const uint8_t *templates, const char *spec_text, const char *prelude,
                             tkj_target target)
{
    const topk_jit_spec plain = TOPK_JIT_SPEC_INIT;
    topk_jit_spec spec;
    tkj_key base, other;
    assert_int_equal(tkj_spec_parse(spec_text, &spec), TOPK_JIT_OK);
    tkj_key_build(some_templates, &plain, "prelude", sm_90, &base);
    tkj_key_build(templates, &spec, prelude, target, &other);
    assert_memory_not_equal(base.digest, other.digest, TKJ_DIGEST_SIZE);
    assert_string_not_equal(base.preimage, other.preimage);
}

static void each_field_changes_the_key(void **state)
{
    (void)state;
    static const char same[] = "topk=2048";
    for (int byte = 0; byte < TKJ_DIGEST_SIZE; byte++) {
        uint8_t templates[TKJ_DIGEST_SIZE];
        memcpy(templates, some_templates, sizeof templates);
        templates[byte] ^= 0x80;
        expect_other_key(templates, same, "prelude", sm_90);
    }
    expect_other_key(some_templates, same, "prelude ", sm_90);
    expect_other_key(some_templates, same, "", sm_90);
    expect_other_key(some_templates, same, "prelude", (tkj_target){100, false});
    expect_other_key(some_templates, same, "prelude", (tkj_target){90, true});
}

static void each_field_of_the_spec_changes_the_key(void **state)
{
    (void)state;
    static const char *const specs[] = {"topk=2047",
                                        "layout=ragged",
                                        "layout=paged,page_size=64",
                                        "layout=paged,page_size=128",
                                        "dtype=float16",
                                        "dtype=bfloat16",
                                        "index=int64",
                                        "sorted",
                                        "tie_break=smallest",
                                        "tie_break=largest",
                                        "deterministic",
                                        "nan_last",
                                        "check",
                                        "operation=fast_topk,index=int64"};
    for (size_t i = 0; i < COUNT(specs); i++)
        expect_other_key(some_templates, specs[i], "prelude", sm_90);
}

/* A prelude that ends like the next field must not read as that field. */
static void fields_do_not_run_into_each_other(void **state)
{
    (void)state;
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    tkj_key plain, tricky;
    tkj_key_build(some_templates, &spec, "x", sm_90, &plain);
    tkj_key_build(some_templates, &spec, "x\ntarget 5:sm_90", sm_90, &tricky);
    assert_memory_not_equal(plain.digest, tricky.digest, TKJ_DIGEST_SIZE);
    assert_non_null(strstr(tricky.preimage, "prelude 16:x\ntarget 5:sm_90\ntarget 5:sm_90\n"));
}

static void key_of(size_t i, int architecture, tkj_key *key)
{
    topk_jit_spec spec = spec_sweep_at(i);
    tkj_variant variants[TKJ_VARIANTS_MAX];
    char prelude[TKJ_PRELUDE_SIZE];
    tkj_variants_enumerate(&spec, architecture, variants);
    tkj_prelude(&spec, &variants[0], prelude);
    tkj_key_build(some_templates, &spec, prelude, (tkj_target){architecture, false}, key);
}

static int by_digest(const void *a, const void *b)
{
    return memcmp(a, b, TKJ_DIGEST_SIZE);
}

static void no_two_specs_share_a_key(void **state)
{
    (void)state;
    size_t count = spec_sweep_count();
    uint8_t(*digests)[TKJ_DIGEST_SIZE] = malloc(count * sizeof *digests);
    assert_non_null(digests);
    for (size_t i = 0; i < count; i++) {
        tkj_key key;
        key_of(i, 90, &key);
        memcpy(digests[i], key.digest, TKJ_DIGEST_SIZE);
    }
    qsort(digests, count, sizeof *digests, by_digest);
    for (size_t i = 1; i < count; i++)
        assert_memory_not_equal(digests[i - 1], digests[i], TKJ_DIGEST_SIZE);
    free(digests);
}

static void longest_preimage_is_whole(void **state)
{
    (void)state;
    static const char last[] = "\ntarget 15:compute_9999999\n";
    topk_jit_spec spec = spec_sweep_longest();
    char prelude[TKJ_PRELUDE_SIZE];
    tkj_key key;
    memset(prelude, 'p', sizeof prelude - 1);
    prelude[sizeof prelude - 1] = '\0';
    tkj_key_build(some_templates, &spec, prelude, (tkj_target){9999999, true}, &key);
    size_t length = strlen(key.preimage);
    assert_true(length < TKJ_PREIMAGE_SIZE - 1);
    assert_non_null(strstr(key.preimage, prelude));
    assert_string_equal(key.preimage + length - strlen(last), last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_builds_are_equal),
        cmocka_unit_test(preimage_is_tagged_fields_with_their_lengths),
        cmocka_unit_test(each_field_of_a_preimage_is_found),
        cmocka_unit_test(text_that_is_no_field_has_none),
        cmocka_unit_test(digest_is_that_of_the_preimage),
        cmocka_unit_test(each_field_changes_the_key),
        cmocka_unit_test(each_field_of_the_spec_changes_the_key),
        cmocka_unit_test(fields_do_not_run_into_each_other),
        cmocka_unit_test(no_two_specs_share_a_key),
        cmocka_unit_test(longest_preimage_is_whole),
    };
    return cmocka_run_group_tests_name("key", tests, NULL, NULL);
}
