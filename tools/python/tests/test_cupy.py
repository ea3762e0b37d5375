# SPDX-License-Identifier: Apache-2.0
"""With CuPy, on the GPU."""
import numpy
import pytest
import reference

import topk_jit

cupy = pytest.importorskip("cupy")
try:
    cupy.cuda.runtime.getDeviceCount()
except cupy.cuda.runtime.CUDARuntimeError:
    pytest.skip("CuPy sees no GPU", allow_module_level=True)


@pytest.fixture
def score(random):
    return random.standard_normal((4, 300)).astype("float32")


def select(score, **options):
    return topk_jit.fast_topk_v2(score, None, 16, deterministic=True, **options)


def test_results_are_arrays_of_cupy(score):
    indices = select(cupy.asarray(score))
    assert isinstance(indices, cupy.ndarray) and indices.dtype == cupy.int32
    assert numpy.array_equal(indices.get(), reference.select(score, 16))
    result = topk_jit.select(cupy.asarray(score), None, 3, values=True, index_dtype="int64")
    assert result.indices.dtype == cupy.int64 and result.values.dtype == cupy.float32


def test_the_current_stream_is_used(score):
    array = cupy.asarray(score)
    select(array)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        late = cupy.zeros_like(array)
        late[...] = array
        indices = select(late)
    again = select(late, stream=stream)
    stream.synchronize()
    for got in (indices, again):
        assert numpy.array_equal(got.get(), reference.select(score, 16))


def test_calls_are_captured(score):
    topk_jit.prepare(topk_jit.Spec(16, deterministic=True))
    array, out = cupy.asarray(score), cupy.empty((4, 16), "int32")
    with cupy.cuda.Stream(non_blocking=True) as stream:
        stream.begin_capture()
        select(array, out=out)
        graph = stream.end_capture()
        out[...] = 77
        graph.launch()
        stream.synchronize()
    assert numpy.array_equal(out.get(), reference.select(score, 16))
