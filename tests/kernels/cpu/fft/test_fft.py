"""Fourier transforms by kernels: each length, against NumPy in more than double precision, with every set of vector instructions."""
from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

import llvmlite.binding
import numba
import numpy as np
import pytest
from lucid_kernels.cpu.fft import fft
from lucid_kernels.cpu.fft import microkernels as fft_microkernels
from lucid_kernels.cpu.runtime import threads
from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES
from lucid_kernels.cpu.simd.pointer import pointer

from lucid.backends.cpu.fft import COMPLEX_LENGTHS

LENGTHS = sorted(COMPLEX_LENGTHS)
each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def signal(*shape: int, dtype: Any) -> np.ndarray:
    """Complex numbers with parts of a dtype."""
    rng = np.random.default_rng(shape[-1])
    return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(np.result_type(dtype, np.complex64))


def check(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.dtype.char == expected.astype(found.dtype).dtype.char and found.flags.c_contiguous
    error = np.abs(found - expected).max() / np.abs(expected).max()
    assert error < 4 * np.finfo(found.dtype).eps, (error, found.shape)


@each_dtype
@pytest.mark.parametrize("n", LENGTHS)
def test_complex_numbers(n: int, dtype: Any) -> None:
    x = signal(3, n, dtype=dtype)
    check(fft.transform(x, forward=True, scale=1.0), np.fft.fft(x.astype(np.clongdouble)))
    check(fft.transform(x, forward=False, scale=0.25), np.fft.ifft(x.astype(np.clongdouble)) * n * 0.25)


@each_dtype
@pytest.mark.parametrize("n", [2 * n for n in LENGTHS])
def test_real_numbers(n: int, dtype: Any) -> None:
    """The numbers that stand for two have a weight of their own; the imaginary parts at the ends do not count."""
    weights = np.ones(n // 2 + 1)
    for weight in (1.0, 0.5):
        weights[1:-1] = weight
        x = signal(3, n, dtype=dtype).real.copy()
        check(fft.transform_to_half(x, scale=0.5, weight=weight), np.fft.rfft(x.astype(np.longdouble)) * 0.5 * weights)
        check(fft.transform_to_whole(x, scale=0.5), np.fft.fft(x.astype(np.longdouble)) * 0.5)
        half = signal(3, n // 2 + 1, dtype=dtype)
        expected = np.fft.irfft(half.astype(np.clongdouble) * weights) * n * 0.5
        half.imag[:, [0, -1]] = np.nan
        check(fft.transform_from_half(half, length=n, scale=0.5, weight=weight), expected)


@each_dtype
def test_any_strides_and_dimensions(dtype: Any) -> None:
    x = signal(2, 3, 5, 64, dtype=dtype).transpose(0, 2, 1, 3)
    check(fft.transform(x, forward=True, scale=1.0), np.fft.fft(x.astype(np.clongdouble)))
    check(fft.transform(x[..., ::2], forward=True, scale=1.0), np.fft.fft(x[..., ::2].astype(np.clongdouble)))
    check(fft.transform_to_half(x.real, scale=1.0, weight=1.0), np.fft.rfft(x.real.astype(np.longdouble)))
    check(fft.transform_from_half(x[..., :33], length=64, scale=1 / 64, weight=1.0),
          np.fft.irfft(x[..., :33].astype(np.clongdouble)))
    check(fft.transform(x[0, 0, 0], forward=True, scale=1.0), np.fft.fft(x[0, 0, 0].astype(np.clongdouble)))


@each_dtype
@pytest.mark.parametrize(("n", "step"), [(64, 16), (64, 7), (128, 200), (400, 160), (2048, 512)])
def test_windows_of_signals(n: int, step: int, dtype: Any) -> None:
    x, window = signal(3, n + 5 * step + 2, dtype=dtype).real, signal(n, dtype=dtype).real
    found = fft.transform_windows(x, window, step=step, scale=0.5)
    parts = np.lib.stride_tricks.sliding_window_view(x.astype(np.longdouble), n, 1)[:, ::step]
    check(found, np.fft.rfft(parts * window) * 0.5)


@each_dtype
def test_threads_give_the_same(dtype: Any) -> None:
    x, before = signal(300, 128, dtype=dtype), threads.get_num_threads()
    found = []
    for count in (1, before):
        threads.set_num_threads(count)
        found.append((fft.transform(x, forward=True, scale=1.0), fft.transform_to_half(x.real, scale=1.0, weight=1.0)))
    threads.set_num_threads(before)
    for one, other in zip(*found):
        np.testing.assert_array_equal(one, other)
    check(found[0][0], np.fft.fft(x.astype(np.clongdouble)))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_stay_in_their_rows(bad: float) -> None:
    for n in (64, 72, 1000, 1024):
        x = signal(3, n, dtype=np.float32)
        x[1, 5] = bad
        for found in (fft.transform(x, forward=True, scale=1.0), fft.transform_to_half(x.real, scale=1.0, weight=1.0),
                      fft.transform_from_half(x[:, : n // 2 + 1], length=n, scale=1.0, weight=1.0)):
            assert np.isfinite(found[[0, 2]]).all()
            assert not np.isfinite(found[1]).any()


def test_nothing_is_written_beside_the_result() -> None:
    """The rows of half a spectrum end within vectors; the next ones are written later, so one row alone shows it."""
    for n in (64, 72, 200, 256, 400, 2048):
        x, room = signal(1, n, dtype=np.float32), np.full(2 * n + 400, 7, np.float32)
        plan = fft._plan(n // 2, 4, True)
        fft._transform_rows(fft._TO_HALF, x.real.copy().ctypes.data, room[100:].ctypes.data, 1, n // 2, 1.0, 1.0, *plan)
        assert (room[:100] == 7).all() and (room[100 + n + 2 :] == 7).all()


_OTHERS = {"skylake-avx512": "+avx2,+fma,+avx512f,+avx512dq,+avx512vl,+avx512bw", "haswell": "+avx2,+fma", "x86-64": "+sse2"}


@pytest.mark.parametrize("name", _OTHERS)
def test_other_instructions(name: str, tmp_path: Any) -> None:
    """The tests above but for those of float64, in a process that compiles for a processor with fewer instructions than this one."""
    there = llvmlite.binding.get_host_cpu_features()
    have = [other for other, features in _OTHERS.items() if all(there.get(feature[1:]) for feature in features.split(","))]
    if os.environ.get("NUMBA_CPU_NAME") or name not in have[1:]:
        pytest.skip("for other processors")
    environment = {**os.environ, "NUMBA_CPU_NAME": name, "NUMBA_CPU_FEATURES": _OTHERS[name], "LUCID_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-k", "not float64 and not f8", __file__]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280)
    assert run.returncode == 0, run.stdout[-3000:]


_first = fft_microkernels.make_first(8, VECTOR_BYTES, True)
_middle = fft_microkernels.make_middle(8, VECTOR_BYTES)
_last = fft_microkernels.make_last(4, VECTOR_BYTES)


@numba.njit
def first(x, size):
    start = pointer(x, x.ctypes.data)
    _first(start, start, start, size, x[0])


@numba.njit
def middle(x, size):
    start = pointer(x, x.ctypes.data)
    _middle(start, start, start, size, size // 16, 2)


@numba.njit
def last(x, size):
    start = pointer(x, x.ctypes.data)
    _last(start, start, size, x[0], x[1])


@numba.njit
def halves(x, size):
    start = pointer(x, x.ctypes.data)
    fft_microkernels.combine_halves(start, start, start, size, x[0], x[1])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("function", [first, middle, last, halves])
def test_numbers_stay_in_vector_registers(function: Any, dtype: str) -> None:
    """Those of a step of 8 need 32 registers: with 16 some go to the stack, and one row of 4096 takes 1.3 times as long."""
    x = np.zeros(8192, dtype)
    function(x, 1024)
    assembly = function.inspect_asm(next(s for s in function.signatures if s[0].dtype == numba.from_dtype(x.dtype)))
    loop = max(re.split(r"^\.L\w+:", assembly, flags=re.MULTILINE), key=lambda block: len(re.findall(r"(?:add|sub)p[sd]", block)))
    if "p" + "sd"[dtype == "f8"] not in loop:
        pytest.skip("written for x86")
    scalar = len(re.findall(r"(?:add|sub|mul)s[sd]\s", loop))
    register = next(name for name in ("%zmm", "%ymm", "%xmm") if name in loop)
    packed = len(re.findall(rf"(?:add|sub|mul)\w*p{'sd'[dtype == 'f8']}\s.*{register}", loop))
    assert packed >= 8 * (1 + (function in (first, middle))) and scalar == 0
    if VECTOR_BYTES == 64:
        assert not re.findall(r"vmov\w+\s+%zmm\d+, -?\d*\(%rsp", loop)
