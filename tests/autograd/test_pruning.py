"""`grad` for some inputs, and `backward(inputs=...)`, compute no gradient of an operation that leads to none of them."""
from __future__ import annotations

import ast
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from lucid import Tensor, nn
from lucid.autograd import Function, grad
from lucid.backends import observe

# name -> (the operation, the shapes of its arguments)
CASES: dict[str, tuple[Callable[..., Tensor], list[tuple[int, ...]]]] = {
    "matmul": (lambda a, b: a @ b, [(5, 4), (4, 3)]),
    "matmul of stacks": (lambda a, b: a @ b, [(2, 5, 4), (4, 3)]),
    "linear": (F.linear, [(6, 4), (3, 4), (3,)]),
    "conv1d": (F.conv1d, [(2, 3, 9), (4, 3, 3), (4,)]),
    "conv2d": (F.conv2d, [(2, 3, 6, 5), (4, 3, 3, 3), (4,)]),
    "conv3d": (F.conv3d, [(1, 2, 4, 5, 4), (3, 2, 3, 3, 3), (3,)]),
    "conv_transpose2d": (F.conv_transpose2d, [(2, 3, 4, 5), (3, 4, 3, 3), (4,)]),
}


def arguments(shapes: list[tuple[int, ...]], device: str) -> list[Tensor]:
    rng = np.random.default_rng(0)
    return [lucid.tensor(rng.standard_normal(shape), device=device, requires_grad=True) for shape in shapes]


def operations(function: Callable[[], Any]) -> list[Any]:
    """The kernels that a call runs: their names, the shapes of their arguments, and what is asked of them."""
    calls: list[Any] = []
    with observe(lambda name, arrays, attributes, result: calls.append(
            (name, [getattr(array, "shape", None) for array in arrays], attributes.get("with_bias")))):
        function()
    return calls


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_each_gradient_alone_is_that_of_all(name: str, create_graph: bool, device: str) -> None:
    function, shapes = CASES[name]
    leaves = arguments(shapes, device)
    y = function(*leaves)
    g = lucid.ones_like(y) * 0.5
    together = grad(y, leaves, g, retain_graph=True)
    for leaf, expected in zip(leaves, together, strict=True):
        (alone,) = grad(y, [leaf], g, retain_graph=True, create_graph=create_graph)
        np.testing.assert_allclose(alone.detach().cpu().numpy(), expected.cpu().numpy(), rtol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_no_other_gradient_is_computed(name: str) -> None:
    function, shapes = CASES[name]
    leaves = arguments(shapes, "cpu")
    y = function(*leaves)
    g = lucid.ones_like(y)
    for leaf in leaves:
        constants = [other if other is leaf else other.detach() for other in leaves]
        z = function(*constants)
        wanted = operations(lambda leaf=leaf, z=z: grad(z, [leaf], g))
        assert operations(lambda leaf=leaf: grad(y, [leaf], g, retain_graph=True)) == wanted
        assert operations(lambda leaf=leaf: y.backward(g, inputs=[leaf], retain_graph=True))[: len(wanted)] == wanted


def test_second_derivatives_of_a_gradient_penalty() -> None:
    """As in PyTorch's recipe: the gradient for the input, whose norm is differentiated for the weights."""
    lucid.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).double()
    x = lucid.randn(5, 4, dtype=lucid.float64, requires_grad=True)

    def penalty(inputs: list[Tensor]) -> Tensor:
        to_x = grad(net(x).sum(), inputs, create_graph=True)[0]
        return (to_x.norm(dim=1) - 1).square().mean()

    alone = grad(penalty([x]), list(net.parameters()), allow_unused=True)
    together = grad(penalty([x, *net.parameters()]), list(net.parameters()), allow_unused=True)
    for one, other in zip(alone, together, strict=True):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers(kind: str, device: str) -> None:
    lucid.manual_seed(0)
    layer = getattr(nn, kind)(3, 4, batch_first=True).double().to(device)
    x = lucid.randn(2, 5, 3, dtype=lucid.float64, device=device, requires_grad=True)
    y = layer(x)[0]
    g = lucid.ones_like(y)
    leaves = [x, *layer.parameters()]
    together = grad(y, leaves, g, retain_graph=True)
    for leaf, expected in zip(leaves, together, strict=True):
        np.testing.assert_allclose(grad(y, [leaf], g, retain_graph=True)[0].cpu().numpy(), expected.cpu().numpy(), rtol=1e-10)
    of_all, of_input = (operations(lambda wanted=wanted: grad(y, wanted, g, retain_graph=True)) for wanted in (leaves, [x]))
    assert len(of_input) < len(of_all)


def test_a_run_inside_a_gradient_is_not_pruned() -> None:
    """`backward` in a Function's gradient fills all leaves, though the outer run needs one gradient only."""
    weight = lucid.tensor([[2.0, 1.0], [0.0, 3.0]], requires_grad=True)

    class Inner(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
            return x + y

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor]:
            with lucid.enable_grad():
                x = lucid.ones(1, 2, requires_grad=True)
                (x @ weight).sum().backward()
                assert x.grad is not None
            return g, g

    a, b = (lucid.ones(2, requires_grad=True) for _ in range(2))
    grad(Inner.apply(a, b).sum(), [a])
    assert weight.grad is not None
    assert weight.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_a_third_parameter_of_a_vjp_is_what_the_engine_takes_it_for() -> None:
    """It passes the needs, by their name, to each vjp with a default."""
    found = 0
    for path in (pathlib.Path(lucid.__file__).parent / "ops").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name == "vjp" and node.args.defaults:
                assert [each.arg for each in node.args.args[2:]] == ["needs"], path
                found += 1
            elif isinstance(node, ast.Lambda) and len(node.args.args) > 1 and node.args.args[0].arg in ("g", "gg", "gs"):
                assert not node.args.defaults, path
    assert found
