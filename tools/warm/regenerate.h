/* SPDX-License-Identifier: Apache-2.0 */
/** @file regenerate.h @brief What a kernel of the cache was made of, made anew. */
#ifndef TKJ_WARM_REGENERATE_H
#define TKJ_WARM_REGENERATE_H

#include <topk_jit/topk_jit.h>

#include "entry.h"
#include "os.h"

/**
 * The source that NVRTC was given: the prelude, then each file of the templates, each below a line
 * with its name. Made from the templates here; refused unless they and this library would give the
 * entry's key, so that it is the source of this kernel and no other. What is wrong is said in one
 * line on stderr.
 * @param context   says where the templates are
 * @param entry     sound
 * @param[out] out  owned by the caller (the allocator's); empty after a failure
 * @return WARM_EXIT_DONE, WARM_EXIT_FAILED
 */
int warm_regenerate_source(topk_jit_context *context, const tkj_entry *entry, tkj_blob *out);

/** That source compiled to PTX by the NVRTC here; the cache is neither read nor written. As above.
 */
int warm_regenerate_ptx(topk_jit_context *context, const tkj_entry *entry, tkj_blob *out);

#endif /* TKJ_WARM_REGENERATE_H */
