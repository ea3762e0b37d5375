/* SPDX-License-Identifier: Apache-2.0 */
/** @file variant_text.h @brief What a kernel of a spec is for, in words. Pure. */
#ifndef TKJ_VARIANT_TEXT_H
#define TKJ_VARIANT_TEXT_H

#include "variants.h"

#define TKJ_VARIANT_TEXT_SIZE 128

/** Writes which calls a variant serves, such as "rows of up to 8192 scores, one block each". */
void tkj_variant_text(const tkj_variant *variant, char text[TKJ_VARIANT_TEXT_SIZE]);

#endif /* TKJ_VARIANT_TEXT_H */
