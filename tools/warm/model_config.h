/* SPDX-License-Identifier: Apache-2.0 */
/** @file model_config.h @brief --model-config: the specs that the server of a model needs. */
#ifndef TKJ_WARM_MODEL_CONFIG_H
#define TKJ_WARM_MODEL_CONFIG_H

#include "build_options.h"
#include "pairs.h"

/**
 * Adds what a Hugging Face config.json asks for, for each GPU: topk of its index_topk; float32
 * scores, whatever its torch_dtype says; int32 indices; paged at its page size and at 1, and
 * ragged. Options that are given stand in place of these. What is wrong is said in one line on
 * stderr.
 *
 * A page has 64 tokens (SGLang and vLLM, DeepSeek V3.2 and GLM-5); where the selected keys are
 * compressed it has 256 tokens, thus 256 / ratio keys (SGLang's c4_page_size, vLLM's
 * storage_block_size, DeepSeek V4).
 * @return WARM_EXIT_DONE, WARM_EXIT_USAGE, WARM_EXIT_FAILED (out of memory)
 */
int warm_model_config(const char *path, const warm_options *options, warm_gpus gpus,
                      warm_pairs *out);

#endif /* TKJ_WARM_MODEL_CONFIG_H */
