"""The benchmarks run and compute the right things. Times are never asserted."""
from __future__ import annotations

import io
import json
import math
import os
import pathlib
import platform
import subprocess
import sys
import types
from typing import Any

import numpy as np
import pytest
from lucid_kernels.measuring.rounds import Pace
from lucid_kernels.measuring.timing import measure_block
from lucid_kernels.measuring.verdicts import median_interval

from bench import compare, environment, peak_memory, plot, run, small_call
from bench.case import Side, largest_error, load
from bench.driver import Driver
from bench.report import header, row

ROOT = pathlib.Path(__file__).resolve().parents[3]


def script(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run kernels/bench/run.py as a user does."""
    variables = {name: value for name, value in os.environ.items() if name != "LUCID_GPU"} | variables
    return subprocess.run([sys.executable, str(ROOT / "kernels" / "bench" / "run.py"), *arguments], capture_output=True,
                          text=True, env=variables)


@pytest.mark.parametrize("side", ["ours", "numpy"])
@pytest.mark.parametrize("family", run.KERNELS)
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
    assert 0 < block["fastest"] <= block["seconds"]
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
    time = {"median": 2e-6, "lower": 2e-6, "upper": 2e-6, "error": 1e-7, "times": [2e-6] * 6}
    return {"family": "softmax", "name": "a case", "target": 0.75, "ours": time, "torch": time, "undisturbed": True,
            "missing": "", "failure": "", "gigaflops": None, "gigabytes_per_second": 3.0, "floor_share": 0.5,
            "ratio_to_torch": 0.5512, "ratio_to_numpy": None} | changes


def test_table() -> None:
    sides = ["ours", "torch", "numpy"]
    assert "a case" in row(result(), sides)
    assert "0.55" in row(result(), sides)
    assert row(result(undisturbed=False), sides).endswith("(disturbed)")
    assert "torch" in header(sides)


def test_families_are_chosen_by_name_or_file() -> None:
    assert run.families(["softmax", "conv2d.py"], "cpu") == ["softmax", "conv2d"]
    assert run.families(["targets/convolutions.py", "targets.chain"], "cpu") == ["targets.chain", "targets.convolutions"]
    assert set(run.families([], "gpu")) == {*run.KERNELS, *run.TARGETS, *run.ON_BOTH, *run.GPU_TARGETS}
    assert run.families([], "cpu", only_targets=True) == [*run.TARGETS, "peak_memory"]
    assert run.families(["chain"], "cpu", only_targets=True) == ["targets.chain"]
    with pytest.raises(SystemExit, match="no such family"):
        run.families(["nonsense"], "cpu")
    with pytest.raises(SystemExit, match="no such family"):
        run.families(["softmax"], "cpu", only_targets=True)
    assert run.families([], "gpu", only_targets=True) == [*run.TARGETS, *run.GPU_TARGETS]
    assert run.families(["gpu_targets.memory_bound"], "gpu") == ["gpu_targets.memory_bound"]


def test_workers_do_not_get_a_forced_blas_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert "OPENBLAS_CORETYPE" not in environment.child_environment("ours")
    assert environment.describe()["OPENBLAS_CORETYPE"] == "Haswell (not used)"


def test_libraries_are_restricted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment.describe()["instructions"] is None
    for name, value in environment.INSTRUCTIONS["avx2"].items():
        monkeypatch.setenv(name, value)
    assert environment.child_environment("ours")["OPENBLAS_CORETYPE"] == "Haswell"
    about = environment.describe()
    assert (about["instructions"], about["OPENBLAS_CORETYPE"]) == ("avx2", "Haswell")
    assert run.default_path(about, "cpu").stem.endswith("-avx2-cpu")


def test_settings_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert environment.describe()["settings"]["OMP_NUM_THREADS"] == "1"


def test_saved_results(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "RESULTS", tmp_path / "results")
    path = run.default_path({"cpu": "AMD EPYC (TM) 9"}, "cpu")
    assert path.parent == tmp_path / "results"
    assert path.name.endswith("-amd-epyc-tm-9-cpu.json")
    run.save({"results": [result()]}, path)
    assert json.loads(path.read_text())["results"][0]["name"] == "a case"


def test_plot(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("matplotlib")
    rows = [result(), result(name="missed", ratio_to_torch=2.0), result(name="no target", target=None, floor_share=None),
            result(name="missing", ratio_to_torch=None)]
    plot.draw(rows, "title", tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="nothing to plot"):
        plot.draw(rows[-1:], "title", tmp_path / "none.png")
    assert not (tmp_path / "none.png").exists()


def test_plot_of_saved_results(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    about = {"gpu": "GPU", "cpu": "CPU", "commit": "abc"}
    ran = {"environment": about, "date": "today", "device": "cpu", "results": [result()]}
    batch = {"environment": about, "date": "today", "parts": {"rows": {"rows": [result(), {"name": "other", "failed": "why"}]}}}
    assert plot.saved(ran) == ([result()], "CPU, today, commit abc") and plot.saved(batch) == ([result()], "GPU, today, commit abc")
    (tmp_path / "batch.json").write_text(json.dumps(batch))
    monkeypatch.setattr("sys.argv", ["plot", str(tmp_path / "batch.json"), str(tmp_path / "plot.png"), result()["family"]])
    plot.main()
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_a_plot_without_matplotlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("sys.argv", ["run.py", "--plot", "x.png", "softmax"])
    with pytest.raises(SystemExit, match="examples"):
        run.main()


def remote(side: str, others: list[float], calls: list[str]) -> Any:
    """A stand-in of a worker, whose blocks are disturbed as `others` says, then not."""
    def ask(command: str, **arguments: Any) -> dict[str, Any]:
        if command == "floor":
            return {"seconds": 0.5}
        calls.append(side)
        return {"seconds": float(len(calls)), "fastest": 1.0, "others": others.pop(0) if others else 0.0}

    return types.SimpleNamespace(side=side, ask=ask)


def driver_of(remotes: list[Any], patience: float) -> Driver:
    driver = Driver.__new__(Driver)
    driver.pace, driver.remotes, driver.rounds, driver.disturbed = Pace(3, 12, 0.01, patience), remotes, 0, 0
    return driver


def test_disturbed_rounds_are_replaced() -> None:
    calls: list[str] = []
    remotes = [remote("ours", [0.0, 0.9], calls), remote("torch", [], calls)]
    driver = driver_of(remotes, 10.0)
    rounds = driver._measure(remotes)
    assert [done.others for done in rounds] == [0.0] * 3
    assert (driver.rounds, driver.disturbed) == (4, 1)
    assert calls == ["ours", "torch", "torch", "ours"] * 2  # in turns, and never the same side first


def test_the_least_disturbed_rounds_stay_when_patience_ends() -> None:
    remotes = [remote("ours", [0.9, 0.5, 0.7], [])]
    rounds = driver_of(remotes, 0.0)._measure(remotes)
    assert [done.others for done in rounds] == [0.9, 0.5, 0.7]
    more = [remote("ours", [0.9, 0.5, 0.7, 0.0, 0.3, 0.0], [])]
    kept = driver_of(more, 10.0)._measure(more)
    assert [done.others for done in kept] == [0.0, 0.0, 0.0]


def paced(side: str, times: list[float]) -> Any:
    """A stand-in of a worker with the times of its blocks, none disturbed."""
    def ask(command: str, **arguments: Any) -> dict[str, Any]:
        if command == "floor":
            return {"seconds": 0.5}
        return {"seconds": times.pop(0), "fastest": 1.0, "others": 0.0}

    return types.SimpleNamespace(side=side, ask=ask)


@pytest.mark.parametrize(
    ("ratios", "rounds"), [([0.8, 0.9, 0.7], 3), ([1.1, 1.2, 1.3], 3), ([0.9, *[1.1] * 8], 9), ([0.9, 1.1] * 6, 12)]
)
def test_more_rounds_where_the_first_leave_a_target_open(ratios: list[float], rounds: int) -> None:
    """One ratio on the other side leaves it open until there are nine."""
    remotes = [paced("ours", list(ratios)), paced("torch", [1.0] * 12)]
    assert len(driver_of(remotes, 0.0)._measure(remotes, 1.0)) == rounds
    remotes = [paced("ours", list(ratios)), paced("torch", [1.0] * 12)]
    assert len(driver_of(remotes, 0.0)._measure(remotes)) == 3  # no target
    alone = [paced("ours", list(ratios))]
    assert len(driver_of(alone, 0.0)._measure(alone, 1.0)) == 3  # nothing to compare with


def test_the_interval_of_a_median() -> None:
    """The numbers of the table of the sign test: of 6 values none lies outside, of 9 one on each side, of 24 six."""
    for count, outside in ((3, 0), (5, 0), (6, 0), (8, 0), (9, 1), (12, 2), (24, 6)):
        assert median_interval(list(range(count))[::-1]) == (outside, count - 1 - outside)


def test_the_parts_of_a_small_call() -> None:
    for _, parts in small_call.measure(1, 1):
        whole = sum(parts[part] for part in ("NumPy", "choice", "operation", "arguments"))
        assert list(parts) == list(small_call.COLUMNS[:-1]) and math.isclose(whole, parts["whole"], abs_tol=1e-6)


def test_peak_memory() -> None:
    row = peak_memory.result("MLP 784-256-10, batch 64")
    assert not row["failure"] and not row["missing"]
    for values in row["memory"].values():
        assert 0 <= values["growth"] < values["peak"]
    assert (row["ratio_to_torch"] is None) == ("torch" not in row["memory"])


def test_a_model_that_fails_gives_a_failed_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peak_memory, "_in_a_process", lambda library, model: {"failure": f"{library}: no memory"})
    row = peak_memory.result("MLP 784-256-10, batch 64")
    assert row["failure"].startswith("lucid: no memory")
    assert row["ratio_to_torch"] is None


def test_simulated_gpus_are_never_timed() -> None:
    done = script("--device", "gpu", "softmax", LUCID_GPU="simulated")
    assert done.returncode != 0
    assert "simulated" in done.stderr
    assert "softmax" not in done.stdout


def test_a_run(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "result.json"
    done = script("--quick", "cross_entropy", "reductions", "--output", str(path), OPENBLAS_CORETYPE="Haswell")
    assert done.returncode == 0, done.stderr
    assert "cross entropy + gradient 4096x1000" in done.stdout
    assert "roofline" in done.stdout
    document = json.loads(path.read_text())
    assert (document["format"], document["device"], document["quick"]) == (compare.FORMAT, "cpu", True)
    about = document["environment"]
    assert about["cpus"] >= 1
    assert about["OPENBLAS_CORETYPE"] == "Haswell (not used)"
    assert about["ours"]["numpy"] == np.__version__
    assert document["roofline"]["gigabytes_per_second"] > 0
    assert document["roofline"]["gigaflops"] > 0
    assert [row["family"] for row in document["results"]] == ["cross_entropy"] * 2 + ["targets.reductions"] * 6
    for case in document["results"]:
        assert not case["failure"]
        ours = case["ours"]
        assert 0 < ours["lower"] <= ours["median"] <= ours["upper"]
        assert len(ours["times"]) == 2
        assert 0 < ours["fastest"] <= min(ours["times"])
        assert ours["error"] < 1e-3
        assert case["floor"] > 0
        assert case["floor_share"] > 0
        assert case["gigabytes_per_second"] > 0
    same = compare.compare(document, document)
    assert {row.verdict for row in same} == {compare.UNDECIDED}  # two rounds decide nothing


def test_the_name_of_a_cpu_tells_its_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    """A virtual machine may call two generations by one name."""
    lines = "processor : 0\ncpu family : 26\nmodel : 2\nmodel name : AMD EPYC\n\nprocessor : 1\nmodel : 3\n"
    monkeypatch.setattr("builtins.open", lambda path: io.StringIO(lines))
    assert environment.cpu_name() == "AMD EPYC (family 26, model 2)"
    monkeypatch.setattr("builtins.open", lambda path: io.StringIO("CPU implementer : 0x41\n"))
    assert environment.cpu_name() == (platform.processor() or platform.machine())
