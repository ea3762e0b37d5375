# SPDX-License-Identifier: Apache-2.0
"""The devices that tests with torch run on."""
from concurrent.futures import ThreadPoolExecutor

import pytest

import topk_jit

torch = pytest.importorskip("torch")

GPU = torch.cuda.is_available()
needs_gpu = pytest.mark.skipif(not GPU, reason="torch sees no GPU")
needs_two_gpus = pytest.mark.skipif(torch.cuda.device_count() < 2, reason="there is no second GPU")


def on_each_device(names, cpu, cuda):
    """Parametrises a test with values that each device has its own of."""
    values = [("cpu", value) for value in cpu]
    values += [pytest.param("cuda", value, marks=needs_gpu) for value in cuda[: None if GPU else 1]]
    return pytest.mark.parametrize(names, values)


def prepare(*specs):
    """Compiles side by side; nothing without a GPU."""
    if GPU:
        with ThreadPoolExecutor() as pool:
            list(pool.map(topk_jit.prepare, specs))


def generator(device, seed=20253):
    return torch.Generator(device).manual_seed(seed)
