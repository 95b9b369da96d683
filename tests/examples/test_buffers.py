"""The story of examples/buffers.py: what each kind of buffer is good for, in numbers."""
from __future__ import annotations

import pathlib
import re
import runpy
from typing import Any

import pytest

import lucid

SCRIPT = pathlib.Path(__file__).parents[2] / "examples" / "buffers.py"


@pytest.fixture
def example() -> Any:
    yield runpy.run_path(str(SCRIPT))
    lucid.set_default_device(None)


def numbers(line: str) -> list[float]:
    return [float(text) for text in re.findall(r"-?\d+\.?\d*(?:e[-+]?\d+)?", line)]


def test_the_story(example: Any, capsys: pytest.CaptureFixture[str]) -> None:
    example["main"]("cpu")
    *module, statistics, mask, cache, error = capsys.readouterr().out.splitlines()
    assert "  (future): Buffer(shape=(32, 32), dtype=bool, non-persistent, init=<lambda>)" in module
    mean, std, _ = numbers(statistics)
    assert mean == pytest.approx(20, abs=0.1) and std == pytest.approx(4.59**0.5, abs=0.05)  # 3**2 / 2 and 0.3**2
    assert mask.endswith("True")
    assert cache.startswith("cache (1000, 32, 64)") and numbers(cache)[-1] < 1e-4
    model, average = numbers(error)
    assert average < model < 1.5


def test_on_each_device(example: Any, device: str, capsys: pytest.CaptureFixture[str]) -> None:
    example["main"](device, steps=3)
    _, mask, cache, _ = capsys.readouterr().out.splitlines()[-4:]
    assert mask.endswith("True") and numbers(cache)[-1] < 1e-4


def test_sixty_lines() -> None:
    assert len(SCRIPT.read_text().splitlines()) <= 60
