# SPDX-License-Identifier: Apache-2.0
"""Every form in which vLLM calls its top-k, on stand-ins for its modules.

form                                                     where vLLM has it
-------------------------------------------------------  --------------------------------------
ops.top_k_per_row_prefill(logits, cu_seqlen_ks,          model_executor/layers/
    cu_seqlen_ke, topk_indices, num_rows,                    sparse_attn_indexer.py
    logits.stride(0), logits.stride(1), topk_tokens)
torch.ops._C.top_k_per_row_prefill(the same)             the same file in earlier versions
ops.top_k_per_row_decode(logits, next_n, seq_lens,       the same file, indexer_topk.py;
    topk_indices, num_rows, stride(0), stride(1), k)     next_n == 1: models/qwen4_exp
torch.ops._C.top_k_per_row_decode(the same)              tests/kernels/test_top_k_per_row.py,
                                                         seq_lens (B) and next_n > 1
torch.ops._C.persistent_topk(logits, seq_lens,           sparse_attn_indexer.py, indexer_topk.py:
    topk_indices, workspace, k, max_seq_len)             seq_lens (B, next_n) or (B, 1);
torch.ops._C.cooperative_topk(the same)                  models/qwen4_exp/nvidia/ops/qsa.py: (rows)

`ops` is vllm._custom_ops. Paths are below vllm of vllm-project/vllm, main from November 2025
(0.11) to September 2026. topk_indices is a slice of a buffer; parameters of the operators have the
names of csrc/libtorch_stable/torch_bindings.cpp; the results are those of
csrc/libtorch_stable/sampler.cu: positions relative to the row's start.
"""
import sys

import numpy
import pytest
import reference
from compat_servers import VLLM_SCHEMAS, Servers

from topk_jit import InvalidArgumentError, compat


@pytest.fixture
def servers(monkeypatch):
    yield Servers(monkeypatch, hiding=("vllm",))
    compat.vllm.uninstall()


@pytest.fixture
def ops(servers):
    """vllm._custom_ops with topk_jit in it, and torch.ops._C."""
    module = servers.add_vllm()
    compat.vllm.install(deterministic=True)
    return module


def operators():
    return sys.modules["torch"].ops._C


def int32(*values):
    return numpy.array(values, "int32")


def strides(tensor):
    return tensor.strides[0] // tensor.itemsize, tensor.strides[1] // tensor.itemsize


def topk_indices_buffer(rows, topk):
    """What vLLM passes: rows of a buffer that has more of them, filled with -1 before."""
    return numpy.full((rows + 2, topk), -1, "int32")[1 : rows + 1, :topk]


# ---- top_k_per_row_prefill ----


def prefill_case(random):
    logits = random.standard_normal((3, 60)).astype("float32")
    return logits, int32(0, 20, 50), int32(20, 50, 53)


@pytest.mark.parametrize("through", ["function", "operator"])
def test_prefill_writes_positions_relative_to_the_start(ops, random, through):
    logits, starts, ends = prefill_case(random)
    indices = topk_indices_buffer(3, 8)
    call = ops if through == "function" else operators()
    result = call.top_k_per_row_prefill(logits, starts, ends, indices, 3, *strides(logits), 8)
    assert result is None
    assert numpy.array_equal(indices, reference.select(logits, 8, ends - starts, starts))


def test_prefill_takes_the_keywords_of_both(ops, random):
    logits, starts, ends = prefill_case(random)
    stride0, stride1 = strides(logits)
    first, second = topk_indices_buffer(3, 8), topk_indices_buffer(3, 8)
    ops.top_k_per_row_prefill(
        logits=logits, cu_seqlen_ks=starts, cu_seqlen_ke=ends, raw_topk_indices=first,
        num_rows=3, stride0=stride0, stride1=stride1, topk_tokens=8,
    )
    operators().top_k_per_row_prefill(
        logits=logits, rowStarts=starts, rowEnds=ends, indices=second,
        numRows=3, stride0=stride0, stride1=stride1, topK=8,
    )
    assert numpy.array_equal(first, second)
    assert numpy.array_equal(first, reference.select(logits, 8, ends - starts, starts))


def test_prefill_takes_padded_rows_of_logits(ops, random):
    logits = random.standard_normal((3, 80)).astype("float32")[:, :60]
    _, starts, ends = prefill_case(random)
    indices = topk_indices_buffer(3, 8)
    ops.top_k_per_row_prefill(logits, starts, ends, indices, 3, 80, 1, 8)
    assert numpy.array_equal(indices, reference.select(logits, 8, ends - starts, starts))


def test_prefill_of_an_empty_or_reversed_window_writes_padding(ops, random):
    logits, _, _ = prefill_case(random)
    indices = topk_indices_buffer(3, 8)
    indices[:] = 77
    ops.top_k_per_row_prefill(
        logits, int32(0, 9, 60), int32(0, 3, 60), indices, 3, *strides(logits), 8
    )
    assert (indices == -1).all()


def test_prefill_of_fewer_rows_leaves_the_others(ops, random):
    logits, starts, ends = prefill_case(random)
    indices = topk_indices_buffer(3, 8)
    indices[:] = 77
    ops.top_k_per_row_prefill(logits, starts, ends, indices, 2, *strides(logits), 8)
    expected = reference.select(logits, 8, ends - starts, starts)
    assert numpy.array_equal(indices[:2], expected[:2])
    assert (indices[2] == 77).all()


@pytest.mark.parametrize(
    ("rows", "stride0", "stride1"), [(3, 59, 1), (3, 60, 2), (4, 60, 1), (-1, 60, 1)]
)
def test_logits_other_than_the_numbers_say_are_left_to_vllm(
    ops, servers, random, rows, stride0, stride1
):
    logits, starts, ends = prefill_case(random)
    indices = topk_indices_buffer(3, 8)
    ops.top_k_per_row_prefill(logits, starts, ends, indices, rows, stride0, stride1, 8)
    assert [call[0] for call in servers.calls] == ["top_k_per_row_prefill"]
    assert servers.calls[0][5:] == (rows, stride0, stride1, 8)


def test_transposed_logits_are_left_to_vllm(ops, servers, random):
    logits = random.standard_normal((60, 3)).astype("float32").T
    _, starts, ends = prefill_case(random)
    ops.top_k_per_row_prefill(
        logits, starts, ends, topk_indices_buffer(3, 8), 3, *strides(logits), 8
    )
    assert [call[0] for call in servers.calls] == ["top_k_per_row_prefill"]


# ---- top_k_per_row_decode ----


def decode_case(random, rows=4):
    return random.standard_normal((rows, 60)).astype("float32")


@pytest.mark.parametrize("through", ["function", "operator"])
def test_decode_of_one_token_for_each_sequence(ops, random, through):
    logits, seq_lens = decode_case(random), int32(60, 30, 8, 0)
    indices = topk_indices_buffer(4, 8)
    call = ops if through == "function" else operators()
    call.top_k_per_row_decode(logits, 1, seq_lens, indices, 4, *strides(logits), 8)
    assert numpy.array_equal(indices, reference.select(logits, 8, seq_lens))


def test_decode_derives_lengths_of_speculative_tokens(ops, random):
    logits, indices = decode_case(random), topk_indices_buffer(4, 8)
    ops.top_k_per_row_decode(logits, 2, int32(40, 1), indices, 4, *strides(logits), 8)
    assert numpy.array_equal(indices, reference.select(logits, 8, int32(39, 40, 0, 1)))


def test_decode_takes_only_as_many_lengths_as_there_are_sequences(ops, random):
    # As many as rows: without a cut these would be the lengths of the rows.
    logits, indices = decode_case(random), topk_indices_buffer(4, 8)
    ops.top_k_per_row_decode(logits, 2, int32(40, 20, 5, 6), indices, 4, *strides(logits), 8)
    assert numpy.array_equal(indices, reference.select(logits, 8, int32(39, 40, 19, 20)))


@pytest.mark.parametrize("next_n", [1, 2])
def test_decode_takes_lengths_of_rows_in_two_dimensions(ops, random, next_n):
    logits, indices = decode_case(random), topk_indices_buffer(4, 8)
    seq_lens = int32(39, 40, 19, 20).reshape(-1, next_n)
    ops.top_k_per_row_decode(logits, next_n, seq_lens, indices, 4, *strides(logits), 8)
    assert numpy.array_equal(indices, reference.select(logits, 8, seq_lens.reshape(-1)))


def test_decode_derives_lengths_of_one_for_each_sequence_in_two_dimensions(ops, random):
    # indexer_topk.py calls this form the same as one dimension.
    logits, indices = decode_case(random), topk_indices_buffer(4, 8)
    ops.top_k_per_row_decode(logits, 2, int32([40], [20]), indices, 4, *strides(logits), 8)
    assert numpy.array_equal(indices, reference.select(logits, 8, int32(39, 40, 19, 20)))


def test_decode_takes_the_first_of_more_lengths_in_two_dimensions(ops, random):
    logits, indices = decode_case(random), topk_indices_buffer(4, 8)
    seq_lens = int32(39, 40, 19, 20, 7, 8).reshape(3, 2)
    ops.top_k_per_row_decode(logits, 2, seq_lens, indices, 4, *strides(logits), 8)
    assert numpy.array_equal(indices, reference.select(logits, 8, int32(39, 40, 19, 20)))


def test_decode_takes_the_keywords_of_both(ops, random):
    logits, seq_lens = decode_case(random), int32(40, 20)
    stride0, stride1 = strides(logits)
    first, second = topk_indices_buffer(4, 8), topk_indices_buffer(4, 8)
    ops.top_k_per_row_decode(
        logits=logits, next_n=2, seq_lens=seq_lens, raw_topk_indices=first, num_rows=4,
        stride0=stride0, stride1=stride1, topk_tokens=8,
    )
    operators().top_k_per_row_decode(
        logits=logits, next_n=2, seq_lens=seq_lens, indices=second, numRows=4,
        stride0=stride0, stride1=stride1, topK=8,
    )
    assert numpy.array_equal(first, second)
    assert numpy.array_equal(first, reference.select(logits, 8, int32(39, 40, 19, 20)))


def test_rows_that_are_no_whole_sequences_are_left_to_vllm(ops, servers, random):
    logits = decode_case(random)
    ops.top_k_per_row_decode(
        logits, 3, int32(40, 20), topk_indices_buffer(4, 8), 4, *strides(logits), 8
    )
    assert [call[0] for call in servers.calls] == ["top_k_per_row_decode"]


# ---- persistent_topk, cooperative_topk ----

WORKSPACE = numpy.zeros(1024, "uint8")


@pytest.mark.parametrize("name", ["persistent_topk", "cooperative_topk"])
@pytest.mark.parametrize("shape", [(4,), (4, 1), (2, 2)])
def test_lengths_of_rows_in_any_shape(ops, servers, random, name, shape):
    logits, lengths = decode_case(random), int32(60, 30, 8, 0)
    output = topk_indices_buffer(4, 8)
    result = getattr(operators(), name)(
        logits, lengths.reshape(shape), output, WORKSPACE, 8, logits.shape[1]
    )
    assert result is None
    assert numpy.array_equal(output, reference.select(logits, 8, lengths))
    assert servers.calls == []


@pytest.mark.parametrize("name", ["persistent_topk", "cooperative_topk"])
def test_lengths_of_rows_by_keyword(ops, random, name):
    logits, lengths = decode_case(random), int32(60, 30, 8, 0)
    output = topk_indices_buffer(4, 8)
    getattr(operators(), name)(
        logits=logits, lengths=lengths, output=output, workspace=WORKSPACE, k=8, max_seq_len=60
    )
    assert numpy.array_equal(output, reference.select(logits, 8, lengths))


def test_an_operator_taken_before_it_is_called(ops, random):
    # qsa.py chooses one of two and calls it then.
    logits, lengths, output = decode_case(random), int32(60, 30, 8, 0), topk_indices_buffer(4, 8)
    topk_op = operators().cooperative_topk if len(logits) <= 64 else operators().persistent_topk
    topk_op(logits, lengths, output, WORKSPACE, 8, logits.shape[1])
    assert numpy.array_equal(output, reference.select(logits, 8, lengths))


def test_lengths_that_do_not_match_the_rows_are_an_error(ops, random):
    with pytest.raises(InvalidArgumentError, match="lengths"):
        operators().persistent_topk(
            decode_case(random), int32(60, 30), topk_indices_buffer(4, 8), WORKSPACE, 8, 60
        )


# ---- operators ----


def test_a_replaced_operator_has_the_attributes_of_the_original(servers):
    servers.add_vllm()
    before = operators().persistent_topk
    compat.vllm.install()
    assert operators().persistent_topk is not before
    assert operators().persistent_topk.default is before.default


def test_uninstall_gives_the_operators_back(servers):
    servers.add_vllm()
    before = operators().persistent_topk
    compat.vllm.install()
    restored = compat.vllm.uninstall()
    assert operators().persistent_topk is before
    assert "torch.ops._C.persistent_topk" in restored


def test_install_reports_functions_and_operators(servers):
    servers.add_vllm()
    functions = [f"vllm._custom_ops.{name}" for name in list(VLLM_SCHEMAS)[:2]]
    assert sorted(compat.vllm.install()) == sorted(
        functions + [f"torch.ops._C.{name}" for name in VLLM_SCHEMAS]
    )


def test_a_build_without_cooperative_topk(servers):
    schemas = {name: VLLM_SCHEMAS[name] for name in list(VLLM_SCHEMAS)[:3]}
    servers.add_vllm(schemas)
    replaced = compat.vllm.install()
    assert "torch.ops._C.persistent_topk" in replaced
    assert not any("cooperative" in name for name in replaced)
    assert not hasattr(operators(), "cooperative_topk")


def test_an_operator_with_other_parameters_stays(servers):
    # aiter's has one more, for values.
    schemas = {**VLLM_SCHEMAS, "top_k_per_row_prefill": "logits rowStarts rowEnds indices values"}
    servers.add_vllm(schemas)
    assert "torch.ops._C.top_k_per_row_prefill" not in compat.vllm.install()


def test_no_vllm_is_an_import_error(servers, monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(ImportError, match="no top-k of vLLM was found"):
        compat.vllm.install()


def test_torch_for_rocm_is_refused(servers):
    servers.add_vllm()
    sys.modules["torch"].version.hip = "7.0"
    with pytest.raises(RuntimeError, match="ROCm"):
        compat.vllm.install()
