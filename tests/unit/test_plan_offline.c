/* SPDX-License-Identifier: Apache-2.0 */
/* What an offline miss says: spec, key, each place with its reason, and the command that helps. */
#include "offline_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int set_up(void **state)
{
    int result = plan_case_set_up(state);
    plan_layers_open(*state, NULL, TOPK_JIT_MODE_OFFLINE);
    return result;
}

static const char *below(const plan_case *it, const char *name)
{
    return tkj_test_path(it->directory, name);
}

/* ---- spec, target and key ---- */

static void miss_names_spec_target_and_kernel(void **state)
{
    plan_case *it = *state;
    topk_jit_spec spec = plan_case_spec(9004);
    spec.layout = TOPK_JIT_LAYOUT_PAGED;
    spec.page_size = 64;
    const offline_message parts = offline_case_miss(it, &spec);
    assert_string_equal(parts.spec, "operation=select,layout=paged,topk=9004,dtype=float32,"
                                    "index=int32,page_size=64");
    assert_string_equal(parts.target, "sm_90");
    plan_case_assert_message("the mode is offline and kernel topk_jit_general_k9004_f32_paged64");
}

static void remember_path(const char *path, void *user)
{
    snprintf(user, 4096, "%s", path);
}

/* The file that a warm run writes has the key as its name. */
static void miss_names_the_key_of_the_entry(void **state)
{
    plan_case *it = *state;
    char path[4096], expected[8192];
    const topk_jit_spec spec = plan_case_spec(9004);
    const offline_message parts = offline_case_miss(it, &spec);
    assert_int_equal(strlen(parts.key), 32);
    plan_layers_warm(it, it->root, &spec);
    assert_int_equal(plan_case_each_file(it->root, ".tkc", remember_path, path), 1);
    snprintf(expected, sizeof expected, "%s/v1/%.2s/%s.cu13.tkc", it->root, parts.key,
             parts.key + 2);
    assert_string_equal(path, expected);
}

static void gpu_of_the_future_is_served_by_what_can_be_named(void **state)
{
    const topk_jit_spec spec = plan_case_spec(9004);
    cuda->claim_capability(99);
    const offline_message parts = offline_case_miss(*state, &spec);
    assert_string_equal(parts.target, "sm_90");
    assert_non_null(strstr(parts.command, "topk-jit-warm --arch sm_90 "));
}

/* ---- places ---- */

static void flip_last_bit(const char *path, void *user)
{
    (void)user;
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, -1, SEEK_END), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, -1, SEEK_END), 0);
    assert_int_equal(fputc(byte ^ 1, file), byte ^ 1);
    assert_int_equal(fclose(file), 0);
}

static void each_place_has_its_reason(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(9004), other = plan_case_spec(9008);
    char ro_dirs[1024], expected[2048];
    plan_layers_warm(it, below(it, "one"), &other);
    plan_layers_pack(below(it, "one"), below(it, "one/a.tkp"));
    tkj_test_file_write(below(it, "one/b.tkp"), "no pack at all", 14);
    plan_layers_warm(it, below(it, "two"), &spec);
    plan_case_each_file(below(it, "two"), ".tkc", flip_last_bit, NULL);
    plan_layers_warm(it, below(it, "three"), &spec);
    assert_int_equal(chmod(below(it, "three"), 0777), 0);
    snprintf(ro_dirs, sizeof ro_dirs, "%s:%s:%s:/nonexistent", below(it, "one"), below(it, "two"),
             below(it, "three"));
    plan_layers_open(it, ro_dirs, TOPK_JIT_MODE_OFFLINE);
    const offline_message parts = offline_case_miss(it, &spec);
    snprintf(expected, sizeof expected,
             "%s/a.tkp: no entry; %s/b.tkp: it is not a pack; %s: no entry; %s: its checksum does "
             "not match; %s: is writable by its group or by everybody; /nonexistent: does not "
             "exist; %s: does not exist",
             below(it, "one"), below(it, "one"), below(it, "one"), below(it, "two"),
             below(it, "three"), it->root);
    assert_string_equal(parts.places, expected);
}

static void entry_that_does_not_load_is_said_to_be_one(void **state)
{
    plan_case *it = *state;
    char expected[2048];
    const topk_jit_spec spec = plan_case_spec(9004);
    plan_layers_warm(it, it->root, &spec);
    plan_layers_spoil(it->root);
    plan_layers_open(it, NULL, TOPK_JIT_MODE_OFFLINE);
    const offline_message parts = offline_case_miss(it, &spec);
    snprintf(expected, sizeof expected, "%s: what is there does not load", it->root);
    assert_string_equal(parts.places, expected);
}

static void without_any_place_the_message_says_so(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(9004);
    topk_jit_options options = plan_case_options(it);
    options.mode = TOPK_JIT_MODE_OFFLINE;
    options.cache_dir = NULL; /* and HOME is /, which is nobody's */
    plan_case_open(it, &options);
    const offline_message parts = offline_case_miss(it, &spec);
    assert_string_equal(parts.places, "nowhere, for no directory and no pack is set");
    assert_non_null(strstr(parts.command, " --cache-dir DIRECTORY, which TOPK_JIT_CACHE_DIR"));
}

/* ---- the command ---- */

static void command_has_a_flag_for_each_word_of_the_spec(void **state)
{
    plan_case *it = *state;
    char expected[1024];
    topk_jit_spec spec = plan_case_spec(9004);
    spec.dtype = TOPK_JIT_BFLOAT16;
    spec.index_dtype = TOPK_JIT_INT64;
    spec.tie_break = TOPK_JIT_TIE_BREAK_LARGEST;
    spec.sorted = spec.deterministic = spec.nan_last = spec.check = 1;
    const offline_message parts = offline_case_miss(it, &spec);
    snprintf(expected, sizeof expected,
             "topk-jit-warm --arch sm_90 --operation select --layout plain --topk 9004 --dtype "
             "bfloat16 --index-dtype int64 --sorted --tie-break largest --deterministic "
             "--nan-last --check --nvrtc '%s' --cache-dir '%s'",
             FAKE_NVRTC_PATH, it->root);
    assert_string_equal(parts.command, expected);
}

static void command_of_fast_topk_has_the_flags_that_it_takes(void **state)
{
    plan_case *it = *state;
    char expected[1024];
    topk_jit_spec spec = plan_case_spec(9004);
    spec.operation = TOPK_JIT_OPERATION_FAST_TOPK;
    spec.dtype = TOPK_JIT_FLOAT64;
    spec.index_dtype = TOPK_JIT_INT64;
    spec = tkj_spec_canonical(&spec);
    const offline_message parts = offline_case_miss(it, &spec);
    snprintf(expected, sizeof expected,
             "topk-jit-warm --arch sm_90 --operation fast_topk --topk 9004 --dtype float64 "
             "--nvrtc '%s' --cache-dir '%s'",
             FAKE_NVRTC_PATH, it->root);
    assert_string_equal(parts.command, expected);
}

static void command_names_the_templates_that_were_set(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(9004);
    topk_jit_options options = plan_case_options(it);
    char templates[512], expected[1024];
    snprintf(templates, sizeof templates, "%s/it's mine", it->directory);
    assert_int_equal(mkdir(templates, 0700), 0);
    for (size_t i = 0; i < tkj_embedded_template_count; i++)
        tkj_test_file_write(tkj_test_path(templates, tkj_embedded_templates[i].name),
                            tkj_embedded_templates[i].text, strlen(tkj_embedded_templates[i].text));
    options.mode = TOPK_JIT_MODE_OFFLINE;
    options.template_dir = templates;
    plan_case_open(it, &options);
    snprintf(expected, sizeof expected, " --template-dir '%s/it'\\''s mine' --nvrtc '",
             it->directory);
    assert_non_null(strstr(offline_case_miss(it, &spec).command, expected));
    assert_int_equal(setenv("TOPK_JIT_TEMPLATE_DIR", templates, 1), 0);
    options.template_dir = NULL;
    plan_case_open(it, &options);
    assert_non_null(strstr(offline_case_miss(it, &spec).command, expected));
}

/* ---- length ---- */

static void long_message_is_cut_behind_the_command_and_logged_whole(void **state)
{
    plan_case *it = *state;
    const topk_jit_spec spec = plan_case_spec(9004);
    char ro_dirs[2048] = "";
    for (int i = 0; i < 60; i++)
        snprintf(ro_dirs + strlen(ro_dirs), sizeof ro_dirs - strlen(ro_dirs),
                 "%s/nonexistent/place-%02d", i > 0 ? ":" : "", i);
    plan_layers_open(it, ro_dirs, TOPK_JIT_MODE_OFFLINE);
    const offline_message parts = offline_case_miss(it, &spec);
    assert_int_equal(strlen(topk_jit_last_error()->message),
                     sizeof topk_jit_last_error()->message - 1);
    plan_case_assert_message(parts.command);
    plan_case_assert_message(parts.key);
    assert_non_null(strstr(parts.places, "/nonexistent/place-59: does not exist; "));
    assert_int_equal(it->logged[TOPK_JIT_LOG_ERROR], 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, plan_case_tear_down)

int main(void)
{
    if (!plan_case_connect())
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(miss_names_spec_target_and_kernel),
        TEST(miss_names_the_key_of_the_entry),
        TEST(gpu_of_the_future_is_served_by_what_can_be_named),
        TEST(each_place_has_its_reason),
        TEST(entry_that_does_not_load_is_said_to_be_one),
        TEST(without_any_place_the_message_says_so),
        TEST(command_has_a_flag_for_each_word_of_the_spec),
        TEST(command_of_fast_topk_has_the_flags_that_it_takes),
        TEST(command_names_the_templates_that_were_set),
        TEST(long_message_is_cut_behind_the_command_and_logged_whole),
    };
    return cmocka_run_group_tests_name("plan_offline", tests, NULL, NULL);
}
