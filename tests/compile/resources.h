/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file resources.h
 * @brief The checked-in table of what each kernel takes of a GPU, and its comparison.
 *
 * A text file: lines that start with # say what it is, each other line is one kernel, sorted:
 * "spec variant target registers static_shared dynamic_shared stack spill other_spill".
 */
#ifndef TKJ_RESOURCES_H
#define TKJ_RESOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tkj_resource {
    TKJ_REGISTERS,
    TKJ_STATIC_SHARED,
    TKJ_DYNAMIC_SHARED,
    TKJ_STACK,
    TKJ_SPILL,       /* of the entry function */
    TKJ_OTHER_SPILL, /* of all other functions */
};
#define TKJ_RESOURCE_COUNT 6

/** As the table names them. */
extern const char *const tkj_resource_names[TKJ_RESOURCE_COUNT];

#define TKJ_KERNEL_NAME_SIZE 320

/** One line of the table. */
typedef struct tkj_resource_row {
    char kernel[TKJ_KERNEL_NAME_SIZE]; /* "spec variant target" */
    uint32_t numbers[TKJ_RESOURCE_COUNT];
} tkj_resource_row;

/** Reads a table. @return false if a line is none, or is not behind the one before it; rows up to
 *  there are in `rows` */
bool tkj_resources_read(const char *path, tkj_resource_row *rows, size_t capacity, size_t *count);

/** Sorts the rows and writes them as a table. @return false after an error, with errno */
bool tkj_resources_write(const char *path, tkj_resource_row *rows, size_t count);

/** The row of a kernel, or NULL. */
const tkj_resource_row *tkj_resources_find(const tkj_resource_row *rows, size_t count,
                                           const char *kernel);

#endif /* TKJ_RESOURCES_H */
