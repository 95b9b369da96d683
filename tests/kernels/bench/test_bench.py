"""The benchmarks run and compute the right things. Times are never asserted."""
from __future__ import annotations

import json
import math
import os
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from bench import environment, run
from bench.case import Side, largest_error, load
from bench.driver import header, row
from bench.timing import measure_block

ROOT = pathlib.Path(__file__).resolve().parents[3]


def script(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run kernels/bench/run.py as a user does."""
    variables = {name: value for name, value in os.environ.items() if name != "LUCID_GPU"} | variables
    return subprocess.run([sys.executable, str(ROOT / "kernels" / "bench" / "run.py"), *arguments], capture_output=True,
                          text=True, env=variables)


@pytest.mark.parametrize("side", ["ours", "numpy"])
@pytest.mark.parametrize("family", [*run.KERNELS, *run.LIBRARY])
def test_every_case_computes_the_right_result(family: str, side: str) -> None:
    seen = 0
    here = Side(side, quick=True)
    for case in load(family, here):
        seen += 1
        if case.call is not None:
            case.call()
            error = largest_error(here, case)
            assert error is None or error < 1e-3, case.name
    assert seen


@pytest.mark.parametrize("family", run.KERNELS)
def test_the_sides_have_the_same_cases(family: str) -> None:
    names = [[(case.name, case.bytes, case.flops) for case in load(family, Side(side, quick=True))]
             for side in ("ours", "numpy")]
    assert names[0] == names[1]


def test_torch_computes_the_same() -> None:
    pytest.importorskip("torch")
    side = Side("torch", quick=True)
    for family in run.KERNELS:
        for case in load(family, side):
            assert case.call is not None
            error = largest_error(side, case)
            assert error is None or error < 1e-3, case.name


def test_a_block() -> None:
    calls: list[int] = []
    block = measure_block(lambda: calls.append(1), lambda: None, 0.001)
    assert block["seconds"] > 0
    assert block["others"] >= 0
    assert len(calls) > 3


def test_a_wrong_shape_is_not_compared() -> None:
    side = Side("numpy")
    case = side.case("x", ours=lambda: None, numpy=lambda: np.ones(3), exact=lambda: np.ones(4))
    with pytest.raises(AssertionError, match="shape"):
        largest_error(side, case)


def test_errors_are_relative_where_the_result_is_large() -> None:
    side = Side("numpy")
    case = side.case("x", ours=lambda: None, numpy=lambda: np.array([101.0, 0.5]), exact=lambda: np.array([100.0, 0.502]))
    assert math.isclose(largest_error(side, case) or 0, 0.01)


def result(**changes: Any) -> dict[str, Any]:
    """A result as the driver gives it."""
    time = {"median": 2e-6, "lower": 2e-6, "upper": 2e-6, "error": 1e-7}
    return {"family": "overhead", "name": "a case", "limit": 0.75, "title": "tiny arrays, forward+backward", "ours": time,
            "torch": time, "undisturbed": True, "gigaflops": None, "gigabytes_per_second": 3.0, "ratio_to_torch": 0.5512,
            "ratio_to_numpy": None} | changes


def test_closing_lines() -> None:
    digits = result(family="digits_step", title="digits training step", limit=1.0, ratio_to_torch=0.8)
    assert run.closing_lines([result(), result(limit=None), digits]) == [
        "tiny arrays, forward+backward: 0.55 of PyTorch's time per op (bound 0.75)",
        "digits training step: 0.80 of PyTorch's time (bound 1.00)"]


def test_closing_lines_without_torch() -> None:
    (line,) = run.closing_lines([result(ratio_to_torch=None)])
    assert "PyTorch is not installed" in line


def test_table() -> None:
    sides = ["ours", "torch", "numpy"]
    assert "a case" in row(result(), sides)
    assert "0.55" in row(result(), sides)
    assert row(result(undisturbed=False), sides).endswith("(disturbed)")
    assert "torch" in header(sides)


def test_families_are_chosen_by_name_or_file() -> None:
    assert run.families(["softmax", "conv2d.py"], "cpu") == ["softmax", "conv2d"]
    assert set(run.families([], "gpu")) == set(run.KERNELS)
    with pytest.raises(SystemExit, match="no such family"):
        run.families(["nonsense"], "cpu")


def test_workers_do_not_get_a_forced_blas_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert "OPENBLAS_CORETYPE" not in environment.child_environment("ours")
    assert environment.describe()["OPENBLAS_CORETYPE"] == "Haswell (not used)"


def test_saved_results(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "RESULTS", tmp_path)
    path = run.save({"environment": {"cpu": "AMD EPYC (TM) 9"}, "device": "cpu", "results": [result()]})
    assert path.name.endswith("-amd-epyc-tm-9-cpu.json")
    assert json.loads(path.read_text())["results"][0]["name"] == "a case"


def test_simulated_gpus_are_never_timed() -> None:
    done = script("--device", "gpu", "softmax", LUCID_GPU="simulated")
    assert done.returncode != 0
    assert "simulated" in done.stderr
    assert "softmax" not in done.stdout


def test_a_run() -> None:
    done = script("--quick", "cross_entropy")
    assert done.returncode == 0, done.stderr
    assert "cross entropy + gradient 4096x1000" in done.stdout
