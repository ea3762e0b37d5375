# SPDX-License-Identifier: Apache-2.0
"""What other tests hold results against notices a result that is wrong in one place."""
import numpy
import pytest
import reference
import serving
import torch_devices
import torch_scores
from torch_devices import torch
from torch_reference import Problem

TOPK = 16
LENGTHS = [100, 40, 17, 16, 5, 0]
STARTS = [0, 60, 3, 84, 95, 100]


@pytest.fixture(params=["normal", "ten-values", "some-nan", "minus-inf", "signed-zeros"])
def score(request):
    shape = (len(LENGTHS), 100)
    return torch_scores.make(
        request.param, shape, torch.float32, torch_devices.generator("cpu")
    )


@pytest.fixture
def problem(score):
    return Problem(score, TOPK, torch.tensor(LENGTHS), torch.tensor(STARTS))


def test_it_is_what_the_contract_says_row_by_row(score, problem):
    want = reference.select(score.numpy(), TOPK, LENGTHS, STARTS)
    assert numpy.array_equal(problem.expected().numpy(), want)


def test_any_order_of_a_long_row_is_right(problem):
    positions = problem.expected()
    positions[:3] = positions[:3].flip(1)
    problem.check(positions)


def test_the_largest_of_equal_positions(score):
    turned = Problem(score.flip(1), TOPK).expected()
    positions = Problem(score, TOPK).expected("largest")
    assert torch.equal(positions, 99 - turned.flip(1))


WRONG = {
    "twice": lambda p: p[0, 1:2].copy_(p[0, 0]),
    "unwritten": lambda p: p[0, 5:6].fill_(-1),
    "behind the window": lambda p: p[1, 2:3].fill_(40),
    "before the window": lambda p: p[1, 2:3].fill_(-2),
    "of the whole row": lambda p: p[1].add_(60),
    "far away": lambda p: p[0, 0:1].fill_(2**31 - 1),
    "padding": lambda p: p[4, 5:6].fill_(0),
    "padding of an empty row": lambda p: p[5, 15:16].fill_(77),
    "padding of another kind": lambda p: p[5, 15:16].fill_(-2),
    "order of a row that is taken whole": lambda p: p[3].copy_(p[3].flip(0)),
    "rows swapped": lambda p: p[3:5].copy_(p[3:5].flip(0)),
}


@pytest.mark.parametrize("spoil", WRONG.values(), ids=WRONG)
def test_a_wrong_slot_is_noticed(problem, spoil):
    positions = problem.expected()
    spoil(positions)
    with pytest.raises(AssertionError, match="row"):
        problem.check(positions)


@pytest.mark.parametrize("kind", ["normal", "some-nan", "near-one", "narrow", "denormal"])
def test_one_score_that_is_not_the_best_is_noticed(kind):
    score = torch_scores.make(kind, (1, 100), torch.float32, torch_devices.generator("cpu"))
    problem = Problem(score, TOPK)
    best = Problem(score, TOPK + 1)
    positions = problem.expected()
    (left,) = set(best.expected()[0].tolist()) - set(positions[0].tolist())
    positions[0, 7] = left
    with pytest.raises(AssertionError, match="row 0: the scores are not the best"):
        problem.check(positions)


# ---- slots of a paged cache ----


@pytest.mark.parametrize("page_size", [1, 16])
@pytest.mark.parametrize("kind", serving.TABLES)
def test_a_slot_is_of_its_request_and_page(kind, page_size):
    step = serving.make_step("verify", 8, 100, TOPK, "cpu")
    table = serving.Table(kind, step, page_size)
    positions = step.problem(TOPK).expected()
    slots = table.slots(positions)
    assert torch.equal(table.positions(slots), positions)
    for spoil in (1, -page_size, 2**30):
        wrong = slots.clone()
        wrong[0, 3] += spoil
        assert not torch.equal(table.positions(wrong), positions)


def test_tables_are_laid_out_as_servers_have_them():
    step = serving.make_step("decode", 3, 100, TOPK, "cpu")
    strides = {kind: serving.Table(kind, step, 1).tensor.stride(0) for kind in serving.TABLES}
    assert strides["shared"] == 0 and strides["exact"] == 100 and strides["wide"] > 100
