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
from lucid.nn import functional as F

lucid: Any = _lucid  # its names are re-exports
__all__ = ["RECIPES", "main", "warm_up"]

DTYPES = ("float32", "float64")
SMALL, LARGE = 8, 320  # sides of a square: the serial kernels, and those for all threads
Recipe = Callable[[Any, str, Sequence[int]], None]


def _random(*shape: int, like: tuple[Any, str]) -> Any:
    return lucid.randn(*shape, dtype=like[0], device=like[1]).requires_grad_()


def _elementwise(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    for size in sizes:
        x = _random(size, size, like=(dtype, device))
        for function in (F.relu, F.gelu, lambda x: F.gelu(x, approximate="tanh"), lucid.sigmoid, lucid.tanh, F.silu):
            (function(x).sum() + function(x).square().sum()).backward()  # gradients that are one number, and others
        for y in (x + x, x - x, x * x, x / x, x.exp()):
            del y


def _streaming(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    """Elementwise kernels for results larger than the caches, compiled without any."""
    if device == "cpu" and LARGE in sizes:
        from lucid_kernels.cpu.elementwise import elementwise, ternary

        elementwise.compile_streaming(dtype)
        ternary.compile_streaming(dtype)


def _in_place(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    for size in sizes:
        x = lucid.ones(2 * size, 2 * size, dtype=dtype, device=device)  # arithmetic has kernels of its own from 1 MiB on
        x.relu_().sigmoid_().tanh_().exp_().add_(x).sub_(x).mul_(x).div_(x + 1)
        F.silu(x, inplace=True)


def _broadcast(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    """Arithmetic of arrays of several shapes and with numbers, and what chooses between numbers."""
    for size in sizes:
        x = lucid.ones(4 * size, 4 * size, dtype=dtype, device=device)
        for y in (x[0], x[:, :1].contiguous(), 0.5):
            for z in (x + y, x - y, x * y, x / y):
                del z
        x[:, :1].contiguous() * x[0], 1 - x, 1 / x, -x, x.abs(), x.sqrt()
        lucid.maximum(x, x), lucid.minimum(x, x), x.clamp(0), x.clamp(0, 1)


def _combination(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    for size in sizes:
        x, y = lucid.ones(size, size, dtype=dtype, device=device), lucid.zeros(size, size, dtype=dtype, device=device)
        mask = x > y
        for first, second in ((x, y), (x, 0), (0, y)):
            lucid.where(mask, first, second)
        x.masked_fill(mask, 1), x.masked_fill_(mask, 1)
        for weight in (0.1, 0.9, y):
            x.lerp(y, weight), x.lerp_(y, weight)
        x.add(y, alpha=2), x.add_(y, alpha=2)
        F.leaky_relu(x), F.leaky_relu(x, inplace=True)


def _half_precision(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    if dtype == lucid.float32:
        for size in sizes:
            lucid.ones(size, size, device=device).half().float()
            lucid.ones(size, size, device=device).bfloat16().float()


def _integers(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    """Arithmetic and sums of integers, and conversions from them."""
    for size in sizes:
        for kind in (lucid.bool, lucid.uint8, lucid.int32, lucid.int64):
            x = lucid.ones(2 * size, 2 * size, dtype=kind, device=device)
            x.to(dtype), x.long(), x.int(), x.sum(), x.sum(0), x == x
            if kind in (lucid.int32, lucid.int64):
                x + x, x - x, x * x, x + 1, x * 2


def _copies(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    for size in sizes:
        x = lucid.ones(4 * size, 4 * size, dtype=dtype, device=device, requires_grad=True)  # filled by a kernel
        (x[:, 1:] - x[:, :-1]).sum().backward()
        x = x.detach()
        for part in (x.t(), x[:, 1:], x[:, ::2]):
            part.contiguous(), part.sum()
        x.flip(1), lucid.cat((x, x), 1), lucid.cat((x, x)), x[lucid.arange(4 * size, device=device)], x.double(), x.float()


def _padding(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    for size in sizes:
        x = _random(1, 4, size, size, like=(dtype, device))
        for mode in ("constant", "reflect"):
            F.pad(x, (1, 2, 1, 1), mode=mode).square().sum().backward()


def _indices(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    """Elements and slices by index: what gradients need, and `scatter`."""
    for size in sizes:
        x, order = _random(size, 2 * size, like=(dtype, device)), lucid.arange(size, device=device)
        for dim, indices in ((0, order.reshape(-1, 1).expand(size, 2 * size)), (1, order.expand(size, size))):
            x.gather(dim, indices).scatter_add(dim, indices, x.narrow(1, 0, indices.shape[1])).sum().backward()
            x.detach().scatter(dim, indices, 1.0)
        x[order].sum().backward()


def _masks(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    for size in sizes:
        x = _random(size, 2 * size, like=(dtype, device))
        x[x > 0].sum().backward()
        lucid.nonzero(x), x.tril()


def _sorting(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    for size in sizes:
        x = lucid.rand(size, 2 * size, dtype=dtype, device=device)
        x.sort(), x.topk(2)
        lucid.randperm(size * size, device=device)


def _softmax(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    for size in sizes:
        x = _random(size, 2 * size, like=(dtype, device))
        for dim in (0, 1):
            F.softmax(x, dim).square().sum().backward()
            F.log_softmax(x, dim).square().sum().backward()


def _cross_entropy(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    for size in sizes:
        x = _random(size, 2 * size, like=(dtype, device))
        F.cross_entropy(x, lucid.arange(size, device=device)).backward()
        images = _random(2, 4, size, size // 2, like=(dtype, device))
        F.cross_entropy(images, lucid.zeros(2, size, size // 2, dtype=lucid.int64, device=device)).backward()


def _ctc_loss(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    logits = _random(4, 2, 3, like=(dtype, device))
    targets = lucid.ones(2, 1, dtype=lucid.int64, device=device)
    F.ctc_loss(logits.log_softmax(2), targets, (4, 4), (1, 1)).backward()


def _batch_norm(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    for shape in (*[(4, 4, size, size) for size in sizes], *[(size, 2 * size) for size in sizes]):
        layer = (nn.BatchNorm2d if len(shape) == 4 else nn.BatchNorm1d)(shape[1]).to(device=device, dtype=dtype)
        x = _random(*shape, like=(dtype, device))
        layer(x).square().sum().backward()
        layer.eval()(x).square().sum().backward()


def _batch_norm_relu(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    for size in sizes:
        mean, variance = (function(4, dtype=dtype, device=device) for function in (lucid.zeros, lucid.ones))
        x, residual, weight, bias = (_random(*of, like=(dtype, device)) for of in (*((4, 4, size, size),) * 2, (4,), (4,)))
        for training in (True, False):
            for added in (None, residual):
                F.batch_norm_relu(x, mean, variance, weight, bias, training, residual=added).square().sum().backward()


def _rms_norm(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    for size in sizes:
        weight = _random(2 * size, like=(dtype, device))
        F.rms_norm(_random(size, 2 * size, like=(dtype, device)), (2 * size,), weight).square().sum().backward()


def _attention(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    for size in sizes:
        query, key, value = (_random(2, 2, size, 16, like=(dtype, device)) for _ in range(3))
        for causal in (False, True):
            F.scaled_dot_product_attention(query, key, value, is_causal=causal).square().sum().backward()
        F.scaled_dot_product_attention(query[..., :1, :], key, value)


def _embedding(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    for size in sizes:
        indices = lucid.randint(0, size, (size,), device=device)
        table = _random(size, 2 * size, like=(dtype, device))
        F.embedding(indices, table).square().sum().backward()
        for mode in ("sum", "max"):
            F.embedding_bag(indices.reshape(-1, 2), table, mode=mode).square().sum().backward()


def _layer_norm(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    for size in sizes:
        layer = nn.LayerNorm(2 * size).to(device=device, dtype=dtype)
        layer(_random(size, 2 * size, like=(dtype, device))).square().sum().backward()


def _group_norm(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    layer = nn.GroupNorm(2, 4).to(device=device, dtype=dtype)
    for size in sizes:
        layer(_random(2, 4, 2 * size, like=(dtype, device))).square().sum().backward()


def _conv2d(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    for size in sizes:
        side, channels = max(8, size // 10), max(4, size // 5)  # enough of both for Winograd's kernels
        for kernel, stride, dilation, groups in ((3, 1, 1, 1), (3, 2, 1, 1), (3, 1, 2, 1), (1, 1, 1, 1), (1, 2, 1, 1),
                                                 (3, 1, 1, channels), (3, 2, 1, channels)):
            layer = nn.Conv2d(channels, channels, kernel, stride, kernel // 2 * dilation, dilation, groups, bias=groups == 1)
            layer = layer.to(device=device, dtype=dtype)
            layer(_random(4, channels, side, side, like=(dtype, device))).square().sum().backward()
        stem = nn.Conv2d(3, channels, 3, padding=1).to(device=device, dtype=dtype)
        stem(lucid.randn(4, 3, side, side, dtype=dtype, device=device)).square().sum().backward()
        for few, stride in itertools.product((1, 2, 3, 4), (1, 2)):  # results of a group, and of its input gradient
            layer = nn.Conv2d(2 * few, 2 * few, 3, stride, groups=2).to(device=device, dtype=dtype)
            layer(_random(4, 2 * few, side, side, like=(dtype, device))).square().sum().backward()
        last = nn.Conv2d(4 * channels, 8 * channels, 3, 2, 1).to(device=device, dtype=dtype)  # a large weight and few positions
        last(_random(1, 4 * channels, 14, 14, like=(dtype, device))).square().sum().backward()


def _pool2d(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    for size in sizes:
        x = _random(2, 2, size, size, like=(dtype, device))
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


def _random_numbers(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    for size in sizes:
        x = lucid.rand(size, 2 * size, dtype=dtype, device=device)
        lucid.randn(size, 2 * size, dtype=dtype, device=device)
        lucid.randint(0, 10, (size, 2 * size), device=device)
        lucid.empty_like(x).exponential_()
        F.dropout(x, 0.5)


def _optimizer(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    optim = lucid.optim
    for size in sizes:
        parameter = nn.Parameter(lucid.ones(size, 2 * size, dtype=dtype, device=device))
        parameter.grad = lucid.ones_like(parameter)
        for together in (False, True):
            for optimizer in (optim.SGD([parameter], lr=1e-3, foreach=together),
                              optim.SGD([parameter], lr=1e-3, momentum=0.9, foreach=together),
                              optim.Adam([parameter], foreach=together),
                              optim.Adam([parameter], amsgrad=True, foreach=together)):
                for _ in range(2):
                    optimizer.step()
        for kind in (optim.ASGD, optim.Adadelta, optim.Adagrad, optim.Adamax, optim.NAdam, optim.RAdam, optim.RMSprop,
                     optim.Rprop):
            for _ in range(2):
                kind([parameter]).step()


def _bounds(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    for size in sizes:
        lucid.ones(3, dtype=dtype, device=device).gather(0, lucid.zeros(size * size, dtype=lucid.int64, device=device))


def _fused(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    """The formulas are the user's; this shows that they work, and compiles nothing that those need."""
    formula = lucid.fuse(lambda a, b: a * b + lucid.tanh(a))
    for size in sizes:
        formula(*[_random(size, like=(dtype, device)) for _ in range(2)]).sum().backward()


def _formulas(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    """Functions of several operations, which are one kernel for large tensors."""
    x, y = (lucid.rand(LARGE, LARGE, dtype=dtype, device=device).requires_grad_() for _ in range(2))
    functions = [getattr(F, name) for name in (
        "celu elu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish selu softplus softshrink softsign "
        "tanhshrink").split()]
    functions += [getattr(lucid, name) for name in (
        "abs asin asinh atan atanh acos acosh cos cosh erf erfc exp2 expm1 log log10 log1p log2 reciprocal rsqrt sin sinh sqrt "
        "square tan").split()]
    losses = [getattr(F, name) for name in (
        "binary_cross_entropy binary_cross_entropy_with_logits huber_loss l1_loss mse_loss smooth_l1_loss").split()]
    for function in functions:
        function(x).sum().backward()
    for function in (*losses, lucid.div, lucid.atan2, lambda x, y: F.kl_div(x, y, reduction="sum")):
        function(x, y).sum().backward()


def _special(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    from lucid.backends.families import FAMILIES

    x = lucid.full((SMALL,), 0.5, dtype=dtype, device=device)._array
    for name in FAMILIES["elementwise.special"].split():
        operands = (x, x + 1) if name in ("zeta", "gammainc", "gammaincc") else (x,)
        backends.run(name, operands, {"n": 2} if name == "polygamma" else {})


def _products(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    matrix = _random(256, 256, like=(dtype, device))
    for columns in (256, 260, 32):  # one for each algorithm for large matrices
        (matrix @ _random(256, columns, like=(dtype, device))).square().sum().backward()
    F.linear(_random(4, 1024, like=(dtype, device)), _random(256, 1024, like=(dtype, device))).square().sum().backward()


def _small_matrices(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    """Factorizations of matrices of a few rows, and their gradients."""
    linalg = lucid.linalg
    lucid.randn(1, dtype=dtype, device=device)  # which imports the kernels: until then NumPy computes
    for size in sizes:
        diagonal = lucid.arange(1, 4, dtype=dtype, device=device).expand(2 * size, 3)
        a = lucid.diag_embed(diagonal).requires_grad_()
        (linalg.solve(a, a).sum() + linalg.inv(a).sum() + linalg.det(a).sum() + linalg.slogdet(a)[1].sum()).backward()
        linalg.eigvalsh(a.detach()), linalg.svdvals(a.detach())
        results = (*linalg.qr(a), linalg.cholesky(a.mT @ a), *linalg.eigh(a))
        sum(result.square().sum() for result in results).backward()


def _recurrent(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    for size in sizes:
        x = _random(4, size, size, like=(dtype, device))
        for layer in (nn.LSTM(size, size), nn.GRU(size, size), nn.RNN(size, size), nn.RNN(size, size, nonlinearity="relu")):
            layer.to(device=device, dtype=dtype)
            (layer(x)[0].sum() + layer(x[:1])[0].sum()).backward()  # all steps in one call, and one step


def _resampling(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    for size in sizes:
        F.interpolate(_random(1, 2, size, size, like=(dtype, device)), scale_factor=2, mode="bilinear").square().sum().backward()


def _grid_sample(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    for dims in (2, 3):
        theta = _random(1, dims, dims + 1, like=(dtype, device))
        x = _random(1, 2, *(8,) * dims, like=(dtype, device))
        F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False), align_corners=False).square().sum().backward()


def _fourier(dtype: Any, device: str, sizes: Sequence[int]) -> None:
    for size in sizes:
        x = _random(size, 64, like=(dtype, device))
        (lucid.fft.rfft(x).abs().sum() + lucid.fft.fft(x).abs().sum()).backward()
        lucid.stft(x, 64, window=lucid.ones(64, dtype=dtype, device=device), center=False, return_complex=True)


#: What runs the kernels of a family: `recipe(dtype, device, sizes)`.
RECIPES: dict[str, Recipe] = {
    "elementwise": _elementwise, "in_place": _in_place, "broadcast": _broadcast, "combination": _combination,
    "half_precision": _half_precision, "streaming": _streaming, "integers": _integers, "copies": _copies, "padding": _padding,
    "indices": _indices, "masks": _masks, "sorting": _sorting, "softmax": _softmax, "cross_entropy": _cross_entropy,
    "ctc_loss": _ctc_loss, "attention": _attention, "batch_norm": _batch_norm,
    "batch_norm_relu": _batch_norm_relu, "layer_norm": _layer_norm,
    "group_norm": _group_norm, "rms_norm": _rms_norm, "conv2d": _conv2d,
    "pool2d": _pool2d, "embedding": _embedding, "random": _random_numbers, "optimizer": _optimizer, "bounds": _bounds,
    "fused": _fused, "formulas": _formulas, "special": _special, "products": _products, "small_matrices": _small_matrices,
    "recurrent": _recurrent, "resampling": _resampling, "grid_sample": _grid_sample, "fourier": _fourier,
}


def warm_up(family: str, dtype: str, device: str = "cpu") -> float:
    """Run the kernels of `family` once for `dtype`; the seconds that it took."""
    start = time.perf_counter()
    before = lucid.get_rng_state()
    try:
        RECIPES[family](getattr(lucid, dtype), device, (SMALL, LARGE) if device == "cpu" else (SMALL,))
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
    os.environ.setdefault("LUCID_VERBOSE", "0")  # what is slow is told here
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
