"""Nodes, edges and hooks of the graph, as PyTorch has them."""
from __future__ import annotations

from typing import Any

import pytest

import lucid

pytestmark = pytest.mark.torch


def lists(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [lists(part) for part in value]
    return value.tolist() if hasattr(value, "tolist") else value


def hooks_of_a_leaf(lib: Any) -> Any:
    x, seen = lib.tensor([1.0, 2.0], requires_grad=True), []
    node = (x * 2).grad_fn.next_functions[0][0]
    node.register_hook(lambda a, b: seen.append(("after", lists(a), lists(b), lists(x.grad))))
    node.register_prehook(lambda g: (seen.append(("before", lists(g))), (g[0] * 3,))[1])
    x.register_hook(lambda g: seen.append(("tensor", lists(g))))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(("accumulated", lists(t.grad))))
    (x * 2).sum().backward()
    seen.append(lists(lib.autograd.grad((x * 2).sum(), x)))
    (x * 2).sum().backward(inputs=[x])
    return node.next_functions, node.variable is x, isinstance(node, lib.autograd.graph.Node), seen


def edges(lib: Any) -> Any:
    x, graph, grad = lib.tensor([1.0, 2.0], requires_grad=True), lib.autograd.graph, lib.autograd.grad
    y = x * 2
    a, b = y.unbind()
    loss, edge = a * b, graph.get_gradient_edge(b)
    return [lists(part) for part in (
        edge[1], a.grad_fn is b.grad_fn, grad(loss, [edge], retain_graph=True), grad(edge, x, retain_graph=True),
        grad([graph.GradientEdge(a.grad_fn, 0)], x, lib.tensor(2.0), retain_graph=True), grad(loss, [y, edge, x], retain_graph=True),
        grad((x * 2).sum(), graph.get_gradient_edge(y), allow_unused=True),
        grad(graph.get_gradient_edge(y), x, lib.ones(2), retain_graph=True))]


def several_gradients(lib: Any) -> Any:
    a, b = (lib.tensor([value], requires_grad=True) for value in (1.0, 2.0))
    c, d, seen = a * b, a * b, []
    register = lib.autograd.graph.register_multi_grad_hook
    register((a, b, c, d), lambda grads: seen.append([None if g is None else g.tolist() for g in grads]))
    handle = register((c, a), lambda g: seen.append(g.tolist()), mode="any")
    for inputs in (None, (a,), (b, c)):
        c.sum().backward(inputs=inputs, retain_graph=True)
    (c * 3 + d).sum().backward(retain_graph=True)
    handle.remove()
    return seen


def writes_after_saving(lib: Any) -> Any:
    with lib.autograd.graph.allow_mutation_on_saved_tensors():
        a = lib.tensor([1.0, 2.0], requires_grad=True)
        b = a.clone()
        loss = (b ** 2).sum()
        b.sin_()
        loss = loss + (b * b).sum() + b.exp().sum()
        b.mul_(3)
        loss.backward()
    return [round(value, 4) for value in a.grad.tolist()]


def errors(lib: Any) -> Any:
    x, graph, grad, found = lib.tensor([1.0, 2.0], requires_grad=True), lib.autograd.graph, lib.autograd.grad, []
    y = x * 2
    for call in (lambda: graph.get_gradient_edge(lib.ones(2)), lambda: grad(graph.get_gradient_edge(y), x),
                 lambda: grad(graph.get_gradient_edge(y), x, lib.ones(3)), lambda: graph.increment_version(3),
                 lambda: grad((x * 3).sum(), graph.get_gradient_edge(y), materialize_grads=True), lambda: graph.increment_version([3]),
                 lambda: graph.register_multi_grad_hook((x, lib.ones(2)), print),
                 lambda: graph.register_multi_grad_hook((x,), print, mode="x"),
                 lambda: graph.set_warn_on_accumulate_grad_stream_mismatch(3)):
        with pytest.raises((RuntimeError, ValueError, AssertionError)) as caught:
            call()
        found.append((caught.type, str(caught.value).replace("torch.", "lucid.")))
    return found


def dtypes_of_gradients(lib: Any) -> Any:
    x, seen = lib.tensor([1.0], requires_grad=True), []
    x.grad_dtype = lib.float64
    x.register_hook(lambda g: seen.append(str(g.dtype).split(".")[-1]))
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    seen.append((str(x.grad.dtype).split(".")[-1], x.grad.tolist()))
    x.grad, x.grad_dtype = None, None
    x.grad = lib.ones(1, dtype=lib.float16)
    return seen, x.grad_dtype, str(lib.ones(1).grad_dtype).split(".")[-1]


@pytest.mark.parametrize("program", [hooks_of_a_leaf, edges, several_gradients, writes_after_saving, errors, dtypes_of_gradients])
def test_programs(program: Any) -> None:
    torch = pytest.importorskip("torch")
    assert program(lucid) == program(torch)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int32", "uint8", "bool"])
def test_hashes(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    x = torch.randn(3, 4, 2).mul(5).to(getattr(torch, dtype))
    ours = lucid.tensor(x.double().numpy()).to(getattr(lucid, dtype))
    for dim in (None, 1, (0, 2), -1):
        assert lucid.hash_tensor(ours, dim).tolist() == torch.hash_tensor(x, dim=() if dim is None else dim).tolist()
