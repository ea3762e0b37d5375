/* SPDX-License-Identifier: Apache-2.0 */
/** @file out_table.h @brief Columns for people, as wide as what is in them. */
#ifndef TKJ_WARM_OUT_TABLE_H
#define TKJ_WARM_OUT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct warm_column {
    const char *title;
    bool right; /* numbers */
} warm_column;

typedef struct warm_table {
    const warm_column *columns; /* borrowed */
    size_t column_count;
    char **cells; /* owned, row by row */
    size_t cell_count;
    size_t capacity;
    bool failed; /* a cell is missing for want of memory */
} warm_table;

/** @param[out] out  released with warm_table_release */
void warm_table_init(warm_table *out, const warm_column *columns, size_t column_count);

/** Adds the next cell, row by row. Its text is escaped as warm_out_text does it. */
void warm_table_add(warm_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Writes the titles and the rows, the last column not filled up. Nothing is cut: where a row is
 * too wide, columns go below others, and the last one goes on below itself, broken at commas and
 * blanks.
 *  @return false, and nothing is written, if there was no memory */
bool warm_table_format(const warm_table *table, size_t columns, FILE *to);

/** The same, as wide as the terminal is; elsewhere a row is one line. */
bool warm_table_print(const warm_table *table, FILE *to);

void warm_table_release(warm_table *table);

#endif /* TKJ_WARM_OUT_TABLE_H */
