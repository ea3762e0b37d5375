/* SPDX-License-Identifier: Apache-2.0 */
/** @file target.h @brief GPU architectures: names, what runs where, which toolkit knows them. Pure.
 */
#ifndef TKJ_TARGET_H
#define TKJ_TARGET_H

#include <stdbool.h>
#include <stddef.h>

/** What a kernel is compiled to: machine code for sm_XY, or PTX for compute_XY. */
typedef struct tkj_target {
    int architecture; /* 10 * X + Y */
    bool ptx;
} tkj_target;

#define TKJ_TARGET_NAME_SIZE 16

/** Writes "sm_90" or "compute_90". */
void tkj_target_format(tkj_target target, char name[TKJ_TARGET_NAME_SIZE]);

/** Reads "sm_90", its synonym "sm_90a", or "compute_90". @return false if it is none that is known
 */
bool tkj_target_parse(const char *name, tkj_target *out);

/** One architecture that this version knows. */
typedef struct tkj_architecture {
    int number;        /* 90 */
    const char *since; /* first CUDA toolkit that compiles for it, "11.8" */
} tkj_architecture;

/** All that are known, ascending. */
extern const tkj_architecture tkj_architectures[];
extern const size_t tkj_architecture_count;

/** The known architecture whose variants a GPU of X.Y runs: X.Y, else the highest below it.
 *  @return 0 if there is none */
int tkj_target_known_below(int compute_major, int compute_minor);

/** No more targets than these have a name that tkj_target_parse reads. */
#define TKJ_TARGETS_MAX 64

#define TKJ_TARGET_ORDER_MAX 32

/**
 * The targets that a GPU of X.Y can run, best first: sm_XY; lower minors of X, highest first; PTX
 * of X.Y or below, highest first.
 * @return how many
 */
size_t tkj_target_order(int compute_major, int compute_minor, tkj_target out[TKJ_TARGET_ORDER_MAX]);

/** The best of an order that this version of the library can name, else its last. */
tkj_target tkj_target_best_known(const tkj_target *order, size_t count);

#endif /* TKJ_TARGET_H */
