"""cuBLASLt by address: products that end with an epilogue, such as a bias. Where the library lacks one, the caller does without;
so it does from the first call that fails on, after one warning.

A product has a description, which also holds the pointers of its epilogue, layouts of its matrices and an algorithm, for which
the library is asked once. The handle and the workspace are those of `blas`: a handle of cuBLAS is one of cuBLASLt, and what uses
a workspace is in one stream.
"""
from __future__ import annotations

import ctypes
import functools
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import cupy

from lucid_kernels.cuda.matmul import blas
from lucid_kernels.cuda.runtime import driver, recording

# Attributes of a product, and of the preference among algorithms, as in cublasLt.h.
_TRANSPOSE_A, _TRANSPOSE_B, _EPILOGUE, _AUX_LEADING = 3, 4, 7, 12
BIAS, AUX = 8, 11
_MOST_WORKSPACE, _ALIGNMENTS = 1, (5, 6, 7, 8)
_RESULT_BYTES, _ALGORITHM_BYTES = 96, 64  # of cublasLtMatmulHeuristicResult_t, which begins with the algorithm
ALIGNMENT = 16  # the most that is promised of an address: plans know no more of theirs
_MOST_PRODUCTS = 1 << 12  # that are remembered
_LACKING = frozenset((7, 8, 15))  # statuses of what the library does not have: a value, on this chip, at all

_i, _l, _p, _u, _z = ctypes.c_int, ctypes.c_int64, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t
_out = ctypes.POINTER(_p)
_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "MatmulDescCreate": (_out, _i, _i), "MatmulDescDestroy": (_p,), "MatmulDescSetAttribute": (_p, _i, _p, _z),
    "MatrixLayoutCreate": (_out, _i, _u, _u, _l), "MatrixLayoutDestroy": (_p,),
    "MatmulPreferenceCreate": (_out,), "MatmulPreferenceDestroy": (_p,), "MatmulPreferenceSetAttribute": (_p, _i, _p, _z),
    "MatmulAlgoGetHeuristic": (_p, _p, _p, _p, _p, _p, _p, _i, _p, ctypes.POINTER(_i)),
    "Matmul": (_p, _p, _p, _p, _p, _p, _p, _p, _p, _p, _p, _p, _p, _p, _z, _p)}  # fmt: skip


class Matrix(NamedTuple):
    """An operand as cuBLAS sees it, its columns one after the other: whether it is transposed, the leading dimension, and by how
    many bytes its address can be divided.
    """

    transposed: int
    leading: int
    alignment: int


class Problem(NamedTuple):
    """What the library is asked about a product: ``rows x columns`` of sums over ``inner``, in numbers of cuBLAS and CUDA."""

    rows: int
    columns: int
    inner: int
    a: Matrix
    b: Matrix
    kind: int
    compute: int
    scale: int
    epilogue: int
    aux_leading: int  # 0 without that
    alignment: int  # of the epilogue's pointers


class Failed(RuntimeError):
    """The library does not do what it has."""


@functools.cache
def _function(name: str) -> Callable[..., int]:
    try:
        return ctypes.CFUNCTYPE(_i, *_ARGUMENTS[name])(driver.address(f"cublasLt{name}"))
    except AttributeError:
        raise Failed(f"cuBLASLt has no function cublasLt{name}") from None


def _call(name: str, *arguments: Any) -> None:
    _check(name, _function(name)(*arguments))


def _check(name: str, status: int) -> None:
    if status:
        driver.raise_mistake()
        raise Failed(f"cublasLt{name} failed with status {status}")


class _Made:
    """Something of the library's, made by `name`Create."""

    def __init__(self, name: str, *arguments: int) -> None:
        made = _p()
        _call(f"{name}Create", ctypes.byref(made), *arguments)
        self.value: int = made.value or 0
        weakref.finalize(self, _function(f"{name}Destroy"), self.value).atexit = False


class Description(_Made):
    """What is computed, but for the matrices. The pointers of an epilogue are `BIAS` and `AUX`, their addresses."""

    def __init__(self, problem: Problem) -> None:
        super().__init__("MatmulDesc", problem.compute, problem.scale)
        self._problem = problem
        for attribute, number in ((_TRANSPOSE_A, problem.a.transposed), (_TRANSPOSE_B, problem.b.transposed),
                                  (_EPILOGUE, problem.epilogue)):
            self.set(attribute, _i(number))
        if problem.aux_leading:
            self.set(_AUX_LEADING, _l(problem.aux_leading))

    def set(self, attribute: int, number: Any) -> None:
        """Let an attribute be a number of C."""
        _call("MatmulDescSetAttribute", self.value, attribute, ctypes.addressof(number), ctypes.sizeof(number))

    def copy(self) -> Description:
        """Another one that is equal, but for the pointers."""
        return Description(self._problem)


class Product:
    """A product of the library, for any matrices of a problem."""

    def __init__(self, description: Description, layouts: tuple[_Made, ...], algorithm: Any) -> None:
        self._layouts, self._algorithm = layouts, algorithm
        self._description = description
        self.algorithm: bytes = algorithm.raw[:_ALGORITHM_BYTES]
        self._lock = threading.Lock()  # of the description

    def write(self, one: int, zero: int, a: int, b: int, result: int, pointers: tuple[tuple[int, int], ...]) -> bool:
        """Write the product to `result`, and whether the library did; `one` and `zero` are addresses of these numbers, `pointers`
        those of the epilogue by their attributes. Raises Failed.
        """
        handle, workspace = blas.current()
        left, right, target = (layout.value for layout in self._layouts)
        address, size = (0, 0) if workspace is None else (workspace.ptr, workspace.size)
        arguments = (handle, self._description.value, one, a, left, b, right, zero, result, target, result, target,
                     ctypes.addressof(self._algorithm), address, size)  # fmt: skip
        with self._lock:
            for attribute, pointer in pointers:
                self._description.set(attribute, _p(pointer))
            status = _function("Matmul")(*arguments, cupy.cuda.get_current_stream().ptr)
        if status in _LACKING:
            return False
        _check("Matmul", status)
        recording.multiplied("cublasLtMatmul", arguments, self, pointers)
        return True

    def copy(self) -> _Copy:
        """What a plan keeps of it, with a description of its own."""
        return _Copy(self, self._description.copy())


class _Copy(NamedTuple):
    product: Product
    description: Description

    @property
    def value(self) -> int:
        return self.description.value


_products: dict[tuple[int, Problem], Product | None] = {}
_failures: list[str] = []  # the first one


@functools.cache
def is_there() -> bool:
    """Whether there is the library."""
    return driver.SIMULATED or driver.cublas_lt() is not None


def multiply(problem: Problem, *arguments: Any) -> bool:
    """`Product.write` with these arguments on the current device; False where the library lacks the product, or fails."""
    found = _product(problem)
    if found is None:
        return False
    try:
        if found.write(*arguments):
            return True
    except Failed as error:
        _disable(problem, error)
    _products[cupy.cuda.runtime.getDevice(), problem] = None
    return False


def _disable(problem: Problem, error: Failed) -> None:
    """Use the library no more."""
    if not _failures:
        _failures.append(str(error))
        a, b = f"{problem.columns} x {problem.inner}", f"{problem.inner} x {problem.rows}"
        warnings.warn(f"{error}, in a product of {a} by {b} of type {problem.kind} with the epilogue {problem.epilogue}. From "
                      "now on products, biases and activations are computed one after the other: the same results in more time.",
                      RuntimeWarning, stacklevel=2)


def algorithm(problem: Problem) -> bytes | None:
    """What says which kernel computes a product on the current device, and with which settings; None where there is none."""
    found = _product(problem)
    return None if found is None else found.algorithm


def _product(problem: Problem) -> Product | None:
    key = cupy.cuda.runtime.getDevice(), problem
    if key not in _products:
        if len(_products) >= _MOST_PRODUCTS:
            _products.clear()
        _products[key] = _found(problem)
    return _products[key] if not _failures else None


def _found(problem: Problem) -> Product | None:
    if _failures or not is_there():
        return None
    try:
        return _find(problem)
    except Failed as error:
        _disable(problem, error)
        return None


def _find(problem: Problem) -> Product | None:
    description = Description(problem)
    for attribute in (BIAS, AUX) if problem.aux_leading else (BIAS,):  # here they stand for what is known of their alignment
        description.set(attribute, _p(problem.alignment))
    shapes = ((problem.rows, problem.inner, problem.a), (problem.inner, problem.columns, problem.b))
    layouts = tuple(_Made("MatrixLayout", problem.kind, *(reversed(shape) if matrix.transposed else shape), matrix.leading)
                    for *shape, matrix in shapes)
    target = _Made("MatrixLayout", problem.kind, problem.rows, problem.columns, problem.rows)
    preference = _Made("MatmulPreference")
    handle, workspace = blas.current()
    numbers = [_u(0 if workspace is None else workspace.size),
               *(ctypes.c_uint32(alignment) for alignment in (problem.a.alignment, problem.b.alignment, ALIGNMENT, ALIGNMENT))]
    for attribute, number in zip((_MOST_WORKSPACE, *_ALIGNMENTS), numbers, strict=True):
        _call("MatmulPreferenceSetAttribute", preference.value, attribute, ctypes.addressof(number), ctypes.sizeof(number))
    algorithm, count = ctypes.create_string_buffer(_RESULT_BYTES), _i(0)
    status = _function("MatmulAlgoGetHeuristic")(
        handle, description.value, layouts[0].value, layouts[1].value, target.value, target.value, preference.value, 1,
        ctypes.addressof(algorithm), ctypes.byref(count))  # fmt: skip
    if status in _LACKING or (not status and not count.value):
        return None
    _check("MatmulAlgoGetHeuristic", status)
    return Product(description, (*layouts, target), algorithm)
