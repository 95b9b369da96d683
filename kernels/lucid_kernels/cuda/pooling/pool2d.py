"""2-d pooling and its gradients: see `pool2d.cu`."""

from __future__ import annotations

from typing import Any

import numpy as np

from lucid_kernels.cuda.runtime import launch

_WARPS_PER_BLOCK = launch.BLOCK // 32
_LARGE_WINDOW = 64  # pixels from which a warp, not a thread, averages a window of adaptive pooling
_BAD_INDEX = launch.error_code("max pooling: index {value} is out of range for a plane of {limit} elements")


def _output_size(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """PyTorch's rule: in ceil mode a last, partial window counts if it starts inside the input or its left padding."""
    out = (size + 2 * padding - dilation * (kernel - 1) - 1 + (stride - 1 if ceil_mode else 0)) // stride + 1
    return out - 1 if ceil_mode and (out - 1) * stride >= size + padding else out


def _output_hw(
    shape: tuple[int, ...],
    kernel_size: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    ceil_mode: bool,
) -> tuple[int, int]:
    height, width = (
        _output_size(*axis, ceil_mode)
        for axis in zip(shape[-2:], kernel_size, stride, padding, dilation, strict=True)
    )
    return height, width


def _planes(shape: tuple[int, ...]) -> np.int64:
    return np.int64(shape[0] * shape[1])


def _ints(*values: int) -> tuple[np.int32, ...]:
    return tuple(np.int32(value) for value in values)


@launch.upcast_half(statistics=(1,))
def max_pool2d(
    x: Any,
    *,
    kernel_size: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    ceil_mode: bool,
    relu: bool = False,
    winners: bool = False,
    out: Any = None,
) -> tuple[Any, Any]:
    """`(y, indices)`: the maxima, with `relu` ReLU of them, and their int64 indices into the H*W plane, with `relu` -1
    for those that it lets no gradient pass to. `winners` allows others, of which this makes no use.
    """
    hw = _output_hw(x.shape, kernel_size, stride, padding, dilation, ceil_mode)
    out_y, out_indices = out if out is not None else (None, None)
    y = launch.result(out_y, (*x.shape[:2], *hw), x.dtype)
    indices = launch.result(out_indices, y.shape, np.dtype(np.int64))
    if y.size:
        launch.kernel("pool2d", f"max_pool2d<{launch.ctype(x.dtype)}>")(
            *launch.grid_1d(y.size),
            (launch.contiguous(x), y, indices, _planes(x.shape),
             *_ints(*x.shape[2:], *hw, *kernel_size, *stride, *padding, *dilation, relu)),
        )  # fmt: skip
    return launch.deliver_all((y, indices), out)


@launch.upcast_half(statistics=(1,))
def adaptive_max_pool2d(x: Any, *, output_size: tuple[int, int], out: Any = None) -> tuple[Any, Any]:
    """`(y, indices)`: the maxima of `output_size` windows that cover the plane evenly, and their indices."""
    out_y, out_indices = out if out is not None else (None, None)
    y = launch.result(out_y, (*x.shape[:2], *output_size), x.dtype)
    indices = launch.result(out_indices, y.shape, np.dtype(np.int64))
    if y.size:
        launch.kernel("pool2d", f"adaptive_max_pool2d<{launch.ctype(x.dtype)}>")(
            *launch.grid_1d(y.size),
            (launch.contiguous(x), y, indices, _planes(x.shape), *_ints(*x.shape[2:], *output_size)),
        )
    return launch.deliver_all((y, indices), out)


@launch.upcast_half
def max_pool2d_grad(g: Any, indices: Any, *, input_shape: tuple[int, ...], relu: bool = False, out: Any = None) -> Any:
    """Gradient of the maxima with respect to x: `g` added up at `indices`, in order, with `relu` nowhere for -1; else zero."""
    return _scatter(g, indices, input_shape, out, add=True, relu=relu)


@launch.upcast_half
def max_unpool2d(x: Any, indices: Any, *, output_size: tuple[int, int], out: Any = None) -> Any:
    """Zeros, and `x` at the `indices` of the planes of the result; the last of equal ones."""
    return _scatter(x, indices, (*x.shape[:2], *output_size), out, add=False)


def _scatter(g: Any, indices: Any, shape: tuple[int, ...], out: Any, add: bool, relu: bool = False) -> Any:
    """Zeros of `shape`, and `g` at `indices`: added up, or the last of equal ones."""
    dx = launch.result(out, shape, g.dtype)
    if dx.size:
        planes, in_size = shape[0] * shape[1], shape[2] * shape[3]
        # Bands of a plane are separate warps. Each of them reads all indices of the plane, so no more than needed.
        bands = max(1, min(launch.ceil_div(4096, planes), launch.ceil_div(in_size, 256), 32))
        launch.kernel("pool2d", f"max_pool2d_grad<{launch.ctype(g.dtype)}>")(
            launch.grid_cap(launch.ceil_div(planes * bands, _WARPS_PER_BLOCK)),
            (launch.BLOCK,),
            (launch.contiguous(g), launch.contiguous(indices), dx, np.int64(planes), np.int64(in_size),
             np.int64(g.shape[2] * g.shape[3]), np.int32(bands), np.int32(add), np.int32(relu), launch.error_flag(), _BAD_INDEX),
        )  # fmt: skip
    return launch.deliver(dx, out)


@launch.upcast_half
def max_pool2d_gather(x: Any, indices: Any, *, out: Any = None) -> Any:
    """`y[n, c, i] = x[n, c].ravel()[indices[n, c, i]]`: the gradient of `max_pool2d_grad` with respect to `g`."""
    y = launch.result(out, indices.shape, x.dtype)
    if y.size:
        launch.kernel("pool2d", f"max_pool2d_gather<{launch.ctype(x.dtype)}>")(
            *launch.grid_1d(y.size),
            (launch.contiguous(x), launch.contiguous(indices), y, _planes(x.shape),
             np.int64(x.shape[2] * x.shape[3]), np.int64(indices.shape[2] * indices.shape[3]),
             launch.error_flag(), _BAD_INDEX),
        )  # fmt: skip
    return launch.deliver(y, out)


@launch.upcast_half
def avg_pool2d(
    x: Any,
    *,
    kernel_size: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    out: Any = None,
) -> Any:
    """Averages over windows."""
    hw = _output_hw(x.shape, kernel_size, stride, padding, (1, 1), ceil_mode)
    y = launch.result(out, (*x.shape[:2], *hw), x.dtype)
    if y.size:
        launch.kernel("pool2d", f"avg_pool2d<{launch.ctype(x.dtype)}>")(
            *launch.grid_1d(y.size),
            (launch.contiguous(x), y, _planes(x.shape),
             *_ints(*x.shape[2:], *hw, *kernel_size, *stride, *padding, bool(count_include_pad)),
             np.int64(divisor_override or 0)),
        )  # fmt: skip
    return launch.deliver(y, out)


@launch.upcast_half
def avg_pool2d_grad(
    g: Any,
    *,
    input_shape: tuple[int, ...],
    kernel_size: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    out: Any = None,
) -> Any:
    """Gradient of `avg_pool2d` with respect to `x`."""
    hw = _output_hw(input_shape, kernel_size, stride, padding, (1, 1), ceil_mode)
    dx = launch.result(out, input_shape, g.dtype)
    if dx.size:
        launch.kernel("pool2d", f"avg_pool2d_grad<{launch.ctype(g.dtype)}>")(
            *launch.grid_1d(dx.size),
            (launch.contiguous(g), dx, _planes(input_shape),
             *_ints(*input_shape[2:], *hw, *kernel_size, *stride, *padding, bool(count_include_pad)),
             np.int64(divisor_override or 0)),
        )  # fmt: skip
    return launch.deliver(dx, out)


@launch.upcast_half
def adaptive_avg_pool2d(x: Any, *, output_size: tuple[int, int], out: Any = None) -> Any:
    """Averages over `output_size` windows that cover the plane evenly."""
    y = launch.result(out, (*x.shape[:2], *output_size), x.dtype)
    if y.size:
        arguments = (launch.contiguous(x), y, _planes(x.shape), *_ints(*x.shape[2:], *output_size))
        window = launch.ceil_div(x.shape[2], output_size[0]) * launch.ceil_div(x.shape[3], output_size[1])
        kind = launch.ctype(x.dtype)
        if window < _LARGE_WINDOW:
            launch.kernel("pool2d", f"adaptive_avg_pool2d<{kind}>")(*launch.grid_1d(y.size), arguments)
        else:
            grid = launch.grid_cap(launch.ceil_div(y.size, _WARPS_PER_BLOCK))
            launch.kernel("pool2d", f"adaptive_avg_pool2d_warp<{kind}>")(grid, (launch.BLOCK,), arguments)
    return launch.deliver(y, out)


@launch.upcast_half
def adaptive_avg_pool2d_grad(g: Any, *, input_shape: tuple[int, ...], out: Any = None) -> Any:
    """Gradient of `adaptive_avg_pool2d` with respect to `x`."""
    dx = launch.result(out, input_shape, g.dtype)
    if dx.size:
        launch.kernel("pool2d", f"adaptive_avg_pool2d_grad<{launch.ctype(g.dtype)}>")(
            *launch.grid_1d(dx.size),
            (launch.contiguous(g), dx, _planes(input_shape), *_ints(*input_shape[2:], *g.shape[2:])),
        )
    return launch.deliver(dx, out)
