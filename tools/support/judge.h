/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file judge.h
 * @brief Judges what an engine wrote, by the contract alone: shares no code with any engine.
 *
 * All pointers of the parameters are host memory: a GPU test copies its outputs back, and hands in
 * the host copies of its inputs. Time is linear in the scores, so large launches can be judged.
 */
#ifndef TKJ_JUDGE_H
#define TKJ_JUDGE_H

#include <stdbool.h>
#include <stdint.h>
#include <topk_jit/topk_jit.h>

#include "params.h"

/** Room for a message: row, slot, what is expected and what was found. */
#define TKJ_JUDGE_MESSAGE_SIZE 256

/**
 * Judges every slot of every output of a selection.
 *
 * @param params  raw_indices must be given; a call without them is judged by a twin call's.
 *                cu_seqlens_q must not decrease, else any result is right
 * @return false at the first fault, with a message
 */
bool tkj_judge_select(const topk_jit_spec *spec, const tkj_select_params *params,
                      char message[TKJ_JUDGE_MESSAGE_SIZE]);

/** What the selection must have added to check_counts, given that it was judged right. */
void tkj_judge_counts(const topk_jit_spec *spec, const tkj_select_params *params,
                      uint32_t counts[8]);

/** Judges every element of both outputs of a fast_topk. */
bool tkj_judge_fast_topk(const topk_jit_spec *spec, const tkj_fast_topk_params *params,
                         char message[TKJ_JUDGE_MESSAGE_SIZE]);

#endif /* TKJ_JUDGE_H */
