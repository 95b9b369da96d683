"""Discrete Fourier transforms and their gradients.

A transform is linear, so its gradient is the inverse transform with the same scale (Kreutz-Delgado, "The complex gradient
operator and the CR-calculus", 2009, says what the gradient of a complex number is). Three kernels compute all of them: complex to
complex, real to half of a symmetric complex spectrum, and back.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import _dtypes
from ...autograd.calls import single_op
from ...autograd.errors import type_name
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._operands import canonical_dim, canonical_dims, require_tensor
from .._out import accepts_out
from ..elementwise.arithmetic import conjugate
from ..manipulation.padding import pad
from ..manipulation.strides import overlap_add

Axes = tuple[int, ...]
REVERSED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}  # the same scale in the other direction


# ---- kernels and rules ---------------------------------------------------------------------------------------------------
def _c2c_rule(needs: Any, x: Tensor, *, axes: Axes, norm: str, forward: bool) -> Vjp:
    real = x._array.dtype.kind != "c"

    def vjp(g: Tensor, y: Any) -> tuple[Tensor]:
        gradient = _c2c(g, axes=axes, norm=REVERSED[norm], forward=not forward)
        return (gradient.real if real else gradient,)

    return vjp


# An element of half a spectrum that stands for two has a `weight`: in a gradient it counts once on the way back to real numbers,
# which counts it twice, and twice on the way there.
def _r2c_rule(needs: Any, x: Tensor, *, axes: Axes, norm: str, weight: float = 1.0) -> Vjp:
    length = x._array.shape[axes[-1]]
    return lambda g, y: (_c2r(g, axes=axes, length=length, norm=REVERSED[norm], weight=weight / 2),)


def _c2r_rule(needs: Any, x: Tensor, *, axes: Axes, length: int, norm: str, weight: float = 1.0) -> Vjp:
    return lambda g, y: (_r2c(g, axes=axes, norm=REVERSED[norm], weight=2 * weight),)


def _windows_rule(needs: Any, x: Tensor, window: Tensor, *, step: int, norm: str) -> Vjp:
    length, size = x._array.shape[1], window._array.shape[0]
    kept, factors = x if needs[1] else None, window if needs[0] else None

    def vjp(g: Tensor, y: Any) -> tuple[Tensor | None, Tensor | None]:
        windows = _c2r(g, axes=(2,), length=size, norm=REVERSED[norm], weight=0.5)
        return (None if factors is None else overlap_add(windows * factors, length, step),
                None if kept is None else (windows * kept.unfold(1, size, step)).sum((0, 1)))

    return vjp


_c2c = single_op("fft_c2c", _c2c_rule)
_r2c = single_op("fft_r2c", _r2c_rule)
_c2r = single_op("fft_c2r", _c2r_rule)
_windows = single_op("fft_windows", _windows_rule)


# ---- arguments -----------------------------------------------------------------------------------------------------------
def _number(name: str, input: Any, real: bool | None) -> Tensor:
    """`input` as floating-point numbers: real ones if `real`, complex ones if not, either if that is None."""
    if isinstance(input, Tensor) and input._array.dtype.char in ("fdFD" if real is None else "fd" if real else "FD"):
        return input
    x = require_tensor(f"fft_{name}", input)
    if x._array.dtype.kind in "biu":
        x = x.to(_dtypes.get_default_dtype())
    if x.itemsize < 4:
        raise RuntimeError(f"Unsupported dtype {type_name(x.dtype)}")
    if real and x.is_complex():
        whole = {"rfft": "rfft expects a real input tensor, but got", "ihfft": "ihfft expects a real input tensor, but got"}
        several = ("rfftn expects a real-valued input tensor, but got" if name.startswith("r") else
                   "Only supports floating-point dtypes, but found:")
        raise RuntimeError(f"{whole.get(name, several)} {type_name(x.dtype)}")
    if real is False and not x.is_complex():
        return x.to(_dtypes.promote_types(x.dtype, _dtypes.complex64))
    return x


def _norm(norm: str | None) -> str:
    if norm is None:
        return "backward"
    if norm not in REVERSED:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    return norm


def _axes(x: Tensor, s: Any, dim: Any) -> tuple[Axes, list[int]]:
    """The dimensions to transform, and the length of the signal in each; -1 keeps the one it has."""
    s = (s,) if isinstance(s, int) else s
    dim = (dim,) if isinstance(dim, int) else dim
    if dim is None:
        if s is not None and len(s) > x.ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {x.ndim} dimensions.")
        axes: Axes = tuple(range(x.ndim - (x.ndim if s is None else len(s)), x.ndim))
    else:
        if len(dim) and x.ndim == 0:
            raise IndexError(f"Dimension specified as {dim[0]} but tensor has no dimensions")
        if len(dim) and len({canonical_dim(d, x.ndim) for d in dim}) != len(dim):
            raise RuntimeError("FFT dims must be unique")
        axes = canonical_dims(tuple(dim), x.ndim) if len(dim) else ()
        if s is not None and len(s) != len(axes):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    shape = x._array.shape
    lengths = [shape[axis] if s is None or s[number] == -1 else s[number] for number, axis in enumerate(axes)]
    return axes, lengths


def _resized(x: Tensor, axes: Axes, lengths: Sequence[int]) -> Tensor:
    """`x` cut off, or filled up with zeros, to `lengths` along `axes`."""
    missing = [0] * (2 * x.ndim)
    for axis, n in zip(axes, lengths, strict=True):
        if n < 1:
            raise RuntimeError(f"Invalid number of data points ({n}) specified")
        given = x._array.shape[axis]
        if n < given:
            x = x.narrow(axis, 0, n)
        missing[2 * (x.ndim - 1 - axis) + 1] = max(n - given, 0)
    return pad(x, missing) if any(missing) else x


def _axis(x: Tensor, dim: int) -> int:
    """The dimension of a transform of one."""
    ndim = x._array.ndim
    if ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return ndim - 1 if dim == -1 else canonical_dim(dim, ndim)


def _line(x: Tensor, axis: int, n: int | None) -> Tensor:
    """`x` with `n` elements along `axis`, or as many as it has."""
    length = x._array.shape[axis]
    return _resized(x, (axis,), [length if n is None else n]) if length == 0 or (n is not None and n != length) else x


# ---- the transforms of any number of dimensions ---------------------------------------------------------------------------
def _complex_transform(name: str, input: Tensor, s: Any, dim: Any, norm: str | None, forward: bool) -> Tensor:
    mode, x = _norm(norm), _number(name, input, None)
    axes, lengths = _axes(x, s, dim)
    x = _resized(x, axes, lengths)
    if not axes:
        return x.clone() if x.is_complex() else _number(name, x, False)
    return _c2c(x, axes=axes, norm=mode, forward=forward)


def _to_half(name: str, input: Tensor, s: Any, dim: Any, mode: str) -> Tensor:
    x = _number(name, input, True)
    axes, lengths = _axes(x, s, dim)
    if not axes:
        raise RuntimeError("rfftn must transform at least one axis")
    return _r2c(_resized(x, axes, lengths), axes=axes, norm=mode)


def _from_half(x: Tensor, s: Any, dim: Any, mode: str) -> Tensor:
    axes, lengths = _axes(x, s, dim)
    if not axes:
        raise RuntimeError("irfftn must transform at least one axis")
    given = (s,) if isinstance(s, int) else s
    length = lengths[-1] if given is not None and given[-1] != -1 else 2 * (x._array.shape[axes[-1]] - 1)
    if length < 1:
        raise RuntimeError(f"Invalid number of data points ({length}) specified")
    x = _resized(x, axes, [*lengths[:-1], length // 2 + 1])
    return _c2r(x, axes=axes, length=length, norm=mode)


@accepts_out
def fftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The Fourier transform over the dimensions `dim`, or all, or the last ones that `s` gives lengths for.

    The signal is cut off or filled up with zeros to the lengths `s`; -1 keeps one. `norm` 'forward' divides by their product,
    'ortho' by its root, 'backward' (None) leaves that to the inverse. Integers become the default dtype. Raises RuntimeError for
    half precision, other modes, lengths below 1 and dimensions named twice.

    >>> lucid.fft.fftn(lucid.ones(2, 2)).real
    Tensor([[4.0, 0.0],
            [0.0, 0.0]], requires_grad=False)
    """
    return _complex_transform("fftn", input, s, dim, norm, True)


@accepts_out
def ifftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `fftn`.

    >>> lucid.fft.ifftn(lucid.fft.fftn(lucid.tensor([[1.0, 2.0], [3.0, 4.0]]))).real
    Tensor([[1.0, 2.0],
            [3.0, 4.0]], requires_grad=False)
    """
    return _complex_transform("ifftn", input, s, dim, norm, False)


@accepts_out
def rfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """`fftn` of real numbers: of the last of `dim` only the first n // 2 + 1 elements, of which the others are conjugates.

    Raises RuntimeError for complex numbers.

    >>> lucid.fft.rfftn(lucid.ones(4, 6)).shape
    lucid.Size([4, 4])
    """
    return _to_half("rfftn", input, s, dim, _norm(norm))


@accepts_out
def irfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `rfftn`: real numbers, 2 (m - 1) of m along the last of `dim`, unless `s` has another length.

    >>> lucid.fft.irfftn(lucid.fft.rfftn(lucid.tensor([[1.0, 2.0], [3.0, 4.0]])))
    Tensor([[1.0, 2.0],
            [3.0, 4.0]], requires_grad=False)
    """
    return _from_half(_number("irfftn", input, False), s, dim, _norm(norm))


@accepts_out
def hfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """`fftn` of signals that are the conjugate of themselves reversed, given by their first half along the last of `dim`: real
    numbers. 2 (m - 1) of m there, unless `s` has another length.

    >>> lucid.fft.hfftn(lucid.ones(2, 3), s=(2, 4)).shape
    lucid.Size([2, 4])
    """
    return _from_half(conjugate(_number("hfftn", input, False)), s, dim, REVERSED[_norm(norm)])


@accepts_out
def ihfftn(input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `hfftn`. Raises RuntimeError for complex numbers.

    >>> lucid.fft.ihfftn(lucid.ones(2, 4)).shape
    lucid.Size([2, 3])
    """
    return conjugate(_to_half("ihfftn", input, s, dim, REVERSED[_norm(norm)]))


# ---- of two ---------------------------------------------------------------------------------------------------------------
@accepts_out
def fft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`fftn` over two dimensions.

    >>> lucid.fft.fft2(lucid.ones(2, 2)).real
    Tensor([[4.0, 0.0],
            [0.0, 0.0]], requires_grad=False)
    """
    return fftn(input, s, dim, norm)


@accepts_out
def ifft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`ifftn` over two dimensions.

    >>> lucid.fft.ifft2(lucid.fft.fft2(lucid.tensor([[1.0, 2.0], [3.0, 4.0]]))).real
    Tensor([[1.0, 2.0],
            [3.0, 4.0]], requires_grad=False)
    """
    return ifftn(input, s, dim, norm)


@accepts_out
def rfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`rfftn` over two dimensions.

    >>> lucid.fft.rfft2(lucid.ones(4, 6)).shape
    lucid.Size([4, 4])
    """
    return rfftn(input, s, dim, norm)


@accepts_out
def irfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`irfftn` over two dimensions.

    >>> lucid.fft.irfft2(lucid.fft.rfft2(lucid.tensor([[1.0, 2.0], [3.0, 4.0]])))
    Tensor([[1.0, 2.0],
            [3.0, 4.0]], requires_grad=False)
    """
    return irfftn(input, s, dim, norm)


@accepts_out
def hfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`hfftn` over two dimensions.

    >>> lucid.fft.hfft2(lucid.ones(2, 2)).shape
    lucid.Size([2, 2])
    """
    return hfftn(input, s, dim, norm)


@accepts_out
def ihfft2(input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`ihfftn` over two dimensions.

    >>> lucid.fft.ihfft2(lucid.ones(2, 4)).shape
    lucid.Size([2, 3])
    """
    return ihfftn(input, s, dim, norm)


# ---- of one ---------------------------------------------------------------------------------------------------------------
def _complex_line(name: str, input: Tensor, n: int | None, dim: int, norm: str | None, forward: bool) -> Tensor:
    x = _number(name, input, None)
    axis, mode = _axis(x, dim), _norm(norm)
    return _c2c(_line(x, axis, n), axes=(axis,), norm=mode, forward=forward)


@accepts_out
def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The Fourier transform along `dim`, of the first `n` elements or filled up with zeros to as many. See `fftn`.

    >>> lucid.fft.fft(lucid.tensor([1.0, 0.0, -1.0, 0.0]))
    Tensor([0.0+0.0j, 2.0+0.0j, 0.0+0.0j, 2.0+0.0j], requires_grad=False)
    """
    return _complex_line("fft", input, n, dim, norm, True)


@accepts_out
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft`.

    >>> lucid.fft.ifft(lucid.fft.fft(lucid.tensor([1.0, 2.0, 3.0, 4.0]))).real
    Tensor([1.0, 2.0, 3.0, 4.0], requires_grad=False)
    """
    return _complex_line("ifft", input, n, dim, norm, False)


def _real_line(name: str, input: Tensor, n: int | None, dim: int, mode: str) -> Tensor:
    x = _number(name, input, True)
    axis = _axis(x, dim)
    return _r2c(_line(x, axis, n), axes=(axis,), norm=mode)


def _half_line(x: Tensor, n: int | None, dim: int, mode: str) -> Tensor:
    axis = _axis(x, dim)
    length = 2 * (x._array.shape[axis] - 1) if n is None else n
    if length < 1:
        raise RuntimeError(f"Invalid number of data points ({length}) specified")
    return _c2r(_line(x, axis, length // 2 + 1), axes=(axis,), length=length, norm=mode)


@accepts_out
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """`fft` of real numbers: the first n // 2 + 1 elements, of which the others are conjugates. See `rfftn`.

    >>> lucid.fft.rfft(lucid.tensor([1.0, 0.0, -1.0, 0.0]))
    Tensor([0.0+0.0j, 2.0+0.0j, 0.0+0.0j], requires_grad=False)
    """
    return _real_line("rfft", input, n, dim, _norm(norm))


@accepts_out
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `rfft`: `n` real numbers, or 2 (m - 1) of m. The imaginary parts of the first, and for an even `n` of the
    last number do not count.

    >>> lucid.fft.irfft(lucid.fft.rfft(lucid.tensor([1.0, 2.0, 3.0, 4.0])))
    Tensor([1.0, 2.0, 3.0, 4.0], requires_grad=False)
    """
    return _half_line(_number("irfft", input, False), n, dim, _norm(norm))


@accepts_out
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """`fft` of a signal that is the conjugate of itself reversed, given by its first half: real numbers. See `hfftn`.

    >>> lucid.fft.hfft(lucid.tensor([1.0, 0.5, 0.0]))
    Tensor([2.0, 1.0, 0.0, 1.0], requires_grad=False)
    """
    return _half_line(conjugate(_number("hfft", input, False)), n, dim, REVERSED[_norm(norm)])


@accepts_out
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`. Raises RuntimeError for complex numbers.

    >>> lucid.fft.ihfft(lucid.tensor([2.0, 1.0, 0.0, 1.0])).real
    Tensor([1.0, 0.5, 0.0], requires_grad=False)
    """
    return conjugate(_real_line("ihfft", input, n, dim, REVERSED[_norm(norm)]))


def rfft_of_windows(signals: Tensor, window: Tensor, step: int, norm: str) -> Tensor:
    """`rfft` of the parts of signals (batch, time) that are as long as `window`, `step` apart, times that.

    The result is (batch, parts, frequencies). Raises RuntimeError for half precision.
    """
    dtype = _dtypes.promote_types(signals._array.dtype, window._array.dtype)
    return _windows(_number("rfft", signals.to(dtype), True), _number("rfft", window.to(dtype), True), step=step, norm=norm)
