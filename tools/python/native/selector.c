/* SPDX-License-Identifier: Apache-2.0 */
#include "selector.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

#include "selection.h"

typedef PyObject *vectorcall(PyObject *object, PyObject *const *arguments, size_t flagged_count,
                             PyObject *keywords);

typedef struct selector {
    PyObject_HEAD tkp_state *state;
    vectorcall *vectorcall; /* where Python looks for it */
    PyObject *context;      /* None = the default one */
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

static int read_keyword(tkp_state *state, tkp_request *request, PyObject *keyword, PyObject *value)
{
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
    return 0;
}

/** A request with the options of the selector and the positional arguments. */
static int begin(const selector *self, tkp_request *request, PyObject *const *arguments,
                 Py_ssize_t count)
{
    if (!self->open || count > 2) {
        PyErr_SetString(PyExc_TypeError, self->open
                                             ? "more than 2 positional arguments, expected score "
                                               "and lengths, the rest by keyword"
                                             : "Selector.__init__ was not called");
        return -1;
    }
    *request = self->options;
    if (count > 0)
        request->tensors[TKP_SCORE] = arguments[0];
    if (count > 1)
        request->tensors[TKP_LENGTHS] = arguments[1];
    return 0;
}

static PyObject *finish(const selector *self, tkp_request *request)
{
    if (request->tensors[TKP_SCORE] == NULL) {
        PyErr_SetString(PyExc_TypeError, "score is not given, expected a tensor");
        return NULL;
    }
    return tkp_selection_run(self->state, self->context, request);
}

static PyObject *call(PyObject *object, PyObject *arguments, PyObject *keywords)
{
    const selector *self = (selector *)object;
    tkp_request request;
    PyObject *positional[2] = {NULL, NULL};
    Py_ssize_t count = PyTuple_Size(arguments);
    for (Py_ssize_t i = 0; i < count && i < 2; i++)
        positional[i] = PyTuple_GetItem(arguments, i);
    if (begin(self, &request, positional, count) != 0)
        return NULL;
    PyObject *keyword, *value;
    Py_ssize_t position = 0;
    while (keywords != NULL && PyDict_Next(keywords, &position, &keyword, &value))
        if (read_keyword(self->state, &request, keyword, value) != 0)
            return NULL;
    return finish(self, &request);
}

/* What PEP 590 says of a call without a tuple and a dictionary. It has been as it is since Python
   3.9, but the stable ABI has it by name only from 3.12 on; before, Python subclasses, which is
   what every selector is one of, do not inherit it and are called by call(). */
enum { HAS_VECTORCALL = 1 << 11 };
static const size_t arguments_offset = (size_t)1 << (8 * sizeof(size_t) - 1);

static PyObject *call_fast(PyObject *object, PyObject *const *arguments, size_t flagged_count,
                           PyObject *keywords)
{
    const selector *self = (selector *)object;
    tkp_request request;
    Py_ssize_t count = (Py_ssize_t)(flagged_count & ~arguments_offset);
    if (begin(self, &request, arguments, count) != 0)
        return NULL;
    Py_ssize_t keyword_count = keywords == NULL ? 0 : PyTuple_Size(keywords);
    for (Py_ssize_t i = 0; i < keyword_count; i++)
        if (read_keyword(self->state, &request, PyTuple_GetItem(keywords, i),
                         arguments[count + i]) != 0)
            return NULL;
    return finish(self, &request);
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
    if (self != NULL) {
        self->state = state;
        self->vectorcall = call_fast;
    }
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

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(selector, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, new_selector},
    {Py_tp_dealloc, dealloc},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_call, call},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_doc, "A selection whose options are read once, without its Python side."},
    {0, NULL},
};

PyType_Spec tkp_selector_spec = {
    .name = "topk_jit._native.Selector",
    .basicsize = sizeof(selector),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | HAS_VECTORCALL,
    .slots = slots,
};
