/* SPDX-License-Identifier: Apache-2.0 */
#include "abi.h"

#include <stdint.h>
#include <string.h>

#include "status.h"

/* A size below that of struct_size itself is as meaningless as 0: the field was never set. */
static topk_jit_status given_size(const char *what, const void *given, size_t known_size,
                                  size_t *size)
{
    if (given == NULL)
        return tkj_fail(TOPK_JIT_INVALID_ARGUMENT, "%s is NULL", what);
    memcpy(size, given, sizeof *size);
    if (*size < sizeof *size)
        return tkj_fail(TOPK_JIT_ABI_MISMATCH, "%s.struct_size is %zu, expected sizeof(%s) = %zu",
                        what, *size, what, known_size);
    return TOPK_JIT_OK;
}

topk_jit_status tkj_abi_read(const char *what, const void *given, void *known, size_t known_size)
{
    size_t size = 0;
    topk_jit_status status = given_size(what, given, known_size, &size);
    if (status != TOPK_JIT_OK)
        return status;
    for (size_t i = known_size; i < size; i++)
        if (((const uint8_t *)given)[i] != 0)
            return tkj_fail(TOPK_JIT_ABI_MISMATCH,
                            "%s.struct_size is %zu and its byte %zu is set, expected zero beyond "
                            "the %zu bytes that version %s knows",
                            what, size, i, known_size, TOPK_JIT_VERSION_STRING);
    size_t shared = size < known_size ? size : known_size;
    memcpy(known, given, shared);
    memset((uint8_t *)known + shared, 0, known_size - shared);
    memcpy(known, &known_size, sizeof known_size);
    return TOPK_JIT_OK;
}

topk_jit_status tkj_abi_write(const char *what, const void *known, size_t known_size, void *given)
{
    size_t size = 0;
    topk_jit_status status = given_size(what, given, known_size, &size);
    if (status != TOPK_JIT_OK)
        return status;
    size_t shared = size < known_size ? size : known_size;
    memcpy(given, known, shared);
    memset((uint8_t *)given + shared, 0, size - shared);
    memcpy(given, &size, sizeof size);
    return TOPK_JIT_OK;
}
