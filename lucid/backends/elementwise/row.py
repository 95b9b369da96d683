"""What a row of an elementwise operation holds; a simple one is a short line."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from ..sizes import LARGE, MIDDLE

#: In the place of a function's name: that of the same name in `common/elementwise.py`; the formula of the operation, compiled.
COMPOSED, FORMULA = "composed", "formula"
#: Of `accurate` and `formula`; see there.
ALWAYS, WITH_VECTORS = "always", "with vectors"
PRIMITIVE, EXPRESSION, INTERNAL = "primitive", "expression", "internal"
#: Of `Kernel.layout`: what a kernel needs of its arrays.
ROWS, ALIKE, ANY = "rows", "alike", "any"

#: With AVX-512 NumPy computes many functions with vectors, else with libm, number by number.
NUMPY_HAS_VECTORS = bool(np._core._multiarray_umath.__cpu_features__.get("AVX512_SKX"))  # type: ignore[attr-defined]


@dataclasses.dataclass(frozen=True, slots=True)
class Kernel:
    """One of our kernels on a CPU that is faster than NumPy, and when."""

    #: FORMULA; or ``module.function`` of `lucid_kernels.cpu.elementwise`, with a dot in front of `lucid.backends.cpu`; or a
    #: function of the table and the operands, in terms of other operations. It may return None: it does not suit.
    function: str | Callable[..., Any]
    least: int = LARGE  # elements of the first array from which it is faster
    dtypes: str | None = "fd"  # character codes of the first array; None: all
    layout: str = ALIKE  # row-major arrays of one shape and dtype; ROWS: those that lie in rows, broadcast
    out: bool = True  # whether it writes into memory that is there already


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """An elementwise operation: all that the backends, `out=`, the device 'meta' and `lucid.fuse` know of it."""

    name: str
    arrays: int = 1  # operands; those after the first may be scalars
    #: NumPy's and CuPy's function if it has another name, or COMPOSED. It computes small, strided and mixed arrays. FORMULA: the
    #: kernels of both sides are compiled of the formula in `symbolic/`, for arrays of any size, layout and floating dtype.
    function: str = ""
    #: The module of kernels for arrays of any size, on both sides, where NumPy and CuPy have no function.
    family: str = ""
    attributes: str = ""  # arguments that are no operands
    cuda: str = ""  # the kernel of `lucid_kernels.cuda.elementwise` in the place of CuPy's function

    # ---- on a CPU
    kernels: tuple[Kernel, ...] = ()  # the first that suits is taken
    loops: bool | str = False  # whether NumPy's loops run on all threads, or by which ufunc
    loop_kinds: str = "biuf"  # of dtypes
    #: When NumPy's float32 is 1.3 to 4 units in the last place off where PyTorch's is 0.5 to 0.9, so that it is computed in
    #: float64: ALWAYS, or WITH_VECTORS of AVX-512, as libm's is exact enough. 8 elements take 0.4 us longer, a thousand 1 us.
    accurate: str = ""
    libm: bool = False  # computed by libm without AVX-512: our loops of float32 are also more exact than NumPy's

    # ---- half precision on a CPU, of at least MIDDLE elements
    half: str = ""  # FORMULA; "bits", as only the sign changes; or the function of `sincos` between conversions
    half_vectors: bool = False  # with AVX-512 NumPy's float32 between conversions takes less time
    float16_from: int = MIDDLE  # elements; NumPy has vectors for float16 on some processors, which take 0.4 to 0.9 ns each
    few_in_float32: bool = False  # fewer are computed in float32, on a GPU all: not both modules know bfloat16
    number: str = ""  # the attribute of the formula that the last operand is, as a number, which is not rounded to half precision

    # ---- results
    out: str = ""  # "all": a result may be written into memory, also an argument's; "cpu": there only, CUDA relies on new memory
    truth: bool = False  # the result is bool
    #: The public function of that name hands floating-point operands over as they are, so that `x.add_` may write at once:
    in_place: bool = False
    in_place_complex: bool = False  # complex ones too
    tensors: int = 0  # so many operands after the first are no scalars
    scaled: int = 0  # the sign of `alpha`, with which it is `add_scaled`
    fused_from: int = 0  # elements from which the public function is a formula of several operations, if it becomes one

    #: In `lucid.fuse`: PRIMITIVE of the kernels, an EXPRESSION of those, INTERNAL: a primitive that it does not offer, or "".
    formula: str = ""

    @property
    def source(self) -> str:
        """The name of NumPy's and CuPy's function."""
        return self.function or self.name
