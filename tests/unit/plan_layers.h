/* SPDX-License-Identifier: Apache-2.0 */
/** @file plan_layers.h @brief Layers for the tests on top: directories and packs of real entries.
 */
#ifndef TKJ_PLAN_LAYERS_H
#define TKJ_PLAN_LAYERS_H

#include "plan_case.h"

/** Puts every kernel of a spec for sm_90 into a directory, compiled by the fake NVRTC as it is. */
void plan_layers_warm(plan_case *it, const char *directory, const topk_jit_spec *spec);

/** Writes a pack of every entry below a directory. */
void plan_layers_pack(const char *directory, const char *path);

/** Makes every entry below a directory one that verifies and does not load. */
void plan_layers_spoil(const char *directory);

/** Puts a context of these layers in the place of the case's. */
void plan_layers_open(plan_case *it, const char *ro_dirs, topk_jit_mode mode);

#endif /* TKJ_PLAN_LAYERS_H */
