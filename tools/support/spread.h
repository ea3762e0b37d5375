/* SPDX-License-Identifier: Apache-2.0 */
/** @file spread.h @brief What a handful of measurements says. Pure. */
#ifndef TKJ_SPREAD_H
#define TKJ_SPREAD_H

#include <stddef.h>

/** Middle and extremes. */
typedef struct tkj_spread {
    double median; /**< of an even count: between the two in the middle */
    double least;
    double most;
} tkj_spread;

/** Of count >= 1 values, which it sorts. */
tkj_spread tkj_spread_of(double *values, size_t count);

#endif /* TKJ_SPREAD_H */
