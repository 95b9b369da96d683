"""NumPy's own loops, and those of our activations, in a row, called by one compiled function: small products, sums of rows,
elementwise operations.

A call of NumPy takes longer than its loop does for a few hundred elements. Here the loops that those calls end in are called
with the same operands, lengths and steps, so that results have the same bits. What lies between two of them has memory that a
chain keeps; what it returns is new.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.np.numpy_support import as_dtype

from ..arrays.tensor_list import part, word
from ..runtime.intrinsic import intrinsic
from ..runtime.jit import jit_exact
from ..simd.address import FLAGS, HEADER, READABLE, address_of
from .elementwise import LOOPS
from .ufunc_loops import call, loop_of

Array = np.ndarray[Any, Any]
ALIGN = 64  # bytes
_ZERO = 1  # in the place of a loop: zeros
_OF_TWO, _OF_THREE = -2, -3  # in the place of data: a loop of ours over so many arrays
# Words of a step: the loop and its data, how often it is called, places of its operands, bytes from one call to the next,
# lengths, steps.
_LOOP, _DATA, _TIMES, _PLACES, _ADVANCES, _LENGTHS, _STEPS, _WORDS = 0, 1, 2, 3, 6, 9, 13, 22


class Step(NamedTuple):
    """One loop, called `times` times: its operands by their places, the result last."""

    loop: int
    data: int
    times: int
    places: tuple[int, ...]
    advances: tuple[int, ...]
    lengths: tuple[int, ...]
    steps: tuple[int, ...]


def _step(ufunc: np.ufunc, dtype: Any, places: tuple[int, ...], lengths: tuple[int, ...], steps: tuple[int, ...], times: int = 1,
          advances: tuple[int, ...] = (0, 0, 0)) -> Step:  # fmt: skip
    found = loop_of(ufunc, dtype)
    if found is None or found[2] != dtype:
        raise LookupError
    return Step(found[0], found[1], times, places, advances, lengths, steps)


def elementwise(ufunc: np.ufunc, dtype: Any, shape: tuple[int, int], places: tuple[int, ...],
                moving: tuple[tuple[bool, bool], ...]) -> list[Step]:  # fmt: skip
    """`ufunc` of operands at `places`, the last one the result, row by row of `shape`; `moving` says of each whether it has a row
    for each row, and an element for each column: a dense one both, a number neither.
    """
    (rows, columns), item = shape, dtype.itemsize
    steps = tuple([item * of_columns for _, of_columns in moving])
    advances = tuple([item * (columns if of_columns else 1) * of_rows for of_rows, of_columns in moving])
    return [_step(ufunc, dtype, places, (columns,), steps, rows, advances)]


def product(dtype: Any, shape: tuple[int, int, int], places: tuple[int, int, int], turned: tuple[bool, bool]) -> list[Step]:
    """The product of matrices (m, k) and (k, n), where `turned` says which of them lie transposed."""
    (m, k, n), item = shape, dtype.itemsize
    left = (item, m * item) if turned[0] else (k * item, item)
    right = (item, k * item) if turned[1] else (n * item, item)
    return [_step(np.matmul, dtype, places, (1, m, k, n), (0, 0, 0, *left, *right, n * item, item))]


def plus_row(dtype: Any, rows: int, columns: int, matrix: int, row: int) -> list[Step]:
    """Add a row to each one of a matrix, in place."""
    return elementwise(np.add, dtype, (rows, columns), (matrix, row, matrix), ((True, True), (False, True), (True, True)))


def sum_of_rows(dtype: Any, rows: int, columns: int, matrix: int, total: int) -> list[Step]:
    """The rows of a matrix, added to zeros one after the other, as ``np.add.reduce`` does."""
    item = dtype.itemsize
    zero = Step(_ZERO, dtype.itemsize, 1, (total,), (0, 0, 0), (columns,), ())
    return [zero, _step(np.add, dtype, (total, matrix, total), (columns,), (item, item, item), rows, (0, columns * item, 0))]


def activation(name: str, dtype: Any, size: int, places: tuple[int, ...]) -> list[Step]:
    """The loop of a formula over dense arrays, the last one the result."""
    return [Step(_address(name, dtype), -len(places), 1, places, (0, 0, 0), (size, dtype.itemsize), ())]


def is_serial(name: str, dtype: Any, size: int) -> bool:
    """Whether that loop computes so many elements by itself."""
    loop = LOOPS[name]
    return _arrays(loop.serial) * dtype.itemsize * size < loop.parallel_from


def _arrays(loop: Any) -> int:
    count: int = getattr(loop, "py_func", loop).__code__.co_argcount  # itself where Numba is disabled
    return count


@functools.cache
def _address(name: str, dtype: Any) -> int:
    """Where the machine code of the loop of a formula lies."""
    loop: Any = LOOPS[name].serial
    loop(*[np.ones(1, dtype) for _ in range(_arrays(loop))])
    for kinds, compiled in loop.overloads.items():
        if all(as_dtype(kind.dtype) == dtype and kind.layout == "C" and kind.mutable for kind in kinds):
            return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))
    raise LookupError


def _ours(count: int) -> Any:
    """A function that calls a loop of ours over `count` flat arrays of one length, given by their addresses."""
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        loop, size, item, *addresses = values
        word, pointer = ir.IntType(64), ir.IntType(8).as_pointer()
        status, error = [cgutils.alloca_once(builder, pointer) for _ in range(2)]
        none = word(0)  # nobody owns the memory
        kind = ir.FunctionType(ir.IntType(32), [pointer.as_pointer()] * 2 + [word] * (7 * count))
        arrays = [field for address in addresses for field in (none, none, size, item, address, size, item)]
        builder.call(builder.inttoptr(loop, kind.as_pointer()), [status, error, *arrays])
        return context.get_dummy_value()

    return types.void(*[types.int64] * (3 + count)), generate


@intrinsic
def _call_of_two(typing_context: Any, loop: Any, size: Any, item: Any, x: Any, y: Any) -> Any:
    return _ours(2)


@intrinsic
def _call_of_three(typing_context: Any, loop: Any, size: Any, item: Any, a: Any, b: Any, y: Any) -> Any:
    return _ours(3)


@jit_exact
def _at(table: Array, step: int, addresses: Array, number: int) -> int:
    return addresses[table[step, _PLACES + number]]


@jit_exact
def _run(objects: Array, addresses: Array, table: Array, operands: Array, single: Array, double: Array) -> bool:
    """Take the steps of `table`. `objects` are the addresses of array objects, those of the first places; `addresses` has those
    of the elements of the others. False, with nothing done, if an array has gaps or does not begin where its elements may.
    """
    for i in range(objects.shape[0]):
        fields = objects[i] + HEADER
        if word(fields + FLAGS, addresses) & 0x101 != 0x101:  # C_CONTIGUOUS and ALIGNED
            return False
        addresses[i] = word(fields, addresses)
    start, given = table.ctypes.data, operands.ctypes.data
    for k in range(table.shape[0]):
        loop, data, size = table[k, _LOOP], table[k, _DATA], table[k, _LENGTHS]
        a, b, c = _at(table, k, addresses, 0), _at(table, k, addresses, 1), _at(table, k, addresses, 2)
        if loop == _ZERO:
            if data == 4:
                part(a, 0, size, single)[:] = 0
            else:
                part(a, 0, size, double)[:] = 0
        elif data == _OF_TWO:
            _call_of_two(loop, size, table[k, _LENGTHS + 1], a, b)
        elif data == _OF_THREE:
            _call_of_three(loop, size, table[k, _LENGTHS + 1], a, b, c)
        else:
            words = start + 8 * _WORDS * k
            for _ in range(table[k, _TIMES]):
                operands[0], operands[1], operands[2] = a, b, c
                call(loop, given, words + 8 * _LENGTHS, words + 8 * _STEPS, data)
                a, b, c = a + table[k, _ADVANCES], b + table[k, _ADVANCES + 1], c + table[k, _ADVANCES + 2]
    return True


_SINGLE, _DOUBLE = np.zeros(1, np.float32), np.zeros(1, np.float64)


def workspace(size: int) -> Array:
    """Memory of so many bytes for what lies between the steps of chains that run one after the other."""
    return np.zeros(size + ALIGN, np.uint8)


class Chain:
    """Steps in a row. Places are those of `inputs` arrays, of the `outputs`, given by shape and dtype, and of memory between
    them: `between` has where each begins in `memory`, which `workspace` makes.

    A call takes the inputs, C-contiguous arrays of the shapes for which the steps were made, and returns the outputs; None, with
    nothing done, where an input has gaps. One thread at a time may call it.
    """

    def __init__(self, steps: Sequence[Step], inputs: int, outputs: Sequence[tuple[tuple[int, ...], Any]],
                 between: Sequence[int] = (), memory: Array | None = None) -> None:  # fmt: skip
        rows = [[0] * _WORDS for _ in steps]
        for row, step in zip(rows, steps, strict=True):
            row[: _TIMES + 1] = step[:3]
            for first, words in zip((_PLACES, _ADVANCES, _LENGTHS, _STEPS), step[3:], strict=True):
                row[first : first + len(words)] = words
        table = np.array(rows, np.int64)
        self._outputs = [*outputs]
        self._memory = memory  # kept alive
        first = 0 if memory is None else -(-address_of(memory) // ALIGN) * ALIGN
        known = [first + start for start in between]
        self._addresses = np.array([*[0] * (inputs + len(outputs)), *known], np.int64)
        self._count = inputs + len(outputs)
        self._fixed = self._addresses, table, np.zeros(3, np.int64), _SINGLE, _DOUBLE

    def __call__(self, *inputs: Array) -> list[Array] | None:
        results = [np.empty(shape, dtype) for shape, dtype in self._outputs]
        objects = np.fromiter(map(id, (*inputs, *results)), np.int64, self._count)
        return results if _run(objects, *self._fixed) else None


@functools.cache
def available() -> bool:
    """Whether NumPy's loops give what NumPy does, as they are found here."""
    if not READABLE or numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return False
    generator = np.random.default_rng(0)
    try:
        return all(_agrees(generator, np.dtype(kind), *shape) for kind in "fd" for shape in ((5, 17, 6), (1, 3, 2), (8, 32, 33)))
    except LookupError:
        return False


def _agrees(generator: Any, dtype: Any, m: int, k: int, n: int) -> bool:
    x, w, b = [generator.standard_normal(shape).astype(dtype) for shape in ((m, k), (n, k), (n,))]
    x[:, 0] = -0.0
    steps = [*product(dtype, (m, k, n), (0, 1, 3), (False, True)), *plus_row(dtype, m, n, 3, 2),
             *product(dtype, (n, m, k), (3, 0, 4), (True, False)), *sum_of_rows(dtype, m, k, 0, 5),
             *activation("relu", dtype, m * n, (3, 6)), *activation("relu_grad", dtype, m * n, (3, 3, 7))]  # fmt: skip
    found = Chain(steps, 3, [((m, n), dtype), ((n, k), dtype), ((k,), dtype), *[((m, n), dtype)] * 2])(x, w, b)
    y = x @ w.T
    y += b
    wanted = y, y.T @ x, np.add.reduce(x, 0), np.where(y < 0, 0, y).astype(dtype), np.where(y <= 0, 0, y).astype(dtype)
    return found is not None and all(a.tobytes() == e.tobytes() for a, e in zip(found, wanted, strict=True))
