/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fuzz.h
 * @brief What the harnesses share. Each is one function that takes any bytes and ends the process
 * if a promise of the format does not hold: libFuzzer calls it, and replay.c with the files of the
 * corpus.
 */
#ifndef TKJ_FUZZ_H
#define TKJ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digest.h"

/** libFuzzer's name for a harness. @return 0 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** As assert, which is nothing in an optimised build. */
#define FUZZ_CHECK(condition) ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))

static inline _Noreturn void fuzz_fail(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, condition);
    abort();
}

/** A copy that ends where its memory ends, so that a sanitizer sees any read beyond it. */
static inline uint8_t *fuzz_copy(const uint8_t *data, size_t size)
{
    uint8_t *copy = calloc(size > 0 ? size : 1, 1);
    FUZZ_CHECK(copy != NULL);
    if (size > 0) /* data may be NULL then */
        memcpy(copy, data, size);
    return copy;
}

/** Makes the digest at the end true: no fuzzer guesses one, and checks behind it would be idle. */
static inline void fuzz_seal(uint8_t *bytes, size_t size)
{
    if (size >= TKJ_DIGEST_SIZE)
        tkj_digest(bytes, size - TKJ_DIGEST_SIZE, bytes + size - TKJ_DIGEST_SIZE);
}

#endif /* TKJ_FUZZ_H */
