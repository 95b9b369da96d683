"""Which functions CuPy refuses inside a stream capture; seen with CuPy 14.2.

Some call a library that CuPy does not capture, some must know on the host what the device has computed, and some copy
lists to the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .streams import fetch, refuse_library, refuse_to_device

_CUSOLVER = frozenset(
    (
        "cholesky", "cond", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lstsq", "matrix_rank", "pinv", "qr", "slogdet",
        "solve", "svd", "svdvals", "tensorinv", "tensorsolve",
    )
)  # fmt: skip
_CUBLAS = frozenset(["corrcoef", "cov", "dot", "einsum", "inner", "matmul", "tensordot"])
_CUBLAS_LINALG = frozenset(["matmul", "matrix_power", "multi_dot", "tensordot"])
#: The host must know the size or the value of their result.
_FETCHING = frozenset(
    (
        "argwhere", "bincount", "compress", "delete", "extract", "flatnonzero", "histogram", "histogram2d", "histogramdd",
        "intersect1d", "nonzero", "place", "putmask", "setdiff1d", "setxor1d", "trim_zeros", "union1d", "unique",
        "unique_all", "unique_counts", "unique_inverse", "unique_values", "unravel_index",
    )
)  # fmt: skip
#: They take indices, which CuPy copies to the device when they are a list.
_INDEXED = frozenset(["choose", "put", "repeat", "take", "take_along_axis"])
#: CuPy joins more small arrays than these with one kernel, which gets a table of their addresses.
_SEPARATELY_JOINED = 8
_SMALL_BYTES = 2 << 20


def check(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Before the function `name` (``'sum'``, ``'linalg.svd'``) runs on NumPy arrays over device memory.

    Raises NotImplementedError and RuntimeError inside a capture, DeviceSynchronized.
    """
    namespace, _, function = name.rpartition(".")
    if namespace == "random":
        refuse_library("cuRAND")
    elif namespace == "linalg":
        if function in _CUSOLVER or (function == "norm" and _is_spectral(args, kwargs)):
            refuse_library("cuSOLVER")
        elif function in _CUBLAS_LINALG and _has_floats(args):
            refuse_library("cuBLAS")
    elif function in _CUBLAS and _has_floats(args) and not _adds_products(function, args, kwargs):
        refuse_library("cuBLAS")
    elif function in _FETCHING or _fetches(function, args, kwargs):
        fetch(f"cupy.{name}")
    elif function in _INDEXED and any(is_host_list(value) for value in (*args, *kwargs.values())):
        refuse_to_device(f"cupy.{name} of a list")
    elif function == "concatenate" and _has_one_kernel(args[0] if args else kwargs.get("arrays", ())):
        refuse_to_device("cupy.concatenate of many small arrays")


def check_index(index: Any) -> None:
    """Before an array is indexed. Raises RuntimeError inside a capture for a list, DeviceSynchronized for a mask."""
    items = index if isinstance(index, tuple) else (index,)
    if any(is_host_list(item) for item in items):
        refuse_to_device("an index that is a list")
    if any(getattr(item, "dtype", None) == np.bool_ and getattr(item, "ndim", 0) for item in items):
        fetch("boolean index")  # the size of the result is on the device


def is_host_list(value: Any) -> bool:
    """Whether a value is a list or tuple of numbers."""
    return isinstance(value, (list, tuple)) and bool(value) and not any(hasattr(item, "dtype") for item in value)


def _arrays(args: Sequence[Any]) -> list[np.ndarray]:
    return [value for value in args if isinstance(value, np.ndarray)]


def _has_floats(args: Sequence[Any]) -> bool:
    """Products of integers have kernels of CuPy's own."""
    return any(array.dtype.kind not in "biu" for array in _arrays(args))


def _adds_products(function: str, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether a product is one sum, or none at all: CuPy has kernels for both."""
    arrays = _arrays(args)
    if function in ("cov", "corrcoef"):
        return False
    if function == "einsum":
        return not (len(arrays) > 1 and isinstance(args[0], str) and _contracts(args[0].replace(" ", "")))
    if function == "tensordot":
        axes = kwargs.get("axes", args[2] if len(args) > 2 else 2)
        count = axes if isinstance(axes, int) else np.size(axes[0])
        return all(array.ndim == count for array in arrays)
    if function != "matmul" and any(array.ndim == 0 for array in arrays):
        return True
    return all(array.ndim == 1 for array in arrays)


def _contracts(subscripts: str) -> bool:
    """Whether a formula of `einsum` adds products up along an axis that several operands have, and keeps another one."""
    operands, arrow, result = subscripts.partition("->")
    labels = operands.replace(",", "").replace(".", "")
    if not arrow:
        result = "".join(label for label in labels if labels.count(label) == 1)
    shared = {label for label in labels if sum(label in operand for operand in operands.split(",")) > 1}
    return bool(shared - set(result)) and bool(result)


def _is_spectral(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    order = kwargs.get("ord", args[1] if len(args) > 1 else None)
    return order == "nuc" or (order in (2, -2) and not isinstance(order, str) and np.ndim(args[0]) > 1)


def _fetches(function: str, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    if function == "where":
        return len(args) + len(kwargs) == 1
    return function == "average" and (len(args) > 2 or kwargs.get("weights") is not None)


def _has_one_kernel(arrays: Any) -> bool:
    if not isinstance(arrays, (list, tuple)) or len(arrays) <= _SEPARATELY_JOINED:
        return False
    small = sum(array.nbytes for array in arrays) < _SMALL_BYTES * len(arrays)
    return small and len({array.dtype for array in arrays}) == 1
