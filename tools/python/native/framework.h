/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file framework.h
 * @brief What is known about a type of tensors: found once a type, then kept.
 */
#ifndef TKP_FRAMEWORK_H
#define TKP_FRAMEWORK_H

#include "native.h"

/** How a tensor is read, fastest first. The numbers are those of _frameworks.py. */
typedef enum tkp_export {
    TKP_EXPORT_EXCHANGE = 0,     /* C functions of the type */
    TKP_EXPORT_ARRAY_STRUCT = 1, /* NumPy's C structure: also of read-only arrays and bfloat16 */
    TKP_EXPORT_FUNCTION = 2,     /* exporter(tensor) gives a DLPack capsule */
    TKP_EXPORT_DLPACK = 3,       /* __dlpack__ */
    TKP_EXPORT_TRACED = 4,       /* no memory: what a compiler or exporter of torch traces with */
} tkp_export;

typedef struct tkp_framework {
    struct tkp_framework *next; /* in the same slot */
    PyTypeObject *type;
    tkp_export how;
    const tkp_exchange *exchange; /* EXCHANGE only */
    PyObject *exporter;           /* FUNCTION only */
    PyObject *stream;             /* (device) -> handle of the current stream, or NULL */
    PyObject *allocate;           /* ([like,] shape, **keywords) -> tensor, or NULL */
    bool allocate_takes_like;
    PyObject *keywords[2];    /* for int32 and int64 */
    PyObject *allocate_alike; /* (like, shape) -> tensor of the dtype of like */
    PyObject *wrap;           /* (allocated) -> what is returned, or NULL */
    bool immutable;           /* may not be given as out= */
    bool versioned;           /* its __dlpack__ takes max_version */
} tkp_framework;

/**
 * @brief What is known about the type of a tensor.
 * @param argument  name for the TypeError, should it be no tensor
 * @return borrowed, valid as long as the module
 */
tkp_framework *tkp_framework_of(tkp_state *state, PyObject *tensor, const char *argument);

/**
 * @brief The stream to work on.
 * @param given  the caller's stream=, or None
 * @param like   the tensor whose framework is asked otherwise
 */
int tkp_framework_stream(tkp_state *state, const tkp_framework *framework, PyObject *given,
                         DLDevice device, CUstream *out);

/** An integer handle as a stream. */
int tkp_stream_from_object(tkp_state *state, PyObject *given, CUstream *out);

typedef enum tkp_element { TKP_INT32 = 0, TKP_INT64 = 1, TKP_ALIKE = 2 } tkp_element;

/**
 * @brief A new tensor of the framework and device of `like`, with undefined contents.
 * @param view  of `like`
 */
PyObject *tkp_framework_allocate(const tkp_framework *framework, PyObject *like,
                                 const DLTensor *view, int64_t *shape, int dimensions,
                                 tkp_element element);

/** What is returned for a tensor that was allocated. Steals it. */
PyObject *tkp_framework_finish(const tkp_framework *framework, PyObject *allocated);

void tkp_frameworks_clear(tkp_state *state);
int tkp_frameworks_traverse(tkp_state *state, visitproc visit, void *arg);

#endif
