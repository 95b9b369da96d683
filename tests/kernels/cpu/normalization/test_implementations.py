"""Which implementation normalises a batch."""
from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from lucid_kernels.cpu.normalization.implementations import FORWARD, GRADIENT, Problem, chosen
from lucid_kernels.cpu.runtime import tuning


@pytest.mark.parametrize("implementations", [FORWARD, GRADIENT])
def test_the_choice(implementations):
    few = tuning.BATCH_NORM_COLUMNS_FROM // 64
    for problem, name in [((8, 64, 784), "planes"), ((1, 1, 2), "planes"), ((few, 64, 1), "columns"),
                          ((few - 1, 64, 1), "transposed"), ((1, 1, 1), "transposed")]:
        assert implementations.choose(Problem(*problem)).name == name


def test_a_shape_is_looked_up_once():
    first = chosen(FORWARD, (2, 3, 4, 5))
    assert first[1] == (2, 3, 20) and chosen(FORWARD, (2, 3, 4, 5)) is first


@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("relu", [None, True])
@pytest.mark.parametrize("training", [None, True])
def test_all_that_suit_agree(training, relu, residual):
    """A large table is one for each of them."""
    if residual and relu is None:
        pytest.skip("a residual comes with ReLU")
    problem = Problem(130, 64, 1)
    rng = np.random.default_rng(0)
    x, g, added = (rng.normal(size=problem) for _ in range(3))
    before = rng.uniform(0.5, 1.5, (8, 64))
    results = {}
    for entry, back in zip(FORWARD.suitable(problem), GRADIENT.suitable(problem), strict=True):
        parameters, y = before.copy(), np.full(problem, np.nan)
        entry.run(x, added if residual else None, parameters, training, relu, 0.1, 1e-5, y)
        statistics = parameters[2:4].copy(), parameters[6:].copy() if training else None
        dx, masked = np.full(problem, np.nan), np.full(problem, np.nan) if residual else None
        back.run(g, x, y if residual else None, parameters, training, relu, dx, masked)
        results[entry.name] = [y, dx, masked, *statistics, parameters[4:6]]
    assert list(results) == ["columns", "transposed", "planes"]
    for name in ("columns", "transposed"):
        for one, other in zip(results[name], results["planes"]):
            if other is not None:
                np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12, err_msg=name)


def test_explain_names_what_normalises():
    command = [sys.executable, "-m", "lucid_kernels.cpu.normalization", "explain", "8x64x28x28"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert text.count("planes: chosen") == 2 and text.count("transposed: channels of several elements in a sample") == 2
