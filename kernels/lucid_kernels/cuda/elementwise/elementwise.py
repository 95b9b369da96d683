"""Activations with their gradients, and arithmetic with broadcasting, on a GPU."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from lucid_kernels import formulas
from lucid_kernels.cuda.runtime import formula, launch
from lucid_kernels.naming import named

_MAX_DIMS = 6
_LAYOUT = np.dtype(
    [("size", np.int64, _MAX_DIMS), ("a", np.int64, _MAX_DIMS), ("b", np.int64, _MAX_DIMS), ("dims", np.int64)]
)
_apply = functools.partial(launch.elementwise, "elementwise")


# ------------------------------------------------------------------------------------------------------ activations
def _activation(name: str) -> Callable[..., Any]:
    """The launcher of a formula of one argument."""
    operator = formula.operator(name)

    def kernel(x: Any, *, out: Any = None) -> Any:
        return _apply(operator, out, x)

    named(kernel, name, getattr(formulas, name).__doc__)
    return launch.upcast_half(kernel)


def _gradient(name: str) -> Callable[..., Any]:
    """The launcher of a formula of two arguments."""
    operator = formula.operator(name)

    def kernel(g: Any, saved: Any, *, out: Any = None) -> Any:
        return _apply(operator, out, g, saved)

    named(kernel, name, getattr(formulas, name).__doc__)
    return launch.upcast_half(kernel)


relu, sigmoid, tanh, silu = map(_activation, ("relu", "sigmoid", "tanh", "silu"))
relu_grad, sigmoid_grad, tanh_grad, silu_grad = map(_gradient, ("relu_grad", "sigmoid_grad", "tanh_grad", "silu_grad"))


@launch.upcast_half
def gelu(x: Any, *, approximate: str, out: Any = None) -> Any:
    """x times the normal distribution function, exactly (`'none'`) or by the tanh approximation (`'tanh'`)."""
    return _apply(_gelu_form(approximate), out, x)


@launch.upcast_half
def gelu_grad(g: Any, x: Any, *, approximate: str, out: Any = None) -> Any:
    """Gradient of `gelu` from its argument."""
    return _apply(_gelu_form(approximate) + "Grad", out, g, x)


def _gelu_form(approximate: str) -> str:
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"approximate argument must be either none or tanh, not {approximate!r}")
    return "Gelu" if approximate == "none" else "GeluTanh"


# ------------------------------------------------------------------------------------------------------- arithmetic
def add(a: Any, b: Any, *, out: Any = None) -> Any:
    """a + b, broadcast together; one may be a number."""
    return _broadcast("Add", cupy.add, a, b, out)


def sub(a: Any, b: Any, *, out: Any = None) -> Any:
    """a - b, broadcast together; one may be a number."""
    return _broadcast("Sub", cupy.subtract, a, b, out)


def mul(a: Any, b: Any, *, out: Any = None) -> Any:
    """a * b, broadcast together; one may be a number."""
    return _broadcast("Mul", cupy.multiply, a, b, out)


def div(a: Any, b: Any, *, out: Any = None) -> Any:
    """a / b, broadcast together; one may be a number."""
    return _broadcast("Div", cupy.true_divide, a, b, out)


def floor_divide(a: Any, b: Any, *, out: Any = None) -> Any:
    """The largest whole number up to a / b, broadcast together; one may be a number. a / 0 is infinite or NaN."""
    return _broadcast("FloorDivide", cupy.floor_divide, *_as_arrays(a, b), out)


def remainder(a: Any, b: Any, *, out: Any = None) -> Any:
    """What `floor_divide` leaves, with the sign of b, broadcast together; one may be a number."""
    return _broadcast("Remainder", cupy.remainder, *_as_arrays(a, b), out)


def power(a: Any, b: Any, *, out: Any = None) -> Any:
    """a to the power b, broadcast together; one may be a number. One half is the root: NaN of -inf, whose `pow` is inf."""
    if b.__class__ is float and abs(b) == 0.5 and a.dtype.kind == "f":
        root = cupy.sqrt(a, out=out)
        return root if b > 0 else cupy.reciprocal(root, out=out)
    return cupy.power(a, b, out=out)


def _as_arrays(a: Any, b: Any) -> tuple[Any, Any]:
    """`a` and `b`, a scalar as an array of the other's dtype."""
    if not hasattr(a, "dtype"):
        return cupy.asarray(a, b.dtype), b
    return a, b if hasattr(b, "dtype") else cupy.asarray(b, a.dtype)


def _broadcast(op: str, ufunc: Any, a: Any, b: Any, out: Any) -> Any:
    """Our kernel for two floating arrays of one dtype; CuPy's ufunc for everything else (scalars, integers, bool, complex)."""
    kinds = {operand.dtype.char if hasattr(operand, "dtype") else "number" for operand in (a, b)}
    if len(kinds) > 1 or not kinds <= {*"eEfd"}:
        return launch.deliver(ufunc(a, b), out)
    return _broadcast_floats(a, b, op=op, out=out)


@launch.upcast_half
def _broadcast_floats(a: Any, b: Any, *, op: str, out: Any = None) -> Any:
    if a.shape == b.shape and a.flags.c_contiguous and b.flags.c_contiguous:
        return _apply(op, out, a, b)
    shape = np.broadcast_shapes(a.shape, b.shape)
    y = launch.result(out, shape, a.dtype)
    if y.size:
        (a, view_a), (b, view_b) = _dense(a), _dense(b)
        layout = _layout(shape, view_a.shape, view_a.strides, view_b.shape, view_b.strides, y.itemsize)
        if layout is None:  # rare: spell the broadcast out
            a, b = (cupy.ascontiguousarray(cupy.broadcast_to(view, shape)) for view in (view_a, view_b))
            return launch.deliver(_apply(op, y, a, b), out)
        grid, block = launch.grid_1d(y.size)
        name = f"broadcast<{launch.ctype(y.dtype)}, {op}>"
        launch.kernel("elementwise", name)(grid, block, (a, b, y, layout, np.int64(y.size)))
    return launch.deliver(y, out)


def _dense(array: Any) -> tuple[Any, Any]:
    """A C-contiguous array for the kernel, and `array` (or its copy) as a strided view of the same memory.

    A permuted contiguous array, a transpose above all, is read in place.
    """
    base = array.transpose(sorted(range(array.ndim), key=lambda d: -array.strides[d]))
    if not base.flags.c_contiguous:
        base = array = cupy.ascontiguousarray(array)
    return base, array


@functools.lru_cache(1024)
def _layout(
    shape: tuple[int, ...],
    shape_a: tuple[int, ...],
    strides_a: tuple[int, ...],
    shape_b: tuple[int, ...],
    strides_b: tuple[int, ...],
    itemsize: int,
) -> np.ndarray | None:
    """The kernel's `Layout` for two operands broadcast to `shape`; None if more dimensions remain than it can hold."""
    steps_a = _broadcast_strides(shape_a, strides_a, len(shape), itemsize)
    steps_b = _broadcast_strides(shape_b, strides_b, len(shape), itemsize)
    dims: list[tuple[int, int, int]] = []  # (size, stride of a, stride of b), innermost first
    for size, a, b in zip(reversed(shape), reversed(steps_a), reversed(steps_b), strict=True):
        if size == 1:
            continue
        if dims:
            inner, inner_a, inner_b = dims[-1]
            if a == inner * inner_a and b == inner * inner_b:  # this dimension continues the one inside it
                dims[-1] = (inner * size, inner_a, inner_b)
                continue
        dims.append((size, a, b))
    if len(dims) > _MAX_DIMS:
        return None
    layout = np.zeros((), _LAYOUT)
    layout["size"] = 1
    layout["dims"] = len(dims)
    for d, (size, a, b) in enumerate(dims):
        layout["size"][d], layout["a"][d], layout["b"][d] = size, a, b
    return layout


def _broadcast_strides(shape: tuple[int, ...], strides: tuple[int, ...], ndim: int, itemsize: int) -> list[int]:
    """Strides in elements for `ndim` dimensions, 0 where the array has size 1 or no dimension."""
    steps = [0 if size == 1 else stride // itemsize for size, stride in zip(shape, strides, strict=True)]
    return [0] * (ndim - len(steps)) + steps
