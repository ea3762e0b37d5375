/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file guarded.h
 * @brief Memory of one output tensor: poisoned, with guard bytes before, between and after its
 * rows.
 *
 * A test of a GPU engine copies the whole block to the device, runs, copies it back and verifies.
 */
#ifndef TKJ_GUARDED_H
#define TKJ_GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Every byte of guards and of unwritten elements: -1515870811 as an int32. */
#define TKJ_GUARDED_POISON 0xA5

/** A (rows, columns) tensor inside a larger block. */
typedef struct tkj_guarded {
    unsigned char *block; /**< owned */
    size_t block_size;
    size_t data_offset; /**< of the first element in the block */
    size_t element_size;
    int64_t rows;
    int64_t columns;
    int64_t stride; /**< from row to row, in elements */
} tkj_guarded;

/**
 * Allocates and poisons.
 *
 * @param stride  >= columns, in elements; the columns beyond are guards
 * @param shift   elements by which the data misses a 16-byte boundary
 * @return false if there is no memory
 */
bool tkj_guarded_create(tkj_guarded *out, int64_t rows, int64_t columns, int64_t stride,
                        size_t element_size, size_t shift);

/** Frees the block; a zeroed struct is ignored. */
void tkj_guarded_destroy(tkj_guarded *guarded);

/** Poisons the block again. */
void tkj_guarded_poison(const tkj_guarded *guarded);

/** The first element. */
void *tkj_guarded_data(const tkj_guarded *guarded);

/** @return false if a guard byte changed; the message says which */
bool tkj_guarded_verify(const tkj_guarded *guarded, char *message, size_t capacity);

#endif /* TKJ_GUARDED_H */
