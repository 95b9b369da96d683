"""What is recorded when a function is traced."""
from __future__ import annotations

import math
import operator
import warnings
from typing import Any

import pytest

import lucid
from lucid import fx, nn
from lucid.fx.proxy import TraceError
from tests.fx.programs import asserted


@fx.wrap
def positive(x: Any, low: float = 0.0) -> Any:
    return x if x.sum() > low else x - 1


fx.wrap("len")


def targets(traced: Any) -> list[Any]:
    return [node.target for node in traced.graph.nodes if node.op.startswith("call")]


def test_functions_methods_and_operators() -> None:
    traced = fx.symbolic_trace(lambda x: lucid.relu(x).sum(0) + x.T[0] * 2)
    assert targets(traced) == [lucid.relu, "sum", getattr, operator.getitem, operator.mul, operator.add]
    x = lucid.tensor([[1.0, -2.0], [3.0, 4.0]])
    assert traced(x).tolist() == (lucid.relu(x).sum(0) + x.T[0] * 2).tolist()


def test_wrapped_functions_stay_whole_also_in_the_code() -> None:
    traced = fx.symbolic_trace(lambda x: positive(x, low=1.0) * len(x))
    assert targets(traced) == [positive, len, operator.mul]
    assert 'wrap("' in traced.code and traced(lucid.ones(3)).tolist() == [3.0, 3.0, 3.0]
    assert targets(fx.symbolic_trace(traced)) == targets(traced)
    assert positive(lucid.zeros(1)).tolist() == [-1.0] and len([1]) == 1
    with pytest.raises(NotImplementedError, match="top level of a module"):
        fx.wrap("sum")
    with pytest.raises(RuntimeError, match="Unsupported type"):
        fx.wrap(3)


def leaf(x: Any) -> Any:
    return int(x)


def test_functions_that_one_tracer_records() -> None:
    graph = fx.Tracer(autowrap_functions=(leaf,)).trace(lambda x: math.floor(x) + leaf(x))
    assert [node.target for node in graph.nodes if node.op == "call_function"] == [math.floor, leaf, operator.add]
    with pytest.raises(TypeError, match="not 'Proxy'"):
        fx.symbolic_trace(lambda x: leaf(x))


def test_leaves_and_paths_of_modules() -> None:
    class Own(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2

    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(Own(), nn.ReLU()))
    assert targets(fx.symbolic_trace(model)) == ["0", operator.mul, "1.1"]
    node = next(node for node in fx.symbolic_trace(model).graph.nodes if node.target is operator.mul)
    assert list(node.meta["nn_module_stack"]) == ["1", "1.0"]

    class Leaves(fx.Tracer):
        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return isinstance(m, Own) or super().is_leaf_module(m, module_qualified_name)

    assert [node.target for node in Leaves().trace(model).nodes if node.op == "call_module"] == ["0", "1.0", "1.1"]
    with pytest.raises(NameError, match="not installed as a submodule"):
        fx.symbolic_trace(lambda x: model(x))


def test_tensors_become_attributes() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(lucid.ones(2))
            self.register_buffer("mean", lucid.ones(2))
            self.plain = lucid.tensor([5.0, 6.0])

        def forward(self, x: Any) -> Any:
            return x * self.weight - self.mean + self.plain + lucid.tensor([1.0, 2.0])

    model = Model()
    traced = fx.symbolic_trace(model)
    assert [node.target for node in traced.graph.nodes if node.op == "get_attr"] == ["weight", "mean", "plain", "_tensor_constant0"]
    assert traced.weight is model.weight and traced.mean is model.mean
    assert traced(lucid.ones(2)).tolist() == [6.0, 8.0]
    model.mean.add_(1)
    assert traced(lucid.ones(2)).tolist() == [5.0, 7.0]


def test_control_flow_on_values_raises() -> None:
    with pytest.raises(TraceError, match="inputs to control flow"):
        fx.symbolic_trace(lambda x: 1 if x > 0 else 2)
    with pytest.raises(TraceError, match="cannot be iterated"):
        fx.symbolic_trace(lambda x: list(x))
    assert lucid.relu(lucid.ones(1)).item() == 1 and nn.ReLU()(lucid.ones(1)).item() == 1  # all is as before


def test_items_are_unpacked() -> None:
    def halves(x: Any) -> Any:
        a, b = x.chunk(2)
        return a - b

    assert fx.symbolic_trace(halves)(lucid.tensor([5.0, 2.0])).tolist() == [3.0]


def test_assertions_can_be_recorded() -> None:
    class Tracer(fx.Tracer):
        trace_asserts = True

    tracer = Tracer()
    traced = fx.GraphModule(tracer.root, tracer.trace(asserted))
    assert traced(lucid.ones(2)).tolist() == [1.0, 1.0]
    with pytest.raises(AssertionError, match="not positive"):
        traced(-lucid.ones(2))
    with pytest.raises(AssertionError):
        traced(9 * lucid.ones(2))
    with pytest.raises(TraceError):
        fx.symbolic_trace(asserted)


def test_concrete_arguments() -> None:
    def branch(x: Any, flag: Any, n: int = 3) -> Any:
        return x * n if flag else -x

    assert fx.symbolic_trace(branch, {"flag": True})(lucid.ones(1), True).item() == 3
    assert fx.symbolic_trace(branch, {"flag": None})(lucid.ones(1), None).item() == -1
    assert fx.symbolic_trace(branch, (fx.PH, False, fx.PH))(lucid.ones(1), False).item() == -1
    with pytest.raises(AssertionError, match="flag has been specialized to have value True"):
        fx.symbolic_trace(branch, {"flag": True})(lucid.ones(1), False)
    with pytest.warns(UserWarning, match="Was not able to add assertion"):
        fx.symbolic_trace(branch, {"flag": "yes"})
    with pytest.raises(NotImplementedError, match="within a container"):
        fx.symbolic_trace(branch, {"flag": [fx.PH]})
    with pytest.raises(RuntimeError, match="2 concrete arguments"):
        fx.symbolic_trace(branch, (fx.PH, True))


def test_starred_and_keyword_arguments() -> None:
    def every(x: Any, *args: Any, k: float = 2.0, **keywords: Any) -> Any:
        return x * k + args[0] + keywords["z"]

    assert fx.symbolic_trace(every)(lucid.ones(1), 3.0, 4.0, z=5.0).item() == 1 * 3 + 4 + 5  # k comes before *args, as in PyTorch


def test_objects_of_classes() -> None:
    class Pair(metaclass=fx.ProxyableClassMeta):
        def __init__(self, a: Any, b: Any) -> None:
            self.a, self.b = a, b

    traced = fx.symbolic_trace(lambda x: Pair(x, 1).a + Pair(2, 3).b)
    assert targets(traced) == [Pair, getattr, operator.add] and traced(lucid.ones(1)).item() == 4
    assert Pair(1, 2).b == 2

    class Says:
        def __fx_create_arg__(self, tracer: Any) -> Any:
            return 7

    assert fx.symbolic_trace(lambda x: x + Says())(1) == 8


def test_proxies_of_two_graphs_do_not_meet() -> None:
    one, other = (fx.Proxy(fx.Graph().placeholder("x")) for _ in range(2))
    with pytest.raises(RuntimeError, match="multiple different tracers"):
        lucid.add(one, other)


def test_functions_look_at_calls_only_as_long_as_there_are_proxies() -> None:
    from lucid.overrides import switching

    before = switching._users
    proxy: Any = fx.Proxy(fx.Graph().placeholder("x"))
    assert switching._users == before + 1
    other = lucid.relu(proxy) + 1
    assert switching._users == before + 1
    del proxy, other
    assert switching._users == before


def test_nothing_is_left_patched_after_an_error() -> None:
    call, attribute = nn.Module.__call__, nn.Module.__getattr__

    def failing(x: Any) -> Any:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fx.symbolic_trace(failing)
    assert nn.Module.__call__ is call and nn.Module.__getattr__ is attribute and not fx._symbolic_trace.is_fx_tracing()
    with warnings.catch_warnings(action="error"):
        assert nn.Linear(1, 1)(lucid.ones(1)).shape == (1,)
