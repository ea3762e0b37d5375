/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file plan_case.h
 * @brief What the tests of the modules on top share: both fakes, a cache directory of their own, a
 *        context that counts its memory and hears its log.
 *
 * Linked with two functions wrapped: getpwuid_r knows nobody, so that no test finds a real home,
 * and fsync does nothing, so that the disk's speed does not matter.
 */
#ifndef TKJ_PLAN_CASE_H
#define TKJ_PLAN_CASE_H

#include "testing.h"

#include <pthread.h>

#include "context.h"
#include "fake_cuda.h"
#include "fake_nvrtc.h"
#include "plan.h"
#include "spec.h"

/* The fake's devices. */
#define SM80 0
#define SM90 1

#define ANY_CODE 719   /* a CUresult that the fake never returns by itself, and of no image */
#define IMAGE_CODE 209 /* CUDA_ERROR_NO_BINARY_FOR_GPU: another image may load */

/** The fakes, with a context and a stream on each device. */
extern const fake_cuda *cuda;
extern const fake_nvrtc *nvrtc;
extern void *contexts[FAKE_CUDA_DEVICES];
extern CUstream streams[FAKE_CUDA_DEVICES];

typedef struct plan_case {
    char *directory; /* holds the root and nothing else */
    char *root;      /* "directory/cache", not yet created */
    tkj_test_allocator memory;
    topk_jit_context *context; /* on this root, with this allocator and the fake NVRTC */
    pthread_mutex_t lock;      /* guards what was logged */
    int logged[TOPK_JIT_LOG_DEBUG + 1];
    char text[TOPK_JIT_LOG_DEBUG + 1][8192];
} plan_case;

/** Finds both fakes; says so if it cannot. */
bool plan_case_connect(void);

/** Both fakes as they start, with new contexts and streams. No context may be open. */
void plan_case_reset_fakes(void);

/** cmocka's set-up and tear-down. The latter destroys the context, then asserts that no memory, no
 *  library and no program is left and that the thread is as it was. */
int plan_case_set_up(void **state);
int plan_case_tear_down(void **state);

/** The options of the case's context. */
topk_jit_options plan_case_options(plan_case *it);

/** Puts another context, of these options, in the place of the case's; forgets what was logged. */
void plan_case_open(plan_case *it, const topk_jit_options *options);
/** The same with another nvrtc_path. */
void plan_case_reopen(plan_case *it, const char *nvrtc_path);
void plan_case_close(plan_case *it);

topk_jit_statistics plan_case_statistics(const plan_case *it);

/** A canonical plain spec. */
topk_jit_spec plan_case_spec(int64_t topk);

/** How many kernels a spec has on one of the fake's devices. */
size_t plan_case_kernels(const topk_jit_spec *spec, int ordinal);

/** Prepares one spec on a device's stream. */
topk_jit_status plan_case_prepare(plan_case *it, const topk_jit_spec *spec, int ordinal);

/** What the map has of a spec. */
const tkj_prepared *plan_case_find(const plan_case *it, const topk_jit_spec *spec, int ordinal);

/** Puts every kernel that a spec has on an architecture (90) into the cache, compiled for a target
 *  ("sm_90"). */
topk_jit_status plan_case_warm(plan_case *it, const topk_jit_spec *spec, int architecture,
                               const char *target);

/** Calls `act`, unless NULL, for each file below a directory whose name ends so.
 *  @return how many there are */
size_t plan_case_each_file(const char *directory, const char *suffix,
                           void (*act)(const char *path, void *user), void *user);
/** Removes a file: an action for plan_case_each_file. */
void plan_case_remove_file(const char *path, void *user);
/** Number of the root's entries of one CUDA major. */
size_t plan_case_entries(const plan_case *it, int major);
/** Bytes of all entries. */
uint64_t plan_case_entry_bytes(const plan_case *it);

/** Asserts that the last failure's message has a part. */
void plan_case_assert_message(const char *part);
/** Asserts that a level's log has a part. */
void plan_case_assert_logged(plan_case *it, topk_jit_log_level level, const char *part);

/** A selection whose tensors are on a GPU: addresses that nobody reads. */
typedef struct plan_call {
    int64_t score_shape[2];
    int64_t index_shape[2];
    DLTensor score;
    DLTensor indices;
    topk_jit_select_args args;
} plan_call;

/** Must stay where it is while it is used. */
void plan_call_init(plan_call *call, int ordinal, int64_t rows, int64_t out_rows, int64_t topk);

#endif /* TKJ_PLAN_CASE_H */
