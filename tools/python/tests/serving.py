# SPDX-License-Identifier: Apache-2.0
"""Steps of a server: scores, and which rows, windows and pages belong to which request.

form          rows of a request                     row_starts
------------  ------------------------------------  --------------------------------------------
decode        one                                   none
verify        NEXT_N, each with one more key        none
draft-extend  some, each with one more key          zero
extend        many or none, each with one more key  where the request's keys begin in the columns
                                                    that all requests share
"""
import functools
from typing import Any, NamedTuple

from torch_devices import generator, torch
from torch_reference import Problem

FORMS = ["decode", "verify", "draft-extend", "extend"]
NEXT_N = 4


class Step(NamedTuple):
    """int32 tensors as servers pass them, of which starts may be None; see topk_jit.select."""

    score: Any
    lengths: Any
    starts: Any
    cu_seqlens_q: Any
    keys: Any  # of each request
    request: Any  # of each row, int64

    def problem(self, topk):
        return Problem(self.score, topk, self.lengths, self.starts)


def _queries(form, rows):
    """How many rows each request has."""
    if form == "decode":
        return [1] * rows
    if form == "verify":
        return [NEXT_N] * -(-rows // NEXT_N)
    if form == "draft-extend":
        return [*[1, 3, 2, 0, 4] * (rows // 10), rows % 10]
    return [rows // 8, 0, rows // 8, rows // 4, rows - 2 * (rows // 8) - rows // 4]


def _keys(form, requests, width, topk):
    """How many keys each request has."""
    edges = [width, topk + 1, topk, topk - 1, 1, 0]
    if form != "extend":
        draw = torch.randint(width + 1, (requests,), generator=generator("cpu"))
        return [min(edge, width) for edge in edges[:requests]] + draw[len(edges) :].tolist()
    keys = []
    for edge in [topk + 1, 1, topk, topk - 1]:
        keys.append(min(edge, width - sum(keys)))
    return [*keys, width - sum(keys)]


@functools.cache
def _normal(device):
    """As many that every row of a score begins elsewhere."""
    return torch.randn((1 << 20) + 7, generator=generator(device), device=device)


def _scores(rows, width, starts, lengths):
    """Rows as far apart as DeepGEMM has them; NaN wherever nobody may look."""
    pitch = -(-width // 256) * 256
    normal = _normal(lengths.device.type)
    score = normal.repeat(-(-rows * pitch // len(normal)))[: rows * pitch].view(rows, pitch)
    columns = torch.arange(pitch, device=lengths.device)
    outside = (columns < starts[:, None]) | (columns >= (starts + lengths)[:, None])
    return score.masked_fill_(outside, torch.nan)[:, :width]


def make_step(form, rows, width, topk, device):
    """A step of about so many rows, with lengths of 0, 1, topk - 1, topk, topk + 1 and width."""
    counts = torch.tensor(_queries(form, rows), device=device)
    keys = torch.tensor(_keys(form, len(counts), width, topk), device=device)
    request = torch.repeat_interleave(counts)
    ends = counts.cumsum(0)
    # Of a request's last row all keys; negative where there are fewer keys than rows.
    lengths = keys[request] - ends[request] + 1 + torch.arange(len(request), device=device)
    starts = (keys.cumsum(0) - keys)[request] if form == "extend" else torch.zeros_like(lengths)
    return Step(
        _scores(len(request), width, starts, lengths),
        lengths.int(),
        starts.int() if "extend" in form else None,
        torch.nn.functional.pad(ends, (1, 0)).int(),
        keys.int(),
        request,
    )


TABLES = ["shared", "exact", "wide"]


class Table:
    """A page table from whose slots the positions can be told.

    Attributes:
        tensor: (requests, pages): one row for all, no wider than needed, or wider and with gaps.
    """

    def __init__(self, kind, step, page_size):
        requests, width = len(step.keys), step.score.shape[1]
        device = step.score.device
        self.page_size, self._request = page_size, step.request
        pages = -(-width // page_size) + (100 if kind == "wide" else 0)
        self._pages = torch.randperm(pages, generator=generator(device), device=device).int()
        self._position = self._pages.argsort()
        if kind == "shared":
            self._apart, self.tensor = 0, self._pages[None].expand(requests, -1)
            return
        self._apart = pages
        bases = torch.arange(requests, dtype=torch.int32, device=device)[:, None] * pages
        gap = 28 if kind == "wide" else 0
        whole = torch.full((requests, pages + gap), -1, dtype=torch.int32, device=device)
        self.tensor = whole[:, :pages].copy_(self._pages + bases)

    def slots(self, positions):
        """What is to be written for positions, -1 for -1."""
        pages = self._pages[positions.clamp(min=0) // self.page_size]
        pages = pages.long() + self._request[:, None] * self._apart
        return torch.where(
            positions < 0, -1, pages * self.page_size + positions % self.page_size
        )

    def positions(self, slots):
        """Which positions were written as slots; -2 for what is no slot of the row's request."""
        slots = slots.long()
        pages = slots // self.page_size - self._request[:, None] * self._apart
        places = self._position[pages.clamp(0, len(self._pages) - 1)]
        positions = torch.where(slots < 0, -1, places * self.page_size + slots % self.page_size)
        return torch.where(self.slots(positions) == slots, positions, -2)
