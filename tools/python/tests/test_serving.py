# SPDX-License-Identifier: Apache-2.0
"""The steps and shapes of a server, by every function: on the CPU a few, on a GPU all.

Called as SGLang calls its top-k, both topk_jit and what compat puts into sgl_kernel.
"""
import pytest
import serving
import torch_devices
from compat_servers import VLLM_CUSTOM_OPS, Servers
from torch_devices import torch
from torch_reference import Problem, bits_of

import topk_jit
from topk_jit import compat

TOPK = 2048
ROWS = {
    "cpu": [1, 3, 33],
    "cuda": [1, 2, 3, 7, 8, 16, 31, 32, 33, 64, 128, 129, 256, 512, 1024, 2048, 4096],
}
WIDTHS = {
    "cpu": [2048, 2049, 5000],
    "cuda": [2048, 2049, 4096, 8192, 16384, 32768, 65536, 98305, 131072],
}
PAGED_TOPK = [512, 1024]
DRAFT_TOPK = [1, 2, 4, 8, 10]
PAGE = 64

each_width = torch_devices.on_each_device("device, width", **WIDTHS)
each_form = pytest.mark.parametrize("form", serving.FORMS)


@pytest.fixture(scope="module", autouse=True)
def prepared():
    torch_devices.prepare(
        topk_jit.Spec(TOPK),
        topk_jit.Spec(TOPK, layout="paged", page_size=1),
        topk_jit.Spec(TOPK, layout="ragged"),
        *(topk_jit.Spec(topk, layout="paged", page_size=PAGE) for topk in (TOPK, *PAGED_TOPK)),
        *(topk_jit.Spec(topk) for topk in PAGED_TOPK),
        *(topk_jit.Spec(topk, layout="ragged") for topk in PAGED_TOPK),
        *(topk_jit.Spec(topk, operation="fast_topk") for topk in DRAFT_TOPK),
    )


@pytest.fixture
def servers(monkeypatch):
    yield Servers(monkeypatch, hiding=("sgl_kernel", "sglang", "vllm"))
    compat.sglang.uninstall()
    compat.vllm.uninstall()


@pytest.fixture(params=["topk_jit", "sgl_kernel"])
def functions(request, servers):
    """Where the functions are that sgl_kernel has."""
    if request.param == "topk_jit":
        return topk_jit
    kernel = servers.add_sgl_kernel()
    compat.sglang.install()
    return kernel


@pytest.fixture
def paged(servers):
    """The module of SGLang that has the paged entry."""
    module = servers.add_paged("renamed")
    compat.sglang.install()
    return module


@pytest.fixture
def vllm_ops(servers):
    ops = servers.add("vllm._custom_ops", VLLM_CUSTOM_OPS)
    compat.vllm.install()
    return ops


def steps(form, device, width, topk=TOPK):
    for rows in ROWS[device]:
        yield serving.make_step(form, rows, width, topk, device)


def poisoned(step, topk, dtype=torch.int32, more=0):
    shape = len(step.request) + more, topk
    return torch.full(shape, 77, dtype=dtype, device=step.score.device)


def tables(form, device, width, page_size, topk=TOPK):
    """Steps, each with a table of the next kind."""
    for number, step in enumerate(steps(form, device, width, topk)):
        kind = serving.TABLES[number % len(serving.TABLES)]
        yield step, serving.Table(kind, step, page_size)


# ---- what sgl_kernel has ----


@each_width
@each_form
def test_positions(functions, form, device, width):
    for step in steps(form, device, width):
        more = {} if step.starts is None else {"row_starts": step.starts}
        indices = functions.fast_topk_v2(step.score, step.lengths, TOPK, **more)
        assert indices.dtype == torch.int32
        step.problem(TOPK).check(indices)


@each_width
@each_form
def test_slots_of_pages_of_one(functions, form, device, width):
    for step, table in tables(form, device, width, 1):
        slots = functions.fast_topk_transform_fused(
            score=step.score, lengths=step.lengths, page_table_size_1=table.tensor,
            cu_seqlens_q=step.cu_seqlens_q, topk=TOPK, row_starts=step.starts,
        )
        step.problem(TOPK).check(table.positions(slots))


@each_width
@each_form
def test_places_in_a_ragged_buffer(functions, form, device, width):
    for step in steps(form, device, width):
        offsets = step.starts if form == "extend" else (step.request * 131).int()
        got = functions.fast_topk_transform_ragged_fused(
            score=step.score, lengths=step.lengths, topk_indices_offset=offsets, topk=TOPK,
            row_starts=step.starts,
        )
        problem = step.problem(TOPK)
        problem.check(torch.where(problem.places < problem.counts, got - offsets[:, None], got))


@torch_devices.on_each_device("device, width", cpu=[1000], cuda=[1000, 32000, 129280])
@pytest.mark.parametrize("topk", DRAFT_TOPK)
def test_draft_probabilities(functions, device, width, topk):
    generator = torch_devices.generator(device)
    probs = torch.rand(64, width, generator=generator, device=device).half().float()
    for rows in (1, 3, 64):
        values, indices = functions.fast_topk(probs[:rows], topk, dim=-1)
        expected = Problem(probs[:rows], topk)
        expected = expected.sorted(expected.expected())
        assert torch.equal(indices, expected)
        assert torch.equal(values, probs[:rows].gather(1, expected))


# ---- select, with everything that it writes ----


@each_width
@each_form
@pytest.mark.parametrize("batch_by", ["cu_seqlens_q", "row_to_batch"])
def test_select_of_pages(form, device, width, batch_by):
    for step, table in tables(form, device, width, PAGE):
        batch = {"cu_seqlens_q": step.cu_seqlens_q, "row_to_batch": step.request.int()}
        out, raw = poisoned(step, TOPK, more=3), poisoned(step, TOPK, more=3)
        got = topk_jit.select(
            step.score, step.lengths, TOPK, layout="paged", page_table=table.tensor, out=out,
            page_size=PAGE, row_starts=step.starts, raw_indices=raw, **{batch_by: batch[batch_by]},
        )
        assert got.indices is out and (out[-3:] == -1).all() and (raw[-3:] == -1).all()
        step.problem(TOPK).check(raw[:-3])
        assert torch.equal(table.slots(raw[:-3].long()), out[:-3].long())


@each_width
@each_form
def test_select_of_one_row_of_pages(form, device, width):
    for step in steps(form, device, width):
        table, raw = serving.Table("exact", step, PAGE), poisoned(step, TOPK)
        pages = table.tensor.shape[1]
        got = topk_jit.select(
            step.score, step.lengths, TOPK, layout="paged", page_table=table.tensor.view(1, -1),
            page_size=PAGE, row_starts=step.starts, raw_indices=raw,
            row_to_batch=(step.request * 0).int(),
            page_table_row_starts=(step.request * pages).int(),
        )
        step.problem(TOPK).check(raw)
        assert torch.equal(table.slots(raw.long()), got.indices.long())


@each_width
@pytest.mark.parametrize("ends", [False, True])
def test_select_with_values(device, width, ends):
    for step in steps("extend", device, width):
        end = step.starts + step.lengths
        window = {"row_ends": end} if ends else {"lengths": step.lengths}
        got = topk_jit.select(
            step.score, topk=TOPK, row_starts=step.starts, values=True, index_dtype="int64",
            **window,
        )
        problem = step.problem(TOPK)
        problem.check(got.indices)
        assert torch.equal(bits_of(got.values), problem.values(got.indices))


@each_width
@pytest.mark.parametrize("dimensions", [1, 2])
def test_select_of_several_tokens_of_a_request(device, width, dimensions):
    for step, table in tables("verify", device, width, PAGE):
        lengths = step.keys if dimensions == 1 else step.lengths.view(-1, serving.NEXT_N)
        got = topk_jit.select(
            step.score, lengths, TOPK, next_n=serving.NEXT_N, layout="paged", page_size=PAGE,
            page_table=table.tensor, raw_indices=True,
        )
        step.problem(TOPK).check(got.raw_indices)
        assert torch.equal(table.slots(got.raw_indices.long()), got.indices.long())


@each_width
@each_form
def test_selectors(form, device, width):
    plain = topk_jit.Selector(TOPK)
    ragged = topk_jit.Selector(TOPK, layout="ragged")
    for step in steps(form, device, width):
        problem, offsets = step.problem(TOPK), (step.request * 131).int()
        out, raw = poisoned(step, TOPK), poisoned(step, TOPK)
        assert plain(step.score, step.lengths, row_starts=step.starts, out=out) is out
        problem.check(out)
        ragged(
            step.score, step.lengths, row_starts=step.starts, topk_indices_offset=offsets,
            out=out, raw_indices=raw,
        )
        problem.check(raw)
        assert torch.equal(out, torch.where(raw < 0, raw, raw + offsets[:, None]))


# ---- the paged entry of SGLang's decoding ----


@each_width
@pytest.mark.parametrize("topk", PAGED_TOPK)
@pytest.mark.parametrize("with_raw", [False, True])
def test_the_paged_entry(paged, device, width, topk, with_raw):
    for step, table in tables("decode", device, width, PAGE, topk):
        out = poisoned(step, topk)
        raw = poisoned(step, topk) if with_raw else None
        paged.topk_transform_paged(step.score, step.lengths, table.tensor, out, PAGE, raw)
        positions = table.positions(out)
        step.problem(topk).check(positions)
        assert raw is None or torch.equal(raw.long(), positions)


@each_width
@pytest.mark.parametrize("topk", PAGED_TOPK)
def test_the_planned_entry(paged, device, width, topk):
    for step, table in tables("decode", device, width, PAGE, topk):
        problem, plan = step.problem(topk), paged.plan_topk_v2(step.lengths)
        out, raw = poisoned(step, topk), poisoned(step, topk)
        entry = paged.topk_transform_paged_v2
        entry(step.score, step.lengths, table.tensor, out, PAGE, plan, out_raw_indices=raw)
        problem.check(raw)
        assert torch.equal(table.positions(out), raw.long())
        entry(step.score, step.lengths, None, out, 1, plan)
        problem.check(out)


@each_width
@pytest.mark.parametrize("topk", PAGED_TOPK)
def test_the_ragged_entry(paged, device, width, topk):
    for step in steps("extend", device, width, topk):
        out = poisoned(step, topk)
        paged.topk_transform_ragged_v2(
            step.score, step.lengths, out_offsets=step.starts, out_indices=out,
            row_starts=step.starts,
        )
        problem = step.problem(topk)
        used = problem.places < problem.counts
        problem.check(torch.where(used, out - step.starts[:, None], out))


# ---- vLLM's forms ----


@each_width
def test_prefill_of_vllm(vllm_ops, device, width):
    for step in steps("extend", device, width):
        out = poisoned(step, TOPK, more=5)
        vllm_ops.top_k_per_row_prefill(
            step.score, step.starts, step.starts + step.lengths, out, len(step.request),
            step.score.stride(0), step.score.stride(1), TOPK,
        )
        step.problem(TOPK).check(out[:-5])
        assert (out[-5:] == 77).all()


@each_width
@pytest.mark.parametrize("form", ["decode", "verify"])
def test_decode_of_vllm(vllm_ops, device, width, form):
    for step in steps(form, device, width):
        out = poisoned(step, TOPK)
        vllm_ops.top_k_per_row_decode(
            step.score, len(step.request) // len(step.keys), step.keys, out, len(step.request),
            step.score.stride(0), step.score.stride(1), TOPK,
        )
        step.problem(TOPK).check(out)


# ---- beside the servers' own kernels, where they are installed ----


@pytest.fixture
def own_kernels(request):
    """A server's module as it is; without it the test is skipped and says so."""
    yield pytest.importorskip(request.param, exc_type=ImportError)
    compat.sglang.uninstall()
    compat.vllm.uninstall()


def check_beside_own_kernels(form, install, call):
    """Where scores are equal the selections may differ."""
    steps = [serving.make_step(form, 64, width, TOPK, "cuda") for width in WIDTHS["cuda"]]
    originals = [call(step) for step in steps]
    install()
    for step, original in zip(steps, originals):
        problem, ours = step.problem(TOPK), call(step)
        problem.check(ours)
        assert torch.equal(problem.at(ours).sort(1).values, problem.at(original).sort(1).values)


@torch_devices.needs_gpu
@pytest.mark.parametrize("own_kernels", ["sgl_kernel"], indirect=True)
def test_beside_the_kernels_of_sgl_kernel(own_kernels):
    def call(step):
        return own_kernels.fast_topk_v2(step.score, step.lengths, TOPK)

    check_beside_own_kernels("decode", compat.sglang.install, call)


@torch_devices.needs_gpu
@pytest.mark.parametrize("own_kernels", ["vllm._custom_ops"], indirect=True)
def test_beside_the_kernels_of_vllm(own_kernels):
    def call(step):
        out = poisoned(step, TOPK)
        own_kernels.top_k_per_row_prefill(
            step.score, step.starts, step.starts + step.lengths, out, len(step.request),
            *step.score.stride(), TOPK,
        )
        return out

    check_beside_own_kernels("extend", compat.vllm.install, call)
