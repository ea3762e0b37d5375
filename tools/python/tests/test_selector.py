# SPDX-License-Identifier: Apache-2.0
import numpy
import pytest
import reference

import topk_jit


@pytest.fixture
def score(random):
    return random.standard_normal((3, 64)).astype("float32")


LENGTHS = numpy.array([64, 10, 2], "int32")


# From Python 3.12 on a call hands on its arguments where they are; by the method, and on older
# ones always, they come as a tuple and a dictionary.
@pytest.fixture(params=["call", "method"])
def caller(request):
    return lambda selector: selector if request.param == "call" else selector.__call__


def test_a_selector_selects_as_the_function(score, caller):
    selector = caller(topk_jit.Selector(5, deterministic=True))
    expected = reference.select(score, 5, LENGTHS)
    assert numpy.array_equal(selector(score, LENGTHS), expected)
    assert numpy.array_equal(selector(score, lengths=LENGTHS), expected)
    assert numpy.array_equal(selector(lengths=LENGTHS, score=score), expected)


def test_a_subclass_may_have_a_call_of_its_own(score):
    class Largest(topk_jit.Selector):
        def __call__(self, score):
            return super().__call__(score, LENGTHS)

    expected = reference.select(score, 5, LENGTHS)
    assert numpy.array_equal(Largest(5, deterministic=True)(score), expected)


def test_a_selector_writes_to_out(score):
    selector = topk_jit.Selector(5, deterministic=True, index_dtype="int64")
    out, raw = numpy.empty((3, 5), "int64"), numpy.empty((3, 5), "int32")
    assert selector(score, LENGTHS, out=out, raw_indices=raw) is out
    assert numpy.array_equal(out, raw)
    assert selector(score).dtype == numpy.int64


def test_a_paged_selector_takes_its_table(score, random):
    table = random.permutation(12).reshape(3, 4).astype("int32")
    selector = topk_jit.Selector(4, layout="paged", page_size=16, deterministic=True)
    expected = topk_jit.fast_topk_transform_fused(
        score, LENGTHS, table, None, 4, page_size=16, deterministic=True
    )
    assert numpy.array_equal(selector(score, LENGTHS, page_table=table), expected)


def test_keywords_need_not_be_interned(score, caller):
    name = "".join(["len", "gths"])
    got = caller(topk_jit.Selector(2, deterministic=True))(score, **{name: LENGTHS})
    assert numpy.array_equal(got, reference.select(score, 2, LENGTHS))


@pytest.mark.parametrize(
    "positional, keywords, text",
    [
        (0, {}, "score is not given"),
        (1, {"length": None}, "unexpected keyword argument 'length'"),
        (1, {"score": None}, "score is given twice"),
        (3, {}, "more than 2 positional"),
    ],
)
def test_wrong_arguments_are_named(score, positional, keywords, text, caller):
    with pytest.raises(TypeError, match=text):
        caller(topk_jit.Selector(2))(*[score, None, None][:positional], **keywords)


def test_options_are_judged_once():
    with pytest.raises(ValueError, match="layout is 'flat'"):
        topk_jit.Selector(2, layout="flat")
    with pytest.raises(TypeError, match="topk is 'a'"):
        topk_jit.Selector("a")


def test_a_selector_without_init_is_refused(score, caller):
    with pytest.raises(TypeError, match="__init__"):
        caller(topk_jit.Selector.__new__(topk_jit.Selector))(score)


def test_the_spec_of_a_selector():
    selector = topk_jit.Selector(7, layout="paged", page_size=64, sorted=True)
    assert selector.spec("bfloat16", check=True) == topk_jit.Spec(
        7, "paged", "bfloat16", page_size=64, sorted=True, check=True
    )


def test_a_spec_takes_dtypes_of_frameworks():
    numbers = topk_jit.Spec(dtype=numpy.dtype("float16"), index_dtype=numpy.int64)._numbers()
    assert numbers == topk_jit.Spec(dtype="float16", index_dtype="int64")._numbers()
