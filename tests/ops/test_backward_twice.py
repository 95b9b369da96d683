"""A second backward without `retain_graph`: it raises where an operation has saved something, as in PyTorch, and only there."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import lucid
from tests.ops.table import ROWS
from tests.ops.table.outcomes import flat, inputs_of, tensors
from tests.ops.table.row import Row

DIFFERENTIABLE = [row for row in ROWS if row.smooth and not row.random]


# An index that is an array to lucid; multiplications by numbers, which a second backward through `2 * x` does not pass in PyTorch.
NOT_TWICE = {"Tensor.__setitem__ false", "cumulative_trapezoid", "gradient", "gradient edge_order"}


def twice(library: Any, row: Row, device: str = "cpu") -> str:
    """Whether a second backward through `row` "works" or "raises"; "none" if there is not even a first one."""
    try:
        inputs = tensors(library, inputs_of(row, "float64", 1), "float64", device)
        leaves = [t.requires_grad_() for t in inputs if t.is_floating_point()]
        outputs = [t for t in flat(row.run(library, *inputs)) if isinstance(t, library.Tensor) and t.requires_grad]
        upstream = [library.ones_like(t) for t in outputs]
        library.autograd.backward(outputs, upstream)
    except Exception:
        return "none"
    first = [t.grad for t in leaves]
    for t in leaves:
        t.grad = None
    try:
        library.autograd.backward(outputs, upstream)
    except RuntimeError as error:
        assert "Trying to backward through the graph a second time" in str(error)
        return "raises"
    if library is lucid:
        for t, g in zip(leaves, first, strict=True):
            assert (g is None) == (t.grad is None)
            assert g is None or np.array_equal(t.grad.numpy(force=True), g.numpy(force=True), equal_nan=True)
    return "works"


@pytest.mark.parametrize("block", range(4))
def test_what_works_twice_in_pytorch_works_twice(block: int) -> None:
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = [row.name for row in DIFFERENTIABLE[block::4] if twice(torch, row) == "works" and twice(lucid, row) == "raises"]
    assert set(wrong) <= NOT_TWICE


@pytest.mark.parametrize("name", ["add", "sub", "neg", "sum", "mean", "cumsum", "Tensor.reshape", "Tensor.expand", "transpose",
                                  "unbind", "chunk", "split", "cat", "stack", "flip", "diagonal", "select", "narrow", "squeeze",
                                  "select_scatter", "roll", "tril", "clone", "triu"])
def test_nothing_is_saved(name: str, device: str) -> None:
    rows = [row for row in ROWS if row.op.removeprefix("Tensor.") == name.removeprefix("Tensor.")]
    assert rows
    assert {twice(lucid, row, device) for row in rows} <= {"works", "none"}
    assert "works" in {twice(lucid, row, device) for row in rows}


@pytest.mark.parametrize("name", ["mul", "div", "exp", "log", "tanh", "sin", "mm", "prod", "amax", "nn.functional.gelu", "abs", "norm",
                                  "index_select", "gather", "square", "cosh", "std"])
def test_something_is_saved(name: str, device: str) -> None:
    row = next(row for row in ROWS if row.op.removeprefix("Tensor.") == name and not row.variant)
    assert twice(lucid, row, device) == "raises"
