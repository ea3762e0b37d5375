/* SPDX-License-Identifier: Apache-2.0 */
/** @file fake_nvrtc_state.h @brief What the two halves of the fake NVRTC share. */
#ifndef TKJ_FAKE_NVRTC_STATE_H
#define TKJ_FAKE_NVRTC_STATE_H

#include <nvrtc.h>
#include <pthread.h>

#include "fake_nvrtc.h"

#define FAKE_FUNCTIONS_MAX 32
#define FAKE_ARCHITECTURES_MAX 32

struct fake_function {
    const char *name;
    int calls;
    int fail_in; /* calls until the one that fails; 0 = none */
    int fail_code;
};

/** Guarded by the mutex. */
struct fake_state {
    pthread_mutex_t mutex;
    pthread_t home; /* thread of the last reset */
    int major, minor;
    int architectures[FAKE_ARCHITECTURES_MAX];
    int architecture_count;
    const char *log;
    bool empty_payload;
    int delay_ms;
    int meeting;        /* compilations that wait for each other */
    pthread_cond_t met; /* most_at_once has grown */
    int running, most_at_once;
    int live_programs;
    fake_nvrtc_compile last;
    struct fake_function functions[FAKE_FUNCTIONS_MAX];
};

/* Only what a real library exports may be seen from outside. */
#pragma GCC visibility push(hidden)

extern struct fake_state fake;

/** Sets version and architectures to the defaults on first use; the mutex is held. */
void fake_ensure_defaults(void);

/** Locks, counts the call and returns the failure asked for; fake_end unlocks. */
nvrtcResult fake_begin(const char *name);
nvrtcResult fake_end(nvrtcResult result);

/** True if the version listed is this one or older; the mutex is held. */
bool fake_version_has(int major, int minor);

#pragma GCC visibility pop

#endif /* TKJ_FAKE_NVRTC_STATE_H */
