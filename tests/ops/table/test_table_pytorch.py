"""Every row of the op table against PyTorch: dtypes, errors, NaN and inf with their gradients, histories."""
from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np
import pytest

import lucid
from tests.ops.table import BINARY, ROWS, UNARY
from tests.ops.table.outcomes import DTYPES, difference, differing_values, flat, inputs_of, named, numbers, tensors
from tests.ops.table.row import Row

torch = pytest.importorskip("torch")


def known(row: Row) -> bool:
    """Whether PyTorch has the operation."""
    try:
        operator.attrgetter(row.op)(torch)
    except AttributeError:
        return False
    return True


COMMON = [row for row in ROWS if known(row)]


@named(COMMON)
def test_dtypes(row: Row):
    """For each dtype the same values of the same dtypes, or an exception of the same class."""
    found = [difference(row, inputs_of(row, dtype), dtype, torch) for dtype in DTYPES if dtype not in row.dtypes_differ]
    assert not any(found), "\n".join(filter(None, found))


@named([row for row in COMMON if row.dtypes_differ])
def test_differences_are_there(row: Row):
    """What is documented as a difference is one, for one of the dtypes at least."""
    assert any(difference(row, inputs_of(row, dtype), dtype, torch) for dtype in row.dtypes_differ)


@named([row for row in UNARY + BINARY if row.special and known(row)])
def test_nan_and_inf_with_gradients(row: Row):
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5])
    count = len(row.inputs(np.random.default_rng(0)))
    arrays = [values] if count == 1 else [np.repeat(values, len(values)), np.tile(values, len(values))]

    def outcome(library: Any, arrays: list[np.ndarray]) -> list[np.ndarray]:
        given = [t.requires_grad_(row.smooth) for t in tensors(library, arrays, "float64")]
        result = row.run(library, *given)
        if row.smooth:
            result.sum().backward()
        return [numbers(t) for t in [result, *(t.grad for t in given if row.smooth)]]

    # One element at a time: which of them PyTorch computes in vectors, with other signs of zeros, depends on the processor.
    each = [outcome(torch, [element[None] for element in elements]) for elements in zip(*arrays, strict=True)]
    for mine, parts in zip(outcome(lucid, arrays), zip(*each, strict=True), strict=True):
        expected = np.concatenate(parts)
        assert differing_values(mine, expected, 1e-12) is None, differing_values(mine, expected, 1e-12)


@named([row for row in COMMON if not row.random and "float64" not in row.dtypes_differ])
def test_what_requires_grad(row: Row):
    """Each result of float64 inputs that require grad has a history, or has none, as PyTorch's.

    None is as good as one that leads to zeros or to an error.
    """
    found = []
    for library in (lucid, torch):
        given = [t.requires_grad_(t.is_floating_point()) for t in tensors(library, inputs_of(row, "float64"), "float64")]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found.append((given, [t for t in flat(row.run(library, *given)) if isinstance(t, library.Tensor)]))
        except Exception as error:
            found.append(error)
    if any(isinstance(result, Exception) for result in found):
        assert isinstance(found[0], type(found[1])), f"{found[1]!r}, not {found[0]!r}"
        return
    (_, mine), (leaves, expected) = found
    for a, b in zip(mine, expected, strict=True):
        assert a.requires_grad == b.requires_grad or (b.requires_grad and not gradient_flows(b, leaves))


def gradient_flows(result: Any, leaves: list[Any]) -> bool:
    """Whether PyTorch computes a gradient that is not zero."""
    try:
        found = torch.autograd.grad(result.sum(), [t for t in leaves if t.requires_grad], allow_unused=True, retain_graph=True)
    except RuntimeError:
        return False
    return any(bool(g.any()) for g in found if g is not None)
