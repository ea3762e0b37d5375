# SPDX-License-Identifier: Apache-2.0
import numpy
import pytest

import topk_jit
from topk_jit import _errors


def score():
    return numpy.zeros((2, 8), "float32")


def test_an_error_has_status_name_and_message():
    with pytest.raises(topk_jit.InvalidArgumentError, match="lengths.*int64.*int32") as caught:
        topk_jit.fast_topk_v2(score(), numpy.zeros(2, "int64"), 2)
    assert caught.value.status == 1 and caught.value.name == "INVALID_ARGUMENT"
    assert caught.value.message in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    "status, kind, builtin",
    [
        (1, topk_jit.InvalidArgumentError, ValueError),
        (2, topk_jit.NotSupportedError, NotImplementedError),
        (3, topk_jit.NotPreparedError, RuntimeError),
        (4, topk_jit.OutOfMemoryError, MemoryError),
        (6, topk_jit.TopkJitError, Exception),
        (11, topk_jit.TemplateError, RuntimeError),
        (23, topk_jit.CompilerError, RuntimeError),
        (30, topk_jit.DriverError, RuntimeError),
        (41, topk_jit.SystemFailedError, RuntimeError),
        (42, topk_jit.OfflineMissError, RuntimeError),
    ],
)
def test_every_status_has_its_exception(status, kind, builtin):
    error = _errors.make_error(status, "NAME", 7, "text")
    assert type(error) is kind and isinstance(error, builtin) and error.native_code == 7


@pytest.mark.parametrize(
    "options, kind, text",
    [
        ({"lengths": 3}, TypeError, "lengths is of type int"),
        ({"topk": "4"}, TypeError, "topk is '4', expected an integer"),
        ({"topk": 0}, ValueError, "topk"),
        ({"topk": -5}, ValueError, "topk"),
        ({"topk": 1 << 80}, OverflowError, "too (large|big)"),
        ({"next_n": 0}, ValueError, "next_n"),
        ({"next_n": 3}, ValueError, "next_n"),
        ({"tie_break": "first"}, ValueError, "tie_break is 'first', expected one of"),
        ({"index_dtype": "int8"}, ValueError, "index_dtype"),
        ({"out": numpy.zeros((2, 2), "float32")}, ValueError, "indices.*float32"),
        ({"out": numpy.zeros((1, 2), "int32")}, ValueError, "indices"),
        ({"check_counts": numpy.zeros(7, "uint32")}, ValueError, "check_counts"),
        ({"check_counts": numpy.zeros(16, "uint32")[::2]}, ValueError, "check_counts"),
        ({"stream": "a"}, TypeError, "stream is 'a'"),
        ({"stream": 5}, ValueError, "stream"),
        ({"context": 1}, TypeError, "context is 1"),
    ],
)
def test_a_wrong_argument_is_named(options, kind, text):
    arguments = {"lengths": None, "topk": 2, **options}
    with pytest.raises(kind, match=text):
        topk_jit.fast_topk_v2(score(), **arguments)


@pytest.mark.parametrize(
    "function", [topk_jit.select, topk_jit.workspace_size, topk_jit.Selector(4)]
)
def test_no_score_is_a_type_error(function):
    with pytest.raises(TypeError, match="score is of type NoneType"):
        function(None)


def test_fast_topk_names_a_wrong_argument():
    with pytest.raises(ValueError, match="topk"):
        topk_jit.fast_topk(score(), 9, 1)
    with pytest.raises(ValueError, match="dim"):
        topk_jit.fast_topk(score(), 1, 2)
    with pytest.raises(TypeError, match="values is of type list"):
        topk_jit.fast_topk([1.0], 1, 0)


def test_a_failed_call_writes_nothing():
    out = numpy.full((2, 2), 77, "int32")
    with pytest.raises(ValueError):
        topk_jit.fast_topk_v2(score(), None, 3, out=out)
    assert (out == 77).all()


def test_an_unprepared_machine_says_what_is_missing():
    with pytest.raises(topk_jit.TopkJitError):
        topk_jit.prepare(topk_jit.Spec(topk=0))
    with pytest.raises(ValueError, match="layout is 'flat'"):
        topk_jit.prepare(topk_jit.Spec(layout="flat"))
    with pytest.raises(topk_jit.InvalidArgumentError, match="sm_1"):
        topk_jit.explain(topk_jit.Spec(), "sm_1")
