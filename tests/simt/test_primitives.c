/* SPDX-License-Identifier: Apache-2.0 */
/* What each operation of the platform gives on the executor, in any order of threads. */
#include <string.h>

#include "float16.h"
#include "primitives.h"
#include "small_launch.h"
#include "testing.h"

#define DECLARE(name) extern const tkj_simt_kernel primitive_##name;
PRIMITIVE_KERNELS(DECLARE)

#define SEEDS 20
#define THREADS WRONG_THREADS

/** Runs a kernel in many orders and compares `rows` rows of outputs with what is expected. */
static void expect(const tkj_simt_kernel *kernel, uint32_t cluster, int rows,
                   uint32_t (*expected)(int row, uint32_t thread))
{
    char message[TKJ_SIMT_MESSAGE_SIZE];
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        small_memory memory;
        if (!small_launch_run(&memory, kernel, 0, cluster, cluster, seed, message))
            fail_msg("seed %d: %s", (int)seed, message);
        for (int row = 0; row < rows; row++)
            for (uint32_t t = 0; t < THREADS; t++)
                if (small_launch_out(&memory, row, (int)t) != expected(row, t))
                    fail_msg("seed %d: row %d, thread %d is %#x, expected %#x", (int)seed, row,
                             (int)t, small_launch_out(&memory, row, (int)t), expected(row, t));
        small_launch_release(&memory);
    }
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/** One bit for each lane of the thread's warp whose thread number is `rest` modulo `divisor`. */
static uint32_t mask_of(uint32_t thread, uint32_t divisor, uint32_t rest)
{
    uint32_t mask = 0;
    for (uint32_t lane = 0; lane < 32; lane++)
        mask |= (uint32_t)((thread / 32 * 32 + lane) % divisor == rest) << lane;
    return mask;
}

static uint32_t ballot_of(int row, uint32_t t)
{
    (void)row;
    return mask_of(t, 3, 0);
}

static void ballot_has_a_bit_for_each_lane(void **state)
{
    (void)state;
    expect(&primitive_ballots, 1, 1, ballot_of);
}

static uint32_t shuffle_of(int row, uint32_t t)
{
    uint32_t lane = t % 32;
    uint32_t from[] = {lane / 2, lane < 3 ? lane : lane - 3, lane > 26 ? lane : lane + 5, lane ^ 9};
    return t - lane + from[row];
}

static void shuffles_take_from_the_right_lane(void **state)
{
    (void)state;
    expect(&primitive_shuffles, 1, 4, shuffle_of);
}

static uint32_t wide_of(int row, uint32_t t)
{
    return row == 1 ? 32 : t % 32 == 0 ? t : t - 1;
}

static void wide_values_keep_their_upper_half(void **state)
{
    (void)state;
    expect(&primitive_wide_shuffle, 1, 2, wide_of);
}

static uint32_t match_of(int row, uint32_t t)
{
    (void)row;
    return mask_of(t, 5, t % 5);
}

static void match_finds_the_lanes_with_the_same_value(void **state)
{
    (void)state;
    expect(&primitive_matches, 1, 1, match_of);
}

static uint32_t reduction_of(int row, uint32_t t)
{
    uint32_t sum = 0;
    uint32_t low = UINT32_MAX;
    uint32_t high = 0;
    for (uint32_t i = t / 32 * 32; i < t / 32 * 32 + 32; i++) {
        uint32_t value = i * 7 % 64;
        sum += value;
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
    return row == 0 ? sum : row == 1 ? low : high;
}

static void reductions_take_the_whole_warp(void **state)
{
    (void)state;
    expect(&primitive_reductions, 1, 3, reduction_of);
}

static uint32_t bit_count_of(int row, uint32_t t)
{
    uint32_t lane = t % 32;
    uint32_t width = 0;
    while (width < 32 && t >> width != 0)
        width++;
    uint32_t all[] = {lane == 31 ? 1 : 2, lane, width, t * 2 + t % 2};
    return all[row];
}

static void bits_are_counted(void **state)
{
    (void)state;
    expect(&primitive_bit_counts, 1, 4, bit_count_of);
}

static uint32_t half_of(int row, uint32_t t)
{
    uint32_t bits = bits_of(tkj_float16_to_float((uint16_t)(t * 1024 + (row == 0))));
    return bits;
}

static void halves_become_floats(void **state)
{
    (void)state;
    expect(&primitive_halves, 1, 2, half_of);
}

/** The float16 that is nearest to a float in the direction of zero. */
static uint32_t rounded_of(int row, uint32_t t)
{
    uint32_t sign = row == 0 ? 0 : 0x8000;
    uint32_t half = 0x7bff;
    uint32_t bits = t * 0x02082083U;
    float x;
    memcpy(&x, &bits, sizeof x);
    if (t == 62)
        return sign | 0x7c00;
    if (t == 63)
        return 0x7fff; /* NaN has no sign */
    while (tkj_float16_to_float((uint16_t)half) > x)
        half--;
    return sign | half;
}

static void floats_are_rounded_towards_zero(void **state)
{
    (void)state;
    expect(&primitive_rounded, 1, 2, rounded_of);
}

static uint32_t root_of(int row, uint32_t t)
{
    (void)row;
    return bits_of((float)t);
}

static void roots_are_taken(void **state)
{
    (void)state;
    expect(&primitive_roots, 1, 1, root_of);
}

static uint32_t saturated_of(int row, uint32_t t)
{
    (void)row;
    float value = (float)t * 0.0625F - 1.0F;
    return bits_of(t == 0 || value < 0 ? 0.0F : value > 1 ? 1.0F : value);
}

static void saturation_ends_at_0_and_1_and_takes_nan_for_0(void **state)
{
    (void)state;
    expect(&primitive_saturated, 1, 1, saturated_of);
}

static uint32_t atomic_of(int row, uint32_t t)
{
    static const uint32_t first[] = {64 * 63 / 2, 5, 68, UINT32_MAX, UINT32_MAX};
    return row == 1 ? THREADS : t < 5 ? first[t] : 64 * 65 / 2;
}

static void atomics_lose_nothing(void **state)
{
    (void)state;
    expect(&primitive_atomics, 1, 2, atomic_of);
}

static uint32_t input_of(int row, uint32_t t)
{
    return 1000 * (uint32_t)row + t;
}

static void ring_of_bulk_copies_passes_every_row(void **state)
{
    (void)state;
    expect(&primitive_ring_of_copies, 1, WRONG_ROWS, input_of);
}

static uint32_t next_of(int row, uint32_t t)
{
    return ((uint32_t)row + 1) % 4 * 100 + t;
}

static void cluster_reads_the_next_rank(void **state)
{
    (void)state;
    expect(&primitive_cluster_exchange, 4, 4, next_of);
}

static uint32_t previous_of(int row, uint32_t t)
{
    uint32_t rank = ((uint32_t)row + 3) % 4;
    return rank * 100 + t + 1000 * rank;
}

static void copies_and_stores_reach_the_next_rank(void **state)
{
    (void)state;
    expect(&primitive_copies_between_ranks, 4, 4, previous_of);
}

static uint32_t arrival_of(int row, uint32_t t)
{
    (void)row;
    return t / 16 + 7;
}

static void remote_arrivals_publish_remote_writes(void **state)
{
    (void)state;
    expect(&primitive_remote_arrivals, 4, 1, arrival_of);
}

static uint32_t triple_of(int row, uint32_t t)
{
    (void)row;
    return 3 * t;
}

static void copy_out_is_there_after_the_wait(void **state)
{
    (void)state;
    expect(&primitive_copy_out, 1, 1, triple_of);
}

/** A number for the order in which threads took slots. */
static uint64_t order_of(uint64_t seed)
{
    char message[TKJ_SIMT_MESSAGE_SIZE];
    small_memory memory;
    uint64_t hash = 0;
    assert_true(small_launch_run(&memory, &primitive_slots_by_order, 0, 1, 1, seed, message));
    for (int t = 0; t < THREADS; t++)
        hash = hash * UINT64_C(0x100000001b3) + small_launch_out(&memory, 0, t);
    small_launch_release(&memory);
    return hash;
}

static void order_follows_from_the_seed(void **state)
{
    (void)state;
    int others = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        assert_true(order_of(seed) == order_of(seed));
        others += order_of(seed) != order_of(seed + 1);
    }
    assert_in_range(others, SEEDS / 2, SEEDS);
}

/** Two launches on memory with a word a thread and one more. @return of the second one */
static bool read_what_was_left(uint32_t from, uint64_t seed, uint32_t *sum, char *message)
{
    static uint32_t words[THREADS + 1];
    uint32_t counter[2] = {from, 0};
    bool kept[sizeof words] = {false};
    wrong_params params = {words, words, counter, 0};
    tkj_simt_region regions[] = {
        {.name = "words",
         .data = words,
         .rows = 1,
         .row_bytes = sizeof words,
         .writable = true,
         .kept = kept},
        {.name = "counter",
         .data = counter,
         .rows = 1,
         .row_bytes = sizeof counter,
         .writable = true,
         .written = true},
    };
    const tkj_simt_launch launch = {&primitive_left_in_memory, 1, 1, &params, regions, 2, seed};
    assert_true(tkj_simt_run(&launch, message));
    regions[0].writable = false;
    params.wrong = 1;
    bool right = tkj_simt_run(&launch, message);
    *sum = counter[1];
    return right;
}

static void second_launch_may_read_what_the_first_one_left_and_no_more(void **state)
{
    (void)state;
    char message[TKJ_SIMT_MESSAGE_SIZE];
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        uint32_t sum;
        if (!read_what_was_left(0, seed, &sum, message))
            fail_msg("seed %d: %s", (int)seed, message);
        assert_int_equal(sum, THREADS * (THREADS + 1) / 2);
        bool right = read_what_was_left(1, seed, &sum, message);
        assert_int_equal(right, !tkj_simt_finds_races());
        if (!right)
            assert_non_null(strstr(message, "nobody has written"));
    }
}

/** Who takes any of a bin's candidates must not do so in the last one (refine_crowded). */
static void distinct_bins_are_so_but_for_the_last_one(void **state)
{
    (void)state;
    char message[TKJ_SIMT_MESSAGE_SIZE];
    small_memory memory;
    uint32_t last = 0;
    if (!small_launch_run(&memory, &primitive_distinct_bins, 0, 1, 1, 1, message))
        fail_msg("%s", message);
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(small_launch_out(&memory, 0, t), 0);
        last += small_launch_out(&memory, 1, t);
    }
    assert_true(last > 0);
    small_launch_release(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ballot_has_a_bit_for_each_lane),
        cmocka_unit_test(shuffles_take_from_the_right_lane),
        cmocka_unit_test(wide_values_keep_their_upper_half),
        cmocka_unit_test(match_finds_the_lanes_with_the_same_value),
        cmocka_unit_test(reductions_take_the_whole_warp),
        cmocka_unit_test(bits_are_counted),
        cmocka_unit_test(halves_become_floats),
        cmocka_unit_test(floats_are_rounded_towards_zero),
        cmocka_unit_test(roots_are_taken),
        cmocka_unit_test(saturation_ends_at_0_and_1_and_takes_nan_for_0),
        cmocka_unit_test(distinct_bins_are_so_but_for_the_last_one),
        cmocka_unit_test(atomics_lose_nothing),
        cmocka_unit_test(ring_of_bulk_copies_passes_every_row),
        cmocka_unit_test(cluster_reads_the_next_rank),
        cmocka_unit_test(copies_and_stores_reach_the_next_rank),
        cmocka_unit_test(remote_arrivals_publish_remote_writes),
        cmocka_unit_test(copy_out_is_there_after_the_wait),
        cmocka_unit_test(order_follows_from_the_seed),
        cmocka_unit_test(second_launch_may_read_what_the_first_one_left_and_no_more),
    };
    return cmocka_run_group_tests_name("simt_primitives", tests, NULL, NULL);
}
