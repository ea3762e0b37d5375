/* SPDX-License-Identifier: Apache-2.0 */
/** @file float16.h @brief float16 and bfloat16 as bits, to and from float. Pure. */
#ifndef TKJ_FLOAT16_H
#define TKJ_FLOAT16_H

#include <stdint.h>

/** Rounds to nearest, and to even from the middle. NaN keeps its sign and becomes quiet. */
uint16_t tkj_float16_from_float(float value);
uint16_t tkj_bfloat16_from_float(float value);

/** Exact. */
float tkj_float16_to_float(uint16_t bits);
float tkj_bfloat16_to_float(uint16_t bits);

#endif /* TKJ_FLOAT16_H */
