# SPDX-License-Identifier: Apache-2.0
"""Every distribution of scores, held against torch: on the CPU, and larger ones on a GPU.

Lengths are such that one batch has rows of every kind of length.
"""
import pytest
import torch_devices
import torch_scores
from torch_devices import torch
from torch_reference import Problem, bits_of

import topk_jit

TOPK = 512
DTYPES = [torch.float32, torch.float16, torch.bfloat16]
SHAPES = {
    "cpu": [(9, 3000)],
    # Of each kind of kernel: one block a row, with a row in registers and not, and clusters.
    "cuda": [(9, 513), (64, 8192), (33, 30001), (200, 70000), (9, 131072), (3, 524288)],
}
OPTIONS = {
    "any": {},
    "deterministic": {"deterministic": True},
    "sorted": {"deterministic": True, "sorted": True},
    "largest": {"deterministic": True, "tie_break": "largest"},
    "nan-last": {"deterministic": True, "nan_last": True},
}
each_option = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: str(dtype)[6:])


@pytest.fixture(scope="module", autouse=True)
def prepared():
    torch_devices.prepare(
        *(topk_jit.Spec(TOPK, dtype=dtype, **o) for dtype in DTYPES for o in OPTIONS.values())
    )


def lengths_of(rows, width, device):
    some = [width, TOPK + 1, TOPK, TOPK - 1, 1, 0, -3, width // 2 + 1, width + 5]
    return torch.tensor(some, dtype=torch.int32, device=device).repeat(rows // 9 + 1)[:rows]


def wanted(problem, deterministic=False, sorted=False, tie_break="smallest", nan_last=False):
    """The positions, where only these are right."""
    positions = problem.expected(tie_break) if deterministic else None
    return problem.sorted(positions) if sorted else positions


@torch_devices.on_each_device("device, shape", **SHAPES)
@each_option
@each_dtype
@pytest.mark.parametrize("name", torch_scores.NAMES)
def test_selection(device, shape, dtype, name, options):
    score = torch_scores.make(name, shape, dtype, torch_devices.generator(device))
    lengths = lengths_of(*shape, device)
    got = topk_jit.select(score, lengths, TOPK, raw_indices=True, values=True, **options)
    problem = Problem(score, TOPK, lengths, nan_last=options.get("nan_last", False))
    expected = wanted(problem, **options)
    if expected is None:
        problem.check(got.indices)
    else:
        assert torch.equal(got.indices.long(), expected)
    assert torch.equal(got.raw_indices, got.indices)
    assert torch.equal(bits_of(got.values), problem.values(got.indices.long()))
