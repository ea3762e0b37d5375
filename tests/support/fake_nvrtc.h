/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fake_nvrtc.h
 * @brief An NVRTC for tests: deterministic, of any version, slow or failing on request.
 *
 * Loaded through the option nvrtc_path or TOPK_JIT_NVRTC (FAKE_NVRTC_PATH names the file). A copy
 * of the file is an NVRTC of its own, with its own controls. Thread-safe.
 *
 * "Compiles" to text that fake_cuda loads: "FAKECUBIN sm_90\n" or "FAKEPTX compute_90\n", a line
 * "entry NAME\n", the line "digest HEX\n" over everything the real one would look at (sources,
 * names, options), "end\n" and a NUL. The entry is what the source #defines TKJ_ENTRY to, else the
 * name after `__global__ void`. The log is what ptxas -v would say, with made-up numbers.
 *
 * In a process that does not call reset, FAKE_NVRTC_VERSION=12.8 decides the version, and
 * FAKE_NVRTC_DELAY_MS=100 how long a compilation takes.
 *
 * What a real NVRTC refuses, this one refuses: options of a later version, architectures it does
 * not list, a source with the word FAKE_SYNTAX_ERROR.
 */
#ifndef TKJ_FAKE_NVRTC_H
#define TKJ_FAKE_NVRTC_H

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define FAKE_NVRTC_OPTIONS_MAX 16

/** The last compilation, as nvrtcCompileProgram was called. */
typedef struct fake_nvrtc_compile {
    int option_count;
    char options[FAKE_NVRTC_OPTIONS_MAX][64];
    char name[128]; /* of the main source */
    int include_count;
    char first_include[128]; /* name; "" if none */
    size_t stack_bytes;      /* of the thread */
    sigset_t signal_mask;    /* of the thread */
    bool own_thread;         /* it was not the thread that called reset */
} fake_nvrtc_compile;

/** The controls. */
typedef struct fake_nvrtc {
    /** Back to the beginning: version 13.0 and what it supports, nothing counted, no failure. */
    void (*reset)(void);
    void (*set_version)(int major, int minor); /* and the architectures of 12.0 or of 13.0 */
    void (*set_architectures)(const int *list, int count); /* at most 32 */

    /** The function fails with the code at its nth call from now (1 = the next), that time only. */
    void (*inject)(const char *function, int code, int nth);
    void (*set_log)(const char *text); /* a literal; NULL = what ptxas -v would say */
    void (*set_empty_payload)(bool empty);
    void (*set_delay_ms)(int milliseconds); /* how long a compilation takes */
    /** Compilations wait (10 s at most) until this many have run at once; 0 = they do not. */
    void (*set_meeting)(int count);
    int (*calls)(const char *function); /* since reset */
    int (*most_at_once)(void);          /* compilations that ran at the same time */
    int (*live_programs)(void);         /* created and not destroyed */
    void (*last_compile)(fake_nvrtc_compile *out);
} fake_nvrtc;

/** The controls of the fake in a file; NULL if it cannot be loaded or is another library. */
static inline const fake_nvrtc *fake_nvrtc_connect(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library == NULL ? NULL : dlsym(library, "fake_nvrtc_get");
    const fake_nvrtc *(*get)(void);
    memcpy(&get, &symbol, sizeof get);
    return symbol == NULL ? NULL : get();
}

#endif /* TKJ_FAKE_NVRTC_H */
