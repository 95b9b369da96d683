"""Divisions with rest, products and other functions that no target is set for, activations of small tensors, losses of margins,
distances of pairs, searches, histograms, factorizations, Fourier transforms, and attention of one query.

Rows without targets, of the whole library on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.case import Case, Side, normal
from bench.library import Library, target

LENGTHS = {"1k": 1000, "100k": 100_000, "4M": 4_000_000}
Call = tuple[Callable[..., Any], Callable[..., Any]]

#: label -> what is computed of `x` and `y` (n,) with the library, and the same in NumPy
PAIRS: dict[str, Call] = {
    "fmod": (lambda lib, x, y: lib.fmod(x, y), np.fmod),
    "remainder": (lambda lib, x, y: x % y, np.remainder),
    "floor_divide": (lambda lib, x, y: x // y, np.floor_divide),
    "hypot": (lambda lib, x, y: lib.hypot(x, y), np.hypot),
    "sinh": (lambda lib, x, y: lib.sinh(x), np.sinh),
    "log1p": (lambda lib, x, y: lib.log1p(x * x), lambda x, y: np.log1p(x * x)),
    "atan2": (lambda lib, x, y: lib.atan2(x, y), np.arctan2),
    "hardswish": (lambda lib, x, y: lib.nn.functional.hardswish(x), lambda x, y: x * np.clip(x / 6 + 0.5, 0, 1)),
    "elu": (lambda lib, x, y: lib.nn.functional.elu(x), lambda x, y: np.where(x > 0, x, np.expm1(np.minimum(x, 0)))),
    "elu float64": (lambda lib, x, y: lib.nn.functional.elu(x.double()),
                    lambda x, y: np.where(x > 0, x, np.expm1(np.minimum(x, 0))).astype("f8")),
    "exp float64": (lambda lib, x, y: x.double().exp(), lambda x, y: np.exp(x.astype("f8"))),
    "log1p float64": (lambda lib, x, y: (x.double() ** 2).log1p(), lambda x, y: np.log1p(x.astype("f8") ** 2)),
    "logaddexp2": (lambda lib, x, y: lib.logaddexp2(x, y), np.logaddexp2),
    "nextafter": (lambda lib, x, y: lib.nextafter(x, y), np.nextafter),
    "huber_loss": (lambda lib, x, y: lib.nn.functional.huber_loss(x, y), lambda x, y: _huber(x - y)),
    "prod": (lambda lib, x, y: (x * 0 + 1).prod(), lambda x, y: np.prod(x * 0 + 1)),
    "nansum": (lambda lib, x, y: lib.nansum(x), lambda x, y: np.nansum(x)),
    "max": (lambda lib, x, y: x.max(), lambda x, y: x.max()),
}


def _definite(size: int) -> np.ndarray:
    """A positive definite matrix of float32."""
    factor = normal(size, size)
    return factor @ factor.T + size * np.eye(size, dtype=np.float32)


def _pdist(x: np.ndarray) -> np.ndarray:
    first, second = np.triu_indices(len(x), 1)
    return np.linalg.norm(x[first] - x[second], axis=1)


def _parts(x: np.ndarray) -> np.ndarray:
    return np.stack([x.real, x.imag], -1)


#: label -> what makes the array x, what is computed of it with the library, and the same in NumPy
ARRAYS: dict[str, tuple[Callable[[], np.ndarray], Callable[..., Any], Callable[..., Any]]] = {
    "pdist 512x64": (lambda: normal(512, 64), lambda lib, x: lib.nn.functional.pdist(x), _pdist),
    "cdist of order 1, 256x64": (lambda: normal(256, 64), lambda lib, x: lib.cdist(x, x, p=1),
                                 lambda x: np.abs(x[:, None] - x).sum(2)),
    "searchsorted 1M": (lambda: normal(1_000_000), lambda lib, x: lib.searchsorted(lib.linspace(-3, 3, 1000), x),
                        lambda x: np.searchsorted(np.linspace(-3, 3, 1000, dtype=np.float32), x)),
    "histc 1M": (lambda: normal(1_000_000), lambda lib, x: lib.histc(x, 100, -3, 3),
                 lambda x: np.histogram(x, 100, (-3, 3))[0].astype(x.dtype)),
    "cholesky 512": (lambda: _definite(512), lambda lib, x: lib.linalg.cholesky(x), np.linalg.cholesky),
    "singular values 256": (lambda: normal(256, 256), lambda lib, x: lib.linalg.svdvals(x),
                            lambda x: np.linalg.svd(x, compute_uv=False)),
    "lstsq 256x64": (lambda: normal(256, 64), lambda lib, x: lib.linalg.lstsq(x, x[:, :4])[0],
                     lambda x: np.linalg.lstsq(x, x[:, :4])[0]),
    "diff 1000x1000": (lambda: normal(1000, 1000), lambda lib, x: lib.diff(x), np.diff),
    "glu 1000x1000": (lambda: normal(1000, 1000), lambda lib, x: lib.nn.functional.glu(x),
                      lambda x: x[:, :500] / (1 + np.exp(-x[:, 500:]))),
    "rfft 8x64": (lambda: normal(8, 64), lambda lib, x: lib.view_as_real(lib.fft.rfft(x)), lambda x: _parts(np.fft.rfft(x))),
    "rfft 256x1024": (lambda: normal(256, 1024), lambda lib, x: lib.view_as_real(lib.fft.rfft(x)),
                      lambda x: _parts(np.fft.rfft(x))),
    "fft 8x1024": (lambda: normal(8, 1024, 2), lambda lib, x: lib.view_as_real(lib.fft.fft(lib.view_as_complex(x))),
                   lambda x: _parts(np.fft.fft(x[..., 0] + 1j * x[..., 1]))),
    "rfft2 1000x1000": (lambda: normal(1000, 1000), lambda lib, x: lib.view_as_real(lib.fft.rfft2(x)),
                        lambda x: _parts(np.fft.rfft2(x))),
    "unique rows 100,000x4": (lambda: normal(100_000, 4).round(), lambda lib, x: lib.unique(x, dim=0),
                              lambda x: np.unique(x, axis=0)),
}


def _classes(count: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, count, shape)


def _rows_of_classes(rows: int, count: int) -> np.ndarray:
    """A quarter of them, and -1 behind."""
    return np.where(np.arange(count) < count // 4, _classes(count, rows, count), -1)


#: name -> what makes the arrays of n samples of d numbers, and the loss of them; floating arrays need gradients
LOSSES: dict[str, tuple[Callable[[int, int], list[np.ndarray]], Callable[..., Any]]] = {
    "cosine_embedding_loss": (lambda n, d: [normal(n, d), normal(n, d, seed=1), np.where(np.arange(n) % 2, 1, -1)],
                              lambda F, x, y, sign: F.cosine_embedding_loss(x, y, sign, 0.1)),
    "triplet_margin_loss": (lambda n, d: [normal(n, d, seed=seed) for seed in range(3)],
                            lambda F, x, y, z: F.triplet_margin_loss(x, y, z, swap=True)),
    "multi_margin_loss": (lambda n, d: [normal(n, d), _classes(d, n)], lambda F, x, y: F.multi_margin_loss(x, y)),
    "multilabel_margin_loss": (lambda n, d: [normal(n, d), _rows_of_classes(n, d)],
                               lambda F, x, y: F.multilabel_margin_loss(x, y)),
}


def cases(side: Side) -> Iterator[Case]:
    """Each function, at each length."""
    for size, length in list(LENGTHS.items())[:2] if side.quick else LENGTHS.items():
        for name, (call, in_numpy) in PAIRS.items():
            yield _case(side, f"{name} {size}", length, call, in_numpy)
    for label, (make, of, in_numpy) in list(ARRAYS.items())[:1] if side.quick else ARRAYS.items():
        yield _array_case(side, label, make(), of, in_numpy)
    for name, (make, loss) in LOSSES.items():
        for shape in ((8, 10),) if side.quick else ((8, 10), (128, 10), (128, 1000)):
            yield _loss_case(side, f"{name} f+b of {shape[0]}x{shape[1]}", make(*shape), loss)
    yield _next_word(side, keys=1024)


def _loss_case(side: Side, label: str, arrays: list[np.ndarray], loss: Callable[..., Any]) -> Case:
    def build(library: Library) -> Callable[[], Any]:
        given = [library.tensor(array, grad=array.dtype == np.float32) for array in arrays]
        leaves = [tensor for tensor in given if tensor.requires_grad]

        def step() -> Any:
            value = loss(library.F, *given)
            value.backward()
            for leaf in leaves:
                leaf.grad = None
            return value.detach()

        return step

    return target(side, label, None, build, bytes=2 * sum(array.nbytes for array in arrays))


def _array_case(side: Side, label: str, x: np.ndarray, call: Callable[..., Any], in_numpy: Callable[..., Any]) -> Case:
    def build(library: Library) -> Callable[[], Any]:
        given = library.tensor(x)
        return lambda: call(library.lib, given)

    return target(side, label, None, build, numpy=lambda: lambda: in_numpy(x), bytes=x.nbytes,
                  exact=lambda: in_numpy(x.astype(np.float64)))


def _case(side: Side, label: str, length: int, call: Callable[..., Any], in_numpy: Callable[..., Any]) -> Case:
    x, y = normal(length), normal(length, seed=1)

    def build(library: Library) -> Callable[[], Any]:
        ours, others = library.tensor(x), library.tensor(y)
        return lambda: call(library.lib, ours, others)

    return target(side, label, None, build, numpy=lambda: lambda: in_numpy(x, y), bytes=3 * x.nbytes,
                  exact=lambda: in_numpy(x.astype(np.float64), y.astype(np.float64)))


def _next_word(side: Side, keys: int) -> Case:
    """Attention of one query in 8 heads of width 64, as for each further word of a text."""
    arrays = [normal(1, 8, length, 64, seed=seed) for seed, length in enumerate((1, keys, keys))]

    def build(library: Library) -> Callable[[], Any]:
        q, k, v = (library.tensor(array) for array in arrays)
        return lambda: library.F.scaled_dot_product_attention(q, k, v)

    return target(side, f"attention of one query, {keys} keys", None, build, numpy=lambda: lambda: _attention(*arrays),
                  bytes=sum(array.nbytes for array in arrays),
                  exact=lambda: _attention(*(array.astype(np.float64) for array in arrays)))


def _attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    scores = q @ k.swapaxes(2, 3) / np.sqrt(q.dtype.type(q.shape[3]))
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ v


def _huber(difference: np.ndarray) -> np.ndarray:
    distance = np.abs(difference)
    return np.mean(np.where(distance <= 1, difference * difference / 2, distance - 0.5))
