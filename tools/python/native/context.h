/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file context.h
 * @brief The Python object around a topk_jit_context, and which calls hold the GIL.
 *
 * A call that computes on the CPU, compiles or loads releases the GIL. One that only launches keeps
 * it: giving it up costs more than the launch where other threads want it. Which calls only launch
 * is known from the specs that succeeded before.
 */
#ifndef TKP_CONTEXT_H
#define TKP_CONTEXT_H

#include "native.h"

/** What a call is compiled for, on which device. */
typedef struct tkp_spec_key {
    int64_t topk;
    int64_t page_size;
    int64_t device;
    uint64_t options; /* all others, packed; never 0, so that an empty place is no key */
} tkp_spec_key;

static inline uint64_t tkp_pack_options(topk_jit_operation operation, topk_jit_layout layout,
                                        topk_jit_tie_break tie_break, DLDataType score,
                                        DLDataType index, unsigned switches)
{
    return 1 | (uint64_t)operation << 1 | (uint64_t)layout << 4 | (uint64_t)tie_break << 7 |
           (uint64_t)score.code << 16 | (uint64_t)score.bits << 24 | (uint64_t)index.bits << 32 |
           (uint64_t)switches << 40;
}

enum { TKP_KNOWN_SPECS = 32 };

typedef struct tkp_context {
    PyObject_HEAD tkp_state *state;
    topk_jit_context *context; /* NULL: not open */
    PyObject *log;             /* callable(level, text), or NULL */
    Py_ssize_t calls;          /* under way without the GIL */
    bool used_gpu;             /* launches or graphs may still use its kernels */
    unsigned fork_generation;  /* of `ready` */
    tkp_spec_key ready[TKP_KNOWN_SPECS];
} tkp_context;

extern PyType_Spec tkp_context_spec;

/** The context of an argument: the default one for None. @return borrowed, open */
tkp_context *tkp_context_of(tkp_state *state, PyObject *argument);

/** Whether a call of this key has succeeded before: it only launches. */
bool tkp_context_is_ready(tkp_context *self, const tkp_spec_key *key);
void tkp_context_set_ready(tkp_context *self, const tkp_spec_key *key);

/** Around what may take long: releases the GIL; the context cannot be closed meanwhile. */
PyThreadState *tkp_context_begin(tkp_context *self);
void tkp_context_end(tkp_context *self, PyThreadState *thread);

#endif
