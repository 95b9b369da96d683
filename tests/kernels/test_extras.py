"""How to install extras: in a clone, and where a wheel is installed."""
from __future__ import annotations

import importlib.metadata
import pathlib
import re

import pytest
from lucid_kernels import extras

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_in_a_clone() -> None:
    assert extras.command("cuda13") == f'pip install -e "{ROOT}[cuda13]"'


@pytest.mark.parametrize(("extra", "expected"), [
    ("cuda13", 'pip install "cupy-cuda13x>=14.0"'), ("simulator", 'pip install "nvidia-cuda-nvrtc<13.1,>=13.0" "nvidia-cuda-runtime>=13.0"')])
def test_of_an_installed_wheel(extra: str, expected: str, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    required = ["numpy>=2.0", 'tbb; platform_machine == "x86_64"', "cupy-cuda13x>=14.0; extra == 'cuda13'",
                'nvidia-cuda-nvrtc<13.1,>=13.0; extra == "simulator"', 'nvidia-cuda-runtime>=13.0 ; extra == "simulator"']
    monkeypatch.setattr(extras, "__file__", str(tmp_path / "site-packages/lucid_kernels/extras.py"))
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: {"lucid-xp": required}[name])
    assert extras.command(extra) == expected


def test_of_copied_files(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(extras, "__file__", str(tmp_path / "lib/lucid_kernels/extras.py"))
    monkeypatch.setattr(importlib.metadata, "requires", missing)
    assert extras.command("cuda12") == 'pip install ".[cuda12]" in a clone of lucid'


def test_nothing_says_what_no_index_has() -> None:
    paths = [path for folder in ("lucid", "kernels", "examples") for path in (ROOT / folder).rglob("*.py")]
    wrong = [str(path) for path in (*paths, *ROOT.glob("*.md")) if re.search(r"lucid-xp\[|pip install ['\"]?lucid", path.read_text())]
    assert not wrong
