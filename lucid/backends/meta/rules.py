"""The shape and dtype rules of all operations.

An operation brings its rule along: its CPU kernel, run on small stand-ins. Where lengths of the result are computed, or the
kernel is compiled or needs certain lengths, a rule of this file says the shape. Operations whose shape depends on the elements
raise NotImplementedError. No rule takes memory, or time, in proportion to the lengths.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from lucid_kernels.recurrence import KEPT

from ..common.views import window_layout
from ..cpu import backend as cpu
from ..families import ARITHMETIC
from ..memory_format import memory_axes
from .array import MetaArray, blank
from .probe import Probe, delivered, probed

Kernel = Callable[..., Any]
Pair = tuple[int, int]
Sizes = tuple[int, ...]

# Compiled kernels whose result is as the first argument, in row-major order.
LIKE_FIRST = """
relu relu_grad gelu gelu_grad sigmoid sigmoid_grad tanh tanh_grad silu silu_grad softmax softmax_grad log_softmax
log_softmax_grad dropout batch_norm_eval erf erfc erfinv erfcx ndtr ndtri log_ndtr lgamma digamma polygamma i0 i0e i1 i1e
poisson_quantile cross
""".split()
DATA_DEPENDENT = frozenset("nonzero unique unique_consecutive bincount histc masked_select".split())

TABLE: dict[str, Kernel] = {}


def _only_meta(name: str, rule: Kernel) -> Kernel:
    """`rule` for arrays that are all on the device 'meta'."""
    def kernel(*arrays: Any, **attributes: Any) -> Any:
        for array in arrays:
            if hasattr(array, "dtype") and array.__class__ is not MetaArray:
                raise RuntimeError(f"op '{name}' got an array on the device 'meta' and one on another device")
        return rule(*arrays, **attributes)

    kernel.__name__ = name
    return kernel


def _entry(rule: Kernel) -> Kernel:
    TABLE[rule.__name__] = _only_meta(rule.__name__, rule)
    return rule


def _data_dependent(name: str) -> Kernel:
    def kernel(*arrays: Any, **attributes: Any) -> Any:
        raise NotImplementedError(f"the shape that op '{name}' returns depends on elements, which tensors on the device "
                                  "'meta' do not have")

    return kernel


def _like_first(*arrays: MetaArray, out: MetaArray | None = None, **attributes: Any) -> MetaArray:
    return arrays[0].copy() if out is None else out


for _name in cpu.TABLE:
    TABLE[_name] = _only_meta(_name, (_data_dependent if _name in DATA_DEPENDENT else probed)(_name))
for _name in ARITHMETIC:
    TABLE[f"large_{_name}"] = _only_meta(_name, probed(_name))
for _name in LIKE_FIRST:
    TABLE[_name] = _only_meta(_name, _like_first)


def _broadcast_pair(a: MetaArray, b: MetaArray, *, out: MetaArray | None = None) -> MetaArray:
    return delivered(blank(np.broadcast_shapes(a.shape, b.shape), a.dtype), out)


for _name in ("zeta", "gammainc", "gammaincc"):
    TABLE[_name] = _only_meta(_name, _broadcast_pair)


@_entry
def kron(a: MetaArray, b: MetaArray) -> MetaArray:
    rank = max(a.ndim, b.ndim)
    n, m = ((1,) * (rank - x.ndim) + x.shape for x in (a, b))
    return blank([i * j for i, j in zip(n, m, strict=True)], a.dtype)


@_entry
def increment(counter: MetaArray) -> MetaArray:
    return counter


# ---- creation ----------------------------------------------------------------------------------------------------------
@_entry
def empty(*, shape: Sequence[int], dtype: Any) -> MetaArray:
    return blank(shape, dtype)


@_entry
def full(*, shape: Sequence[int], fill_value: Any, dtype: Any) -> MetaArray:
    return blank(shape, dtype)


@_entry
def arange(*, start: Any, stop: Any, step: Any, dtype: Any) -> MetaArray:
    return blank((max(0, math.ceil((stop - start) / step)),), dtype)


@_entry
def linspace(*, start: Any, stop: Any, num: int) -> MetaArray:
    return blank((num,), np.result_type(start, stop, np.float64))


@_entry
def eye(*, N: int, M: int | None, dtype: Any) -> MetaArray:
    return blank((N, N if M is None else M), dtype)


@_entry
def triangle_indices(*, rows: int, columns: int, offset: int, upper: bool, dtype: Any) -> MetaArray:
    def total(longest: int) -> int:
        """1 + 2 + ... + `longest`, with no term above the number of columns."""
        rising = min(max(longest, 0), columns)
        return rising * (rising + 1) // 2 + (max(longest, 0) - rising) * columns

    first = offset + (not upper)
    below = total(first + rows - 1) - total(first - 1)
    return blank((2, rows * columns - below if upper else below), dtype)


def _random(*, shape: Sequence[int], dtype: Any, **draw: Any) -> MetaArray:
    return blank(shape, dtype)


for _name in ("random_uniform", "random_exponential", "random_normal", "random_integers"):
    TABLE[_name] = _only_meta(_name, _random)


# ---- shape and memory --------------------------------------------------------------------------------------------------
@_entry
def reshape(x: MetaArray, *, shape: tuple[int, ...]) -> MetaArray:
    return x.reshape(shape)


@_entry
def transpose(x: MetaArray, *, axes: tuple[int, ...]) -> MetaArray:
    return x.transpose(axes)


@_entry
def assemble(*parts: MetaArray, shape: tuple[int, ...], indices: Sequence[Any], axes: tuple[int, ...] | None) -> MetaArray:
    return blank(shape, parts[0].dtype, axes)


@_entry
def add_at(x: MetaArray, part: MetaArray, *, index: Any) -> MetaArray:
    return x


@_entry
def broadcast_to(x: MetaArray, *, shape: tuple[int, ...]) -> MetaArray:
    return x.view(np.broadcast_to(x.layout, shape))


@_entry
def real(x: MetaArray) -> MetaArray:
    return x.view(x.layout.real)


@_entry
def imag(x: MetaArray) -> MetaArray:
    return x.view(x.layout.imag)


@_entry
def view_dtype(x: MetaArray, *, dtype: np.dtype) -> MetaArray:
    return x.view(x.layout.view(dtype))


@_entry
def view_as_real(x: MetaArray) -> MetaArray:
    return x.view(cpu.TABLE["view_as_real"](x.layout))


@_entry
def view_as_complex(x: MetaArray) -> MetaArray:
    return x.view(cpu.TABLE["view_as_complex"](x.layout))


@_entry
def flip(x: MetaArray, *, axis: Any) -> MetaArray:
    return blank(x.shape, x.dtype, memory_axes(x))


@_entry
def contiguous(x: MetaArray) -> MetaArray:
    return x.view(x.layout.view()) if x.flags.c_contiguous else x.copy()


@_entry
def diagonal(x: MetaArray, *, offset: int, axis1: int, axis2: int) -> MetaArray:
    return x.view(np.diagonal(x.layout, offset, axis1, axis2))


@_entry
def as_strided(x: MetaArray, *, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> MetaArray:
    return x.view(np.lib.stride_tricks.as_strided(x.layout, shape, [step * x.itemsize for step in strides]))


@_entry
def windows(x: MetaArray, *, dim: int, size: int, step: int) -> MetaArray:
    return x.view(np.lib.stride_tricks.as_strided(x.layout, *window_layout(x.shape, x.layout.strides, dim, size, step)))


@_entry
def windows_grad(g: MetaArray, *, dim: int, length: int, step: int) -> MetaArray:
    return blank((*g.shape[:dim], length, *g.shape[dim + 1:-1]), g.dtype)


@_entry
def diagonal_scatter(x: MetaArray, *, shape: tuple[int, ...], **where: Any) -> MetaArray:
    return blank(shape, x.dtype)


@_entry
def split(x: MetaArray, *, boundaries: tuple[int, ...], axis: int) -> tuple[MetaArray, ...]:
    edges = (0, *boundaries, x.shape[axis])
    return tuple(x[(*[slice(None)] * axis, slice(a, b))] for a, b in zip(edges[:-1], edges[1:], strict=True))


@_entry
def unbind(x: MetaArray, *, axis: int) -> tuple[MetaArray, ...]:
    return tuple(x[(*[slice(None)] * axis, place)] for place in range(x.shape[axis]))


@_entry
def concatenate(*arrays: MetaArray, axis: int) -> MetaArray:
    return Probe("concatenate", arrays)(arrays, {"axis": axis}, axis, sum(array.shape[axis] for array in arrays))


@_entry
def stack(*arrays: MetaArray, axis: int) -> MetaArray:
    return Probe("stack", arrays)(arrays, {"axis": axis}, axis, len(arrays))


# ---- indices -----------------------------------------------------------------------------------------------------------
@_entry
def getitem(x: MetaArray, *, index: tuple[Any, ...]) -> MetaArray:
    arrays = [item for item in index if hasattr(item, "dtype")]
    if not arrays:
        return x[index]
    if any(array.dtype.kind == "b" for array in arrays):
        TABLE["nonzero"](*arrays)
    return probed("getitem")(x, index=index)


@_entry
def index_put(x: MetaArray, values: Any, *, index: Any, accumulate: bool = False, out: MetaArray | None = None) -> MetaArray:
    if isinstance(values, MetaArray) and not any(hasattr(item, "dtype") and item.dtype.kind == "b" for item in index):
        broadcast_to(values, shape=getitem(x, index=index).shape)
    return x.copy() if out is None else out


@_entry
def scatter_new(values: MetaArray, *, shape: tuple[int, ...], index: Any, unique: bool) -> MetaArray:
    return blank(shape, values.dtype)


@_entry
def gather_grad(g: MetaArray, indices: MetaArray, *, shape: tuple[int, ...], axis: int) -> MetaArray:
    return blank(shape, g.dtype)


TABLE["index_select_grad"] = TABLE["gather_grad"]


@_entry
def topk(x: MetaArray, *, k: int, axis: int, largest: bool) -> tuple[MetaArray, MetaArray]:
    result: tuple[MetaArray, MetaArray] = Probe("topk", (x,))((x,), {"k": min(k, 1), "axis": axis, "largest": largest}, axis, k)
    return result


@_entry
def check_bounds(indices: MetaArray, *, low: int, high: int, message: str) -> None:
    return None


# ---- layers ------------------------------------------------------------------------------------------------------------
def _windows(length: int, kernel: int, stride: int, padding: int, dilation: int = 1, ceil_mode: bool = False) -> int:
    """How many windows fit along one dimension; with `ceil_mode` the last one may reach beyond the end, but not start there."""
    span = length + 2 * padding - dilation * (kernel - 1) - 1
    count = (span + (stride - 1 if ceil_mode else 0)) // stride + 1
    return count - 1 if ceil_mode and (count - 1) * stride >= length + padding else count


def _convolution(x: MetaArray, weight: MetaArray, bias: MetaArray | None, *, stride: Sizes, padding: Sizes, dilation: Sizes,
                 groups: int, out: MetaArray | None = None) -> MetaArray:
    lengths = map(_windows, x.shape[2:], weight.shape[2:], stride, padding, dilation)
    return delivered(blank((x.shape[0], weight.shape[0], *lengths), x.dtype), out)


def _grad_weight(g: MetaArray, x: MetaArray, *, weight_shape: tuple[int, ...], out: MetaArray | None = None,
                 **geometry: Any) -> MetaArray:
    return delivered(blank(weight_shape, g.dtype), out)


def _grad_parameters(g: MetaArray, x: MetaArray, *, weight_shape: tuple[int, ...],
                     out: tuple[MetaArray | None, MetaArray | None] | None = None, **geometry: Any
                     ) -> tuple[MetaArray, MetaArray]:
    dweight, dbias = (None, None) if out is None else out
    return delivered(blank(weight_shape, g.dtype), dweight), delivered(blank(weight_shape[:1], g.dtype), dbias)


def _grad_input(g: MetaArray, *others: MetaArray, input_shape: tuple[int, ...], out: MetaArray | None = None,
                **geometry: Any) -> MetaArray:
    return delivered(blank(input_shape, g.dtype), out)


for _name in ("conv2d", "conv3d"):
    for _relu in ("", "_relu"):
        TABLE[_name + _relu] = _only_meta(_name + _relu, _convolution)
    TABLE[f"{_name}_grad_weight"] = _only_meta(f"{_name}_grad_weight", _grad_weight)
    TABLE[f"{_name}_grad_parameters"] = _only_meta(f"{_name}_grad_parameters", _grad_parameters)
for _name in ("conv2d_grad_input", "conv3d_grad_input", "max_pool2d_grad", "avg_pool2d_grad", "adaptive_avg_pool2d_grad"):
    TABLE[_name] = _only_meta(_name, _grad_input)


@_entry
def grid_sample(x: MetaArray, grid: MetaArray, *, out: MetaArray | None = None, **options: Any) -> MetaArray:
    return delivered(blank((*x.shape[:2], *grid.shape[1:-1]), x.dtype), out)


@_entry
def grid_sample_grad(g: MetaArray, x: MetaArray, grid: MetaArray, *, with_input: bool, with_grid: bool, out: Any = None,
                     **options: Any) -> tuple[MetaArray | None, MetaArray | None]:
    dx = blank(x.shape, x.dtype) if with_input else None
    return delivered((dx, blank(grid.shape, grid.dtype) if with_grid else None), out)


@_entry
def places_of_maxima(x: MetaArray, *starts: MetaArray, kernel: tuple[int, ...]) -> MetaArray:
    return blank((x.shape[0], math.prod(start.shape[1] for start in starts)), np.int64)


@_entry
def fft_r2c(x: MetaArray, *, axes: Sizes, **scale: Any) -> MetaArray:
    axis = axes[-1]
    half: MetaArray = Probe("fft_r2c", (x,))((x,), {"axes": axes, **scale}, axis, x.shape[axis] // 2 + 1)
    return half


@_entry
def fft_c2r(x: MetaArray, *, axes: Sizes, length: int, **scale: Any) -> MetaArray:
    whole: MetaArray = Probe("fft_c2r", (x,))((x,), {"axes": axes, "length": min(length, 2), **scale}, axes[-1], length)
    return whole


@_entry
def fft_windows(x: MetaArray, window: MetaArray, *, step: int, norm: str) -> MetaArray:
    size, (batch, length) = window.shape[0], x.shape
    return blank((batch, (length - size) // step + 1, size // 2 + 1), np.result_type(x.dtype, np.complex64))


@_entry
def resample(x: MetaArray, *, lengths: Sizes, **geometry: Any) -> MetaArray:
    return blank((*x.shape[:2], *lengths), x.dtype)


TABLE["resample_grad"] = TABLE["resample"]


@_entry
def pad(x: MetaArray, fill: MetaArray | None, *, pads: tuple[Pair, ...], mode: str) -> MetaArray:
    lead = x.ndim - len(pads)
    return blank((*x.shape[:lead], *(n + sum(pad) for n, pad in zip(x.shape[lead:], pads, strict=True))), x.dtype)


@_entry
def pad_grad(g: MetaArray, *, pads: tuple[Pair, ...], mode: str) -> MetaArray:
    return pad(g, None, pads=tuple((-before, -after) for before, after in pads), mode=mode)


@_entry
def unfold(x: MetaArray, *, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, out: MetaArray | None = None
           ) -> MetaArray:
    windows = math.prod(map(_windows, x.shape[2:], kernel_size, stride, padding, dilation))
    return delivered(blank((x.shape[0], x.shape[1] * math.prod(kernel_size), windows), x.dtype), out)


@_entry
def fold(columns: MetaArray, *, output_size: Sizes, kernel_size: Sizes, out: MetaArray | None = None, **geometry: Any
         ) -> MetaArray:
    return delivered(blank((columns.shape[0], columns.shape[1] // math.prod(kernel_size), *output_size), columns.dtype), out)


@_entry
def max_pool2d(x: MetaArray, *, kernel_size: Pair, stride: Pair, padding: Pair, dilation: Pair, ceil_mode: bool,
               relu: bool = False, out: Any = None) -> tuple[MetaArray, MetaArray]:
    axes = zip(x.shape[2:], kernel_size, stride, padding, dilation, strict=True)
    shape = (*x.shape[:2], *[_windows(*axis, ceil_mode) for axis in axes])
    return delivered((blank(shape, x.dtype), blank(shape, np.int64)), out)


@_entry
def adaptive_max_pool2d(x: MetaArray, *, output_size: Pair, out: Any = None) -> tuple[MetaArray, MetaArray]:
    shape = (*x.shape[:2], *output_size)
    return delivered((blank(shape, x.dtype), blank(shape, np.int64)), out)


@_entry
def max_pool2d_gather(x: MetaArray, indices: MetaArray, *, out: MetaArray | None = None) -> MetaArray:
    return delivered(blank(indices.shape, x.dtype), out)


@_entry
def max_unpool2d(x: MetaArray, indices: MetaArray, *, output_size: Pair, out: MetaArray | None = None) -> MetaArray:
    return delivered(blank((*x.shape[:2], *output_size), x.dtype), out)


@_entry
def avg_pool2d(x: MetaArray, *, kernel_size: Pair, stride: Pair, padding: Pair, ceil_mode: bool, out: MetaArray | None = None,
               **divisor: Any) -> MetaArray:
    axes = zip(x.shape[2:], kernel_size, stride, padding, strict=True)
    return delivered(blank((*x.shape[:2], *[_windows(*axis, 1, ceil_mode) for axis in axes]), x.dtype), out)


@_entry
def adaptive_avg_pool2d(x: MetaArray, *, output_size: Pair, out: MetaArray | None = None) -> MetaArray:
    return delivered(blank((*x.shape[:2], *output_size), x.dtype), out)


@_entry
def bag_numbers(offsets: MetaArray, *, count: int) -> MetaArray:
    return blank((count,), np.int64)


@_entry
def bag_edges(offsets: MetaArray, *, count: int, include_last: bool) -> MetaArray:
    if include_last and not offsets.size:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    return blank((offsets.size + (not include_last),), np.int64)


@_entry
def bag_lengths(offsets: MetaArray, *, dtype: Any) -> MetaArray:
    return blank((offsets.size - 1, 1), dtype)


@_entry
def bag_sums(weight: MetaArray, indices: MetaArray, offsets: MetaArray, *others: MetaArray | None) -> MetaArray:
    return blank((offsets.size - 1, weight.shape[1]), weight.dtype)


@_entry
def bag_maxima(weight: MetaArray, indices: MetaArray, offsets: MetaArray) -> MetaArray:
    return blank((offsets.size - 1, weight.shape[1]), np.int64)


@_entry
def qr(x: MetaArray, *, mode: str) -> tuple[MetaArray, MetaArray]:
    q, r = probed("qr")(x, mode="reduced" if mode == "r" else mode)
    return blank((0,), x.dtype) if mode == "r" else q, r


@_entry
def lstsq(a: MetaArray, b: MetaArray, **options: Any) -> tuple[MetaArray, MetaArray, MetaArray]:
    *batch, rows, columns = a.shape
    values = blank((*batch, min(rows, columns)), a.layout.real.dtype)
    return blank((*batch, columns, b.shape[-1]), a.dtype), blank(batch, np.int64), values


@_entry
def lu_permutation(pivots: MetaArray, *, rows: int) -> MetaArray:
    return blank((*pivots.shape[:-1], rows), np.int64)


@_entry
def count_bins(x: MetaArray, edges: MetaArray | None, *, low: float, high: float, bins: int) -> MetaArray:
    return blank((bins,), np.dtype(np.int64))


@_entry
def pair_distances(x: MetaArray, y: MetaArray | None, *, p: int) -> MetaArray:
    batch, rows = x.shape[:2]
    return blank((batch, rows * (rows - 1) // 2) if y is None else (batch, rows, y.shape[1]), x.dtype)


@_entry
def pair_distances_grad(g: MetaArray, distances: MetaArray, x: MetaArray, y: MetaArray | None, *, p: int) -> MetaArray:
    return blank(x.shape, x.dtype)


@_entry
def embedding(weight: MetaArray, indices: MetaArray, *, padding_idx: int | None) -> MetaArray:
    return blank((*indices.shape, *weight.shape[1:]), weight.dtype)


@_entry
def embedding_grad(g: MetaArray, indices: MetaArray, *, rows: int, padding_idx: int | None, out: MetaArray | None = None
                   ) -> MetaArray:
    return delivered(blank((rows, *g.shape[1:]), g.dtype), out)


@_entry
def batch_norm(x: MetaArray, weight: MetaArray | None, bias: MetaArray | None, running_mean: MetaArray | None,
               running_var: MetaArray | None, *, momentum: float, eps: float, out: Any = None) -> tuple[Any, ...]:
    statistic = blank(x.shape[1:2], x.dtype)
    running = [None if old is None else old.copy() for old in (running_mean, running_var)]
    return delivered((x.copy(), statistic, statistic.copy(), *running), out)


def _batch_norm_grad(g: MetaArray, x: MetaArray, *others: MetaArray | None, out: Any = None, **eps: float) -> tuple[Any, ...]:
    return delivered((x.copy(), blank(x.shape[1:2], x.dtype), blank(x.shape[1:2], x.dtype)), out)


for _name in ("batch_norm_grad", "batch_norm_eval_grad"):
    TABLE[_name] = _only_meta(_name, _batch_norm_grad)


@_entry
def batch_norm_relu(x: MetaArray, residual: MetaArray | None, weight: MetaArray | None, bias: MetaArray | None,
                    running_mean: MetaArray | None, running_var: MetaArray | None, *, training: bool, momentum: float, eps: float,
                    out: Any = None) -> tuple[Any, ...]:
    statistic = blank(x.shape[1:2], x.dtype)
    running = [None if old is None else old.copy() for old in (running_mean, running_var)]
    return delivered((x.copy(), statistic, statistic.copy(), *running), out)


@_entry
def batch_norm_relu_grad(g: MetaArray, x: MetaArray, y: MetaArray | None, *others: MetaArray | None, training: bool,
                         out: Any = None) -> tuple[Any, ...]:
    vectors = blank(x.shape[1:2], x.dtype), blank(x.shape[1:2], x.dtype)
    return delivered((x.copy(), *vectors, None if y is None else g.copy()), out)


@_entry
def layer_norm(x: MetaArray, weight: MetaArray | None, bias: MetaArray | None, *, normalized_ndim: int, eps: float,
               out: Any = None) -> tuple[MetaArray, ...]:
    leading = x.shape[:x.ndim - normalized_ndim]
    return delivered((x.copy(), blank(leading, x.dtype), blank(leading, x.dtype)), out)


@_entry
def layer_norm_grad(g: MetaArray, x: MetaArray, weight: MetaArray | None, mean: MetaArray, rstd: MetaArray, *,
                    normalized_ndim: int, out: Any = None) -> tuple[MetaArray, ...]:
    shape = x.shape[x.ndim - normalized_ndim:]
    return delivered((x.copy(), blank(shape, x.dtype), blank(shape, x.dtype)), out)


@_entry
def group_norm(x: MetaArray, weight: MetaArray | None, bias: MetaArray | None, *, groups: int, eps: float, out: Any = None
               ) -> tuple[MetaArray, ...]:
    return delivered((x.copy(), blank((x.shape[0], groups), x.dtype), blank((x.shape[0], groups), x.dtype)), out)


@_entry
def group_norm_grad(g: MetaArray, x: MetaArray, weight: MetaArray | None, mean: MetaArray, rstd: MetaArray, *, groups: int,
                    out: Any = None) -> tuple[MetaArray, ...]:
    return delivered((x.copy(), blank(x.shape[1:2], x.dtype), blank(x.shape[1:2], x.dtype)), out)


@_entry
def rms_norm(x: MetaArray, weight: MetaArray | None, *, normalized_ndim: int, eps: float, out: Any = None
             ) -> tuple[MetaArray, ...]:
    return delivered((x.copy(), blank(x.shape[:x.ndim - normalized_ndim], x.dtype)), out)


@_entry
def rms_norm_grad(g: MetaArray, x: MetaArray, weight: MetaArray | None, rstd: MetaArray, *, normalized_ndim: int, out: Any = None
                  ) -> tuple[MetaArray, ...]:
    return delivered((x.copy(), blank(x.shape[x.ndim - normalized_ndim:], x.dtype)), out)


@_entry
def recurrence(gates: MetaArray, weight: MetaArray, bias: MetaArray | None, hidden: MetaArray, cell: MetaArray | None, *,
               mode: str, batch_sizes: Sequence[int], reverse: bool, out: Any = None) -> tuple[Any, ...]:
    rows, features = math.prod(gates.shape[:-1]), hidden.shape[-1]
    before, kept = (blank((rows, count * features), gates.dtype) for count in (1, KEPT[mode]))
    last, cells = (None, None) if cell is None else (cell.copy(), before.copy())
    output = blank((*gates.shape[:-1], features), gates.dtype)
    return delivered((output, hidden.copy(), last, kept, before, cells), out)


@_entry
def recurrence_grad(g: MetaArray | None, g_hidden: MetaArray | None, g_cell: MetaArray | None, weight: MetaArray, kept: MetaArray,
                    before: MetaArray, cells: MetaArray | None, *, mode: str, batch_sizes: Sequence[int], reverse: bool,
                    out: Any = None) -> tuple[Any, ...]:
    gates = blank((before.shape[0], weight.shape[0]), before.dtype)
    state = blank((batch_sizes[0], before.shape[1]), before.dtype)
    return delivered((gates, gates.copy() if mode == "GRU" else None, state, None if cells is None else state.copy()), out)


@_entry
def attention(q: MetaArray, k: MetaArray, v: MetaArray, mask: MetaArray | None, *, scale: float, is_causal: bool,
              with_grad: bool, out: Any = None) -> tuple[MetaArray | None, ...]:
    shift, factor = (blank(q.shape[:3], q.dtype) for _ in range(2))
    return delivered((blank((*q.shape[:3], v.shape[3]), q.dtype), shift, factor, None), out)


@_entry
def attention_grad(g: MetaArray, q: MetaArray, k: MetaArray, v: MetaArray, *others: MetaArray | None, scale: float,
                   is_causal: bool, out: Any = None) -> tuple[MetaArray, ...]:
    return delivered((blank(q.shape, q.dtype), blank(k.shape, k.dtype), blank(v.shape, v.dtype)), out)


@_entry
def cross_entropy(x: MetaArray, target: MetaArray, weight: MetaArray | None, *, reduction: str, with_grad: bool,
                  out: Any = None, **options: Any) -> tuple[Any, ...]:
    loss = blank(target.shape if reduction == "none" else (), x.dtype)
    return delivered((loss, x.copy() if with_grad else None), out)


@_entry
def nll_loss(x: MetaArray, target: MetaArray, weight: MetaArray | None, *, reduction: str, ignore_index: int | None) -> MetaArray:
    return blank(target.shape if reduction == "none" else (), x.dtype)


@_entry
def nll_loss_grad(g: MetaArray, target: MetaArray, weight: MetaArray | None, *, shape: tuple[int, ...], **options: Any
                  ) -> MetaArray:
    return blank(shape, g.dtype)


@_entry
def ctc_loss(x: MetaArray, labels: MetaArray, inputs: MetaArray, lengths: MetaArray, *, with_grad: bool, out: Any = None,
             **options: Any) -> tuple[Any, ...]:
    return delivered((blank(x.shape[1:2], x.dtype), x.copy() if with_grad else None), out)


@_entry
def fused(*arrays: MetaArray | None, program: Any, out: Any = None) -> Any:
    shapes = program.result_shapes([() if array is None else array.shape for array in arrays])
    results = tuple(map(blank, shapes, program.dtypes))
    return delivered(results if len(results) > 1 else results[0], out)


# ---- optimizers --------------------------------------------------------------------------------------------------------
@_entry
def sgd(param: MetaArray, grad: MetaArray, momentum_buffer: MetaArray | None, *, momentum: float, out: Any = None,
        **options: Any) -> tuple[Any, ...]:
    buffer = param.copy() if momentum_buffer is None and momentum != 0 else momentum_buffer
    return delivered((param, buffer), out)


@_entry
def adam(*arrays: MetaArray | None, out: Any = None, **options: Any) -> tuple[Any, ...]:
    param, _, *moments = arrays
    return delivered((param, *moments), out)


@_entry
def multi_tensor_sgd(*arrays: MetaArray, **options: Any) -> None:
    """Writes in place."""


@_entry
def multi_tensor_adam(*arrays: MetaArray, **options: Any) -> None:
    """Writes in place."""
