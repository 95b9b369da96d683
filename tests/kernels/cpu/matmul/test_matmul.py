"""Products on a chosen number of threads, and malloc's settings."""
from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.matmul import blocked, matmul, openblas
from lucid_kernels.cpu.matmul.problem import problem_of
from lucid_kernels.cpu.runtime import malloc
from lucid_kernels.cpu.runtime.threads import THREADS

needs_openblas = pytest.mark.skipif(openblas.one_thread._threads is None, reason="NumPy uses another BLAS than OpenBLAS")


def _normal(shape, dtype=np.float64):
    return np.random.default_rng(0).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("shapes", [((3, 4), (4, 5)), ((64, 512), (512, 64)), ((300, 200), (200, 300)), ((0, 3), (3, 2)),
                                    ((2, 3, 4), (4, 5)), ((4,), (4, 2)), ((40, 1), (1, 50)), ((600, 1), (1, 500)),
                                    ((2, 3, 4), (2, 4, 3))], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_product_is_numpys(shapes, dtype):
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, shape).astype(dtype) for shape in shapes)
    assert np.array_equal(matmul.matmul(a, b), a @ b)


@needs_openblas
@pytest.mark.parametrize("shapes", [((64, 64, 1), (64, 1, 70)), ((3, 40, 1), (1, 50)), ((5, 1, 9, 1), (4, 1, 30))])
def test_stacks_of_outer_products(shapes: tuple[tuple[int, ...], ...]) -> None:
    a, b = (np.random.default_rng(0).standard_normal(shape).astype(np.float32) for shape in shapes)
    np.testing.assert_array_equal(matmul.matmul(a, b), np.matmul(a, b))


STACKS = {
    "as many": ((9, 65, 70), (9, 70, 63)), "rows": ((40, 1, 300), (40, 300, 200)), "columns": ((40, 300, 200), (40, 200, 1)),
    "broadcast": ((2, 1, 60, 80), (5, 80, 90)), "one matrix": ((64, 90), (7, 90, 60)), "few large": ((2, 3, 110, 130), (3, 130, 90)),
    "small": ((600, 7, 9), (600, 9, 5)), "small, broadcast": ((5, 200, 3, 4), (200, 4, 4)),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("swapped", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("shapes", STACKS.values(), ids=STACKS)
def test_stacks(shapes: tuple[tuple[int, ...], ...], swapped: tuple[bool, bool], dtype: type) -> None:
    pairs = [(_normal((*shape[:-2], *shape[:-3:-1]), dtype).swapaxes(-1, -2) if swap else _normal(shape, dtype))
             for shape, swap in zip(shapes, swapped)]  # fmt: skip
    exact = pairs[0].astype(np.float64) @ pairs[1].astype(np.float64)
    y = matmul.matmul(*pairs)
    assert y.dtype == dtype
    np.testing.assert_allclose(y, exact, rtol=0, atol=8 * np.finfo(dtype).eps * shapes[0][-1])
    out = np.empty_like(y)
    assert matmul.matmul(*pairs, out=out) is out
    np.testing.assert_array_equal(out, y)


def _complex(shape: tuple[int, ...], dtype: type, swapped: bool) -> np.ndarray:
    """Numbers whose last two axes are swapped in memory on request."""
    rng = np.random.default_rng(shape[-1])
    given = (*shape[:-2], *shape[:-3:-1]) if swapped else shape
    x = (rng.standard_normal(given) + 1j * rng.standard_normal(given)).astype(dtype)
    return x.swapaxes(-1, -2) if swapped else x


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("swapped", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("shapes", [((130, 120), (120, 150)), ((7, 500), (500, 400)), ((900, 400), (400, 3)), ((700, 600), (600, 1)),
                                    ((64, 16, 16), (64, 16, 18)), ((2, 1, 60, 80), (5, 80, 90)), ((3, 110, 130), (130, 90))], ids=str)
def test_complex_numbers(shapes: tuple[tuple[int, ...], ...], swapped: tuple[bool, bool], dtype: type) -> None:
    a, b = (_complex(shape, dtype, swap) for shape, swap in zip(shapes, swapped))
    bias = _complex(shapes[1][-1:], dtype, False)
    exact = a.astype(np.complex128) @ b.astype(np.complex128) + bias
    y = matmul.matmul(a, b, bias)
    assert y.dtype == dtype and y.flags.c_contiguous
    np.testing.assert_allclose(y, exact, rtol=0, atol=8 * np.finfo(dtype).eps * shapes[0][-1])
    out = np.empty_like(y)
    assert matmul.matmul(a, b, out=out) is out
    np.testing.assert_allclose(out, y - bias, rtol=0, atol=8 * np.finfo(dtype).eps * shapes[0][-1])


def test_stacks_that_blas_cannot_read() -> None:
    """Permuted dimensions, every second column and rows in reverse."""
    x = _normal((20, 40, 6, 64))
    q, k = x.transpose(0, 2, 1, 3), x.transpose(0, 2, 3, 1)
    for a, b in ((q, k), (q[..., ::2], k[..., ::2, :]), (q[..., ::-1, :], k[..., ::-1])):
        np.testing.assert_allclose(matmul.matmul(a, b), a @ b, rtol=0, atol=1e-12)


def test_nan_and_inf_stay_in_their_matrices() -> None:
    a, b = np.ones((64, 40, 30), np.float32), np.ones((64, 30, 40), np.float32)
    a[3, 2, 5], b[7, 4, 9] = np.nan, np.inf
    y = matmul.matmul(a, b)
    expected = np.full((64, 40, 40), 30, np.float32)
    expected[3, 2], expected[7, :, 9] = np.nan, np.inf
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("shapes", [((0, 90, 90), (0, 90, 90)), ((9, 0, 90), (9, 90, 90)), ((90, 90, 0), (90, 0, 90)),
                                    ((1, 90, 90), (0, 90, 90))])
def test_empty_stacks(shapes: tuple[tuple[int, ...], ...]) -> None:
    a, b = map(np.ones, shapes)
    np.testing.assert_array_equal(matmul.matmul(a, b), a @ b)


def test_threads_are_set_back_also_after_an_error_and_when_nested():
    get, _ = openblas.one_thread._threads
    before = get()
    with openblas.one_thread:
        assert get() == 1
        with openblas.one_thread:
            assert get() == 1
        assert get() == 1
    assert get() == before
    with pytest.raises(ValueError), openblas.one_thread:
        raise ValueError
    assert get() == before


@needs_openblas
def test_threads_are_set_back_when_users_overlap():
    get, _ = openblas.one_thread._threads
    before = get()
    a = np.ones((64, 512), np.float32)

    def work() -> None:
        for _ in range(200):
            matmul.matmul(a, a.T)

    users = [threading.Thread(target=work) for _ in range(4)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert get() == before and openblas.one_thread._users == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mallopt is the GNU C library's")
def test_freed_memory_is_kept_and_a_users_setting_wins():
    def faults(**variables: str) -> int:
        code = ("import resource, numpy as np, lucid_kernels.cpu.runtime.jit\n"
                "def make():\n    np.ones(1 << 18, 'f4')\n"
                "make(); start = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
                "for _ in range(100): make()\n"
                "print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - start)")
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_"))} | variables
        environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
        return int(subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout)

    assert faults() < 1000 < 10_000 < faults(MALLOC_MMAP_THRESHOLD_="131072")


def test_nothing_is_set_on_other_systems(monkeypatch):
    monkeypatch.setattr(malloc.sys, "platform", "darwin")
    assert malloc.keep_freed_memory() is False


@needs_openblas
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(128, 300, 200), (33, 2000, 40), (1, 3000, 4000), (3000, 400, 1), (257, 129, 513), (64, 784, 256)])
@pytest.mark.parametrize("threads", [2, 3, 4])
def test_tiles(shape: tuple[int, int, int], dtype: type, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from lucid_kernels.cpu.matmul import openblas_tiles

    monkeypatch.setattr(THREADS, "value", threads)
    m, k, n = shape
    a, b = _normal((m, k), dtype), _normal((k, n), dtype)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    tolerance = k**0.5 * (4e-6 if dtype == np.float32 else 4e-14)
    layouts = [lambda x: x, lambda x: np.asfortranarray(x), lambda x: np.repeat(x, 2, 1)[:, ::2], lambda x: np.repeat(x, 2, 0)[::2],
               lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1]]
    for layout in layouts:
        for other in (layouts[0], layout):
            assert np.allclose(openblas_tiles.matmul(layout(a), other(b)), exact, rtol=0, atol=4 * tolerance)


@needs_openblas
def test_nan_and_inf_stay_in_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(THREADS, "value", 2)
    a, b = _normal((256, 256)), _normal((256, 256))
    a[3, 5], a[200, 7] = np.nan, np.inf
    y = matmul.matmul(a, b)
    assert np.isnan(y[3]).all() and np.isinf(y[200]).all()
    assert np.isfinite(np.delete(y, (3, 200), 0)).all()


def test_the_choice_of_an_implementation() -> None:
    def chosen(left: tuple[int, ...], right: tuple[int, ...], dtype: Any = np.float32, turned: bool = False, threads: int = 2,
               **changed: Any) -> str:
        b = np.empty((*right[:-2], right[-1], right[-2]), dtype).swapaxes(-1, -2) if turned else np.empty(right, dtype)
        problem = problem_of(np.empty(left, dtype), b)._replace(threads=threads, vector_bytes=64, **changed)
        return matmul.MATMUL.choose(problem).name

    assert chosen((100, 100), (100, 100)) == "one_thread"
    assert chosen((40, 40), (40, 40)) == chosen((1000, 1000), (1000,)) == "numpy"
    assert chosen((40, 40), (40, 40), np.int32) == "integers"
    assert chosen((100, 1), (1, 100)) == chosen((8, 10, 1), (8, 1, 100)) == "outer"
    assert chosen((1000, 1), (1, 1000)) == "outer" and chosen((1000, 1), (1, 1000), bias=True) != "outer"
    assert chosen((1000, 10, 10), (1000, 10, 10)) == "batched_small"
    assert chosen((4, 300, 300), (4, 300, 300), np.complex64) == "few_large"
    assert chosen((20, 300, 300), (20, 300, 300), np.complex64) == "stacks"
    assert chosen((100, 100), (100, 1), np.complex64) == "one_thread"
    if not openblas.one_thread.unknown and blocked.WHOLE_VECTORS:
        assert chosen((256, 256), (256, 256)) == "blocked" and chosen((256, 256), (256, 256), np.complex64) == "tiles"
        assert chosen((2, 500), (500, 600), turned=True) == "skinny" and chosen((2, 500), (500, 600)) == "one_thread"
        assert chosen((2000, 600), (600, 1)) == "column"
        assert chosen((200, 2), (2, 200), turned=True) == "blocked" and chosen((200, 2), (2, 200)) == "numpy"


def test_explain_names_what_computes_a_product() -> None:
    command = [sys.executable, "-m", "lucid_kernels.cpu.matmul", "explain", "16x64x64", "16x64x64", "--vector-bytes"]
    wide, narrow = (subprocess.run([*command, some], capture_output=True, text=True, check=True).stdout for some in ("64", "32"))
    assert "  batched_small: chosen\n" in wide and "  numpy: would do, but comes later\n" in wide
    assert "  batched_small: larger matrices, or few, without AVX-512\n" in narrow


def test_wrong_shapes_raise_as_in_numpy() -> None:
    with pytest.raises(ValueError, match="matmul"):
        matmul.matmul(_normal((200, 200)), _normal((199, 300)))


@needs_openblas
def test_large_products_leave_the_threads_of_openblas_asleep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(THREADS, "value", 2)
    get, _ = openblas.one_thread._threads
    seen = []
    original = np.ndarray.__matmul__
    from lucid_kernels.cpu.matmul import openblas_tiles

    tiles = openblas_tiles._tiles64
    monkeypatch.setattr(openblas_tiles, "_tiles64", lambda *arguments: (seen.append(get()), tiles(*arguments)))
    a = _normal((300, 300))
    assert np.allclose(openblas_tiles.matmul(a, a), original(a, a))
    stack, stacked = openblas_tiles._stack64, _normal((8, 40, 520))
    monkeypatch.setattr(openblas_tiles, "_stack64", lambda *arguments: (seen.append(get()), stack(*arguments)))
    assert np.allclose(matmul.matmul(stacked, stacked.swapaxes(1, 2)), original(stacked, stacked.swapaxes(1, 2)))
    assert seen == [1, 1]


@needs_openblas
def test_complex_vectors_leave_the_threads_of_openblas_asleep(monkeypatch: pytest.MonkeyPatch) -> None:
    get, _ = openblas.one_thread._threads
    seen = []
    product = np.matmul
    monkeypatch.setattr(np, "matmul", lambda *operands, out: (seen.append(get()), product(*operands, out=out))[1])
    a = _complex((100, 100), np.complex64, False)
    for left, right in ((a, a[0]), (a[0], a), (a, a[:, :1]), (a[:1], a)):
        np.testing.assert_allclose(matmul.matmul(left, right), product(left, right), rtol=0, atol=1e-4)
    assert seen == [1] * 4
