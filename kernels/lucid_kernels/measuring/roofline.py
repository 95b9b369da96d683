"""What the machine can do at the moment: memory bandwidth and arithmetic, with all threads, measured between the cases.

The floor of a case is the time in which these kernels move its bytes, or do its arithmetic, whichever is longer. The arrays
are as large as the case's, so a case that fits into a cache is compared with that cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from lucid_kernels.cpu.arrays.loops import Chunked
from lucid_kernels.cpu.runtime.allocator import empty
from lucid_kernels.cpu.runtime.jit import jit, jit_parallel
from lucid_kernels.cpu.runtime.threads import get_num_threads
from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES
from lucid_kernels.cpu.simd.nontemporal import streams
from lucid_kernels.measuring.ceilings import Ceilings
from lucid_kernels.measuring.timing import measure_block

#: The largest array in bytes: larger cases take proportionally longer, no cache holds them.
LARGEST = 96 << 20
_LANES = VECTOR_BYTES // 4
#: Sums in registers: an FMA takes 4 or 5 cycles and two start in each, so 10 at least; 16 registers hold them on AVX2.
_SUMS = 12
_INTRINSIC: Any = intrinsic
_INT = ir.IntType(64)


@jit
def _triad(a, b, c):
    for i in range(a.size):
        c[i] = a[i] + np.float32(3) * b[i]


@jit
def _update(a, b, c):
    for i in range(a.size):
        c[i] += np.float32(1e-9) * a[i]


@jit
def _read(a, b, c):
    total = np.float32(0)
    for i in range(a.size):
        total += a[i]
    c[0] = total


@jit_parallel
def _triad_all(a, b, c, chunks):
    for t in numba.prange(chunks):
        low, high = t * a.size // chunks, (t + 1) * a.size // chunks
        _triad(a[low:high], b[low:high], c[low:high])


@jit_parallel
def _update_all(a, b, c, chunks):
    for t in numba.prange(chunks):
        low, high = t * a.size // chunks, (t + 1) * a.size // chunks
        _update(a[low:high], b[low:high], c[low:high])


@jit_parallel
def _read_all(a, b, c, chunks):
    for t in numba.prange(chunks):
        low, high = t * a.size // chunks, (t + 1) * a.size // chunks
        _read(a[low:high], b[low:high], c[low:high])


#: How a case moves its bytes -> (the kernel, the arrays that it touches). 'triad' writes memory that it has not read;
#: 'update' writes what it has read, as an optimizer does, which spares the fetch of the line; 'read' only reads.
STREAMS: dict[str, tuple[Callable[..., None], int]] = {"triad": (_triad_all, 3), "update": (_update_all, 3),
                                                       "read": (_read_all, 1)}


#: The triad with stores that bypass the caches, as our kernels have them for such arrays: the faster one is the ceiling.
_streamed_triad = Chunked(_triad)


@_INTRINSIC
def _multiply_add(typing, data, steps):
    """`steps` times `_SUMS` fused multiply-adds of vectors that stay in registers; data[0] is their factor and summand."""

    def emit(context, builder, signature, arguments):
        pointer = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        vector = ir.VectorType(ir.FloatType(), _LANES)
        first = builder.insert_element(ir.Constant(vector, ir.Undefined), builder.load(pointer), ir.Constant(_INT, 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)
        factor = builder.shuffle_vector(first, first, zeros)
        sums = [cgutils.alloca_once(builder, vector) for _ in range(_SUMS)]
        for index, total in enumerate(sums):  # all different, or LLVM computes one of them
            builder.store(builder.fadd(factor, ir.Constant(vector, [float(index)] * _LANES)), total)
        with cgutils.for_range(builder, arguments[1]):
            for total in sums:
                product = builder.fmul(builder.load(total), factor, flags=("contract",))
                builder.store(builder.fadd(product, factor, flags=("contract",)), total)
        everything = builder.load(sums[0])
        for total in sums[1:]:
            everything = builder.fadd(everything, builder.load(total))
        builder.store(builder.extract_element(everything, ir.Constant(_INT, 0)), pointer)
        return context.get_dummy_value()

    return types.void(data, types.int64), emit


@jit
def _multiply_add_serial(data, steps):
    _multiply_add(data, steps)


@jit_parallel
def _multiply_add_all(data, steps):
    for t in numba.prange(data.shape[0]):
        _multiply_add_serial(data[t], steps)


#: Of a call: 0.3 ms, beside which starting the threads does not count (with a tenth of it the peak came out a quarter lower).
_STEPS = 200_000


class Roofline(Ceilings):
    """Measures the ceilings; keeps its arrays."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []

    def stream(self, bytes: int, traffic: str = "triad", seconds: float = 0.03) -> float:
        """Seconds in which memory, or the cache that holds so much, moves `bytes` in all."""
        kernel, count = STREAMS[traffic]
        each = min(max(bytes // count // 4, 64), LARGEST // 4)
        if not self.arrays or self.arrays[0].size < each:
            self.arrays = [empty((each,), np.float32) for _ in range(3)]
            for array in self.arrays:
                array.fill(1)
        a, b, c = (array[:each] for array in self.arrays)
        threads = get_num_threads()  # not inside the kernels: Numba does not cache a kernel that asks
        ways: list[Callable[[], Any]] = [lambda: kernel(a, b, c, threads)]
        if traffic == "triad" and streams(each * count * 4, c):
            ways.append(lambda: _streamed_triad.streaming(a, b, c))
        fastest = min(measure_block(way, lambda: None, seconds / len(ways))["seconds"] for way in ways)
        return fastest * bytes / (each * count * 4)

    def peak(self, seconds: float = 0.03, arithmetic: str = "float32") -> float:
        """Single-precision operations a second: fused multiply-adds on all threads, two operations each."""
        data = np.full((get_num_threads(), 16), 1e-3, np.float32)
        operations = len(data) * _STEPS * _SUMS * _LANES * 2

        def call() -> None:
            data[:, 0] = 1e-3
            _multiply_add_all(data, _STEPS)

        return operations / measure_block(call, lambda: None, seconds)["seconds"]
