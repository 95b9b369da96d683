"""Graphs that are made and changed by hand."""
from __future__ import annotations

import copy
import operator
import pickle
from typing import Any

import pytest

import lucid
from lucid import fx, nn
from lucid.fx.immutable_collections import immutable_dict, immutable_list
from lucid.fx.node import map_aggregate, map_arg


def chain() -> tuple[fx.Graph, list[fx.Node]]:
    """``relu(x) + 1``."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    relu = graph.call_function(lucid.relu, (x,))
    add = graph.call_method("add", (relu, 1), {"alpha": 2})
    return graph, [x, relu, add, graph.output(add)]


def test_nodes_know_their_arguments_and_users() -> None:
    graph, (x, relu, add, output) = chain()
    assert list(graph.nodes) == [x, relu, add, output] == list(reversed(list(reversed(graph.nodes)))) and len(graph.nodes) == 4
    assert list(relu.users) == [add] and add.all_input_nodes == [relu] and graph.output_node() is output
    add.args = (x, relu)
    assert list(x.users) == [relu, add] and list(relu.users) == [add] and add.all_input_nodes == [x, relu]
    add.kwargs = {"alpha": x}
    add.args = (relu, 3)
    assert list(x.users) == [relu, add]
    assert x < relu <= add > relu >= relu and x.next is relu and relu.prev is x
    assert graph.find_nodes(op="call_function", target=lucid.relu) == [relu] and graph.find_nodes(op="get_attr") == []
    with pytest.raises(TypeError, match="args must be a tuple"):
        add.args = [relu]  # type: ignore[assignment]


def test_arguments_do_not_change_in_place() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    node = graph.call_function(print, ([x, 1],), {"k": {"a": x}})
    for change in (lambda: node.args[0].append(1), lambda: node.args[0].__setitem__(0, 2), lambda: node.kwargs.update(b=1),
                   lambda: node.kwargs["k"].__setitem__("a", 1), lambda: node.args[0].sort(), lambda: node.kwargs.pop("k")):
        with pytest.raises(TypeError, match="does not support mutation"):
            change()
    values, items = immutable_list([1, 2]), immutable_dict(a=1)
    assert hash(values) == hash((1, 2)) and values == [1, 2] and items == {"a": 1} and hash(items) == hash(immutable_dict(a=1))
    assert type(pickle.loads(pickle.dumps(values))) is immutable_list and type(copy.deepcopy(items)) is immutable_dict
    assert lucid.utils._pytree.tree_map(lambda each: each + 1, values) == [2, 3]


def test_maps_over_arguments() -> None:
    _, (x, relu, *_) = chain()
    assert map_arg([x, (relu, {"a": slice(x, 2)})], lambda node: node.name) == ["x", ("relu", {"a": slice("x", 2)})]
    assert map_aggregate((1, [2]), str) == ("1", ["2"])


def test_new_nodes_stand_where_they_shall() -> None:
    graph, (x, relu, add, output) = chain()
    with graph.inserting_after(x):
        first = graph.call_function(lucid.neg, (x,))
        second = graph.call_function(lucid.neg, (first,))
    with graph.inserting_before(output):
        last = graph.call_function(lucid.exp, (add,))
    with graph.inserting_before():
        y = graph.placeholder("y")
    assert list(graph.nodes) == [y, x, first, second, relu, add, last, output] and second.name == "neg_1"
    relu.prepend(last)
    x.append(y)
    assert list(graph.nodes) == [x, y, first, second, last, relu, add, output]
    with pytest.raises(RuntimeError, match="'add' of Node 'exp' was used before it has been defined"):
        graph.lint()
    other, nodes = chain()
    with pytest.raises(AssertionError, match="not in graph"):
        graph.inserting_before(nodes[0]).__enter__()
    with pytest.raises(AssertionError, match="different Graph"):
        x.append(nodes[1])
    first.args = (nodes[0],)
    with pytest.raises(RuntimeError, match="does not belong to this Graph"):
        graph.lint()


def test_nodes_are_replaced_and_erased() -> None:
    graph, (x, relu, add, output) = chain()
    with graph.inserting_after(relu):
        new = graph.call_function(lucid.tanh, (x,))
    with pytest.raises(RuntimeError, match=r"Tried to erase Node relu but it still had 1 users"):
        graph.erase_node(relu)
    relu.meta["k"] = 1
    assert relu.replace_all_uses_with(new, propagate_meta=True) == [add] and new.meta == {"k": 1}
    assert relu.replace_all_uses_with(new) == []
    graph.erase_node(relu)
    assert list(graph.nodes) == [x, new, add, output] and list(x.users) == [new]
    assert x.replace_all_uses_with(add, lambda user: user is not new) == []
    for node in graph.nodes:  # while one goes through them
        if node.op == "call_method":
            node.replace_all_uses_with(new)
            graph.erase_node(node)
    assert fx.GraphModule({}, graph)(lucid.zeros(1)).item() == 0
    other, nodes = chain()
    with pytest.raises(RuntimeError, match="wrong graph"):
        graph.erase_node(other.call_function(print))
    nodes[2].insert_arg(1, nodes[0])
    nodes[2].update_arg(0, 5)
    nodes[2].update_kwarg("alpha", 3)
    assert nodes[2].args == (5, nodes[0], 1) and nodes[2].kwargs == {"alpha": 3} and not nodes[1].users


def test_dead_code() -> None:
    calls = []

    @fx.has_side_effect
    def log(x: Any) -> None:
        calls.append(x)

    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.call_function(lucid.exp, (graph.call_function(lucid.neg, (x,)),))
    kept = [graph.call_function(log, (x,)), graph.call_function(lucid.rand_like, (x,)), graph.call_function(lucid._assert, (True, ""))]
    output = graph.output(x)
    assert graph.eliminate_dead_code() and list(graph.nodes) == [x, *kept, output] and not graph.eliminate_dead_code()
    fx.GraphModule({}, graph)(lucid.ones(1))
    assert len(calls) == 1
    assert graph.eliminate_dead_code(lambda node: node.op in ("placeholder", "output")) and list(graph.nodes) == [x, output]


def test_names_are_unique_and_no_words_of_python() -> None:
    graph = fx.Graph()
    names = [graph.create_node("call_method", "m", name=name).name for name in
             ("layer_3", "layer_3", "layer", "layer", "layer_3", "layer_7", "layer_7", "a_1", "a", "a", "1x", "x y", "class", "len",
              "lucid", "self", "inf")]
    assert names == ["layer_3", "layer_4", "layer", "layer_5", "layer_6", "layer_7", "layer_8", "a_1", "a", "a_2", "_1x", "x_y",
                     "class_1", "len_1", "lucid_1", "self", "inf_1"]  # PyTorch's


def test_what_is_no_node() -> None:
    graph, (x, *_) = chain()
    with pytest.raises(AssertionError, match="op 'call'"):
        graph.create_node("call", "x")
    with pytest.raises(ValueError, match="has type str but a Callable is expected"):
        graph.call_function("relu", (x,))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="but a str is expected"):
        graph.call_method(lucid.relu, (x,))  # type: ignore[arg-type]
    assert len(graph.nodes) == 4


def test_copies_and_pickles() -> None:
    graph, (x, relu, *_) = chain()
    relu.meta["is_wrapped"] = True
    for copied in (copy.deepcopy(graph), pickle.loads(pickle.dumps(graph))):
        assert str(copied) == str(graph) and not {*copied.nodes} & {*graph.nodes}
        assert list(copied.nodes)[1].meta["is_wrapped"] and copied.python_code("self").src == graph.python_code("self").src
        copied.lint()
    other = fx.Graph()
    y = other.placeholder("y")
    result = other.graph_copy(graph, {x: y})
    other.output(result)
    assert [node.name for node in other.nodes] == ["y", "relu", "add", "output"] and relu.users


def test_the_code_of_all_kinds_of_arguments() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x", type_expr=lucid.Tensor)
    values = (x, float("inf"), float("-inf"), float("nan"), lucid.float32, lucid.device("cpu"), lucid.channels_last,
              lucid.Size([1, 2]), ..., None, slice(x, None), {"a": [x, b"b"]}, range(3), 1j, len, nn.Linear, "a\nb")
    graph.call_function(operator.setitem, (x, 0, 7.0))
    graph.call_function(operator.iadd, (x, 1))
    graph.output((graph.call_function(getattr, (x, "a b")), graph.call_function(tuple, (values,))), type_expr=tuple)
    module = fx.GraphModule({}, graph)
    assert "-> tuple:" in module.code and "x[0] = 7.0" in module.code and "x += 1" in module.code

    class Named(lucid.Tensor):
        pass

    given = lucid.zeros(2).as_subclass(Named)
    setattr(given, "a b", 3)
    found, (x_, inf, minus, nan, *others) = module(given)
    assert found == 3 and x_.tolist() == [8.0, 1.0] and inf == -minus == float("inf") and nan != nan
    assert others == [values[4], values[5], values[6], (1, 2), ..., None, slice(x_, None), {"a": [x_, b"b"]}, *values[12:]]


def test_a_graph_prints_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    graph, _ = chain()
    graph.print_tabular()
    assert capsys.readouterr().out.splitlines()[2:4] == ["placeholder    x       x           ()         {}",
                                                         "call_function  relu    lucid.relu  (x,)       {}"]


def test_code_can_be_written_otherwise() -> None:
    class Pairs(fx.CodeGen):
        def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
            return f"def forward(self, pair):\n    {', '.join(free_vars)}, = pair"

        def process_inputs(self, *args: Any) -> Any:
            return args[0]

        def process_outputs(self, outputs: Any) -> Any:
            return [outputs]

        def generate_output(self, output_args: Any) -> str:
            return f"return [{output_args}]"

    module = fx.symbolic_trace(lambda x, y: x + y)
    module.graph.set_codegen(Pairs())
    module.recompile()
    assert module((1, 2)) == [3] == fx.Interpreter(module).run((1, 2))
    assert copy.deepcopy(module)((1, 2)) == [3]
