"""Compile the kernels before they are needed: `python -m lucid.warmup [family ...] [--dtypes float32 float64] [--gpu]`.

Kernels are compiled when they first run and kept on disk: in the folder of the variable LUCID_CACHE_DIR, else beside the
installed files, else in the user's cache folder. This runs each family of kernels once on small and on large arrays, so that a
container image or a fresh machine has them all. With --gpu the CUDA kernels are compiled too (CuPy keeps those); needs a GPU.
"""
from __future__ import annotations

import argparse
import concurrent.futures
import importlib.util
import itertools
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import lucid as _lucid
from lucid import backends, nn
from lucid.backends import explain
from lucid.backends.cpu import chains
from lucid.backends.elementwise import ROWS, Row
from lucid.backends.families import FAMILIES
from lucid.nn import functional as F
from lucid.ops.random import pathwise

lucid: Any = _lucid  # its names are re-exports
__all__ = ["RECIPES", "main", "warm_up"]

DTYPES = ("float32", "float64")
SMALL, LARGE = 8, 320  # sides of a square: the serial kernels, and those for all threads


def _random(*shape: int, **like: Any) -> Any:
    return lucid.randn(*shape, **like).requires_grad_()


def _run(rows: Iterable[Row], size: int, **like: Any) -> None:
    """The functions of elementwise operations, with gradients that are one number, and others."""
    for row in rows:
        function = getattr(F, row.name, None) or getattr(lucid, row.name, None)
        if function is not None:
            operands = [lucid.rand(size, size, **like).requires_grad_() for _ in range(row.arrays)]
            for y in (function(*operands), function(*operands).square()):
                if y.requires_grad:
                    y.sum().backward()


def _elementwise(size: int, **like: Any) -> None:
    _run([ROWS[name] for name in FAMILIES["elementwise.elementwise"].split()], size, **like)
    F.gelu(_random(size, size, **like), approximate="tanh").square().sum().backward()


def _special(size: int, **like: Any) -> None:
    x = lucid.full((SMALL,), 0.5, **like)._array
    for name in FAMILIES["elementwise.special"].split():
        backends.run(name, (x, x + 1)[: ROWS[name].arrays], explain.attributes_of(ROWS[name]))


def _formulas(size: int, **like: Any) -> None:
    """Functions of several operations, which are one kernel for large tensors, and so are many gradients."""
    _run([row for row in ROWS.values() if row.half and not row.family and not row.truth], LARGE, **like)
    x, y = (lucid.rand(LARGE, LARGE, **like).requires_grad_() for _ in range(2))
    for name in ("celu elu hardshrink hardsigmoid hardswish hardtanh logsigmoid mish selu softplus softshrink softsign "
                 "tanhshrink").split():
        getattr(F, name)(x).sum().backward()
    for name in "binary_cross_entropy_with_logits huber_loss l1_loss mse_loss smooth_l1_loss".split():
        getattr(F, name)(x, y).sum().backward()
    F.kl_div(x, y, reduction="sum").backward()


def _streaming(size: int, **like: Any) -> None:
    """Elementwise kernels for results larger than the caches, compiled without any."""
    if like["device"] == "cpu" and size == LARGE:
        from lucid_kernels.cpu.elementwise import elementwise, ternary

        elementwise.compile_streaming(like["dtype"])
        ternary.compile_streaming(like["dtype"])


def _in_place(size: int, **like: Any) -> None:
    for row in ROWS.values():
        if row.in_place:
            x = lucid.ones(2 * size, 2 * size, **like)  # arithmetic has kernels of its own from 1 MiB on
            getattr(x, f"{row.name}_")(*[x] * (row.arrays - 1))
    F.silu(x, inplace=True), F.leaky_relu(x, inplace=True)


def _broadcast(size: int, **like: Any) -> None:
    """Arithmetic of arrays of several shapes and with scalars, and what chooses between elements."""
    x = lucid.ones(4 * size, 4 * size, **like)
    for y in (x[0], x[:, :1].contiguous(), 0.5):
        x + y, x - y, x * y, x / y
    x[:, :1].contiguous() * x[0], 1 - x, 1 / x, -x, x.abs(), x.sqrt()
    lucid.maximum(x, x), lucid.minimum(x, x), x.clamp(0), x.clamp(0, 1)


def _combination(size: int, **like: Any) -> None:
    x, y = lucid.ones(size, size, **like), lucid.zeros(size, size, **like)
    mask = x > y
    lucid.where(mask, x, y), lucid.where(mask, x, 0), lucid.where(mask, 0, y)
    x.masked_fill(mask, 1), x.masked_fill_(mask, 1)
    for weight in (0.1, 0.9, y):
        x.lerp(y, weight), x.lerp_(y, weight)
    x.add(y, alpha=2), x.add_(y, alpha=2)


def _half_precision(size: int, dtype: Any, device: str) -> None:
    if dtype == lucid.float32:
        lucid.ones(size, size, device=device).half().float()
        lucid.ones(size, size, device=device).bfloat16().float()


def _integers(size: int, dtype: Any, device: str) -> None:
    """Arithmetic and sums of integers, and conversions from them."""
    for kind in (lucid.bool, lucid.uint8, lucid.int32, lucid.int64):
        x = lucid.ones(2 * size, 2 * size, dtype=kind, device=device)
        x.to(dtype), x.long(), x.int(), x.sum(), x.sum(0), x == x
        if kind in (lucid.int32, lucid.int64):
            x + x, x - x, x * x, x + 1, x * 2


def _copies(size: int, **like: Any) -> None:
    x = lucid.ones(4 * size, 4 * size, **like, requires_grad=True)  # filled by a kernel
    (x[:, 1:] - x[:, :-1]).sum().backward()
    x = x.detach()
    for part in (x.t(), x[:, 1:], x[:, ::2]):
        part.contiguous(), part.sum()
    x.flip(1), lucid.cat((x, x), 1), lucid.cat((x, x)), x[lucid.arange(4 * size, device=x.device)], x.double(), x.float()


def _padding(size: int, **like: Any) -> None:
    x = _random(1, 4, size, size, **like)
    for mode in ("constant", "reflect"):
        F.pad(x, (1, 2, 1, 1), mode=mode).square().sum().backward()


def _indices(size: int, **like: Any) -> None:
    """Elements and slices by index: what gradients need, and `scatter`."""
    x, order = _random(size, 2 * size, **like), lucid.arange(size, device=like["device"])
    for dim, indices in ((0, order.reshape(-1, 1).expand(size, 2 * size)), (1, order.expand(size, size))):
        x.gather(dim, indices).scatter_add(dim, indices, x.narrow(1, 0, indices.shape[1])).sum().backward()
        x.detach().scatter(dim, indices, 1.0)
    x[order].sum().backward()


def _bounds(size: int, **like: Any) -> None:
    indices = lucid.zeros(size * size, dtype=lucid.int64, device=like["device"])
    lucid.ones(3, **like).gather(0, indices)
    lucid.ones_like(indices) // (indices + 1)


def _masks(size: int, **like: Any) -> None:
    x = _random(size, 2 * size, **like)
    x[x > 0].sum().backward()
    lucid.nonzero(x), x.tril()


def _sorting(size: int, **like: Any) -> None:
    x = lucid.rand(size, 2 * size, **like)
    x.sort(), x.topk(2)
    lucid.randperm(size * size, device=x.device)


def _softmax(size: int, **like: Any) -> None:
    x = _random(size, 2 * size, **like)
    for dim in (0, 1):
        F.softmax(x, dim).square().sum().backward()
        F.log_softmax(x, dim).square().sum().backward()


def _cross_entropy(size: int, **like: Any) -> None:
    x, images = _random(size, 2 * size, **like), _random(2, 4, size, size // 2, **like)
    F.cross_entropy(x, lucid.arange(size, device=x.device)).backward()
    F.cross_entropy(images, lucid.zeros(2, size, size // 2, dtype=lucid.int64, device=x.device)).backward()


def _ctc_loss(size: int, **like: Any) -> None:
    logits = _random(4, 2, 3, **like)
    targets = lucid.ones(2, 1, dtype=lucid.int64, device=logits.device)
    F.ctc_loss(logits.log_softmax(2), targets, (4, 4), (1, 1)).backward()


def _batch_norm(size: int, **like: Any) -> None:
    for layer, shape in ((nn.BatchNorm2d(4), (4, 4, size, size)), (nn.BatchNorm1d(2 * size), (size, 2 * size))):
        x = _random(*shape, **like)
        layer.to(**like)(x).square().sum().backward()
        layer.eval()(x).square().sum().backward()


def _batch_norm_relu(size: int, **like: Any) -> None:
    mean, variance = lucid.zeros(4, **like), lucid.ones(4, **like)
    x, residual, weight, bias = (_random(*shape, **like) for shape in (*((4, 4, size, size),) * 2, (4,), (4,)))
    for training, added in itertools.product((True, False), (None, residual)):
        F.batch_norm_relu(x, mean, variance, weight, bias, training, residual=added).square().sum().backward()


def _layer_norm(size: int, **like: Any) -> None:
    nn.LayerNorm(2 * size).to(**like)(_random(size, 2 * size, **like)).square().sum().backward()


def _group_norm(size: int, **like: Any) -> None:
    nn.GroupNorm(2, 4).to(**like)(_random(2, 4, 2 * size, **like)).square().sum().backward()


def _rms_norm(size: int, **like: Any) -> None:
    F.rms_norm(_random(size, 2 * size, **like), (2 * size,), _random(2 * size, **like)).square().sum().backward()


def _attention(size: int, **like: Any) -> None:
    query, key, value = (_random(2, 2, size, 16, **like) for _ in range(3))
    for causal in (False, True):
        F.scaled_dot_product_attention(query, key, value, is_causal=causal).square().sum().backward()
    F.scaled_dot_product_attention(query[..., :1, :], key, value)


def _embedding(size: int, **like: Any) -> None:
    indices, table = lucid.randint(0, size, (size,), device=like["device"]), _random(size, 2 * size, **like)
    for some in (indices, indices.repeat(-(-256 // size))):  # few are not sorted
        F.embedding(some, table).square().sum().backward()
    for mode in ("sum", "max"):
        F.embedding_bag(indices.reshape(-1, 2), table, mode=mode).square().sum().backward()


def _conv2d(size: int, **like: Any) -> None:
    side, channels = max(8, size // 10), max(4, size // 5)  # enough of both for Winograd's kernels

    def run(layer: nn.Conv2d | nn.ConvTranspose2d, images: int = 4, side: int = side, gradient: bool = True) -> None:
        x = _random(images, layer.in_channels, side, side, **like)
        layer.to(**like)(x if gradient else x.detach()).square().sum().backward()

    for kernel, stride, dilation, groups in ((3, 1, 1, 1), (3, 2, 1, 1), (3, 1, 2, 1), (1, 1, 1, 1), (1, 2, 1, 1),
                                             (3, 1, 1, channels), (3, 2, 1, channels)):
        run(nn.Conv2d(channels, channels, kernel, stride, kernel // 2 * dilation, dilation, groups, bias=groups == 1))
    # Each gradient alone, too: of a weight, with that of a bias, and of an input, which a transposed convolution is.
    for layer in (nn.Conv2d(3, channels, 3, padding=1), nn.Conv2d(3, channels, 3, padding=1, bias=False),
                  nn.ConvTranspose2d(channels, channels, 3, padding=1)):
        run(layer, gradient=False)
    for few, stride in itertools.product((1, 2, 3, 4), (1, 2)):  # results of a group, and of its input gradient
        run(nn.Conv2d(2 * few, 2 * few, 3, stride, groups=2))
    run(nn.Conv2d(4 * channels, 8 * channels, 3, 2, 1), images=1, side=14)  # a large weight and few positions


def _pool2d(size: int, **like: Any) -> None:
    x = _random(2, 2, size, size, **like)
    for kernel, stride, padding in ((2, 2, 0), (3, 2, 1)):
        F.max_pool2d(x, kernel, stride, padding).square().sum().backward()
        F.avg_pool2d(x, kernel, stride, padding).square().sum().backward()
    for pooled in (1, 4):
        F.adaptive_avg_pool2d(x, pooled).square().sum().backward()
    F.adaptive_max_pool2d(x, 4).square().sum().backward()
    maxima, indices = F.max_pool2d(x, 2, return_indices=True)
    F.max_unpool2d(maxima, indices, 2).square().sum().backward()
    gradient: Any = lucid.autograd.grad(F.max_pool2d(x, 2).square().sum(), x, create_graph=True)[0]
    gradient.sum().backward()


def _random_numbers(size: int, **like: Any) -> None:
    x = lucid.rand(size, 2 * size, **like)
    lucid.randn(size, 2 * size, **like), lucid.empty_like(x).exponential_(), F.dropout(x, 0.5)
    lucid.randint(0, 10, (size, 2 * size), device=x.device)


def _gamma(size: int, **like: Any) -> None:
    pathwise.standard_gamma(lucid.full((size, size), 0.5, **like)), pathwise.dirichlet(lucid.ones(size, size, **like))


def _pathwise(size: int, **like: Any) -> None:
    shapes = lucid.full((size, size), 0.5, **like).requires_grad_()
    (pathwise.standard_gamma(shapes) + pathwise.dirichlet(shapes)).sum().backward()


def _optimizer(size: int, **like: Any) -> None:
    optim = lucid.optim
    parameter = nn.Parameter(lucid.ones(size, 2 * size, **like))
    parameter.grad = lucid.ones_like(parameter)
    optimizers: list[Any] = [kind([parameter]) for kind in (optim.ASGD, optim.Adadelta, optim.Adagrad, optim.Adamax, optim.NAdam,
                                                            optim.RAdam, optim.RMSprop, optim.Rprop)]
    for together in (False, True):
        optimizers += [optim.SGD([parameter], lr=1e-3, momentum=momentum, foreach=together) for momentum in (0, 0.9)]
        optimizers += [optim.Adam([parameter], amsgrad=amsgrad, foreach=together) for amsgrad in (False, True)]
    for optimizer in optimizers:
        optimizer.step(), optimizer.step()
    scaler = lucid.amp.GradScaler(parameter.device.type)
    scaler.scale(parameter)
    scaler.unscale_(optimizers[0])


def _fused(size: int, **like: Any) -> None:
    """The formulas are the user's; this shows that they work, and compiles nothing that those need."""
    lucid.fuse(lambda a, b: a * b + lucid.tanh(a))(_random(size, **like), _random(size, **like)).sum().backward()


def _products(size: int, **like: Any) -> None:
    if size == SMALL:
        for columns in (256, 260, 32):  # one for each algorithm for large matrices
            (_random(256, 256, **like) @ _random(256, columns, **like)).square().sum().backward()
        F.linear(_random(4, 1024, **like), _random(256, 1024, **like)).square().sum().backward()


def _csr_matmul(size: int, **like: Any) -> None:
    dense = _random(size, size, **like)
    matrix = (dense.detach() * (dense.detach() > 0)).to_sparse_csr().requires_grad_()
    lucid.sparse.mm(matrix, dense).square().sum().backward()


def _small_matrices(size: int, **like: Any) -> None:
    """Factorizations of matrices of a few rows, and their gradients."""
    linalg = lucid.linalg
    lucid.randn(1, **like)  # which imports the kernels: until then NumPy computes
    a = lucid.diag_embed(lucid.arange(1, 4, **like).expand(2 * size, 3)).requires_grad_()
    (linalg.solve(a, a).sum() + linalg.inv(a).sum() + linalg.det(a).sum() + linalg.slogdet(a)[1].sum()).backward()
    linalg.eigvalsh(a.detach()), linalg.svdvals(a.detach())
    results = (*linalg.qr(a), linalg.cholesky(a.mT @ a), *linalg.eigh(a))
    sum(result.square().sum() for result in results).backward()


def _recurrent(size: int, **like: Any) -> None:
    x = _random(4, size, size, **like)
    for layer in (nn.LSTM(size, size), nn.GRU(size, size), nn.RNN(size, size), nn.RNN(size, size, nonlinearity="relu")):
        layer.to(**like)
        (layer(x)[0].sum() + layer(x[:1])[0].sum()).backward()  # all steps in one call, and one step


def _resampling(size: int, **like: Any) -> None:
    F.interpolate(_random(1, 2, size, size, **like), scale_factor=2, mode="bilinear").square().sum().backward()


def _grid_sample(size: int, **like: Any) -> None:
    for dims in (2, 3):
        x, theta = _random(1, 2, *(8,) * dims, **like), _random(1, dims, dims + 1, **like)
        F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False), align_corners=False).square().sum().backward()


def _fourier(size: int, **like: Any) -> None:
    x = _random(size, 64, **like)
    (lucid.fft.rfft(x).abs().sum() + lucid.fft.fft(x).abs().sum()).backward()
    lucid.stft(x, 64, window=lucid.ones(64, device=x.device, dtype=x.dtype), center=False, return_complex=True)


#: What runs the kernels of a family once: `recipe(size, dtype=..., device=...)`.
def _plans(size: int, *, dtype: Any, device: str) -> None:
    """Small kernels in a row, as `lucid.compile` calls them on the CPU."""
    if device == "cpu":
        chains.kernels()


RECIPES: dict[str, Callable[..., None]] = {recipe.__name__[1:]: recipe for recipe in (
    _elementwise, _in_place, _broadcast, _combination, _half_precision, _streaming, _integers, _copies, _padding, _indices,
    _masks, _sorting, _softmax, _cross_entropy, _ctc_loss, _attention, _batch_norm, _batch_norm_relu, _layer_norm, _group_norm,
    _rms_norm, _conv2d, _pool2d, _embedding, _optimizer, _bounds, _fused, _formulas, _special, _products, _csr_matmul,
    _small_matrices,
    _recurrent, _resampling, _grid_sample, _fourier, _gamma, _pathwise, _plans)} | {"random": _random_numbers}


def warm_up(family: str, dtype: str, device: str = "cpu") -> float:
    """Run the kernels of `family` once for `dtype`; the seconds that it took."""
    start = time.perf_counter()
    before = lucid.get_rng_state()
    try:
        for size in (SMALL, LARGE) if device == "cpu" else (SMALL,):
            RECIPES[family](size, dtype=getattr(lucid, dtype), device=device)
        backends.synchronize()
    finally:
        lucid.set_rng_state(before)
    return time.perf_counter() - start


def _show(done: Iterable[tuple[str, str]], total: int) -> None:
    """Say what `done` yields: as a bar of tqdm on a terminal, else in a line each."""
    if sys.stderr.isatty() and importlib.util.find_spec("tqdm") is not None:
        from tqdm import tqdm

        with tqdm(total=total, desc="compiling", unit="family") as bar:
            for task in done:
                bar.set_postfix_str(" ".join(task), refresh=False)
                bar.update()
    else:
        for number, task in enumerate(done, 1):
            print(f"compiled {number} of {total}: {' '.join(task)}", file=sys.stderr, flush=True)


def _cpu(tasks: list[tuple[str, str]], processes: int) -> Iterator[tuple[str, str]]:
    """Run the tasks for the CPU; yields each that is done."""
    # A compiler runs on one thread: processes of their own, not forks, which would share the state of threads and CUDA.
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(min(processes, len(tasks)), mp_context=context) as pool:
        futures = {pool.submit(warm_up, *task): task for task in tasks}
        for future in concurrent.futures.as_completed(futures):
            future.result()
            yield futures[future]


def _gpu(tasks: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for task in tasks:
        warm_up(*task, "gpu")
        yield task


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile what the command line names and say how long it took and where it is kept."""
    from lucid_kernels.cpu.runtime import cache, threads

    parser = argparse.ArgumentParser(prog="python -m lucid.warmup", description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*", metavar="family", help=f"all when left out: {', '.join(RECIPES)}")
    parser.add_argument("--dtypes", nargs="+", choices=DTYPES, default=DTYPES, help="default: %(default)s")
    parser.add_argument("--gpu", action="store_true", help="the CUDA kernels too")
    parser.add_argument("--processes", type=int, default=threads.available_cpus(), help="default: %(default)s")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.families) - set(RECIPES))
    if unknown:
        parser.error(f"no such family: {', '.join(unknown)}; there are {', '.join(RECIPES)}")
    if options.gpu and not lucid.gpu.is_available():
        parser.error(f"--gpu: {lucid.gpu.why_unavailable()}")
    tasks = [(family, dtype) for family in options.families or RECIPES for dtype in options.dtypes]
    start = time.perf_counter()
    os.environ.setdefault("LUCID_VERBOSE", "0")  # progress is printed here
    _show(_cpu(tasks, max(1, options.processes)), len(tasks))
    folder = cache.folder()
    print(f"{len(tasks)} families and dtypes for the CPU in {time.perf_counter() - start:.1f} s, "
          + (f"kept in {folder}" if folder else f"not kept: set {cache.VARIABLE} to a folder that can be written"))
    if options.gpu:
        start = time.perf_counter()
        _show(_gpu(tasks), len(tasks))
        print(f"{len(tasks)} families and dtypes for the GPU in {time.perf_counter() - start:.1f} s, kept by CuPy")
    return 0 if folder else 1


if __name__ == "__main__":
    sys.exit(main())
