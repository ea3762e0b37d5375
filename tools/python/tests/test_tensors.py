# SPDX-License-Identifier: Apache-2.0
import gc
import sys
import types

import fake_tensor
import ml_dtypes
import numpy
import producers
import pytest
import reference

import topk_jit


@pytest.fixture
def score(random):
    return random.standard_normal((3, 40)).astype("float32")


@pytest.fixture(autouse=True)
def nothing_leaks():
    """What a producer lends is given back when the call is over."""
    gc.collect()
    before = fake_tensor.live()
    yield
    gc.collect()
    assert fake_tensor.live() == before


# ---- NumPy ----


def test_read_only_arrays_are_read(score):
    score.setflags(write=False)
    lengths = numpy.frombuffer(numpy.full(3, 40, "int32").tobytes(), "int32")
    indices = topk_jit.fast_topk_v2(score, lengths, 4, deterministic=True)
    assert numpy.array_equal(indices, reference.select(score, 4))


def test_a_read_only_array_is_no_output(score):
    out = numpy.empty((3, 4), "int32")
    out.setflags(write=False)
    with pytest.raises(ValueError, match="out is read-only"):
        topk_jit.fast_topk_v2(score, None, 4, out=out)


@pytest.mark.parametrize("dtype", [">f4", "complex64", "V2", "S4", "datetime64[s]"])
def test_dtypes_without_a_number_to_compare_are_refused(dtype):
    with pytest.raises(ValueError, match="score"):
        topk_jit.fast_topk_v2(numpy.zeros((2, 4), dtype), None, 1)


def test_other_numbers_are_refused_by_name():
    with pytest.raises(topk_jit.InvalidArgumentError, match="score: dtype is .*8 bits"):
        topk_jit.fast_topk_v2(numpy.zeros((2, 4), "uint8"), None, 1)
    with pytest.raises(ValueError, match="score"):
        topk_jit.fast_topk_v2(numpy.zeros((2, 4), ml_dtypes.float8_e4m3fn), None, 1)


def test_fields_that_are_no_whole_elements_apart_are_refused():
    records = numpy.zeros(4, [("a", "i4"), ("b", "i2")])
    with pytest.raises(ValueError, match="lengths"):
        topk_jit.fast_topk_v2(numpy.zeros((4, 4), "float32"), records["a"], 1)


def test_strides_of_single_rows_do_not_count():
    whole = numpy.arange(12, dtype="float32").reshape(3, 4)
    row = numpy.lib.stride_tricks.as_strided(whole, (1, 4), (3, 4))  # 3 bytes: no whole element
    assert topk_jit.fast_topk_v2(row, None, 1).tolist() == [[3]]


def test_subclasses_are_arrays(score):
    class Array(numpy.ndarray):
        pass

    indices = topk_jit.fast_topk_v2(score.view(Array), None, 4, deterministic=True)
    assert numpy.array_equal(indices, reference.select(score, 4))


def test_bfloat16_by_name(random):
    score = random.standard_normal((2, 300)).astype(ml_dtypes.bfloat16)
    result = topk_jit.select(score, None, 20, values=True, deterministic=True)
    assert numpy.array_equal(result.indices, reference.select(score, 20))
    assert result.values.dtype == score.dtype


# ---- the exchange API ----


@pytest.mark.parametrize("borrowing", [True, False])
def test_the_exchange_api_is_enough(score, borrowing):
    fake_tensor.set_borrowing(borrowing)
    try:
        result = topk_jit.select(
            producers.fake(score), producers.fake(numpy.full(3, 40, "int32")), 5,
            raw_indices=True, values=True, index_dtype="int64", deterministic=True,
        )
    finally:
        fake_tensor.set_borrowing(True)
    expected = reference.select(score, 5)
    assert type(result.indices) is fake_tensor.Tensor
    assert numpy.array_equal(producers.contents(result.indices, "int64"), expected)
    assert numpy.array_equal(producers.contents(result.raw_indices, "int32"), expected)
    got = producers.contents(result.values, "float32")
    assert numpy.array_equal(got, numpy.take_along_axis(score, expected, 1))


def test_frameworks_may_be_mixed(score):
    out = numpy.empty((3, 4), "int32")
    lengths = producers.Producer(producers.fake(numpy.full(3, 40, "int32")))
    assert topk_jit.fast_topk_v2(producers.fake(score), lengths, 4, out=out,
                                 deterministic=True) is out
    assert numpy.array_equal(out, reference.select(score, 4))


# ---- __dlpack__ ----


@pytest.mark.parametrize("kind", [producers.Producer, producers.OldProducer,
                                  producers.ReadOnlyProducer])
def test_producers_of_every_age_are_read(score, kind):
    out = numpy.empty((3, 4), "int32")
    topk_jit.fast_topk_v2(kind(producers.fake(score)), None, 4, out=out, deterministic=True)
    assert numpy.array_equal(out, reference.select(score, 4))


def test_a_producer_on_the_cpu_is_given_no_stream(score):
    producer = producers.Producer(producers.fake(score))
    topk_jit.fast_topk_v2(producer, None, 4, out=numpy.empty((3, 4), "int32"))
    assert producer.asked == [{"stream": None, "max_version": (1, 0)}]


def on_gpu(kind):
    return kind(fake_tensor.Tensor((3, 40), 2, 32, True), (2, 0))


@pytest.mark.parametrize("kind, first", [
    (producers.Producer, {"stream": -1, "max_version": (1, 0)}),
    (producers.OldProducer, {"stream": -1}),
])
def test_a_producer_on_a_gpu_is_asked_not_to_synchronise(kind, first):
    producer = on_gpu(kind)
    with pytest.raises(topk_jit.TopkJitError):  # out is on the CPU
        topk_jit.fast_topk_v2(producer, None, 4, out=numpy.empty((3, 4), "int32"), stream=64)
    assert producer.asked == [first]


def test_an_unknown_framework_on_a_gpu_needs_its_stream():
    with pytest.raises(TypeError, match="stream is not given"):
        topk_jit.fast_topk_v2(on_gpu(producers.Producer), None, 4,
                              out=numpy.empty((3, 4), "int32"))


def test_an_unknown_framework_needs_out(score):
    with pytest.raises(TypeError, match="out is not given"):
        topk_jit.fast_topk_v2(producers.Producer(producers.fake(score)), None, 4)


def test_a_read_only_producer_is_no_output(score):
    out = producers.ReadOnlyProducer(producers.fake(numpy.zeros((3, 4), "int32")))
    with pytest.raises(ValueError, match="out is read-only"):
        topk_jit.fast_topk_v2(score, None, 4, out=out)


def test_a_later_dlpack_is_refused(score):
    with pytest.raises(BufferError, match="DLPack 2"):
        topk_jit.fast_topk_v2(producers.FutureProducer(producers.fake(score)), None, 4)


def test_what_a_producer_raises_is_raised(score):
    class Broken(producers.Producer):
        def __dlpack__(self, **keywords):
            raise BufferError("on loan")

    with pytest.raises(BufferError, match="on loan"):
        topk_jit.fast_topk_v2(score, Broken(None), 4)


def test_what_gives_no_capsule_is_refused(score):
    class Liar(producers.Producer):
        def __dlpack__(self, **keywords):
            return 3

    with pytest.raises(TypeError, match="lengths gave no DLPack capsule"):
        topk_jit.fast_topk_v2(score, Liar(None), 4)


def test_references_are_balanced(score):
    lengths, out = numpy.full(3, 40, "int32"), numpy.empty((3, 4), "int32")
    objects = [score, lengths, out, None, topk_jit.fast_topk_v2]
    before = [sys.getrefcount(o) for o in objects]
    for _ in range(1000):
        topk_jit.fast_topk_v2(score, lengths, 4, out=out)
        with pytest.raises(ValueError):
            topk_jit.fast_topk_v2(score, out, 4, out=out)
    after = [sys.getrefcount(o) for o in objects]
    assert all(abs(a - b) < 10 for a, b in zip(after, before))


# ---- JAX ----


@pytest.fixture
def jax(monkeypatch):
    """A module as JAX is: immutable arrays, made from NumPy's without a copy."""

    class ArrayImpl(producers.Producer):
        __module__ = "jaxlib._jax"

        def __init__(self, array, device=(1, 0)):
            super().__init__(producers.fake(array), device)
            self.array, self.dtype = array, array.dtype

    module = types.ModuleType("jax")
    module.numpy = types.SimpleNamespace(asarray=ArrayImpl)
    monkeypatch.setitem(sys.modules, "jax", module)
    return module


def test_jax_gets_arrays_of_its_own(jax, score):
    array = jax.numpy.asarray(score)
    result = topk_jit.select(array, None, 4, values=True, deterministic=True)
    assert type(result.indices) is type(result.values) is type(array)
    assert numpy.array_equal(result.indices.array, reference.select(score, 4))
    assert array.asked == [{"stream": None, "max_version": None}]  # which waits for its contents
    values, indices = topk_jit.fast_topk(array, 2, -1)
    assert numpy.array_equal(values.array, numpy.take_along_axis(score, indices.array, 1))


def test_jax_arrays_are_no_outputs(jax, score):
    with pytest.raises(TypeError, match="out is immutable"):
        topk_jit.fast_topk_v2(score, None, 4, out=jax.numpy.asarray(numpy.zeros((3, 4), "int32")))


def test_jax_on_a_gpu_needs_out(jax, score):
    with pytest.raises(TypeError, match="out is not given"):
        topk_jit.fast_topk_v2(jax.numpy.asarray(score, (2, 0)), None, 4)
