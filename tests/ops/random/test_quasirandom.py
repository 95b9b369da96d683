"""Sobol sequences: PyTorch's points, and scrambled ones."""
from __future__ import annotations

import numpy as np
import pytest
from lucid.quasirandom import SobolEngine

import lucid

pytest.importorskip("scipy")


def test_points() -> None:
    engine = SobolEngine(2)
    assert engine.draw(1).tolist() == [[0, 0]] and engine.draw(3).tolist() == [[0.5, 0.5], [0.75, 0.25], [0.25, 0.75]]
    assert engine.num_generated == 4 and engine.reset().draw_base2(2).dtype == lucid.float32
    assert engine.draw_base2(2).shape == (4, 2) and repr(engine) == "SobolEngine(dimension=2)"
    out = lucid.empty(0)
    assert engine.reset().fast_forward(3).draw(2, out=out) is out and out.tolist() == [[0.25, 0.75], [0.375, 0.375]]
    with pytest.raises(ValueError, match="power of 2"):
        engine.draw_base2(3)
    for dimension in (0, SobolEngine.MAXDIM + 1):
        with pytest.raises(ValueError, match="Supported range"):
            SobolEngine(dimension)


def test_as_pytorch() -> None:
    torch = pytest.importorskip("torch")
    for dimension in (1, 40):
        ours, theirs = SobolEngine(dimension), torch.quasirandom.SobolEngine(dimension)
        for step in (1, 5, 64):
            np.testing.assert_array_equal(ours.draw(step).numpy(), theirs.draw(step).numpy())
        ours.fast_forward(10), theirs.fast_forward(10)
        np.testing.assert_array_equal(ours.draw(3, dtype=lucid.float64).numpy(), theirs.draw(3, dtype=torch.float64).numpy())
        assert ours.num_generated == theirs.num_generated and repr(ours) == repr(theirs)


def test_scrambled_points_are_balanced_and_repeat() -> None:
    engine = SobolEngine(3, scramble=True, seed=4)
    points = engine.draw(64)
    assert points.tolist() == SobolEngine(3, scramble=True, seed=4).draw(64).tolist() == engine.reset().draw(64).tolist()
    assert points.tolist() != SobolEngine(3).draw(64).tolist() and repr(engine) == "SobolEngine(dimension=3, scramble=True, seed=4)"
    for column in (points * 64).floor().T:
        assert sorted(column.tolist()) == list(range(64))
    lucid.manual_seed(1)
    first = SobolEngine(1, scramble=True).draw(4)
    lucid.manual_seed(1)
    assert first.tolist() == SobolEngine(1, scramble=True).draw(4).tolist()
