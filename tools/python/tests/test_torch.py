# SPDX-License-Identifier: Apache-2.0
"""With torch, on the CPU and on every GPU that there is."""
import gc
import threading

import pytest
from torch_devices import GPU, needs_gpu, needs_two_gpus, torch

import topk_jit
from topk_jit import torch_ops  # noqa: F401  registers the operators

DEVICES = ["cpu", *(["cuda"] if GPU else [])]
DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def score_of(rows=4, width=300, dtype=torch.float32, device="cpu"):
    generator = torch.Generator().manual_seed(20253)
    return torch.randn(rows, width, generator=generator).to(device, dtype)


def int32(*values, device="cpu"):
    return torch.tensor(values, dtype=torch.int32, device=device)


def expected(score, topk, lengths=None):
    """Positions of a deterministic selection: smallest at the k-th place, ascending."""
    rows = torch.full((score.shape[0], topk), -1, dtype=torch.int32)
    for i, row in enumerate(score.cpu().double()):
        row = row if lengths is None else row[: int(lengths[i])]
        chosen = row.sort(descending=True, stable=True).indices[:topk].sort().values
        rows[i, : len(chosen)] = chosen
    return rows


def v2(score, lengths, topk=16, **options):
    return topk_jit.fast_topk_v2(score, lengths, topk, deterministic=True, **options)


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_are_new_tensors_beside_the_input(device, dtype):
    score, lengths = score_of(dtype=dtype, device=device), int32(300, 20, 5, 0, device=device)
    indices = v2(score, lengths)
    assert type(indices) is torch.Tensor and indices.device == score.device
    assert indices.dtype == torch.int32
    assert torch.equal(indices.cpu(), expected(score, 16, lengths))


def test_layouts(device):
    score, lengths = score_of(device=device), int32(300, 20, 5, 0, device=device)
    raw = expected(score, 16, lengths)
    table = torch.randperm(80).view(4, 20).int()
    slots = topk_jit.fast_topk_transform_fused(
        score, lengths, table.to(device), None, 16, page_size=16, deterministic=True
    )
    there = torch.gather(table, 1, (raw.clamp(0) // 16).long()) * 16 + raw.clamp(0) % 16
    assert torch.equal(slots.cpu(), torch.where(raw < 0, raw, there))
    offset = int32(7, 0, 100, 3)
    ragged = topk_jit.fast_topk_transform_ragged_fused(
        score, lengths, offset.to(device), 16, deterministic=True
    )
    assert torch.equal(ragged.cpu(), torch.where(raw < 0, raw, raw + offset[:, None]))


@pytest.mark.parametrize("topk", [1, 5])
@pytest.mark.parametrize("dim", [0, -1])
def test_fast_topk_is_torch_topk(device, topk, dim):
    values = score_of(rows=8, device=device)
    got, indices = topk_jit.fast_topk(values, topk, dim)
    want = values.topk(topk, dim)
    assert torch.equal(got, want.values) and indices.dtype == torch.int64
    assert torch.equal(values.gather(dim, indices), want.values)


def test_out_strides_and_views(device):
    whole = score_of(8, 600, device=device)
    score = whole[::2, 100:400]
    out = torch.full((5, 16), 77, dtype=torch.int64, device=device)
    assert v2(score, None, out=out) is out
    assert torch.equal(out[:4].cpu().int(), expected(score, 16)) and (out[4] == -1).all()
    expanded = whole[:1, :300].expand(4, 300)
    assert torch.equal(v2(expanded, None).cpu(), expected(expanded, 16))


def test_parameters_and_inference_mode(device):
    score = score_of(device=device)
    assert torch.equal(v2(torch.nn.Parameter(score), None).cpu(), expected(score, 16))
    with torch.inference_mode():
        assert torch.equal(v2(score_of(device=device), None).cpu(), expected(score, 16))


def test_results_of_a_subclass_are_of_it(device):
    class Scores(torch.Tensor):
        pass

    score = score_of(device=device).as_subclass(Scores)
    indices = v2(score, None)
    assert type(indices) is type(score.new_empty(1)) and indices.device == score.device
    assert torch.equal(indices.cpu().as_subclass(torch.Tensor), expected(score_of(), 16))


def test_results_are_as_new_empty_makes_them(device):
    score = score_of(device=device)
    for indices in (v2(score, None), v2(torch.nn.Parameter(score), None)):
        assert indices.is_contiguous() and not indices.requires_grad and indices._base is None
        assert indices.untyped_storage().nbytes() == indices.nbytes
        indices.resize_(8, 32)
    with torch.inference_mode():
        assert v2(score, None).is_inference()
    assert not v2(score, None).is_inference()


def test_wrong_tensors_are_named(device):
    score = score_of(device=device)
    with pytest.raises(topk_jit.InvalidArgumentError, match="lengths.*int64"):
        v2(score, torch.zeros(4, dtype=torch.int64, device=device))
    with pytest.raises(ValueError, match="stride"):
        v2(score.t(), None)


@needs_gpu
def test_tensors_of_two_devices_are_refused():
    with pytest.raises(ValueError, match="lengths"):
        v2(score_of(device="cuda"), int32(1, 2, 3, 4))


@needs_two_gpus
def test_the_second_gpu_need_not_be_the_current_one():
    score = score_of(device="cuda:1")
    for _ in range(2):  # the second time it is prepared
        assert torch.equal(v2(score, None).cpu(), expected(score, 16))
    assert torch.cuda.current_device() == 0
    with pytest.raises(ValueError, match="lengths"):
        v2(score, int32(1, 2, 3, 4, device="cuda:0"))


@needs_two_gpus
@pytest.mark.parametrize("current", [0, 1])
@pytest.mark.parametrize("number", [0, 1])
def test_results_are_beside_the_score_whatever_gpu_is_current(current, number):
    score = score_of(8, 300, device=f"cuda:{number}")
    with torch.cuda.device(current):
        indices = v2(score, None)
        values, places = topk_jit.fast_topk(score, 5, -1)
    assert {t.device for t in (indices, values, places)} == {score.device}
    assert torch.equal(indices.cpu(), expected(score, 16))


@needs_gpu
def test_the_current_stream_is_used():
    score = score_of(64, 100000, device="cuda")
    v2(score, None)
    stream = torch.cuda.Stream()
    late = torch.zeros_like(score)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)  # what is enqueued elsewhere would not see the scores
        late.copy_(score)
        indices = v2(late, None)
        selector = topk_jit.Selector(16, deterministic=True)
        again = selector(late)
    by_keyword = v2(late, None, stream=stream)
    stream.synchronize()
    for got in (indices, again, by_keyword):
        assert torch.equal(got.cpu(), expected(score, 16))


@needs_gpu
@pytest.mark.parametrize("mode", ["global", "thread_local", "relaxed"])
def test_calls_are_captured(mode):
    """Nothing is recorded on the default stream, whose use would end the capture."""
    topk_jit.prepare(
        topk_jit.Spec(16, deterministic=True), topk_jit.Spec(16, operation="fast_topk")
    )
    score, lengths = score_of(device="cuda"), int32(300, 300, 300, 300, device="cuda")
    out = torch.empty(4, 16, dtype=torch.int32, device="cuda")
    selector = topk_jit.Selector(16, deterministic=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode=mode):
        new = v2(score, lengths)
        selector(score, lengths, out=out)
        values, _ = topk_jit.fast_topk(score, 16, -1)
    for seed in range(3):
        score.copy_(torch.randn(4, 300, generator=torch.Generator().manual_seed(seed)))
        lengths.copy_(int32(300, 100, 10, seed))
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(new.cpu(), expected(score, 16, lengths))
        assert torch.equal(out, new)
        assert torch.equal(values, score.topk(16).values)


@needs_gpu
def test_what_is_not_prepared_leaves_a_capture_as_it_was():
    score = score_of(device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        doubled = score * 2
        with pytest.raises(topk_jit.NotPreparedError):
            v2(score, None, topk=77)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(doubled, score * 2)


@needs_gpu
def test_prepare_runs_while_another_thread_captures():
    score = score_of(device="cuda")
    failed = []

    def prepare():
        try:
            topk_jit.prepare(topk_jit.Spec(123), device=0)
        except Exception as error:
            failed.append(error)

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        doubled = score * 2
        thread = threading.Thread(target=prepare)
        thread.start()
        thread.join()
    graph.replay()
    torch.cuda.synchronize()
    assert not failed and torch.equal(doubled, score * 2)


def memory_in_use():
    gc.collect()  # what is still in a cycle would go at some other time
    torch.cuda.synchronize()
    return torch.cuda.memory_allocated()


@needs_gpu
def test_results_are_known_to_the_allocator():
    score = score_of(device="cuda")
    kept = [v2(score, None)]
    before = memory_in_use()
    kept.append(v2(score, None))
    alive = memory_in_use()
    size = kept[-1].nbytes
    del kept[-1]
    assert alive - before >= size and alive - memory_in_use() >= size


@needs_gpu
def test_record_stream_keeps_the_memory_of_a_result():
    score, stream = score_of(device="cuda"), torch.cuda.Stream()
    v2(score, None)
    torch.cuda.synchronize()
    indices = v2(score, None)
    address = indices.data_ptr()
    del indices
    indices = v2(score, None)
    assert indices.data_ptr() == address  # used again at once
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
    indices.record_stream(stream)
    del indices
    assert v2(score, None).data_ptr() != address
    torch.cuda.synchronize()


def test_threads(device):
    score, wrong = score_of(device=device), []
    want = expected(score, 16)

    def work():
        for _ in range(50):
            if not torch.equal(v2(score, None).cpu(), want):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


# ---- compilers ----


class Model(torch.nn.Module):
    def forward(self, score, lengths, table):
        raw = topk_jit.fast_topk_v2(score * 2, lengths, 16, deterministic=True)
        slots = topk_jit.fast_topk_transform_fused(
            score * 2, lengths, table, None, 16, page_size=16, deterministic=True
        )
        values, _ = topk_jit.fast_topk(score, 4, -1)
        everything = topk_jit.select(
            score, lengths, 16, deterministic=True, raw_indices=True, values=True
        )
        out = score.new_empty((4, 16), dtype=torch.int32)
        topk_jit.fast_topk_v2(score, lengths, 16, out=out, deterministic=True)
        return raw + 1, slots, values, everything.values, everything.raw_indices, out


def model_inputs(device):
    score, lengths = score_of(device=device), int32(300, 20, 5, 0, device=device)
    return score, lengths, torch.arange(80, dtype=torch.int32, device=device).view(4, 20)


def check_model(compiled, device):
    inputs = model_inputs(device)
    for got, want in zip(compiled(*inputs), Model()(*inputs)):
        assert torch.equal(got, want)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_compiled_in_one_graph(device, backend):
    if backend == "inductor" and device == "cpu":
        pytest.skip("needs a C++ compiler")
    torch._dynamo.reset()
    check_model(torch.compile(Model(), fullgraph=True, backend=backend), device)


def test_compiled_with_dynamic_shapes(device):
    torch._dynamo.reset()
    compiled = torch.compile(
        lambda score: v2(score, None), fullgraph=True, backend="aot_eager", dynamic=True
    )
    for rows, width in ((4, 300), (7, 50), (2, 1000)):
        score = score_of(rows, width, device=device)
        assert torch.equal(compiled(score).cpu(), expected(score, 16))


@needs_gpu
def test_compiled_with_cuda_graphs():
    torch._dynamo.reset()
    topk_jit.prepare(topk_jit.Spec(16, deterministic=True))
    compiled = torch.compile(
        lambda score: v2(score, None) + 1, fullgraph=True, mode="reduce-overhead"
    )
    score = score_of(device="cuda")
    for _ in range(4):
        assert torch.equal(compiled(score).cpu(), expected(score, 16) + 1)


@pytest.mark.parametrize("strict", [True, False])
def test_exported(device, strict):
    program = torch.export.export(Model(), model_inputs(device), strict=strict)
    assert any("topk_jit" in str(node.target) for node in program.graph.nodes)
    check_model(program.module(), device)


def test_compiled_before_the_first_call(run_python):
    script = """
import topk_jit, torch
f = torch.compile(lambda s: topk_jit.fast_topk_v2(s, None, 2, sorted=True), fullgraph=True,
                  backend="eager")
print(f(torch.tensor([[1.0, 3.0, 2.0]])).tolist())
"""
    assert run_python(script) == "[[1, 2]]\n"


def test_a_stream_cannot_be_compiled(device):
    torch._dynamo.reset()
    compiled = torch.compile(lambda s: v2(s, None, stream=0), fullgraph=True, backend="eager")
    with pytest.raises(Exception):  # Dynamo wraps the TypeError in one of its own
        compiled(score_of(device=device))


CONSTANTS = ("plain", 16, 0, 1, 1, "int32", False, True, None, False, False, 0)


def test_operators_are_registered_as_torch_wants_them(device):
    score, lengths, _ = model_inputs(device)
    none = (None,) * 7
    out = torch.empty(4, 16, dtype=torch.int32, device=device)
    torch.library.opcheck(torch.ops.topk_jit.select.default, (score, lengths, *none, *CONSTANTS))
    torch.library.opcheck(
        torch.ops.topk_jit.select_out.default,
        (score, lengths, *none, out, None, None, None, None, *CONSTANTS),
    )
    torch.library.opcheck(torch.ops.topk_jit.fast_topk.default, (score, 4, -1))
    torch.library.opcheck(
        torch.ops.topk_jit.fast_topk_out.default,
        (score, 4, 1, score.new_empty(4, 4), out[:, :4].long().contiguous()),
    )
