/* SPDX-License-Identifier: Apache-2.0 */
#include "scores.h"

#include <math.h>
#include <string.h>

#include "float16.h"

/* What a distribution draws from. */
typedef struct source {
    uint64_t random;
    int64_t index; /* of the score that is drawn */
    int64_t count;
    double share; /* of the scores that may rank above a plateau: about k / 2 of them do */
    int64_t outlier;
} source;

/* splitmix64 (Steele, Lea, Flood 2014): any seed is a good one. */
uint64_t tkj_scores_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* In [0, 1). */
static double draw_uniform(source *s)
{
    return (double)(tkj_scores_random(&s->random) >> 11) * 0x1p-53;
}

static bool draw_chance(source *s, double probability)
{
    return draw_uniform(s) < probability;
}

/* ------------------------------------------------------------------------------------------- */
/* Distributions                                                                                */
/* ------------------------------------------------------------------------------------------- */

/* Box and Muller 1958. */
static float draw_normal(source *s)
{
    double radius = sqrt(-2.0 * log(1.0 - draw_uniform(s)));
    return (float)(radius * cos(6.283185307179586 * draw_uniform(s)));
}

static float draw_relu(source *s)
{
    float value = fabsf(draw_normal(s));
    return draw_chance(s, s->share) ? value : 0.0F;
}

static float draw_equal(source *s)
{
    (void)s;
    return 0.75F;
}

static float draw_ten_values(source *s)
{
    return (float)(tkj_scores_random(&s->random) % 10) - 4.5F;
}

static float draw_ascending(source *s)
{
    return (float)s->index * 0.0625F;
}

static float draw_descending(source *s)
{
    return (float)(s->count - s->index) * 0.0625F;
}

static float draw_near_one(source *s)
{
    return 1.0F + 1e-6F * draw_normal(s);
}

static float draw_narrow(source *s)
{
    return (float)(1.0 + 0.2449 * draw_uniform(s));
}

static float draw_bfloat16(source *s)
{
    return tkj_bfloat16_to_float(tkj_bfloat16_from_float(draw_normal(s)));
}

static float draw_log_normal(source *s)
{
    return expf(2.0F * draw_normal(s));
}

static float draw_forced(source *s)
{
    float value = draw_normal(s);
    return s->index < 4 || s->index >= s->count - 64 ? INFINITY : value;
}

static float draw_outlier(source *s)
{
    float value = draw_normal(s);
    return s->index == s->outlier ? 1e30F : value;
}

static float draw_some_nan(source *s)
{
    float value = draw_normal(s);
    return draw_chance(s, 0.01) ? copysignf(NAN, value) : value;
}

static float draw_minus_infinity(source *s)
{
    (void)s;
    return -INFINITY;
}

static float draw_masked(source *s)
{
    float value = draw_normal(s);
    return draw_chance(s, s->share) ? value : -INFINITY;
}

static float draw_signed_zeros(source *s)
{
    float sign = draw_chance(s, 0.5) ? 1.0F : -1.0F;
    return draw_chance(s, 2.0 * s->share) ? sign : 0.0F * sign;
}

static float draw_far_below(source *s)
{
    return -65504.0F - 1000.0F * fabsf(draw_normal(s));
}

static float draw_infinite(source *s)
{
    if (draw_chance(s, 0.5))
        return draw_normal(s);
    return draw_chance(s, 0.02) ? NAN : INFINITY;
}

/* Draws the bits themselves: a conversion would flush denormals and quieten NaN. */
static uint32_t draw_bits(source *s, topk_jit_dtype dtype, tkj_scores_distribution distribution)
{
    uint32_t bits = (uint32_t)(tkj_scores_random(&s->random) >> 32);
    if (distribution == TKJ_SCORES_FEW_DENORMALS)
        return bits % 64 + 1;
    if (distribution == TKJ_SCORES_ANY_BITS)
        return bits;
    uint32_t sign = dtype == TOPK_JIT_FLOAT32 ? 0x80000000 : 0x8000;
    uint32_t fraction = dtype == TOPK_JIT_FLOAT32 ? 0x7FFFFF : 0x3FF;
    if (dtype == TOPK_JIT_BFLOAT16)
        fraction = 0x7F;
    return (bits & sign) | (bits & fraction) | ((bits & fraction) == 0);
}

static const struct {
    const char *name;
    float (*draw)(source *s); /* NULL: drawn as bits */
} distributions[TKJ_SCORES_COUNT] = {
#define NAME(enumerator, text) [TKJ_SCORES_##enumerator].name = text,
    TKJ_SCORES_MAP(NAME)
#undef NAME
        [TKJ_SCORES_NORMAL]
            .draw = draw_normal,
    [TKJ_SCORES_RELU].draw = draw_relu,
    [TKJ_SCORES_EQUAL].draw = draw_equal,
    [TKJ_SCORES_TEN_VALUES].draw = draw_ten_values,
    [TKJ_SCORES_ASCENDING].draw = draw_ascending,
    [TKJ_SCORES_DESCENDING].draw = draw_descending,
    [TKJ_SCORES_NEAR_ONE].draw = draw_near_one,
    [TKJ_SCORES_NARROW].draw = draw_narrow,
    [TKJ_SCORES_BFLOAT16_ROUNDED].draw = draw_bfloat16,
    [TKJ_SCORES_LOG_NORMAL].draw = draw_log_normal,
    [TKJ_SCORES_FORCED].draw = draw_forced,
    [TKJ_SCORES_OUTLIER].draw = draw_outlier,
    [TKJ_SCORES_SOME_NAN].draw = draw_some_nan,
    [TKJ_SCORES_MINUS_INFINITY].draw = draw_minus_infinity,
    [TKJ_SCORES_MASKED].draw = draw_masked,
    [TKJ_SCORES_SIGNED_ZEROS].draw = draw_signed_zeros,
    [TKJ_SCORES_FAR_BELOW].draw = draw_far_below,
    [TKJ_SCORES_INFINITE].draw = draw_infinite,
};

const char *tkj_scores_name(tkj_scores_distribution distribution)
{
    return distributions[distribution].name;
}

bool tkj_scores_parse(const char *name, tkj_scores_distribution *out)
{
    for (int d = 0; d < TKJ_SCORES_COUNT; d++) {
        if (strcmp(name, distributions[d].name) != 0)
            continue;
        *out = (tkj_scores_distribution)d;
        return true;
    }
    return false;
}

/* ------------------------------------------------------------------------------------------- */
/* Rows                                                                                         */
/* ------------------------------------------------------------------------------------------- */

static void store_bits(topk_jit_dtype dtype, void *row, int64_t element, uint32_t bits)
{
    if (dtype == TOPK_JIT_FLOAT32)
        ((uint32_t *)row)[element] = bits;
    else
        ((uint16_t *)row)[element] = (uint16_t)bits;
}

static void store(topk_jit_dtype dtype, void *row, int64_t element, float value)
{
    if (dtype == TOPK_JIT_FLOAT32)
        ((float *)row)[element] = value;
    else if (dtype == TOPK_JIT_FLOAT16)
        store_bits(dtype, row, element, tkj_float16_from_float(value));
    else
        store_bits(dtype, row, element, tkj_bfloat16_from_float(value));
}

static source start_source(uint64_t seed, int64_t k, int64_t count)
{
    source s = {.random = seed, .count = count, .share = 0.5};
    if (count > 0) {
        s.share = fmin(0.5, 0.5 * (double)k / (double)count);
        s.outlier = (int64_t)(tkj_scores_random(&s.random) % (uint64_t)count);
    }
    return s;
}

void tkj_scores_fill(tkj_scores_distribution distribution, uint64_t seed, int64_t k,
                     topk_jit_dtype dtype, void *row, int64_t count, int64_t stride)
{
    source s = start_source(seed, k, count);
    for (s.index = 0; s.index < count; s.index++) {
        if (distributions[distribution].draw != NULL)
            store(dtype, row, s.index * stride, distributions[distribution].draw(&s));
        else
            store_bits(dtype, row, s.index * stride, draw_bits(&s, dtype, distribution));
    }
}

/* ------------------------------------------------------------------------------------------- */
/* An indexer                                                                                   */
/* ------------------------------------------------------------------------------------------- */

enum { HEADS = 4, HEAD_SIZE = 32 };

/* What one query token brings: a query and a weight per head. */
typedef struct query {
    float weight[HEADS];
    float direction[HEADS][HEAD_SIZE];
    float threshold; /* keys share a direction that queries turn away from, so most dot products
                        are negative */
} query;

/* Of mean 0 and variance 1: cheaper than a normal, and a sum of 32 of them is as good as one. */
static float draw_flat(source *s)
{
    return (float)(1.7320508075688772 * (2.0 * draw_uniform(s) - 1.0));
}

static void draw_query(uint64_t seed, int64_t row_number, query *q)
{
    source s = {.random = ~seed ^ (uint64_t)row_number << 32};
    for (int h = 0; h < HEADS; h++) {
        q->weight[h] = fabsf(draw_flat(&s));
        for (int d = 0; d < HEAD_SIZE; d++)
            q->direction[h][d] = draw_flat(&s) * 0.17677669F; /* 1 / sqrt(HEAD_SIZE) */
    }
    q->threshold = 2.5F * (float)(row_number % 8) / 7.0F;
}

static float score_key(const query *q, const float key[HEAD_SIZE])
{
    float score = 0.0F;
    for (int h = 0; h < HEADS; h++) {
        float dot = -q->threshold;
        for (int d = 0; d < HEAD_SIZE; d++)
            dot += q->direction[h][d] * key[d];
        score += q->weight[h] * (dot > 0.0F ? dot : 0.0F);
    }
    return score;
}

void tkj_scores_fill_indexer(uint64_t seed, int64_t row_number, topk_jit_dtype dtype, void *row,
                             int64_t count)
{
    query q;
    draw_query(seed, row_number, &q);
    source keys = {.random = seed};
    for (int64_t c = 0; c < count; c++) {
        float key[HEAD_SIZE];
        for (int d = 0; d < HEAD_SIZE; d++)
            key[d] = draw_flat(&keys);
        store(dtype, row, c, score_key(&q, key));
    }
}
