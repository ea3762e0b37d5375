/* SPDX-License-Identifier: Apache-2.0 */
/** @file out_human.h @brief Sizes and ages as people read them. Pure. */
#ifndef TKJ_WARM_OUT_HUMAN_H
#define TKJ_WARM_OUT_HUMAN_H

#include <stdint.h>
#include <time.h>

#define WARM_HUMAN_SIZE 24

/** "734 B", "61.3 KiB", "1.2 GiB". */
void warm_human_bytes(uint64_t bytes, char out[WARM_HUMAN_SIZE]);

/** How long ago a time was, in its largest unit: "40s", "12m", "7h", "35d"; "future" if it is to
 *  come. */
void warm_human_age(time_t then, time_t now, char out[WARM_HUMAN_SIZE]);

#endif /* TKJ_WARM_OUT_HUMAN_H */
