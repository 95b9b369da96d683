"""backward and grad: accumulation, order, graph lifetime, errors."""
from __future__ import annotations

import gc
import weakref

import pytest

import lucid
from lucid import Tensor
from lucid.autograd import grad


def leaf(values, device="cpu"):
    return lucid.tensor(values, requires_grad=True, device=device)


def test_gradients_accumulate_in_place(device):
    x = leaf([1.0, 2.0], device)
    (x * x).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first
    assert x.grad.tolist() == [5.0, 7.0]


def test_node_used_many_times_is_visited_once_with_its_whole_gradient():
    x = leaf([2.0])
    visits = []
    y = x * x
    y.register_hook(lambda g: visits.append(g.tolist()))
    z = y + y * y + y
    z.backward(Tensor([1.0]))
    assert visits == [[10.0]]  # d/dy (2y + y^2) at y = 4
    assert x.grad.tolist() == [40.0]


def test_deep_chain_does_not_recurse():
    x = leaf([1.0])
    y = x
    for _ in range(20_000):
        y = y + 0.0
    y.backward(Tensor([1.0]))
    assert x.grad.tolist() == [1.0]
    del y  # nor does freeing the graph


def test_scalar_needs_no_gradient_others_do():
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        (x * 2).backward(Tensor([1.0]))
    with pytest.raises(RuntimeError, match="does not require grad and does not have a grad_fn"):
        Tensor([1.0]).backward()
    assert x.grad is None


def test_nothing_beyond_the_inputs_is_computed_or_freed():
    x = Tensor([1.0, 2.0], requires_grad=True)
    visited = []
    middle = x * x
    middle.register_hook(visited.append)
    before = x * 3
    before.register_hook(lambda g: visited.append("before"))
    y = before * 2
    z = (y + middle).sum()
    dy, dmiddle = grad(z, [y, middle], retain_graph=True)
    assert dy.tolist() == dmiddle.tolist() == [1, 1]
    assert len(visited) == 1  # the hook of an input, as in PyTorch
    grad(z, y)
    y.sum().backward()  # what leads to `y` is still there
    assert x.grad.tolist() == [6, 6]


def test_second_backward_raises_and_retain_graph_allows_it():
    x = leaf([3.0])
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [12.0]
    with pytest.raises(RuntimeError, match="backward through the graph a second time.*'sum'|a second time"):
        y.backward()
    assert x.grad.tolist() == [12.0]


def test_gradients_alias_neither_each_other_nor_the_callers_array(device):
    a, b = leaf([1.0, 2.0], device), leaf([1.0, 2.0], device)
    seed = lucid.tensor([1.0, 1.0], device=device)
    (a + b).backward(seed)
    a.grad.add_(1)
    assert b.grad.tolist() == [1.0, 1.0]
    assert seed.tolist() == [1.0, 1.0]
    b.grad.mul_(5)
    assert a.grad.tolist() == [2.0, 2.0]


def test_gradient_of_expand_is_writable(device):
    x = leaf([1.0, 2.0, 3.0], device)
    x.sum().backward()
    x.grad.add_(1)
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_grad_returns_without_accumulating_and_prunes():
    x, w = leaf([2.0]), leaf([5.0])
    w.register_hook(lambda g: pytest.fail("a gradient that nobody asked for was computed"))
    (dx,) = grad((x * w).sum(), x)
    assert dx.tolist() == [5.0]
    assert x.grad is None and w.grad is None


def test_grad_of_intermediate_and_unused():
    x, other = leaf([2.0]), leaf([1.0])
    y = x * x
    z = (y * y).sum()
    dy, dx = grad(z, [y, x], retain_graph=True)
    assert dy.tolist() == [8.0] and dx.tolist() == [32.0]
    with pytest.raises(RuntimeError, match="not have been used"):
        grad(z, other, retain_graph=True)
    assert grad(z, other, allow_unused=True, retain_graph=True) == (None,)
    assert grad(z, other, materialize_grads=True)[0].tolist() == [0.0]
    with pytest.raises(RuntimeError, match="does not require grad"):
        grad((x * x).sum(), Tensor([1.0]))


def test_higher_derivatives(device):
    x = leaf([2.0], device)
    y = (x ** 4).sum()
    for expected in (32.0, 48.0, 48.0, 24.0):
        (y,) = grad(y.sum(), x, create_graph=True)
        assert y.tolist() == [expected]


def test_backward_with_create_graph_keeps_the_graph_in_grad():
    x = leaf([3.0])
    (x ** 3).sum().backward(create_graph=True)
    assert x.grad.requires_grad
    (second,) = grad(x.grad.sum(), x)
    assert second.tolist() == [18.0]


def test_nothing_is_recorded_without_create_graph():
    x = leaf([3.0])
    (dx,) = grad((x ** 3).sum(), x)
    assert not dx.requires_grad


def test_backward_inputs_limits_accumulation():
    a, b = leaf([2.0]), leaf([3.0])
    (a * b).sum().backward(inputs=[a])
    assert a.grad.tolist() == [3.0] and b.grad is None


def test_several_outputs(device):
    x = leaf([[1.0, 2.0, 3.0, 4.0]], device)
    a, b = x.split([1, 3], dim=1)
    (b * b).sum().backward()
    assert x.grad.tolist() == [[0.0, 4.0, 6.0, 8.0]]
    a, b = x.split([1, 3], dim=1)
    (second,) = grad((grad((a.sum() * (b ** 3).sum()), x, create_graph=True)[0]).sum(), x)
    torch = pytest.importorskip("torch")
    t = torch.tensor([[1.0, 2.0, 3.0, 4.0]], requires_grad=True)
    c, d = t.split([1, 3], dim=1)
    g = torch.autograd.grad(c.sum() * (d ** 3).sum(), t, create_graph=True)[0]
    assert second.tolist() == torch.autograd.grad(g.sum(), t)[0].tolist()


def test_graph_is_freed_without_the_garbage_collector():
    gc.collect()
    gc.disable()
    try:
        x = leaf([1.0, 2.0])
        y = ((x * x).exp() + x.reshape(2, 1).sum()).sqrt()
        nodes = [weakref.ref(y.grad_fn), weakref.ref(y)]
        del y
        assert [ref() for ref in nodes] == [None, None]
        y = (x.exp() * x).sum()
        nodes = [weakref.ref(y.grad_fn)]
        y.backward()
        del y
        assert nodes[0]() is None
    finally:
        gc.enable()


def test_dtype_of_gradient_follows_the_input():
    x = lucid.ones(2, dtype=lucid.float32, requires_grad=True)
    y = lucid.ones(2, dtype=lucid.float64, requires_grad=True)
    (x * y).sum().backward()
    assert x.grad.dtype == lucid.float32 and y.grad.dtype == lucid.float64


def test_leaf_that_died_is_skipped():
    x = leaf([1.0])
    w = leaf([2.0])
    y = x * w.detach().requires_grad_()
    y.sum().backward()
    assert x.grad.tolist() == [2.0]


def test_grad_fn_names_the_op_and_its_parents():
    x = leaf([1.0])
    y = x * 2 + 1
    assert x.grad_fn is None and x.is_leaf and not y.is_leaf
    assert y.grad_fn.name() == "add"
    assert y.grad_fn.next_functions[0][0].name() == "mul"


@pytest.mark.parametrize(("operate", "kept"), [(lambda x, y: x + y, False), (lambda x, y: x - y, False),
                                                (lambda x, y: x * y, True)])
def test_operands_are_kept_for_the_gradient_only_where_it_needs_them(operate, kept):
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    a, b = x * 2, y * 2
    total, array = operate(a, b).sum(), weakref.ref(a._array)
    if kept:
        a.add_(1)
        with pytest.raises(RuntimeError, match="input .* of op 'mul' is at version 1"):
            total.backward()
    else:
        del a
        assert array() is None
        total.backward()
        assert x.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("dtype", [lucid.float32, lucid.float64, lucid.complex64])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_product_of_alike_operands_differentiates_twice(shape, dtype):
    x = (lucid.ones(shape, dtype=dtype) * 3).requires_grad_()
    y = (lucid.ones(shape, dtype=dtype) * 4).requires_grad_()
    first = grad(x * y, [x, y], lucid.ones(shape, dtype=dtype), create_graph=True)
    assert [g.tolist() for g in first] == [y.tolist(), x.tolist()]
    assert [g.shape for g in first] == [x.shape, y.shape]
    assert grad(first[0], y, lucid.ones(shape, dtype=dtype))[0].tolist() == lucid.ones(shape, dtype=dtype).tolist()


@pytest.mark.parametrize("split", [lambda w: w.unbind(0), lambda w: w.chunk(2), lambda w: w.split(1), lambda w: (w[0], w[1]),
                                   lambda w: w.reshape(4).reshape(2, 2).unbind(0), lambda w: (w.t()[:, 0], w.t()[:, 1])])
def test_parts_of_one_tensor_are_differentiated_one_after_the_other(split, device):
    w = leaf([[1.0, 2.0], [3.0, 4.0]], device)
    q, k = split(w + 1)
    q.sum().backward()
    (3 * k.mean()).backward()
    assert w.grad.tolist() == [[1.0, 1.0], [1.5, 1.5]]


def test_running_sum_of_losses(device):
    x = leaf([1.0, 2.0], device)
    total = 0
    for _ in range(3):
        total = total + x.sum()
        total.backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_what_is_saved_is_freed_and_asked_for_a_second_time_raises(device):
    x = leaf([1.0, 2.0], device)
    inner = (x + 1).exp()
    y = (inner + 1).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time .*'exp'"):
        y.backward()
    (upper,) = lucid.autograd.grad(y, inner)  # what lies above saved nothing
    assert upper.tolist() == [1.0, 1.0]
    factor = lucid.ones(2, device=device)
    kept = weakref.ref(factor)
    z = (x * factor).sum()
    del factor
    z.backward()
    assert kept() is None


def test_a_view_of_a_saved_index_is_freed():
    x = leaf([1.0, 2.0])
    y = x[lucid.tensor([0, 0])].sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_second_backward_through_a_written_view(device):
    x = leaf([1.0, 2.0], device)
    y = x + 1
    y[:1] += 3
    y[0] = 5.0
    for times in (1, 2):
        y.sum().backward()
        assert x.grad.tolist() == [0.0, float(times)]


def test_numbers_are_saved_by_products_and_quotients_alone(device):
    x = leaf([1.0, 2.0], device)
    for twice in (x + 2, 2 - x, x.sum() + 1, -x, x.mean()):
        twice.sum().backward()
        twice.sum().backward()
    for once in (x * 2, x / 2, 2 * x[:1]):
        once.sum().backward()
        with pytest.raises(RuntimeError, match="second time"):
            once.sum().backward()
