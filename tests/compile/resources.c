/* SPDX-License-Identifier: Apache-2.0 */
#include "resources.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const tkj_resource_names[TKJ_RESOURCE_COUNT] = {
    "registers", "static_shared", "dynamic_shared", "stack", "spill", "other_spill"};

static const char head[] =
    "# SPDX-License-Identifier: Apache-2.0\n"
    "# What kernels take, compiled by the NVRTC of CUDA 13.0. Written by test_compile --write "
    "FILE.\n"
    "# A number that grows fails the test; write the table anew only with a reason for it.\n"
    "# spec variant target registers static_shared dynamic_shared stack spill other_spill\n";

/** Cuts a line after its third word. @return what follows, or NULL if there is nothing */
static char *cut_name(char *line)
{
    char *blank = line - 1;
    for (int word = 0; word < 3; word++) {
        blank = strchr(blank + 1, ' ');
        if (blank == NULL)
            return NULL;
    }
    *blank = '\0';
    return blank + 1;
}

static bool read_numbers(const char *text, uint32_t numbers[TKJ_RESOURCE_COUNT])
{
    for (size_t i = 0; i < TKJ_RESOURCE_COUNT; i++) {
        char *end;
        errno = 0;
        unsigned long number = strtoul(text, &end, 10);
        char expected = i + 1 < TKJ_RESOURCE_COUNT ? ' ' : '\n';
        if (end == text || *end != expected || errno != 0 || number > UINT32_MAX)
            return false;
        numbers[i] = (uint32_t)number;
        text = end + 1;
    }
    return true;
}

static bool read_row(char *line, tkj_resource_row *row)
{
    const char *numbers = cut_name(line);
    if (numbers == NULL || strlen(line) >= sizeof row->kernel)
        return false;
    memcpy(row->kernel, line, strlen(line) + 1);
    return read_numbers(numbers, row->numbers);
}

bool tkj_resources_read(const char *path, tkj_resource_row *rows, size_t capacity, size_t *count)
{
    char line[2 * TKJ_KERNEL_NAME_SIZE];
    FILE *file = fopen(path, "r");
    bool good = file != NULL;
    *count = 0;
    while (good && fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#')
            continue;
        good = *count < capacity && read_row(line, &rows[*count]) &&
               (*count == 0 || strcmp(rows[*count - 1].kernel, rows[*count].kernel) < 0);
        *count += good;
    }
    if (file != NULL && fclose(file) != 0)
        good = false;
    return good;
}

static int compare_rows(const void *a, const void *b)
{
    return strcmp(((const tkj_resource_row *)a)->kernel, ((const tkj_resource_row *)b)->kernel);
}

bool tkj_resources_write(const char *path, tkj_resource_row *rows, size_t count)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return false;
    qsort(rows, count, sizeof *rows, compare_rows);
    bool good = fputs(head, file) >= 0;
    for (size_t i = 0; i < count; i++) {
        good = fputs(rows[i].kernel, file) >= 0 && good;
        for (size_t j = 0; j < TKJ_RESOURCE_COUNT; j++)
            good = fprintf(file, " %" PRIu32, rows[i].numbers[j]) > 0 && good;
        good = fputc('\n', file) == '\n' && good;
    }
    return fclose(file) == 0 && good;
}

const tkj_resource_row *tkj_resources_find(const tkj_resource_row *rows, size_t count,
                                           const char *kernel)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].kernel, kernel) == 0)
            return &rows[i];
    return NULL;
}
