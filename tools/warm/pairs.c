/* SPDX-License-Identifier: Apache-2.0 */
#include "pairs.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "complain.h"
#include "spec.h"

static int out_of_memory(void)
{
    warm_complain("out of memory");
    return WARM_EXIT_FAILED;
}

warm_gpu warm_gpu_of(tkj_target target)
{
    return (warm_gpu){target.architecture, target};
}

static int append(warm_pairs *pairs, const warm_pair *pair)
{
    if (pairs->count == WARM_PAIRS_MAX) {
        warm_complain("more than %d kinds of kernels are asked for", WARM_PAIRS_MAX);
        return WARM_EXIT_USAGE;
    }
    if (pairs->count == pairs->capacity) {
        const size_t capacity = pairs->capacity == 0 ? 64 : 2 * pairs->capacity;
        warm_pair *at = reallocarray(pairs->at, capacity, sizeof *at);
        if (at == NULL)
            return out_of_memory();
        pairs->at = at;
        pairs->capacity = capacity;
    }
    pairs->at[pairs->count++] = *pair;
    return WARM_EXIT_DONE;
}

int warm_pairs_add(warm_pairs *pairs, const topk_jit_spec *spec, warm_gpus gpus)
{
    int code = WARM_EXIT_DONE;
    for (size_t i = 0; i < gpus.count && code == WARM_EXIT_DONE; i++)
        code = append(pairs, &(warm_pair){tkj_spec_canonical(spec), gpus.at[i]});
    return code;
}

/** By what is compiled: a spec for a target. */
static int compare(const warm_pair *left, const warm_pair *right)
{
    const int order = memcmp(&left->spec, &right->spec, sizeof left->spec);
    const tkj_target a = left->gpu.target;
    const tkj_target b = right->gpu.target;
    if (order != 0)
        return order;
    return a.architecture != b.architecture ? a.architecture - b.architecture : a.ptx - b.ptx;
}

/** Of pointers into one list; equal ones in the order of the list. */
static int compare_places(const void *left, const void *right)
{
    const warm_pair *a = *(const warm_pair *const *)left;
    const warm_pair *b = *(const warm_pair *const *)right;
    const int order = compare(a, b);
    return order != 0 ? order : (a > b) - (a < b);
}

int warm_pairs_unique(warm_pairs *pairs)
{
    const warm_pair **sorted = calloc(pairs->count + 1, sizeof(warm_pair *));
    bool *again = calloc(pairs->count + 1, sizeof *again);
    const bool room = sorted != NULL && again != NULL;
    size_t kept = 0;
    for (size_t i = 0; room && i < pairs->count; i++)
        sorted[i] = &pairs->at[i];
    if (room)
        qsort(sorted, pairs->count, sizeof(warm_pair *), compare_places);
    for (size_t i = 1; room && i < pairs->count; i++)
        again[sorted[i] - pairs->at] = compare(sorted[i - 1], sorted[i]) == 0;
    for (size_t i = 0; room && i < pairs->count; i++)
        if (!again[i])
            pairs->at[kept++] = pairs->at[i];
    if (room)
        pairs->count = kept;
    free(sorted);
    free(again);
    return room ? WARM_EXIT_DONE : out_of_memory();
}

void warm_pairs_release(warm_pairs *pairs)
{
    free(pairs->at);
}
