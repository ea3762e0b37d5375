# SPDX-License-Identifier: Apache-2.0
"""The selection as the contract words it, by torch, for all rows at once on the device they are on.

Written apart from topk_jit: scores become integers whose order is the contract's, and torch.topk of
these is what every result is held against.
"""
from torch_devices import torch

_OUTSIDE = torch.iinfo(torch.int32).min  # below -inf and every NaN
_NAN_LAST = _OUTSIDE + 1
_NAN = torch.iinfo(torch.int32).max


def ranks(score, nan_last=False):
    """int32 in the order of the scores: +0 and -0 are equal, and so are all NaN."""
    bits = score.float().view(torch.int32)
    rank = torch.where(bits < 0, _OUTSIDE - bits, bits)  # of -0 it is that of +0
    return rank.masked_fill(score.isnan(), _NAN_LAST if nan_last else _NAN)


def windows(score, lengths=None, row_starts=None):
    """First columns and lengths of the rows' windows, clamped, as (B, 1)."""
    rows, width = score.shape
    full = torch.full((rows,), width, device=score.device)
    starts = full * 0 if row_starts is None else row_starts.long().clamp(0, width)
    lengths = full if lengths is None else lengths.long()
    return starts[:, None], lengths.clamp(min=0).minimum(width - starts)[:, None]


class Problem:
    """What is to be selected.

    Attributes:
        starts, lengths: (B, 1): the windows.
        counts: (B, 1): how many are selected.
        places: (topk): the numbers of the slots.
    """

    def __init__(self, score, topk, lengths=None, row_starts=None, nan_last=False):
        self.score, self.topk = score, topk
        self.starts, self.lengths = windows(score, lengths, row_starts)
        self.counts = self.lengths.clamp(max=topk)
        self.places = torch.arange(topk, device=score.device)
        columns = torch.arange(score.shape[1], device=score.device)
        inside = (columns >= self.starts) & (columns < self.starts + self.lengths)
        self._ranks = ranks(score, nan_last).masked_fill_(~inside, _OUTSIDE)

    def _best(self):
        """Ranks of the selected, descending, and as many of no position as slots remain."""
        best = self._ranks.topk(min(self.topk, self.score.shape[1])).values
        return torch.nn.functional.pad(best, (0, self.topk - best.shape[1]), value=_OUTSIDE)

    def at(self, positions, of=None):
        """Elements, ranks if not said otherwise, at positions, of which -1 may be any."""
        columns = (positions.long() + self.starts).clamp(0, self.score.shape[1] - 1)
        return (self._ranks if of is None else of).gather(1, columns)

    def check(self, positions):
        """Asserts that positions are a selection, in any order that is allowed."""
        positions = positions.long()
        assert positions.shape == (self.score.shape[0], self.topk)
        used = self.places < self.counts
        _hold(torch.where(used, positions, -1) == positions, "a slot that is left holds no -1")
        inside = (positions >= 0) & (positions < self.lengths)
        _hold(~used | inside, "a position is not in the window")
        ascending = torch.where(used, positions, -1 - self.places).sort(1).values
        _hold(ascending.diff(dim=1) > 0, "a position is there twice")
        selected = self.at(positions).masked_fill_(~used, _OUTSIDE)
        best = selected.sort(1, descending=True).values == self._best()
        _hold(best, "the scores are not the best")
        whole = used & (self.lengths <= self.topk)
        _hold(~whole | (positions == self.places), "a row that is taken whole is not in order")

    def expected(self, tie_break="smallest"):
        """Positions of a deterministic selection, ascending."""
        last = self._best().gather(1, (self.counts - 1).clamp(min=0))
        above, equal = self._ranks > last, self._ranks == last
        wanted = self.counts - above.sum(1, keepdim=True)
        before = equal.cumsum(1, dtype=torch.int32)
        if tie_break == "largest":
            before = before[:, -1:] - before + 1
        taken = (above | equal & (before <= wanted)) & (self._ranks > _OUTSIDE)
        positions = torch.full((self.score.shape[0], self.topk), -1, device=self.score.device)
        columns = taken.nonzero()[:, 1]
        positions[self.places < self.counts] = columns
        return torch.where(positions < 0, -1, positions - self.starts)

    def sorted(self, positions):
        """Ascending positions by descending score."""
        rank = self.at(positions).masked_fill_(self.places >= self.counts, _OUTSIDE)
        return positions.gather(1, rank.sort(dim=1, descending=True, stable=True).indices)

    def values(self, positions):
        """What is written for the scores at positions, as bits."""
        values = self.at(positions, bits_of(self.score))
        padding = bits_of(torch.tensor(-torch.inf, dtype=self.score.dtype, device=values.device))
        return torch.where(positions < 0, padding, values)


def bits_of(values):
    return values.view(torch.int32 if values.itemsize == 4 else torch.int16)


def _hold(holds, otherwise):
    if not bool(holds.all()):
        row = int((~holds).any(1).nonzero()[0])
        raise AssertionError(f"row {row}: {otherwise}")
