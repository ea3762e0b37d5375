/* SPDX-License-Identifier: Apache-2.0 */
#include "selector.h"

#include <stddef.h>
#include <string.h>

#include "selection.h"

typedef struct selector {
    PyObject_HEAD tkp_state *state;
    PyObject *context; /* None = the default one */
    tkp_request options;
    bool open;
} selector;

#define NAME_OFFSET(place, name) offsetof(tkp_state, names.name),
static const size_t keyword_offsets[] = {TKP_TENSORS(NAME_OFFSET)};
#undef NAME_OFFSET

static PyObject *keyword_at(tkp_state *state, int place)
{
    return *(PyObject **)(void *)((char *)state + keyword_offsets[place]);
}

/** Where the value of a keyword belongs; NULL if nowhere. */
static PyObject **place_of(tkp_state *state, tkp_request *request, PyObject *keyword)
{
    for (int i = TKP_LENGTHS; i < TKP_TENSOR_COUNT; i++) /* keywords of a program are interned */
        if (keyword == keyword_at(state, i))
            return &request->tensors[i];
    if (PyUnicode_Compare(keyword, state->names.stream) == 0)
        return &request->stream;
    for (int i = TKP_SCORE; i < TKP_TENSOR_COUNT; i++)
        if (PyUnicode_Compare(keyword, keyword_at(state, i)) == 0)
            return &request->tensors[i];
    return NULL;
}

static int read_keywords(tkp_state *state, tkp_request *request, PyObject *keywords)
{
    PyObject *keyword, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(keywords, &position, &keyword, &value)) {
        PyObject **place = place_of(state, request, keyword);
        if (place == NULL) {
            PyErr_Format(PyExc_TypeError, "unexpected keyword argument %R", keyword);
            return -1;
        }
        if (*place != NULL) {
            PyErr_Format(PyExc_TypeError, "%U is given twice", keyword);
            return -1;
        }
        *place = value;
    }
    return 0;
}

static PyObject *call(PyObject *object, PyObject *arguments, PyObject *keywords)
{
    const selector *self = (selector *)object;
    Py_ssize_t count = PyTuple_Size(arguments);
    if (!self->open || count > 2) {
        PyErr_SetString(PyExc_TypeError, self->open
                                             ? "more than 2 positional arguments, expected score "
                                               "and lengths, the rest by keyword"
                                             : "Selector.__init__ was not called");
        return NULL;
    }
    tkp_request request = self->options;
    if (count > 0)
        request.tensors[TKP_SCORE] = PyTuple_GetItem(arguments, 0);
    if (count > 1)
        request.tensors[TKP_LENGTHS] = PyTuple_GetItem(arguments, 1);
    if (keywords != NULL && read_keywords(self->state, &request, keywords) != 0)
        return NULL;
    if (request.tensors[TKP_SCORE] == NULL) {
        PyErr_SetString(PyExc_TypeError, "score is not given, expected a tensor");
        return NULL;
    }
    return tkp_selection_run(self->state, self->context, &request);
}

static PyObject *open_selector(PyObject *object, PyObject *arguments)
{
    selector *self = (selector *)object;
    PyObject *constants[TKP_CONSTANT_COUNT];
    if (PyTuple_Size(arguments) != TKP_CONSTANT_COUNT + 1) {
        PyErr_SetString(PyExc_TypeError, "wrong number of arguments");
        return NULL;
    }
    for (int i = 0; i < TKP_CONSTANT_COUNT; i++)
        constants[i] = PyTuple_GetItem(arguments, i);
    tkp_request options;
    memset(&options, 0, sizeof options);
    if (tkp_request_read_constants(&options, constants) != 0)
        return NULL;
    PyObject *context = PyTuple_GetItem(arguments, TKP_CONSTANT_COUNT);
    if (context != Py_None && tkp_context_of(self->state, context) == NULL)
        return NULL;
    Py_INCREF(context);
    tkp_replace(&self->context, context);
    self->options = options;
    self->open = true;
    return tkp_none();
}

static PyObject *new_selector(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    (void)arguments, (void)keywords;
    tkp_state *state = tkp_state_of_type(type);
    if (state == NULL)
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    selector *self = (selector *)allocate(type, 0);
    if (self != NULL)
        self->state = state;
    return (PyObject *)self;
}

static int traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(((selector *)object)->context);
    return 0;
}

static int clear(PyObject *object)
{
    selector *self = (selector *)object;
    self->open = false;
    Py_CLEAR(self->context);
    return 0;
}

static void dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    clear(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"_open", open_selector, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, new_selector},
    {Py_tp_dealloc, dealloc},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_call, call},
    {Py_tp_methods, methods},
    {Py_tp_doc, "A selection whose options are read once, without its Python side."},
    {0, NULL},
};

PyType_Spec tkp_selector_spec = {
    .name = "topk_jit._native.Selector",
    .basicsize = sizeof(selector),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
