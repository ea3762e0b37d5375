/* SPDX-License-Identifier: Apache-2.0 */
/* Every distribution of scores with every boundary of a row's length, and the odd shapes, through
   every listed selection kernel. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ordered_key.h"
#include "run_call.h"
#include "scores.h"
#include "testing.h"

/** A call to be made. */
typedef struct wanted {
    int64_t rows;
    int64_t padding; /* output rows beyond them */
    int64_t width;
    int64_t score_stride; /* 0 = one row for all */
    size_t shift;         /* elements off a 16-byte boundary */
    const int32_t *lengths;
    const tkj_scores_distribution *rows_scores; /* of each row; NULL = `scores` */
    int64_t kept;                               /* if not 0: all but so many scores are `others` */
    const uint32_t *regions; /* if not NULL: how many scores pass in each block; float32 only */
    int32_t start;           /* of every row's window; 0 = no row_starts */
    tkj_scores_distribution scores;
    int32_t max_sms;
    float scale; /* of all scores, if not 0; float32 only */
    enum { ZEROS, NAN_ABOVE, NAN_BELOW } others;
    uint32_t blocks; /* of `regions` */
    enum {
        AS_DRAWN,
        TOO_LOW,
        TOO_HIGH,
        PLATEAU_TOO_LOW,
        PLATEAU_TOO_HIGH,
        BELOW_RANGE,
        CROWDED,
        ZEROS_IN_BIN,
        ZERO_PIVOT,
        ONE_A_TURN,
        TWO_LEVELS,
        SAMPLES
    } sampled;         /* float32 only */
    bool shared_table; /* stride 0 */
    enum {
        IN_BIN, /* all distinct, in one bin */
        ABOVE,  /* far above the sampled ones, which are equal */
        APART,  /* the same, and counted without the sampled ones */
        TIED    /* all equal */
    } passing;  /* what passes, of `regions` */
} wanted;

/* What select_stream.cu, select_split.cu, and select_cluster.cu of short rows sample of an aligned
   float32 row: one group of 4 a thread of 512, four groups side by side. */
#define SAMPLERS 512
#define SAMPLED_GROUP 4
#define SAMPLED_TOGETHER 4
/* What it lists. */
#define LISTED 6144
/* Scores of a warp side by side: the next ones are another block's. */
#define WARP_SHARE 128

/** The column of sampler t's group in a row of so many columns. */
static int64_t sampled_column(int64_t width, int64_t t)
{
    int64_t fours = width / SAMPLED_GROUP / SAMPLED_TOGETHER;
    int64_t four = t / SAMPLED_TOGETHER * fours / (SAMPLERS / SAMPLED_TOGETHER);
    return (four * SAMPLED_TOGETHER + t % SAMPLED_TOGETHER) * SAMPLED_GROUP;
}

/** Sets the scores that are sampled apart from the others: all below them, or all above. Half of a
 *  plateau's samples are equal, the others below those. */
static void mislead(float *row, const wanted *w)
{
    bool on_plateau = w->sampled == PLATEAU_TOO_LOW || w->sampled == PLATEAU_TOO_HIGH;
    float others = w->sampled == TOO_LOW || w->sampled == PLATEAU_TOO_LOW ? 1.0F : -1.0F;
    for (int64_t i = 0; i < w->width; i++)
        row[i] = others * (float)(10000 + i * 37 % 9973);
    for (int64_t t = 0; t < SAMPLERS; t++)
        for (int64_t i = 0; i < SAMPLED_GROUP; i++) {
            float sample = (float)(t * SAMPLED_GROUP + i);
            if (on_plateau)
                sample = i % 2 == 0 ? 1.0F : -sample;
            else
                sample *= -others;
            row[sampled_column(w->width, t) + i] = sample;
        }
}

/** Sets all but `kept` scores, which are evenly spread, to zero or NaN. */
static void keep_some(char *row, size_t size, const wanted *w)
{
    for (int64_t i = 0; i < w->width; i++)
        if (i * w->kept % w->width >= w->kept) {
            memset(row + (size_t)i * size, w->others == ZEROS ? 0 : 0xff, size);
            if (w->others == NAN_ABOVE)
                row[(size_t)(i + 1) * size - 1] = 0x7f;
        }
}

/* What passes of what is sampled: enough for any k, and few enough that the filter seems to do. */
#define SAMPLED_PASS 1056

static float in_bin(const wanted *w, int64_t column)
{
    return w->passing == IN_BIN ? 1.0F + (float)(column * 37 % 9973) * 1e-6F : 1.0F;
}

/** Sets as many scores of each block's share at 1 or above as are wanted there, the others below 0;
 * those that are sampled among the former are about 1, so that the pivot is. */
static void fill_regions(float *row, const wanted *w)
{
    uint32_t passed[8] = {0};
    uint32_t sampled = 0;
    for (int64_t i = 0; i < w->width; i++)
        row[i] = -20000.0F - (float)i;
    for (int64_t t = 0; t < SAMPLERS; t++)
        for (int64_t i = 0; i < SAMPLED_GROUP; i++) {
            int64_t column = sampled_column(w->width, t) + i;
            int64_t block = column / WARP_SHARE % w->blocks;
            bool apart = w->passing == APART;
            bool passes = sampled < SAMPLED_PASS && (apart || passed[block] < w->regions[block]);
            sampled += passes;
            passed[block] += passes && !apart;
            row[column] = passes ? in_bin(w, column) : -10000.0F - (float)column;
        }
    for (int64_t i = 0; i < w->width; i++) {
        int64_t block = i / WARP_SHARE % w->blocks;
        if (row[i] <= -20000.0F && passed[block] < w->regions[block]) {
            row[i] = w->passing == ABOVE || w->passing == APART ? 10000.0F : in_bin(w, i);
            passed[block]++;
        }
    }
}

/** Sets hundreds of scores around the k-th place equal, of a row of distinct ones. */
static void crowd(float *row, int64_t width, int64_t k)
{
    for (int64_t i = 0; i < width; i++) {
        int64_t rank = i * 7919 % width;
        bool near = rank > k - 400 && rank < k + 400;
        row[i] = 1.0F + (float)(near ? width - k : width - rank) / (float)width;
    }
}

/** Sets the first sixteenth, which one warp samples, above most others: the range of the bins ends
 *  there, and the k-th largest of a large k is below it. */
static void raise_start(float *row, int64_t width)
{
    for (int64_t i = 0; i < width; i++) {
        float other = i % 20 == 0 ? 20.0F + (float)i / (float)width : -(float)(i % 1000);
        row[i] = i < width / 16 ? 10.0F : other;
    }
}

/** Zeros of both signs at the k-th place, in the coarse bins beside zero. */
static void add_zeros(float *row, int64_t width, int64_t k)
{
    for (int64_t i = 0; i < width; i++) {
        int64_t rank = i * 7919 % width;
        float zero = i % 2 == 0 ? -0.0F : 0.0F;
        row[i] = rank < k / 2 ? 1.0F + (float)rank : rank < 2 * k + 1400 ? zero : -1.0F - (float)i;
    }
}

/** A sample with a range of which the lower end of a bin is exactly 0, where the pivot is, although
 *  fewer than k scores are above: zeros of both signs are at the k-th place. */
static void put_pivot_at_zero(float *row, int64_t width, int64_t k)
{
    const float bin = 1024.0F; /* wide: the coarse bins end at 2^17 */
    const float top = 500.51F * bin;
    const float bottom = top - 2047.0F * bin;
    const int64_t high = k * SAMPLERS * SAMPLED_GROUP / width;
    const int64_t low = k - high < 208 ? k - 8 : high + 200;
    for (int64_t i = 0; i < width; i++) {
        bool among_zeros = i * 7919 % width < 2 * k + 200;
        float zero = i % 2 == 0 ? -0.0F : 0.0F;
        row[i] = among_zeros ? zero : -3e6F - (float)i;
    }
    for (int64_t t = 0; t < SAMPLERS; t++)
        for (int64_t i = 0; i < SAMPLED_GROUP; i++) {
            int64_t rank = i * SAMPLERS + t % 32 * (SAMPLERS / 32) + t / 32; /* warps alternate */
            float *score = &row[sampled_column(width, t) + i];
            *score = rank < high || rank < SAMPLERS / 32 ? top : rank < low ? 0.5F * bin : bottom;
        }
}

/** Scores of which each turn of a sort takes one off, for it is that far above the others, which
 * are equal: so their order is left to its last way. */
static void take_one_a_turn(float *row, int64_t width)
{
    const uint32_t one = 0x3f800000U;
    int bits = 1; /* of the bins, which are twice as many as the scores */
    while (INT64_C(1) << bits <= 2 * width)
        bits++;
    for (int64_t i = 0; i < width; i++) {
        int64_t turn = (width - 1 - i) / 3;
        int shift = 29 - (int)turn * bits;
        bool is_above = (width - 1 - i) % 3 == 0 && turn < 4 && shift >= 0;
        uint32_t score = is_above ? one + (1U << shift) : one;
        memcpy(&row[i], &score, sizeof score);
    }
}

/** Sets a few more than k scores equal, and many more equal ones just below: a sample that has few
 * of the former is not to take the latter for what the k-th is among. */
static void put_two_levels(float *row, int64_t width, int64_t k)
{
    for (int64_t i = 0; i < width; i++) {
        int64_t rank = i * 7919 % width;
        float other = -10.0F * (float)(i + 1) / (float)width;
        row[i] = rank < k + 18 ? 1.0001F : rank < k + 2000 ? 1.0F : other;
    }
}

static void add_scores(tkj_call *call, const wanted *w)
{
    const topk_jit_spec *spec = &call->spec;
    const size_t size = tkj_dtype_size(spec->dtype);
    char *score = tkj_call_add(call, TKJ_CALL_SCORE, spec->dtype, 2, w->rows, w->width,
                               w->score_stride, w->shift);
    int64_t stored = w->score_stride == 0 && w->rows > 1 ? 1 : w->rows;
    for (int64_t row = 0; row < stored; row++)
        tkj_scores_fill(w->rows_scores != NULL ? w->rows_scores[row] : w->scores, (uint64_t)row + 1,
                        spec->topk, spec->dtype, score + (size_t)(row * w->score_stride) * size,
                        w->width, 1);
    for (int64_t i = 0; w->scale != 0 && i < w->width; i++)
        ((float *)score)[i] *= w->scale;
    if (w->kept != 0)
        keep_some(score, size, w);
    if (w->sampled == BELOW_RANGE)
        raise_start((float *)score, w->width);
    else if (w->sampled == CROWDED)
        crowd((float *)score, w->width, spec->topk);
    else if (w->sampled == ZEROS_IN_BIN)
        add_zeros((float *)score, w->width, spec->topk);
    else if (w->sampled == ZERO_PIVOT)
        put_pivot_at_zero((float *)score, w->width, spec->topk);
    else if (w->sampled == TWO_LEVELS)
        put_two_levels((float *)score, w->width, spec->topk);
    else if (w->sampled == ONE_A_TURN)
        take_one_a_turn((float *)score, w->width);
    else if (w->regions != NULL)
        fill_regions((float *)score, w);
    else if (w->sampled != AS_DRAWN)
        mislead((float *)score, w);
}

static void add_layout(tkj_call *call, const wanted *w)
{
    const topk_jit_spec *spec = &call->spec;
    if (spec->layout == TOPK_JIT_LAYOUT_RAGGED) {
        int32_t *offset = tkj_call_add(call, TKJ_CALL_OFFSET, TOPK_JIT_INT32, 1, w->rows, 1, 3, 1);
        for (int64_t row = 0; row < w->rows; row++)
            offset[row * 3] = (int32_t)(row * 1000);
    } else if (spec->layout == TOPK_JIT_LAYOUT_PAGED) {
        int64_t pages = (w->width + spec->page_size - 1) / spec->page_size;
        int64_t stride = w->shared_table ? 0 : pages + 1;
        int32_t *table =
            tkj_call_add(call, TKJ_CALL_PAGE_TABLE, TOPK_JIT_INT32, 2, w->rows, pages, stride, 3);
        for (int64_t row = 0; row < (w->shared_table && w->rows > 1 ? 1 : w->rows); row++)
            for (int64_t page = 0; page < pages; page++)
                table[row * stride + page] = (int32_t)(row * 5000 + (page * 7) % 5000);
    }
}

static void make(tkj_call *call, const topk_jit_spec *spec, const wanted *w)
{
    int64_t out_rows = w->rows + w->padding;
    tkj_call_init(call, spec);
    call->args.max_sms = w->max_sms;
    add_scores(call, w);
    add_layout(call, w);
    if (w->lengths != NULL) {
        int32_t *lengths =
            tkj_call_add(call, TKJ_CALL_LENGTHS, TOPK_JIT_INT32, 1, w->rows, 1, 1, 1);
        memcpy(lengths, w->lengths, (size_t)w->rows * sizeof *lengths);
    }
    if (w->start != 0) {
        int32_t *starts =
            tkj_call_add(call, TKJ_CALL_ROW_STARTS, TOPK_JIT_INT32, 1, w->rows, 1, 0, 0);
        *starts = w->start;
    }
    /* Where the scores are aligned, indices are, too. */
    int64_t gap = w->shift == 0 ? 0 : 3;
    tkj_call_add(call, TKJ_CALL_INDICES, spec->index_dtype, 2, out_rows, spec->topk,
                 spec->topk + gap, w->shift % 4);
    tkj_call_add(call, TKJ_CALL_RAW_INDICES, TOPK_JIT_INT32, 2, out_rows, spec->topk,
                 spec->topk + gap, (size_t)gap);
    tkj_call_add(call, TKJ_CALL_VALUES, spec->dtype, 2, out_rows, spec->topk, spec->topk + 1, 1);
}

/* Longer than what any kernel holds in registers. */
#define LONGEST_HELD 40000

/** Does the kernel take rows that no block holds? */
static bool is_streamed(const tkj_simt_listed *listed)
{
    return tkj_simt_capacity(listed) > LONGEST_HELD;
}

/* Rows that no block holds take long: one in how many of their calls is made. */
static unsigned one_in = 1;

static void run(const tkj_simt_listed *listed, const wanted *w, uint64_t seed)
{
    static unsigned calls;
    if (is_streamed(listed) && calls++ % one_in != 0)
        return;
    char message[TKJ_SIMT_MESSAGE_SIZE] = "";
    topk_jit_spec spec = tkj_simt_spec(listed);
    tkj_call call;
    tkj_call twin;
    make(&call, &spec, w);
    make(&twin, &spec, w);
    if (tkj_simt_serves(listed, &call) && !tkj_simt_run_call(listed, &call, &twin, seed, message))
        fail_msg("%s, %s: B %" PRId64 ", L %" PRId64 ", %s: %s", listed->kernel->entry,
                 listed->spec, w->rows, w->width, tkj_scores_name(w->scores), message);
    tkj_call_release(&call);
    tkj_call_release(&twin);
}

/** Do several blocks share a row, as many as the seed says? */
static bool has_several_blocks(const tkj_simt_listed *listed)
{
    return strstr(listed->kernel->entry, "_cluster_") != NULL ||
           strstr(listed->kernel->entry, "_split_") != NULL;
}

/** Every second seed, from this one on, for one kernel: there are several of each template. */
static uint64_t first_seed(const tkj_simt_listed *listed)
{
    return (uint64_t)(listed - tkj_simt_kernels) % 2;
}

/** Calls a function for every kernel that selects. */
static void for_each(void (*work)(const tkj_simt_listed *, int64_t k))
{
    for (size_t i = 0; i < tkj_simt_kernel_count; i++) {
        const topk_jit_spec spec = tkj_simt_spec(&tkj_simt_kernels[i]);
        if (spec.operation == TOPK_JIT_OPERATION_SELECT)
            work(&tkj_simt_kernels[i], spec.topk);
    }
}

/** Rows of every length where paths part, in each distribution. */
static void run_distributions(const tkj_simt_listed *listed, int64_t k)
{
    const int64_t width = k + 300;
    const int32_t lengths[] = {(int32_t)k - 1,         (int32_t)k, (int32_t)k + 1, 0, -1,
                               (int32_t)(width + 100), INT32_MIN,  INT32_MAX};
    /* Of each template there are several kernels: together they get every distribution. */
    int step = k > 1000 ? 6 : 2;
    int first = (int)((listed - tkj_simt_kernels) % step);
    for (int scores = first; scores < TKJ_SCORES_COUNT; scores += step)
        run(listed,
            &(wanted){.rows = sizeof lengths / sizeof lengths[0],
                      .width = width,
                      .score_stride = width + 1 + scores % 8,
                      .shift = (size_t)(scores / 2 * 3) % 8,
                      .lengths = lengths,
                      .scores = (tkj_scores_distribution)scores},
            (uint64_t)scores);
}

static void every_distribution_at_every_boundary_length(void **state)
{
    (void)state;
    for_each(run_distributions);
}

static void run_shapes(const tkj_simt_listed *listed, int64_t k)
{
    const int64_t w = k + 40;
    const wanted shapes[] = {
        {.rows = 0, .padding = 3, .width = w, .score_stride = w},
        {.rows = 1, .width = w, .score_stride = w, .shift = 1},
        {.rows = 1, .width = k, .score_stride = 1},
        {.rows = 2, .padding = 1, .width = 0, .score_stride = 5},
        {.rows = 3, .width = w, .score_stride = 0, .shift = 3, .shared_table = true},
        {.rows = 2, .width = w, .score_stride = w + 3, .shift = 2, .scores = TKJ_SCORES_EQUAL},
        {.rows = 1, .padding = 2, .width = 1, .score_stride = 1, .scores = TKJ_SCORES_SOME_NAN},
        {.rows = 3, .width = w, .score_stride = w, .scores = TKJ_SCORES_RELU},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (uint64_t seed = 4 * i; seed<4 * i + 4; seed += k> 1000 ? 3 : 1)
            run(listed, &shapes[i], seed);
}

static void odd_shapes_are_judged_right(void **state)
{
    (void)state;
    for_each(run_shapes);
}

/* Several tiles of a kernel that takes rows of any length. */
#define LONG_ROW 9001
/* With k = 4096, sampled more than once by select_stream.cu. */
#define DENSELY_SAMPLED 33000
/* Positions that one bitmap of a list holds. */
#define MARKED 131072

/** Rows as long as a kernel holds, or long ones. */
static void run_longest(const tkj_simt_listed *listed, int64_t k)
{
    static const tkj_scores_distribution scores[] = {
        TKJ_SCORES_NORMAL,    TKJ_SCORES_EQUAL,     TKJ_SCORES_NEAR_ONE, TKJ_SCORES_TEN_VALUES,
        TKJ_SCORES_RELU,      TKJ_SCORES_FORCED,    TKJ_SCORES_OUTLIER,  TKJ_SCORES_ANY_BITS,
        TKJ_SCORES_ASCENDING, TKJ_SCORES_DESCENDING};
    const int64_t count = sizeof scores / sizeof scores[0];
    int64_t capacity = tkj_simt_capacity(listed);
    bool holds = capacity > 0 && capacity <= LONGEST_HELD;
    int64_t width = holds ? capacity : LONG_ROW + k;
    for (int64_t i = 0; width > k && i<count; i += capacity> 0 ? 1 : 3)
        run(listed,
            &(wanted){.rows = 1,
                      .width = width - (i % 2 == 0 ? 0 : 7),
                      .score_stride = width,
                      .shift = i % 2 == 0 ? 0 : 3,
                      .start = i < 4 ? 0 : 1,
                      .scores = scores[i]},
            (uint64_t)i);
}

/** Plateaus with NaN in between, a third of the row. */
static void run_plateaus_with_nan(const tkj_simt_listed *listed, int64_t k)
{
    static const tkj_scores_distribution scores[] = {TKJ_SCORES_EQUAL, TKJ_SCORES_MINUS_INFINITY,
                                                     TKJ_SCORES_RELU};
    int64_t width = k * 3 / 2 + 900;
    for (uint64_t i = 0; i < 6; i++)
        run(listed,
            &(wanted){.rows = 1,
                      .width = width,
                      .score_stride = width,
                      .kept = width * 2 / 3,
                      .scores = scores[i % 3],
                      .others = i < 3 ? NAN_BELOW : NAN_ABOVE},
            i);
}

/** Rows of k scores above zeros, or nearly so, or of half as many; long ones twice, in clusters of
 * different sizes. */
static void run_plateaus(const tkj_simt_listed *listed, int64_t k)
{
    const int64_t kept[] = {k - 1, k, k + 1, k / 2 + 1};
    bool streams = is_streamed(listed);
    for (uint64_t i = 0; i < (streams ? 12 : 4); i++) {
        int64_t width = i < 4 ? k + 300 : LONG_ROW + k;
        run(listed,
            &(wanted){.rows = 1,
                      .width = width,
                      .score_stride = width,
                      .kept = kept[i % 4],
                      .scores = TKJ_SCORES_EQUAL},
            i + i / 8);
    }
}

/** About k NaN, which a sample can hardly tell from a few less or more. */
static void run_about_k_nan(const tkj_simt_listed *listed, int64_t k)
{
    const int64_t missing[] = {1, 0, -1, -k / 8, k / 8};
    const int64_t width = LONG_ROW + k;
    if (!is_streamed(listed))
        return;
    for (uint64_t i = first_seed(listed); i < 5; i += 2)
        run(listed,
            &(wanted){.rows = 1,
                      .width = width,
                      .score_stride = width,
                      .kept = width - k + missing[i],
                      .scores = TKJ_SCORES_NORMAL,
                      .others = i % 2 == 0 ? NAN_BELOW : NAN_ABOVE},
            i);
}

static void plateaus_at_the_last_place_are_judged_right(void **state)
{
    (void)state;
    for_each(run_about_k_nan);
    for_each(run_plateaus);
    for_each(run_plateaus_with_nan);
}

/** Traps of filters by a sample: what survives the filter of a misleading sample does not fit, or
 * is too little; the plateau that it shows is not the right one; its range misses the rank. */
static void run_misled(const tkj_simt_listed *listed, int64_t k)
{
    const topk_jit_spec spec = tkj_simt_spec(listed);
    if (!is_streamed(listed) || spec.dtype != TOPK_JIT_FLOAT32)
        return;
    for (int sampled = TOO_LOW; sampled < SAMPLES; sampled++)
        for (uint64_t seed = first_seed(listed); seed < 4; seed += 2)
            run(listed,
                &(wanted){.rows = 1,
                          .width = (sampled < ZEROS_IN_BIN ? 16000 : 9216) + k % 1024,
                          .score_stride = 17024,
                          .sampled = sampled},
                seed);
}

/** A long row with so many survivors of the filter in each block. */
static void run_regions(const tkj_simt_listed *listed, int64_t k, const uint32_t regions[8],
                        uint64_t seed, int passing)
{
    const int64_t width = 9216 + (k % 2 == 0 ? 0 : 5);
    run(listed,
        &(wanted){.rows = 1,
                  .width = width,
                  .score_stride = width + 7,
                  .regions = regions,
                  .blocks = 1U << seed % 4,
                  .passing = passing},
        seed);
}

/** Lists with as many entries as a region holds, one more, an odd number, none; in clusters of each
 *  size. */
static void run_full_lists(const tkj_simt_listed *listed, int64_t k)
{
    const topk_jit_spec spec = tkj_simt_spec(listed);
    if (!is_streamed(listed) || spec.dtype != TOPK_JIT_FLOAT32)
        return;
    uint64_t first = has_several_blocks(listed) ? first_seed(listed) : 0;
    for (uint64_t seed = first; seed < (has_several_blocks(listed) ? 4 : 1); seed += 2) {
        const uint32_t blocks = 1U << seed;
        const uint32_t full = LISTED / blocks;
        uint32_t patterns[7][8];
        for (uint32_t b = 0; b < blocks; b++) {
            patterns[0][b] = full;
            patterns[1][b] = b == blocks - 1 ? full + 1 : full;
            patterns[2][b] = b == blocks - 1 ? full + 1 : 0;
            patterns[3][b] = b % 2 == 0 ? 0 : full - b;
            patterns[4][b] = b == 1 ? 1 : b == 2 ? 0 : full - 1 - 2 * (b % 2);
            patterns[5][b] = b == 0 ? full + 1 : full - 1;
            patterns[6][b] = full - 2;
        }
        for (int i = 0; i < 7; i++)
            run_regions(listed, k, patterns[i], seed + 4 * (uint64_t)(i % 2), i % 3);
        run_regions(listed, k, patterns[0], seed, ABOVE);
        run_regions(listed, k, patterns[2], seed, TIED);
        /* About k that are certain, in one block. */
        for (uint32_t more = 0; more < 3; more++) {
            for (uint32_t b = 0; b < blocks; b++)
                patterns[0][b] = b == blocks / 2 ? (uint32_t)k - 1 + more : 0;
            run_regions(listed, k, patterns[0], seed, APART);
        }
        /* Exactly k, and one less. */
        for (uint32_t less = 0; less < 2; less++) {
            for (uint32_t b = 0; b < blocks; b++)
                patterns[0][b] =
                    (uint32_t)k / blocks + (b < (uint32_t)k % blocks) - (b == 0) * less;
            run_regions(listed, k, patterns[0], seed, less == 0 ? TIED : IN_BIN);
        }
    }
}

static void full_lists_are_judged_right(void **state)
{
    (void)state;
    for_each(run_full_lists);
}

static void misleading_samples_are_judged_right(void **state)
{
    (void)state;
    for_each(run_misled);
}

/** Rows of which every thread samples several groups: a large k makes the filter coarse. */
static void run_densely_sampled(const tkj_simt_listed *listed, int64_t k)
{
    static const tkj_scores_distribution scores[] = {TKJ_SCORES_NORMAL, TKJ_SCORES_RELU,
                                                     TKJ_SCORES_NEAR_ONE, TKJ_SCORES_TEN_VALUES};
    if (!is_streamed(listed) || k < 4000)
        return;
    for (int64_t i = 0; i < 4; i++)
        run(listed,
            &(wanted){.rows = 1,
                      .width = DENSELY_SAMPLED - i,
                      .score_stride = DENSELY_SAMPLED,
                      .shift = i % 2 == 0 ? 3 : 0,
                      .scores = scores[i]},
            (uint64_t)i * 4 + 2 + (uint64_t)i % 2);
}

/** Rows of which one bitmap does not hold all positions. */
static void run_many_positions(const tkj_simt_listed *listed, int64_t k)
{
    const topk_jit_spec spec = tkj_simt_spec(listed);
    (void)k;
    if (!is_streamed(listed) || !(spec.deterministic || spec.tie_break != TOPK_JIT_TIE_BREAK_NONE))
        return;
    for (int64_t i = 0; i < 3; i++)
        run(listed,
            &(wanted){.rows = 1,
                      .width = MARKED + i - 1,
                      .score_stride = MARKED + 1,
                      .scores = i == 2 ? TKJ_SCORES_ASCENDING : TKJ_SCORES_NORMAL},
            (uint64_t)i * 2);
}

static void many_positions_are_judged_right(void **state)
{
    (void)state;
    for_each(run_many_positions);
}

/** Scores beyond the coarse bins: too large, too small, too narrow; NaN or infinity at the k-th
 * place, many equal ones, and few different ones that no bins tell apart. */
static void run_odd_scores(const tkj_simt_listed *listed, int64_t k)
{
    static const tkj_scores_distribution scores[] = {
        TKJ_SCORES_DENORMAL,      TKJ_SCORES_NARROW,   TKJ_SCORES_FAR_BELOW,
        TKJ_SCORES_SOME_NAN,      TKJ_SCORES_MASKED,   TKJ_SCORES_SIGNED_ZEROS,
        TKJ_SCORES_FEW_DENORMALS, TKJ_SCORES_INFINITE, TKJ_SCORES_NEAR_ONE};
    static const float scales[] = {0x1p20F, 0x1p-20F, 0x1p17F, 0x1p120F};
    const topk_jit_spec spec = tkj_simt_spec(listed);
    const int64_t kept[] = {k - 1, k, k / 2 + 1, k + 1};
    const wanted row = {.rows = 1, .width = LONG_ROW + k, .score_stride = LONG_ROW + k};
    if (!is_streamed(listed))
        return;
    for (uint64_t i = 0; i < sizeof scores / sizeof scores[0]; i++) {
        wanted w = row;
        w.scores = scores[i];
        run(listed, &w, i);
    }
    for (uint64_t i = 0; i < 4; i++) {
        wanted w = row;
        w.kept = kept[i];
        w.others = i % 2 == 0 ? NAN_BELOW : NAN_ABOVE;
        run(listed, &w, i);
        if (spec.dtype != TOPK_JIT_FLOAT32)
            continue;
        w = row;
        w.scale = scales[i];
        run(listed, &w, i + 3);
    }
}

static void odd_scores_are_judged_right(void **state)
{
    (void)state;
    for_each(run_odd_scores);
}

/** Rows of which a sample has hardly any of the k largest. */
static void run_hardly_sampled(const tkj_simt_listed *listed, int64_t k)
{
    const topk_jit_spec spec = tkj_simt_spec(listed);
    const wanted row = {.rows = 1, .width = MARKED, .score_stride = MARKED, .sampled = TWO_LEVELS};
    if (!is_streamed(listed) || spec.dtype != TOPK_JIT_FLOAT32 || k < 16 || k > 512)
        return;
    (void)tkj_simt_slow_paths();
    run(listed, &row, 2);
    assert_int_equal(tkj_simt_slow_paths(), 0);
}

static void hardly_sampled_rows_take_no_slow_path(void **state)
{
    (void)state;
    for_each(run_hardly_sampled);
}

/** Rows that are sorted in more than one turn, and by the network, in all sizes around a crowd.
 * Only those of which each turn takes but one off need the latter. */
static void run_sorted(const tkj_simt_listed *listed, int64_t k)
{
    static const tkj_scores_distribution crowded[] = {
        TKJ_SCORES_EQUAL,    TKJ_SCORES_TEN_VALUES, TKJ_SCORES_NEAR_ONE,        TKJ_SCORES_RELU,
        TKJ_SCORES_ANY_BITS, TKJ_SCORES_DENORMAL,   TKJ_SCORES_BFLOAT16_ROUNDED};
    const topk_jit_spec spec = tkj_simt_spec(listed);
    const int64_t widths[] = {1, 31, 32, 33, 63, k - 1, k};
    if (!spec.sorted)
        return;
    for (uint64_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        wanted w = {.rows = 1, .width = widths[i], .score_stride = widths[i]};
        if (widths[i] < 1 || widths[i] > k)
            continue;
        for (uint64_t s = 0; s < sizeof crowded / sizeof crowded[0]; s++) {
            w.scores = crowded[s];
            (void)tkj_simt_slow_paths();
            run(listed, &w, i + s);
            assert_int_equal(tkj_simt_slow_paths(), 0);
        }
        if (spec.dtype != TOPK_JIT_FLOAT32)
            continue;
        w.sampled = ONE_A_TURN;
        run(listed, &w, i);
        bool is_small = k <= 2048 && spec.index_dtype == TOPK_JIT_INT32; /* few turns */
        if (widths[i] == 63 && is_small && !is_streamed(listed))
            assert_true(tkj_simt_slow_paths() > 0);
    }
}

static void crowded_sorts_are_judged_right(void **state)
{
    (void)state;
    for_each(run_sorted);
}

/** Rows of each kind, short, long and on a plateau, and padding, one after another in few blocks.
 */
static void run_mixed_rows(const tkj_simt_listed *listed, int64_t k)
{
    static const tkj_scores_distribution kinds[] = {TKJ_SCORES_NORMAL, TKJ_SCORES_NORMAL,
                                                    TKJ_SCORES_RELU,   TKJ_SCORES_NORMAL,
                                                    TKJ_SCORES_EQUAL,  TKJ_SCORES_NEAR_ONE};
    enum { KINDS = sizeof kinds / sizeof kinds[0] };
    const int32_t whole = (int32_t)(LONG_ROW + k);
    const int32_t lengths[KINDS] = {whole,          (int32_t)k + 40, whole - 1,
                                    (int32_t)k / 2, whole,           whole};
    if (!is_streamed(listed))
        return;
    for (uint64_t seed = first_seed(listed); seed < 6; seed += 2) {
        tkj_scores_distribution scores[KINDS];
        int32_t of_rows[KINDS];
        for (uint64_t row = 0; row < KINDS; row++) {
            scores[row] = kinds[(row * 5 + seed) % KINDS];
            of_rows[row] = lengths[(row * 5 + seed) % KINDS];
        }
        run(listed,
            &(wanted){.rows = KINDS,
                      .padding = 2,
                      .width = whole,
                      .score_stride = whole + 3,
                      .lengths = of_rows,
                      .rows_scores = scores,
                      .max_sms = 1 << seed % 4},
            seed);
    }
}

static void mixed_rows_are_judged_right(void **state)
{
    (void)state;
    for_each(run_mixed_rows);
}

static void densely_sampled_rows_are_judged_right(void **state)
{
    (void)state;
    for_each(run_densely_sampled);
}

static void long_rows_are_judged_right(void **state)
{
    (void)state;
    for_each(run_longest);
}

/** Usage: simt_test_templates_BUILD [N]: one in N of the calls that take long, otherwise all. */
int main(int argc, char **argv)
{
    unsigned asked = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    one_in = asked > 0 ? asked : one_in;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_lists_are_judged_right),
        cmocka_unit_test(long_rows_are_judged_right),
        cmocka_unit_test(plateaus_at_the_last_place_are_judged_right),
        cmocka_unit_test(mixed_rows_are_judged_right),
        cmocka_unit_test(hardly_sampled_rows_take_no_slow_path),
        cmocka_unit_test(odd_scores_are_judged_right),
        cmocka_unit_test(crowded_sorts_are_judged_right),
        cmocka_unit_test(misleading_samples_are_judged_right),
        cmocka_unit_test(every_distribution_at_every_boundary_length),
        cmocka_unit_test(odd_shapes_are_judged_right),
        cmocka_unit_test(densely_sampled_rows_are_judged_right),
        cmocka_unit_test(many_positions_are_judged_right),
    };
    return cmocka_run_group_tests_name("simt_templates", tests, NULL, NULL);
}
