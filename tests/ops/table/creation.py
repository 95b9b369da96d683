"""Rows of the op table for creation and random numbers. The first input gives dtype and device of what is made."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.ops.table.row import Row, matrix, pair


def _like(x: Any) -> dict[str, Any]:
    return {"dtype": x.dtype, "device": x.device}


def _made(op: str, reference: Callable[..., Any] | None, call: Callable[..., Any], **options: Any) -> Row:
    return Row(op, options.pop("inputs", matrix()), reference, call, smooth=options.pop("smooth", False), special=False,
        **options)


CREATION = [
    _made("arange", lambda x: np.arange(2.0, 11, 3), lambda lib, x, **out: lib.arange(2, 11, 3, **_like(x), **out), out=True),
    _made("linspace", lambda x: np.linspace(0, 3, 7),
        lambda lib, x, **out: lib.linspace(0, 3, 7, **_like(x), **out), out=True),
    _made("logspace", lambda x: np.logspace(0, 2, 5, base=2.0),
        lambda lib, x, **out: lib.logspace(0, 2, 5, 2.0, **_like(x), **out),
          out=True),
    _made("zeros", lambda x: np.zeros((2, 3)), lambda lib, x, **out: lib.zeros(2, 3, **_like(x), **out), out=True),
    _made("ones", lambda x: np.ones((2, 3)), lambda lib, x, **out: lib.ones(2, 3, **_like(x), **out), out=True),
    _made("full", lambda x: np.full((2, 3), 1.0), lambda lib, x, **out: lib.full((2, 3), 1, **_like(x), **out), out=True),
    _made("empty", lambda x: np.zeros((2, 3)), lambda lib, x: lib.empty(2, 3, **_like(x)).zero_()),
    _made("zeros_like", np.zeros_like, lambda lib, x: lib.zeros_like(x)), _made("ones_like", np.ones_like,
        lambda lib, x: lib.ones_like(x)),
    _made("full_like", lambda x: np.full_like(x, 1), lambda lib, x: lib.full_like(x, 1)),
    _made("empty_like", np.zeros_like, lambda lib, x: lib.empty_like(x).zero_()),
    _made("Tensor.new_zeros", lambda x: np.zeros((2, 3)), lambda lib, x: x.new_zeros(2, 3)),
    _made("Tensor.new_ones", lambda x: np.ones((2, 3)), lambda lib, x: x.new_ones((2, 3))),
    _made("Tensor.new_full", lambda x: np.full((2, 3), 1.0), lambda lib, x: x.new_full((2, 3), 1)),
    _made("Tensor.new_empty", lambda x: np.zeros((2, 3)), lambda lib, x: x.new_empty(2, 3).zero_()),
    _made("Tensor.new_tensor", lambda x: np.array([1.0, 0.0]), lambda lib, x: x.new_tensor([1, 0])),
    _made("tensor", lambda x: np.array([[1.0, 0.0]]), lambda lib, x: lib.tensor([[1, 0]], **_like(x))),
    _made("as_tensor", lambda x: np.array([1.0, 0.0]), lambda lib, x: lib.as_tensor([1, 0], **_like(x))),
    _made("asarray", lambda x: x, lambda lib, x: lib.asarray(x)),
    _made("eye", lambda x: np.eye(3, 4), lambda lib, x, **out: lib.eye(3, 4, **_like(x), **out), out=True),
    _made("tril_indices", lambda x: np.stack(np.tril_indices(3, 1, 4)),
        lambda lib, x: lib.tril_indices(3, 4, 1, device=x.device)),
    _made("triu_indices", lambda x: np.stack(np.triu_indices(3, 1, 4)),
        lambda lib, x: lib.triu_indices(3, 4, 1, device=x.device)),
    _made("from_numpy", lambda x: np.array([1.0, 2.0]), lambda lib, x: lib.from_numpy(np.array([1.0, 2.0])).to(**_like(x))),
    _made("from_dlpack", lambda x: x, lambda lib, x: lib.from_dlpack(x.detach())),
    Row("cartesian_prod", pair(a=(2,), b=(3,)), lambda a, b: np.stack(np.meshgrid(a, b, indexing="ij"), -1).reshape(-1, 2)),
    Row("complex", pair(), lambda a, b: a + 1j * b, out=True, dtypes_differ=("float16",)), Row("polar", pair(0.2), lambda r, t: r * np.exp(1j * t),
        out=True),
]


def _random(op: str, call: Callable[..., Any], **options: Any) -> Row:
    return _made(op, None, call, random=True, **options)


def _probabilities(rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.uniform(0.1, 0.9, (3, 4))]


RANDOM = [
    _random("rand", lambda lib, x: lib.rand(2, 3, **_like(x))), _random("randn", lambda lib, x: lib.randn(2, 3, **_like(x))),
    _random("randint", lambda lib, x: lib.randint(1, 9, (2, 3), **_like(x))),
    _random("rand_like", lambda lib, x: lib.rand_like(x)), _random("randn_like", lambda lib, x: lib.randn_like(x)),
    _random("randint_like", lambda lib, x: lib.randint_like(x, 9)),
    _random("randperm", lambda lib, x: lib.randperm(7, **_like(x))),
    _random("normal", lambda lib, mean, std: lib.normal(mean, std), inputs=pair(0.1)),
    _random("bernoulli", lambda lib, p: lib.bernoulli(p), inputs=_probabilities),
    _random("multinomial", lambda lib, p: lib.multinomial(p, 2), inputs=_probabilities),
    _random("Tensor.uniform_", lambda lib, x: x.clone().uniform_(-1, 2)),
    _random("Tensor.normal_", lambda lib, x: x.clone().normal_(1, 2)),
    _random("Tensor.exponential_", lambda lib, x: x.clone().exponential_(2)),
    _random("Tensor.bernoulli_", lambda lib, x: x.clone().bernoulli_(0.3)),
    _random("Tensor.random_", lambda lib, x: x.clone().random_(0, 2)),
    _random("random.rand", lambda lib, x: lib.random.rand(2, 3, device=x.device)),
    _random("random.randn", lambda lib, x: lib.random.randn(2, 3, device=x.device)),
    _random("random.randint", lambda lib, x: lib.random.randint(1, 9, (2, 3), device=x.device)),
    _random("random.uniform", lambda lib, x: lib.random.uniform(1.0, 2.0, (2, 3), device=x.device)),
    _random("random.bernoulli", lambda lib, x: lib.random.bernoulli(0.3, (2, 3), device=x.device)),
    _random("random.permutation", lambda lib, x: lib.random.permutation(7, device=x.device)),
]

DTYPES = [
    _made("Tensor.type_as", lambda a, b: a, lambda lib, a, b: a.type_as(b), inputs=pair()),
    _made("Tensor.sum_to_size", lambda x: x.sum(0, keepdims=True), lambda lib, x: x.sum_to_size(1, 4)),
    _made("Tensor.fill_", lambda x: np.full(x.shape, 1.0), lambda lib, x: x.clone().fill_(1)),
    _made("Tensor.zero_", np.zeros_like, lambda lib, x: x.clone().zero_()),
    _made("Tensor.copy_", lambda a, b: b, lambda lib, a, b: a.clone().copy_(b), inputs=pair(), smooth=True),
    _made("Tensor.real", lambda x: x, lambda lib, x: x.real, smooth=True),
    _made("Tensor.imag", lambda a, b: b, lambda lib, a, b: lib.complex(a, b).imag, inputs=pair(), smooth=True,
          dtypes_differ=("float16",)),
]

ROWS = CREATION + RANDOM + DTYPES
