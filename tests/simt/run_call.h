/* SPDX-License-Identifier: Apache-2.0 */
/** @file run_call.h @brief A call as the library would launch it, on the executor, judged. */
#ifndef TKJ_SIMT_RUN_CALL_H
#define TKJ_SIMT_RUN_CALL_H

#include "call.h"
#include "kernels.h"
#include "params.h"
#include "variant_choice.h"

/** The spec of a listed kernel. */
topk_jit_spec tkj_simt_spec(const tkj_simt_listed *listed);

/** Launches a listed kernel on what the library would make of a selection: grid and parameters. */
bool tkj_simt_run_selection(const tkj_simt_listed *listed, const topk_jit_spec *spec,
                            const tkj_call_shape *shape, const tkj_select_params *params,
                            const tkj_simt_region *regions, size_t region_count, uint64_t seed,
                            char *message);

/** Likewise, of the lines of a fast_topk. */
bool tkj_simt_run_lines(const tkj_simt_listed *listed, const topk_jit_spec *spec,
                        const tkj_call_shape *shape, const tkj_fast_topk_params *params,
                        const tkj_simt_region *regions, size_t region_count, uint64_t seed,
                        char *message);

/** Does the kernel serve a call of this shape? */
bool tkj_simt_serves_shape(const tkj_simt_listed *listed, const tkj_call_shape *shape);

/** Is the kernel one for lines? Otherwise it selects. */
bool tkj_simt_takes_lines(const tkj_simt_listed *listed);

/** The longest row that the kernel holds; 0 = any. */
int64_t tkj_simt_capacity(const tkj_simt_listed *listed);

/** Does the kernel serve this call? Some hold only short rows. */
bool tkj_simt_serves(const tkj_simt_listed *listed, tkj_call *call);

/**
 * Runs a call that the kernel serves, judges it, and compares it with the same call on the host
 * engine, where the result is one of bytes. With odd seeds runs it again without raw_indices, and
 * with some without values.
 *
 * @param twin  the same call again, for the host engine; NULL = not compared
 * @return false with a message of TKJ_SIMT_MESSAGE_SIZE
 */
bool tkj_simt_run_call(const tkj_simt_listed *listed, tkj_call *call, tkj_call *twin, uint64_t seed,
                       char *message);

#endif /* TKJ_SIMT_RUN_CALL_H */
