/* SPDX-License-Identifier: Apache-2.0 */
#include "context.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* ---- specs that only launch ---- */

/* A forked child holds no kernels: what was ready has to be loaded again there. */
static atomic_uint forks;

static void count_fork(void)
{
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

static void register_handler(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

static void watch_forks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_handler);
}

static tkp_spec_key *find_slot(tkp_context *self, const tkp_spec_key *key)
{
    uint64_t mixed = (uint64_t)key->topk * 31 + (uint64_t)key->page_size * 17 +
                     (uint64_t)key->device * 7 + key->options % 4093;
    return &self->ready[mixed % TKP_KNOWN_SPECS];
}

bool tkp_context_is_ready(tkp_context *self, const tkp_spec_key *key)
{
    const tkp_spec_key *known = find_slot(self, key);
    return known->topk == key->topk && known->page_size == key->page_size &&
           known->device == key->device && known->options == key->options &&
           self->fork_generation == atomic_load_explicit(&forks, memory_order_relaxed);
}

void tkp_context_set_ready(tkp_context *self, const tkp_spec_key *key)
{
    unsigned generation = atomic_load_explicit(&forks, memory_order_relaxed);
    if (self->fork_generation != generation)
        memset(self->ready, 0, sizeof self->ready);
    self->fork_generation = generation;
    self->used_gpu = true;
    *find_slot(self, key) = *key;
}

/* ---- the GIL ---- */

PyThreadState *tkp_context_begin(tkp_context *self)
{
    self->calls++;
    return PyEval_SaveThread();
}

void tkp_context_end(tkp_context *self, PyThreadState *thread)
{
    PyEval_RestoreThread(thread);
    self->calls--;
}

tkp_context *tkp_context_of(tkp_state *state, PyObject *argument)
{
    if (argument == NULL || argument == Py_None) {
        if (state->the_default_context == NULL) {
            PyObject *made = PyObject_CallNoArgs(state->default_context);
            if (made == NULL)
                return NULL;
            tkp_replace(&state->the_default_context, made); /* threads may race: it is one object */
        }
        argument = state->the_default_context;
    } else if (!PyObject_TypeCheck(argument, state->context_type)) {
        PyErr_Format(PyExc_TypeError, "context is %R, expected a topk_jit.Context", argument);
        return NULL;
    }
    tkp_context *self = (tkp_context *)argument;
    if (self->context == NULL) {
        PyErr_SetString(PyExc_ValueError, "context is closed");
        return NULL;
    }
    return self;
}

/* ---- the type ---- */

/** Called by the library on any thread, which may or may not hold the GIL. */
static void hand_on_log(void *user, topk_jit_log_level level, const char *text)
{
    const tkp_context *self = user;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *line = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    PyObject *done = line == NULL ? NULL : PyObject_CallFunction(self->log, "iO", (int)level, line);
    if (done == NULL)
        PyErr_WriteUnraisable(self->log);
    Py_XDECREF(done);
    Py_XDECREF(line);
    PyErr_Restore(type, value, traceback);
    PyGILState_Release(gil);
}

static PyObject *open_context(PyObject *object, PyObject *arguments)
{
    tkp_context *self = (tkp_context *)object;
    topk_jit_options options = TOPK_JIT_OPTIONS_INIT;
    int mode, toolchain, shared, log_level;
    long long cache_max_bytes;
    PyObject *log;
    if (!PyArg_ParseTuple(arguments, "zzzzziiiiLziO", &options.cache_dir, &options.template_dir,
                          &options.nvrtc_path, &options.nvrtc_hint, &options.ro_dirs, &mode,
                          &toolchain, &shared, &options.lock_timeout_ms, &cache_max_bytes,
                          &options.record_file, &log_level, &log))
        return NULL;
    if (self->context != NULL || self->state->library.handle == NULL) {
        PyErr_SetString(PyExc_RuntimeError, self->context != NULL ? "context is open already"
                                                                  : "the library is not loaded");
        return NULL;
    }
    options.mode = (topk_jit_mode)mode;
    options.toolchain = (topk_jit_toolchain)toolchain;
    options.shared = (topk_jit_switch)shared;
    options.log_level = (topk_jit_log_level)log_level;
    options.cache_max_bytes = cache_max_bytes < 0 ? UINT64_MAX : (uint64_t)cache_max_bytes;
    if (log != Py_None) {
        Py_INCREF(log);
        tkp_replace(&self->log, log);
        options.log_callback = hand_on_log;
        options.log_user = self;
    }
    watch_forks();
    topk_jit_status status = self->state->library.context_create(&self->context, &options);
    if (status != TOPK_JIT_OK) {
        tkp_raise_status(self->state, status);
        return NULL;
    }
    return tkp_none();
}

static PyObject *close_context(PyObject *object, PyObject *ignored)
{
    tkp_context *self = (tkp_context *)object;
    (void)ignored;
    if (self->calls > 0) {
        PyErr_SetString(PyExc_RuntimeError, "context is in use by another call");
        return NULL;
    }
    topk_jit_context *context = self->context;
    self->context = NULL;
    if (context != NULL) {
        PyThreadState *thread = PyEval_SaveThread(); /* it may wait, and log */
        self->state->library.context_destroy(context);
        PyEval_RestoreThread(thread);
    }
    return tkp_none();
}

static PyObject *is_closed(PyObject *object, void *closure)
{
    (void)closure;
    return PyBool_FromLong(((tkp_context *)object)->context == NULL);
}

static PyObject *statistics(PyObject *object, PyObject *ignored)
{
    (void)ignored;
    const tkp_context *self = (tkp_context *)object;
    topk_jit_statistics counted = TOPK_JIT_STATISTICS_INIT;
    if (self->context == NULL) {
        PyErr_SetString(PyExc_ValueError, "context is closed");
        return NULL;
    }
    topk_jit_status status = self->state->library.get_statistics(self->context, &counted);
    if (status != TOPK_JIT_OK) {
        tkp_raise_status(self->state, status);
        return NULL;
    }
    uint64_t
        numbers[(sizeof counted - offsetof(topk_jit_statistics, memory_hits)) / sizeof(uint64_t)];
    size_t count = sizeof numbers / sizeof numbers[0];
    memcpy(numbers, (char *)&counted + offsetof(topk_jit_statistics, memory_hits), sizeof numbers);
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t i = 0; tuple != NULL && i < count; i++) {
        PyObject *number = PyLong_FromUnsignedLongLong(numbers[i]);
        if (number == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SetItem(tuple, (Py_ssize_t)i, number);
    }
    return tuple;
}

static PyObject *new_context(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    (void)arguments, (void)keywords;
    tkp_state *state = tkp_state_of_type(type);
    if (state == NULL)
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    tkp_context *self = (tkp_context *)allocate(type, 0);
    if (self != NULL)
        self->state = state;
    return (PyObject *)self;
}

static int traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(((tkp_context *)object)->log);
    return 0;
}

static int clear(PyObject *object)
{
    Py_CLEAR(((tkp_context *)object)->log);
    return 0;
}

/* Kernels that were launched may be running, or be part of a graph, and only who calls close()
   knows that they are not: without it they stay loaded. */
static void dealloc(PyObject *object)
{
    tkp_context *self = (tkp_context *)object;
    PyTypeObject *type = Py_TYPE(object);
    PyObject_GC_UnTrack(object);
    if (self->context != NULL && !self->used_gpu)
        self->state->library.context_destroy(self->context);
    Py_CLEAR(self->log);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"_open", open_context, METH_VARARGS, NULL},
    {"_close", close_context, METH_NOARGS, NULL},
    {"_statistics", statistics, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"closed", is_closed, NULL, "Whether close() was called.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, new_context},
    {Py_tp_dealloc, dealloc},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {Py_tp_doc, "A context of the library, without its Python side."},
    {0, NULL},
};

PyType_Spec tkp_context_spec = {
    .name = "topk_jit._native.Context",
    .basicsize = sizeof(tkp_context),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};
