# SPDX-License-Identifier: Apache-2.0
"""The selection as the contract words it, row by row: what every call is held against."""
import numpy


def ranked(window):
    """Positions by descending score, equal ones ascending; NaN first."""
    keys = numpy.where(numpy.isnan(window), numpy.inf, window)
    return numpy.lexsort((numpy.arange(len(window)), -keys, ~numpy.isnan(window)))


def select_row(row, topk, length=None, start=0):
    """Positions of a deterministic selection: smallest at the k-th place, ascending."""
    start = min(max(start, 0), len(row))
    width = len(row) - start
    length = width if length is None else min(max(length, 0), width)
    window = numpy.asarray(row[start : start + length], "float64")
    chosen = numpy.sort(ranked(window)[:topk])
    return numpy.concatenate([chosen, numpy.full(topk - len(chosen), -1)]).astype("int32")


def select(score, topk, lengths=None, row_starts=None):
    rows = []
    for i, row in enumerate(score):
        length = None if lengths is None else int(lengths[i])
        start = 0 if row_starts is None else int(row_starts[i])
        rows.append(select_row(row, topk, length, start))
    return numpy.array(rows, "int32").reshape(len(score), topk)
