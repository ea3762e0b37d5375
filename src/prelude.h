/* SPDX-License-Identifier: Apache-2.0 */
/** @file prelude.h @brief The constants that specialise a template, as #defines. Pure. */
#ifndef TKJ_PRELUDE_H
#define TKJ_PRELUDE_H

#include <topk_jit/topk_jit.h>

#include "variants.h"

#define TKJ_ENTRY_NAME_SIZE 128
#define TKJ_PRELUDE_SIZE 2048

/** Name of the kernel, such as topk_jit_general_k2048_f32_paged64: what profilers show. */
void tkj_entry_name(const topk_jit_spec *spec, const tkj_variant *variant,
                    char name[TKJ_ENTRY_NAME_SIZE]);

/** The main source: every constant as a #define, then the #include of the template. */
void tkj_prelude(const topk_jit_spec *spec, const tkj_variant *variant,
                 char text[TKJ_PRELUDE_SIZE]);

#endif /* TKJ_PRELUDE_H */
