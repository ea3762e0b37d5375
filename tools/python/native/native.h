/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file native.h
 * @brief The extension module topk_jit._native: what its files share.
 *
 * Python decides what is asked for rarely (where the library is, how a framework allocates, which
 * exception is raised); C does what happens in every call. Names begin with tkp_.
 * Functions that return a PyObject * or an int return NULL or -1 with an exception set.
 */
#ifndef TKP_NATIVE_H
#define TKP_NATIVE_H

#include <Python.h>
#include <stdbool.h>
#include <topk_jit/topk_jit.h>

#include "dlpack_exchange.h"

/** The functions of the library that are used here. */
#define TKP_FUNCTIONS(X)                                                                           \
    X(check_counts_format)                                                                         \
    X(context_create)                                                                              \
    X(context_destroy)                                                                             \
    X(explain)                                                                                     \
    X(fast_topk)                                                                                   \
    X(get_statistics)                                                                              \
    X(is_prepared)                                                                                 \
    X(last_error)                                                                                  \
    X(prepare)                                                                                     \
    X(select)                                                                                      \
    X(select_workspace_size)                                                                       \
    X(status_name)                                                                                 \
    X(version)

#define TKP_FUNCTION_POINTER(name) __typeof__(topk_jit_##name) *name;
typedef struct tkp_library {
    void *handle; /* NULL until loaded; never closed */
    TKP_FUNCTIONS(TKP_FUNCTION_POINTER)
} tkp_library;
#undef TKP_FUNCTION_POINTER

/** Python functions that C calls, given by name to configure(). */
#define TKP_CALLBACKS(X)                                                                           \
    X(make_error)      /* (status, name, native_code, message) -> exception */                     \
    X(classify)        /* (type, argument) -> tuple, see framework.c */                            \
    X(default_context) /* () -> Context */                                                         \
    X(stream_handle)   /* (object) -> int */                                                       \
    X(trace)           /* (arguments of select) -> its result, for tensors without memory */       \
    X(trace_fast_topk) /* (arguments of fast_topk) -> its result, likewise */                      \
    X(selection)       /* (indices, raw_indices, values) -> Selection */

/** Attribute and keyword names, interned. */
#define TKP_NAMES(X)                                                                               \
    X(__dlpack_c_exchange_api__)                                                                   \
    X(__array_struct__)                                                                            \
    X(__dlpack__)                                                                                  \
    X(__dlpack_device__)                                                                           \
    X(dtype)                                                                                       \
    X(name)                                                                                        \
    X(score)                                                                                       \
    X(lengths)                                                                                     \
    X(row_starts)                                                                                  \
    X(row_ends)                                                                                    \
    X(page_table)                                                                                  \
    X(page_table_row_starts)                                                                       \
    X(cu_seqlens_q)                                                                                \
    X(row_to_batch)                                                                                \
    X(topk_indices_offset)                                                                         \
    X(out)                                                                                         \
    X(raw_indices)                                                                                 \
    X(values)                                                                                      \
    X(check_counts)                                                                                \
    X(workspace)                                                                                   \
    X(stream)

struct tkp_framework;
enum { TKP_FRAMEWORK_SLOTS = 64 };

typedef struct tkp_state {
    tkp_library library;
#define TKP_MEMBER(name) PyObject *name;
    TKP_CALLBACKS(TKP_MEMBER)
    struct {
        TKP_NAMES(TKP_MEMBER)
    } names;
#undef TKP_MEMBER
    PyObject *the_default_context; /* once it was asked for */
    PyObject *no_arguments;        /* () */
    PyObject *export_on_host[2];   /* keywords of __dlpack__: with max_version, without (NULL) */
    PyObject *export_on_gpu[2];
    PyTypeObject *context_type;
    PyTypeObject *selector_type;
    struct tkp_framework *frameworks[TKP_FRAMEWORK_SLOTS]; /* by type */
} tkp_state;

tkp_state *tkp_state_of_module(PyObject *module);

/** Of a type of the module, or a subclass that Python made: then its own module is another. */
tkp_state *tkp_state_of_type(PyTypeObject *type);

/** What a function without a result returns. */
static inline PyObject *tkp_none(void)
{
    Py_INCREF(Py_None);
    return Py_None;
}

/** Puts an owned reference in the place of another one. */
static inline void tkp_replace(PyObject **place, PyObject *stolen)
{
    PyObject *old = *place;
    *place = stolen;
    Py_XDECREF(old);
}

/** Raises what the library said last in this thread. @return -1 */
int tkp_raise_status(tkp_state *state, topk_jit_status status);

/** Hands the arguments of a call on to a Python function. */
PyObject *tkp_trace(PyObject *function, PyObject *const *arguments, Py_ssize_t count);

/* Functions of the module. */
PyObject *tkp_select(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *tkp_workspace_size(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *tkp_fast_topk(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
PyObject *tkp_prepare(PyObject *module, PyObject *arguments);
PyObject *tkp_is_prepared(PyObject *module, PyObject *arguments);
PyObject *tkp_explain(PyObject *module, PyObject *arguments);

#endif
