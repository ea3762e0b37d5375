/* SPDX-License-Identifier: Apache-2.0 */
/** @file disassemble.h @brief Machine code as text, by nvdisasm. */
#ifndef TKJ_WARM_DISASSEMBLE_H
#define TKJ_WARM_DISASSEMBLE_H

#include <stddef.h>
#include <stdint.h>

#include "os.h"

/**
 * Runs nvdisasm, the first of PATH, CUDA_HOME/bin and /usr/local/cuda/bin, on a cubin that nobody
 * vouches for: without a shell, on a file in memory that has no name. What is wrong is said in one
 * line on stderr, after what nvdisasm says there.
 * @param[out] out  released with free; empty after a failure
 * @return WARM_EXIT_DONE, WARM_EXIT_NOT_THERE (no nvdisasm), WARM_EXIT_FAILED
 */
int warm_disassemble(const uint8_t *cubin, size_t size, tkj_blob *out);

#endif /* TKJ_WARM_DISASSEMBLE_H */
