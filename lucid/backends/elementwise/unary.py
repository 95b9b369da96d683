"""Functions of one argument."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..sizes import LARGE, MANY, MIDDLE
from . import row
from .row import ALWAYS, COMPOSED, EXPRESSION, FORMULA, NUMPY_HAS_VECTORS, PRIMITIVE, WITH_VECTORS, Kernel, Row

_SLOW_FLOAT64 = "" if NUMPY_HAS_VECTORS else "d"
_FLOAT16_FROM = LARGE if NUMPY_HAS_VECTORS else MIDDLE
# Signs and roots: NumPy takes twice as long for rows with gaps between them.
_SIGN, _ROOT = ((Kernel(FORMULA, least, layout=row.ROWS, out=False),) for least in (1 << 17, LARGE))


def _libm(name: str, accurate: str = WITH_VECTORS, **others: Any) -> Row:
    """A function of which, where NumPy takes libm's, a kernel takes 0.07 to 0.5 of the time; with AVX-512, 0.2 to 0.6 of that of
    float32, which is computed in float64.
    """
    least = 1 << 9 if accurate == ALWAYS and not NUMPY_HAS_VECTORS else MANY  # in float64, by libm
    kernel = Kernel(FORMULA, least, "f" + _SLOW_FLOAT64, row.ROWS)
    facts: dict[str, Any] = {"half": FORMULA, "loops": True, "libm": True, "out": "all", "formula": PRIMITIVE} | others
    return Row(name, kernels=(kernel,), accurate=accurate, **facts)


def _arc(name: str, accurate: str = WITH_VECTORS) -> Row:
    return _libm(name, accurate, half_vectors=True, few_in_float32=True)


def _through(name: str, *operands: Any) -> Any:
    """The operation `name` of `operands`, in which None stands for the argument."""
    def call(table: Any, x: Any, *, out: Any = None) -> Any:
        return table[name](*[x if operand is None else operand for operand in operands])

    return call


def _divided(table: Any, x: Any, *, out: Any = None) -> Any:
    return np.divide(1, x, out=out)


def _product(name: str, *operands: Any, **others: Any) -> Row:
    """A function that our product computes where it is large: NumPy is slow at it."""
    return Row(name, kernels=(Kernel(_through("mul", *operands), out=False),), out="all", formula=EXPRESSION, **others)


ROWS = (
    Row("neg", function="negative", kernels=_SIGN, half="bits", loops=True, out="all", in_place=True, in_place_complex=True,
        formula=PRIMITIVE),
    Row("abs", kernels=_SIGN, half="bits", loops=True, out="all", in_place=True, formula=PRIMITIVE),
    Row("sign", function=COMPOSED, half=FORMULA, out="all", in_place=True, fused_from=1 << 14, formula=EXPRESSION),
    Row("signbit", function=COMPOSED),
    Row("conj", function="conjugate", formula=EXPRESSION),
    Row("angle", function=COMPOSED, kernels=(Kernel("ternary.angle", MANY, out=False),)),
    Row("nan_to_num", attributes="nan, posinf, neginf", function=COMPOSED, half=FORMULA, out="all", formula=EXPRESSION),
    Row("frexp", function=COMPOSED),

    Row("ceil", half=FORMULA, loops=True, out="all", in_place=True, formula=PRIMITIVE),
    Row("floor", half=FORMULA, loops=True, out="all", in_place=True, formula=PRIMITIVE),
    Row("trunc", half=FORMULA, loops=True, out="all", in_place=True, formula=PRIMITIVE),
    Row("round", attributes="decimals", function=COMPOSED, half=FORMULA, loops="rint", loop_kinds="f", out="all", in_place=True,
        formula=EXPRESSION),

    _product("square", None, None, half=FORMULA, in_place=True),
    _product("deg2rad", None, math.pi / 180, few_in_float32=True),
    _product("rad2deg", None, 180 / math.pi, few_in_float32=True),
    Row("sqrt", kernels=_ROOT, half=FORMULA, loops=True, out="all", in_place=True, formula=PRIMITIVE),
    Row("rsqrt", function=COMPOSED, half=FORMULA, out="all", in_place=True, fused_from=1 << 15, formula=EXPRESSION),
    # NumPy divides 1 by floats in half of the time of its `reciprocal`.
    Row("reciprocal", kernels=(Kernel(_through("div", 1, None), out=False), Kernel(_divided, 1 << 10, layout=row.ANY)),
        half=FORMULA, out="all", in_place=True, formula=EXPRESSION),

    # Our float32 is 0.9 units in the last place off and NumPy's 2.4. Without AVX-512 NumPy's float64 takes 4 to 13 times as long.
    Row("exp", kernels=(Kernel("elementwise.exp", 1 << 8, "f", row.ANY), Kernel(FORMULA, dtypes=_SLOW_FLOAT64)), half=FORMULA,
        float16_from=_FLOAT16_FROM, accurate=ALWAYS, out="all", in_place=True, formula=PRIMITIVE),
    _libm("exp2", "", float16_from=_FLOAT16_FROM, in_place=True, formula=EXPRESSION),
    _libm("expm1", float16_from=_FLOAT16_FROM, in_place=True),
    _libm("log", ALWAYS, float16_from=_FLOAT16_FROM, in_place=True),
    _libm("log10", ALWAYS, float16_from=_FLOAT16_FROM, in_place=True),
    _libm("log1p", float16_from=_FLOAT16_FROM, in_place=True),
    _libm("log2", float16_from=_FLOAT16_FROM, in_place=True),
    Row("logit", attributes="eps", function=COMPOSED, few_in_float32=True),
    Row("entr", function=COMPOSED, few_in_float32=True),

    # NumPy's take 17 times as long in float64; ours are called in 0.4 us.
    Row("sin", kernels=(Kernel("sincos.sin", 1 << 6),), half="sin", float16_from=_FLOAT16_FROM, accurate=ALWAYS, out="all",
        in_place=True, formula=PRIMITIVE),
    Row("cos", kernels=(Kernel("sincos.cos", 1 << 6),), half="cos", accurate=ALWAYS, out="all", in_place=True, formula=PRIMITIVE),
    _libm("tan", float16_from=_FLOAT16_FROM, in_place=True),
    _libm("sinh", ALWAYS, half_vectors=True, float16_from=_FLOAT16_FROM, in_place=True),
    _libm("cosh", half_vectors=True, float16_from=_FLOAT16_FROM, in_place=True),
    _libm("arctan", half_vectors=True, float16_from=_FLOAT16_FROM),
    _arc("arcsin"), _arc("arccos"), _arc("arcsinh", ""), _arc("arccosh", ""), _arc("arctanh", ALWAYS),
    Row("sinc", function=COMPOSED, few_in_float32=True),
)
