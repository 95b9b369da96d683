"""Every row of the op table without PyTorch: values, gradients, second gradients, layouts, empty and 0-d arrays, NaN, inf, out."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import lucid
from lucid.autograd import gradcheck, gradgradcheck
from tests.ops.table import BINARY, ROWS, UNARY
from tests.ops.table.outcomes import differing_values, flat, inputs_of, named, numbers, tensors
from tests.ops.table.row import OF_STRIDES, Row

REFERENCED = [row for row in ROWS if row.reference is not None]


def assert_matches(results: Any, expected: Any, tolerance: float, where: str) -> None:
    results, expected = flat(results), flat(expected)
    assert len(results) == len(expected), where
    for mine, theirs in zip(results, expected, strict=True):
        if isinstance(mine, lucid.Tensor):
            assert mine.shape == np.shape(theirs), where
            found = differing_values(numbers(mine), np.asarray(theirs), tolerance)
            assert found is None, f"{where}: {found}"
        else:
            assert mine == theirs, where


def leaves(row: Row, dtype: str, device: str) -> list[lucid.Tensor]:
    found = tensors(lucid, inputs_of(row, dtype, 1), dtype, device)
    return [t.requires_grad_() if t.is_floating_point() or t.is_complex() else t for t in found]


@named(REFERENCED)
def test_values(row: Row, device):
    for dtype, tolerance in [("float32", 3e-6), ("float64", 1e-12)] + [("complex128", 1e-12)] * row.complex:
        arrays = inputs_of(row, dtype)
        if dtype == "float32":
            arrays = [a.astype(np.float32) if a.dtype == np.float64 else a for a in arrays]
        results = row.function(*tensors(lucid, arrays, dtype, device))
        expected = row.reference(*[a.astype(np.float64) if a.dtype == np.float32 else a for a in arrays])
        assert_matches(results, expected, tolerance, dtype)
        for result, value in zip(flat(results), flat(expected), strict=True):
            if isinstance(result, lucid.Tensor):
                assert result.device == device
                expected_dtype = np.asarray(value).dtype
                assert result.dtype == expected_dtype or expected_dtype.kind in "fc", f"{dtype}: {result.dtype}"


@named([row for row in ROWS if row.random])
def test_random_numbers_are_the_same_on_both_devices(row: Row, device):
    found = []
    for where in ("cpu", device):
        lucid.manual_seed(3)
        found.append(row.function(*tensors(lucid, inputs_of(row, "float32"), "float32", where)))
    assert found[1].device == device
    assert_matches(found[1], numbers(found[0]), 1e-6, device)


def derivatives(row: Row, dtype: str, device: str) -> list[lucid.Tensor]:
    """First and second gradients of a random combination of the results."""
    inputs, rng = leaves(row, dtype, device), np.random.default_rng(4)

    def weights(like: list[lucid.Tensor]) -> list[lucid.Tensor]:
        return tensors(lucid, [rng.uniform(-1, 1, t.shape) for t in like], like[0].dtype.name, device) if like else []

    results = [t for t in flat(row.function(*inputs)) if t.requires_grad]
    upstream = [w.to(t.dtype).requires_grad_() for t, w in zip(results, weights(results), strict=True)]
    wanted = [t for t in inputs if t.requires_grad] + upstream
    first = lucid.autograd.grad(results, wanted, upstream, create_graph=True, allow_unused=True, materialize_grads=True)
    again = [t for t in first if t.requires_grad]
    second = lucid.autograd.grad(again, wanted, weights(again), allow_unused=True, materialize_grads=True) if again else ()
    assert all(t.device == device for t in (*first, *second))
    return [*first, *second]


@named([row for row in ROWS if row.smooth])
def test_gradient_and_second_gradient(row: Row, device):
    """On the cpu against finite differences, for second gradients along random directions, as those of each element take ten
    times as long; elsewhere against the cpu.
    """
    for dtype in ["float64"] + ["complex128"] * row.complex:
        if device == "cpu":
            inputs = leaves(row, dtype, device)
            assert gradcheck(row.function, inputs)
            assert gradgradcheck(row.function, inputs, fast_mode=True)
        else:
            assert_matches(derivatives(row, dtype, device), [numbers(t) for t in derivatives(row, dtype, "cpu")], 1e-9, dtype)


@named([row for row in REFERENCED if row.op not in OF_STRIDES and row.inputs(np.random.default_rng(0))[0].ndim >= 2])
def test_non_contiguous_inputs_are_not_changed(row: Row, device):
    arrays = inputs_of(row, "float64", 2)
    given = [lucid.tensor(a.T.copy(order="C"), device=device).permute(*range(a.ndim)[::-1]) for a in arrays]
    assert_matches(row.function(*given), row.reference(*arrays), 1e-12, device)
    for tensor, array in zip(given, arrays, strict=True):
        assert np.array_equal(tensor.cpu().numpy(), array)


@named([row for row in UNARY + BINARY if row.special])
def test_nan_and_inf(row: Row, device):
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5])
    count = len(row.inputs(np.random.default_rng(0)))
    arrays = [values] if count == 1 else [np.repeat(values, len(values)), np.tile(values, len(values))]
    with np.errstate(all="ignore"):
        expected = row.reference(*arrays)
    assert_matches(row.function(*tensors(lucid, arrays, "float64", device)), expected, 1e-12, device)


@named(UNARY + BINARY)
def test_empty_and_0d(row: Row, device):
    arrays = row.inputs(np.random.default_rng(0))
    for shape in [(), (0,), (0, 3), (1, 1, 1)]:
        given = [np.resize(a, shape) for a in arrays]
        assert_matches(row.function(*tensors(lucid, given, "float64", device)), row.reference(*given), 1e-12, str(shape))


@named([row for row in ROWS if row.out])
def test_out(row: Row, device):
    given = tensors(lucid, inputs_of(row, "float64"), "float64", device)
    expected = row.function(*given)
    several = isinstance(expected, tuple)
    for filled in (False, True):
        targets = [lucid.full_like(t, 1) if filled else lucid.empty(0, dtype=t.dtype, device=device) for t in flat(expected)]
        result = row.function(*given, out=tuple(targets) if several else targets[0])
        assert_matches(targets, [numbers(t) for t in flat(expected)], 0.0, f"filled {filled}")
        assert all(a is b for a, b in zip(flat(result), targets, strict=True))
    larger = [lucid.zeros(7, 9, dtype=t.dtype, device=device) for t in flat(expected)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*was resized")
        row.function(*given, out=tuple(larger) if several else larger[0])
    assert_matches(larger, [numbers(t) for t in flat(expected)], 0.0, "resized")
