/* SPDX-License-Identifier: Apache-2.0 */
/* An entry that decodes, and does not agree with itself or with its name. */
#include "testing.h"

#include <string.h>

#include "entry_flaw.h"
#include "memory.h"

/* The flaw of an entry of this preimage, target and toolchain, under a major and its own key. */
static const char *flaw_of(const char *preimage, const char *target, const char *toolchain,
                           uint32_t major)
{
    static const uint8_t cubin[] = {0x7f, 'E', 'L', 'F'};
    const tkj_entry from = {
        .kind = TKJ_PAYLOAD_CUBIN,
        .target = target,
        .toolchain = toolchain,
        .library = "0.1.0",
        .preimage = preimage,
        .entry_name = "kernel",
        .payload = cubin,
        .payload_size = sizeof cubin,
    };
    uint8_t key[TKJ_DIGEST_SIZE];
    tkj_blob bytes;
    tkj_entry entry;
    assert_int_equal(tkj_entry_encode(&tkj_default_allocator, &from, &bytes), TOPK_JIT_OK);
    tkj_digest(preimage, strlen(preimage), key);
    const char *flaw = warm_entry_flaw(key, major, &bytes, &entry);
    tkj_free(&tkj_default_allocator, bytes.bytes);
    return flaw;
}

static void entry_that_agrees_with_itself_is_sound(void **state)
{
    (void)state;
    assert_null(flaw_of("schema 1:1\ntarget 5:sm_90\n", "sm_90", "nvrtc 13.0", 13));
    assert_null(flaw_of("target 10:compute_90\n", "compute_90", "nvrtc 12.9 build 7", 12));
    assert_null(flaw_of("target 5:sm_90\n", "sm_90", "nvrtc 13.0", 0));
}

static void what_says_nothing_contradicts_nothing(void **state)
{
    (void)state;
    assert_null(flaw_of("", "", "", 13));
    assert_null(flaw_of("one", "sm_90", "clang 19", 13));
    assert_null(flaw_of("target 6:sm_90\n", "sm_80", "nvrtc 13.0", 13)); /* no field */
}

static void target_of_the_header_must_be_the_preimages(void **state)
{
    static const char *const others[] = {"sm_80", "sm_9", "sm_900", "compute_90", ""};
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_string_equal(flaw_of("schema 1:1\ntarget 5:sm_90\n", others[i], "nvrtc 13.0", 13),
                            "it is for another target than its preimage says");
}

static void major_of_the_name_must_be_the_toolchains(void **state)
{
    static const char *const others[] = {"nvrtc 12.9", "nvrtc 1.3", "nvrtc 130.0", "nvrtc x",
                                         "nvrtc 4294967309.0"};
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_string_equal(flaw_of("target 5:sm_90\n", "sm_90", others[i], 13),
                            "another CUDA compiled it than its name says");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entry_that_agrees_with_itself_is_sound),
        cmocka_unit_test(what_says_nothing_contradicts_nothing),
        cmocka_unit_test(target_of_the_header_must_be_the_preimages),
        cmocka_unit_test(major_of_the_name_must_be_the_toolchains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
