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

/** The arguments of `allocate`, before its keywords. The numbers are those of _frameworks.py. */
typedef enum tkp_takes {
    TKP_TAKES_SHAPE = 0, /* (shape) */
    TKP_TAKES_LIKE = 1,  /* (like, shape) */
    TKP_TAKES_SIZES = 2, /* (like, size, size...), or (like, ()) */
} tkp_takes;

/** The dtype of a new tensor: one of these, or that of the tensor it is to be like. */
typedef enum tkp_element {
    TKP_INT32 = 0,
    TKP_INT64 = 1,
    TKP_ALIKE = 2,
    TKP_ELEMENT_COUNT,
} tkp_element;

enum { TKP_RECENT_DIMENSIONS = 4 };

/** Arguments of `allocate_here` as they were last: a step is mostly like the one before. */
typedef struct tkp_recent {
    PyObject *arguments; /* NULL: none yet */
    DLDataType dtype;    /* of the tensor it was like */
    int dimensions;
    int64_t shape[TKP_RECENT_DIMENSIONS];
} tkp_recent;

typedef struct tkp_framework {
    struct tkp_framework *next; /* in the same slot */
    PyTypeObject *type;
    tkp_export how;
    const tkp_exchange *exchange; /* EXCHANGE only */
    PyObject *exporter;           /* FUNCTION only */
    PyObject *stream;             /* (device) -> handle of the current stream, or NULL */
    PyObject *allocate;           /* (as `takes` says, **keywords) -> tensor, or NULL */
    tkp_takes takes;
    PyObject *keywords[2];    /* for int32 and int64: their dtype */
    PyObject *allocate_alike; /* (like and as `takes` says) -> tensor of the dtype of like */
    PyObject *allocate_here;  /* (shape, strides, dtype) -> tensor on the current GPU, or NULL */
    PyObject *current_device; /* () -> its number; there if allocate_here is */
    PyObject *wrap;           /* (allocated) -> what is returned, or NULL */
    bool immutable;           /* may not be given as out= */
    bool versioned;           /* its __dlpack__ takes max_version */
    tkp_recent recent[TKP_ELEMENT_COUNT];
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

void tkp_frameworks_clear(tkp_state *state);
int tkp_frameworks_traverse(tkp_state *state, visitproc visit, void *arg);

#endif
