/* SPDX-License-Identifier: Apache-2.0 */
#include "covering.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spec.h"

const char *const tkj_covering_specs[] = {
#include "covering_specs.inc"
};
#define SPEC_COUNT (sizeof tkj_covering_specs / sizeof tkj_covering_specs[0])
const size_t tkj_covering_spec_count = SPEC_COUNT;

#define FACTORS 8

/** The value of a factor, as a number. The operation is none: it decides the template. */
static int64_t value_of(const topk_jit_spec *spec, int factor)
{
    const int64_t values[FACTORS] = {
        (int64_t)spec->layout,
        spec->page_size,
        spec->topk,
        (int64_t)spec->dtype,
        (int64_t)spec->index_dtype,
        4 * (int64_t)spec->tie_break + (spec->sorted ? 2 : 0) + (spec->deterministic ? 1 : 0),
        spec->nan_last,
        spec->check,
    };
    return values[factor];
}

bool tkj_covering_same_variant(const tkj_variant *a, const tkj_variant *b)
{
    return strcmp(a->template_name, b->template_name) == 0 && strcmp(a->name, b->name) == 0;
}

/** The pairs so far. */
typedef struct pair_list {
    tkj_covering_pair *pairs;
    size_t count;
} pair_list;

static void append(pair_list *list, const tkj_covering_pair *pair)
{
    if (list->count == TKJ_COVERING_MAX) {
        fprintf(stderr, "the covering array takes more than %d pairs\n", TKJ_COVERING_MAX);
        abort();
    }
    list->pairs[list->count++] = *pair;
}

/** How many of the pair's values its variant has not met. */
static int gain_of(const pair_list *list, const tkj_covering_pair *pair)
{
    bool met[FACTORS] = {false};
    int gain = FACTORS;
    for (size_t i = 0; i < list->count; i++) {
        if (!tkj_covering_same_variant(&list->pairs[i].variant, &pair->variant))
            continue;
        for (int f = 0; f < FACTORS; f++)
            if (!met[f] && value_of(&list->pairs[i].spec, f) == value_of(&pair->spec, f)) {
                met[f] = true;
                gain--;
            }
    }
    return gain;
}

static size_t times_taken(const pair_list *list, const tkj_variant *variant)
{
    size_t times = 0;
    for (size_t i = 0; i < list->count; i++)
        times += tkj_covering_same_variant(&list->pairs[i].variant, variant);
    return times;
}

/** Appends a spec with that of its variants which gains most, or was taken least. */
static void append_best(pair_list *list, const topk_jit_spec *spec, int architecture)
{
    tkj_variant variants[TKJ_VARIANTS_MAX];
    size_t count = tkj_variants_enumerate(spec, architecture, variants);
    tkj_covering_pair best = {*spec, variants[0]};
    for (size_t v = 1; v < count; v++) {
        const tkj_covering_pair pair = {*spec, variants[v]};
        int more = gain_of(list, &pair) - gain_of(list, &best);
        if (more > 0 ||
            (more == 0 && times_taken(list, &pair.variant) < times_taken(list, &best.variant)))
            best = pair;
    }
    append(list, &best);
}

/** Appends those pairs of a spec that gain so much. */
static void append_what_gains(pair_list *list, const topk_jit_spec *spec, int architecture,
                              int gain)
{
    tkj_variant variants[TKJ_VARIANTS_MAX];
    size_t count = tkj_variants_enumerate(spec, architecture, variants);
    for (size_t v = 0; v < count; v++) {
        const tkj_covering_pair pair = {*spec, variants[v]};
        if (gain_of(list, &pair) >= gain)
            append(list, &pair);
    }
}

static void parse_all(topk_jit_spec specs[SPEC_COUNT])
{
    for (size_t i = 0; i < SPEC_COUNT; i++)
        if (tkj_spec_parse(tkj_covering_specs[i], &specs[i]) != TOPK_JIT_OK) {
            fprintf(stderr, "%s: %s\n", tkj_covering_specs[i], topk_jit_last_error()->message);
            abort();
        }
}

size_t tkj_covering_set(int architecture, tkj_covering_pair out[TKJ_COVERING_MAX])
{
    topk_jit_spec specs[SPEC_COUNT];
    pair_list list = {out, 0};
    parse_all(specs);
    for (size_t i = 0; i < SPEC_COUNT; i++)
        append_best(&list, &specs[i], architecture);
    for (int gain = FACTORS; gain > 0; gain--)
        for (size_t i = 0; i < SPEC_COUNT; i++)
            append_what_gains(&list, &specs[i], architecture, gain);
    return list.count;
}
