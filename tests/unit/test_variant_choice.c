/* SPDX-License-Identifier: Apache-2.0 */
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "device_facts.h"
#include "ordered_key.h"
#include "params.h"
#include "spec_sweep.h"
#include "target.h"
#include "variant_choice.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const int architectures[] = {75, 80, 86, 89, 90, 100, 103, 110, 120, 121};

/* A GPU that is small, large, or that the driver knows nothing about. */
static tkj_device_facts facts_of(size_t i)
{
    static const int sms[] = {0, 1, 16, 108, 132, 148, 100000};
    static const int shared[] = {0, 49152, 65536, 101376, 232448};
    static const int l2[] = {0, 4 << 20, 50 << 20, INT32_MAX};
    const int architecture = architectures[i % COUNT(architectures)];
    return (tkj_device_facts){
        .compute_major = architecture / 10,
        .compute_minor = architecture % 10,
        .sm_count = sms[i % COUNT(sms)],
        .shared_per_block = shared[i % COUNT(shared)],
        .l2_bytes = l2[i % COUNT(l2)],
        .cluster_max = i % 2 == 0 ? TKJ_CLUSTER_MAX : 0,
    };
}

static size_t any_workspace(size_t i)
{
    static const size_t sizes[] = {0, TKJ_SPLIT_ROW_BYTES, 1 << 20, SIZE_MAX};
    return sizes[i % COUNT(sizes)];
}

static int64_t any_size(size_t i)
{
    static const int64_t sizes[] = {0,
                                    1,
                                    2,
                                    7,
                                    32,
                                    148,
                                    511,
                                    2047,
                                    2048,
                                    2049,
                                    4096,
                                    8192,
                                    32768,
                                    65537,
                                    131072,
                                    200000,
                                    1 << 20,
                                    INT32_MAX,
                                    INT64_C(1) << 40};
    return sizes[i % COUNT(sizes)];
}

/* A variant of limited capacity holds a row with all that precedes it up to a 16-byte boundary. */
static bool holds(const tkj_variant *variant, const topk_jit_spec *spec,
                  const tkj_call_shape *shape)
{
    int64_t group = 16 / (int64_t)tkj_dtype_size(spec->dtype);
    int64_t before = shape->aligned || variant->whole ? 0 : group - 1;
    return variant->capacity == 0 || shape->width + before <= variant->capacity;
}

static void chosen_variant_is_in_the_list_and_holds_the_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < 200000; i++) {
        topk_jit_spec spec = spec_sweep_at(i * 31 % spec_sweep_count());
        tkj_device_facts facts = facts_of(i);
        tkj_variant variants[TKJ_VARIANTS_MAX];
        tkj_call_shape shape = {.rows = any_size(i / 20),
                                .width = any_size(i),
                                .max_sms = (int32_t)(i % 3 * (i % 200)),
                                .aligned = i / 7 % 2 == 0,
                                .workspace_size = any_workspace(i / 3)};
        int known = tkj_target_known_below(facts.compute_major, facts.compute_minor);
        size_t count = tkj_variants_enumerate(&spec, known, variants);
        size_t chosen = tkj_variants_choose(&spec, variants, count, &shape, &facts);
        assert_true(chosen < count);
        assert_true(holds(&variants[chosen], &spec, &shape));
    }
}

static void at_most_k_columns_are_written_whole(void **state)
{
    (void)state;
    const tkj_device_facts *facts = &tkj_known_device("H200")->facts;
    for (size_t i = 0; i < spec_sweep_count(); i++) {
        topk_jit_spec spec = spec_sweep_at(i);
        tkj_variant variants[TKJ_VARIANTS_MAX];
        size_t count = tkj_variants_enumerate(&spec, 90, variants);
        bool is_listed = false;
        if (spec.operation != TOPK_JIT_OPERATION_SELECT)
            continue;
        for (size_t v = 0; v < count; v++)
            is_listed = is_listed || variants[v].whole;
        assert_int_equal(is_listed, !spec.sorted && spec.topk <= 8192);
        for (int64_t width = spec.topk - 1; is_listed && width <= spec.topk + 1; width++) {
            tkj_call_shape shape = {.rows = 1 + width % 3, .width = width, .aligned = i % 2 == 0};
            size_t chosen = tkj_variants_choose(&spec, variants, count, &shape, facts);
            assert_int_equal(variants[chosen].whole, width <= spec.topk);
        }
    }
}

/* Around the capacity of each variant, aligned or not. */
static void rows_at_the_capacity_of_a_variant_fit_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < spec_sweep_count(); i += 11) {
        topk_jit_spec spec = spec_sweep_at(i);
        tkj_device_facts facts = facts_of(i);
        tkj_variant variants[TKJ_VARIANTS_MAX];
        size_t count = tkj_variants_enumerate(&spec, 90, variants);
        for (size_t v = 0; v < count; v++)
            for (int64_t near = -8; near <= 1; near++) {
                int64_t width = variants[v].capacity + near;
                tkj_call_shape shape = {
                    .rows = 100, .width = width > 0 ? width : 0, .aligned = v % 2 == 0};
                size_t chosen = tkj_variants_choose(&spec, variants, count, &shape, &facts);
                assert_true(chosen < count);
                assert_true(holds(&variants[chosen], &spec, &shape));
            }
    }
}

/** Variant and blocks a row of a call on a GPU: "cluster_4/2". */
static void describe_call(const topk_jit_spec *spec, const tkj_device_facts *facts,
                          const tkj_call_shape *shape, char text[32])
{
    tkj_variant variants[TKJ_VARIANTS_MAX];
    int known = tkj_target_known_below(facts->compute_major, facts->compute_minor);
    size_t count = tkj_variants_enumerate(spec, known, variants);
    const tkj_variant *chosen = &variants[tkj_variants_choose(spec, variants, count, shape, facts)];
    snprintf(text, 32, "%s/%u", chosen->name,
             tkj_variants_cluster(chosen, shape, facts) * tkj_variants_parts(chosen, shape, facts));
}

/** The same of a call without a workspace, k = 2048. */
static void describe_choice_of(topk_jit_dtype dtype, const tkj_device_facts *facts, int64_t rows,
                               int64_t width, char text[32])
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    const tkj_call_shape shape = {.rows = rows, .width = width, .aligned = true};
    spec.dtype = dtype;
    describe_call(&spec, facts, &shape, text);
}

static void describe_choice(const tkj_device_facts *facts, int64_t rows, int64_t width,
                            char text[32])
{
    describe_choice_of(TOPK_JIT_FLOAT32, facts, rows, width, text);
}

/* A block holds twice as many scores of half the size. */
static void smaller_scores_get_smaller_clusters(void **state)
{
    (void)state;
    static const struct {
        int64_t rows, width;
        const char *choice;
    } cases[] = {{1, 32768, "cluster_1/8"},
                 {1, 131072, "cluster_2/16"},
                 {32, 32768, "cluster_4/2"},
                 {16, 65536, "cluster_4/4"},
                 {512, 32768, "stream/1"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[32];
        describe_choice_of(TOPK_JIT_BFLOAT16, &tkj_known_device("H200")->facts, cases[i].rows,
                           cases[i].width, text);
        assert_string_equal(text, cases[i].choice);
    }
}

static void known_gpus_get_the_variants_that_suit_them(void **state)
{
    (void)state;
    static const struct {
        int64_t rows, width;
        const char *without_room; /* T4 */
        const char *without_clusters;
        const char *with_clusters;
    } cases[] = {
        {1, 8192, "registers_256x32/1", "registers_256x32/1", "registers_256x32/1"},
        {1024, 8192, "registers_256x32/1", "registers_256x32/1", "registers_256x32/1"},
        {4096, 16384, "registers_512x32/1", "registers_512x32/1", "registers_512x32/1"},
        {1, 32768, "registers_1024x32/1", "registers_1024x32/1", "cluster_2/8"},
        {4, 16385, "registers_1024x32/1", "registers_1024x32/1", "cluster_2/8"},
        {512, 32768, "general/1", "stream/1", "stream/1"},
        {512, 131072, "general/1", "stream/1", "stream/1"},
    };
    for (size_t d = 0; d < tkj_known_device_count; d++)
        for (size_t i = 0; i < COUNT(cases); i++) {
            const tkj_device_facts *facts = &tkj_known_devices[d].facts;
            char text[32];
            describe_choice(facts, cases[i].rows, cases[i].width, text);
            assert_string_equal(text, facts->cluster_max > 0      ? cases[i].with_clusters
                                      : facts->compute_major >= 8 ? cases[i].without_clusters
                                                                  : cases[i].without_room);
        }
}

static void a_row_gets_as_many_blocks_as_the_gpu_has_room_for(void **state)
{
    (void)state;
    static const struct {
        const char *device;
        const char *of_one, *of_16, *of_40; /* rows of 131072, 65536, 32768 */
    } cases[] = {
        {"H100-PCIe", "cluster_4/16", "cluster_4/4", "cluster_4/2"},
        {"H100-SXM", "cluster_4/16", "cluster_4/4", "cluster_4/2"},
        {"H200", "cluster_4/16", "cluster_4/4", "cluster_4/2"},
        {"B200", "cluster_4/16", "cluster_4/4", "cluster_4/2"},
        {"RTX-5090", "cluster_4/8", "cluster_4/4", "cluster_4/2"},
        {"GB10", "cluster_4/8", "cluster_4/2", "registers_1024x32/1"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const tkj_device_facts *facts = &tkj_known_device(cases[i].device)->facts;
        char text[32];
        describe_choice(facts, 1, 131072, text);
        assert_string_equal(text, cases[i].of_one);
        describe_choice(facts, 16, 65536, text);
        assert_string_equal(text, cases[i].of_16);
        describe_choice(facts, 40, 32768, text);
        assert_string_equal(text, cases[i].of_40);
    }
}

/* A sort leaves room for two blocks an SM only where each takes one row. */
static void bounded_grids_get_kernels_that_loop(void **state)
{
    (void)state;
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    const tkj_device_facts *facts = &tkj_known_device("H200")->facts;
    static const struct {
        int64_t topk;
        int32_t max_sms;
        const char *choice;
    } cases[] = {
        {2048, 0, "stream/1"}, {2048, 256, "stream/1"}, {2048, 255, "stream_rows/1"},
        {4096, 0, "stream/1"}, {4096, 255, "stream/1"},
    };
    spec.sorted = 1;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[32];
        const tkj_call_shape shape = {
            .rows = 256, .width = 131072, .aligned = true, .max_sms = cases[i].max_sms};
        spec.topk = cases[i].topk;
        describe_call(&spec, facts, &shape, text);
        assert_string_equal(text, cases[i].choice);
    }
}

/* ---- fast_topk ---- */

static topk_jit_spec fast_topk_spec(int64_t topk, topk_jit_dtype dtype)
{
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    spec.operation = TOPK_JIT_OPERATION_FAST_TOPK;
    spec.index_dtype = TOPK_JIT_INT64;
    spec.topk = topk;
    spec.dtype = dtype;
    return spec;
}

static void lines_get_the_kernels_that_suit_them(void **state)
{
    (void)state;
    static const struct {
        int64_t topk;
        topk_jit_dtype dtype;
        tkj_call_shape shape;
        const char *choice;
    } cases[] = {
        {1, TOPK_JIT_FLOAT32, {.rows = 4, .width = 32000}, "max/1"},
        {1, TOPK_JIT_INT64, {.rows = 4, .width = 1 << 30, .lines_only = true}, "max/1"},
        {2, TOPK_JIT_FLOAT32, {.rows = 4096, .width = 128}, "short/1"},
        {225, TOPK_JIT_FLOAT64, {.rows = 4096, .width = 512, .lines_only = true}, "short/1"},
        {225, TOPK_JIT_FLOAT64, {.rows = 4096, .width = 513, .lines_only = true}, "general/1"},
        {226, TOPK_JIT_FLOAT64, {.rows = 4096, .width = 512, .lines_only = true}, "general/1"},
        {256, TOPK_JIT_FLOAT16, {.rows = 4096, .width = 1024}, "short/1"},
        {256, TOPK_JIT_FLOAT16, {.rows = 4096, .width = 1025}, "registers_256x32/1"},
        {50, TOPK_JIT_FLOAT32, {.rows = 128, .width = 4096, .lines_only = true}, "general/1"},
        {50, TOPK_JIT_FLOAT32, {.rows = 4, .width = 32000}, "cluster_2/8"},
        {50, TOPK_JIT_FLOAT32, {.rows = 256, .width = 129280}, "stream/1"},
        {50, TOPK_JIT_INT32, {.rows = 256, .width = 129280}, "general/1"},
        {257, TOPK_JIT_FLOAT32, {.rows = 256, .width = 300}, "registers_256x32/1"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const topk_jit_spec spec = fast_topk_spec(cases[i].topk, cases[i].dtype);
        char text[32];
        describe_call(&spec, &tkj_known_device("H200")->facts, &cases[i].shape, text);
        assert_string_equal(text, cases[i].choice);
    }
}

static bool is_power_of_two(uint32_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

/** What the kernels rely on: every line has its block, and every block's lines fit it. */
static void assert_shared_out(const tkj_variant *variant, const tkj_call_shape *shape,
                              tkj_line_share share)
{
    const uint32_t warps = variant->threads / 32;
    const int64_t room = (int64_t)variant->threads * variant->items + 32;
    assert_true(is_power_of_two(share.lines) && is_power_of_two(share.lanes));
    assert_true(share.lanes <= share.lines && share.lanes <= 32);
    if (strcmp(variant->name, "max") == 0)
        assert_true(share.lines <= warps * share.lanes);
    if (strcmp(variant->name, "short") == 0)
        assert_true(share.lines <= 32 && share.lines * (shape->width | 1) <= room);
    if (shape->rows < 1 << 20 && shape->max_sms == 0) {
        int64_t blocks = tkj_variants_grid(shape, 1, share.lines);
        assert_true(blocks * share.lines >= shape->rows);
        assert_true((blocks - 1) * share.lines < shape->rows);
    }
}

static void blocks_share_out_all_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < 200000; i++) {
        static const int64_t topks[] = {1, 2, 256, 257};
        const topk_jit_spec spec = fast_topk_spec(topks[i % 4], (topk_jit_dtype)(i / 4 % 6));
        tkj_device_facts facts = facts_of(i);
        tkj_variant variants[TKJ_VARIANTS_MAX];
        tkj_call_shape shape = {.rows = any_size(i / 20),
                                .width = any_size(i),
                                .max_sms = (int32_t)(i % 3 * (i % 200)),
                                .lines_only = i / 7 % 2 == 0,
                                .across = i / 7 % 4 == 0};
        int known = tkj_target_known_below(facts.compute_major, facts.compute_minor);
        size_t count = tkj_variants_enumerate(&spec, known, variants);
        size_t chosen = tkj_variants_choose(&spec, variants, count, &shape, &facts);
        assert_true(holds(&variants[chosen], &spec, &shape));
        assert_true(variants[chosen].lines != TKJ_LINES_NONE || !shape.lines_only);
        assert_true(!variants[chosen].one_row || shape.max_sms == 0 || shape.rows <= shape.max_sms);
        assert_shared_out(&variants[chosen], &shape,
                          tkj_variants_lines(&variants[chosen], &shape, &facts));
    }
}

/* ---- two launches ---- */

/** The same of an aligned call with all the workspace that it could want. */
static void assert_choice_with_workspace(const char *device, int64_t rows, int64_t width,
                                         int32_t max_sms, const char *expected)
{
    const topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    const tkj_call_shape shape = {.rows = rows,
                                  .width = width,
                                  .max_sms = max_sms,
                                  .aligned = true,
                                  .workspace_size = SIZE_MAX};
    char text[32];
    describe_call(&spec, &tkj_known_device(device)->facts, &shape, text);
    assert_string_equal(text, expected);
}

static void few_long_rows_are_split_where_there_are_no_clusters(void **state)
{
    (void)state;
    assert_choice_with_workspace("A100", 1, 131072, 0, "split/16");
    assert_choice_with_workspace("A100", 1, 1 << 30, 0, "split/16");
    assert_choice_with_workspace("A100", 1, 32769, 0, "split/8");
    assert_choice_with_workspace("A100", 1, 32768, 0, "registers_1024x32/1");
    assert_choice_with_workspace("A100", 6, 131072, 0, "split/16");
    assert_choice_with_workspace("A100", 7, 131072, 0, "split/8");
    assert_choice_with_workspace("A100", 54, 131072, 0, "split/2");
    assert_choice_with_workspace("A100", 55, 131072, 0, "stream/1");
    assert_choice_with_workspace("L4", 1, 131072, 0, "split/16");
    assert_choice_with_workspace("L4", 8, 65536, 0, "split/4");
    assert_choice_with_workspace("L4", 29, 131072, 0, "split/2");
    assert_choice_with_workspace("L4", 30, 131072, 0, "stream/1");
    assert_choice_with_workspace("L4", 8, 131072, 16, "split/2");
    assert_choice_with_workspace("L4", 8, 131072, 15, "stream/1");
    assert_choice_with_workspace("T4", 1, 131072, 0, "general/1");
}

static void specs_without_large_blocks_split_shorter_rows(void **state)
{
    (void)state;
    topk_jit_spec spec = TOPK_JIT_SPEC_INIT;
    tkj_call_shape shape = {
        .rows = 1, .width = 16385, .aligned = true, .workspace_size = TKJ_SPLIT_ROW_BYTES};
    char text[32];
    spec.check = 1;
    describe_call(&spec, &tkj_known_device("A100")->facts, &shape, text);
    assert_string_equal(text, "split/4");
    shape.width = 16384;
    describe_call(&spec, &tkj_known_device("A100")->facts, &shape, text);
    assert_string_equal(text, "registers_512x32/1");
}

static void gpus_with_clusters_never_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < spec_sweep_count(); i++) {
        topk_jit_spec spec = spec_sweep_at(i);
        for (size_t a = 0; a < COUNT(architectures); a++) {
            tkj_variant variants[TKJ_VARIANTS_MAX];
            size_t count = tkj_variants_enumerate(&spec, architectures[a], variants);
            bool has_split = false;
            for (size_t v = 0; v < count; v++)
                has_split = has_split || variants[v].split;
            assert_int_equal(has_split, spec.operation == TOPK_JIT_OPERATION_SELECT &&
                                            spec.topk <= 4096 && architectures[a] >= 80 &&
                                            architectures[a] < 90);
        }
    }
}

static void split_needs_its_whole_workspace(void **state)
{
    (void)state;
    const tkj_variant split = {.split = true, .threads = 512, .items = 16};
    const tkj_variant stream = {.threads = 512, .items = 16};
    const tkj_device_facts *a100 = &tkj_known_device("A100")->facts;
    for (int64_t rows = 1; rows <= 54; rows++) {
        const size_t size = (size_t)rows * TKJ_SPLIT_ROW_BYTES;
        tkj_call_shape shape = {.rows = rows, .width = 131072, .workspace_size = size};
        assert_true(tkj_variants_parts(&split, &shape, a100) > 1);
        assert_int_equal(tkj_variants_parts(&stream, &shape, a100), 1);
        shape.workspace_size = size - 1;
        assert_int_equal(tkj_variants_parts(&split, &shape, a100), 1);
        shape.workspace_size = 0;
        assert_int_equal(tkj_variants_parts(&split, &shape, a100), 1);
    }
}

static void parts_are_a_power_of_two_that_fits_the_sms_and_the_row(void **state)
{
    (void)state;
    const tkj_variant split = {.split = true, .threads = 512, .items = 16};
    for (size_t i = 0; i < 20000; i++) {
        const tkj_device_facts facts = facts_of(i);
        const tkj_call_shape shape = {.rows = any_size(i / 20),
                                      .width = any_size(i),
                                      .max_sms = (int32_t)(i % 3 * (i % 200)),
                                      .workspace_size = SIZE_MAX};
        uint32_t parts = tkj_variants_parts(&split, &shape, &facts);
        assert_true(parts >= 1 && parts <= TKJ_SPLIT_PARTS_MAX && (parts & (parts - 1)) == 0);
        if (parts == 1)
            continue;
        uint32_t grid = tkj_variants_parts_grid(&shape, parts);
        assert_int_equal(grid, shape.rows * parts);
        assert_true(grid <= (uint32_t)facts.sm_count);
        assert_true(shape.max_sms == 0 || grid <= (uint32_t)shape.max_sms);
        assert_true(shape.width > (int64_t)parts / 2 * 8192); /* each block has something */
    }
}

static void workspace_is_for_every_gpu_that_would_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < 50000; i++) {
        topk_jit_spec spec = spec_sweep_at(i * 31 % spec_sweep_count());
        const tkj_device_facts *facts = &tkj_known_devices[i % tkj_known_device_count].facts;
        tkj_variant variants[TKJ_VARIANTS_MAX];
        tkj_call_shape shape = {.rows = (int64_t)(i % 80),
                                .width = any_size(i),
                                .max_sms = (int32_t)(i % 3 * (i % 200)),
                                .aligned = i / 7 % 2 == 0};
        shape.workspace_size = tkj_variants_workspace(&spec, &shape);
        const size_t asked = shape.workspace_size;
        int known = tkj_target_known_below(facts->compute_major, facts->compute_minor);
        size_t count = tkj_variants_enumerate(&spec, known, variants);
        size_t with = tkj_variants_choose(&spec, variants, count, &shape, facts);
        shape.workspace_size = SIZE_MAX;
        assert_int_equal(tkj_variants_choose(&spec, variants, count, &shape, facts), with);
        assert_int_equal(tkj_variants_workspace(&spec, &shape), asked);
        assert_true(asked <= (size_t)72 * TKJ_SPLIT_ROW_BYTES);
    }
}

static uint32_t grid_of(int64_t rows, int32_t max_sms)
{
    return tkj_variants_grid(&(tkj_call_shape){.rows = rows, .width = 100, .max_sms = max_sms}, 1,
                             1);
}

static void grid_is_within_the_rows_the_bound_and_the_hardware(void **state)
{
    (void)state;
    static const int64_t rows[] = {0,
                                   1,
                                   2,
                                   131,
                                   132,
                                   133,
                                   65535,
                                   65536,
                                   INT32_MAX,
                                   INT64_C(1) << 31,
                                   INT64_C(1) << 32,
                                   INT64_C(1) << 40};
    static const int32_t bounds[] = {0, 1, 7, 132, INT32_MAX};
    for (size_t r = 0; r < COUNT(rows); r++)
        for (size_t b = 0; b < COUNT(bounds); b++) {
            uint32_t grid = grid_of(rows[r], bounds[b]);
            assert_true(grid <= INT32_MAX);
            assert_true(grid <= rows[r]);
            assert_true(bounds[b] == 0 || grid <= (uint32_t)bounds[b]);
            assert_int_equal(grid > 0, rows[r] > 0);
        }
    assert_int_equal(grid_of(500, 0), 500);
    assert_int_equal(grid_of(500, 20), 20);
    assert_int_equal(grid_of((INT64_C(1) << 32) + 1, 0), INT32_MAX);
}

static void cluster_is_a_power_of_two_that_fits_the_sms_and_the_row(void **state)
{
    (void)state;
    const tkj_device_facts h200 = {.compute_major = 9, .sm_count = 132, .cluster_max = 16};
    const tkj_device_facts a100 = {.compute_major = 8, .sm_count = 108};
    const tkj_variant stream = {.clusters = true, .threads = 512, .items = 16};
    const tkj_variant general = {.name = "general"};
    for (int64_t rows = 1; rows < 300; rows++)
        for (int64_t width = 1; width < 400000; width = width * 3 + 1) {
            const tkj_call_shape shape = {.rows = rows, .width = width};
            const tkj_call_shape bounded = {.rows = rows, .width = width, .max_sms = 5};
            uint32_t size = tkj_variants_cluster(&stream, &shape, &h200);
            assert_true(size >= 1 && size <= 16 && (size & (size - 1)) == 0);
            assert_true(size == 1 || rows * size <= h200.sm_count);
            assert_true(size == 1 ||
                        width > (int64_t)size / 2 * 8192); /* each block has something */
            assert_int_equal(tkj_variants_grid(&shape, size, 1), rows * size);
            uint32_t small = tkj_variants_cluster(&stream, &bounded, &h200);
            assert_true(small <= 4 && tkj_variants_grid(&bounded, small, 1) <= 5);
            assert_int_equal(tkj_variants_cluster(&stream, &shape, &a100), 1);
            assert_int_equal(tkj_variants_cluster(&general, &shape, &h200), 1);
        }
    const tkj_call_shape decode = {.rows = 8, .width = 131072};
    assert_int_equal(tkj_variants_cluster(&stream, &decode, &h200), 8);
    const tkj_call_shape single = {.rows = 1, .width = 131072};
    assert_int_equal(tkj_variants_cluster(&stream, &single, &h200), 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chosen_variant_is_in_the_list_and_holds_the_row),
        cmocka_unit_test(at_most_k_columns_are_written_whole),
        cmocka_unit_test(rows_at_the_capacity_of_a_variant_fit_it),
        cmocka_unit_test(known_gpus_get_the_variants_that_suit_them),
        cmocka_unit_test(a_row_gets_as_many_blocks_as_the_gpu_has_room_for),
        cmocka_unit_test(smaller_scores_get_smaller_clusters),
        cmocka_unit_test(cluster_is_a_power_of_two_that_fits_the_sms_and_the_row),
        cmocka_unit_test(bounded_grids_get_kernels_that_loop),
        cmocka_unit_test(lines_get_the_kernels_that_suit_them),
        cmocka_unit_test(blocks_share_out_all_lines),
        cmocka_unit_test(few_long_rows_are_split_where_there_are_no_clusters),
        cmocka_unit_test(specs_without_large_blocks_split_shorter_rows),
        cmocka_unit_test(gpus_with_clusters_never_split),
        cmocka_unit_test(split_needs_its_whole_workspace),
        cmocka_unit_test(parts_are_a_power_of_two_that_fits_the_sms_and_the_row),
        cmocka_unit_test(workspace_is_for_every_gpu_that_would_split),
        cmocka_unit_test(grid_is_within_the_rows_the_bound_and_the_hardware),
    };
    return cmocka_run_group_tests_name("variant_choice", tests, NULL, NULL);
}
