/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file abi.h
 * @brief Public structs that grow from version to version: each starts with `size_t struct_size`.
 *
 * A caller built against an older header hands in fewer bytes: the missing fields are defaults
 * (zero). A newer caller hands in more: served as long as the unknown tail says nothing (zero).
 */
#ifndef TKJ_ABI_H
#define TKJ_ABI_H

#include <stddef.h>
#include <topk_jit/topk_jit.h>

/**
 * Copies a caller's struct into this version's; `known` then has this version's struct_size.
 * @param what        name of the struct for the message, such as "topk_jit_options"
 * @param given       the caller's struct; NULL is an invalid argument
 * @param[out] known  this version's struct; not written after a failure
 * @return TOPK_JIT_OK, TOPK_JIT_INVALID_ARGUMENT (NULL), TOPK_JIT_ABI_MISMATCH
 */
topk_jit_status tkj_abi_read(const char *what, const void *given, void *known, size_t known_size);

/**
 * Copies this version's struct into a caller's, as far as that reaches; what the caller has beyond
 * it becomes 0. The caller's struct_size stays.
 * @param what        as in tkj_abi_read
 * @param given       the caller's struct, struct_size set; NULL is an invalid argument
 * @return TOPK_JIT_OK, TOPK_JIT_INVALID_ARGUMENT (NULL), TOPK_JIT_ABI_MISMATCH
 */
topk_jit_status tkj_abi_write(const char *what, const void *known, size_t known_size, void *given);

#endif /* TKJ_ABI_H */
