/* SPDX-License-Identifier: Apache-2.0 */
/** @file gpu_place.h @brief CUDA contexts of the first GPU beside its primary one. */
#ifndef TKJ_GPU_PLACE_H
#define TKJ_GPU_PLACE_H

#include "gpu_call.h"

/** A context with a stream. */
typedef struct tkj_gpu_place tkj_gpu_place;

/** An ordinary context, as cuCtxCreate makes it: its memory is its own. */
tkj_gpu_place *tkj_gpu_place_context(void);

/** A green context: a part of the GPU's multiprocessors. NULL where the driver has none. */
tkj_gpu_place *tkj_gpu_place_green(void);

/** Not while it is current. */
void tkj_gpu_place_destroy(tkj_gpu_place *place);

/** Makes the context current in this thread, and its stream the tests'; leaving brings back the
 *  primary context and the stream of before. What is allocated inside is freed inside. */
void tkj_gpu_place_enter(tkj_gpu_place *place);
void tkj_gpu_place_leave(tkj_gpu_place *place);

#endif /* TKJ_GPU_PLACE_H */
