/* SPDX-License-Identifier: Apache-2.0 */
/** @file spec.h @brief The spec: validity, and its one canonical text form with printer and parser.
 * Pure. */
#ifndef TKJ_SPEC_H
#define TKJ_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <topk_jit/topk_jit.h>

/** @return TOPK_JIT_OK, TOPK_JIT_INVALID_ARGUMENT naming the field, TOPK_JIT_NOT_SUPPORTED */
topk_jit_status tkj_spec_validate(const topk_jit_spec *spec);

/** The spec with every byte defined and options that say nothing removed, so that
 *  equal specs are equal bytes: deterministic without tie_break means tie_break=smallest. */
topk_jit_spec tkj_spec_canonical(const topk_jit_spec *spec);

/** tkj_spec_canonical, in place. */
void tkj_spec_make_canonical(topk_jit_spec *spec);

#define TKJ_SPEC_TEXT_SIZE 256

/** Writes "operation=select,layout=paged,topk=2048,dtype=float32,index=int32,page_size=64,sorted".
 */
void tkj_spec_format(const topk_jit_spec *spec, char text[TKJ_SPEC_TEXT_SIZE]);

/** Reads the canonical form, fields in any order, each once, absent ones at their default. The
 * result is valid.
 *  @return TOPK_JIT_OK, TOPK_JIT_INVALID_ARGUMENT naming the word that is wrong */
topk_jit_status tkj_spec_parse(const char *text, topk_jit_spec *out);

/** The selection that computes a fast_topk of rows: sorted, the first ones of equal scores. A
 * selection is its own. */
topk_jit_spec tkj_spec_of_rows(const topk_jit_spec *spec);

/** Names of the enumerators, such as "bfloat16", and back. */
const char *tkj_operation_name(topk_jit_operation operation);
const char *tkj_layout_name(topk_jit_layout layout);
const char *tkj_dtype_name(topk_jit_dtype dtype);
const char *tkj_tie_break_name(topk_jit_tie_break tie_break);
bool tkj_operation_parse(const char *name, topk_jit_operation *out);
bool tkj_layout_parse(const char *name, topk_jit_layout *out);
bool tkj_dtype_parse(const char *name, topk_jit_dtype *out);
bool tkj_tie_break_parse(const char *name, topk_jit_tie_break *out);

#endif /* TKJ_SPEC_H */
