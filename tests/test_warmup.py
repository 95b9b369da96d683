"""`python -m lucid.warmup`: every family has a recipe that runs its kernels, and what it compiles is found by the next process."""
from __future__ import annotations

import importlib.util
import io
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from lucid_kernels.cpu.arrays import loops as arrays_loops
from lucid_kernels.cpu.arrays import strided_copy
from lucid_kernels.cpu.elementwise import elementwise, ternary, ufunc_loops
from lucid_kernels.cpu.indexing import index_select, largest_index
from lucid_kernels.cpu.movement import accumulate
from lucid_kernels.cpu.reduction import strided_sum as reduction_strided_sum

import lucid
from lucid import backends, warmup
from lucid.backends.families import FAMILIES
from lucid.ops.elementwise import fused as _fused

ROOT = pathlib.Path(__file__).resolve().parents[1]
# The optimizers call their multi-tensor forms.
ELSEWHERE = {"sgd", "adam"}


def run(cache: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), str(ROOT / "kernels")])
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=280,
                          env={**os.environ, "PYTHONPATH": path, "LUCID_CACHE_DIR": str(cache)})


@pytest.mark.parametrize("family", FAMILIES)
def test_a_recipe_runs_every_kernel_of_its_family(family: str, device: str) -> None:
    seen = set()
    recipe = warmup.RECIPES[family.rpartition(".")[2]]
    with backends.observe(lambda name, *rest: seen.add(name)):
        recipe(warmup.SMALL, dtype=lucid.float32, device=device)
    missing = set(FAMILIES[family].split()) - seen - ELSEWHERE
    if device == "gpu":  # where one kernel serves all optimizers
        missing -= {"multi_tensor_sgd", "multi_tensor_adam"}
    assert not missing


def test_streaming_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of all elementwise loops, where there are large arrays on a CPU."""
    compiled = []
    monkeypatch.setattr(arrays_loops.Chunked, "compile_streaming", lambda self, *dtypes: compiled.append((self, *dtypes)))
    for device, size in (("gpu", warmup.SMALL), ("gpu", warmup.LARGE), ("cpu", warmup.SMALL)):
        warmup.RECIPES["streaming"](size, dtype=lucid.float32, device=device)
    assert not compiled
    warmup.RECIPES["streaming"](warmup.LARGE, dtype=lucid.float64, device="cpu")
    assert (elementwise.LOOPS["relu"], lucid.float64) in compiled
    assert (elementwise.LOOPS["silu_grad"], lucid.float64) in compiled
    assert (ternary._LOOPS["select"], np.uint8, np.uint64, np.uint64, np.uint64) in compiled


def test_large_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fills, sums of parts and of overlapping ones, and selections of slices too."""
    called = set()
    kernels = ((strided_copy, "_fill_rows"), (accumulate, "_add_rows"), (index_select, "_copy_slices"), (reduction_strided_sum, "_sum_rows"))
    for module, name in kernels:
        kernel = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given, name=name, kernel=kernel: called.add(name) or kernel(*given))
    warmup.RECIPES["copies"](warmup.LARGE, dtype=lucid.float32, device="cpu")
    assert called == {"_fill_rows", "_add_rows", "_copy_slices", "_sum_rows"}


def test_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's loops, which need one kernel for all of them."""
    called = []
    kernel = ufunc_loops._in_parts
    monkeypatch.setattr(ufunc_loops, "_in_parts", lambda *given: called.append(len(given)) or kernel(*given))
    warmup.RECIPES["integers"](warmup.LARGE, dtype=lucid.float32, device="cpu")
    assert called


def test_many_indices(monkeypatch: pytest.MonkeyPatch) -> None:
    called = []
    largest = largest_index.largest
    monkeypatch.setattr(largest_index, "largest", lambda indices: called.append(indices.size) or largest(indices))
    for size in (warmup.SMALL, warmup.LARGE):
        warmup.RECIPES["bounds"](size, dtype=lucid.float32, device="cpu")
    assert called == [warmup.LARGE**2]


def test_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few elements that count as many, for which the kernels are those of `tests/ops/elementwise/test_large.py`."""
    monkeypatch.setattr(_fused, "LARGE", 1)
    monkeypatch.setattr(warmup, "LARGE", 24)
    names: list[str] = []
    with backends.observe(lambda name, *rest: names.append(name)):
        warmup.RECIPES["formulas"](warmup.SMALL, dtype=lucid.float32, device="cpu")
    assert names.count("fused") > 50


@pytest.mark.parametrize(("family", "operation"), {
    "copies": "concatenate", "padding": "pad_grad", "in_place": "silu", "broadcast": "clip", "combination": "lerp", "masks": "nonzero",
    "half_precision": "cast", "integers": "sum", "indices": "gather_grad", "sorting": "topk",
    "small_matrices": "qr_grad", "fourier": "fft_c2r"}.items())
def test_other_recipes(family: str, operation: str, device: str) -> None:
    """They run on any device what a family of operations is about."""
    names = set()
    with backends.observe(lambda name, *rest: names.add(name)):
        warmup.RECIPES[family](warmup.SMALL, dtype=lucid.float32, device=device)
    assert operation in names


def test_the_state_of_random_numbers_is_kept() -> None:
    lucid.manual_seed(7)
    expected = lucid.randn(4)
    lucid.manual_seed(7)
    warmup.warm_up("random", "float32")
    assert lucid.equal(lucid.randn(4), expected)


def test_the_next_process_compiles_nothing(tmp_path: pathlib.Path) -> None:
    done = run(tmp_path, "-m", "lucid.warmup", "half_precision", "bounds", "--dtypes", "float32", "--processes", "1")
    assert done.returncode == 0, done.stderr
    assert "2 families and dtypes" in done.stdout and str(tmp_path) in done.stdout
    lines = [line.partition(": ") for line in done.stderr.splitlines()]  # where there is no terminal
    assert [start for start, _, _ in lines] == ["compiled 1 of 2", "compiled 2 of 2"]
    assert {task for _, _, task in lines} == {"half_precision float32", "bounds float32"}
    code = """
import lucid
from lucid import warmup
from numba.core import event
compiled = []
class Listener(event.Listener):
    def on_start(self, event): compiled.append(event.data['dispatcher'].py_func.__name__)
    def on_end(self, event): pass
event.register('numba:compile', Listener())
warmup.warm_up('half_precision', 'float32')
from lucid_kernels.cpu.arrays import half_precision
print([name for name in compiled if name in vars(half_precision)])
"""
    done = run(tmp_path, "-c", code)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("installed", [True, False])
def test_progress_on_a_terminal(installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar where tqdm is installed, else lines."""
    if installed:
        pytest.importorskip("tqdm")
    else:
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    shown = io.StringIO()
    monkeypatch.setattr(shown, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", shown)
    warmup._show(iter([("softmax", "float32"), ("softmax", "float64")]), 2)
    if installed:
        assert "compiling" in shown.getvalue() and "2/2" in shown.getvalue() and "softmax float64" in shown.getvalue()
    else:
        assert shown.getvalue() == "compiled 1 of 2: softmax float32\ncompiled 2 of 2: softmax float64\n"


def test_progress_of_a_gpu(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[tuple[str, ...]] = []
    monkeypatch.setattr(warmup, "warm_up", lambda *task: calls.append(task))
    warmup._show(warmup._gpu([("softmax", "float32")]), 1)
    assert calls == [("softmax", "float32", "gpu")] and capsys.readouterr().err == "compiled 1 of 1: softmax float32\n"


@pytest.mark.parametrize(("arguments", "message"), [
    (("softmix",), "no such family: softmix; there are elementwise"), (("--dtypes", "int8"), "invalid choice")])
def test_wrong_arguments_say_what_there_is(arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        warmup.main(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
