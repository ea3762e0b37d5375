# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for the modules of SGLang and vLLM: the names and parameters of their functions.

Each function notes that it was called instead of computing anything.
"""
import sys
import types

SGL_KERNEL = """
def fast_topk(values, topk, dim):
    return note("fast_topk", values, topk, dim)

def fast_topk_v2(score, lengths, topk, row_starts=None):
    return note("fast_topk_v2", score, lengths, topk, row_starts)

def fast_topk_transform_fused(
    score, lengths, page_table_size_1, cu_seqlens_q, topk, row_starts=None
):
    return note("fast_topk_transform_fused", score)

def fast_topk_transform_ragged_fused(
    score, lengths, topk_indices_offset, topk, row_starts=None
):
    return note("fast_topk_transform_ragged_fused", score)

def deepseek_v4_topk_transform_512(
    scores, seq_lens, page_table, page_indices, page_size, raw_indices=None
):
    return note("deepseek_v4_topk_transform_512", scores)
"""

_TRANSFORM = """
def {name}(
    scores, seq_lens, page_tables, out_page_indices, page_size, out_raw_indices=None
):
    return note("{name}", scores)
"""
_TRANSFORM_V2 = """
def {name}(
    scores, seq_lens, page_tables, out_page_indices, page_size, metadata, out_raw_indices=None
):
    return note("{name}", scores, metadata)
"""
_PLAN = """
_PLAN_METADATA_INTS_PER_BATCH = 2

def plan_topk_v2(seq_lens, static_threshold=0, out=None):
    return note("plan_topk_v2", seq_lens)
"""

# How the paged entry went through versions of SGLang: the modules that have it, and their contents.
SGLANG_PAGED = {
    # python/sglang/jit_kernel/deepseek_v4.py at 02d8edad
    "deepseek_v4": (
        ["sglang.jit_kernel.deepseek_v4"],
        _TRANSFORM.format(name="topk_transform_512")
        + """
_PLAN_METADATA_INTS_PER_BATCH = 4

def plan_topk_v2(seq_lens, static_threshold=0):
    return note("plan_topk_v2", seq_lens)

def topk_transform_512_v2(
    scores, seq_lens, page_tables, out_page_indices, page_size, metadata
):
    return note("topk_transform_512_v2", scores, metadata)
""",
    ),
    # python/sglang/jit_kernel/dsv4/topk.py at 05adf942
    "dsv4": (
        ["sglang.jit_kernel.dsv4.topk", "sglang.jit_kernel.dsv4"],
        _TRANSFORM.format(name="topk_transform_512")
        + _PLAN.replace(", out=None", "")
        + _TRANSFORM_V2.format(name="topk_transform_512_v2"),
    ),
    # python/sglang/kernels/ops/attention/dsv4/topk.py at 03c7266d
    "kernels": (
        ["sglang.kernels.ops.attention.dsv4.topk", "sglang.kernels.ops.attention.dsv4"],
        _TRANSFORM.format(name="topk_transform_512")
        + _PLAN
        + _TRANSFORM_V2.format(name="topk_transform_512_v2"),
    ),
    # The same file after the pull requests sgl-project/sglang 35041, 35175 and 37889
    "renamed": (
        ["sglang.kernels.ops.attention.dsv4.topk", "sglang.kernels.ops.attention.dsv4"],
        _TRANSFORM.format(name="topk_transform_paged")
        + _PLAN
        + _TRANSFORM_V2.format(name="topk_transform_paged_v2")
        + """
def topk_transform_ragged_v2(
    scores, seq_lens, *, out_offsets, out_indices, row_starts=None
):
    return note("topk_transform_ragged_v2", scores)

def topk_transform_packed_v2(
    scores, seq_lens, page_tables, out_page_indices, page_size, *, row_starts, row_to_batch=None
):
    return note("topk_transform_packed_v2", scores)
""",
    ),
}

# python/sglang/kernels/ops/attention/fast_topk.py of SGLang 0.5.23
SGLANG_ROWS = """
def fast_topk(score, lengths, topk, row_starts=None):
    return note("fast_topk", score, lengths, topk, row_starts)
"""

# vllm/_custom_ops.py
VLLM_CUSTOM_OPS = """
import torch

def top_k_per_row_prefill(
    logits, cu_seqlen_ks, cu_seqlen_ke, raw_topk_indices, num_rows, stride0, stride1, topk_tokens
):
    torch.ops._C.top_k_per_row_prefill(
        logits, cu_seqlen_ks, cu_seqlen_ke, raw_topk_indices, num_rows, stride0, stride1,
        topk_tokens,
    )

def top_k_per_row_decode(
    logits, next_n, seq_lens, raw_topk_indices, num_rows, stride0, stride1, topk_tokens
):
    torch.ops._C.top_k_per_row_decode(
        logits, next_n, seq_lens, raw_topk_indices, num_rows, stride0, stride1, topk_tokens
    )
"""

# csrc/libtorch_stable/torch_bindings.cpp
VLLM_SCHEMAS = {
    "top_k_per_row_prefill": "logits rowStarts rowEnds indices numRows stride0 stride1 topK",
    "top_k_per_row_decode": "logits next_n seq_lens indices numRows stride0 stride1 topK",
    "persistent_topk": "logits lengths output workspace k max_seq_len",
    "cooperative_topk": "logits lengths output workspace k max_seq_len",
}


class Overload:
    """As torch._ops.OpOverload, as far as it is asked."""

    def __init__(self, names):
        self._schema = types.SimpleNamespace(
            arguments=[types.SimpleNamespace(name=name) for name in names.split()]
        )


class Operator:
    """As torch._ops.OpOverloadPacket: callable, with an overload `default` that has the schema."""

    def __init__(self, name, names, note):
        self._name, self._note, self.default = name, note, Overload(names)

    def __call__(self, *args, **kwargs):
        return self._note(self._name, *args, *kwargs.values())


class OperatorNamespace(types.ModuleType):
    """As torch._ops._OpNamespace: looks an operator up once and keeps it as an attribute."""

    def __init__(self, schemas, note):
        super().__init__("torch.ops._C")
        self._schemas, self._note = schemas, note

    def __getattr__(self, name):
        if name not in self.__dict__.get("_schemas", ()):
            raise AttributeError(f"'_OpNamespace' '_C' object has no attribute '{name}'")
        operator = Operator(name, self._schemas[name], self._note)
        setattr(self, name, operator)
        return operator


class Servers:
    """Puts stand-ins into sys.modules, by way of pytest's monkeypatch.

    Attributes:
        calls: name and arguments of every call that reached a stand-in.
    """

    def __init__(self, monkeypatch, hiding=()):
        """Packages that are hidden seem not to be imported."""
        self._monkeypatch = monkeypatch
        self.calls = []
        for name in list(sys.modules):
            if name.partition(".")[0] in hiding:
                monkeypatch.delitem(sys.modules, name)

    def note(self, name, *args):
        self.calls.append((name, *args))
        return f"original {name}"

    def add(self, name, source="", **contents):
        """One module, and the packages that it is in."""
        package = name.rpartition(".")[0]
        if package and package not in sys.modules:
            self.add(package)
        module = sys.modules.get(name)
        if module is None:
            module = types.ModuleType(name)
            module.__path__ = []
            self._monkeypatch.setitem(sys.modules, name, module)
        if package:
            setattr(sys.modules[package], name.rpartition(".")[2], module)
        module.note = self.note
        exec(compile(source, name, "exec"), module.__dict__)
        vars(module).update(contents)
        return module

    def add_sgl_kernel(self, source=SGL_KERNEL):
        """sgl_kernel.top_k, and sgl_kernel that imports from it."""
        module = self.add("sgl_kernel.top_k", source)
        names = {key: value for key, value in vars(module).items() if key.startswith("fast_topk")}
        return self.add("sgl_kernel", **names)

    def add_paged(self, version, more=""):
        """The module of a version of SGLang that has the paged entry."""
        names, source = SGLANG_PAGED[version]
        module = self.add(names[0], source + more)
        contents = {key: value for key, value in vars(module).items() if "topk" in key}
        for name in names[1:]:
            self.add(name, **{**contents, "topk": module})
        return module

    def add_vllm(self, schemas=None):
        """vllm._custom_ops, and torch with torch.ops._C."""
        schemas = VLLM_SCHEMAS if schemas is None else schemas
        torch = types.ModuleType("torch")
        torch.compiler = types.SimpleNamespace(is_dynamo_compiling=lambda: False)
        torch.version = types.SimpleNamespace(hip=None)
        torch.ops = types.SimpleNamespace(_C=OperatorNamespace(schemas, self.note))
        self._monkeypatch.setitem(sys.modules, "torch", torch)
        return self.add("vllm._custom_ops", VLLM_CUSTOM_OPS)
