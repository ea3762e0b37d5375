# SPDX-License-Identifier: Apache-2.0
import inspect

import ml_dtypes
import numpy
import pytest
import reference

import topk_jit

DTYPES = ["float32", "float16", ml_dtypes.bfloat16]


def int32(*values):
    return numpy.array(values, "int32")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("topk", [1, 7, 64, 200])
def test_fast_topk_v2_selects_as_the_contract_says(random, dtype, topk):
    score = random.standard_normal((5, 100)).astype(dtype)
    lengths, starts = int32(100, 5, 0, -3, 1000), int32(0, 90, 3, 200, -5)
    indices = topk_jit.fast_topk_v2(score, lengths, topk, starts, deterministic=True)
    assert indices.dtype == numpy.int32
    assert numpy.array_equal(indices, reference.select(score, topk, lengths, starts))


def test_lengths_may_be_absent(random):
    score = random.standard_normal((2, 30)).astype("float32")
    indices = topk_jit.fast_topk_v2(score, None, 4, deterministic=True)
    assert numpy.array_equal(indices, reference.select(score, 4))


def test_transform_fused_writes_slots(random):
    score = random.standard_normal((3, 64)).astype("float32")
    lengths = int32(64, 20, 2)
    table = random.permutation(12).reshape(3, 4).astype("int32")
    raw = reference.select(score, 8, lengths)
    slots = topk_jit.fast_topk_transform_fused(
        score, lengths, table, None, 8, page_size=16, deterministic=True
    )
    expected = numpy.take_along_axis(table, raw // 16, 1) * 16 + raw % 16
    assert numpy.array_equal(slots, numpy.where(raw < 0, -1, expected))


def test_transform_fused_has_page_size_1_by_default(random):
    score = random.standard_normal((4, 10)).astype("float32")
    table = random.permutation(20).reshape(2, 10).astype("int32")
    raw = reference.select(score, 3)
    slots = topk_jit.fast_topk_transform_fused(
        score, None, table, int32(0, 3, 4), 3, deterministic=True
    )
    assert numpy.array_equal(slots, numpy.take_along_axis(table[[0, 0, 0, 1]], raw, 1))


def test_transform_fused_takes_the_batch_of_a_row(random):
    score = random.standard_normal((2, 10)).astype("float32")
    table = random.permutation(40).reshape(2, 20).astype("int32")
    slots = topk_jit.fast_topk_transform_fused(
        score, None, table, None, 3, row_to_batch=int32(1, 1),
        page_table_row_starts=int32(0, 10), deterministic=True,
    )
    raw = reference.select(score, 3)
    assert numpy.array_equal(slots[0], table[1, raw[0]])
    assert numpy.array_equal(slots[1], table[1, 10 + raw[1]])


def test_transform_ragged_fused_adds_the_offset(random):
    score = random.standard_normal((2, 40)).astype("float32")
    lengths, offset = int32(40, 2), int32(100, 7)
    raw = reference.select(score, 4, lengths)
    got = topk_jit.fast_topk_transform_ragged_fused(
        score, lengths, offset, 4, deterministic=True
    )
    assert numpy.array_equal(got, numpy.where(raw < 0, -1, raw + offset[:, None]))


@pytest.mark.parametrize("dtype", [*DTYPES, "float64", "int32", "int64"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_fast_topk_is_descending_along_dim(random, dtype, dim):
    values = (random.standard_normal((6, 7, 8)) * 100).astype(dtype)
    got, indices = topk_jit.fast_topk(values, 3, dim)
    order = numpy.argsort(-values.astype("float64"), dim, kind="stable").take(range(3), dim)
    assert got.dtype == values.dtype and indices.dtype == numpy.int64
    assert numpy.array_equal(indices, order)
    assert numpy.array_equal(got, numpy.take_along_axis(values, order, dim))


def test_fast_topk_of_one_keeps_the_dimension():
    values, indices = topk_jit.fast_topk(numpy.array([[1.0, 3.0, 3.0]]), 1, -1)
    assert values.tolist() == [[3.0]] and indices.tolist() == [[1]]


def test_fast_topk_of_a_single_element():
    values, indices = topk_jit.fast_topk(numpy.array(5.0), 1, 0)
    assert values.shape == indices.shape == () and values == 5.0 and indices == 0


def test_fast_topk_writes_to_out(random):
    values = random.standard_normal((3, 9))
    out = numpy.empty((3, 2)), numpy.empty((3, 2), "int64")
    result = topk_jit.fast_topk(values, 2, 1, out=out)
    assert result[0] is out[0] and result[1] is out[1]
    assert numpy.array_equal(out[1], numpy.argsort(-values, 1)[:, :2])


def test_out_is_written_and_returned(random):
    score = random.standard_normal((2, 20)).astype("float32")
    out = numpy.full((3, 4), 77, "int64")
    assert topk_jit.fast_topk_v2(score, None, 4, out=out, deterministic=True) is out
    assert numpy.array_equal(out[:2], reference.select(score, 4)) and (out[2] == -1).all()


def test_sorted_puts_the_largest_first(random):
    score = random.standard_normal((2, 50)).astype("float32")
    indices = topk_jit.fast_topk_v2(score, None, 5, sorted=True)
    assert numpy.array_equal(indices, numpy.argsort(-score, 1)[:, :5])


@pytest.mark.parametrize("tie_break, expected", [("smallest", [0, 1]), ("largest", [2, 3])])
def test_tie_break_chooses_among_equals(tie_break, expected):
    indices = topk_jit.fast_topk_v2(
        numpy.zeros((1, 4), "float32"), None, 2, deterministic=True, tie_break=tie_break
    )
    assert indices.tolist() == [expected]


def test_nan_is_greatest_unless_nan_last():
    score = numpy.array([[1, numpy.nan, 2]], "float32")
    assert topk_jit.fast_topk_v2(score, None, 1).tolist() == [[1]]
    assert topk_jit.fast_topk_v2(score, None, 1, nan_last=True).tolist() == [[2]]


def test_select_gives_what_is_asked_for(random):
    score = random.standard_normal((2, 30)).astype("float16")
    everything = topk_jit.select(
        score, int32(30, 1), 3, layout="ragged", topk_indices_offset=int32(10, 20),
        raw_indices=True, values=True, deterministic=True, index_dtype="int64",
    )
    raw = reference.select(score, 3, (30, 1))
    assert everything.indices.dtype == numpy.int64
    assert numpy.array_equal(everything.raw_indices, raw)
    assert numpy.array_equal(everything.values[0], score[0, raw[0]])
    assert everything.values[1].tolist() == [score[1, 0], -numpy.inf, -numpy.inf]
    alone = topk_jit.select(score, None, 3)
    assert alone.raw_indices is None and alone.values is None


def test_select_writes_to_tensors_that_are_given(random):
    score = random.standard_normal((1, 9)).astype("float32")
    raw, values = numpy.empty((1, 2), "int32"), numpy.empty((1, 2), "float32")
    result = topk_jit.select(score, None, 2, raw_indices=raw, values=values, sorted=True)
    assert result.raw_indices is raw and result.values is values
    assert numpy.array_equal(values, score[:, raw[0]])


def test_speculative_rows_and_compression(random):
    score = random.standard_normal((4, 40)).astype("float32")
    indices = topk_jit.fast_topk_v2(
        score, int32(20, 33), 50, next_n=2, compress_ratio=2, deterministic=True
    )
    assert [(row >= 0).sum() for row in indices] == [9, 10, 16, 16]


def test_row_ends_replace_lengths(random):
    score = random.standard_normal((1, 20)).astype("float32")
    indices = topk_jit.fast_topk_v2(score, None, 50, int32(5), row_ends=int32(12))
    assert indices[0, :8].tolist() == [0, 1, 2, 3, 4, 5, 6, -1]


def test_check_counts_are_added_and_formatted():
    counts = numpy.zeros(8, "uint32")
    topk_jit.fast_topk_v2(numpy.zeros((2, 4), "float32"), int32(9, -1), 2, check_counts=counts)
    assert counts.tolist() == [0, 2, 0, 0, 0, 0, 0, 0]
    assert "2" in topk_jit.format_check_counts(counts)


def test_strides_of_a_part_are_followed(random):
    whole = random.standard_normal((6, 50)).astype("float32")
    part = whole[::2, 10:40]
    lengths = numpy.arange(6, dtype="int32")[::2] * 7
    indices = topk_jit.fast_topk_v2(part, lengths, 5, deterministic=True)
    assert numpy.array_equal(indices, reference.select(part, 5, lengths))


def test_empty_batch():
    assert topk_jit.fast_topk_v2(numpy.zeros((0, 8), "float32"), None, 3).shape == (0, 3)


def test_workspace_is_not_needed_on_a_cpu():
    assert topk_jit.workspace_size(numpy.zeros((2, 100000), "float32"), None, 2048) == 0


@pytest.mark.parametrize(
    "name, expected",
    [
        ("fast_topk", ["values", "topk", "dim"]),
        ("fast_topk_v2", ["score", "lengths", "topk", "row_starts=None"]),
        (
            "fast_topk_transform_fused",
            ["score", "lengths", "page_table_size_1", "cu_seqlens_q", "topk", "row_starts=None"],
        ),
        (
            "fast_topk_transform_ragged_fused",
            ["score", "lengths", "topk_indices_offset", "topk", "row_starts=None"],
        ),
    ],
)
def test_positional_arguments_are_those_of_the_source(name, expected):
    parameters = inspect.signature(getattr(topk_jit, name)).parameters.values()
    got = [
        p.name if p.default is p.empty else f"{p.name}={p.default}"
        for p in parameters
        if p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    assert got == expected


@pytest.mark.parametrize("name", topk_jit.__all__)
def test_everything_public_is_documented(name):
    assert len(inspect.getdoc(getattr(topk_jit, name))) > 20


def test_every_parameter_is_documented():
    for function in (topk_jit.fast_topk_v2, topk_jit.select, topk_jit.fast_topk,
                     topk_jit.fast_topk_transform_fused,
                     topk_jit.fast_topk_transform_ragged_fused):
        text = inspect.getdoc(function)
        for name in inspect.signature(function).parameters:
            assert f"\n    {name}: " in text, f"{function.__name__}: {name}"
