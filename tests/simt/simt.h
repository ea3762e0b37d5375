/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file simt.h
 * @brief Runs a kernel on the CPU and says what is wrong with it: what tests call.
 *
 * Linked with kernels of the race build, it finds races, accesses outside the registered regions
 * and reads of unwritten memory; linked with kernels of the sanitized build, what ASan and UBSan
 * find. Both find divergent barriers, missing lanes, deadlocks and misused hardware. One thread of
 * the process runs one launch at a time.
 */
#ifndef TKJ_SIMT_H
#define TKJ_SIMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TKJ_SIMT_MESSAGE_SIZE 512

/** A compiled kernel: what its translation unit says about itself. */
typedef struct tkj_simt_kernel {
    const char *entry;     /* as NVRTC would name it */
    int architecture;      /* 90 = sm_90 */
    uint32_t threads;      /* per block */
    uint32_t shared_bytes; /* dynamic shared memory */
    size_t params_size;
    void (*body)(const void *params);
} tkj_simt_kernel;

/** Global memory that a kernel may touch: rows of bytes; what lies between them is forbidden. */
typedef struct tkj_simt_region {
    const char *name;
    void *data;
    int64_t rows;
    int64_t row_bytes;
    int64_t pitch_bytes; /* from row to row; 0 = all rows are one */
    bool writable;
    bool written;      /* false: reading what the launch has not written is a fault, */
    bool *kept;        /* NULL, or one for each byte, of a single row: but for what launches before
                          have written; the race build adds what this one has */
    void *block;       /* the allocation around it, forbidden but for the rows; NULL = none */
    size_t block_size; /* its size */
} tkj_simt_region;

/** One launch. */
typedef struct tkj_simt_launch {
    const tkj_simt_kernel *kernel;
    uint32_t grid;    /* blocks, a multiple of cluster */
    uint32_t cluster; /* blocks a cluster; 0 = 1 */
    const void *params;
    const tkj_simt_region *regions;
    size_t region_count;
    uint64_t seed; /* of the order in which everything runs */
} tkj_simt_launch;

/** @return false at the first fault, with a message; the outputs are then unspecified */
bool tkj_simt_run(const tkj_simt_launch *launch, char message[TKJ_SIMT_MESSAGE_SIZE]);

/** How often a block noted a slow way since this was last asked. */
uint32_t tkj_simt_slow_paths(void);

/** True if the kernels are those of the race build. */
bool tkj_simt_finds_races(void);

#ifdef __cplusplus
}
#endif

#endif /* TKJ_SIMT_H */
