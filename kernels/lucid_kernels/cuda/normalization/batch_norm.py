"""Batch normalisation of (N, C, *) and its gradients on a GPU, of contiguous arrays and of those with their channels last.

Training reads x twice and writes y, backward reads g and x twice and writes dx, evaluation moves two elements for each; residuals
and their gradients are one more each. ReLU moves none: its gradient is found by computing y once more, unless there is a
residual.
"""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from lucid_kernels.cuda.movement import channels, copies
from lucid_kernels.cuda.runtime import launch, recording, rows

_KEPT = 64, 8  # bytes and packs of a chunk that a thread of `plane_statistics` keeps, whichever is less
_LARGEST = 256  # threads of its block
_ROWS_A_CHUNK = 128
_MOST_CHUNKS = 1024  # of rows: what keeps a device busy, each with the sums of its threads to add
_COLUMN_BLOCKS = 8  # blocks per multiprocessor of a kernel over all elements of columns
OPEN, RESULT, COMPUTED = map(np.int32, range(3))  # enum Gate
_KINDS = {"e": np.int32(2), "E": np.int32(3)}  # enum Kind


class _Layout(channels.Order):
    """`samples`, `channels` and `size` are those of (N, C, S); an array with its channels last is one of (N * S, C, 1)."""

    def __init__(self, x: Any) -> None:
        super().__init__(x)
        self.shape, self.channels, self.size = x.shape, x.shape[1], math.prod(x.shape[2:])
        self.count = x.shape[0] * self.size
        if self.last:
            self.size = 1

    def like(self, out: Any, x: Any) -> Any:
        """What a kernel writes for `out`, a result like x."""
        return self.result(out, self.shape, x.dtype)

    def pack(self, *arrays: Any, beside: tuple[Any, ...] = ()) -> int:
        """Elements that a thread moves at once; those of columns with their parameters, of which the arrays are `beside`."""
        if self.size > 1:
            return rows.pack(self.size, *arrays)
        apart = any(array.__class__ is not np.int32 and array.data.ptr % rows.LINE for array in beside)
        return 1 if apart else rows.pack(self.channels, *arrays)


def _warp_each(count: int) -> tuple[tuple[int], tuple[int]]:
    """Grid and block with a warp for each channel."""
    return launch.grid_cap(launch.ceil_div(count, 4)), (128,)


def _kernel(name: str, *kinds: Any) -> Any:
    """The kernel of these dtypes, and of so many neighbours, and for columns or not, where it takes them."""
    names = (str(kind).lower() if isinstance(kind, int) else launch.ctype(kind) for kind in kinds)
    return launch.kernel("batch_norm", f"{name}<{', '.join(names)}>")


def _chunks_of_planes(layout: _Layout, pack: int, size: int) -> tuple[int, int, int]:
    """Packs of a chunk, chunks of a channel, and threads of a block."""
    kept = min(_KEPT[0] // (pack * size), _KEPT[1])
    packs = layout.count // pack
    block = launch.row_block(launch.ceil_div(packs, kept), _LARGEST)
    return block * kept, launch.ceil_div(packs, block * kept), block


def _chunks_of_columns(layout: _Layout, pack: int) -> tuple[int, int, tuple[int, int], tuple[int, int]]:
    """Rows of a chunk, chunks, grid and block."""
    chunk = max(_ROWS_A_CHUNK, launch.ceil_div(layout.count, _MOST_CHUNKS))
    chunks, across = launch.ceil_div(layout.count, chunk), 1
    while across < 32 and across * pack < layout.channels:
        across *= 2
    return chunk, chunks, (launch.ceil_div(layout.channels, across * pack), chunks), (across, launch.BLOCK // across)


def _int64(*values: int) -> tuple[np.int64, ...]:
    return tuple(map(np.int64, values))


def _statistics(x: Any, layout: _Layout, running: tuple[Any, Any], counter: Any, mean: Any, rstd: Any, new: tuple[Any, Any],
                momentum: float, eps: float) -> None:
    """Write `mean` and `rstd` of each channel of `x`, and the new running statistics and count where there are any."""
    if not x.size:
        if counter is not None:
            recording.unrepeatable()
            counter += 1
        launch.fill(mean, 0)
        launch.fill(rstd, 0)
        for old, target in zip(running, new, strict=True):
            if target is not None and target is not old:
                launch.deliver(old, target)
        return
    wide, count, pack = mean.dtype, layout.channels, layout.pack(x)
    if layout.size == 1:
        chunk, chunks, grid, block = _chunks_of_columns(layout, pack)
        means, squares = (launch.empty((count, chunks), wide) for _ in range(2))
        _kernel("column_statistics", x.dtype, pack)(
            grid, block, (x, means, squares, *_int64(layout.count, count, chunk, chunks))
        )
    else:
        packs, chunks, threads = _chunks_of_planes(layout, pack, x.dtype.itemsize)
        chunk = packs * pack
        means, squares = (launch.empty((count, chunks), wide) for _ in range(2))
        sizes = _int64(count, layout.size // pack, layout.count // pack, packs, chunks)
        _kernel("plane_statistics", x.dtype, pack)(launch.grid_cap(count * chunks), (threads,), (x, means, squares, *sizes))
    kind, running = _running_in(wide, *running)
    stand_in = rows.optional(None, kind, mean, x)[0]
    arguments = (argument for old, target in zip(running, new, strict=True)
             for argument in ((stand_in, stand_in, np.int32(0)) if target is None else (old, target, np.int32(1))))
    _kernel("combine_statistics", wide, kind)(
        *_warp_each(count),
        (means, squares, mean, rstd, *arguments, *rows.optional(counter, np.dtype(np.int64)),
         *_int64(count, layout.count, chunk, chunks), wide.type(momentum), wide.type(eps)),
    )  # fmt: skip


def _running_in(wide: Any, *running: Any) -> tuple[Any, tuple[Any, ...]]:
    """The dtype in which kernels read running statistics, and these in it: a half precision that all have, else `wide`."""
    kinds = {array.dtype for array in running if array is not None}
    kind = kinds.pop() if len(kinds) == 1 else wide
    if kind.itemsize > 2 or wide == np.float64:
        kind = wide
    return kind, tuple(None if array is None else rows.optional(array, kind)[0] for array in running)


def known(running_mean: Any, running_var: Any, wide: Any, eps: float) -> tuple[Any, Any]:
    """The mean and 1 / standard deviation of evaluation, in the dtype of sums."""
    kind, (running_mean, running_var) = _running_in(wide, running_mean, running_var)
    mean, rstd = (launch.empty(running_mean.shape, wide) for _ in range(2))
    if mean.size:
        _kernel("known_statistics", wide, kind)(
            *launch.grid_1d(mean.size), (running_mean, running_var, mean, rstd, np.int64(mean.size), wide.type(eps))
        )
    return mean, rstd


def _parameters(weight: Any, bias: Any, mean: Any) -> tuple[Any, ...]:
    """Weight and bias, each with how it is stored, as kernels take them: a half precision as it is, else the dtype of sums."""
    found: list[Any] = []
    for array in (weight, bias):
        if launch.is_half(array):
            found += [copies.contiguous(array), _KINDS[array.dtype.char]]
        else:
            found += rows.optional(array, mean.dtype, mean)
    return tuple(found)


def _over_packs(layout: _Layout, packs: int, pack: int) -> tuple[tuple[int], tuple[int]]:
    """Grid and block of a kernel over all elements. Where they are columns a thread stays in its own, whose parameters it has
    read, so there are only as many blocks as keep a device busy.
    """
    if layout.size > 1:
        return launch.grid_1d(packs)
    across = layout.channels // pack
    same = across // math.gcd(across, launch.BLOCK)  # blocks side by side that are whole rows
    blocks = min(launch.ceil_div(packs, launch.BLOCK), _COLUMN_BLOCKS * launch.multiprocessors())
    return (blocks - blocks % same if blocks > same else blocks,), (launch.BLOCK,)


def _normalize(x: Any, residual: Any, parameters: tuple[Any, ...], mean: Any, deviation: Any, layout: _Layout, y: Any, eps: float,
               evaluate: bool, relu: bool) -> None:
    """Write `y` of what lies in memory; `parameters` are those of `_parameters`."""
    if x.size:
        pack, columns = layout.pack(x, residual, y, beside=(*parameters, mean, deviation)), layout.size == 1
        _kernel("normalize", x.dtype, pack, columns)(
            *_over_packs(layout, x.size // pack, pack),
            (x, *rows.optional(residual, x.dtype, x), *parameters, mean, deviation, np.int32(evaluate), np.int32(relu), y,
             *_int64(x.size // pack, layout.channels, 1 if columns else layout.size // pack), mean.dtype.type(eps)),
        )  # fmt: skip


def train(x: Any, residual: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, counter: Any, momentum: float,
          eps: float, relu: bool, out: tuple[Any, ...] | None) -> tuple[Any, ...]:
    """(y, mean, rstd, running_mean, running_var) in training; `out` may name the running arrays themselves, and `counter`, of one
    int64, grows by 1.
    """
    out_y, *outs = out or (None,) * 5
    layout, wide = _Layout(x), rows.accumulator(x.dtype)
    x, residual = layout.inner(x), layout.inner(residual)
    y = layout.like(out_y, x)
    mean, rstd = (launch.result(target, (layout.channels,), wide) for target in outs[:2])
    kind = _running_in(wide, running_mean, running_var)[0]
    new_mean, new_var = (None if old is None else launch.result(target, (layout.channels,), kind)
                         for old, target in ((running_mean, outs[2]), (running_var, outs[3])))
    _statistics(x, layout, (running_mean, running_var), counter, mean, rstd, (new_mean, new_var), momentum, eps)
    _normalize(x, residual, _parameters(weight, bias, mean), mean, rstd, layout, y, eps, False, relu)
    return (
        layout.deliver(y, out_y),
        launch.deliver(mean, outs[0]),
        launch.deliver(rstd, outs[1]),
        _deliver_running(new_mean, outs[2], running_mean),
        _deliver_running(new_var, outs[3], running_var),
    )


def _deliver_running(new: Any, out: Any, old: Any) -> Any:
    """The updated running statistic in the dtype of the old one; None where that is None."""
    return None if old is None else launch.deliver(new if out is not None else new.astype(old.dtype, copy=False), out)


def evaluate_with(x: Any, residual: Any, weight: Any, bias: Any, mean: Any, rstd: Any, relu: bool, out: Any) -> Any:
    """`x` normalised with known statistics in the dtype of sums."""
    layout = _Layout(x)
    x, residual = layout.inner(x), layout.inner(residual)
    y = layout.like(out, x)
    _normalize(x, residual, _parameters(weight, bias, mean), mean, rstd, layout, y, 0.0, False, relu)
    return layout.deliver(y, out)


def batch_norm(
    x: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    counter: Any = None,
    *,
    momentum: float,
    eps: float,
    out: tuple[Any, ...] | None = None,
) -> tuple[Any, Any, Any, Any, Any]:
    """(y, mean, rstd, running_mean, running_var) in training. `out` may name the running arrays themselves.

    An empty batch leaves the running statistics as they are. `counter`, an array of one int64, grows by 1, in place.
    """
    results = train(x, None, weight, bias, running_mean, running_var, counter, momentum, eps, False, out)
    y, mean, rstd, new_mean, new_var = results
    return y, mean, rstd, new_mean, new_var


def batch_norm_eval(
    x: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, *, eps: float, out: Any = None
) -> Any:
    """`x` normalised with the running statistics."""
    wide = rows.accumulator(x.dtype)
    if running_mean.dtype != wide or running_var.dtype != wide:
        return evaluate_with(x, None, weight, bias, *known(running_mean, running_var, wide, eps), False, out)
    layout = _Layout(x)
    x, mean, var = layout.inner(x), copies.contiguous(running_mean), copies.contiguous(running_var)
    y = layout.like(out, x)
    _normalize(x, None, _parameters(weight, bias, mean), mean, var, layout, y, eps, True, False)
    return layout.deliver(y, out)


def batch_norm_grad(
    g: Any, x: Any, weight: Any, mean: Any, rstd: Any, *, out: tuple[Any, ...] | None = None
) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias) of `batch_norm`."""
    dx, dweight, dbias, _ = gradients(g, x, None, weight, None, mean, rstd, OPEN, False, out)
    return dx, dweight, dbias


def batch_norm_eval_grad(
    g: Any, x: Any, weight: Any, running_mean: Any, running_var: Any, *, eps: float, out: tuple[Any, ...] | None = None
) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias) of `batch_norm_eval`; the running statistics are constants."""
    wide = rows.accumulator(x.dtype)
    if running_mean.dtype == wide and running_var.dtype == wide:
        mean, deviation, evaluate = copies.contiguous(running_mean), copies.contiguous(running_var), True
    else:
        (mean, deviation), evaluate = known(running_mean, running_var, wide, eps), False
    dx, dweight, dbias, _ = gradients(g, x, None, weight, None, mean, deviation, OPEN, True, out, eps, evaluate)
    return dx, dweight, dbias


def gradients(g: Any, x: Any, y: Any, weight: Any, bias: Any, mean: Any, deviation: Any, gate: np.int32, constant: bool,
              out: tuple[Any, ...] | None, eps: float = 0.0, evaluate: bool = False) -> tuple[Any, ...]:
    """(dx, dweight, dbias, gradient of the residual); the last one is None unless `gate` is that of a result `y`.

    With `constant` the statistics are, with `evaluate` the deviation is the variance.
    """
    out_dx, out_dweight, out_dbias, out_masked = (*out, None, None)[:4] if out else (None,) * 4
    layout, kind, wide = _Layout(x), rows.gradient_dtype(x, weight), rows.accumulator(x.dtype)
    g, x, y = map(layout.inner, (g, x, y))
    mean, deviation = (rows.optional(array, wide)[0] for array in (mean, deviation))
    count = layout.channels
    dx, masked = layout.like(out_dx, x), None if y is None else layout.like(out_masked, x)
    dweight, dbias = (launch.result(target, (count,), kind) for target in (out_dweight, out_dbias))
    if x.size:
        parameters, columns = _parameters(weight, bias, mean), layout.size == 1
        pack = layout.pack(g, x, y, dx, masked, beside=(*parameters, mean, deviation))
        statistics = (x if y is None else y, gate, *parameters, mean, deviation, np.int32(evaluate))
        grid: tuple[int, ...]
        block: tuple[int, ...]
        if columns:
            chunk, chunks, grid, block = _chunks_of_columns(layout, pack)
            sizes = _int64(layout.count, count, chunk, chunks)
        else:
            chunk, chunks, threads = _chunks_of_planes(layout, pack, x.dtype.itemsize)
            grid, block = launch.grid_cap(count * chunks), (threads,)
            sizes = _int64(count, layout.size // pack, layout.count // pack, chunk, chunks)
        biases, weights = (launch.empty((count, chunks), wide) for _ in range(2))
        _kernel("column_gradients" if columns else "plane_gradients", x.dtype, pack)(
            grid, block, (g, x, *statistics, biases, weights, *sizes, wide.type(eps))
        )
        sums = launch.empty((2, count), wide)
        _kernel("combine_gradients", wide, kind)(
            *_warp_each(count), (biases, weights, sums, dbias, dweight, *_int64(count, chunks))
        )
        _kernel("input_gradient", x.dtype, pack, columns)(
            *_over_packs(layout, x.size // pack, pack),
            (g, x, *statistics, np.int32(constant), sums, dx, dx if masked is None else masked, np.int32(masked is not None),
             *_int64(x.size // pack, count, 1 if columns else layout.size // pack, layout.count), wide.type(eps)),
        )  # fmt: skip
    else:
        launch.fill(dweight, 0)
        launch.fill(dbias, 0)
    return (layout.deliver(dx, out_dx), launch.deliver(dweight, out_dweight), launch.deliver(dbias, out_dbias),
            layout.deliver(masked, out_masked))
