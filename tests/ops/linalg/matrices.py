"""What the tests of linear algebra share: random matrices of several kinds, and comparisons with PyTorch."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import linalg


def random(*shape: int, complex_: bool = False, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    array = rng.standard_normal(shape)
    return scale * (array + 1j * rng.standard_normal(shape) if complex_ else array)


def same(function: Callable[[Any], Callable[..., Any]], device: str, *arrays: np.ndarray, rtol: float = 1e-10) -> None:
    """`function(library)(*tensors)` gives the same tensors on PyTorch and on lucid."""
    torch = pytest.importorskip("torch")
    ours = function(lucid)(*[lucid.tensor(a, device=device) for a in arrays])
    theirs = function(torch)(*[torch.tensor(a) for a in arrays])
    pairs = zip(ours, theirs, strict=True) if isinstance(ours, tuple) else [(ours, theirs)]
    for result, expected in pairs:
        expected = expected.resolve_conj().numpy()
        assert (result.dtype, tuple(result.shape)) == (expected.dtype, expected.shape)
        assert result.device == device
        np.testing.assert_allclose(result.cpu().numpy(), expected, rtol=rtol, atol=rtol * max(1, np.abs(expected).max(initial=0)))


def regular(*shape: int, complex_: bool = False, seed: int = 0) -> np.ndarray:
    """Matrices far from singular ones."""
    return random(*shape, complex_=complex_, seed=seed) + 3 * np.eye(*shape[-2:])


def definite(*shape: int, complex_: bool = False, seed: int = 0) -> np.ndarray:
    a = random(*shape, complex_=complex_, seed=seed)
    return a @ a.conj().swapaxes(-1, -2) + np.eye(shape[-1])


def hermitian(x: Any) -> Any:
    """A function of `x` whose values are Hermitian: what finite differences must not leave."""
    return (x + x.mH) / 2


def tupled(function: Callable[[Any], Any]) -> Callable[..., Callable[..., Any]]:
    return lambda lib: lambda *t: tuple(function(lib)(*t))


def raises_as_torch(function: Callable[..., Any], *arrays: np.ndarray, device: str = "cpu", match: bool = False) -> None:
    """`function(library, *tensors)` raises PyTorch's class, or a subclass of what it derives from, with `match` its words."""
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as theirs:  # noqa: PT011
            function(torch, *map(torch.tensor, arrays))
    singular = theirs.type is torch.linalg.LinAlgError
    with pytest.raises(linalg.LinAlgError if singular else theirs.type) as ours:
        function(lucid, *[lucid.tensor(a, device=device) for a in arrays])
    if match:
        assert str(ours.value) == str(theirs.value)
