"""kernels/compile_check.py: CUDA kernels compile with NVRTC, and take no more than their baseline."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
from types import ModuleType

import pytest
from lucid_kernels.simulator import nvrtc

from .conftest import NEEDS_COMPILER

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "kernels" / "compile_check.py"
LOG = """ptxas info    : Compiling entry function '_Z1kIfEvPT_' for 'sm_90'
ptxas info    : Function properties for _Z1kIfEvPT_
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 16 bytes cumulative stack size, 128 bytes smem
ptxas info    : Compiling entry function 'plain' for 'sm_90'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
"""


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("compile_check", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_log_of_ptxas_is_read() -> None:
    assert nvrtc.parse_log(LOG) == {
        "_Z1kIfEvPT_": nvrtc.Resources(registers=40, shared=128, stack=16, spills=20),
        "plain": nvrtc.Resources(registers=8),
    }


def test_more_resources_are_a_problem_and_less_are_not(tool: ModuleType, tmp_path: pathlib.Path) -> None:
    baseline = {"sm_90 f k": tool.Resources(40, 128, 0, 0)}
    tool.write_baseline(tmp_path / "resources.json", baseline)
    assert tool.read_baseline(tmp_path / "resources.json") == baseline
    assert not tool.compare({"sm_90 f k": tool.Resources(46, 128, 0, 0)}, baseline)
    assert not tool.compare({"sm_90 f k": tool.Resources(20, 0, 0, 0)}, baseline)
    assert tool.compare({"sm_90 f k": tool.Resources(47, 128, 0, 0)}, baseline) == ["sm_90 f k: registers 40 -> 47"]
    assert "spills 0 -> 4" in tool.compare({"sm_90 f k": tool.Resources(40, 128, 0, 4)}, baseline)[0]
    assert "not in the baseline" in tool.compare({"sm_90 f new": tool.Resources()}, baseline)[0]


@NEEDS_COMPILER
def test_kernels_compile_within_the_baseline(tool: ModuleType) -> None:
    """Two families for one architecture; `kernels/compile_check.py`, which CI runs too, takes all: a minute of the processor."""
    found, failures = tool.check(["softmax", "embedding"], ["sm_90"])
    assert not failures and found
    baseline = tool.read_baseline(tool.BASELINE)
    assert not tool.compare(found, baseline)
    assert {key.split()[1] for key in baseline} == set(tool.source.names())


@NEEDS_COMPILER
def test_an_error_of_nvrtc_is_reported(tool: ModuleType) -> None:
    with pytest.raises(tool.CompilationError, match=r"bad\.cu\(1\)"):
        tool.Nvrtc().compile("__global__ void k() { x = 1; }", "bad.cu", ["-arch=sm_90"], [])
