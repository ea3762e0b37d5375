/* SPDX-License-Identifier: Apache-2.0 */
/** @file product.h @brief The specs that the options of a command line ask for. */
#ifndef TKJ_WARM_PRODUCT_H
#define TKJ_WARM_PRODUCT_H

#include "build_options.h"
#include "pairs.h"

/**
 * Adds the cross product of the options' lists, for each GPU. What is impossible is said in one
 * line on stderr.
 * @param[in,out] out  some pairs may be added before a failure
 * @return WARM_EXIT_DONE, WARM_EXIT_USAGE, WARM_EXIT_FAILED (out of memory)
 */
int warm_product(const warm_options *options, warm_gpus gpus, warm_pairs *out);

#endif /* TKJ_WARM_PRODUCT_H */
