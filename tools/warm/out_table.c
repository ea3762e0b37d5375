/* SPDX-License-Identifier: Apache-2.0 */
#include "out_table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "out.h"
#include "terminal.h"

#define GAP ((size_t)2)         /* between two columns */
#define INDENT 4                /* of columns below others */
#define LAST_LEAST ((size_t)32) /* columns, or the last one goes below: less is hard to read */

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

/** Where the columns of a table are. */
typedef struct layout {
    size_t *widths;
    size_t columns; /* of the terminal */
} layout;

/** As much of a text as fits, up to a comma or a blank if there is one. */
static size_t first_line(const char *text, size_t room)
{
    for (size_t length = room; length > 0; length--)
        if (text[length - 1] == ',' || text[length - 1] == ' ')
            return length;
    return room;
}

/** Prints the last cell of a row, which goes on below its beginning where it is too long. */
static void print_last(const char *text, size_t column, size_t room, FILE *to)
{
    while (strlen(text) > room) {
        const size_t length = first_line(text, room);
        fprintf(to, "%.*s\n%*s", (int)length, text, (int)column, "");
        text += length;
    }
    fprintf(to, "%s\n", text);
}

/** True if a column is printed below those before it, which end at `used`. */
static bool goes_below(const warm_table *table, const layout *at, size_t column, size_t used)
{
    const size_t width = at->widths[column];
    const bool last = column + 1 == table->column_count;
    const size_t least = last && width > LAST_LEAST ? LAST_LEAST : width;
    return column > 0 && used + GAP + least > at->columns;
}

static size_t room_from(const layout *at, size_t column)
{
    return column + LAST_LEAST > at->columns ? LAST_LEAST : at->columns - column;
}

static void print_row(const warm_table *table, const layout *at, const char *const *cells, FILE *to)
{
    size_t begin = 0;  /* of the column */
    size_t blanks = 0; /* before the cell */
    for (size_t i = 0; i < table->column_count; i++) {
        const size_t fill = at->widths[i] - strlen(cells[i]);
        const bool right = table->columns[i].right;
        if (goes_below(table, at, i, begin - (i > 0 ? GAP : 0))) {
            putc('\n', to);
            begin = blanks = INDENT;
        }
        fprintf(to, "%*s", (int)(blanks + (right ? fill : 0)), "");
        if (i + 1 == table->column_count)
            print_last(cells[i], begin, room_from(at, begin), to);
        else
            fputs(cells[i], to);
        blanks = GAP + (right ? 0 : fill);
        begin += at->widths[i] + GAP;
    }
}

/** @param titles  room for them */
static void print_rows(const warm_table *table, const layout *at, const char **titles, FILE *to)
{
    for (size_t i = 0; i < table->column_count; i++)
        titles[i] = table->columns[i].title;
    print_row(table, at, titles, to);
    for (size_t i = 0; i + table->column_count <= table->cell_count; i += table->column_count)
        print_row(table, at, (const char *const *)table->cells + i, to);
}

bool warm_table_format(const warm_table *table, size_t columns, FILE *to)
{
    const layout at = {calloc(table->column_count, sizeof *at.widths), columns};
    const char **titles = calloc(table->column_count, sizeof *titles);
    const bool ok = at.widths != NULL && titles != NULL && !table->failed;
    for (size_t i = 0; ok && i < table->column_count; i++)
        at.widths[i] = width_of(table, i);
    if (ok)
        print_rows(table, &at, titles, to);
    free(titles);
    free(at.widths);
    return ok;
}

bool warm_table_print(const warm_table *table, FILE *to)
{
    return warm_table_format(table, warm_terminal_columns(fileno(to)), to);
}

void warm_table_release(warm_table *table)
{
    for (size_t i = 0; i < table->cell_count; i++)
        free(table->cells[i]);
    free(table->cells);
}
