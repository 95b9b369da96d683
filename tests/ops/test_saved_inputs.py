"""Inputs that the gradient does not need may be written to before it is computed."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from tests.ops.table.derivatives import leaf, uniform

SQUARE, MATRIX = uniform(3, 3), uniform(3, 5, seed=1)
# A function, its arguments, and which of them may be written to.
CASES: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...], tuple[int, ...]]] = {
    "cross_entropy": (lambda x: F.cross_entropy(x, x.detach().argmin(1)), (SQUARE,), (0,)),
    "cross_entropy of weights": (lambda x: F.cross_entropy(x, x.detach().argmin(1), x.detach()[0] ** 2, label_smoothing=0.1),
                                 (SQUARE,), (0,)),
    "tanhshrink": (F.tanhshrink, (SQUARE,), (0,)),
    "tanhshrink of many": (F.tanhshrink, (uniform(1 << 15),), (0,)),
    "remainder": (lambda x: x % 0.7, (SQUARE,), (0,)),
    "fmod": (lambda x: lucid.fmod(x, 0.7), (SQUARE,), (0,)),
    "copysign": (lucid.copysign, (SQUARE, uniform(3, 3, seed=2)), (1,)),
    "hypot": (lambda x, y: lucid.hypot(x, y.detach()), (SQUARE, uniform(3, 3, seed=2)), (1,)),
    "group_norm": (lambda x, w, b: F.group_norm(x, 1, w, b), (MATRIX, uniform(5), uniform(5, seed=3)), (2,)),
    "svdvals": (lucid.linalg.svdvals, (MATRIX,), (0,)),
    "svd": (lambda x: lucid.linalg.svd(x, full_matrices=False)[0].abs(), (MATRIX,), (0,)),
    "qr": (lambda x: lucid.linalg.qr(x)[1].abs(), (MATRIX,), (0,)),
    "eigvals": (lambda x: lucid.linalg.eigvals(x).abs(), (SQUARE,), (0,)),
    "eigvalsh": (lucid.linalg.eigvalsh, (SQUARE + SQUARE.T,), (0,)),
    "nuc": (lambda x: lucid.linalg.matrix_norm(x, "nuc"), (MATRIX,), (0,)),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_those_without_the_write(case: str, device: str) -> None:
    function, arrays, written = CASES[case]
    leaves = [leaf(array, device) for array in arrays]
    found = []
    for writes in (False, True):
        inputs = [t * 1 for t in leaves]
        y = function(*inputs)
        if writes:
            for number in written:
                inputs[number].detach().fill_(7.0)
        found.append(lucid.autograd.grad(y.sum(), leaves, allow_unused=True))
    for plain, after in zip(*found, strict=True):
        assert (plain is None) == (after is None) and (plain is None or lucid.equal(plain, after))


@pytest.mark.parametrize("case", ["cross_entropy", "cross_entropy of weights", "group_norm"])
def test_gradients_of_gradients_need_them(case: str, device: str) -> None:
    function, arrays, written = CASES[case]
    leaves = [leaf(array, device) for array in arrays]
    inputs = [t * 1 for t in leaves]
    y = function(*inputs).sum()
    lucid.autograd.grad(y, leaves, create_graph=True)
    inputs[written[0]].detach().fill_(7.0)
    with pytest.raises(RuntimeError, match="create_graph=True needs, is at version 1"):
        lucid.autograd.grad(y, leaves, create_graph=True)
