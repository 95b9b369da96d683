"""Nodes, edges and hooks of the graph, as programs see them."""
from __future__ import annotations

import copy
import gc
import weakref
from typing import Any

import pytest

import lucid
from lucid.autograd import graph


def leaf(values: Any, device: str = "cpu") -> Any:
    return lucid.tensor(values, device=device).requires_grad_()


def test_edges_take_the_place_of_tensors(device: str) -> None:
    x = leaf([1.0, 2.0], device)
    y = x * 3
    edge, loss = graph.get_gradient_edge(y), (y * y).sum()
    assert edge == (y.grad_fn, 0, None) and graph.get_gradient_edge(x).node.variable is x
    assert lucid.autograd.grad(loss, [edge, x], retain_graph=True)[0].tolist() == [6.0, 12.0]
    z = x * 5
    gone, other = weakref.ref(z), graph.get_gradient_edge(z)
    del z
    gc.collect()
    assert gone() is None and lucid.autograd.grad(other, x, lucid.ones(2, device=device))[0].tolist() == [5.0, 5.0]
    loss.backward(inputs=[graph.get_gradient_edge(x)])
    assert x.grad.tolist() == [18.0, 36.0]


def test_edges_of_an_operation_with_several_outputs(device: str) -> None:
    x = leaf([1.0, 2.0, 4.0], device)
    a, b, c = x.unbind()
    assert a.grad_fn is b.grad_fn and graph.get_gradient_edge(c)[:2] == (a.grad_fn, 2)
    loss = a * b * b
    edges = [graph.GradientEdge(a.grad_fn, number) for number in range(3)]
    found = lucid.autograd.grad(loss, edges, retain_graph=True, allow_unused=True)
    assert [g if g is None else g.item() for g in found] == [4.0, 4.0, None]
    upstream = lucid.tensor(5.0, device=device)
    (g,) = lucid.autograd.grad([edges[1], edges[1], edges[0]], x, [upstream, upstream, upstream], retain_graph=True)
    assert g.tolist() == [5.0, 10.0, 0.0]
    assert (loss.grad_fn.next_functions[0][0].next_functions[0]) == (a.grad_fn, 0)
    with pytest.raises(RuntimeError, match="is not known"):
        lucid.autograd.grad(edges[0], x)
    assert lucid.autograd.grad(graph.get_gradient_edge(b), x)[0].tolist() == [0.0, 1.0, 0.0]


def test_edges_with_a_graph_of_the_gradient_and_batches() -> None:
    x = leaf([1.0, 2.0])
    y = x * x
    edge = graph.get_gradient_edge(y)
    (g,) = lucid.autograd.grad((y ** 3).sum(), edge, create_graph=True)
    (second,) = lucid.autograd.grad(g.sum(), x, retain_graph=True)
    assert g.tolist() == [3.0, 48.0] and second.tolist() == [12.0, 96.0]
    (rows,) = lucid.autograd.grad(edge, x, lucid.eye(2), is_grads_batched=True)
    assert rows.tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_hooks_of_a_leaf_itself(device: str) -> None:
    x, seen = leaf([1.0, 2.0], device), []
    accumulate = (x * 1).grad_fn.next_functions[0][0]
    assert accumulate.next_functions == () and isinstance(accumulate, graph.Node) and accumulate.variable is x
    accumulate.register_hook(lambda into, out: seen.append(("after", into, out[0].tolist(), x.grad.tolist())))
    handle = accumulate.register_prehook(lambda out: (out[0] * 3,))
    x.register_hook(lambda g: seen.append(("tensor", g.tolist())))
    (x * 2).sum().backward()
    assert seen == [("tensor", [2.0, 2.0]), ("after", (), [6.0, 6.0], [6.0, 6.0])]
    assert lucid.autograd.grad((x * 2).sum(), x)[0].tolist() == [2.0, 2.0]  # nothing is accumulated
    (x * 2).sum().backward(inputs=[x])
    handle.remove()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [14.0, 14.0]
    accumulate.register_prehook(lambda out: (None,))
    (x * 2).sum().backward()
    assert x.grad.tolist() == [14.0, 14.0]


def test_what_a_hook_of_a_leaf_keeps_is_not_written() -> None:
    x, kept = leaf([1.0]), []
    graph.get_gradient_edge(x).node.register_hook(lambda into, out: kept.append(out[0]))
    for _ in range(2):
        (x * 2).sum().backward()
    assert [g.item() for g in kept] == [2.0, 2.0] and x.grad.item() == 4.0


def test_hooks_on_several_gradients() -> None:
    a, b, seen = leaf([1.0]), leaf([2.0]), []
    c, d = a * b, a * b
    handle = graph.register_multi_grad_hook((a, b, c, d), lambda grads: seen.append([g is not None for g in grads]))
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    (c + d).sum().backward(retain_graph=True)
    assert seen == [[True, True, True, False], [True, False, True, False], [True] * 4]
    handle.remove()
    c.sum().backward(retain_graph=True)
    assert len(seen) == 3 and len(copy.copy(handle).handles) == 4
    first: list[float] = []
    graph.register_multi_grad_hook((a, c, lucid.ones(1)), lambda g: first.append(g.item()), mode="any")
    for _ in range(2):
        (c * 5).sum().backward(retain_graph=True)
    assert first == [5.0, 5.0]


def test_a_hook_that_raises_leaves_nothing_for_the_next_pass() -> None:
    a, b, seen = leaf([1.0]), leaf([2.0]), []
    handle = b.register_hook(lambda g: 1 / 0)
    graph.register_multi_grad_hook((a, b), lambda grads: seen.append(grads))
    with pytest.raises(ZeroDivisionError):
        (a * b).sum().backward()
    handle.remove()
    (a * b).sum().backward()
    assert len(seen) == 1


def test_writes_after_saving(device: str) -> None:
    with graph.allow_mutation_on_saved_tensors():
        x = leaf([1.0, 2.0], device)
        y = x.clone()
        loss = (y ** 2).sum() + (y * y).sum()
        y.sin_()
        later = y.exp().sum()
        y.zero_()
        (loss + later).backward()
        expected = [4 * v + lucid.tensor(v).cos().item() * lucid.tensor(v).sin().exp().item() for v in (1.0, 2.0)]
        assert x.grad.tolist() == pytest.approx(expected)
        with pytest.raises(RuntimeError, match="cannot be nested"), graph.allow_mutation_on_saved_tensors():
            pass
        z = leaf([1.0], device)
        open_graph = (z * z).sum()
    with pytest.raises(AssertionError, match="outside of the 'allow_mutation_on_saved_tensors' context"):
        open_graph.backward()


def test_versions_and_metadata() -> None:
    x = lucid.ones(2)
    view = x[:1]
    graph.increment_version(x)
    graph.increment_version([x, view])
    assert view._version == 3
    w = leaf([1.0])
    loss = (w * w.detach()).sum() + (w * x[:1]).sum()
    graph.increment_version(x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    with pytest.raises(RuntimeError, match="each element"):
        graph.increment_version([3])
    node = (w * 2).grad_fn
    node.metadata["mine"] = 1
    assert node.metadata == {"mine": 1}
    with lucid.autograd.detect_anomaly(False):
        assert "test_graph" in "".join((w * 2).grad_fn.metadata["traceback_"])
    for setting in (graph.set_warn_on_accumulate_grad_stream_mismatch, graph.set_override_stale_capture_stream):
        setting(True)
        with pytest.raises(RuntimeError, match="must be a bool"):
            setting(1)


def test_the_dtype_of_gradients(device: str) -> None:
    x = leaf([1.0, 2.0], device)
    assert x.grad_dtype == lucid.float32 == lucid.ones(1).grad_dtype
    seen: list[Any] = []
    x.register_hook(lambda g: seen.append(g.dtype))
    x.grad_dtype = lucid.float64
    for _ in range(2):
        (x * 2).sum().backward()
    assert x.grad.dtype == lucid.float64 and x.grad.tolist() == [4.0, 4.0] and seen == [lucid.float64] * 2
    assert lucid.autograd.grad((x * 2).sum(), x)[0].dtype == lucid.float64
    with pytest.raises(RuntimeError, match="already a gradient"):
        x.grad_dtype = lucid.float32
    with pytest.raises(RuntimeError, match="grad_dtype float64"):
        x.grad = lucid.ones(2, device=device)
    x.grad = None
    x.grad_dtype = None
    x.grad = lucid.ones(2, dtype=lucid.float16, device=device)
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.dtype == lucid.float32 and x.grad_dtype is None
    y = lucid.ones(2)
    y.grad_dtype = lucid.float16
    y.requires_grad_().sum().backward()
    assert y.grad.dtype == lucid.float16
    for value in (3, lucid.int32):
        with pytest.raises(RuntimeError, match="grad_dtype must be"):
            y.grad_dtype = value
    with pytest.raises(RuntimeError, match="leaf tensors"):
        _ = (x * 2).grad_dtype
    with pytest.raises(RuntimeError, match="leaf tensors"):
        (x * 2).grad_dtype = lucid.float32
