"""Every row of the op table inside of the transforms: vmap against a loop, forward mode against two backward passes."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import lucid
from lucid import Tensor, func
from tests.ops.table import ROWS
from tests.ops.table.outcomes import flat, inputs_of, named, numbers, tensors
from tests.ops.table.row import Row

BATCH = 3


def outputs(row: Row, *inputs: Tensor) -> list[Tensor]:
    return [t for t in flat(row.function(*inputs)) if isinstance(t, Tensor)]


# What is done depends on elements, or on memory that an example alone does not have: as in PyTorch, an error says so. The last
# three draw random numbers.
REFUSED = ("equal", "allclose", "from_dlpack", "Tensor.resize_", "resize_as_", "Tensor.set_", "nonzero_static", "svd_lowrank",
           "pca_lowrank")
INTEGERS = tuple("gcd lcm bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift bitwise_not".split())
MAPPED = [row for row in ROWS if not row.random and not row.data_dependent and row.op not in REFUSED
          and row.inputs(np.random.default_rng(0))]
IN_PLACE = "inplace arithmetic"


def stacked(row: Row, dtype: str) -> list[Tensor]:
    """The inputs of `BATCH` examples, stacked."""
    examples = [inputs_of(row, dtype, seed) for seed in range(BATCH)]
    return tensors(lucid, [np.stack(arrays) for arrays in zip(*examples, strict=True)], dtype, "cpu")


@named(MAPPED)
def test_vmap_is_a_loop(row: Row) -> None:
    whole = row.op in INTEGERS
    for dtype in ["int64" if whole else "float64"] + ["complex128"] * row.complex:
        batch = stacked(row, dtype)
        kinds = [(0,) * len(batch), (1,) * len(batch)]
        if len(batch) > 1:
            kinds += [tuple(None if i == k else 0 for i in range(len(batch))) for k in range(len(batch))]
        for in_dims in kinds:
            given = [t.movedim(0, min(d, t.ndim - 1)) if d else t if d == 0 else t[0]
                     for t, d in zip(batch, in_dims, strict=True)]
            dims = tuple(None if d is None else min(d, t.ndim - 1) for t, d in zip(given, in_dims, strict=True))
            expected = [outputs(row, *[(t[0] if d is None else t[i]).clone() for t, d in zip(batch, in_dims, strict=True)])
                        for i in range(BATCH)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    found = func.vmap(lambda *x: tuple(outputs(row, *x)), dims)(*given)
                except RuntimeError as error:  # a row that writes into its first argument
                    if IN_PLACE in str(error) and in_dims[0] is None:
                        continue
                    raise
            for result, parts in zip(found, zip(*expected, strict=True), strict=True):
                reference = np.stack([numbers(part) for part in parts])
                assert result.shape == reference.shape, f"{dtype} {in_dims}"
                assert result.dtype == parts[0].dtype
                np.testing.assert_allclose(numbers(result), reference, rtol=1e-9, atol=1e-11, err_msg=f"{dtype} {in_dims}")


def directions(inputs: list[Tensor]) -> list[Tensor]:
    rng = np.random.default_rng(5)
    return [lucid.tensor(rng.uniform(-1, 1, t.shape)).to(t.dtype) for t in inputs]


@named([row for row in MAPPED if row.smooth])
def test_forward_mode_is_two_backward_passes(row: Row) -> None:
    for dtype in ["float64"] + ["complex128"] * row.complex:
        inputs = tensors(lucid, inputs_of(row, dtype, 1), dtype, "cpu")
        smooth = [i for i, t in enumerate(inputs) if t.is_floating_point() or t.is_complex()]
        if not smooth:
            continue

        def function(*values: Tensor, inputs: Any = inputs, smooth: Any = smooth) -> tuple[Tensor, ...]:
            given = list(inputs)
            for i, value in zip(smooth, values, strict=True):
                given[i] = value
            return tuple(t for t in outputs(row, *given) if t.is_floating_point() or t.is_complex())

        chosen = tuple(inputs[i] for i in smooth)
        moves = tuple(directions(list(chosen)))
        values, found = func.jvp(function, chosen, moves)
        _, expected = lucid.autograd.functional.jvp(function, chosen, moves)
        for value, plain in zip(values, function(*chosen), strict=True):
            np.testing.assert_allclose(numbers(value), numbers(plain), rtol=1e-9, atol=1e-11)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(numbers(one), numbers(other), rtol=1e-7, atol=1e-9, err_msg=dtype)


@named([row for row in MAPPED if row.smooth])
def test_gradients_inside_and_outside(row: Row) -> None:
    """The gradient of each example by vmap(grad), and that of their sum by grad(vmap), with an input that all share."""
    batch = stacked(row, "float64")
    smooth = [i for i, t in enumerate(batch) if t.is_floating_point()]
    if not smooth:
        return

    def total(*values: Tensor) -> Tensor:
        parts = [t for t in outputs(row, *values) if t.is_floating_point() or t.is_complex()]
        return sum(((t.abs() ** 2 if t.is_complex() else t.sin()).sum() for t in parts), start=lucid.tensor(0.0).double())

    def gradients(*values: Tensor) -> tuple[Tensor, ...]:
        return func.grad(total, tuple(smooth))(*values)

    shared = smooth[0] if len(batch) > 1 else None
    dims = tuple(None if i == shared else 0 for i in range(len(batch)))
    given = [t[0] if d is None else t for t, d in zip(batch, dims, strict=True)]
    expected = [gradients(*[t.clone() if d is None else t[i].clone() for t, d in zip(given, dims, strict=True)]) for i in range(BATCH)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            inside = func.vmap(gradients, dims)(*given)
        except RuntimeError as error:
            assert IN_PLACE in str(error) and dims[0] is None  # noqa: PT017
            return
        outside = func.grad(lambda *x: func.vmap(total, dims)(*x).sum(), tuple(smooth))(*given)
    for place, found, whole, parts in zip(smooth, inside, outside, zip(*expected, strict=True), strict=True):
        reference = np.stack([numbers(part) for part in parts])
        np.testing.assert_allclose(numbers(found), reference, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(numbers(whole), reference.sum(0) if place == shared else reference, rtol=1e-8, atol=1e-10)
