"""The examples of own kernels: under 60 lines each, and right; in a short form."""
from __future__ import annotations

import importlib.util
import pathlib

import pytest
from lucid_kernels import simulator

import lucid

FOLDER = pathlib.Path(__file__).parents[2] / "examples" / "kernels"


def load(name: str):
    specification = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_examples_are_short(path):
    assert len(path.read_text().splitlines()) <= 60


def test_gated_rms_norm(device):
    example = load("gated_rms_norm")
    x, weight = lucid.randn(2, 70).to(device), lucid.rand(70).to(device)
    assert lucid.allclose(example.gated(x, x, weight), example.composed(x, x, weight), atol=1e-5)


@pytest.mark.skipif(not simulator.available(), reason="the simulator needs g++ and CUDA's headers")
def test_scan():
    example = load("scan")
    x = lucid.randn(2, 150)
    assert lucid.allclose(example.scan(x.to("gpu")).cpu(), x.cumsum(-1), atol=1e-4)
    assert lucid.allclose(example.scan(x), x.cumsum(-1), atol=1e-4)
    assert "race: reads offset" in example.race()


def test_adam():
    load("adam").test_adam()
