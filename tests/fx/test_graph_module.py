"""Modules that run graphs."""
from __future__ import annotations

import copy
import linecache
import pickle
import traceback
from typing import Any

import pytest

import lucid
from lucid import fx, nn


def model() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Sequential(nn.ReLU()))


def test_modules_and_their_state_are_shared() -> None:
    root = model()
    traced = fx.symbolic_trace(root)
    assert traced.get_submodule("0") is root[0] and list(traced.state_dict()) == list(root.state_dict())
    x = lucid.rand(4, 3)
    traced(x).sum().backward()
    assert root[0].weight.grad is not None and root[1].num_batches_tracked.item() == 1
    assert lucid.equal(traced.eval()(x), root.eval()(x)) and not root[0].training
    assert type(traced).__name__ == "Sequential" and isinstance(traced, fx.GraphModule)
    assert "# To see more debug info" in str(traced) and repr(traced).startswith("Sequential(\n  (0): Linear(")


def test_each_module_has_its_own_code() -> None:
    first, second = fx.symbolic_trace(lambda x: x + 1), fx.symbolic_trace(lambda x: x * 5)
    assert first(2) == 3 and second(2) == 10 and type(first) is not type(second)
    first.graph = second.graph
    assert first(2) == 10 and first.code == second.code and second.graph.owning_module is None
    with pytest.raises(AssertionError, match="Expecting a Graph"):
        first.graph = 3  # type: ignore[assignment]


@pytest.mark.parametrize("again", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))], ids=["copy", "pickle"])
def test_copies(again: Any) -> None:
    traced = fx.symbolic_trace(model()).eval()
    traced.register_forward_hook(_doubled)
    traced.meta["k"] = [1]
    copied = again(traced)
    x = lucid.rand(2, 3)
    assert lucid.equal(copied(x), traced(x)) and copied.code == traced.code and copied.meta == {"k": [1]} and not copied.training
    assert copied.get_parameter("0.weight") is not traced.get_parameter("0.weight") and type(copied).__name__ == "Sequential"
    node = next(node for node in copied.graph.nodes if node.op == "call_module")
    copied.graph.erase_node(copied.graph.output_node())
    copied.graph.output(node)
    copied.recompile()
    assert copied.code != traced.code and not lucid.equal(copied(x), traced(x))
    shallow = copy.copy(traced)
    assert shallow.get_parameter("0.weight") is traced.get_parameter("0.weight")


def _doubled(module: Any, args: Any, output: Any) -> Any:
    return 2 * output


def test_roots() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(lucid.add, (graph.call_module("a.b", (x,)), graph.get_attr("a.c"))))
    module = fx.GraphModule({"a.b": nn.ReLU(), "a.c": lucid.ones(1), "other": 3}, graph)
    assert module(-lucid.ones(1)).item() == 1 and list(module.state_dict()) == ["a.c"] and not hasattr(module, "other")
    with pytest.raises(RuntimeError, match=r"target a\.c but that target was not provided"):
        fx.GraphModule({"a.b": nn.ReLU()}, copy.deepcopy(graph))
    with pytest.raises(AttributeError, match="has no attribute 'a'"):
        fx.GraphModule(nn.Module(), copy.deepcopy(graph))
    with pytest.raises(RuntimeError, match="Unsupported type"):
        fx.GraphModule(3, copy.deepcopy(graph))  # type: ignore[arg-type]


def test_submodules_come_and_go() -> None:
    traced = fx.symbolic_trace(model())
    assert traced.add_submodule("new.act", nn.ReLU()) and not traced.add_submodule("training.x", nn.ReLU())
    with traced.graph.inserting_before(traced.graph.output_node()):
        new = traced.graph.call_module("new.act", (traced.graph.output_node().args[0],))
    traced.graph.output_node().args = (new,)
    traced.graph.lint()
    traced.add_submodule("unused", nn.ReLU())
    traced.delete_all_unused_submodules()
    assert [name for name, _ in traced.named_modules()] == ["", "0", "1", "2", "2.0", "new", "new.act"]
    assert traced.delete_submodule("new.act") and not traced.delete_submodule("new.act") and not traced.delete_submodule("x.y")
    with pytest.raises(RuntimeError, match=r"target new\.act references nonexistent attribute act"):
        traced.graph.lint()


def test_errors_show_the_generated_line() -> None:
    traced = fx.symbolic_trace(lambda x, y: lucid.relu(x) @ y)
    with pytest.raises(RuntimeError) as error:
        traced(lucid.ones(2, 3), lucid.ones(2, 3))
    shown = "".join(traceback.format_exception(error.value))
    assert "matmul = relu @ y" in shown
    linecache.checkcache()
    assert "matmul = relu @ y" in "".join(traceback.format_exception(error.value))
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        traced(1)


def test_what_has_no_file() -> None:
    with pytest.raises(NotImplementedError, match="keep `code`"):
        fx.symbolic_trace(lambda x: x).to_folder("x")


def test_readable(capsys: pytest.CaptureFixture[str]) -> None:
    inner = fx.symbolic_trace(nn.ReLU())
    text = fx.GraphModule({"inner": inner}, _calling("inner")).print_readable()
    assert text == capsys.readouterr().out.rstrip("\n") and text.startswith("class GraphModule(lucid.nn.Module):\n    def forward(self, x):")
    assert "    class ReLU(lucid.nn.Module):\n        def forward(self, input : lucid.Tensor) -> lucid.Tensor:" in text


def _calling(name: str) -> fx.Graph:
    graph = fx.Graph()
    graph.output(graph.call_module(name, (graph.placeholder("x"),)))
    return graph
