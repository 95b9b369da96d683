"""Functions that few programs call, against PyTorch."""
from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

import lucid

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

X = np.random.default_rng(0).standard_normal((2, 3, 4, 5))
MASK = np.random.default_rng(1).random((4, 5)) > 0.4
MASK[1] = False


def _same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, tuple):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            _same(mine, other)
        return
    assert str(theirs.dtype).removeprefix("torch.") == ours.dtype.name and tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-5, atol=1e-6)


def _both(call: Any, *arrays: np.ndarray) -> None:
    _same(call(lucid, *map(lucid.from_numpy, arrays)), call(torch, *map(torch.from_numpy, arrays)))


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_layers_with_their_statistics(dtype: str) -> None:
    x, weight, bias = X.astype(dtype), X[0, 0, 0].astype(dtype), X[1, 0, 0].astype(dtype)
    _both(lambda t, x, w, b: t.native_layer_norm(x, (5,), w, b, 1e-5), x, weight, bias)
    _both(lambda t, x: t.native_layer_norm(x, (4, 5), None, None, 1e-3), x)
    _both(lambda t, x, w: t.native_group_norm(x, w, None, 2, 3, 20, 3, 1e-5), x, weight[:3])
    _both(lambda t, x, w, b: t.native_batch_norm(x, w, b, None, None, True, 0.1, 1e-5), x, weight[:3], bias[:3])
    _both(lambda t, x, w: t.native_batch_norm(x, None, None, w, w.abs() + 1, False, 0.1, 1e-5), x, weight[:3])
    _both(lambda t, x: t.native_channel_shuffle(x, 3), x)
    _both(lambda t, x: t.max_pool1d_with_indices(x[0], 2, (), 1), x[0])
    _both(lambda t, x: t.native_dropout(x, 0.5, False), x)


def test_norms_and_products() -> None:
    matrix = X[0, 0]
    for call in (lambda t, x: t.nuclear_norm(x), lambda t, x: t.nuclear_norm(x, True), lambda t, x: t.nuclear_norm(x, (0, 1), True),
                 lambda t, x: t.frobenius_norm(x, 1), lambda t, x: t.frobenius_norm(x, (0, 1), True),
                 lambda t, x: t.ormqr(*t.geqrf(x), x, True, True), lambda t, x: t.ormqr(*t.geqrf(x), x.T, left=False),
                 lambda t, x: t.spmm(x.to_sparse(), x.T), lambda t, x: t.dsmm(x, x.T),
                 lambda t, x: t._softmax_backward_data(x, x.softmax(1), 1, x.dtype),
                 lambda t, x: t._log_softmax_backward_data(x, x.log_softmax(1), 1, x.dtype)):
        _both(call, matrix)
    grid = np.tanh(X[..., :2])
    _both(lambda t, x, g: t.grid_sampler_2d(x, g, 0, 1, False), X, grid)
    _both(lambda t, x, g: t.grid_sampler_3d(x[None], g[None], 1, 0, True), X, np.tanh(X[..., :3]))


def test_orders_of_dimensions() -> None:
    for order in ((0, 1, 2, 3), (0, 2, 3, 1), (3, 1, 0, 2)):
        _same(lucid.tensor(lucid.empty_permuted((2, 3, 4, 5), order).stride()), torch.tensor(torch.empty_permuted((2, 3, 4, 5), order).stride()))
        ours, theirs = (t.empty_permuted((2, 3, 4, 5), order).dim_order() for t in (lucid, torch))
        assert ours == theirs


@pytest.mark.parametrize("name", torch.signal.windows.__all__)
def test_windows(name: str) -> None:
    more = {"general_cosine": {"a": [0.5, 0.3, 0.2]}, "kaiser": {"beta": 3.0}, "gaussian": {"std": 1.7}, "exponential": {"tau": 2.0}}
    for length in (0, 1, 2, 5, 8):
        for sym in (True, False):
            for dtype in ("float32", "float64"):
                arguments = {"sym": sym, **more.get(name, {})}
                _same(getattr(lucid.signal.windows, name)(length, dtype=dtype, **arguments),
                      getattr(torch.signal.windows, name)(length, dtype=getattr(torch, dtype), **arguments))
    if name == "exponential":
        _same(lucid.signal.windows.exponential(5, center=1, sym=False), torch.signal.windows.exponential(5, center=1, sym=False))


@pytest.mark.parametrize("name", [name for name in lucid.masked.__all__ if name not in ("argmax", "argmin", "logaddexp")])
def test_masks(name: str) -> None:
    ours, theirs = getattr(lucid.masked, name), getattr(torch.masked, name)
    assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters)
    x, mask = X[0, 0].astype("f4"), MASK
    dims: tuple[Any, ...] = (0, 1, -1) if ("dim" in inspect.signature(ours).parameters and inspect.signature(ours).parameters[
        "dim"].default is inspect.Parameter.empty) or name == "median" else (None, 0, (0, 1), -1)
    first = (2.0,) if name == "normalize" else ()
    for dim in dims:
        for chosen in (None, mask, mask[0], mask[:, :1]):
            results = []
            for t, function in ((lucid, ours), (torch, theirs)):
                tensor, keep = t.from_numpy(x), None if chosen is None else t.from_numpy(np.ascontiguousarray(chosen))
                keywords = {"keepdim": True} if "keepdim" in inspect.signature(ours).parameters else {}
                results.append(function(tensor, *first, dim=dim, mask=keep, **keywords))
            _same(*results)
    if name == "norm":
        for order in (0, 1, math.inf, -math.inf, 3):  # of other negative ones PyTorch's is 0 wherever an element is left out
            _both(lambda t, x, m, order=order: t.masked.norm(x, order, 1, mask=m), x, mask)
    if name in ("var", "std"):
        _both(lambda t, x, m: getattr(t.masked, name)(x, 1, False, mask=m), x, mask)
        _both(lambda t, x, m: getattr(t.masked, name)(x, 1, correction=2, mask=m), x, mask)


def test_masks_of_two() -> None:
    _both(lambda t, x, m: t.masked.logaddexp(x, x.flip(1), input_mask=m, other_mask=~m), X[0, 0], MASK)


def test_lobpcg() -> None:
    a = X[0, 0] @ X[0, 0].T
    a = np.kron(a, np.eye(3)) + np.diag(np.arange(12.0))
    start = np.random.default_rng(2).standard_normal((12, 2))
    for largest in (True, False):
        mine = lucid.lobpcg(lucid.from_numpy(a), X=lucid.from_numpy(start), largest=largest)[0]
        theirs = torch.lobpcg(torch.from_numpy(a), X=torch.from_numpy(start), largest=largest)[0]
        _same(mine, theirs)
    assert list(inspect.signature(lucid.lobpcg).parameters) == list(inspect.signature(torch.lobpcg).parameters)
