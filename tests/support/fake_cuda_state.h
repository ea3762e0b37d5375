/* SPDX-License-Identifier: Apache-2.0 */
/** @file fake_cuda_state.h @brief What the two halves of the fake driver share. */
#ifndef TKJ_FAKE_CUDA_STATE_H
#define TKJ_FAKE_CUDA_STATE_H

#include <cuda.h>
#include <pthread.h>

#include "fake_cuda.h"

#define FAKE_FUNCTIONS_MAX 64
#define FAKE_CONTEXTS_MAX 64
#define FAKE_STREAMS_MAX 1024
#define FAKE_STACK_MAX 16

struct fake_device {
    int major, minor, sm_count, shared, l2, clusters;
};

struct fake_context {
    int ordinal;
    int index; /* bit of fake_kernel.loaded */
};

struct fake_stream {
    struct fake_context *context;
    CUstreamCaptureStatus capture;
};

struct fake_kernel {
    struct fake_kernel *next;
    struct fake_library *library;
    char name[128];
    int shared[FAKE_CUDA_DEVICES]; /* largest dynamic shared memory allowed; 0 = never set */
    bool large_clusters;           /* more than 8 blocks of a cluster are allowed */
    unsigned long long loaded;     /* contexts that cuKernelGetFunction loaded it into */
};

/** Never freed before reset, so that the use of an unloaded one is found out. */
struct fake_library {
    struct fake_library *next;
    bool live;
    bool ptx;
    int architecture;
    char *entries; /* "entry NAME\n" lines */
    struct fake_kernel *kernels;
};

struct fake_function {
    const char *name;
    int calls;
    int fail_in; /* calls until the one that fails; 0 = none */
    int fail_code;
    bool hidden;
};

/** All but the devices is guarded by the mutex. */
struct fake_state {
    pthread_mutex_t mutex;
    bool initialised;
    int version;
    int device_count;
    size_t params_size;
    int claimed_capability; /* 0 = none */
    bool hidden;            /* cuInit succeeds, and no device is shown */
    int capability;         /* 0 = each device its own */
    int claimed_sm_count[FAKE_CUDA_DEVICES];
    int cluster_room;
    int total_calls;
    int launches;
    struct fake_function any; /* stands for all functions */
    const char *failed;
    fake_cuda_launch last;
    fake_cuda_launch before; /* the last but one */
    int context_count;
    int stream_count;
    struct fake_context contexts[FAKE_CONTEXTS_MAX];
    struct fake_stream streams[FAKE_STREAMS_MAX];
    struct fake_library *libraries;
    struct fake_function functions[FAKE_FUNCTIONS_MAX];
};

struct fake_thread {
    struct fake_context *bottom;
    struct fake_context *stack[FAKE_STACK_MAX];
    int depth;
    CUstreamCaptureMode mode;
};

/* Only what a real library exports may be seen from outside. */
#pragma GCC visibility push(hidden)

extern struct fake_state fake;
extern _Thread_local struct fake_thread fake_thread;
extern const struct fake_device fake_devices[FAKE_CUDA_DEVICES];

/** Locks, counts the call and returns the failure asked for; fake_end unlocks. */
CUresult fake_begin(const char *name);
CUresult fake_end(CUresult result);

/** As fake_begin, for functions that need cuInit. */
CUresult fake_begin_ready(const char *name);

/** As fake_begin_ready, for functions that a capture in global mode forbids. */
CUresult fake_begin_unsafe(const char *name);

bool fake_is_hidden(const char *name);
CUresult fake_check_unsafe_call(void);
struct fake_context *fake_current(void);

/** NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD: no stream of the fake's own. */
bool fake_is_special(CUstream stream);
struct fake_context *fake_context_of(CUstream stream);

/** A stream of the context that captures, or NULL; all streams of the fake are blocking ones. */
struct fake_stream *fake_capturing_in(const struct fake_context *context);

#pragma GCC visibility pop

#endif /* TKJ_FAKE_CUDA_STATE_H */
