# SPDX-License-Identifier: Apache-2.0
"""Rows of scores: what indexers write, and what breaks selections. As tools/support/scores.h."""
from torch_devices import torch
from torch_reference import bits_of


def _normal(shape, draw):
    return torch.randn(shape, **draw)


def _uniform(shape, draw):
    return torch.rand(shape, **draw)


def _ramp(shape, draw):
    ramp = torch.arange(shape[1], device=draw["device"], dtype=torch.float32)
    return ramp.expand(shape) / 8


def _some(share, value):
    """Normal scores, and by chance a value."""
    return lambda shape, draw: torch.where(
        _uniform(shape, draw) < share, value, _normal(shape, draw)
    )


def _some_nan(shape, draw):
    nan = torch.nan * _normal(shape, draw).sign()
    return torch.where(_uniform(shape, draw) < 0.01, nan, _normal(shape, draw))


def _forced(shape, draw):
    scores = _normal(shape, draw)
    scores[:, :4] = scores[:, -64:] = torch.inf
    return scores


def _outlier(shape, draw):
    scores = _normal(shape, draw)
    scores[:, shape[1] // 3] = 1e30
    return scores


def _signed_zeros(shape, draw):
    zeros = _normal(shape, draw).sign() * 0.0
    return torch.where(_uniform(shape, draw) < 0.02, _normal(shape, draw).sign(), zeros)


FLOAT32 = {
    "normal": _normal,
    "relu": lambda shape, draw: (_normal(shape, draw) - 2).relu(),
    "equal": lambda shape, draw: torch.full(shape, 0.5, device=draw["device"]),
    "ten-values": lambda shape, draw: (_uniform(shape, draw) * 10).floor(),
    "ascending": _ramp,
    "descending": lambda shape, draw: -_ramp(shape, draw),
    "near-one": lambda shape, draw: 1 + 1e-6 * _normal(shape, draw),
    "narrow": lambda shape, draw: 1 + 0.245 * _uniform(shape, draw),
    "bf16-rounded": lambda shape, draw: _normal(shape, draw).bfloat16().float(),
    "log-normal": lambda shape, draw: _normal(shape, draw).exp(),
    "forced": _forced,
    "outlier": _outlier,
    "some-nan": _some_nan,
    "minus-inf": lambda shape, draw: torch.full(shape, -torch.inf, device=draw["device"]),
    "masked": _some(0.98, -torch.inf),
    "infinite": _some(0.98, torch.inf),
    "signed-zeros": _signed_zeros,
    "far-below": lambda shape, draw: -65504.0 - 1e6 * _uniform(shape, draw),
}

# Ranges of bits of a dtype, of which both signs are taken: below the least normal number, and all.
MANTISSA_BITS = {torch.float32: 23, torch.float16: 10, torch.bfloat16: 7}
BITS = {
    "denormal": lambda dtype: 1 << MANTISSA_BITS[dtype],
    "few-denormals": lambda dtype: 64,
    "any-bits": lambda dtype: 1 << (8 * dtype.itemsize - 1),
}

NAMES = [*FLOAT32, *BITS]


def make(name, shape, dtype, generator):
    """A tensor of one of the NAMES, on the device of the generator."""
    draw = {"generator": generator, "device": generator.device}
    if name in FLOAT32:
        return FLOAT32[name](shape, draw).to(dtype)
    scores = torch.empty(shape, dtype=dtype, device=generator.device)
    magnitude = torch.randint(BITS[name](dtype), shape, **draw)
    sign = torch.randint(2, shape, **draw) << (8 * dtype.itemsize - 1)
    bits_of(scores).copy_(magnitude | sign)
    return scores
