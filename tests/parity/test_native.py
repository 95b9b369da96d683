"""PyTorch's own namespace of layers' functions, and modules that wrap them."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid

pytestmark = pytest.mark.torch
torch: Any = pytest.importorskip("torch")


def _numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def _both(name: str, *args: Any, **keywords: Any) -> None:
    """The function `name` of both, and its gradients."""
    results = []
    for library in (torch, lucid):
        given = [library.tensor(a) if isinstance(a, np.ndarray) else a for a in args]
        leaves = [g.requires_grad_() for g, a in zip(given, args, strict=True) if isinstance(a, np.ndarray) and a.dtype.kind == "f"]
        result = getattr(library, name)(*given, **keywords)
        result.sin().sum().backward()
        results.append([result.detach().numpy(), *[None if leaf.grad is None else leaf.grad.numpy() for leaf in leaves]])
    for theirs, ours in zip(*results, strict=True):
        assert (theirs is None) == (ours is None)
        if theirs is not None:
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


X, W, B = _numbers(3, 4, 5), _numbers(4, seed=1), _numbers(4, seed=2)
CASES: dict[str, tuple[Any, ...]] = {
    "batch_norm": (X, W, B, None, None, True, 0.1, 1e-5, True),
    "instance_norm": (X, W, B, None, None, True, 0.1, 1e-5, True),
    "layer_norm": (X, (5,), _numbers(5), None, 1e-5, False),
    "group_norm": (X, 2, W, B, 1e-5, True),
    "convolution": (_numbers(2, 3, 6), _numbers(4, 3, 2), B, [1], [1], [1], False, [0], 1),
    "conv_tbc": (_numbers(6, 2, 3), _numbers(2, 3, 4), B, 1),
    "constant_pad_nd": (X, [1, 2], 3.0),
    "grid_sampler": (_numbers(2, 3, 4, 5), _numbers(2, 3, 3, 2) / 3, 0, 1, False),
    "affine_grid_generator": (_numbers(2, 2, 3), [2, 3, 4, 5], True),
    "embedding": (_numbers(5, 3), np.array([[1, 2], [4, 1]]), 2),
    "dropout": (X, 0.5, False),
    "feature_dropout": (X, 0.5, False),
    "binary_cross_entropy_with_logits": (X, np.abs(np.tanh(X)), None, None, 2),
    "kl_div": (X, np.exp(X), 0),
    "cosine_embedding_loss": (_numbers(3, 4), _numbers(3, 4, seed=1), np.array([1.0, -1, 1]), 0.5, 1),
    "hinge_embedding_loss": (X, np.sign(X), 1.0, 2),
    "margin_ranking_loss": (_numbers(4), _numbers(4, seed=1), np.array([1.0, -1, 1, -1]), 0.1, 0),
    "poisson_nll_loss": (X, np.exp(X), True, False, 1e-8, 1),
    "triplet_margin_loss": (_numbers(3, 4), _numbers(3, 4, seed=1), _numbers(3, 4, seed=2), 1.0, 2, 1e-6, False, 2),
    "gru_cell": (_numbers(2, 3), _numbers(2, 4), _numbers(12, 3), _numbers(12, 4), _numbers(12), _numbers(12, seed=1)),
    "rnn_tanh_cell": (_numbers(2, 3), _numbers(2, 4), _numbers(4, 3), _numbers(4, 4)),
    "rnn_relu_cell": (_numbers(2, 3), _numbers(2, 4), _numbers(4, 3), _numbers(4, 4)),
}


@pytest.mark.parametrize("name", CASES)
def test_functions(name: str) -> None:
    _both(name, *CASES[name])


def test_transposed_convolution() -> None:
    _both("convolution", _numbers(2, 3, 4, 4), _numbers(3, 2, 2, 2), None, [2], [0], [1], True, [1], 1)


@pytest.mark.parametrize("mode", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
@pytest.mark.parametrize("packed", [False, True])
def test_recurrent_networks(mode: str, packed: bool) -> None:
    gates = {"lstm": 4, "gru": 3}.get(mode, 1)
    shapes = [s for features in (3, 3, 8, 8) for s in ((gates * 4, features), (gates * 4, 4), (gates * 4,), (gates * 4,))]
    found = []
    for library in (torch, lucid):
        params = [library.tensor(_numbers(*shape, seed=i)) for i, shape in enumerate(shapes)]
        state = [library.tensor(_numbers(4, 2, 4, seed=s)) for s in (50, 51)]
        hx = state if mode == "lstm" else state[0]
        if packed:
            args = (library.tensor(_numbers(5, 3)), library.tensor([2, 2, 1]), hx, params, True, 2, 0.0, False, True)
        else:
            args = (library.tensor(_numbers(2, 3, 3)), hx, params, True, 2, 0.0, False, True, True)
        found.append([t.numpy() for t in getattr(library, mode)(*args)])
    assert len(found[0]) == len(found[1])
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_lstm_cell() -> None:
    found = []
    for library in (torch, lucid):
        t = [library.tensor(_numbers(*s, seed=i)) for i, s in enumerate([(2, 3), (2, 4), (2, 4), (16, 3), (16, 4), (16,), (16,)])]
        found.append([part.numpy() for part in library.lstm_cell(t[0], (t[1], t[2]), *t[3:])])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)


def test_layers_like_those_of_pytorch() -> None:
    for make, shape, more in (
        (lambda nn: nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], 2.0, head_bias=True), (6, 8), ([0, 3, 4, 9, 10, 19],)),
        (lambda nn: nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], 2.0), (8,), (11,)),
        (lambda nn: nn.LinearCrossEntropyLoss(8, 5, bias=True, label_smoothing=0.1), (6, 8), ([0, 4, 2, 1, 3, 0],)),
        (lambda nn: nn.LinearCrossEntropyLoss(8, 5, out_features=(2,), ignore_index=1), (3, 8), ([[0, 1], [2, 3], [4, 1]],)),
    ):
        theirs, ours = make(torch.nn).double(), make(lucid.nn).double()
        ours.load_state_dict({key: lucid.tensor(value.numpy()) for key, value in theirs.state_dict().items()})
        found = []
        for library, module in ((torch, theirs), (lucid, ours)):
            x = library.tensor(_numbers(*shape), requires_grad=True)
            result = module(x, *map(library.tensor, more))
            (result.loss if hasattr(result, "loss") else result.sin().sum()).backward()
            parts = result if isinstance(result, tuple) else (result,)
            found.append([p.detach().numpy() for p in parts] + [x.grad.numpy()] + [p.grad.numpy() for p in module.parameters() if p.grad is not None])
        for a, b in zip(*found, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-12)
        if hasattr(ours, "log_prob") and len(shape) == 2:
            x = _numbers(*shape, seed=3)
            np.testing.assert_allclose(ours.log_prob(lucid.tensor(x)).detach().numpy(),
                                       theirs.log_prob(torch.tensor(x)).detach().numpy(), rtol=1e-9)
            assert ours.predict(lucid.tensor(x)).tolist() == theirs.predict(torch.tensor(x)).tolist()


@pytest.mark.parametrize(("size", "channels"), [(3, 7), (4, 7), (5, 2), (1, 3)])
def test_cross_map_normalisation(size: int, channels: int) -> None:
    x = _numbers(2, channels, 3, 2)
    theirs = torch.nn.CrossMapLRN2d(size, 0.1, 0.7, 2.0)(torch.tensor(x))
    ours = lucid.nn.CrossMapLRN2d(size, 0.1, 0.7, 2.0)
    np.testing.assert_allclose(ours(lucid.tensor(x)).numpy(), theirs.numpy(), rtol=1e-9)
    assert lucid.autograd.gradcheck(ours, lucid.tensor(x, requires_grad=True))  # PyTorch's gradient is that of another sum


@pytest.mark.parametrize("pair", [
    ([1.0, 2.0], [1.0, 2.1]), ([1, 2], [1, 3]), (1.0, 1.1), (1, 2), (1, 1.0), ([[1.0, 2.0]], [1.0, 2.0]), (None, None), (None, 1.0),
    (float("nan"), float("nan")), (True, False), ({"a": 1.0}, {"a": 1.5}), ({"a": 1.0}, {"b": 1.0}),
])
@pytest.mark.parametrize("as_tensors", [False, True])
def test_assert_close_says_the_same(pair: tuple[Any, Any], as_tensors: bool) -> None:
    messages = []
    for library in (torch, lucid):
        given = pair
        if as_tensors and None not in pair and not isinstance(pair[0], dict):
            given = tuple(library.tensor(value) for value in pair)
        try:
            library.testing.assert_close(*given)
            messages.append(None)
        except AssertionError as error:
            messages.append(str(error).replace("torch.", "").replace("Size(", "("))
    theirs, ours = messages
    assert (theirs is None) == (ours is None)
    if theirs is not None:
        assert ours.splitlines()[0].split(":")[0][:30] == theirs.splitlines()[0].split(":")[0][:30]


def test_tolerances_of_assert_close() -> None:
    for dtype in ("float16", "bfloat16", "float32", "float64", "complex64", "int32"):
        for step in (1e-8, 1e-6, 1e-4, 1e-2):
            outcomes = []
            for library in (torch, lucid):
                one = library.tensor([1.0, 3.0]).double()
                try:
                    library.testing.assert_close(one.to(getattr(library, dtype)), (one * (1 + step)).to(getattr(library, dtype)))
                    outcomes.append(True)
                except AssertionError:
                    outcomes.append(False)
            assert outcomes[0] == outcomes[1], (dtype, step)
