"""Operations of two arguments."""
from __future__ import annotations

from ..sizes import LARGE, MANY
from . import row
from .row import COMPOSED, EXPRESSION, FORMULA, INTERNAL, PRIMITIVE, WITH_VECTORS, Kernel, Row

# Elements from which a kernel is faster: NumPy's choices are slow, and `fmod` and `hypot` take 4 to 7 ns an element.
_CHOICE = (Kernel(FORMULA, 1 << 17, layout=row.ROWS, out=False),)
_SLOW = (Kernel(FORMULA, 1 << 11, layout=row.ROWS, out=False),)


def _four(name: str, function: str, scaled: int = 0) -> Row:
    return Row(name, 2, function, family="elementwise.elementwise", out="all", in_place=True, in_place_complex=True,
               scaled=scaled, formula=PRIMITIVE)


ROWS = (
    # `common/elementwise.py` decides between NumPy's or CuPy's functions and our kernels of these.
    _four("add", "add", scaled=1), _four("sub", "subtract", scaled=-1), _four("mul", "multiply"), _four("div", "true_divide"),

    # CuPy's round a quotient down: infinite divisors and large quotients give something else. And its roots are powers.
    Row("floor_divide", 2, cuda="floor_divide", half=FORMULA, loops=True, formula=EXPRESSION),
    Row("remainder", 2, cuda="remainder", half=FORMULA, loops=True, out="all", in_place=True, fused_from=1 << 11,
        formula=EXPRESSION),
    Row("power", 2, COMPOSED, cuda="power", half=FORMULA, number="b", loops="power", loop_kinds="iu", out="all",
        formula=PRIMITIVE),
    Row("trunc_divide", 2, COMPOSED, half=FORMULA, few_in_float32=True, formula=EXPRESSION),
    Row("fmod", 2, kernels=_SLOW, half=FORMULA, loops=True, out="all", in_place=True, formula=PRIMITIVE),
    Row("gcd", 2, loops=True),
    Row("lcm", 2, loops=True),

    Row("maximum", 2, kernels=_CHOICE, half=FORMULA, loops=True, out="all", formula=PRIMITIVE),
    Row("minimum", 2, kernels=_CHOICE, half=FORMULA, loops=True, out="all", formula=PRIMITIVE),
    Row("fmax", 2, half=FORMULA, few_in_float32=True, formula=EXPRESSION),
    Row("fmin", 2, half=FORMULA, few_in_float32=True, formula=EXPRESSION),

    Row("hypot", 2, kernels=_SLOW, half=FORMULA, few_in_float32=True, loops=True, formula=INTERNAL),
    Row("copysign", 2, kernels=(Kernel(FORMULA, LARGE, layout=row.ROWS, out=False),), half=FORMULA, few_in_float32=True,
        loops=True, formula=INTERNAL),
    Row("arctan2", 2, kernels=(Kernel(FORMULA, MANY, "f" if row.NUMPY_HAS_VECTORS else "fd", row.ROWS),), half=FORMULA,
        half_vectors=True, loops=True, accurate=WITH_VECTORS, libm=True, out="all", formula=PRIMITIVE),
    Row("nextafter", 2, COMPOSED, kernels=(Kernel("ternary.nextafter", MANY, out=False),)),
    Row("logaddexp", 2, COMPOSED, half=FORMULA, few_in_float32=True, formula=EXPRESSION),
    Row("logaddexp2", 2, half=FORMULA, few_in_float32=True, formula=EXPRESSION),
    Row("xlogy", 2, COMPOSED, half=FORMULA, few_in_float32=True, formula=EXPRESSION),
    Row("xlog1py", 2, COMPOSED, few_in_float32=True),
    Row("heaviside", 2, COMPOSED, few_in_float32=True),
)
