"""Complex numbers from real ones and back. `view_as_complex` and `view_as_real` are views of the same memory."""
from __future__ import annotations

from typing import Any

from ... import _dtypes
from ...autograd.calls import single_op, view_op
from ...autograd.errors import type_name
from ...autograd.op import Op, Vjp
from ...tensor import Tensor
from .._operands import require_tensor
from .._out import accepts_out
from ..creation.creation import ones_like
from .broadcasting import broadcast_tensors

_PARTS = (_dtypes.float32, _dtypes.float64)

_as_complex = view_op("view_as_complex", lambda needs, x: lambda g, y: (_as_real(g.contiguous()),))
_as_real: Any = view_op("view_as_real", lambda needs, x: lambda g, y: (_as_complex(g.contiguous()),))
_join: Op = single_op("join_parts", lambda needs, real, imag: lambda g, y: (g.real, g.imag))


def _polar_rule(needs: Any, size: Tensor, angle: Tensor) -> Vjp:
    def vjp(g: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        turned = g * y.conj()  # its imaginary part is that of `g` at right angles to `y`, times the size of `y`
        direction = _polar(ones_like(angle), angle)
        return (g * direction.conj()).real, turned.imag

    return vjp


_polar: Op = single_op("polar", _polar_rule, saved_outputs=True)


def view_as_complex(input: Tensor) -> Tensor:
    """The view of the pairs (real, imaginary) in the last dimension as complex numbers.

    Raises RuntimeError unless that dimension has length 2 and lies densely in memory, and for other dtypes than float32 and
    float64.

    >>> lucid.view_as_complex(lucid.tensor([[1.0, 2.0], [3.0, -4.0]]))
    Tensor([1.0+2.0j, 3.0-4.0j], requires_grad=False)
    """
    if require_tensor("view_as_complex", input).dtype not in _PARTS:
        raise RuntimeError(f"view_as_complex is only supported for float and double tensors, but got a tensor of scalar type: "
                           f"{type_name(input.dtype)}")
    if input.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if input.numel() and input.stride(-1) != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(step % 2 for step, length in zip(input.stride()[:-1], input.shape[:-1], strict=True) if length > 1):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return _as_complex(input)


def view_as_real(input: Tensor) -> Tensor:
    """The view of complex numbers as pairs (real, imaginary) in a new last dimension. Raises RuntimeError for real tensors.

    >>> lucid.view_as_real(lucid.tensor([1 + 2j, 3 - 4j]))
    Tensor([[ 1.0,  2.0],
            [ 3.0, -4.0]], requires_grad=False)
    """
    if not require_tensor("view_as_real", input).is_complex():
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return _as_real(input)


def _check_parts(first: Tensor, second: Tensor) -> list[Tensor]:
    for part in (first, second):
        if not isinstance(part, Tensor):
            raise TypeError(f"complex() needs tensors, not {type(part).__name__}")
    half_precision = (_dtypes.float16, *_PARTS)
    if first.dtype not in half_precision or second.dtype not in half_precision:
        raise RuntimeError("Expected both inputs to be Half, Float or Double tensors but got "
                           f"{type_name(first.dtype)} and {type_name(second.dtype)}")
    if first.dtype != second.dtype:
        raise RuntimeError(f"Expected object of scalar type {type_name(first.dtype)} but got scalar type "
                           f"{type_name(second.dtype)} for second argument")
    wide = _dtypes.float32 if first.dtype == _dtypes.float16 else first.dtype  # there is no complex32
    if first._array.shape != second._array.shape:
        first, second = broadcast_tensors(first, second)
    return [first, second] if first.dtype == wide else [first.to(wide), second.to(wide)]


@accepts_out
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """The complex numbers with the parts `real` and `imag`, which are broadcast and have the same floating-point dtype.

    float16 gives complex64. Raises RuntimeError for other dtypes.

    >>> lucid.complex(lucid.tensor([1.0, 2.0]), lucid.tensor([3.0, -4.0]))
    Tensor([1.0+3.0j, 2.0-4.0j], requires_grad=False)
    """
    return _join(*_check_parts(real, imag))


@accepts_out
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """The complex numbers with the absolute values `abs` and the angles `angle` in radians; dtypes as in `complex`.

    Raises NotImplementedError for half precision.

    >>> lucid.polar(lucid.tensor([1.0, 2.0]), lucid.tensor([0.0, lucid.pi / 2])).imag
    Tensor([0.0, 2.0], requires_grad=False)
    """
    size, turn = _check_parts(abs, angle)
    if abs.dtype == _dtypes.float16:
        raise NotImplementedError("polar is not implemented for float16")
    return _polar(size, turn)
