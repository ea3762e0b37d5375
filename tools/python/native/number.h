/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file number.h
 * @brief Python numbers, switches and names of a list as C has them.
 */
#ifndef TKP_NUMBER_H
#define TKP_NUMBER_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

static inline int tkp_read_integer(PyObject *object, const char *argument, int64_t *out)
{
    long long number = PyLong_AsLongLong(object);
    if (number == -1 && PyErr_Occurred()) {
        if (PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Clear();
            PyErr_Format(PyExc_TypeError, "%s is %R, expected an integer", argument, object);
        }
        return -1;
    }
    *out = number;
    return 0;
}

static inline int tkp_read_switch(PyObject *object, uint8_t *out)
{
    if (object == Py_False || object == Py_True) {
        *out = object == Py_True;
        return 0;
    }
    int truth = PyObject_IsTrue(object);
    *out = truth == 1;
    return truth < 0 ? -1 : 0;
}

/** The place of a text in a list that ends with NULL; None is the first one's place. */
static inline int tkp_read_name(PyObject *object, const char *argument, const char *const *names,
                                int *out)
{
    *out = 0;
    if (object == Py_None)
        return 0;
    if (PyUnicode_Check(object))
        for (int i = 0; names[i] != NULL; i++)
            if (PyUnicode_CompareWithASCIIString(object, names[i]) == 0) {
                *out = i;
                return 0;
            }
    PyObject *expected = PyList_New(0);
    for (int i = 0; expected != NULL && names[i] != NULL; i++) {
        PyObject *name = PyUnicode_FromString(names[i]);
        if (name == NULL || PyList_Append(expected, name) != 0)
            Py_CLEAR(expected);
        Py_XDECREF(name);
    }
    if (expected != NULL)
        PyErr_Format(PyExc_ValueError, "%s is %R, expected one of %R", argument, object, expected);
    Py_XDECREF(expected);
    return -1;
}

#endif
