"""Functions that read and write by index (`gather`, `index_add`, `masked_fill`, …) beside PyTorch's."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
from lucid.autograd.gradcheck import gradcheck, gradgradcheck
from tests.ops.arrays import host, on

RANDOM = np.random.default_rng(0)
M = RANDOM.standard_normal((3, 4))
ROWS = np.array([[0, 1, 2, 0], [2, 2, 1, 0]])
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "gather": (lambda m, x, i: m.gather(x, 0, i), (M, ROWS)),
    "gather short": (lambda m, x, i: m.gather(x, 1, i), (M, ROWS[:, :2])),
    "scatter": (lambda m, x, i, s: m.scatter(x, 0, i, s), (M, np.array([[0, 1, 2, 0], [1, 2, 0, 2]]), M[:2])),
    "scatter number": (lambda m, x, i: m.scatter(x, 0, i, 2.0), (M, ROWS)),
    "scatter_add": (lambda m, x, i, s: m.scatter_add(x, 0, i, s), (M, ROWS, M[:2])),
    "scatter_add_": (lambda m, x, i, s: (x * 2).scatter_add_(0, i, s), (M, ROWS, M[:2])),
    "index_select": (lambda m, x, i: m.index_select(x, 1, i), (M, np.array([1, 1, 3]))),
    "index_add": (lambda m, x, i, s: m.index_add(x, 1, i, s, alpha=2), (M, np.array([1, 1]), M[:, :2])),
    "index_add_": (lambda m, x, i, s: (x * 2).index_add_(1, i, s), (M, np.array([1, 1]), M[:, :2])),
    "index_copy": (lambda m, x, i, s: m.index_copy(x, 1, i, s), (M, np.array([0, 2]), M[:, :2])),
    "index_fill": (lambda m, x, i: m.index_fill(x, 1, i, 3.0), (M, np.array([0, 2]))),
    "index_put": (lambda m, x, i, s: m.index_put(x, (i,), s), (M, np.array([0, 2]), M[:2])),
    "index_put accumulate": (lambda m, x, i, s: m.index_put(x, (i, i), s, accumulate=True),
                             (M, np.array([1, 1]), M[0, :2])),
    "index_put number": (lambda m, x, i, s: m.index_put(x, (i,), s, accumulate=True), (M, np.array([1, 1]), M[0, 0])),
    "masked_fill": (lambda m, x, k, v: m.masked_fill(x, k, v), (M, M > 0, M[0, 0])),
    "masked_fill broadcast": (lambda m, x, k: m.masked_fill(x, k, 2.0), (M, M[:1] > 0)),
    "masked_fill_": (lambda m, x, k, v: (x * 2).masked_fill_(k, v), (M, M[0] > 0, M[0, 0])),
    "masked_select": (lambda m, x, k: m.masked_select(x, k), (M, M > 0)),
    "masked_scatter": (lambda m, x, k, s: m.masked_scatter(x, k, s), (M, M > 0, RANDOM.standard_normal(12))),
    "take": (lambda m, x, i: m.take(x, i), (M, np.array([[0, -1, 0]]))),
    "take_along_dim": (lambda m, x, i: m.take_along_dim(x, i, 1), (M, np.array([[0, 1]]))),
    "sort": (lambda m, x: m.sort(x, 1, descending=True).values, (M,)),
    "topk": (lambda m, x: m.topk(x, 2, 0).values, (M,)),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_as_torch(name: str, device: str) -> None:
    torch = pytest.importorskip("torch")
    function, arrays = FUNCTIONS[name]
    ours = [on(device, a, np.asarray(a).dtype.kind == "f") for a in arrays]
    theirs = [torch.tensor(a, requires_grad=np.asarray(a).dtype.kind == "f") for a in arrays]
    found, expected = function(lucid, *ours), function(torch, *theirs)
    np.testing.assert_allclose(host(found), expected.detach().numpy())
    (found * found).sum().backward()
    (expected * expected).sum().backward()
    for mine, reference in zip(ours, theirs, strict=True):
        if reference.grad is not None:
            np.testing.assert_allclose(host(mine.grad), reference.grad.numpy())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_gradients(name: str, device: str) -> None:
    function, arrays = FUNCTIONS[name]
    inputs = tuple(on(device, a, np.asarray(a).dtype.kind == "f") for a in arrays)
    assert gradcheck(lambda *t: function(lucid, *t), inputs)
    assert gradgradcheck(lambda *t: function(lucid, *t), inputs, fast_mode=True)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "float16", "bfloat16"])
def test_repeated_indices_add_up_in_every_dtype(dtype: str, device: str) -> None:
    x = lucid.zeros(3, dtype=dtype, device=device)
    index = on(device, [1, 1, 2])
    ones = lucid.ones(3, dtype=dtype, device=device)
    assert x.index_add(0, index, ones).tolist() == [0, 2, 1]
    assert x.scatter_add(0, index, ones).tolist() == [0, 2, 1]
    assert x.index_put((index,), ones, accumulate=True).tolist() == [0, 2, 1]


def test_function_errors(device: str) -> None:
    x = on(device, M)
    for call, message in [
            (lambda: x.gather(0, on(device, [0])), "same number of dimensions"),
            (lambda: x.gather(0, on(device, M)), "Expected dtype"),
            (lambda: x.scatter_add(0, on(device, ROWS), on(device, M[:1])), "no larger than src"),
            (lambda: x.index_add(0, on(device, [0]), on(device, M[:2])), "does not match the slices"),
            (lambda: x.index_add(0, on(device, [0]), on(device, M[:1].astype(np.float32))), "same scalar type"),
            (lambda: x.masked_fill(on(device, ROWS), 0.0), "bool for mask"),
            (lambda: x.masked_fill(on(device, M > 0), on(device, M[0])), "0-dimensional value"),
            (lambda: x.index_put((on(device, [0]),), on(device, M[0].astype(np.float32))),
             "source and destination dtypes")]:
        with pytest.raises(RuntimeError, match=message):
            call()
    with pytest.raises(IndexError, match="supposed to be a vector"):
        x.index_select(0, on(device, ROWS))


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)])
@pytest.mark.parametrize(("shape", "axis", "count"), [((40, 30), 0, 300), ((30, 40), 1, 300), ((5, 40, 30), 1, 60), ((40, 3), 0, 2)])
def test_an_expanded_index_is_one_of_slices(shape: tuple[int, ...], axis: int, count: int, dtype: Any) -> None:
    """As graph networks have it: the values, and both gradients, are those of the index written out."""
    generator = np.random.default_rng(0)
    lengths = tuple(count if dim == axis else length for dim, length in enumerate(shape))
    vector = generator.integers(0, shape[axis], count).reshape([count if dim == axis else 1 for dim in range(len(shape))])
    results = []
    for index in (lucid.tensor(vector).expand(lengths), lucid.tensor(np.broadcast_to(vector, lengths).copy())):
        x, source = (lucid.tensor(np.random.default_rng(1).integers(-9, 9, size), dtype=dtype) for size in (shape, lengths))
        if dtype.kind == "f":
            x.requires_grad_(), source.requires_grad_()
        added, taken = x.scatter_add(axis, index, source), x.gather(axis, index)
        results.append([added, taken])
        if dtype.kind == "f":
            results[-1] += lucid.autograd.grad((added * added).sum() + (taken**3).sum(), (x, source))
    for expanded, written in zip(*results):
        np.testing.assert_array_equal(expanded.detach().numpy(), written.detach().numpy())


def test_an_expanded_index_out_of_range_is_refused() -> None:
    index = lucid.tensor([[3], [7]]).expand(2, 4)
    with pytest.raises(IndexError, match="index 7 is out of bounds for dimension 0 with size 7"):
        lucid.zeros(7, 4).scatter_add(0, index, lucid.ones(2, 4))


def test_an_expanded_index_of_fewer_columns() -> None:
    """An index that is shorter than the tensor takes its first columns only."""
    x, index = lucid.arange(28.0).reshape(7, 4), lucid.tensor([[3], [1]]).expand(2, 3)
    np.testing.assert_array_equal(x.gather(0, index).numpy(), [[12, 13, 14], [4, 5, 6]])
    np.testing.assert_array_equal(x.scatter_add(0, index, lucid.ones(2, 3)).numpy()[[1, 3]], [[5, 6, 7, 7], [13, 14, 15, 15]])
