/* SPDX-License-Identifier: Apache-2.0 */
#include "out_table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "out.h"

void warm_table_init(warm_table *out, const warm_column *columns, size_t column_count)
{
    *out = (warm_table){.columns = columns, .column_count = column_count};
}

static char *escaped(const char *text)
{
    char *copy = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&copy, &size);
    if (to == NULL)
        return NULL;
    warm_out_text(to, text, strlen(text));
    if (fclose(to) == 0)
        return copy;
    free(copy);
    return NULL;
}

/** Takes over the text. */
static void append(warm_table *table, char *text)
{
    if (table->cell_count == table->capacity) {
        const size_t capacity = table->capacity == 0 ? 64 : 2 * table->capacity;
        char **cells = reallocarray(table->cells, capacity, sizeof *cells);
        if (cells == NULL) {
            table->failed = true;
            free(text);
            return;
        }
        table->cells = cells;
        table->capacity = capacity;
    }
    table->cells[table->cell_count++] = text;
    table->failed = table->failed || text == NULL;
}

void warm_table_add(warm_table *table, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    append(table, text != NULL ? escaped(text) : NULL);
    free(text);
}

static size_t width_of(const warm_table *table, size_t column)
{
    size_t width = strlen(table->columns[column].title);
    for (size_t i = column; i < table->cell_count; i += table->column_count) {
        const size_t length = strlen(table->cells[i]);
        width = length > width ? length : width;
    }
    return width;
}

static void print_cell(const warm_table *table, size_t column, const char *text, size_t width,
                       FILE *to)
{
    const bool last = column + 1 == table->column_count;
    if (table->columns[column].right)
        fprintf(to, "%*s", (int)width, text);
    else
        fprintf(to, "%-*s", last ? 0 : (int)width, text);
    fputs(last ? "\n" : "  ", to);
}

bool warm_table_print(const warm_table *table, FILE *to)
{
    size_t *widths = calloc(table->column_count, sizeof *widths);
    const bool ok = widths != NULL && !table->failed;
    for (size_t i = 0; ok && i < table->column_count; i++)
        widths[i] = width_of(table, i);
    for (size_t i = 0; ok && i < table->column_count; i++)
        print_cell(table, i, table->columns[i].title, widths[i], to);
    for (size_t i = 0; ok && i < table->cell_count; i++) {
        const size_t column = i % table->column_count;
        print_cell(table, column, table->cells[i], widths[column], to);
    }
    free(widths);
    return ok;
}

void warm_table_release(warm_table *table)
{
    for (size_t i = 0; i < table->cell_count; i++)
        free(table->cells[i]);
    free(table->cells);
}
