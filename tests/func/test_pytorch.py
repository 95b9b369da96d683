"""Sixty functions through nested transforms, against torch.func and finite differences."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

Function = Callable[[Any, Any, Any], Any]
W = np.random.default_rng(1).uniform(-1, 1, (4, 4))


def F(lib: Any) -> Any:
    return lib.nn.functional


#: Of a library, a vector (4,) and a matrix (4, 4) of numbers from 0.2 to 1.2, smooth there.
FUNCTIONS: dict[str, Function] = {
    **{name: (lambda lib, x, m, name=name: getattr(lib, name)(x) * m.sum(0)) for name in
       "sin cos tan exp log sqrt rsqrt tanh sigmoid erf atan sinh cosh log1p expm1 reciprocal square asinh lgamma digamma".split()},
    **{name: (lambda lib, x, m, name=name: getattr(F(lib), name)(x @ m)) for name in
       "gelu silu softplus elu selu mish logsigmoid tanhshrink softsign".split()},
    **{name: (lambda lib, x, m, name=name: getattr(lib, name)(m * x, 1)) for name in
       "cumsum cumprod softmax log_softmax logsumexp mean sum amax std var prod logcumsumexp".split()},
    "matmul": lambda lib, x, m: m @ (x * m.T) @ x,
    "linear": lambda lib, x, m: F(lib).linear(x, m, x * 2),
    "outer": lambda lib, x, m: lib.outer(x, m[0]) * m,
    "einsum": lambda lib, x, m: lib.einsum("ij,j,jk->ik", m, x, m),
    "solve": lambda lib, x, m: lib.linalg.solve(m + 3 * lib.diag(x), x),
    "inv": lambda lib, x, m: lib.linalg.inv(m + 3 * lib.diag(x + 1)) @ x,
    "det": lambda lib, x, m: lib.linalg.det(m * x),
    "cholesky": lambda lib, x, m: lib.linalg.cholesky(m @ m.T + lib.diag(x + 1)),
    "norm": lambda lib, x, m: lib.linalg.norm(m * x, dim=1),
    "cosine": lambda lib, x, m: F(lib).cosine_similarity(m, x.unsqueeze(0), dim=1),
    "index": lambda lib, x, m: m[[0, 2, 2]] * x + m[:, 1:3].sum(),
    "where": lambda lib, x, m: lib.where(m > 0.6, m * x, m ** 2),
    "gather": lambda lib, x, m: m.gather(1, lib.tensor([[0, 1], [3, 3], [2, 0], [1, 1]])) * x[:2],
    "scatter_add": lambda lib, x, m: m.scatter_add(1, lib.tensor([[0, 0], [1, 3], [2, 2], [3, 0]]), m[:, :2] * x[:2]),
    "cat": lambda lib, x, m: lib.cat([m * x, m.T, x.reshape(1, 4) ** 2]),
    "roll": lambda lib, x, m: lib.roll(m * x, 1, 0) * m.flip(1),
    "pad": lambda lib, x, m: F(lib).pad((m * x).reshape(1, 4, 4), (1, 2), mode="reflect") ** 2,
    "layer_norm": lambda lib, x, m: F(lib).layer_norm(m, (4,), x, x * 2),
    "group_norm": lambda lib, x, m: F(lib).group_norm((m * x).reshape(2, 4, 2), 2, x),
    "conv1d": lambda lib, x, m: F(lib).conv1d(m.reshape(2, 1, 8), (x * m[0]).reshape(2, 1, 2)),
    "conv2d": lambda lib, x, m: F(lib).conv2d(m.reshape(1, 1, 4, 4), x.reshape(1, 1, 2, 2), padding=1),
    "avg_pool2d": lambda lib, x, m: F(lib).avg_pool2d((m * x).reshape(1, 1, 4, 4), 2) ** 2,
    "max_pool2d": lambda lib, x, m: F(lib).max_pool2d((m * x).reshape(1, 1, 4, 4), 2) ** 2,
    "interpolate": lambda lib, x, m: F(lib).interpolate((m * x).reshape(1, 1, 4, 4), scale_factor=2, mode="bilinear") ** 2,
    "mse_loss": lambda lib, x, m: F(lib).mse_loss(m * x, m.T),
    "cross_entropy": lambda lib, x, m: F(lib).cross_entropy(m * x, lib.tensor([0, 3, 1, 1])),
    "bce": lambda lib, x, m: F(lib).binary_cross_entropy_with_logits(m * x, m.detach() * 0 + 0.3),
    "attention": lambda lib, x, m: F(lib).scaled_dot_product_attention(*[(m * x).reshape(1, 1, 4, 4)] * 3),
    "embedding": lambda lib, x, m: F(lib).embedding(lib.tensor([1, 1, 3]), m) * x,
    "fft": lambda lib, x, m: lib.fft.rfft(m * x).abs(),
    "triu": lambda lib, x, m: (m * x).triu() @ m.tril(),
    "kron": lambda lib, x, m: lib.kron(m[:2, :2], x.reshape(2, 2)),
}


def inputs(lib: Any, batch: int | None = None) -> list[Any]:
    rng = np.random.default_rng(0)
    lead = () if batch is None else (batch,)
    return [lib.tensor(rng.uniform(0.2, 1.2, (*lead, *shape))) for shape in ((4,), (4, 4))]


def close(mine: Any, theirs: Any, tolerance: float = 1e-7) -> None:
    if isinstance(mine, (tuple, list)):
        assert len(mine) == len(theirs)
        for a, b in zip(mine, theirs, strict=True):
            close(a, b, tolerance)
        return
    assert tuple(mine.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(mine.detach().numpy(), theirs.detach().numpy(), rtol=tolerance, atol=tolerance)


def scalar(function: Function, lib: Any) -> Any:
    return lambda x, m: (function(lib, x, m) * 1.3).sin().sum()


#: Of a library and one of the functions; what is compared.
TRANSFORMS: dict[str, Callable[[Any, Function], Any]] = {
    "vmap": lambda lib, f: lib.func.vmap(lambda x, m: f(lib, x, m), in_dims=(0, None))(inputs(lib, 3)[0], inputs(lib)[1]),
    "vmap(grad)": lambda lib, f: lib.func.vmap(lib.func.grad(scalar(f, lib), (0, 1)), in_dims=(None, 0))(
        inputs(lib)[0], inputs(lib, 3)[1]),
    "grad(vmap)": lambda lib, f: lib.func.grad(lambda x, m: lib.func.vmap(scalar(f, lib), in_dims=(None, 0))(x, m).sum(), (0, 1))(
        inputs(lib)[0], inputs(lib, 3)[1]),
    "jacrev": lambda lib, f: lib.func.jacrev(lambda x, m: f(lib, x, m), (0, 1))(*inputs(lib)),
    "jacfwd": lambda lib, f: lib.func.jacfwd(lambda x, m: f(lib, x, m), (0, 1))(*inputs(lib)),
    "hessian": lambda lib, f: lib.func.hessian(scalar(f, lib))(*inputs(lib)),
    "jvp(grad)": lambda lib, f: lib.func.jvp(lambda x: lib.func.grad(scalar(f, lib))(x, inputs(lib)[1]), (inputs(lib)[0],),
                                             (lib.ones_like(inputs(lib)[0]),)),
    "vmap(jvp)": lambda lib, f: lib.func.vmap(lambda x, m: lib.func.jvp(lambda x: f(lib, x, m), (x,), (x * 2,)))(*inputs(lib, 3)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nested_transforms(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for transform, apply in TRANSFORMS.items():
            try:
                theirs = apply(torch, FUNCTIONS[name])
            except (RuntimeError, NotImplementedError) as error:
                # Not there in PyTorch: another transform says the same of lucid's.
                assert any(text in str(error) for text in ("not implemented", "forward AD", "forward-mode", "ZeroTensors")), error
                continue
            try:
                close(apply(lucid, FUNCTIONS[name]), theirs)
            except Exception as error:
                error.add_note(transform)
                raise


@pytest.mark.parametrize("name", FUNCTIONS)
def test_finite_differences(name: str) -> None:
    function, (x, m) = FUNCTIONS[name], inputs(lucid)
    found = lucid.func.jacfwd(lambda x: function(lucid, x, m))(x)
    for place in range(4):
        step = np.zeros(4)
        step[place] = 1e-6
        ahead, behind = (function(lucid, x + sign * lucid.tensor(step), m).numpy() for sign in (1, -1))
        np.testing.assert_allclose(found[..., place].numpy(), (ahead - behind) / 2e-6, rtol=1e-4, atol=1e-6)


def test_there_are_sixty() -> None:
    assert len(FUNCTIONS) >= 60
