/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file problem.h
 * @brief A call as the engines see it: arguments checked, spec derived, parameters filled. Pure: no
 *        tensor data is read.
 */
#ifndef TKJ_PROBLEM_H
#define TKJ_PROBLEM_H

#include <stdbool.h>
#include <topk_jit/topk_jit.h>

#include "params.h"
#include "variant_choice.h"

/** One selection. */
typedef struct tkj_select_problem {
    topk_jit_spec spec; /* canonical */
    DLDevice device;    /* of every tensor */
    tkj_call_shape shape;
    bool pdl;
    tkj_select_params params;
} tkj_select_problem;

/** One fast_topk. */
typedef struct tkj_fast_topk_problem {
    topk_jit_spec spec;
    DLDevice device;
    tkj_call_shape shape;
    tkj_fast_topk_params params; /* outer: outer_dims of them are set */
    tkj_select_params selection; /* the same of rows, unless shape.lines_only */
} tkj_fast_topk_problem;

/**
 * @param args  of this version's size (tkj_abi_read)
 * @return TOPK_JIT_OK, TOPK_JIT_INVALID_ARGUMENT naming the argument, what was given and what is
 *         expected
 */
topk_jit_status tkj_problem_select(const topk_jit_select_args *args, tkj_select_problem *out);

/** As tkj_problem_select, for the arguments of topk_jit_fast_topk. */
topk_jit_status tkj_problem_fast_topk(const DLTensor *values, int64_t topk, int64_t dim,
                                      const DLTensor *out_values, const DLTensor *out_indices,
                                      tkj_fast_topk_problem *out);

#endif /* TKJ_PROBLEM_H */
