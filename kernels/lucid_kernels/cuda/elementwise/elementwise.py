"""Activations with their gradients, and arithmetic with broadcasting, on a GPU."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from lucid_kernels import formulas
from lucid_kernels.cuda.elementwise import strides
from lucid_kernels.cuda.elementwise.fused import fused
from lucid_kernels.cuda.runtime import formula, launch, recording
from lucid_kernels.expression import Node, Program, computed_as
from lucid_kernels.naming import named

FLOATING = frozenset("eEfd")  # the dtypes of our kernels, by their codes
WHOLE = frozenset("?bBhHiIlLqQ")


def apply(file: str, kernel: str, out: Any, *arrays: Any, numbers: tuple[Any, ...] = (), group: int = 0) -> Any:
    """What `kernel` of `<file>.cu` makes of floating arrays of one dtype, broadcast, and `numbers`; see `strides.run`."""
    shape = arrays[0].shape if len(arrays) == 1 else np.broadcast_shapes(*[array.shape for array in arrays])
    y = strides.result(out, shape, arrays[0].dtype, arrays)
    if y.size:
        strides.run(launch.kernel(file, kernel), (y,), arrays, numbers, group)
    return launch.deliver(y, out)


def _apply(op: str, out: Any, *arrays: Any) -> Any:
    """What `op` of the kernel `unary` or `binary` makes of one or two arrays."""
    return apply("elementwise", f"{('unary', 'binary')[len(arrays) - 1]}<{launch.ctype(arrays[0].dtype)}, {op}>", out, *arrays)


# ------------------------------------------------------------------------------------------------------ activations
def _activation(name: str) -> Callable[..., Any]:
    """The launcher of a formula of one argument."""
    operator = formula.operator(name)

    def kernel(x: Any, *, out: Any = None) -> Any:
        return _apply(operator, out, x)

    return named(kernel, name, getattr(formulas, name).__doc__)


def _gradient(name: str) -> Callable[..., Any]:
    """The launcher of a formula of two arguments."""
    operator = formula.operator(name)

    def kernel(g: Any, saved: Any, *, out: Any = None) -> Any:
        return _apply(operator, out, g, saved)

    return named(kernel, name, getattr(formulas, name).__doc__)


relu, sigmoid, tanh, silu = map(_activation, ("relu", "sigmoid", "tanh", "silu"))
relu_grad, sigmoid_grad, tanh_grad, silu_grad = map(_gradient, ("relu_grad", "sigmoid_grad", "tanh_grad", "silu_grad"))


def gelu(x: Any, *, approximate: str, out: Any = None) -> Any:
    """x times the normal distribution function, exactly (`'none'`) or by the tanh approximation (`'tanh'`)."""
    return _apply(_gelu_form(approximate), out, x)


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
    return _arithmetic("add", cupy.add, a, b, out)


def sub(a: Any, b: Any, *, out: Any = None) -> Any:
    """a - b, broadcast together; one may be a number."""
    return _arithmetic("sub", cupy.subtract, a, b, out)


def mul(a: Any, b: Any, *, out: Any = None) -> Any:
    """a * b, broadcast together; one may be a number."""
    return _arithmetic("mul", cupy.multiply, a, b, out)


def div(a: Any, b: Any, *, out: Any = None) -> Any:
    """a / b, broadcast together; one may be a number."""
    return _arithmetic("div", cupy.true_divide, a, b, out)


def _arithmetic(name: str, ufunc: Any, a: Any, b: Any, out: Any) -> Any:
    """Our kernel for two floating arrays of one dtype, or one and a number, for arrays of integers and whole numbers, and
    for sums and products of two arrays of bools; CuPy's ufunc for everything else (complex, arrays of two dtypes).
    """
    x: Any = getattr(a, "dtype", None)
    y: Any = getattr(b, "dtype", None)
    of_numbers = (x is None and is_number(a)) or (y is None and is_number(b))
    if (y if x is None else x).char in FLOATING and (x == y or of_numbers):
        if x is not None and y is not None:
            return _apply(formula.operator(name), out, a, b)
        return fused(a, b, program=_with_a_number(name, x, y), out=out)
    if whole_dtype(a, b) is not None and name in WHOLE_RESULTS[(x or y) == np.bool_] and (out is None or out.dtype == (x or y)):
        return fused(a, b, program=_with_a_number(name, x, y), out=out)
    a, b = recording.plain(a), recording.plain(b)
    return ufunc(a, b) if out is None else ufunc(a, b, out)


#: What integers have, and what bools have: or and and. Quotients have other dtypes, and care about zeros.
WHOLE_RESULTS = frozenset(("add", "sub", "mul", "floor_divide", "remainder")), frozenset(("add", "mul"))


def whole_dtype(*operands: Any) -> Any:
    """The dtype of the arrays among `operands`, if that is one of integers or bools and numbers beside integers are in its range;
    else None.
    """
    found = None
    for x in operands:
        if x.__class__ is cupy.ndarray:
            if (found is not None and x.dtype != found) or x.dtype.char not in WHOLE:
                return None
            found = x.dtype
    if found is None:
        return None
    numbers = [x for x in operands if x.__class__ is not cupy.ndarray]
    whole = all(isinstance(x, int) and x.__class__ is not bool and recording.is_in_range(x, found) for x in numbers)
    return found if whole else None


def is_number(value: Any) -> bool:
    """Whether `value` is a real Python number."""
    return isinstance(value, (int, float))


@functools.cache
def _with_a_number(name: str, a: Any, b: Any) -> Program:
    """An operation of an array and a number, whose dtype is None. In arithmetic that is not rounded to half precision."""
    dtype = a or b
    beside = computed_as(dtype) if name in ("add", "sub", "mul", "div") else dtype
    return Program([Node(name, dtype, (Node("input", a or beside, (), 0), Node("input", b or beside, (), 1)))])


def floor_divide(a: Any, b: Any, *, out: Any = None) -> Any:
    """The largest whole number up to a / b, broadcast together; one may be a number. a / 0 is infinite or NaN."""
    return _arithmetic("floor_divide", cupy.floor_divide, a, b, out)


def remainder(a: Any, b: Any, *, out: Any = None) -> Any:
    """What `floor_divide` leaves, with the sign of b, broadcast together; one may be a number."""
    return _arithmetic("remainder", cupy.remainder, a, b, out)


def power(a: Any, b: Any, *, out: Any = None) -> Any:
    """a to the power b, broadcast together; one may be a number. One half is the root: NaN of -inf, whose `pow` is inf."""
    if b.__class__ is float and abs(b) == 0.5 and a.dtype.kind == "f":
        root = cupy.sqrt(a, out=out)
        return root if b > 0 else cupy.reciprocal(root, out=out)
    return cupy.power(a, b, out=out)
