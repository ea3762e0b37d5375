/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#include <string.h>

#include "abi.h"

/* A struct as it was, as it is, and as it will be. */
typedef struct old_struct {
    size_t struct_size;
    int first;
} old_struct;

typedef struct known_struct {
    size_t struct_size;
    int first;
    int second;
} known_struct;

typedef struct new_struct {
    size_t struct_size;
    int first;
    int second;
    int third;
} new_struct;

static const known_struct untouched = {77, 77, 77};

static void assert_message_has(const char *part)
{
    if (strstr(topk_jit_last_error()->message, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, topk_jit_last_error()->message);
}

static void same_size_is_copied(void **state)
{
    (void)state;
    known_struct given = {sizeof given, 3, 4}, known = untouched;
    assert_int_equal(tkj_abi_read("a_struct", &given, &known, sizeof known), TOPK_JIT_OK);
    assert_memory_equal(&known, &given, sizeof known);
}

static void missing_fields_are_defaults(void **state)
{
    (void)state;
    known_struct memory = {offsetof(known_struct, second), 3, 99}, known = untouched;
    assert_int_equal(tkj_abi_read("a_struct", &memory, &known, sizeof known), TOPK_JIT_OK);
    assert_int_equal(known.struct_size, sizeof known);
    assert_int_equal(known.first, 3);
    assert_int_equal(known.second, 0);
}

static void size_zero_is_a_mismatch_that_names_struct_and_field(void **state)
{
    (void)state;
    known_struct given = {0, 3, 4}, known = untouched;
    assert_int_equal(tkj_abi_read("a_struct", &given, &known, sizeof known), TOPK_JIT_ABI_MISMATCH);
    assert_message_has("a_struct.struct_size is 0, expected sizeof(a_struct) = 16");
    assert_memory_equal(&known, &untouched, sizeof known);
}

static void size_below_its_own_field_is_a_mismatch(void **state)
{
    (void)state;
    known_struct given = {sizeof(size_t) - 1, 3, 4}, known = untouched;
    assert_int_equal(tkj_abi_read("a_struct", &given, &known, sizeof known), TOPK_JIT_ABI_MISMATCH);
}

static void null_is_an_invalid_argument(void **state)
{
    (void)state;
    known_struct known = untouched;
    assert_int_equal(tkj_abi_read("a_struct", NULL, &known, sizeof known),
                     TOPK_JIT_INVALID_ARGUMENT);
    assert_message_has("a_struct is NULL");
    assert_int_equal(tkj_abi_write("a_struct", &known, sizeof known, NULL),
                     TOPK_JIT_INVALID_ARGUMENT);
}

static void unknown_tail_of_zeros_is_accepted(void **state)
{
    (void)state;
    new_struct given;
    memset(&given, 0, sizeof given);
    given.struct_size = sizeof given;
    given.second = 4;
    known_struct known = untouched;
    assert_int_equal(tkj_abi_read("a_struct", &given, &known, sizeof known), TOPK_JIT_OK);
    assert_int_equal(known.struct_size, sizeof known);
    assert_int_equal(known.second, 4);
}

static void every_set_byte_of_an_unknown_tail_is_a_mismatch(void **state)
{
    (void)state;
    for (size_t i = sizeof(known_struct); i < sizeof(new_struct); i++) {
        new_struct given;
        memset(&given, 0, sizeof given);
        given.struct_size = sizeof given;
        ((uint8_t *)&given)[i] = 1;
        known_struct known = untouched;
        assert_int_equal(tkj_abi_read("a_struct", &given, &known, sizeof known),
                         TOPK_JIT_ABI_MISMATCH);
        assert_memory_equal(&known, &untouched, sizeof known);
    }
    assert_message_has("a_struct.struct_size is 24");
    assert_message_has("byte 23");
}

static void older_caller_gets_what_it_knows_and_no_byte_more(void **state)
{
    (void)state;
    struct {
        old_struct out;
        uint8_t guard[16];
    } caller;
    memset(&caller, 0x5A, sizeof caller);
    caller.out.struct_size = offsetof(old_struct, first) + sizeof(int);
    known_struct known = {sizeof known, 3, 4};
    assert_int_equal(tkj_abi_write("a_struct", &known, sizeof known, &caller.out), TOPK_JIT_OK);
    assert_int_equal(caller.out.struct_size, offsetof(old_struct, first) + sizeof(int));
    assert_int_equal(caller.out.first, 3);
    for (size_t i = 0; i < sizeof caller.guard; i++)
        assert_int_equal(caller.guard[i], 0x5A);
}

static void newer_caller_gets_zeros_in_fields_that_are_unknown_here(void **state)
{
    (void)state;
    new_struct out;
    memset(&out, 0x5A, sizeof out);
    out.struct_size = sizeof out;
    known_struct known = {sizeof known, 3, 4};
    assert_int_equal(tkj_abi_write("a_struct", &known, sizeof known, &out), TOPK_JIT_OK);
    assert_int_equal(out.struct_size, sizeof out);
    assert_int_equal(out.second, 4);
    assert_int_equal(out.third, 0);
}

static void write_to_size_zero_is_a_mismatch_and_writes_nothing(void **state)
{
    (void)state;
    known_struct known = {sizeof known, 3, 4}, out = {0, 5, 6}, before = out;
    assert_int_equal(tkj_abi_write("a_struct", &known, sizeof known, &out), TOPK_JIT_ABI_MISMATCH);
    assert_memory_equal(&out, &before, sizeof out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_size_is_copied),
        cmocka_unit_test(missing_fields_are_defaults),
        cmocka_unit_test(size_zero_is_a_mismatch_that_names_struct_and_field),
        cmocka_unit_test(size_below_its_own_field_is_a_mismatch),
        cmocka_unit_test(null_is_an_invalid_argument),
        cmocka_unit_test(unknown_tail_of_zeros_is_accepted),
        cmocka_unit_test(every_set_byte_of_an_unknown_tail_is_a_mismatch),
        cmocka_unit_test(older_caller_gets_what_it_knows_and_no_byte_more),
        cmocka_unit_test(newer_caller_gets_zeros_in_fields_that_are_unknown_here),
        cmocka_unit_test(write_to_size_zero_is_a_mismatch_and_writes_nothing),
    };
    return cmocka_run_group_tests_name("abi", tests, NULL, NULL);
}
