"""What overrides get of a call: as in PyTorch, arguments without a default by place, and the others by name with their defaults."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lucid
import lucid.nn.functional as F
from lucid import fx


def asked(answer: Callable[..., Any] = lambda func, args, kwargs: (args, kwargs)) -> Any:
    """An object whose class says what it was asked; the class lives no longer than the test."""
    class Asked:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return answer(func, args, kwargs)

    return Asked()


def test_arguments_by_place_and_by_name() -> None:
    x = asked()
    assert F.relu(x, True) == ((x,), {"inplace": True})
    assert F.dropout(x, training=False) == ((x,), {"p": 0.5, "training": False, "inplace": False})
    assert F.layer_norm(weight=x, input=x, normalized_shape=3) == ((x, 3), {"weight": x, "bias": None, "eps": 1e-5})
    assert lucid.split(x, 2) == ((x, 2), {"dim": 0})
    assert lucid.tensordot(x, x, 1) == ((x, x), {"dims": 1, "out": None})
    assert lucid.relu(x) == ((x,), {}) and F.gelu(x) == ((x,), {})


def test_operands_of_einsum_one_by_one() -> None:
    x, y = asked(), lucid.ones(2)
    assert lucid.einsum("i,i", [x, y]) == lucid.einsum("i,i", x, y) == (("i,i", x, y), {})


def test_too_many_arguments_are_refused_by_the_function() -> None:
    x = asked(lambda func, args, kwargs: func(lucid.ones(2), *args[1:], **kwargs))
    assert F.relu(x).tolist() == [1, 1]
    with pytest.raises(TypeError):
        F.relu(x, False, 1)  # type: ignore[call-arg]


def test_nodes_of_a_graph() -> None:
    graph = fx.symbolic_trace(lambda a: F.max_pool2d(F.leaky_relu(a, 0.2), 2))
    relu, pool = [node for node in graph.graph.nodes if node.op == "call_function"]
    assert relu.kwargs == {"negative_slope": 0.2, "inplace": False} and pool.args[1:] == (2,) and pool.kwargs["ceil_mode"] is False
    x = lucid.randn(1, 2, 4, 4)
    assert graph(x).equal(F.max_pool2d(F.leaky_relu(x, 0.2), 2))


@pytest.mark.parametrize("name", "relu dropout softmax cross_entropy max_pool2d batch_norm pad embedding interpolate rrelu".split())
def test_as_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    places = {"batch_norm": 3}.get(name, 1 if name in ("relu", "dropout", "interpolate", "rrelu") else 2)
    x = asked()
    found, wanted = [getattr(space, name)(*[x] * places) for space in (F, torch.nn.functional)]
    assert found[0] == wanted[0] and list(found[1].items()) == list(wanted[1].items())
