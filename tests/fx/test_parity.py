"""Graphs and code are PyTorch's, and so are results."""
from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import lucid
from tests.fx.programs import programs

torch = pytest.importorskip("torch")
from torch import fx  # noqa: E402


def text(value: Any) -> str:
    return re.sub(r"\btorch\b", "lucid", str(value))


def leaves(value: Any) -> list[Any]:
    """The tensors and numbers of a result, in order."""
    if isinstance(value, lucid.Tensor | torch.Tensor):
        return [np.asarray(value.detach())]
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in leaves(each)]
    return [leaf for each in value for leaf in leaves(each)] if isinstance(value, tuple | list) else [value]


@pytest.mark.parametrize("name", programs(lucid))
def test_graph_code_and_results(name: str) -> None:
    (theirs, their_inputs), (root, inputs) = programs(torch)[name], programs(lucid)[name]
    concrete = {"flag": True} if name == "calls" else None
    wanted, traced = fx.symbolic_trace(theirs, concrete), lucid.fx.symbolic_trace(root, concrete)
    assert str(traced.graph) == text(wanted.graph)
    assert traced.code == text(wanted.code)
    traced.load_state_dict({key: lucid.tensor(each.numpy()) for key, each in wanted.state_dict().items()})
    for found, right in zip(leaves(traced(*inputs)), leaves(wanted(*their_inputs)), strict=True):
        if isinstance(right, np.ndarray | float):
            np.testing.assert_allclose(found, right, rtol=1e-5)
        else:
            assert text(found) == text(right)


@pytest.mark.parametrize("use", [
    lambda torch, x: x if x else -x, lambda torch, x: list(x), lambda torch, x: int(x), lambda torch, x: len(x),
    lambda torch, x: torch.add(*x), lambda torch, x: 3 in x, lambda torch, x: {x: 1}, lambda torch, x: x + object(),
    lambda torch, x: max(x, 1), lambda torch, x: x.sum() > 0 and x, lambda torch, x: range(x),
])
def test_what_cannot_be_traced(use: Any) -> None:
    errors = []
    for library in (torch, lucid):
        def traced(x, library=library):
            return use(library, x)

        with pytest.raises(Exception, match=r".") as error:
            library.fx.Tracer().trace(traced, {"library": library})
        errors.append(type(error.value).__name__)
    assert errors[0] == errors[1]
