/* SPDX-License-Identifier: Apache-2.0 */
/** @file model_facts.h @brief What the config.json of a model says about its selection of keys. */
#ifndef TKJ_WARM_MODEL_FACTS_H
#define TKJ_WARM_MODEL_FACTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct warm_model {
    int64_t topk;    /* of index_topk */
    int64_t ratio;   /* tokens that one key stands for: 1, or of compress_ratios, compress_rates */
    int64_t context; /* tokens, of max_position_embeddings; 0 = not said */
} warm_model;

/**
 * Reads a Hugging Face config.json. A model is known by its keys, as servers know it (SGLang's
 * is_deepseek_dsa, vLLM's is_v32): one that has an index_topk selects. What is wrong, or a model
 * that is none of these, is said in one line on stderr.
 */
bool warm_model_read(const char *path, warm_model *out);

#endif /* TKJ_WARM_MODEL_FACTS_H */
