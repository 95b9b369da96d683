"""cuBLASLt by address: products whose last step, the epilogue, adds a bias, applies an activation or its gradient, or sums the
gradient of a bias. Matrices are column-major.

It is stricter than the library: an attribute of the wrong size, a leading dimension that does not fit, a matrix that is not
aligned as was promised when the algorithm was asked for, and an algorithm that was made for another problem raise an error.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from . import cublas, memory
from .array import bytes_at
from .kernels import launches

_INVALID, _NOT_SUPPORTED = 7, 15
_BIAS, _RELU, _GELU, _AUX, _BIAS_GRADIENT, _RELU_GRADIENT, _GELU_GRADIENT, _SUMS_OF_B = 4, 2, 32, 128, 16, 8, 64, 512
#: What the library has of them: alone, with a bias, with what the gradient needs, and the gradients.
_EPILOGUES = {1, _BIAS, _SUMS_OF_B} | {
    kind | bias | aux for kind in (_RELU, _GELU) for bias in (0, _BIAS) for aux in (0, _AUX)} | {
    kind | _AUX | sums for kind in (_RELU_GRADIENT, _GELU_GRADIENT) for sums in (0, _BIAS_GRADIENT)}
_TRANSPOSE_A, _TRANSPOSE_B, _EPILOGUE, _BIAS_POINTER, _AUX_POINTER, _AUX_LEADING = 3, 4, 7, 8, 11, 12
#: The bytes of the attributes of a product, and of those of a preference: of the workspace, and of alignments.
_SIZES = {_TRANSPOSE_A: 4, _TRANSPOSE_B: 4, _EPILOGUE: 4, _BIAS_POINTER: 8, _AUX_POINTER: 8, _AUX_LEADING: 8}
_PREFERENCES = {1: 8, 5: 4, 6: 4, 7: 4, 8: 4}

_objects: dict[int, Any] = {}
_numbers = itertools.count(0x1000, 16)
#: Whether ReLU gives 0 for NaN, as max(x, 0) of C does; what a GPU does is not documented.
drops_nan = False
#: Statuses that functions return without doing anything, by their names: a library that fails.
failures: dict[str, int] = {}


class _Description(dict[int, int]):
    """Attributes of a product or a preference by their numbers, and the types of a product's sums and scalars."""

    types = (0, 0)


def _keep(out: Any, thing: Any) -> int:
    out[0] = number = next(_numbers)
    _objects[number] = thing
    return 0


def _describe(out: Any, compute: int, scale: int) -> int:
    description = _Description()
    description.types = compute, scale
    return _keep(out, description)


def _prefer(out: Any) -> int:
    return _keep(out, _Description())


def _lay_out(out: Any, kind: int, rows: int, columns: int, leading: int) -> int:
    if leading < max(1, rows):
        raise cublas.CUBLASError(f"leading dimension {leading} of a matrix with {rows} rows")
    return _keep(out, (kind, rows, columns, leading))


def _destroy(number: int) -> int:
    del _objects[number]
    return 0


def _set(sizes: dict[int, int]) -> Callable[[int, int, int, int], int]:
    def set_attribute(number: int, attribute: int, buffer: int, size: int) -> int:
        if sizes.get(attribute) != size:
            raise cublas.CUBLASError(f"attribute {attribute} does not have {size} bytes")
        _objects[number][attribute] = int.from_bytes(ctypes.string_at(buffer, size), "little")
        return 0

    return set_attribute


class _Problem:
    """A product, with what was promised of its matrices."""

    def __init__(self, description: int, layouts: tuple[int, ...]) -> None:
        found = _objects[description]
        self.attributes = {name: found.get(name, 0) for name in (_TRANSPOSE_A, _TRANSPOSE_B, _AUX_LEADING)}
        self.epilogue = found.get(_EPILOGUE, 1)
        self.types = found.types
        self.layouts = tuple(_objects[layout] for layout in layouts)

    def facts(self) -> tuple[Any, ...]:
        """All that an algorithm depends on."""
        return tuple(self.attributes.items()), self.epilogue, self.types, self.layouts

    def status(self) -> int:
        """0, or that of a product that the library refuses."""
        (a, a_rows, a_columns, _), (b, b_rows, b_columns, _), c, d = self.layouts
        if self.attributes[_TRANSPOSE_A]:
            a_rows, a_columns = a_columns, a_rows
        if self.attributes[_TRANSPOSE_B]:
            b_rows, b_columns = b_columns, b_rows
        if a_columns != b_rows or (a_rows, b_columns) != d[1:3] or c != d or not a == b == c[0] == d[0]:
            return _INVALID
        doubles = a == 1
        if doubles != (self.types == (cublas.CUBLAS_COMPUTE_64F, 1)) or (not doubles and self.types[1] != 0):
            return _NOT_SUPPORTED
        if self.epilogue not in _EPILOGUES or (doubles and self.epilogue != 1):
            return _NOT_SUPPORTED
        if self.epilogue & _AUX:
            unit = 8 if self.epilogue & (_GELU | _GELU_GRADIENT) else 128
            if self.attributes[_AUX_LEADING] % unit or self.attributes[_AUX_LEADING] < d[1]:
                return _INVALID
        return 0


def _choose(handle: int | None, description: int, a: int, b: int, c: int, d: int, preference: int, wanted: int, results: int,
            count: Any) -> int:
    problem = _Problem(description, (a, b, c, d))
    count[0] = 0
    status = problem.status()
    if status:
        return status
    preferred = _objects[preference]
    aligned = [preferred.get(place, 256) for place in (5, 6, 7, 8)]
    pointers = [_objects[description].get(place, 0) for place in (_BIAS_POINTER, _AUX_POINTER)]
    aligned += [pointer & -pointer or 256 for pointer in pointers]
    number = next(_numbers)
    _objects[number] = problem.facts(), aligned, preferred.get(1, 0)
    ctypes.memset(results, 0, 96)
    ctypes.c_uint64.from_address(results).value = number
    count[0] = 1
    return 0


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))


def _gelu_gradient(x: Any) -> Any:
    inner = np.tanh(0.7978845608028654 * (x + 0.044715 * x**3))
    return 0.5 * (1 + inner) + 0.5 * x * (1 - inner**2) * 0.7978845608028654 * (1 + 3 * 0.044715 * x**2)


def prepare(description: int, alpha: int, a: int, a_layout: int, b: int, b_layout: int, beta: int, c: int, c_layout: int, d: int,
            d_layout: int, algorithm: int, workspace: int | None, size: int) -> tuple[Callable[[], None], list[Any]]:
    """The product as a function, with pointers and attributes as they are now, and the allocations that it uses."""
    problem = _Problem(description, (a_layout, b_layout, c_layout, d_layout))
    facts, aligned, most = _objects[ctypes.c_uint64.from_address(algorithm).value]
    if facts != problem.facts():
        raise cublas.CUBLASError("the algorithm was made for another product")
    if size < most:
        raise cublas.CUBLASError(f"a workspace of {size} bytes: the algorithm may use {most}")
    bias, aux = (_objects[description].get(place, 0) for place in (_BIAS_POINTER, _AUX_POINTER))
    for pointer, unit in zip((a, b, c, d, bias, aux), aligned, strict=True):
        if pointer and pointer % unit:
            raise cublas.CUBLASError(f"a matrix at {pointer:#x}: the algorithm was made for multiples of {unit} bytes")
    epilogue = problem.epilogue
    used = [a, b, c, d, *[bias] * bool(epilogue & (_BIAS | _BIAS_GRADIENT | _SUMS_OF_B)), *[aux] * bool(epilogue & _AUX)]
    allocations = [memory.allocation_of(pointer, 1) for pointer in used]

    def run(keep_alive: Any = allocations) -> None:  # of what is captured, also where the pool of the graph has them back
        _compute(problem, alpha, a, b, beta, c, d, bias, aux)

    return run, allocations


def _compute(problem: _Problem, alpha: int, a: int, b: int, beta: int, c: int, d: int, bias: int, aux: int) -> None:
    epilogue, compute = problem.epilogue, problem.types[0]
    sums: Any = np.float64 if compute == cublas.CUBLAS_COMPUTE_64F else np.float32
    kind = cublas._TYPES[problem.layouts[3][0]]
    left, right, source, result = (
        cublas._matrix(pointer, rows, columns, leading, kind)
        for pointer, (_, rows, columns, leading) in zip((a, b, c, d), problem.layouts, strict=True))
    factor, keep = cublas._host_scalar(alpha, sums), cublas._host_scalar(beta, sums)
    left, right = (each.T if problem.attributes[place] else each
                   for each, place in ((left, _TRANSPOSE_A), (right, _TRANSPOSE_B)))
    rows, columns = result.shape
    leading = problem.attributes[_AUX_LEADING]
    launches.append((f"gemm {rows}x{columns}x{left.shape[1]} epilogue {epilogue}", (1,), ()))
    with np.errstate(all="ignore"):
        x = factor * (cublas._factors(left, compute, sums) @ cublas._factors(right, compute, sums))
        if keep:
            x = x + keep * source.astype(sums)
        if epilogue & _BIAS:
            x = x + _vector(bias, rows, kind).astype(sums)[:, None]
        if epilogue & (_GELU | _GELU_GRADIENT) and epilogue & _AUX:
            saved = cublas._matrix(aux, rows, columns, leading, kind)
        if epilogue & (_RELU | _RELU_GRADIENT) and epilogue & _AUX:
            bits = bytes_at(aux, leading // 8 * columns).reshape(columns, leading // 8)
        if epilogue & _RELU:
            if epilogue & _AUX:
                positive = np.zeros((columns, leading), bool)
                positive[:, :rows] = ~(x.T <= 0)
                bits[...] = np.packbits(positive, axis=1)
            x = np.where((x > 0) if drops_nan else ~(x < 0), x, 0)
        elif epilogue & _GELU:
            if epilogue & _AUX:
                saved[...] = x
            x = _gelu(x)
        elif epilogue & _RELU_GRADIENT:
            x = np.where(np.unpackbits(bits, axis=1)[:, :rows].T, x, 0)
        elif epilogue & _GELU_GRADIENT:
            x = x * _gelu_gradient(saved.astype(sums))
        if epilogue & _BIAS_GRADIENT:
            _vector(bias, rows, kind)[...] = x.sum(1)
        if epilogue & _SUMS_OF_B:
            _vector(bias, columns, kind)[...] = right.astype(sums).sum(0)
        result[...] = x


def _vector(address: int, size: int, kind: np.dtype) -> Any:
    return bytes_at(address, size * kind.itemsize).view(kind)


_i, _l, _p, _u = ctypes.c_int, ctypes.c_int64, ctypes.c_void_p, ctypes.c_uint64
_out, _number = ctypes.POINTER(_p), ctypes.POINTER(_i)
#: The arguments of the functions, and the functions; `cublasLtMatmul` is that of `simulated_driver`, which knows streams.
FUNCTIONS: dict[str, tuple[tuple[Any, ...], Callable[..., int]]] = {
    "cublasLtMatmulDescCreate": ((_out, _i, _i), _describe),
    "cublasLtMatmulDescDestroy": ((_p,), _destroy),
    "cublasLtMatmulDescSetAttribute": ((_p, _i, _p, ctypes.c_size_t), _set(_SIZES)),
    "cublasLtMatrixLayoutCreate": ((_out, _i, _u, _u, _l), _lay_out),
    "cublasLtMatrixLayoutDestroy": ((_p,), _destroy),
    "cublasLtMatmulPreferenceCreate": ((_out,), _prefer),
    "cublasLtMatmulPreferenceDestroy": ((_p,), _destroy),
    "cublasLtMatmulPreferenceSetAttribute": ((_p, _i, _p, ctypes.c_size_t), _set(_PREFERENCES)),
    "cublasLtMatmulAlgoGetHeuristic": ((_p, _p, _p, _p, _p, _p, _p, _i, _p, _number), _choose),
}
MATMUL = (_p, _p, _p, _p, _p, _p, _p, _p, _p, _p, _p, _p, _p, _p, ctypes.c_size_t, _p)
