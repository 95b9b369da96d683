"""The Python array API standard 2024.12 (https://data-apis.org/array-api/2024.12/): what `x.__array_namespace__()` returns.

A namespace of its own, because `lucid` itself has PyTorch's names and behaviour, which the standard contradicts: in it `sort`
returns values alone, `max` takes several axes, `var` divides by the number of elements, a 0-d array takes part in the promotion
of dtypes like any other, `repeat` is `repeat_interleave`. Arrays are `lucid.Tensor`, on every device and with gradients;
their operators and methods are PyTorch's. The dtypes uint16, uint32 and uint64 are missing.

`_creation`, `_elementwise`, `_manipulation`, `_searching`, `_sets`, `_statistics`: the functions by the standard's chapters.
`_dtypes`: dtypes, their limits and kinds.
`_info`: what the namespace says of itself.
`_operands`: Python scalars and 0-d arrays beside arrays.
`linalg`, `fft`: the two extensions.

>>> from lucid import array_api as xp
>>> xp.sum(xp.asarray([[1, 2], [3, 4]]), axis=0)
Tensor([4, 6], requires_grad=False)
"""
from math import e, inf, nan, pi

from .. import (
    Tensor,
    bool,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    newaxis,
    uint8,
)
from . import fft, linalg
from ._creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from ._dtypes import astype, can_cast, finfo, iinfo, isdtype, result_type
from ._elementwise import (
    abs,
    acos,
    acosh,
    add,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    ceil,
    clip,
    conj,
    copysign,
    cos,
    cosh,
    divide,
    equal,
    exp,
    expm1,
    floor,
    floor_divide,
    greater,
    greater_equal,
    hypot,
    imag,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    negative,
    nextafter,
    not_equal,
    positive,
    pow,
    real,
    reciprocal,
    remainder,
    round,
    sign,
    signbit,
    sin,
    sinh,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
    trunc,
)
from ._info import __array_namespace_info__
from ._manipulation import (
    broadcast_arrays,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    tile,
    unstack,
)
from ._searching import (
    argmax,
    argmin,
    argsort,
    count_nonzero,
    nonzero,
    searchsorted,
    sort,
    take,
    take_along_axis,
    where,
)
from ._sets import unique_all, unique_counts, unique_inverse, unique_values
from ._statistics import all, any, cumulative_prod, cumulative_sum, diff, max, mean, min, prod, std, sum, var
from .linalg import matmul, matrix_transpose, tensordot, vecdot

__array_api_version__ = "2024.12"
__all__ = ["abs", "acos", "acosh", "add", "all", "any", "arange", "argmax", "argmin", "argsort", "asarray", "asin", "asinh",
           "astype", "atan", "atan2", "atanh", "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or",
           "bitwise_right_shift", "bitwise_xor", "bool", "broadcast_arrays", "broadcast_to", "can_cast", "ceil", "clip",
           "complex64", "complex128", "concat", "conj", "copysign", "cos", "cosh", "count_nonzero", "cumulative_prod",
           "cumulative_sum", "diff", "divide", "e", "empty", "empty_like", "equal", "exp", "expand_dims", "expm1", "eye", "fft",
           "finfo", "flip", "float32", "float64", "floor", "floor_divide", "from_dlpack", "full", "full_like", "greater",
           "greater_equal", "hypot", "iinfo", "imag", "inf", "int8", "int16", "int32", "int64", "isdtype", "isfinite", "isinf",
           "isnan", "less", "less_equal", "linalg", "linspace", "log", "log1p", "log2", "log10", "logaddexp", "logical_and",
           "logical_not", "logical_or", "logical_xor", "matmul", "matrix_transpose", "max", "maximum", "mean", "meshgrid",
           "min", "minimum", "moveaxis", "multiply", "nan", "negative", "newaxis", "nextafter", "nonzero", "not_equal", "ones",
           "ones_like", "permute_dims", "pi", "positive", "pow", "prod", "real", "reciprocal", "remainder", "repeat", "reshape",
           "result_type", "roll", "round", "searchsorted", "sign", "signbit", "sin", "sinh", "sort", "sqrt", "square",
           "squeeze", "stack", "std", "subtract", "sum", "take", "take_along_axis", "tan", "tanh", "tensordot", "tile", "tril",
           "triu", "trunc", "uint8", "unique_all", "unique_counts", "unique_inverse", "unique_values", "unstack", "var",
           "vecdot", "where", "zeros", "zeros_like"]
