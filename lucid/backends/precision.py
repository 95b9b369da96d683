"""The precision of products of float32 matrices on a GPU. The setting is of the whole process, as PyTorch's is."""
from __future__ import annotations

import warnings

from lucid_kernels import tf32

_PRECISIONS = ("highest", "high", "medium")


def set_float32_matmul_precision(precision: str) -> None:
    """Let products of float32 matrices on a GPU be less exact: 'highest' is float32, 'high' and 'medium' are TF32, which keeps 10
    of the 23 bits of each factor and adds in float32.

    It sets `lucid.backends.cuda.matmul.allow_tf32`, and that sets it. CPUs are always exact. Another string is a UserWarning and
    changes nothing; RuntimeError for what is no string.

    >>> before = lucid.get_float32_matmul_precision()
    >>> lucid.set_float32_matmul_precision("high")
    >>> lucid.get_float32_matmul_precision()
    'high'
    >>> lucid.set_float32_matmul_precision(before)
    """
    if not isinstance(precision, str):
        raise RuntimeError(f"set_float32_matmul_precision expects a str, but got {type(precision).__name__}")
    if precision not in _PRECISIONS:
        warnings.warn(f"{precision} is not one of {', '.join(map(repr, _PRECISIONS))}; it has no effect.", stacklevel=2)
        return
    tf32.set_products(precision)


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` has been called with.

    >>> lucid.get_float32_matmul_precision()
    'highest'
    """
    return tf32.products
