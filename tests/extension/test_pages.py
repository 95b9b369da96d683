"""The programs on the pages about own kernels and profiling run, and are as short as they say."""
from __future__ import annotations

import importlib.util
import pathlib
import re

import pytest
from lucid_kernels import simulator
from lucid_kernels.measuring.rounds import Pace

from lucid.utils.benchmark import turns

DOCS = pathlib.Path(__file__).parents[2] / "docs"


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    collect = turns.rounds_in_turn
    monkeypatch.setattr(turns, "rounds_in_turn", lambda calls, wait, pace, *rest: collect(calls, wait, Pace(2, 2, 0.001, 0), *rest))


def program(page, folder):
    path = folder / f"{page.partition('.')[0]}_page.py"
    path.write_text("\n\n".join(blocks(page)))
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.skipif(not simulator.available(), reason="the simulator needs g++ and CUDA's headers")
def test_own_kernels(tmp_path, capsys):
    page = program("own_kernels.md", tmp_path)
    page.test_cube()
    page.ext.check(page.gated, shapes=[(2, 70)], inputs={"weight": lambda shape: shape[-1:]}, orders=0, devices=["gpu"])
    with pytest.raises(RuntimeError, match="an element for each column"):
        page.gated(page.lucid.ones(2, 70), page.lucid.ones(2, 70), page.lucid.ones(69))
    pytest.importorskip("matplotlib")
    page.measure()
    assert "gated_norm is" in capsys.readouterr().out
    assert (tmp_path / "gated.png").exists()


def test_a_newcomer_writes_few_lines():
    imports, rest = blocks("own_kernels.md")[0].splitlines()[:2], blocks("own_kernels.md")[3]
    lines = [line for line in (*imports, *rest.splitlines()) if line.strip()]
    assert len(lines) < 25
    assert f"That is {len(lines)} lines of Python" in (DOCS / "own_kernels.md").read_text()


def test_profiling(tmp_path, capsys):
    program("profiling.md", tmp_path)
    text = capsys.readouterr().out
    for part in ("exp is", "product", "Self CPU time total", "of the floor"):
        assert part in text
    assert (tmp_path / "trace.json").exists()
    assert len(list((tmp_path / "runs").iterdir())) == 1
