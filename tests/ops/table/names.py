"""Rows of the op table for names beside the families: windows, short-time Fourier transforms, differences, distances, in-place
functions, activations and normalisations of the main namespace, memory given another form.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.table.row import Row, constant, matrix, pair

HALVES, COMPLEX = ("float16", "bfloat16"), ("complex64", "complex128")


def _place(x: Any) -> dict[str, Any]:
    return {"dtype": x.dtype, "device": x.device}


def _window(name: str, reference: Any) -> Row:
    return Row(name, matrix(), lambda x: reference(9)[:8], lambda lib, x: getattr(lib, name)(8, **_place(x)), smooth=False,
               special=False)


WINDOWS = [
    _window("hann_window", np.hanning), _window("hamming_window", np.hamming), _window("blackman_window", np.blackman),
    _window("bartlett_window", np.bartlett), _window("kaiser_window", lambda n: np.kaiser(n, 12.0)),
]


def _signal(rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.uniform(-1, 1, (2, 20)), rng.uniform(0.5, 1, 8)]


def _frames(x: np.ndarray, window: np.ndarray) -> np.ndarray:
    return np.stack([np.fft.rfft(x[:, t:t + 8] * window) for t in range(0, 13, 2)], -1)


FOURIER = [
    Row("stft", _signal, None, lambda lib, x, w: lib.stft(x, 8, window=w, return_complex=True)),
    Row("stft", _signal, _frames, lambda lib, x, w: lib.stft(x, 8, window=w, center=False, return_complex=True), "not centred"),
    Row("stft", _signal, None,
        lambda lib, x, w: lib.stft(x, 8, 3, 6, w[:6], normalized=True, onesided=False, return_complex=True),
        "two-sided"),
    Row("istft", lambda rng: [rng.uniform(-1, 1, (2, 5, 6)), rng.uniform(-1, 1, (2, 5, 6)), rng.uniform(0.5, 1, 8)], None,
        lambda lib, a, b, w: lib.istft(lib.complex(a, b), 8, window=w), dtypes_differ=("float16",)),
]

DIFFERENCES = [
    Row("gradient", matrix(), lambda x: tuple(np.gradient(x)), lambda lib, x: lib.gradient(x), complex=True),
    Row("gradient", matrix(), lambda x: (np.gradient(x, 2.0, axis=1, edge_order=2),),
        lambda lib, x: lib.gradient(x, spacing=2.0, dim=1, edge_order=2), "edge_order"),
    Row("gradient", matrix(), lambda x: (np.gradient(x, [0.0, 1.0, 3.0, 4.5], axis=1),),
        lambda lib, x: lib.gradient(x, spacing=(constant(lib, x, [0.0, 1.0, 3.0, 4.5]).to(x.dtype),), dim=1), "places"),
    Row("frexp", matrix(0.6, 0.9), lambda x: np.frexp(x), out=True),
    Row("Tensor.frexp", matrix(0.6, 0.9), lambda x: np.frexp(x), lambda lib, x: x.frexp()),
]

DISTANCES = [
    Row("cdist", pair(b=(5, 4)), lambda a, b: np.sqrt(((a[:, None] - b) ** 2).sum(-1)), dtypes_differ=HALVES),
    Row("cdist", pair(b=(5, 4)), lambda a, b: (np.abs(a[:, None] - b) ** 3).sum(-1) ** (1 / 3),
        lambda lib, a, b: lib.cdist(a, b, 3.0), "order 3", dtypes_differ=HALVES),
    Row("pdist", matrix(), lambda x: np.array([np.linalg.norm(x[i] - x[j]) for i in range(3) for j in range(i + 1, 3)]),
        dtypes_differ=HALVES),
    Row("renorm", matrix(1, 2), lambda x: x / (np.linalg.norm(x, axis=1, keepdims=True) + 1e-7) * 1.5,
        lambda lib, x, **out: lib.renorm(x, 2, 0, 1.5, **out),
        out=True),
    Row("cosine_similarity", pair(0.5), lambda a, b: (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)),
    Row("pairwise_distance", pair(), lambda a, b: np.linalg.norm(a - b + 1e-6, axis=-1)),
]


def _softened(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x, np.expm1(x))


ACTIVATIONS = [
    Row("celu", matrix(), _softened),
    Row("selu", matrix(), lambda x: 1.0507009873554804934193349852946 * np.where(x > 0, x,
        1.6732632423543772848170429916717 * np.expm1(x))),
    Row("prelu", lambda rng: [rng.uniform(-2, 2, (3, 4)), rng.uniform(0.1, 0.3, 1)], lambda x, w: np.where(x > 0, x, w * x)),
    Row("rrelu", matrix(), lambda x: np.where(x >= 0, x, x * (1 / 8 + 1 / 3) / 2)),
    Row("threshold", matrix(), lambda x: np.where(x > 0.5, x, 3.0), lambda lib, x: lib.threshold(x, 0.5, 3)),
    Row("hardshrink", matrix(), lambda x: np.where(np.abs(x) > 0.5, x, 0.0)),
    Row("group_norm", matrix(shape=(2, 4, 3)), lambda x: _normal(x.reshape(2, 2, 6)).reshape(x.shape),
        lambda lib, x: lib.group_norm(x, 2)),
    Row("rms_norm", matrix(), lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + np.finfo(np.float64).eps),
        lambda lib, x: lib.rms_norm(x, (4,), eps=float(np.finfo(np.float64).eps)),
        dtypes_differ=COMPLEX),
]


def _normal(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def _in_place(name: str, reference: Any, *arguments: Any, low: float = 0.3, high: float = 0.8, **options: Any) -> Row:
    return Row(name, matrix(low, high), reference, lambda lib, x: getattr(lib, name)(x * 1, *arguments), **options)


IN_PLACE = [
    _in_place("abs_", np.abs, dtypes_differ=COMPLEX), _in_place("acos_", np.arccos), _in_place("acosh_", np.arccosh,
        low=1.5, high=2.5),
    _in_place("asin_", np.arcsin), _in_place("asinh_", np.arcsinh), _in_place("atan_", np.arctan),
    _in_place("atanh_", np.arctanh), _in_place("ceil_", np.ceil, smooth=False), _in_place("clamp_",
        lambda x: np.clip(x, 0.4, 0.7), 0.4, 0.7),
    _in_place("cos_", np.cos), _in_place("cosh_", np.cosh), _in_place("deg2rad_", np.deg2rad), _in_place("exp_", np.exp),
    _in_place("exp2_", np.exp2), _in_place("expm1_", np.expm1), _in_place("floor_", np.floor, smooth=False),
    _in_place("log_", np.log), _in_place("log10_", np.log10), _in_place("log1p_", np.log1p), _in_place("log2_", np.log2),
    _in_place("neg_", np.negative), _in_place("rad2deg_", np.rad2deg), _in_place("reciprocal_", np.reciprocal),
    _in_place("relu_", lambda x: np.maximum(x, 0)), _in_place("round_", np.round, smooth=False), _in_place("rsqrt_",
        lambda x: x ** -0.5),
    _in_place("sigmoid_", lambda x: 1 / (1 + np.exp(-x))), _in_place("sin_", np.sin), _in_place("sinc_", np.sinc),
    _in_place("sinh_", np.sinh), _in_place("sqrt_", np.sqrt), _in_place("square_", np.square), _in_place("tan_", np.tan),
    _in_place("tanh_", np.tanh), _in_place("trunc_", np.trunc, smooth=False), _in_place("zero_", np.zeros_like, smooth=False),
    _in_place("fill_", lambda x: np.full_like(x, 1), 1, smooth=False), _in_place("logit_", lambda x: np.log(x / (1 - x))),
    _in_place("conj_physical_", np.conj, complex=True),
]

FORM = [
    Row("Tensor.resize_", matrix(), lambda x: x.reshape(-1)[:6].reshape(2, 3), lambda lib, x:
        x.detach().contiguous().clone().resize_(2, 3), smooth=False),
    Row("resize_as_", pair(b=(2, 3)), lambda a, b: a.reshape(-1)[:6].reshape(2, 3),
        lambda lib, a, b: lib.resize_as_(a.detach().contiguous().clone(), b), smooth=False),
    Row("Tensor.set_", pair(b=(2, 3)), lambda a, b: b, lambda lib, a, b: a.detach().clone().set_(b.detach()), smooth=False),
    Row("Tensor.set_", matrix(), lambda x: x[1:, 0].copy(),
        lambda lib, x: x.new_empty(0).set_(x.detach().contiguous().untyped_storage(), 4,
        (2,), (4,)), "storage", smooth=False),
    Row("Tensor.new_empty_strided", matrix(), lambda x: np.zeros((2, 3)),
        lambda lib, x: x.new_empty_strided((2, 3), (1, 2)).zero_(),
        smooth=False),
    Row("empty_strided", matrix(), lambda x: np.zeros((2, 3)),
        lambda lib, x: lib.empty_strided((2, 3), (1, 4), **_place(x)).zero_(),
        smooth=False),
    Row("Tensor.fill_diagonal_", matrix(), lambda x: np.where(np.eye(3, 4) > 0, 1, x),
        lambda lib, x: (x * 1).fill_diagonal_(1)),
    Row("adjoint", matrix(), lambda x: x.conj().T, complex=True), Row("conj_physical", matrix(), np.conj, complex=True,
        out=True),
    Row("Tensor.__reversed__", matrix(), lambda x: x[::-1], lambda lib, x: reversed(x)),
    Row("nonzero_static", lambda rng: [np.array([[0.0, 1.0], [2.0, 0.0]])], lambda x: np.array([[0, 1], [1, 0], [-1, -1]]),
        lambda lib, x, **out: lib.nonzero_static(x, size=3, **out), smooth=False, out=True),
    Row("unravel_index", lambda rng: [rng.integers(0, 12, (3, 2))], lambda i: np.unravel_index(i, (3, 4)),
        lambda lib, i: lib.unravel_index(i, (3, 4)), smooth=False),
    Row("scalar_tensor", matrix(), lambda x: np.array(2.0), lambda lib, x: lib.scalar_tensor(2, **_place(x)), smooth=False),
    Row("frombuffer", matrix(), lambda x: np.array([1.0, 2.0]),
        lambda lib, x: lib.frombuffer(bytearray(np.array([1.0, 2.0])), dtype=lib.float64).to(**_place(x)), smooth=False),
    Row("range", matrix(), lambda x: np.array([1.0, 3.0, 5.0]), lambda lib, x, **out: lib.range(1, 5, 2, **_place(x), **out),
        smooth=False,
        out=True),
    Row("histogramdd", matrix(shape=(20, 2)),
        lambda x: (np.histogramdd(x, [3, 4], ((-2, 2), (-1, 1)))[0], np.linspace(-2, 2, 4),
                                                         np.linspace(-1, 1, 5)),
        lambda lib, x: lib.histogramdd(x, [3, 4], range=[-2.0, 2.0, -1.0, 1.0]), smooth=False, data_dependent=True,
        dtypes_differ=HALVES),
    Row("svd_lowrank", matrix(shape=(5, 3)), lambda x: x, lambda lib, x: _product(*lib.svd_lowrank(x, 3))),
    Row("pca_lowrank", matrix(shape=(5, 3)), lambda x: x - x.mean(0), lambda lib, x: _product(*lib.pca_lowrank(x))),
]


def _product(u: Any, s: Any, v: Any) -> Any:
    """The matrix, which unlike its factors is unique."""
    return (u * s) @ v.mH


def _drawn(op: str, call: Any, low: float = 0.2, high: float = 0.8, **options: Any) -> Row:
    return Row(op, options.pop("inputs", matrix(low, high)), None, call, smooth=False, special=False, random=True, **options)


RANDOM = [
    _drawn("Tensor.geometric_", lambda lib, x: x.detach().clone().geometric_(0.3)),
    _drawn("Tensor.cauchy_", lambda lib, x: x.detach().clone().cauchy_(1, 2)),
    _drawn("Tensor.log_normal_", lambda lib, x: x.detach().clone().log_normal_(0.1, 0.5)),
    _drawn("poisson", lambda lib, x: lib.poisson(x), low=0.5, high=20.0),
    _drawn("binomial", lambda lib, n, p: lib.binomial(n, p),
        inputs=lambda rng: [rng.integers(1, 99, (3, 4)) * 1.0, rng.uniform(0.1, 0.9, (3, 4))]),
]

ROWS = WINDOWS + FOURIER + DIFFERENCES + DISTANCES + ACTIVATIONS + IN_PLACE + FORM + RANDOM
