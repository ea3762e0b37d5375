/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file selector.h
 * @brief The type topk_jit._native.Selector: a selection whose options are read once.
 */
#ifndef TKP_SELECTOR_H
#define TKP_SELECTOR_H

#include "native.h"

extern PyType_Spec tkp_selector_spec;

#endif
