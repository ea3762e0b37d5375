# SPDX-License-Identifier: Apache-2.0
"""Every form in which SGLang calls its top-k, on stand-ins for its modules.

form                                                          where SGLang has it
------------------------------------------------------------  -----------------------------------
fast_topk(probs, k, dim=-1)                                   srt/speculative, draft workers
fast_topk(scores.flatten(start_dim=1), k, dim=-1)             srt/speculative/spec_utils.py
fast_topk_v2(logits, lengths, k)                              srt/layers/attention/nsa_backend.py
fast_topk_v2(logits, lengths, k, row_starts=ks or None)       the same, and dsa/dsa_topk_backend.py
fast_topk_transform_fused(score=, lengths=,                   nsa_backend.py, dsa_topk_backend.py:
    page_table_size_1=, cu_seqlens_q=, topk=, row_starts=)    decode, verify, extend
fast_topk_transform_ragged_fused(score=, lengths=,            the same: extend; without row_starts
    topk_indices_offset=, topk=, row_starts=)                 by nsa_indexer.py on dummy logits
topk_transform_512(6 positional, the last raw or None)        dsv4/indexer.py
topk_transform_512_v2(6 positional)                           dsv4/indexer.py, dsa_topk_backend.py
fast_topk(logits, lengths, topk=, row_starts=None)            qsa/qsa_indexer.py
plan_topk_v2(seq_lens), plan_topk_v2(seq_lens, out=)          dsv4/metadata.py, dsa's for graphs
topk_transform_paged_v2(keys, lens, None, out, 1, plan)       dsv4, selection of blocks
topk_transform_paged_v2(6 positional, out_raw_indices=)       dsv4, selection of both
topk_transform_ragged_v2(logits, lens, out_offsets=,          dsa_topk_backend.py; without
    out_indices=, row_starts=)                                    row_starts low_ratio_indexer/
                                                                  deep_gemm_utils.py

Paths are below python/sglang/srt/layers/attention of sgl-project/sglang, main from October 2025
(sgl-kernel 0.3.9) to September 2026, where no other is given.
"""
import sys

import numpy
import pytest
import reference
from compat_servers import SGLANG_PAGED, SGLANG_ROWS, Servers

from topk_jit import compat


@pytest.fixture
def servers(monkeypatch):
    yield Servers(monkeypatch, hiding=("sgl_kernel", "sglang"))
    compat.sglang.uninstall()


@pytest.fixture
def kernel(servers):
    module = servers.add_sgl_kernel()
    compat.sglang.install(deterministic=True)
    return module


def int32(*values):
    return numpy.array(values, "int32")


def poisoned(rows, topk):
    return numpy.full((rows, topk), 77, "int32")


def slots(raw, table, page_size):
    pages = numpy.take_along_axis(table, numpy.maximum(raw, 0) // page_size, 1)
    return numpy.where(raw < 0, -1, pages * page_size + raw % page_size)


# ---- sgl_kernel.top_k ----


def test_fast_topk_of_draft_probabilities(kernel, random):
    probs = random.random((3, 40)).astype("float32")
    topk_p, topk_index = kernel.fast_topk(probs, 4, dim=-1)
    expected = numpy.argsort(-probs, axis=-1, kind="stable")[:, :4]
    assert numpy.array_equal(topk_index, expected)
    assert numpy.array_equal(topk_p, numpy.take_along_axis(probs, expected, -1))


def test_fast_topk_of_one_keeps_the_dimension(kernel, random):
    result = kernel.fast_topk(random.random((3, 40)).astype("float32"), 1, dim=-1)
    assert result.values.shape == result.indices.shape == (3, 1)


def test_fast_topk_of_nothing_is_left_to_the_original(kernel, servers):
    values = numpy.zeros((2, 4), "float32")
    assert kernel.fast_topk(values, 0, -1) == "original fast_topk"
    assert [call[0] for call in servers.calls] == ["fast_topk"]


def test_fast_topk_v2_of_a_decode_batch(kernel, random):
    logits = random.standard_normal((3, 64)).astype("float32")
    lengths = int32(64, 9, 0)
    indices = kernel.fast_topk_v2(logits, lengths, 16)
    assert indices.dtype == numpy.int32
    assert numpy.array_equal(indices, reference.select(logits, 16, lengths))


@pytest.mark.parametrize("row_starts", [None, int32(0, 20, 40)])
def test_fast_topk_v2_with_row_starts_by_keyword(kernel, random, row_starts):
    logits, lengths = random.standard_normal((3, 64)).astype("float32"), int32(20, 20, 24)
    indices = kernel.fast_topk_v2(logits, lengths, 16, row_starts=row_starts)
    assert numpy.array_equal(indices, reference.select(logits, 16, lengths, row_starts))


@pytest.mark.parametrize("row_starts", [None, int32(0, 20, 40)])
def test_fast_topk_of_rows(servers, random, row_starts):
    module = servers.add("sglang.kernels.ops.attention.fast_topk", SGLANG_ROWS)
    assert compat.sglang.install() == ["sglang.kernels.ops.attention.fast_topk.fast_topk"]
    logits, lengths = random.standard_normal((3, 64)).astype("float32"), int32(20, 20, 24)
    indices = module.fast_topk(logits, lengths, topk=16, row_starts=row_starts)
    assert numpy.array_equal(indices, reference.select(logits, 16, lengths, row_starts))
    compat.sglang.uninstall()
    assert module.fast_topk(logits, lengths, 16) == "original fast_topk"


def test_transform_fused_of_a_decode_batch(kernel, random):
    score, lengths = random.standard_normal((3, 64)).astype("float32"), int32(64, 30, 5)
    table = random.permutation(3 * 64).reshape(3, 64).astype("int32")
    got = kernel.fast_topk_transform_fused(
        score=score, lengths=lengths, page_table_size_1=table, cu_seqlens_q=int32(0, 1, 2, 3),
        topk=16, row_starts=None,
    )
    assert numpy.array_equal(got, slots(reference.select(score, 16, lengths), table, 1))


def test_transform_fused_does_not_read_cu_seqlens_q_in_decoding(kernel, random):
    # Padded batches of a CUDA graph: the kernel of sgl_kernel takes table row i for row i.
    score, lengths = random.standard_normal((3, 64)).astype("float32"), int32(64, 30, 5)
    table = random.permutation(3 * 64).reshape(3, 64).astype("int32")
    got = kernel.fast_topk_transform_fused(score, lengths, table, int32(0, 1, 1, 1), 16)
    assert numpy.array_equal(got, slots(reference.select(score, 16, lengths), table, 1))


def test_transform_fused_of_a_verify_batch(kernel, random):
    score, lengths = random.standard_normal((4, 64)).astype("float32"), int32(63, 64, 31, 32)
    table = random.permutation(2 * 64).reshape(2, 64).astype("int32")
    got = kernel.fast_topk_transform_fused(
        score=score, lengths=lengths, page_table_size_1=table, cu_seqlens_q=int32(0, 2, 4),
        topk=16, row_starts=None,
    )
    raw = reference.select(score, 16, lengths)
    assert numpy.array_equal(got, slots(raw, table[[0, 0, 1, 1]], 1))


def test_transform_fused_of_an_extend_batch(kernel, random):
    score, lengths = random.standard_normal((3, 60)).astype("float32"), int32(29, 30, 30)
    starts = int32(0, 0, 30)
    table = random.permutation(2 * 30).reshape(2, 30).astype("int32")
    got = kernel.fast_topk_transform_fused(
        score=score, lengths=lengths, page_table_size_1=table, cu_seqlens_q=int32(0, 2, 3),
        topk=16, row_starts=starts,
    )
    raw = reference.select(score, 16, lengths, starts)
    assert numpy.array_equal(got, slots(raw, table[[0, 0, 1]], 1))


def test_transform_ragged_fused_of_an_extend_batch(kernel, random):
    score, lengths = random.standard_normal((3, 60)).astype("float32"), int32(29, 30, 30)
    starts = int32(0, 0, 30)
    got = kernel.fast_topk_transform_ragged_fused(
        score=score, lengths=lengths, topk_indices_offset=starts, topk=16, row_starts=starts
    )
    raw = reference.select(score, 16, lengths, starts)
    assert numpy.array_equal(got, numpy.where(raw < 0, -1, raw + starts[:, None]))


def test_transform_ragged_fused_of_dummy_logits_takes_all(kernel):
    # Logits as wide as topk that nobody computed, where no row is longer.
    got = kernel.fast_topk_transform_ragged_fused(
        score=numpy.zeros((2, 16), "float32"), lengths=int32(3, 16),
        topk_indices_offset=int32(0, 100), topk=16, row_starts=None,
    )
    assert got[0].tolist() == [0, 1, 2] + [-1] * 13
    assert got[1].tolist() == list(range(100, 116))


@pytest.mark.parametrize("name", ["fast_topk_v2", "fast_topk_transform_ragged_fused"])
def test_arguments_of_a_later_version_are_left_to_the_original(servers, name):
    source = f"def {name}(*args, **kwargs): return note('{name}', *args, *kwargs)"
    module = servers.add_sgl_kernel(source)
    compat.sglang.install()
    score = numpy.zeros((1, 4), "float32")
    more = [int32(0)] if name.endswith("ragged_fused") else []
    assert getattr(module, name)(score, int32(4), *more, 2, later=True) == f"original {name}"
    assert servers.calls[0][-1] == "later"


# ---- the paged entry of decoding ----


def paged_case(random):
    logits = random.standard_normal((3, 64)).astype("float32")
    lengths = int32(64, 30, 5)
    table = random.permutation(12).reshape(3, 4).astype("int32")
    raw = reference.select(logits, 8, lengths)
    return logits, lengths, table, raw, slots(raw, table, 16)


def the(name, module):
    """A function of the paged entry by the name that the module has for it."""
    return getattr(module, name, None) or getattr(module, name.replace("_512", "_paged"))


@pytest.fixture(params=SGLANG_PAGED)
def paged(request, servers):
    module = servers.add_paged(request.param)
    compat.sglang.install(deterministic=True)
    return module


@pytest.mark.parametrize("with_raw", [False, True])
def test_topk_transform_512(paged, random, with_raw):
    logits, lengths, table, raw, expected = paged_case(random)
    out, raw_out = poisoned(3, 8), poisoned(3, 8) if with_raw else None
    assert the("topk_transform_512", paged)(logits, lengths, table, out, 16, raw_out) is None
    assert numpy.array_equal(out, expected)
    assert raw_out is None or numpy.array_equal(raw_out, raw)


def test_topk_transform_512_v2_after_its_plan(paged, servers, random):
    logits, lengths, table, _, expected = paged_case(random)
    plan = paged.plan_topk_v2(lengths)
    assert plan.shape == (4, vars(paged)["_PLAN_METADATA_INTS_PER_BATCH"])
    assert plan.dtype == numpy.int32
    out = poisoned(3, 8)
    the("topk_transform_512_v2", paged)(logits, lengths, table, out, 16, plan)
    assert numpy.array_equal(out, expected)
    assert servers.calls == []


def test_topk_transform_512_v2_writes_raw_indices(paged, random):
    logits, lengths, table, raw, expected = paged_case(random)
    out, raw_out = poisoned(3, 8), poisoned(3, 8)
    the("topk_transform_512_v2", paged)(
        logits, lengths, table, out, 16, None, out_raw_indices=raw_out
    )
    assert numpy.array_equal(out, expected)
    assert numpy.array_equal(raw_out, raw)


@pytest.mark.parametrize("version", ["kernels", "renamed"])
def test_a_plan_that_is_given_is_the_plan(servers, version):
    module = servers.add_paged(version)
    compat.sglang.install()
    plan = numpy.full((4, 2), 77, "int32")
    assert module.plan_topk_v2(int32(1, 2, 3), out=plan) is plan
    assert module.plan_topk_v2(int32(1, 2, 3), 0, plan) is plan
    assert plan[0].tolist() == [2**31 - 1, 0]


def test_a_plan_routes_no_row_to_clusters(paged):
    # So that a transform of SGLang's that is not replaced does the row itself.
    plan = paged.plan_topk_v2(int32(1, 2, 3))
    assert plan[0, 0] == 2**31 - 1
    assert not plan[0, 1:].any()


def test_topk_transform_paged_v2_without_a_table_writes_positions(servers, random):
    module = servers.add_paged("renamed")
    compat.sglang.install(deterministic=True)
    logits, lengths, _, raw, _ = paged_case(random)
    out = poisoned(3, 8)
    module.topk_transform_paged_v2(logits, lengths, None, out, 1, module.plan_topk_v2(lengths))
    assert numpy.array_equal(out, raw)


@pytest.mark.parametrize("starts", [None, int32(0, 20, 40)])
def test_topk_transform_ragged_v2(servers, random, starts):
    module = servers.add_paged("renamed")
    compat.sglang.install(deterministic=True)
    logits, lengths = random.standard_normal((3, 64)).astype("float32"), int32(20, 20, 24)
    offsets, out = int32(5, 6, 7), poisoned(3, 8)
    more = {} if starts is None else {"row_starts": starts}
    module.topk_transform_ragged_v2(logits, lengths, out_offsets=offsets, out_indices=out, **more)
    assert numpy.array_equal(out, reference.select(logits, 8, lengths, starts) + offsets[:, None])


@pytest.mark.parametrize("name", ["topk_transform_512", "topk_transform_512_v2"])
def test_an_unknown_keyword_goes_to_the_original(servers, random, name):
    module = servers.add_paged("kernels")
    exec(f"def {name}(*args, **kwargs): return note('later', *args, *kwargs)", vars(module))
    compat.sglang.install()
    logits, lengths, table, _, _ = paged_case(random)
    plan = [module.plan_topk_v2(lengths)] if name.endswith("v2") else []
    result = getattr(module, name)(
        logits, lengths, table, poisoned(3, 8), 16, *plan, gather_lens=lengths
    )
    assert result == "original later"
    assert servers.calls[0][-1] == "gather_lens"


def test_an_unknown_keyword_of_the_ragged_form_goes_to_the_original(servers):
    module = servers.add_paged("renamed")
    exec("def topk_transform_ragged_v2(*args, **kwargs): return note(*kwargs)", vars(module))
    compat.sglang.install()
    result = module.topk_transform_ragged_v2(
        1, 2, out_offsets=3, out_indices=numpy.zeros((1, 4), "int32"), block_mask=5
    )
    assert result == "original out_offsets"


READER = """
def topk_transform_extend_v2(scores, lengths, row_starts, out, metadata, max_seq_len):
    return note("topk_transform_extend_v2", metadata)
"""


def test_plans_stay_where_something_else_reads_them(servers):
    module = servers.add_paged("kernels", more=READER)
    replaced = compat.sglang.install()
    assert not any(name.endswith("plan_topk_v2") for name in replaced)
    assert "sglang.kernels.ops.attention.dsv4.topk.topk_transform_512_v2" in replaced
    assert module.plan_topk_v2(int32(1)) == "original plan_topk_v2"


def test_a_function_with_other_parameters_stays(servers):
    module = servers.add_sgl_kernel(
        "def fast_topk_v2(score, indices, lengths, topk): return note('other')\n"
        "def fast_topk(values, topk, dim): return note('fast_topk')\n"
    )
    assert compat.sglang.install() == ["sgl_kernel.top_k.fast_topk", "sgl_kernel.fast_topk"]
    assert module.fast_topk_v2(1, 2, 3, 4) == "original other"


# ---- what install() reports ----


def test_install_reports_every_place(servers):
    servers.add_sgl_kernel()
    servers.add_paged("renamed")
    four = ["fast_topk", "fast_topk_v2", "fast_topk_transform_fused",
            "fast_topk_transform_ragged_fused"]
    paged = ["plan_topk_v2", "topk_transform_paged", "topk_transform_paged_v2",
             "topk_transform_ragged_v2"]
    kernel, package = "sgl_kernel", "sglang.kernels.ops.attention.dsv4"
    expected = [f"{module}.{name}" for module in (kernel, kernel + ".top_k") for name in four]
    expected += [f"{module}.{name}" for module in (package, package + ".topk") for name in paged]
    assert sorted(compat.sglang.install()) == sorted(expected)


def test_nothing_to_install_into_is_an_import_error(servers):
    with pytest.raises(ImportError, match="no top-k of SGLang was found"):
        compat.sglang.install()


def test_the_paged_entry_alone_is_enough(servers):
    servers.add_paged("dsv4")
    assert "sglang.jit_kernel.dsv4.topk_transform_512" in compat.sglang.install()


# ---- standalone ----


def test_standalone_registers_a_module_with_the_four(servers, random):
    assert compat.sglang.install(standalone=True) == ["sgl_kernel", "sgl_kernel.top_k"]
    import sgl_kernel
    from sgl_kernel.top_k import fast_topk_v2

    assert [name for name in dir(sgl_kernel) if not name.startswith("_")] == [
        "fast_topk", "fast_topk_transform_fused", "fast_topk_transform_ragged_fused",
        "fast_topk_v2", "top_k",
    ]
    score = random.standard_normal((2, 30)).astype("float32")
    assert fast_topk_v2(score, int32(30, 3), 4).shape == (2, 4)


def test_standalone_has_no_original_to_call(servers):
    compat.sglang.install(standalone=True)
    import sgl_kernel

    with pytest.raises(compat.UnmappedCallError, match="fast_topk: topk is 0"):
        sgl_kernel.fast_topk(numpy.zeros((2, 4), "float32"), 0, -1)


def test_standalone_does_not_hide_a_module_that_is_there(servers):
    servers.add_sgl_kernel()
    with pytest.raises(RuntimeError, match="sgl_kernel is imported already"):
        compat.sglang.install(standalone=True)


def test_uninstall_takes_the_registered_module_away(servers):
    compat.sglang.install(standalone=True)
    assert compat.sglang.uninstall() == ["sgl_kernel", "sgl_kernel.top_k"]
    assert "sgl_kernel" not in sys.modules
