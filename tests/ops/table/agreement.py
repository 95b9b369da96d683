"""Comparison of a piece of code on lucid and on PyTorch: results, dtypes, gradients, and the class of an error."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid


def agree(function: Callable[..., Any], *arrays: np.ndarray, device: str = "cpu", grad: bool = True, rtol: float = 1e-10) -> None:
    """`function(library, *tensors)` gives the same tensors and gradients on both, or raises an exception of the same class.

    With `grad` floating arrays require grad, and the upstream gradients are 1, 2, 3, ….
    """
    torch = pytest.importorskip("torch")
    theirs, ours = (_outcome(library, function, arrays, device, grad) for library in (torch, lucid))
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs)), f"PyTorch raises {theirs!r}, lucid gives {ours!r}"
        return
    assert not isinstance(ours, Exception), f"PyTorch gives {theirs}, lucid raises {ours!r}"
    assert len(ours) == len(theirs)
    for mine, expected in zip(ours, theirs, strict=True):
        if mine is None or expected is None:  # no gradient is as good as zeros
            assert all(t is None or not bool((t != 0).any()) for t in (mine, expected))
            continue
        assert str(expected.dtype) == f"torch.{mine.dtype}"
        assert tuple(mine.shape) == tuple(expected.shape)
        np.testing.assert_allclose(mine.numpy(force=True), expected.numpy(force=True), rtol=rtol, atol=rtol, equal_nan=True)


def _outcome(library: Any, function: Callable[..., Any], arrays: tuple[np.ndarray, ...], device: str, grad: bool) -> Any:
    """The tensors that `function` returns and the gradients of its arguments, or what it raises."""
    where = {"device": device} if library is lucid else {}
    tensors = [library.tensor(array, **where) for array in arrays]
    leaves = [t.requires_grad_() for t in tensors if grad and t.is_floating_point()]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = _flat(function(library, *tensors))
    except Exception as error:
        return error
    total = sum((r * library.arange(1, r.numel() + 1, **where).reshape(tuple(r.shape)).to(r.dtype)).sum()
                for r in results if r.requires_grad)
    if isinstance(total, library.Tensor):
        total.backward()
    return results + [t.grad for t in leaves]


def _flat(result: Any) -> list[Any]:
    return [t for item in result for t in _flat(item)] if isinstance(result, (tuple, list)) else [result]
