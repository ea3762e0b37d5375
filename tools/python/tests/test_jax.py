# SPDX-License-Identifier: Apache-2.0
"""With JAX, on the CPU and on a GPU if it has one."""
import numpy
import pytest
import reference

import topk_jit

jax = pytest.importorskip("jax")


@pytest.fixture
def score(random):
    return random.standard_normal((4, 300)).astype("float32")


def select(score, **options):
    return topk_jit.fast_topk_v2(score, None, 16, deterministic=True, **options)


def test_results_on_the_cpu_are_arrays_of_jax(score):
    with jax.default_device(jax.devices("cpu")[0]):
        indices = select(jax.numpy.asarray(score))
        assert isinstance(indices, jax.Array)
        assert numpy.array_equal(indices, reference.select(score, 16))
        halves = jax.numpy.asarray(score, "bfloat16")
        result = topk_jit.select(halves, None, 16, values=True, deterministic=True)
        assert result.values.dtype == halves.dtype
        assert numpy.array_equal(result.indices, reference.select(numpy.asarray(halves), 16))


def test_arrays_on_a_gpu_are_read(score):
    if jax.default_backend() != "gpu":
        pytest.skip("JAX sees no GPU")
    cupy = pytest.importorskip("cupy")
    array, out = jax.numpy.asarray(score) + 0, cupy.empty((4, 16), "int32")
    with pytest.raises(TypeError, match="out is not given"):
        select(array)
    select(array, out=out, stream=cupy.cuda.get_current_stream())
    assert numpy.array_equal(out.get(), reference.select(score, 16))
