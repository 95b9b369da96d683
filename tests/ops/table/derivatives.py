"""What the tests of the neural-network operations share: inputs, derivative checks, and runs of the same code on PyTorch."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
from lucid.autograd import gradcheck, gradgradcheck


def uniform(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> np.ndarray:
    """float64 numbers of a fixed seed."""
    return np.random.default_rng(seed).uniform(low, high, shape)


def leaf(array: Any, device: str = "cpu", dtype: Any = None) -> lucid.Tensor:
    """A tensor that requires grad."""
    return lucid.tensor(array, dtype=dtype, device=device, requires_grad=True)


def check_derivatives(function: Callable[..., Any], device: str, *arrays: Any) -> None:
    """First and second gradients agree with finite differences: along random directions, but first ones on the CPU for each
    element.
    """
    inputs = [leaf(a, device) for a in arrays]
    # Sums on a GPU may differ in the last bit from run to run.
    assert gradcheck(function, inputs, fast_mode=device != "cpu", nondet_tol=1e-10)
    assert gradgradcheck(function, inputs, fast_mode=True, nondet_tol=1e-10)


def close(result: lucid.Tensor, expected: Any, rtol: float = 1e-5) -> None:
    """Assert that a tensor holds `expected` and has its shape."""
    expected = np.asarray(expected)
    assert tuple(result.shape) == expected.shape
    np.testing.assert_allclose(result.detach().cpu().double().numpy(), expected, rtol=rtol, atol=rtol)


def same_as_torch(function: Callable[..., Any], *arrays: np.ndarray, rtol: float = 1e-10, device: str = "cpu") -> None:
    """`function(library, F, *tensors)` gives the same values, dtype and gradients on lucid and on PyTorch.

    Floating arrays require grad; the upstream gradients are 1, 2, 3, ….
    """
    torch = pytest.importorskip("torch")
    import torch.nn.functional as torch_functional

    import lucid.nn.functional as lucid_functional

    found = []
    for library, functional in ((lucid, lucid_functional), (torch, torch_functional)):
        where = {"device": device} if library is lucid else {}
        tensors = [library.tensor(a, requires_grad=a.dtype.kind == "f", **where) for a in arrays]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = function(library, functional, *tensors)
        ramp = library.arange(1, y.numel() + 1, **where).reshape(tuple(y.shape)).to(y.dtype)
        if y.requires_grad:
            (y * ramp).sum().backward()
        grads = [t.grad for t in tensors if t.requires_grad]
        found.append((str(y.dtype).removeprefix("torch."),
                      [None if t is None else t.detach().cpu().to(library.float64).numpy() for t in [y, *grads]]))
    (dtype, ours), (expected_dtype, theirs) = found
    assert dtype == expected_dtype
    for a, b in zip(ours, theirs, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol, equal_nan=True)


def raises_like_torch(function: Callable[..., Any], match: str | None = None) -> None:
    """`function(library, F)` raises PyTorch's class of exception (or a subclass), with `match` in the message."""
    torch = pytest.importorskip("torch")
    import torch.nn.functional as torch_functional

    import lucid.nn.functional as lucid_functional

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as theirs:  # noqa: PT011
            function(torch, torch_functional)
        with pytest.raises(theirs.type, match=match):
            function(lucid, lucid_functional)
