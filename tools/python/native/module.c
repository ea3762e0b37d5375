/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>

#include "context.h"
#include "framework.h"
#include "library.h"
#include "native.h"
#include "selector.h"

tkp_state *tkp_state_of_module(PyObject *module)
{
    return PyModule_GetState(module);
}

tkp_state *tkp_state_of_type(PyTypeObject *type)
{
    PyObject *ours = PyObject_GetAttrString((PyObject *)type, "_native_type");
    tkp_state *state = ours == NULL ? NULL : PyType_GetModuleState((PyTypeObject *)ours);
    Py_XDECREF(ours);
    return state;
}

int tkp_raise_status(tkp_state *state, topk_jit_status status)
{
    const topk_jit_error *error = state->library.last_error();
    PyObject *exception = PyObject_CallFunction(state->make_error, "isis", (int)status,
                                                state->library.status_name(status),
                                                error->native_code, error->message);
    if (exception != NULL)
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_XDECREF(exception);
    return -1;
}

PyObject *tkp_trace(PyObject *function, PyObject *const *arguments, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple != NULL && i < count; i++) {
        Py_INCREF(arguments[i]);
        PyTuple_SetItem(tuple, i, arguments[i]);
    }
    PyObject *result = tuple == NULL ? NULL : PyObject_CallObject(function, tuple);
    Py_XDECREF(tuple);
    return result;
}

/* ---- functions ---- */

static PyObject *load(PyObject *module, PyObject *path)
{
    tkp_state *state = tkp_state_of_module(module);
    PyObject *bytes;
    if (!PyUnicode_FSConverter(path, &bytes))
        return NULL;
    int result = tkp_library_load(&state->library, PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    if (result != 0)
        return NULL;
    return PyUnicode_FromString(state->library.version());
}

#define TKP_PLACE(name) {#name, offsetof(tkp_state, name)},
static const struct {
    const char *name;
    size_t offset;
} callbacks[] = {TKP_CALLBACKS(TKP_PLACE)};
#undef TKP_PLACE

static PyObject **member(tkp_state *state, size_t offset)
{
    return (PyObject **)(void *)((char *)state + offset);
}

static PyObject *configure(PyObject *module, PyObject *functions)
{
    tkp_state *state = tkp_state_of_module(module);
    for (size_t i = 0; i < sizeof callbacks / sizeof callbacks[0]; i++) {
        PyObject *function = PyMapping_GetItemString(functions, callbacks[i].name);
        if (function == NULL)
            return NULL;
        tkp_replace(member(state, callbacks[i].offset), function);
    }
    return tkp_none();
}

static PyObject *format_check_counts(PyObject *module, PyObject *arguments)
{
    tkp_state *state = tkp_state_of_module(module);
    unsigned c[8];
    if (!PyArg_ParseTuple(arguments, "IIIIIIII", &c[0], &c[1], &c[2], &c[3], &c[4], &c[5], &c[6],
                          &c[7]))
        return NULL;
    uint32_t counts[8];
    for (int i = 0; i < 8; i++)
        counts[i] = c[i];
    char text[1024];
    state->library.check_counts_format(counts, text, sizeof text);
    return PyUnicode_FromString(text);
}

/** A call's function without keywords: cast as the documentation of METH_FASTCALL has it. */
#define FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL

static PyMethodDef methods[] = {
    {"load", load, METH_O, NULL},
    {"configure", configure, METH_O, NULL},
    {"select", FAST(tkp_select), NULL},
    {"workspace_size", FAST(tkp_workspace_size), NULL},
    {"fast_topk", FAST(tkp_fast_topk), NULL},
    {"prepare", tkp_prepare, METH_VARARGS, NULL},
    {"is_prepared", tkp_is_prepared, METH_VARARGS, NULL},
    {"explain", tkp_explain, METH_VARARGS, NULL},
    {"format_check_counts", format_check_counts, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* ---- the module ---- */

#define TKP_PLACE(name) {#name, offsetof(tkp_state, names.name)},
static const struct {
    const char *name;
    size_t offset;
} names[] = {TKP_NAMES(TKP_PLACE)};
#undef TKP_PLACE

static int intern_names(tkp_state *state)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        PyObject *name = PyUnicode_InternFromString(names[i].name);
        if (name == NULL)
            return -1;
        *member(state, names[i].offset) = name;
    }
    return 0;
}

static int build_arguments(tkp_state *state)
{
    state->no_arguments = PyTuple_New(0);
    state->export_on_host[0] = Py_BuildValue("{s:(ii)}", "max_version", TKP_DLPACK_MAJOR, 0);
    state->export_on_gpu[0] =
        Py_BuildValue("{s:i,s:(ii)}", "stream", -1, "max_version", TKP_DLPACK_MAJOR, 0);
    state->export_on_gpu[1] = Py_BuildValue("{s:i}", "stream", -1);
    return state->no_arguments != NULL && state->export_on_host[0] != NULL &&
                   state->export_on_gpu[0] != NULL && state->export_on_gpu[1] != NULL
               ? 0
               : -1;
}

static PyTypeObject *add_type(PyObject *module, PyType_Spec *spec, const char *name)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (type == NULL || PyObject_SetAttrString(type, "_native_type", type) != 0 ||
        PyModule_AddObjectRef(module, name, type) != 0)
        Py_CLEAR(type);
    return (PyTypeObject *)type;
}

static int execute(PyObject *module)
{
    tkp_state *state = tkp_state_of_module(module);
    if (intern_names(state) != 0 || build_arguments(state) != 0)
        return -1;
    state->context_type = add_type(module, &tkp_context_spec, "Context");
    if (state->context_type == NULL)
        return -1;
    state->selector_type = add_type(module, &tkp_selector_spec, "Selector");
    return state->selector_type == NULL ? -1 : 0;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    tkp_state *state = tkp_state_of_module(module);
    if (state == NULL)
        return 0;
    for (size_t i = 0; i < sizeof callbacks / sizeof callbacks[0]; i++)
        Py_VISIT(*member(state, callbacks[i].offset));
    Py_VISIT(state->the_default_context);
    Py_VISIT(state->context_type);
    Py_VISIT(state->selector_type);
    return tkp_frameworks_traverse(state, visit, arg);
}

static int clear(PyObject *module)
{
    tkp_state *state = tkp_state_of_module(module);
    if (state == NULL)
        return 0;
    for (size_t i = 0; i < sizeof callbacks / sizeof callbacks[0]; i++)
        Py_CLEAR(*member(state, callbacks[i].offset));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        Py_CLEAR(*member(state, names[i].offset));
    Py_CLEAR(state->the_default_context);
    Py_CLEAR(state->no_arguments);
    for (int i = 0; i < 2; i++) {
        Py_CLEAR(state->export_on_host[i]);
        Py_CLEAR(state->export_on_gpu[i]);
    }
    Py_CLEAR(state->context_type);
    Py_CLEAR(state->selector_type);
    tkp_frameworks_clear(state);
    return 0;
}

static void release(void *module)
{
    clear(module);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)execute}, {0, NULL}};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "topk_jit._native",
    .m_doc = "The C side of topk_jit: see the package.",
    .m_size = sizeof(tkp_state),
    .m_methods = methods,
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = release,
};

__attribute__((visibility("default"))) PyMODINIT_FUNC PyInit__native(void);
PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
