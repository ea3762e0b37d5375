/* SPDX-License-Identifier: Apache-2.0 */
/** @file wrong_kernels.cuh @brief What the files of wrong kernels share. */
#ifndef TKJ_SIMT_WRONG_KERNELS_CUH
#define TKJ_SIMT_WRONG_KERNELS_CUH

#define TKJ_THREADS WRONG_THREADS
#define TKJ_SHARED_BYTES WRONG_SHARED_BYTES

#include "wrong.h"

#include "platform.cuh"

/** A kernel of wrong_params p, described by wrong_<name>. */
#define WRONG_KERNEL(name) TKJ_SIMT_DEFINE(wrong_##name, #name, name, wrong_params, p)

/** Shared memory as words; the first 64 are one of each thread. */
#define WRONG_SHARED(name) tkj_u32 *name = (tkj_u32 *)tkj_simt_shared()

#endif /* TKJ_SIMT_WRONG_KERNELS_CUH */
