"""Our own matrix products: values at all edges and layouts, the same bits on any number of threads, sums in registers."""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu.matmul import blocked, matmul, openblas
from lucid_kernels.cpu.matmul.microkernels import MOST_VECTORS, make_multiply
from lucid_kernels.cpu.matmul.problem import problem_of
from lucid_kernels.cpu.matmul.tiling import BLOCK_ROWS, FEW_ROWS
from lucid_kernels.cpu.runtime.threads import THREADS
from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES, WHOLE_VECTORS
from lucid_kernels.cpu.simd.pointer import pointer

each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])
needs_openblas = pytest.mark.skipif(openblas.one_thread.unknown, reason="NumPy uses another BLAS than OpenBLAS")


def normal(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def padded(x: np.ndarray) -> np.ndarray:
    """The same matrix with rows further apart than they are long."""
    room = np.full((x.shape[0], x.shape[1] + 3), np.nan, x.dtype)
    room[:, : x.shape[1]] = x
    return room[:, : x.shape[1]]


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "rows": np.ascontiguousarray, "columns": np.asfortranarray, "sliced": padded, "sliced columns": lambda x: padded(x.T).T}


@each_dtype
@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("right", LAYOUTS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 9, 400), (8, 1, 1), (9, 5, 3), (64, 256, 32), (65, 257, 33), (71, 300, 600), (130, 530, 48), (32, 700, 129),
                                   (13, 290, 301), (300, 20, 17), (140, 40, 1040), (1030, 40, 70), (30, 1100, 1030)], ids=str)
def test_products_at_the_edges_of_tiles_strips_and_blocks(shape: Any, left: str, right: str, dtype: Any) -> None:
    m, k, n = shape
    a, b, bias = normal((m, k), dtype), normal((k, n), dtype, 1), normal((n,), dtype, 2)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    size = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    for added in (None, bias):
        y = blocked.matmul(LAYOUTS[left](a), LAYOUTS[right](b), added)
        assert y.dtype == dtype
        assert y.flags.c_contiguous
        wanted = exact if added is None else exact + bias.astype(np.float64)
        assert (np.abs(y - wanted) <= 4 * np.finfo(dtype).eps * (size + 4)).all()


@each_dtype
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(8, 5, 9), (71, 300, 600), (530, 257, 33), (300, 1030, 17)], ids=str)
def test_sums_of_the_rows_of_columns(shape: Any, layout: str, dtype: Any) -> None:
    m, k, n = shape
    a, b = normal((m, k), dtype), normal((k, n), dtype, 1)
    product, sums = blocked.matmul_and_sums(LAYOUTS[layout](a), b)
    np.testing.assert_array_equal(product, blocked.matmul(LAYOUTS[layout](a), b))
    assert (sums is None) == ("columns" not in layout)
    if sums is not None:
        assert sums.dtype == dtype
        np.testing.assert_allclose(sums, a.sum(1, dtype=np.float64), rtol=np.finfo(dtype).eps, atol=1e-13)


@each_dtype
@pytest.mark.parametrize("shape", [(201, 700, 577), (24, 700, 577)], ids=str)
@pytest.mark.parametrize("right", ["rows", "columns"])
def test_the_bits_do_not_depend_on_threads(shape: Any, right: str, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    m, k, n = shape
    a, b, bias = normal((m, k), dtype), LAYOUTS[right](normal((k, n), dtype, 1)), normal((n,), dtype, 2)
    results = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(THREADS, "value", threads)
        results.append([blocked.matmul(x, b, bias) for x in (a, np.asfortranarray(a))])
    for rows, columns in results[1:]:
        np.testing.assert_array_equal(rows, results[0][0])
        np.testing.assert_array_equal(columns, results[0][1])


@each_dtype
@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_nan_and_inf_stay_in_their_rows_and_columns(layout: str, dtype: Any) -> None:
    a, b = normal((70, 40), dtype), normal((40, 37), dtype, 1)
    a[69, 5], a[64, 0], b[3, 36] = np.nan, np.inf, np.nan
    straight = blocked.matmul(LAYOUTS[layout](a), LAYOUTS[layout](b))
    transposed = blocked.matmul(LAYOUTS[layout](b.T), LAYOUTS[layout](a.T)).T
    for y in (straight, transposed):
        assert np.isnan(y[69]).all()
        assert np.isnan(y[:, 36]).all()
        assert np.isinf(y[64, :36]).all()
        assert np.isfinite(np.delete(y, (64, 69), 0)[:, :36]).all()


@each_dtype
@pytest.mark.parametrize("m", [40, 256])
@pytest.mark.parametrize("right", ["rows", "columns"])
def test_errors_are_no_larger_than_those_of_numpy(m: int, right: str, dtype: Any) -> None:
    a, b = normal((m, 2000), dtype), LAYOUTS[right](normal((2000, 96), dtype, 1))
    exact = a.astype(np.longdouble) @ b.astype(np.longdouble)
    error, reference = (np.abs(y - exact).max() for y in (blocked.matmul(a, b), a @ b))
    assert error <= 2 * reference


@pytest.mark.parametrize("layout", ["C", "F"])
def test_sums_are_added_up_in_parts(layout: Any) -> None:
    """Products around a quarter, whose rounding errors add up: with 512 in a row the largest error is 1.7e-4, PyTorch's 5.2e-5."""
    rng = np.random.default_rng(0)
    a, b = np.array(rng.random((48, 512), np.float32), order=layout), rng.random((512, 48), np.float32)
    error = np.abs(blocked.matmul(a, b) - a.astype(np.float64) @ b).max()
    assert error < 1.04e-4


@needs_openblas
@pytest.mark.skipif(not WHOLE_VECTORS, reason="OpenBLAS is faster without AVX2")
@pytest.mark.parametrize("threads", [1, 2])
def test_large_products_go_here(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(THREADS, "value", threads)
    for m, k, n in ((256, 256, 256), (300, 2000, 1000), (2000, 500, 10), (4000, 500, 4)):
        a, b, bias = normal((m, k), np.float32), normal((k, n), np.float32, 1), normal((n,), np.float32)
        out = np.empty((m, n), np.float32)
        assert matmul.MATMUL.choose(problem_of(a, b, bias, out)).name == ("blocked" if n > 4 else "tiles")
        assert matmul.matmul(a, b, bias, out) is out
        for y in (out, matmul.matmul(a, b, bias)):
            np.testing.assert_allclose(y, a @ b + bias, rtol=1e-3, atol=1e-3)


BLOCKS = [(rows, vectors) for rows in sorted({FEW_ROWS, BLOCK_ROWS}) for vectors in range(1, MOST_VECTORS + 1)]
each_block = pytest.mark.parametrize(("rows", "vectors"), BLOCKS)


def make_block(rows: int, vectors: int, **kinds: bool) -> Any:
    block = make_multiply(rows, vectors, **kinds)

    @numba.njit
    def multiply(a: Any, b: Any, have: int, columns: int, c: Any, add: bool, added: Any, pitch: int, free: bool) -> None:
        depth_step = a.strides[1] // a.itemsize  # which is not known when this is compiled, as in the kernel
        block(pointer(c, a.ctypes.data), a.shape[1], depth_step, pointer(c, b.ctypes.data), b.shape[1], a.shape[1], have, columns,
              pointer(c, c.ctypes.data), c.shape[1], add, pointer(c, added.ctypes.data), pitch, free)

    return multiply


@each_block
@each_dtype
def test_register_blocks(rows: int, vectors: int, dtype: Any) -> None:
    multiply, lanes = make_block(rows, vectors), VECTOR_BYTES // np.dtype(dtype).itemsize
    a, b = normal((rows, 7), dtype), normal((7, vectors * lanes), dtype, 1)
    for have, left in ((rows, 0), (rows - 1, 1), (1, lanes - 1)):
        columns = vectors * lanes - left
        for added in (None, normal((rows, vectors * lanes + 2), dtype, 2), normal((1, vectors * lanes), dtype, 3)):
            for free in (False, True):
                c = np.full((rows + 1, vectors * lanes + 2), 7, dtype)
                more, pitch = (c, 0) if added is None else (added, added.shape[1] if len(added) > 1 else 0)
                multiply(a, b, have, columns, c, added is not None, more, pitch, free)
                expected = np.full_like(c, 7)
                expected[:have, :columns] = a[:have] @ b[:, :columns] + (0 if added is None else added[:have, :columns])
                np.testing.assert_allclose(c[:, :columns], expected[:, :columns], rtol=1e-5, atol=1e-5)
                if not free:
                    assert (c[:, columns:] == 7).all()


@each_block
def test_sums_and_places_stay_in_registers(rows: int, vectors: int) -> None:
    multiply, lanes = make_block(rows, vectors, filled=VECTOR_BYTES != 64, prefetches=rows == 8), VECTOR_BYTES // 4
    a, b, c = normal((rows, 4), np.float32), normal((4, vectors * lanes), np.float32), np.empty((rows, vectors * lanes), np.float32)
    multiply(a, b, rows, vectors * lanes, c, False, c, 0, False)
    blocks = re.split(r"^\.L\w+:", multiply.inspect_asm(multiply.signatures[0]), flags=re.MULTILINE)
    loop = max(blocks, key=lambda block: len(re.findall("vfmadd", block)))
    if "vfmadd" not in loop:
        pytest.skip("written for x86")
    register = "%zmm" if VECTOR_BYTES == 64 else "%ymm"
    assert len(re.findall(rf"vfmadd\w+ps\s.*{register}", loop)) >= rows * vectors
    assert not re.findall(rf"vmov\w+\s+{register}\d+, -?\d*\(%r[sb]p", loop)
    if VECTOR_BYTES != 64:  # an iteration of AVX-512 is long enough to fetch some
        assert not re.findall(r"mov\w*\s+-?\d*\(%r[sb]p\)", loop)
