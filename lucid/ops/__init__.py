"""Operations, one module for each family: the kernel name, the gradient rule and the public function of an op stand in one
place there. This module attaches them to Tensor.

A family lists in `METHODS` the functions that are also methods, in `INPLACE_METHODS` those with a variant that writes the
result into the tensor (`add_`), and in `SPECIAL_METHODS` the methods that differ from the function of that name. `SINGLE` names
functions that pass their first argument to a single operation, the last that can fail, whatever real dtype it has: written in
place, or with `out`, that operation writes straight into the tensor if its kernel can.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..autograd.inplace import write
from ..autograd.overwrite import overwrite, refuse_shared
from ..backends.elementwise import ROWS
from ..tensor import Tensor
from . import conversion, properties, python_functions
from ._independence import rebase_with_zeros
from ._operands import is_operand, operator, reflected
from ._out import method as as_method
from .creation import creation, fill
from .elementwise import arithmetic, binary, comparison, float_parts, gamma, special, ternary, trigonometry, unary
from .fft import short_time_fourier
from .indexing import gather_scatter, index_slices, indexing, masking, scatter_reduce
from .linalg import (
    _matrices,
    addmm,
    bilinear,
    det,
    distances,
    lstsq_pinv,
    lu,
    matmul,
    matrix_exp,
    qr_svd,
    solve,
    triangular,
    vector_norms,
    vectors,
)
from .linalg import products as linalg_products
from .manipulation import (
    broadcasting,
    buffers,
    complex,
    diagonals,
    padding,
    permutation,
    reordering,
    repetition,
    shape,
    splitting,
    storage,
    strides,
)
from .nn import (
    activation,
    convolution,
    embedding,
    fold,
    likelihood_loss,
    loss,
    margin_loss,
    normalization,
    piecewise_activation,
    pooling,
    pooling_dimensions,
    resampling,
)
from .random import dropout, random_fill, sampling
from .reduction import cumulative, max_min, reduction, var_std
from .sorting import histogram, search, sorting, statistics

FAMILIES = (activation, arithmetic, bilinear, binary, broadcasting, buffers, comparison, complex, conversion, convolution,
            creation, diagonals, dropout, embedding, max_min, fill, float_parts, fold, gamma, gather_scatter, histogram,
            index_slices, indexing, likelihood_loss, matmul, det, matrix_exp, qr_svd, lu, linalg_products, lstsq_pinv, addmm,
            solve, triangular, loss, margin_loss, masking, var_std, normalization, vector_norms, padding, permutation,
            piecewise_activation, pooling, pooling_dimensions, random_fill, reduction, reordering, repetition, resampling,
            sampling, cumulative, scatter_reduce, search, shape, short_time_fourier, sorting, special, splitting, statistics,
            storage, strides, ternary, trigonometry, unary, vectors, distances, properties, python_functions)

UNARY_OPERATORS = {"__neg__": arithmetic.neg, "__abs__": unary.abs, "__invert__": comparison.bitwise_not,
                   "__pos__": unary.positive}
OPERATORS: dict[str, Callable[..., Any]] = {
    "__rsub__": arithmetic.rsub, "__floordiv__": arithmetic.floor_divide, "__mod__": arithmetic.remainder,
    "__pow__": arithmetic.pow, "__and__": comparison.bitwise_and, "__or__": comparison.bitwise_or,
    "__xor__": comparison.bitwise_xor, "__rand__": comparison.bitwise_and, "__ror__": comparison.bitwise_or,
    "__rxor__": comparison.bitwise_xor, "__lshift__": binary.bitwise_left_shift, "__rshift__": binary.bitwise_right_shift,
}  # beside those among the SPECIAL_METHODS of a family
REFLECTED = {"__rtruediv__": arithmetic.div, "__rfloordiv__": arithmetic.floor_divide, "__rmod__": arithmetic.remainder,
             "__rpow__": arithmetic.pow, "__rlshift__": binary.bitwise_left_shift, "__rrshift__": binary.bitwise_right_shift}
INPLACE_OPERATORS = {"__iadd__": arithmetic.add, "__isub__": arithmetic.sub, "__imul__": arithmetic.mul,
                     "__itruediv__": arithmetic.div, "__ifloordiv__": arithmetic.floor_divide,
                     "__imod__": arithmetic.remainder, "__ipow__": arithmetic.pow, "__iand__": comparison.bitwise_and,
                     "__ior__": comparison.bitwise_or, "__ixor__": comparison.bitwise_xor,
                     "__ilshift__": binary.bitwise_left_shift, "__irshift__": binary.bitwise_right_shift}


def inplace(function: Callable[..., Tensor], operator: bool = False) -> Callable[..., Tensor]:
    """The method that writes the result of `function` into the tensor itself and returns it; as an `operator`, NotImplemented
    for what is no number, array or tensor."""
    single = getattr(function, "single", False)
    name = function.__name__
    row = ROWS.get(name)
    plain = {"value": 1} if row and row.attributes == "value" else {}
    scale = row.scaled if row else 0
    # Beside `self`; -1: `overwrite` does not do.
    others = 2 if plain else function.__code__.co_argcount - 1 if single and row and row.in_place else -1

    def scaled(self: Tensor, args: Any, alpha: Any = None, value: Any = None, **rest: Any) -> bool:
        factor = value if plain else alpha
        if factor.__class__ not in (float, int) or rest or not (plain or scale):
            return False
        if plain:
            return alpha is None and overwrite(self, name, args, value=factor)
        return value is None and overwrite(self, "add_scaled", args, alpha=scale * factor)

    @functools.wraps(function)
    def method(self: Tensor, *args: Any, **keywords: Any) -> Tensor:
        if len(args) == others and (overwrite(self, name, args, **plain) if not keywords else scaled(self, args, **keywords)):
            return self
        if single:
            refuse_shared(self, (*args, *keywords.values()) if keywords else args)
        try:
            return write(self, function, *args, single=single, **keywords)
        except TypeError:
            if not operator or is_operand(args[0]):
                raise
            return NotImplemented

    method.__name__ = f"{function.__name__}_"
    method.__doc__ = f"`{function.__name__}`, written into this tensor. See there."
    return method


def _comparing(method: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """`method`, which writes a comparison into the tensor, with zeros as the gradient of what it compares with."""
    @functools.wraps(method)
    def compared(self: Tensor, other: Any) -> Tensor:
        return rebase_with_zeros(method(self, other), other)

    return compared


def _attach() -> None:
    for family in FAMILIES:
        for name in getattr(family, "SINGLE", ()):
            function: Any = getattr(family, name)
            plain: Any = as_method(function)
            function.single = plain.single = True
        for name in getattr(family, "METHODS", ()):
            setattr(Tensor, name, as_method(getattr(family, name)))
        for name in getattr(family, "INPLACE_METHODS", ()):
            setattr(Tensor, f"{name}_", inplace(as_method(getattr(family, name))))
        for name, method in getattr(family, "SPECIAL_METHODS", {}).items():
            setattr(Tensor, name, method)
    for name in comparison.ORDERS:
        setattr(Tensor, f"{name}_", _comparing(getattr(Tensor, f"{name}_")))
    for name, function in UNARY_OPERATORS.items():
        setattr(Tensor, name, as_method(function))
    for name, function in OPERATORS.items():
        setattr(Tensor, name, operator(as_method(function)))
    for name, function in REFLECTED.items():
        setattr(Tensor, name, reflected(as_method(function)))
    for name, function in INPLACE_OPERATORS.items():
        setattr(Tensor, name, inplace(as_method(function), operator=True))
    methods: Any = Tensor  # for type checkers, which know no attributes to come
    methods.real = property(conversion.real, conversion.set_real)
    methods.imag = property(conversion.imag, conversion.set_imag)
    methods.T = property(permutation.reverse_view)
    methods.mT = property(permutation.adjoint_view)
    methods.mH = property(_matrices.adjoint)
    methods.H = property(_matrices.matrix_adjoint)


_attach()
