"""1x1 convolutions of whole planes: values at the edges of panels and of the channels added up at a time."""
from __future__ import annotations

import re
from typing import Any

import numba
import numpy as np
import pytest
from lucid_kernels.cpu.arrays.window import Window
from lucid_kernels.cpu.convolution.conv2d import conv2d, conv2d_grad_input, problem_of
from lucid_kernels.cpu.convolution.direct.packed_weight import MOST_POSITIONS
from lucid_kernels.cpu.convolution.implementations import FORWARD, GRAD_INPUT
from lucid_kernels.cpu.convolution.pointwise import forward as pointwise_forward
from lucid_kernels.cpu.matmul.panel_microkernels import (
    EACH_STEP,
    FEWER_ROWS,
    PANEL_BYTES,
    ROWS,
    block_count,
    fills_blocks,
    first_row,
    multiply_pixels,
    pack_pixels,
)
from lucid_kernels.cpu.runtime.threads import THREADS
from lucid_kernels.cpu.simd.cpu_features import VECTOR_BYTES
from lucid_kernels.cpu.simd.pointer import pointer

from tests.kernels.cpu.assembly import of_float32

each_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])
WINDOW = Window(1, 1, 1, 1, 0, 0, 1, 1, 0, 0)  # not asked for the sizes of the result
GEOMETRY: dict[str, Any] = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1}


def normal(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@each_dtype
@pytest.mark.parametrize("plane", [(4, 8), (3, 11), (7, 9), (32, 32), (25, 41)], ids=str)
@pytest.mark.parametrize("channels", [1, 5, 256, 257, 600])
def test_values(plane: Any, channels: int, dtype: Any) -> None:
    for out_channels in filter(fills_blocks, (4, 8, 10, 16, 24)):
        x, bias = normal((3, channels, *plane), dtype), normal((out_channels,), dtype, 2)
        weight = normal((out_channels, channels, 1, 1), dtype, 1)
        exact = np.einsum("ncij,oc->noij", x.astype(np.float64), weight[:, :, 0, 0].astype(np.float64))
        tolerance = 100 * np.finfo(dtype).eps * (channels + 4) ** 0.5  # the reference rounds in float64 as well
        for added in (np.zeros_like(bias), bias):
            y = np.full((3, out_channels, *plane), np.nan, dtype)
            pointwise_forward.convolve(x, weight, added, WINDOW, y)
            np.testing.assert_allclose(y, exact + added[:, None, None].astype(np.float64), rtol=0, atol=tolerance)


@each_dtype
@pytest.mark.parametrize("out_channels", [24, 200])
def test_bits_do_not_depend_on_threads(out_channels: int, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """More channels are shared by tasks, in parts of different sizes."""
    x, weight, bias = (normal(shape, dtype) for shape in ((2, 300, 30, 31), (out_channels, 300, 1, 1), (out_channels,)))
    results = []
    for threads in (1, 2, 5):
        monkeypatch.setattr(THREADS, "value", threads)
        y = np.full((2, out_channels, 30, 31), np.nan, dtype)
        pointwise_forward.convolve(x, weight, bias, WINDOW, y)
        results.append(y)
    np.testing.assert_array_equal(results[1], results[0])
    np.testing.assert_array_equal(results[2], results[0])


def test_tasks_never_write_the_same_results() -> None:
    """Runs follow one another, each with a whole panel: a last panel that is moved back stays in its run."""
    for width in (16, 32):
        for positions in range(width, 40 * width, 3):
            for threads in (1, 2, 3, 8):
                count, _ = pointwise_forward._shares(1, -(-positions // width), 24, threads)
                runs = [pointwise_forward.run_of(index, count, positions, width) for index in range(count)]
                assert [first for first, _ in runs] == [0, *(last for _, last in runs[:-1])]
                assert runs[-1][1] == positions
                assert all(last - first >= width for first, last in runs)


@pytest.mark.parametrize(("images", "positions", "blocks", "threads", "expected"), [
    (1, 56 * 56, 32, 1, (7, 1)), (1, 56 * 56, 32, 2, (8, 1)), (1, 28 * 28, 32, 2, (2, 1)), (1, 14 * 14, 32, 2, (1, 2)),
    (1, 14 * 14, 32, 16, (3, 4)), (3, 14 * 14, 32, 2, (1, 2)), (8, 14 * 14, 32, 2, (1, 1)), (1, 32, 8, 8, (1, 1)),
])
def test_threads_have_equal_shares(images: int, positions: int, blocks: int, threads: int, expected: Any) -> None:
    """Of runs and parts of the channels."""
    assert pointwise_forward._shares(images, -(-positions // 32), blocks * ROWS, threads) == expected


def test_nan_and_inf_stay_where_they_are() -> None:
    x, weight = normal((2, 40, 8, 9), np.float32), normal((16, 40, 1, 1), np.float32, 1)
    x[1, 3, 7, 8], weight[5, 2], x[0, 0, 0, 0] = np.nan, np.inf, np.inf
    y = conv2d(x, weight, None, **GEOMETRY)
    assert np.isnan(y[1, :, 7, 8]).all()
    assert not np.isfinite(y[:, 5]).any()
    assert not np.isfinite(y[0, :, 0, 0]).any()
    rest = np.delete(y, 5, 1)
    assert np.isfinite(rest).sum() == rest.size - 2 * rest.shape[1]


def test_convolutions_of_whole_planes_go_here() -> None:
    x, weight, g = normal((4, 64, 32, 32), np.float32), normal((128, 64, 1, 1), np.float32, 1), normal((4, 128, 32, 32), np.float32)
    problem, _ = problem_of(x.shape, weight.shape, **GEOMETRY)
    assert FORWARD.choose(problem).name == GRAD_INPUT.choose(problem).name == "pointwise"
    y = conv2d(x, weight, None, **GEOMETRY)
    np.testing.assert_allclose(y, np.einsum("ncij,oc->noij", x, weight[:, :, 0, 0]), rtol=0, atol=1e-3)
    dx = conv2d_grad_input(g, weight, input_shape=x.shape, **GEOMETRY)
    np.testing.assert_allclose(dx, np.einsum("noij,oc->ncij", g, weight[:, :, 0, 0]), rtol=0, atol=1e-3)


def test_planes_of_a_panel_and_whole_blocks_of_results() -> None:
    def taken(images: int, positions: int, outputs: int) -> bool:
        problem, _ = problem_of((images, 3, 1, positions), (outputs, 3, 1, 1), **GEOMETRY)
        return pointwise_forward.why_not(problem) is None

    panel = PANEL_BYTES // 4
    assert taken(1, panel, ROWS)
    assert not taken(1, panel - 1, ROWS)
    assert not taken(1, panel, FEWER_ROWS + 1)
    few = MOST_POSITIONS // (panel + 1)
    assert not taken(few, panel + 1, ROWS)
    assert taken(few + 1, panel + 1, ROWS)


@numba.njit
def multiply(rows: int, a: Any, pixels: Any, panel: Any, narrow: bool, c: Any, add: bool, added: Any, pitch: int) -> None:
    pack_pixels(pointer(c, pixels.ctypes.data), pixels.shape[1], narrow, a.shape[1], pointer(c, panel.ctypes.data))
    multiply_pixels(rows, pointer(c, a.ctypes.data), a.shape[1], pointer(c, panel.ctypes.data), narrow, a.shape[1],
                    pointer(c, c.ctypes.data), c.shape[1], add, pointer(c, added.ctypes.data), pitch,
                    pointer(c, pixels.ctypes.data), pixels.shape[1], EACH_STEP // 3)


@each_dtype
@pytest.mark.parametrize("narrow", [True, False])
@pytest.mark.parametrize("added", ["nothing", "itself", "rows"])
@pytest.mark.parametrize("rows", sorted({FEWER_ROWS, ROWS}))
@pytest.mark.parametrize("count", [1, 3, 4, 21])
def test_register_blocks(count: int, rows: int, added: str, narrow: bool, dtype: Any) -> None:
    width = (VECTOR_BYTES if narrow else PANEL_BYTES) // np.dtype(dtype).itemsize
    a, pixels, more = normal((rows, count), dtype), normal((count, width + 5), dtype, 1), normal((rows, 40), dtype, 3)
    panel, c = np.empty(count * width, dtype), normal((rows + 1, width + 3), dtype, 2)
    expected = c.copy()
    expected[:rows, :width] = a @ pixels[:, :width] + {"nothing": 0, "itself": c[:rows, :width], "rows": more[:, :width]}[added]
    other = more if added == "rows" else c
    multiply(rows, a, pixels, panel, narrow, c, added != "nothing", other, other.shape[1])
    np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-5)


def test_sums_stay_in_vector_registers() -> None:
    test_register_blocks(21, ROWS, "nothing", False, np.float32)
    assembly = of_float32(multiply)
    loop = max(re.split(r"^\.L\w+:", assembly, flags=re.MULTILINE), key=lambda block: block.count("vfmadd"))
    if "vfmadd" not in loop:
        pytest.skip("written for x86")
    register = "%zmm" if VECTOR_BYTES == 64 else "%ymm"
    assert len(re.findall(rf"vfmadd\w+ps\s.*{register}", loop)) >= ROWS * PANEL_BYTES // VECTOR_BYTES
    # A sum that did not find a register is stored to the stack in every step.
    assert not re.findall(rf"vmov\w+\s+{register}\d+, -?\d*\(%r[sb]p", loop)


@pytest.mark.parametrize("rows", range(1, 70))
def test_blocks_have_all_rows(rows: int) -> None:
    if fills_blocks(rows):
        starts = [first_row(block, rows) for block in range(block_count(rows) + 1)]
        assert (starts[0], starts[-1]) == (0, rows)
        assert set(np.diff(starts)) <= {FEWER_ROWS, ROWS}
