"""The batch for a GPU runs through on the simulator, marks what it says, and goes on after a failure. Times are never asserted."""
from __future__ import annotations

import importlib
import json
import pathlib
import site
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.machinery import PathFinder
from typing import Any

import numpy as np
import pytest
from lucid_kernels import simulator
from lucid_kernels.measuring.timing import FAKE

from bench.driver import WorkerFailed
from bench.gpu import batch, clock, compiled_steps, outcomes, part, place, roofline_rows, rows, suite, tables, tuning
from bench.gpu.batch import SHARES, Batch
from bench.host import stub
from lucid.backends.gpu_probe import gpu_problem

ROOT = pathlib.Path(__file__).resolve().parents[3]
TUNING = ROOT / "kernels" / "lucid_kernels" / "cuda" / "tuning"
SIMULATES = pytest.mark.skipif(not simulator.available(), reason="needs g++ and CUDA's headers")
REAL = stub.problem() is None


def script(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run kernels/bench/gpu_batch.py as a user does."""
    return subprocess.run([sys.executable, str(ROOT / "kernels" / "bench" / "gpu_batch.py"), *map(str, arguments)],
                          capture_output=True, text=True)


@SIMULATES
def test_a_dry_run(tmp_path: pathlib.Path) -> None:
    """Every part on the simulator, in small."""
    before = {path: path.read_text() for path in TUNING.iterdir()}
    results = {path.name for path in (ROOT / "kernels" / "bench" / "results").iterdir()}
    done = script("--dry", "--seconds", 240, "--output", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    written = {path.suffix: path.read_text() for path in tmp_path.iterdir()}
    assert set(written) == {".json", ".md"}
    document = json.loads(written[".json"])
    assert list(document["parts"]) == list(SHARES)
    assert {name: found["end"] for name, found in document["parts"].items()} == dict.fromkeys(SHARES, "done")
    assert all(found["rows"] for found in document["parts"].values())
    assert document["simulated"] and not document["measured_on_a_gpu"]
    assert tables.WARNINGS["simulator"] in written[".md"] and tables.WARNINGS["simulator"] in done.stdout
    assert {path: path.read_text() for path in TUNING.iterdir()} == before
    assert {path.name for path in (ROOT / "kernels" / "bench" / "results").iterdir()} == results


def test_without_a_gpu_it_says_what_to_do() -> None:
    done = script("--parts", "ceilings")
    if done.returncode == 0:
        pytest.skip("there is a GPU")
    assert done.returncode == 2 and "nothing can be measured here" in done.stderr
    assert "CuPy" in done.stderr


def test_only_what_a_gpu_measured_is_among_the_results() -> None:
    done = script("--dry", "--output", ROOT / "kernels" / "bench" / "results")
    assert done.returncode == 2 and "not written among the results" in done.stderr


@pytest.fixture
def cupy() -> Any:
    """CuPy, or its stand-in on the simulator."""
    if gpu_problem() is not None:
        pytest.skip(str(gpu_problem()))
    importlib.import_module("lucid.backends.gpu.backend")
    return importlib.import_module("cupy")


class Bar:
    """Counts how often it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def __call__(self, name: str, path: pathlib.Path) -> None:
        self.told.append(name)


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, dict[str, Any]]]:
    """Parts of which the first fails; what the batch has of each stands here before it runs."""
    answers = {"about": {"rows": [{"environment": {"gpu": "A GPU", "commit": "0"}, "missing": ["a thing"]}], "end": "done"},
               **{name: {"rows": [], "end": "done", "took": 1.0} for name in SHARES}}
    answers["compilation"] = {"rows": [], "end": "FAILED: ValueError: broken", "output": "what it printed"}
    asked: dict[str, float] = {}

    def answer(name: str, where: str, seconds: float, *_: Any) -> dict[str, Any]:
        asked[name] = seconds
        return answers[name]

    monkeypatch.setattr(batch, "run_part", answer)
    answers["asked"] = asked
    yield answers


def test_a_failure_does_not_stop_the_others(parts: dict[str, dict[str, Any]], tmp_path: pathlib.Path, capsys: Any) -> None:
    measured = Batch(100, list(SHARES), folder=tmp_path, quiet=True)
    assert measured.run() == 1
    assert list(parts["asked"]) == ["about", *SHARES]
    assert sum(parts["asked"].values()) > 100  # what one leaves over, the next ones have
    assert parts["asked"]["tests"] > parts["asked"]["compilation"]
    text = next(tmp_path.glob("*.md")).read_text()
    assert "FAILED: ValueError: broken" in text and "what it printed" in text
    assert "a thing" in capsys.readouterr().err
    parts["compilation"] = {"rows": [], "end": "done"}
    assert Batch(100, ["compilation"], folder=tmp_path, quiet=True).run() == 0


@pytest.mark.parametrize("environment", ["/home/someone/project/.venv", "/opt/python"])
def test_no_folder_of_this_machine_is_saved(parts: dict[str, dict[str, Any]], environment: str, tmp_path: pathlib.Path,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    root, packages = "/home/someone/project", f"{environment}/lib/python3.11/site-packages"
    monkeypatch.setattr(batch, "ROOT", pathlib.Path(root))
    monkeypatch.setattr(site, "getsitepackages", lambda: [packages])
    monkeypatch.setattr(sys, "prefix", environment)
    monkeypatch.setattr(sys, "executable", f"{environment}/bin/python")
    text = f"{root}/lucid/tensor.py:1: {packages}/numpy/core.py:2: {environment}/lib/python3.11/ast.py:3: {environment}/bin/python"
    parts["gate"] = {"rows": [{"test": "tests/a.py::b", "outcome": "failed", "when": "call", "error": text}], "end": "done"}
    Batch(100, ["gate"], folder=tmp_path, quiet=True).run()
    for path in tmp_path.iterdir():
        assert "lucid/tensor.py:1: numpy/core.py:2: lib/python3.11/ast.py:3: python" in path.read_text()
        assert root not in path.read_text() and environment not in path.read_text()


def test_each_part_is_saved_before_the_next(parts: dict[str, dict[str, Any]], tmp_path: pathlib.Path,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    answer = batch.run_part

    def interrupted(name: str, *arguments: Any) -> dict[str, Any]:
        if name == "gate":
            raise KeyboardInterrupt
        return answer(name, *arguments)

    monkeypatch.setattr(batch, "run_part", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Batch(100, list(SHARES), folder=tmp_path, quiet=True).run()
    assert list(json.loads(next(tmp_path.glob("*.json")).read_text())["parts"]) == ["compilation"]


def test_what_was_found_is_saved_when_the_batch_is_ended(parts: dict[str, dict[str, Any]], tmp_path: pathlib.Path,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(name: str, where: str, seconds: float, facts: dict[str, Any], folder: pathlib.Path, update: Any) -> dict[str, Any]:
        if name == "gate":
            (folder / "gate.jsonl").write_text('{"name": "first"}\n{"name": "cut')
            raise SystemExit
        return parts[name]

    monkeypatch.setattr(batch, "run_part", ended)
    with pytest.raises(SystemExit):
        Batch(100, list(SHARES), folder=tmp_path, quiet=True).run()
    found = json.loads(next(tmp_path.glob("*.json")).read_text())["parts"]
    assert list(found) == ["compilation", "gate"] and found["gate"] == {"rows": [{"name": "first"}], "end": "cut off"}


def test_what_a_part_has_found_is_saved_meanwhile(parts: dict[str, dict[str, Any]], tmp_path: pathlib.Path,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    answer = batch.run_part
    rows_so_far = tmp_path / "rows.jsonl"
    rows_so_far.write_text('{"name": "first"}\n{"name": "cut')

    def ended(name: str, where: str, seconds: float, facts: dict[str, Any], folder: pathlib.Path, update: Any) -> dict[str, Any]:
        if name == "gate":
            update(name, rows_so_far)
            raise KeyboardInterrupt
        return answer(name, where, seconds, facts, folder, update)

    monkeypatch.setattr(batch, "run_part", ended)
    monkeypatch.setattr(batch, "_OFTEN", -1.0)
    with pytest.raises(KeyboardInterrupt):
        Batch(100, list(SHARES), folder=tmp_path / "results", quiet=True).run()
    found = json.loads(next((tmp_path / "results").glob("*.json")).read_text())["parts"]["gate"]
    assert found == {"rows": [{"name": "first"}], "end": "under way"}


def test_a_part_ends_when_its_time_is_over(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the processes that it has started, and what it has found."""
    (tmp_path / "sitecustomize.py").write_text("")
    program = ("import pathlib, subprocess, sys, time\n"
               f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
               f"pathlib.Path({str(tmp_path / 'gate.jsonl')!r}).write_text('{{\"child\": %d}}\\n{{\"cut' % child.pid)\n"
               "time.sleep(60)\n")
    monkeypatch.setattr(batch.sys, "executable", _python_that_runs(tmp_path, program))
    monkeypatch.setattr(batch, "_GRACE", 0.1)
    bar = Bar()
    found = batch.run_part("gate", place.GPU, 1.5, {}, tmp_path, bar)
    assert found["end"] == "ended: its time was over" and "gate" in bar.told
    [row] = found["rows"]
    for _ in range(50):
        if not pathlib.Path(f"/proc/{row['child']}").exists() or "Z" in _state(row["child"]):
            break
        time.sleep(0.1)
    else:
        raise AssertionError("what the part had started is still running")


def _python_that_runs(folder: pathlib.Path, program: str) -> str:
    path = folder / "program.py"
    path.write_text(program)
    script = folder / "python"
    script.write_text(f"#!/bin/sh\nexec {sys.executable} {path}\n")
    script.chmod(0o755)
    return str(script)


def _state(process: int) -> str:
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


def test_the_rows_of_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(given: part.Time) -> Iterator[dict[str, Any]]:
        yield {"name": "first"}
        if given.facts:
            raise ValueError("broken")
        given.end = 0.0
        yield {"name": "second"}
        raise AssertionError("the time was over")

    monkeypatch.setattr(tables, "measure", measure, raising=False)
    monkeypatch.setitem(part.MODULES, "gate", "tables")
    first, second, end = part.rows(part.Time("gate", 100, {}))
    assert (first["name"], second["name"], end["end"]) == ("first", "second", "out of time")
    first, end = part.rows(part.Time("gate", 100, {"broken": True}))
    assert end["end"] == "FAILED: ValueError: broken"


def test_outcomes_of_tests(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those that pass and fail, of a broken file, and what counts when the time is over."""
    (tmp_path / "test_some.py").write_text("import time\ndef test_good(): pass\ndef test_bad(): assert 1 == 2\n"
                                           "def test_long(): time.sleep(60)\n")
    (tmp_path / "test_broken.py").write_text("import nothing_of_that_name\n")
    monkeypatch.setitem(suite.CHOICE, "tests", "")
    given = part.Time("tests", 9.0, {"pytest": True, "timeout": False})
    rows = list(suite._called(given, f"{tmp_path}/test_some.py", set()))
    assert [row["test"].rpartition(":")[2] for row in rows[:-1]] == ["test_bad"]
    assert "assert 1 == 2" in rows[0]["error"] and rows[0]["message"].startswith("assert 1 == 2")
    assert rows[-1]["counts"] == {"passed": 1, "failed": 1} and not rows[-1]["complete"]
    assert [name.rpartition(":")[2] for name in rows[-1]["under_way"]] == ["test_long"]
    page = "\n".join(tables._tests(rows))
    assert "cut off" in page and "test_long`" in page and "test_bad`: assert 1 == 2" in page
    rows = list(suite._called(part.Time("tests", 60.0, {}), f"{tmp_path}/test_broken.py", set()))
    assert "nothing_of_that_name" in rows[0]["error"] and "nothing_of_that_name" in rows[0]["message"] and rows[-1]["complete"]
    assert rows[-1]["under_way"] == []


def test_an_error_keeps_its_beginning_and_its_end() -> None:
    text = "E   assert 1e-3 < 1e-4\n" + "and where that is from\n" * 1000 + "2 failed"
    short = outcomes.shortened(text)
    assert short.startswith("E   assert 1e-3 < 1e-4\n") and short.endswith("\n2 failed") and len(short) < 4000
    assert outcomes.shortened("short") == "short"


def test_the_summary_names_what_failed() -> None:
    document = {"place": place.GPU, "parts": {
        "gate": {"end": "done", "rows": [{"test": "a.py::test", "outcome": "failed", "message": "assert 1 == 2"}]},
        "tuning": {"end": "done", "rows": [{"key": "a product", "wrong": ["(1, 2)"]}, {"key": "another", "wrong": []},
                                           {"network": "LSTM", "failed": "ValueError: cpu"}]},
        "rows": {"end": "done", "rows": [{"name": f"row {number}", "failed": "x"} for number in range(20)]}}}
    text = tables.summary(document)
    for line in ("FAILED a.py::test: assert 1 == 2", "FAILED a product: wrong: (1, 2)", "FAILED LSTM: ValueError: cpu", "and 8 more"):
        assert f"    {line}\n" in f"{text}\n"
    assert "another" not in text


def test_a_worker_without_a_gpu_ends(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a test that failed, and only then."""
    def lost() -> None:
        raise cupy.cuda.runtime.CUDARuntimeError(700)

    ended: list[int] = []
    monkeypatch.setattr(outcomes.os, "_exit", ended.append)
    monkeypatch.setattr(outcomes, "_state", outcomes._State())
    monkeypatch.setattr(cupy.cuda.runtime, "deviceSynchronize", lost, raising=False)
    monkeypatch.delenv(place.PLACE, raising=False)
    for is_worker, has_failed in ((False, True), (True, False)):
        outcomes._state.is_worker, outcomes._state.has_failed = is_worker, has_failed
        outcomes.pytest_runtest_logfinish()
        assert ended == []
    outcomes._state.has_failed = True
    outcomes.pytest_runtest_logfinish()
    assert ended == [1]


class Sides:
    """In the place of a `Driver`: a case that takes the GPU away, one that ends its process, and others."""

    made = 0

    def __init__(self, *_: Any, **__: Any) -> None:
        Sides.made += 1
        self.facts = {"bytes": 4, "operations": 2}

    def run(self, family: str, seen: list[str]) -> Iterator[dict[str, Any]]:
        """A case that was seen does not come again."""
        for name in ("good", "lost", "ends", "better"):
            if name in seen:
                continue
            if name == "ends":
                seen.append(name)
                raise WorkerFailed("the process of ours ended")
            yield {"name": name, "missing": "", "failure": "CUDARuntimeError: illegal address" if name == "lost" else ""}

    def device_seconds(self) -> float:
        """Of two operations."""
        return 6.0

    def close(self) -> None:
        """Nothing."""


def test_a_family_that_always_ends_its_process_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ends(Sides):
        def run(self, family: str, seen: list[str]) -> Iterator[dict[str, Any]]:
            """Ends in its first case, if it is the first family."""
            if family == "family":
                raise WorkerFailed("the process of ours ended")
            yield {"name": family, "missing": "", "failure": ""}

    monkeypatch.setattr(rows, "Driver", Ends)
    monkeypatch.setattr(rows, "FAMILIES", ("family", "another"))
    monkeypatch.setenv(place.PLACE, place.GPU)
    found = list(rows.measure(part.Time("rows", 100, {})))
    assert [row["name"] for row in found] == ["family", "another"]
    assert found[0]["failed"] == "after nothing: the process of ours ended"


def test_rows_go_on_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "Driver", Sides)
    monkeypatch.setattr(Sides, "made", 0)
    monkeypatch.setattr(rows, "FAMILIES", ("family", "another"))
    monkeypatch.setenv(place.PLACE, place.GPU)
    found = list(rows.measure(part.Time("rows", 100, {})))
    assert [row["name"] for row in found] == ["good", "lost", "family", "better", "good", "lost", "another", "better"]
    assert found[0]["device_seconds"] == 3.0 and found[0]["bytes"] == 2
    assert found[2]["failed"] == "after ends: the process of ours ended"
    assert Sides.made == 5


def test_the_tests_of_the_gate_are_there() -> None:
    for paths in (*suite.FOLDERS["gate"], *suite.FOLDERS["tests"], *suite.FEW["gate"], *suite.FEW["tests"]):
        assert [path for path in paths.split() if not (ROOT / path).exists()] == []


def test_memory_full_of_nan(cupy: Any) -> None:
    pointer = outcomes.poisoned(cupy.get_default_memory_pool().malloc)(64)
    for dtype in (np.float32, np.float16, np.float64):
        assert np.isnan(cupy.ndarray((8,), dtype, pointer).get()).all()


@pytest.fixture
def faked(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that is made up."""
    monkeypatch.setenv(FAKE, "1")
    monkeypatch.setenv(place.PLACE, place.SIMULATOR)


@pytest.mark.usefixtures("faked")
def test_ceilings() -> None:
    measured = importlib.import_module("lucid_kernels.measuring.gpu_roofline").GpuRoofline()
    assert measured.peak(arithmetic="tf32") == pytest.approx(3 * measured.peak(arithmetic="3xtf32"))
    assert measured.floor(1 << 20, "triad", 1 << 40, arithmetic="bfloat16")


@pytest.mark.usefixtures("cupy")
def test_the_time_of_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a copy; on the simulator it is no time of anything."""
    monkeypatch.setattr(clock, "_BYTES", 64)
    calls: list[int] = []
    assert clock.device_seconds(lambda: calls.append(1), rounds=2, group=1e-5) >= 0
    assert len(calls) > 3


@pytest.mark.usefixtures("faked")
def test_a_wrong_configuration_is_left_out(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(place.PLACE, place.GPU)
    tuner = tuning.Tuner(part.Time("tuning", 100, {}))
    forced = tuner._forced

    def call() -> Any:
        result = cupy.full(4, 2 if tuner._forced == {"problem": "wrong"} else 1, np.float32)
        if tuner._forced == {"problem": "forgets"}:
            result[0] = np.nan
        return result

    tuner._tune("problem", "chosen", {"wrong": [1], "forgets": [2], "right": [3]}, call)
    assert forced == {} == tuner._forced
    [row] = tuner.rows
    assert row["wrong"] == ["wrong", "forgets"]
    assert tuner.measured == {}  # all times are the same, and the choice is no candidate


_DOT = """digraph dot {
subgraph cluster_1 {
label="graph_1" graph[style="dashed"];
"graph_1_node_0"[style="bold" shape="octagon" label="0
_Z12multi_tensorIf4AdamEvPxi7Options6Countsi
\\<\\<\\<12,256,0\\>\\>\\>
"];
"graph_1_node_1"[style="bold" shape="octagon" label="1
store_words
"];
"graph_1_node_2"[style="solid" shape="record" label="{MEMSET | {ID | 2}}"];
"graph_1_node_0" -> "graph_1_node_1";
}
}
"""


def test_the_nodes_of_a_graph() -> None:
    labels = compiled_steps.labels_of(_DOT)
    assert [compiled_steps.short(label) for label in labels] == ["multi_tensor<f4Adam>", "store_words", "MEMSET"]
    assert compiled_steps.short("3\n_ZN6cublas4gemmEv") == "gemm"
    assert compiled_steps.short("") == "?"


@pytest.mark.usefixtures("faked")
def test_a_compiled_step_with_other_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Is a failure that the page shows, and is timed nevertheless."""
    def differ(*_: Any) -> None:
        raise AssertionError("call 5 gives other bits than eagerly")

    monkeypatch.setattr(compiled_steps, "compare", differ)
    [row] = compiled_steps.measure(part.Time("compile", 100, {}))
    assert row["failed"].startswith("call 5") and row["compiled_us"] > 0
    page = "\n".join(tables._compile([row | {"nodes": {"gemm": 2}}]))
    assert "**others**" in page and "2 gemm" in page and "call 5 gives other bits" in page
    assert tables.is_bad({"end": "done", "rows": [row]})


@pytest.mark.usefixtures("faked")
def test_a_compiled_step_that_cannot_run_does_not_stop_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(compiled_steps, "row", broken)
    assert list(compiled_steps.measure(part.Time("compile", 100, {}))) == [{"name": "a small MLP", "failed": "ValueError: broken"}]


def test_occupancy_and_estimates() -> None:
    chip = roofline_rows.CHIPS["sm_90"]
    assert roofline_rows.occupancy(chip, 32, 0, 256) == 1
    assert roofline_rows.occupancy(chip, 255, 0, 256) == 256 / 2048
    assert roofline_rows.occupancy(chip, 166, 76800, 128) == 3 * 128 / 2048
    assert roofline_rows.occupancy(chip, 32, 200 << 10, 128) == 128 / 2048
    assert roofline_rows.estimate(chip, int(3.35e12), 1, "float32") == (1.0, "memory")
    assert roofline_rows.estimate(chip, 1, int(67e12), "float32") == (1.0, "float32")
    assert roofline_rows.estimate(chip, 0, 0, "float32") == (0, "")


@pytest.mark.skipif(not REAL, reason="needs the real CuPy, and gcc")
def test_the_page_of_rows_that_were_not_run(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "rows.md"
    program = str(ROOT / "kernels" / "bench" / "gpu_rows.py")
    subprocess.run([sys.executable, program, "--all", "--families", "targets.softmax_rows", "--output", str(path)], check=True)
    assert "softmax 4096x1000 forward | 1 | 0 |" in path.read_text()
    subprocess.run([sys.executable, program, "--drop", "--output", str(path)], check=True)
    assert "softmax 4096x1000 forward" not in path.read_text()


@pytest.mark.skipif(not REAL or PathFinder.find_spec("cupy_backends") is None, reason="needs the real CuPy, and gcc")
def test_parts_with_the_real_cupy(tmp_path: pathlib.Path) -> None:
    """The stub computes nothing, so that tests fail there; all else works."""
    done = script("--stub", "--parts", "ceilings", "host", "--seconds", 240, "--output", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
