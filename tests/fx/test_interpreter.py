"""Graphs that are run, transformed and rewritten."""
from __future__ import annotations

from typing import Any

import pytest

import lucid
from lucid import fx, nn


def test_an_interpreter_runs_a_graph(device: str) -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU()).to(device)
    traced = fx.symbolic_trace(model)
    x = lucid.rand(4, 2, device=device)
    run = fx.Interpreter(traced)
    assert lucid.equal(run.run(x), model(x)) and [node.op for node in run.env] == ["output"]
    keeping = fx.Interpreter(traced, garbage_collect_values=False)
    keeping.run(x)
    assert [node.op for node in keeping.env] == ["placeholder", "call_module", "call_module", "output"]
    first = next(iter(traced.graph.nodes))
    assert lucid.equal(fx.Interpreter(traced).run(initial_env={first: x}), model(x))
    values = [x]
    assert lucid.equal(fx.Interpreter(traced).boxed_run(values), model(x)) and values == []


def test_arguments_of_an_interpreter() -> None:
    traced = fx.symbolic_trace(lambda x, y=2, *args: x + y + args[0])
    assert fx.Interpreter(traced).run(1, 2, 3) == 6
    defaults = fx.symbolic_trace(lambda x, y=2: x + y)
    assert fx.Interpreter(defaults).run(1) == 3
    with pytest.raises(RuntimeError, match=r"Expected positional argument for parameter x[^%]*While executing %x :"):
        fx.Interpreter(defaults).run()
    with pytest.raises(RuntimeError, match="While executing %matmul"):
        fx.Interpreter(fx.symbolic_trace(lambda x: x @ x)).run(lucid.ones(2, 3))


def test_operations_are_replaced_while_a_graph_runs() -> None:
    class Negative(fx.Interpreter):
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            return lucid.neg(*args) if target is lucid.relu else super().call_function(target, args, kwargs)

        def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
            return super().call_method("exp" if target == "log" else target, args, kwargs)

    assert Negative(fx.symbolic_trace(lambda x: lucid.relu(x).log() + 1)).run(lucid.zeros(1)).item() == 2


def test_a_transformer_makes_another_module() -> None:
    class Smooth(fx.Transformer):
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            return super().call_function(lucid.tanh if target is lucid.relu else target, args, kwargs)

        def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
            if isinstance(self.fetch_attr(target), nn.ReLU):
                return lucid.sigmoid(args[0]) * 2
            return super().call_module(target, args, kwargs)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
            self.scale = nn.Parameter(lucid.ones(2))

        def forward(self, x: Any, k: float = 3.0) -> Any:
            return {"out": lucid.relu(self.layers(x)) * self.scale * k}

    root = Model()
    made = Smooth(fx.symbolic_trace(root)).transform()
    x = lucid.rand(1, 2)
    wanted = lucid.tanh(lucid.sigmoid(root.layers[0](x)) * 2) * 3
    assert lucid.allclose(made(x)["out"], wanted) and made.scale is root.scale
    made.graph.lint()
    assert not any(isinstance(module, nn.ReLU) for module in made.modules())


def test_patterns_are_replaced() -> None:
    traced = fx.symbolic_trace(lambda a, b, c: lucid.relu(lucid.relu(a) + b) + c)
    matches = fx.replace_pattern(traced, lambda x, y: lucid.relu(x) + y, lambda x, y: lucid.sigmoid(x) * y)
    assert len(matches) == 2 and matches[0].anchor.name == "add"
    traced.graph.lint()
    a, b, c = lucid.rand(3)
    assert lucid.equal(traced(a, b, c), lucid.sigmoid(lucid.sigmoid(a) * b) * c)
    assert [node.name for node in traced.graph.nodes] == ["a", "b", "c", "sigmoid", "mul", "sigmoid_1", "mul_1", "output"]


def test_where_a_pattern_does_not_match() -> None:
    def pattern(x: Any) -> Any:
        return lucid.relu(x).sum(0)

    used = fx.symbolic_trace(lambda x: [relu := lucid.relu(x), relu.sum(0)])  # what it computes within is needed elsewhere
    assert fx.replace_pattern(used, pattern, lambda x: x) == []
    assert fx.replace_pattern(fx.symbolic_trace(lambda x: lucid.relu(x).sum(1)), pattern, lambda x: x) == []
    assert fx.replace_pattern(fx.symbolic_trace(lambda x: lucid.relu(x).sum(0)), pattern, lambda x: x)
    twice = fx.symbolic_trace(lambda x, y: x + x - (x + y))
    assert len(fx.replace_pattern(twice, lambda a: a + a, lambda a: a * 2)) == 1 and twice(3, 4) == -1
    with pytest.raises(AssertionError, match="has 1 parameters, the replacement 2"):
        fx.replace_pattern(twice, pattern, lambda x, y: x)
    with pytest.raises(NotImplementedError, match="returns one value"):
        fx.replace_pattern(twice, lambda x: (x + 1, x), lambda x: (x, x))


def test_modules_in_a_replacement() -> None:
    class New(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.new = nn.Linear(2, 2)

        def forward(self, x: Any) -> Any:
            return self.new(x)

    traced = fx.symbolic_trace(lambda x: lucid.relu(x) + 1)
    replacement = New()
    fx.replace_pattern(traced, lambda x: lucid.relu(x), replacement)
    x = lucid.rand(1, 2)
    assert lucid.equal(traced(x), replacement(x) + 1) and traced.new is replacement.new


def test_shapes_and_dtypes_of_all_values(device: str) -> None:
    traced = fx.symbolic_trace(lambda x: (x.split(1), x.sum().item(), x.shape, x.to(memory_format=lucid.channels_last)))
    x = lucid.ones(2, 3, 2, 2, device=device)
    assert fx.passes.ShapeProp(traced).propagate(x)[1] == 24
    split, total, item, converted, shape = [node for node in traced.graph.nodes if node.op.startswith("call")]
    assert [part.shape for part in split.meta["tensor_meta"]] == [(1, 3, 2, 2)] * 2 and split.meta["type"] is tuple
    assert total.meta["tensor_meta"].shape == () and item.meta == {"type": float} and shape.meta == {"type": lucid.Size}
    found = converted.meta["tensor_meta"]
    assert found.memory_format is lucid.channels_last and found.stride == (12, 1, 6, 3) and found.dtype == lucid.float32
    with pytest.raises(RuntimeError, match="ShapeProp error for: node=%matmul"):
        fx.passes.ShapeProp(fx.symbolic_trace(lambda x: x @ x)).propagate(lucid.ones(2, 3))
    with pytest.raises(NotImplementedError, match="no fake tensors"):
        fx.passes.ShapeProp(traced, fake_mode=3)
