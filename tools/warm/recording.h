/* SPDX-License-Identifier: Apache-2.0 */
/** @file recording.h @brief --recording: the specs that servers wrote down by TOPK_JIT_RECORD. */
#ifndef TKJ_WARM_RECORDING_H
#define TKJ_WARM_RECORDING_H

#include "pairs.h"

/**
 * Adds each line of a recording, for each GPU. A line must be written as the library writes it,
 * so that what a full disk left of one is not taken for a spec with defaults. What is wrong is said
 * in one line on stderr.
 * @return WARM_EXIT_DONE, WARM_EXIT_USAGE, WARM_EXIT_FAILED (out of memory)
 */
int warm_recording(const char *path, warm_gpus gpus, warm_pairs *out);

#endif /* TKJ_WARM_RECORDING_H */
