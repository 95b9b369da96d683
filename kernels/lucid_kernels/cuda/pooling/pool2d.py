"""2-d pooling and its gradients on a GPU: see `pool2d.cu`.

All but sums at given indices read and write arrays with their channels last as they lie, in packs of 16 bytes. Every input and
output element is moved once, those of overlapping windows by way of the cache. Indices of maxima are 8 bytes each; those that
only gradients need are 4, or for windows of 2x2 side by side 1, as on the CPU. The usual windows, which halve planes, have
kernels of their own: `halving.cu`.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from lucid_kernels.cuda.movement import channels, copies
from lucid_kernels.cuda.runtime import launch, rows
from lucid_kernels.windows import window_counts

_WARPS_PER_BLOCK = launch.BLOCK // 32
_LARGE_WINDOW = 64  # pixels from which a warp, not a thread, averages a window of adaptive pooling
_LARGEST = 1 << 31  # halving.cu counts in 32 bits
#: The windows of halving.cu: kernel and padding.
_HALVING: dict[tuple[tuple[int, ...], ...], int] = {((2, 2), (0, 0)): 2, ((3, 3), (1, 1)): 3}
_BAD_INDEX = launch.error_code("max pooling: index {value} is out of range for a plane of {limit} elements")


def _gather(name: str, order: channels.Order, shape: tuple[int, ...], arrays: tuple[Any, ...], *scalars: Any) -> None:
    """Launch the kernel `name` over all outputs of `shape`; `arrays` lie in memory in this order, the indices last."""
    pack = rows.pack(shape[1], *arrays[:2]) if order.last and not arrays[-1].data.ptr % rows.LINE else 1
    packs = math.prod(shape) // pack
    launch.kernel("pool2d", f"{name}<{launch.ctype(arrays[0].dtype)}, {pack}>")(
        *launch.grid_1d(packs), (*arrays, np.int64(packs), np.int64(shape[1] if order.last else 0), *scalars)
    )


def _halving_pack(order: channels.Order, x: Any, y: Any, window: tuple[tuple[int, int], ...], *others: Any
                  ) -> tuple[int, int] | None:
    """The results of a thread of halving.cu, and the side of its windows; None where that does not serve.

    x is the larger one of two arrays (N, C, H, W), y the smaller one; `window` is kernel, stride, padding and dilation.
    """
    kernel, stride, padding, dilation = map(tuple, window)
    side = _HALVING.get((kernel, padding))
    if order.last or side is None or stride != (2, 2) or dilation != (1, 1) or x.shape[3] != 2 * y.shape[3] or x.size >= _LARGEST:
        return None
    arrays = (x, y, *others)
    pack = 16 // x.dtype.itemsize
    if not (y.shape[3] % pack or any(array.data.ptr % 16 for array in arrays)):
        return pack, side
    return None if x.data.ptr % (2 * x.dtype.itemsize) else (1, side)


def _halve(name: str, arrays: tuple[Any, ...], packs: int, sizes: tuple[int, ...], *scalars: Any) -> None:
    """Launch a kernel of halving.cu with a thread for each of `packs`."""
    numbers = ", ".join(map(str, sizes))
    launch.kernel("halving", f"{name}<{launch.ctype(arrays[0].dtype)}, {numbers}>")(
        (launch.ceil_div(packs, launch.BLOCK),), (launch.BLOCK,), (*arrays, *scalars)
    )


def _planes(shape: tuple[int, ...]) -> np.int64:
    return np.int64(shape[0] * shape[1])


def _ints(*values: int) -> tuple[np.int32, ...]:
    return tuple(np.int32(value) for value in values)


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
    for those that it lets no gradient pass to. With `winners` the indices are only for `max_pool2d_grad` and `max_pool2d_gather`:
    those in 2x2 windows side by side are bytes, 0 to 3 in row order, and 4 instead of -1; others are int32 where that holds them.
    """
    hw = window_counts(x.shape[2:], kernel_size, stride, padding, dilation, ceil_mode)
    out_y, out_indices = out if out is not None else (None, None)
    window = kernel_size, stride, padding, dilation
    order, shape = channels.Order(x), (*x.shape[:2], *hw)
    kind = _index_dtype(x.shape[2:], hw, window) if winners else np.dtype(np.int64)
    y, indices = order.result(out_y, shape, x.dtype), order.result(out_indices, shape, kind)
    if y.size:
        x, sizes, size = order.inner(x), _ints(*x.shape[2:], *hw), np.int32(kind.itemsize)
        halving = _halving_pack(order, x, y, window, indices)
        if halving is not None:
            packs = y.size // halving[0]
            _halve("max_pool2d_halving", (x, y, indices), packs, halving, size, np.uint32(packs), *sizes, np.int32(relu))
        else:
            numbers = _ints(*kernel_size, *stride, *padding, *dilation, relu)
            _gather("max_pool2d", order, shape, (x, y, indices), *sizes, *numbers, size)
    return order.deliver(y, out_y), order.deliver(indices, out_indices)


def _index_dtype(size: tuple[int, int], hw: tuple[int, ...], window: tuple[tuple[int, int], ...]) -> np.dtype:
    """Of indices that only gradients need."""
    side_by_side = tuple(map(tuple, window)) == ((2, 2), (2, 2), (0, 0), (1, 1))
    if side_by_side and 2 * hw[0] <= size[0] and 2 * hw[1] <= size[1]:
        return np.dtype(np.uint8)
    return np.dtype(np.int32 if size[0] * size[1] < _LARGEST else np.int64)


def _maxima(name: str, x: Any, hw: tuple[int, ...], out_y: Any, out_indices: Any, scalars: tuple[Any, ...]) -> tuple[Any, Any]:
    order, shape = channels.Order(x), (*x.shape[:2], *hw)
    y, indices = order.result(out_y, shape, x.dtype), order.result(out_indices, shape, np.dtype(np.int64))
    if y.size:
        _gather(name, order, shape, (order.inner(x), y, indices), *scalars)
    return order.deliver(y, out_y), order.deliver(indices, out_indices)


def adaptive_max_pool2d(x: Any, *, output_size: tuple[int, int], out: Any = None) -> tuple[Any, Any]:
    """`(y, indices)`: the maxima of `output_size` windows that cover the plane evenly, and their indices."""
    out_y, out_indices = out if out is not None else (None, None)
    return _maxima("adaptive_max_pool2d", x, output_size, out_y, out_indices, _ints(*x.shape[2:], *output_size))


def max_pool2d_grad(g: Any, indices: Any, *, input_shape: tuple[int, ...], relu: bool = False,
                    window: tuple[tuple[int, int], ...] | None = None, out: Any = None) -> Any:
    """Gradient of the maxima with respect to x: `g` added up at `indices`, in order, with `relu` nowhere for -1; else zero.

    `window`, of indices that `max_pool2d` gave and nobody has changed: its kernel, stride, padding and dilation.
    """
    winners = indices.dtype == np.uint8
    if window is None and not winners:
        return _scatter(g, indices, input_shape, out, add=True, relu=relu)
    order = channels.Order(indices)
    g, places, dx = order.inner(g), order.inner(indices), order.result(out, input_shape, g.dtype)
    if dx.size and not winners:
        numbers = _ints(*input_shape[2:], *indices.shape[2:], *(number for pair in window or () for number in pair))
        _gather("max_pool2d_grad_windows", order, input_shape, (g, dx, places), *numbers, np.int32(places.dtype.itemsize))
    elif dx.size:
        whole = not order.last and g.size and dx.shape[2] == 2 * g.shape[2]
        halving = _halving_pack(order, dx, g, ((2, 2), (2, 2), (0, 0), (1, 1)), places) if whole else None
        if halving is not None:
            pack = max(1, halving[0] // 2)  # 16 bytes of dx
            packs = g.size // pack
            _halve("max_pool2d_expand", (g, places, dx), packs, (pack,), np.uint32(packs), np.int32(g.shape[3]))
        else:
            pack = rows.pack(input_shape[1], g, dx) if order.last else 1
            packs = math.prod(input_shape) // pack
            launch.kernel("pool2d", f"max_pool2d_spread<{launch.ctype(g.dtype)}, {pack}>")(
                *launch.grid_1d(packs),
                (g, places, dx, np.int64(packs), np.int64(input_shape[1] if order.last else 0),
                 *_ints(*input_shape[2:], *indices.shape[2:])),
            )
    return order.deliver(dx, out)


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
        sums = launch.empty(shape, np.float32) if launch.is_half(dx) else dx
        launch.kernel("pool2d", f"max_pool2d_grad<{launch.ctype(g.dtype)}>")(
            launch.grid_cap(launch.ceil_div(planes * bands, _WARPS_PER_BLOCK)),
            (launch.BLOCK,),
            (copies.contiguous(g), copies.contiguous(indices), np.int32(indices.dtype.itemsize), sums, dx,
             np.int64(planes), np.int64(in_size),
             np.int64(g.shape[2] * g.shape[3]), np.int32(bands), np.int32(add), np.int32(relu), launch.error_flag(), _BAD_INDEX),
        )  # fmt: skip
    return launch.deliver(dx, out)


def max_pool2d_gather(x: Any, indices: Any, *, out: Any = None) -> Any:
    """`y[n, c, i] = x[n, c].ravel()[indices[n, c, i]]`: the gradient of `max_pool2d_grad` with respect to `g`."""
    y = launch.result(out, indices.shape, x.dtype)
    if y.size:
        launch.kernel("pool2d", f"max_pool2d_gather<{launch.ctype(x.dtype)}>")(
            *launch.grid_1d(y.size),
            (copies.contiguous(x), copies.contiguous(indices), np.int32(indices.dtype.itemsize), y, _planes(x.shape),
             np.int64(x.shape[2] * x.shape[3]), np.int64(indices.shape[2] * indices.shape[3]),
             *_ints(x.shape[3], indices.shape[3]),
             launch.error_flag(), _BAD_INDEX),
        )  # fmt: skip
    return launch.deliver(y, out)


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
    hw = window_counts(x.shape[2:], kernel_size, stride, padding, ceil_mode=ceil_mode)
    order, shape = channels.Order(x), (*x.shape[:2], *hw)
    y = order.result(out, shape, x.dtype)
    if y.size:
        divisor = np.int32(count_include_pad), np.int64(divisor_override or 0)
        x, sizes = order.inner(x), _ints(*x.shape[2:], *hw)
        halving = _halving_pack(order, x, y, (kernel_size, stride, padding, (1, 1)))
        if halving is not None:
            packs = y.size // halving[0]
            _halve("avg_pool2d_halving", (x, y), packs, halving, np.uint32(packs), *sizes, *divisor)
        else:
            _gather("avg_pool2d", order, shape, (x, y), *sizes, *_ints(*kernel_size, *stride, *padding), *divisor)
    return order.deliver(y, out)


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
    hw = window_counts(input_shape[2:], kernel_size, stride, padding, ceil_mode=ceil_mode)
    order = channels.Order(g)
    dx = order.result(out, input_shape, g.dtype)
    if dx.size:
        divisor = np.int32(count_include_pad), np.int64(divisor_override or 0)
        g, sizes = order.inner(g), _ints(*input_shape[2:], *hw)
        halving = _halving_pack(order, dx, g, (kernel_size, stride, padding, (1, 1))) if g.size else None
        if halving is not None:
            packs = dx.size // (2 * halving[0])
            _halve("avg_pool2d_grad_halving", (g, dx), packs, halving, np.uint32(packs), *sizes, *divisor)
        else:
            _gather("avg_pool2d_grad", order, input_shape, (g, dx), *sizes, *_ints(*kernel_size, *stride, *padding), *divisor)
    return order.deliver(dx, out)


def adaptive_avg_pool2d(x: Any, *, output_size: tuple[int, int], out: Any = None) -> Any:
    """Averages over `output_size` windows that cover the plane evenly."""
    order, shape = channels.Order(x), (*x.shape[:2], *output_size)
    y = order.result(out, shape, x.dtype)
    if y.size:
        sizes = _ints(*x.shape[2:], *output_size)
        window = launch.ceil_div(x.shape[2], output_size[0]) * launch.ceil_div(x.shape[3], output_size[1])
        if order.last or window < _LARGE_WINDOW:
            _gather("adaptive_avg_pool2d", order, shape, (order.inner(x), y), *sizes)
        else:
            x = order.inner(x)
            pack = rows.pack(window, x) if tuple(output_size) == (1, 1) else 1
            grid = launch.grid_cap(launch.ceil_div(y.size, _WARPS_PER_BLOCK))
            launch.kernel("pool2d", f"adaptive_avg_pool2d_warp<{launch.ctype(x.dtype)}, {pack}>")(
                grid, (launch.BLOCK,), (x, y, _planes(shape), *sizes)
            )
    return order.deliver(y, out)


def adaptive_avg_pool2d_grad(g: Any, *, input_shape: tuple[int, ...], channels_last: bool = False, out: Any = None) -> Any:
    """Gradient of `adaptive_avg_pool2d` with respect to `x`; `channels_last`: it lies as such an x does, whatever `g` does."""
    order = channels.Order(g, channels_last)
    dx = order.result(out, input_shape, g.dtype)
    if dx.size:
        _gather("adaptive_avg_pool2d_grad", order, input_shape, (order.inner(g), dx), *_ints(*input_shape[2:], *g.shape[2:]))
    return order.deliver(dx, out)
