# SPDX-License-Identifier: Apache-2.0
"""How functions of servers are replaced and given back, on stand-ins for SGLang's modules."""
import importlib.util
import sys
import threading
import types

import pytest
from compat_servers import Servers

from topk_jit import compat


@pytest.fixture
def servers(monkeypatch):
    yield Servers(monkeypatch, hiding=("sgl_kernel", "sglang"))
    compat.sglang.uninstall()


@pytest.fixture
def kernel(servers):
    return servers.add_sgl_kernel()


def test_a_name_that_was_imported_before_is_replaced(servers, kernel):
    original = kernel.fast_topk_v2
    user = servers.add("user", "from sgl_kernel import fast_topk_v2, fast_topk_v2 as another")
    replaced = compat.sglang.install()
    assert user.fast_topk_v2 is kernel.fast_topk_v2 is user.another is not original
    assert {"user.fast_topk_v2", "user.another"} <= set(replaced)


def test_a_name_that_is_imported_later_is_the_replacement(servers, kernel):
    compat.sglang.install()
    user = servers.add("user", "from sgl_kernel.top_k import fast_topk_v2")
    assert user.fast_topk_v2 is kernel.fast_topk_v2


def test_an_equal_object_that_is_not_the_same_stays(servers, kernel):
    class Equal:
        def __eq__(self, other):
            return True

        __hash__ = None

    equal = Equal()
    user = servers.add("user", fast_topk_v2=equal)
    compat.sglang.install()
    assert user.fast_topk_v2 is equal


def test_uninstall_restores_what_was_there(servers, kernel):
    before = dict(vars(kernel))
    user = servers.add("user", "from sgl_kernel import fast_topk_v2")
    replaced = compat.sglang.install()
    assert dict(vars(kernel)) != before
    assert sorted(compat.sglang.uninstall()) == sorted(replaced)
    assert dict(vars(kernel)) == before
    assert user.fast_topk_v2 is before["fast_topk_v2"]


def test_uninstall_restores_what_was_imported_since(servers, kernel):
    original = kernel.fast_topk_v2
    compat.sglang.install()
    user = servers.add("user", "from sgl_kernel import fast_topk_v2 as later")
    assert "user.later" in compat.sglang.uninstall()
    assert user.later is original


def test_uninstall_leaves_what_was_put_on_top_and_says_so(servers, kernel):
    original = kernel.fast_topk
    compat.sglang.install()
    theirs = kernel.fast_topk_v2 = lambda *args: None
    with pytest.warns(RuntimeWarning, match=r"left as they are.* sgl_kernel\.fast_topk_v2$"):
        restored = compat.sglang.uninstall()
    assert kernel.fast_topk_v2 is theirs
    assert "sgl_kernel.fast_topk_v2" not in restored
    assert kernel.fast_topk is original


def test_uninstall_says_so_when_a_name_is_gone(servers, kernel):
    compat.sglang.install()
    del kernel.fast_topk_v2
    with pytest.warns(RuntimeWarning, match=r"sgl_kernel\.fast_topk_v2"):
        compat.sglang.uninstall()
    assert not hasattr(kernel, "fast_topk_v2")


def test_installing_again_on_top_of_theirs_ends_at_the_original(servers, kernel):
    compat.sglang.install()
    ours = kernel.fast_topk
    kernel.fast_topk = lambda values, topk, dim: ours(values, topk, dim)
    with pytest.warns(RuntimeWarning):
        compat.sglang.uninstall()
    compat.sglang.install()
    values = types.SimpleNamespace(dtype="float32")
    assert kernel.fast_topk(values, 0, -1) == "original fast_topk"


def test_a_second_install_does_nothing(servers, kernel):
    first = compat.sglang.install()
    replacement = kernel.fast_topk_v2
    assert compat.sglang.install() == first
    assert kernel.fast_topk_v2 is replacement


def test_a_second_install_leaves_what_was_put_on_top(servers, kernel):
    compat.sglang.install()
    replacement = kernel.fast_topk_v2
    theirs = kernel.fast_topk_v2 = lambda *args: None
    compat.sglang.install()
    assert kernel.fast_topk_v2 is theirs
    kernel.fast_topk_v2 = replacement


def test_other_arguments_are_refused_while_it_is_installed(servers, kernel):
    compat.sglang.install()
    with pytest.raises(RuntimeError, match=r"uninstall\(\) first"):
        compat.sglang.install(deterministic=True)
    compat.sglang.uninstall()
    assert compat.sglang.install(deterministic=True)


def test_a_second_uninstall_does_nothing(servers, kernel):
    compat.sglang.install()
    compat.sglang.uninstall()
    assert compat.sglang.uninstall() == []


def test_an_attribute_that_is_computed_is_not_asked_for(servers, kernel):
    asked = []

    class Curious(types.ModuleType):
        def __getattr__(self, name):
            asked.append(name)
            raise RuntimeError("never ask")

    sys.modules["curious"] = Curious("curious")
    try:
        compat.sglang.install()
        compat.sglang.uninstall()
    finally:
        del sys.modules["curious"]
    assert asked == []


def test_a_lazy_module_stays_unloaded(servers, kernel, tmp_path, monkeypatch):
    (tmp_path / "lazy_one.py").write_text("raise RuntimeError('never load')\n")
    path = tmp_path / "lazy_one.py"
    spec = importlib.util.spec_from_file_location("lazy_one", path)
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(sys.modules, "lazy_one", module)
    compat.sglang.install()
    compat.sglang.uninstall()
    assert object.__getattribute__(module, "__class__").__name__ == "_LazyModule"


def test_entries_of_sys_modules_that_are_no_modules_are_passed_over(servers, kernel, monkeypatch):
    monkeypatch.setitem(sys.modules, "blocked", None)
    monkeypatch.setitem(sys.modules, "odd", types.SimpleNamespace(name=kernel.fast_topk_v2))
    assert not any(name.startswith("odd") for name in compat.sglang.install())


def test_threads_that_install_at_once_replace_once(servers, kernel):
    original = kernel.fast_topk
    barrier, results = threading.Barrier(8), []

    def run():
        barrier.wait()
        results.append(compat.sglang.install())

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    assert all(result == results[0] for result in results)
    compat.sglang.uninstall()
    assert kernel.fast_topk is original


def test_importing_compat_imports_no_server(run_python):
    out = run_python(
        "import sys, topk_jit.compat\n"
        "print([name for name in ('torch', 'vllm', 'sglang', 'sgl_kernel') if name in sys.modules])"
    )
    assert out.strip() == "[]"
