"""kernels/compile_check.py: CUDA kernels compile with NVRTC, and take no more than their baseline."""

from __future__ import annotations

import importlib.util
import pathlib
import subprocess
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
    tool.write_baseline(tmp_path / "resources.json", baseline, {"sm_90 f": "1f"})
    assert tool.read_baseline(tmp_path / "resources.json") == baseline
    assert tool.read_digests(tmp_path / "resources.json") == {"sm_90 f": "1f"}
    assert not tool.compare({"sm_90 f k": tool.Resources(46, 128, 0, 0)}, baseline)
    assert not tool.compare({"sm_90 f k": tool.Resources(20, 0, 0, 0)}, baseline)
    assert tool.compare({"sm_90 f k": tool.Resources(47, 128, 0, 0)}, baseline) == ["sm_90 f k: registers 40 -> 47"]
    assert "spills 0 -> 4" in tool.compare({"sm_90 f k": tool.Resources(40, 128, 0, 4)}, baseline)[0]
    assert "not in the baseline" in tool.compare({"sm_90 f new": tool.Resources()}, baseline)[0]


@NEEDS_COMPILER
def test_kernels_compile_within_the_baseline(tool: ModuleType) -> None:
    """Two families for one architecture; `kernels/compile_check.py` takes all. In a process of its own, as it runs: NVRTC has ended
    one that had done much else.
    """
    done = subprocess.run([sys.executable, str(SCRIPT), "softmax", "embedding", "--arch", "sm_90"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    baseline = tool.read_baseline(tool.BASELINE)
    assert {key.split()[1] for key in baseline} == set(tool.source.names())


def test_a_changed_family_is_compiled_again(
    tool: ModuleType, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And no other one; a new compiler changes all."""
    version, compiled = "13.0", []

    class Nvrtc:
        @property
        def version(self) -> str:
            return version

    def check(jobs: list[tuple[str, str]], processes: int = 1) -> tuple[dict[str, object], list[str]]:
        compiled.append(jobs)
        return {f"{' '.join(job)} k": tool.Resources(registers=8) for job in jobs}, []

    texts = {"first": "a", "second": "b"}
    monkeypatch.setattr(tool, "BASELINE", tmp_path / "resources.json")
    monkeypatch.setattr(tool, "Nvrtc", Nvrtc)
    monkeypatch.setattr(tool, "check", check)
    monkeypatch.setattr(tool.source, "names", lambda: tuple(texts))
    monkeypatch.setattr(tool.source, "load", texts.get)

    def run(*options: str) -> int:
        monkeypatch.setattr(sys, "argv", ["compile_check.py", "--arch", "sm_90", *options])
        result: int = tool.main()
        return result

    assert run("--update") == run("--changed") == 0
    texts["second"] = "c"
    assert run("--changed") == run("--changed", "--update") == run("--changed") == 0
    version = "13.1"
    assert run("--changed") == 0
    both = [("sm_90", "first"), ("sm_90", "second")]
    assert compiled == [both, [], both[1:], both[1:], [], both]


@NEEDS_COMPILER
def test_an_error_of_nvrtc_is_reported(tool: ModuleType) -> None:
    with pytest.raises(tool.CompilationError, match=r"bad\.cu\(1\)"):
        tool.Nvrtc().compile("__global__ void k() { x = 1; }", "bad.cu", ["-arch=sm_90"], [])
