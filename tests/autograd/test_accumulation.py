"""How gradients of one tensor are added up: parts of it in one array, whole ones in memory that nobody else can see."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import backends

SLICES: dict[str, Callable[[Any], Any]] = {
    "parts that are everything": lambda x: x[0] * x[1] * x[2],
    "some parts": lambda x: x[0] * x[2],
    "the same part twice": lambda x: x[1] * x[1] + x[1],
    "overlapping parts": lambda x: x[1:] * x[:-1],
    "every other": lambda x: x[:, ::2] * x[:, 1::2],
    "single elements": lambda x: x[0, 0, 0] * x[2, 3, 4] + x[0, 0, 0],
    "new dimensions": lambda x: x[None, 0] * x[1, None, :] * x[..., None][2, :, :, 0],
    "all of it": lambda x: x[:] * x[...],
    "nothing": lambda x: x[0].sum() + x[3:].sum() + x[:, 2:2].sum(),
    "more than room for": lambda x: sum((x[:, i:] * (i + 1)).sum() for i in range(4)) + (x[:, 1] * x[:, 2]).sum(),
    "whole, then parts": lambda x: (x[0] * x[1]).sum() + (x * x).sum(),
    "parts, then whole": lambda x: (x * x).sum() + (x[0] * x[1]).sum(),
    "whole ones around parts": lambda x: (x * 2).sum() + (x[0] * x[1]).sum() + (x * x).sum() + x[2].sum(),
    "parts of parts": lambda x: x[1:][0] * x[1:][1] * x[0],
    "of a permuted view": lambda x: (lambda y: y[0] * y[1] * y[-1])(x.permute(2, 0, 1)),
    "of a reshaped and permuted one": lambda x: (lambda y: y[0] * y[1])(x.reshape(3, 4, 5, 1).permute(1, 3, 2, 0)[1:3]),
    "narrow, select, chunk, unbind": lambda x: (x.narrow(1, 1, 2).sum() * x.select(0, 1).sum()
                                                + (x.chunk(2, 1)[0] * x.chunk(2, 1)[1]).sum()
                                                + (x.unbind(0)[0] * x.unbind(0)[2]).sum()),
    "a loop over time": lambda x: sum(x[:, t] * (t + 1) for t in range(4)),
}


def values() -> np.ndarray:
    """(3, 4, 5)."""
    return np.random.default_rng(0).standard_normal((3, 4, 5)).astype(np.float32)


@pytest.mark.torch
@pytest.mark.parametrize("computed", [False, True], ids=["leaf", "computed"])
@pytest.mark.parametrize("case", SLICES)
def test_gradients_of_parts(case: str, computed: bool, device: str) -> None:
    """As PyTorch's of the same expression, in float64."""
    torch = pytest.importorskip("torch")
    ours = lucid.tensor(values(), device=device).requires_grad_()
    theirs = torch.tensor(values(), dtype=torch.float64, requires_grad=True)
    for x in (ours, theirs):
        y = SLICES[case](x * 2 if computed else x)
        (y * y).sum().backward()
    np.testing.assert_allclose(ours.grad.cpu().numpy(), theirs.grad.numpy(), rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("case", SLICES)
def test_same_as_with_create_graph(case: str) -> None:
    """Where each gradient is recorded, and nothing is collected."""
    gradients = []
    for create_graph in (False, True):
        x = lucid.tensor(values()).requires_grad_()
        y = SLICES[case](x * 2)
        gradients.append(lucid.autograd.grad((y * y).sum(), x, create_graph=create_graph)[0].detach().numpy())
    np.testing.assert_allclose(*gradients, rtol=1e-5, atol=1e-6)


def test_parts_twice() -> None:
    """A retained graph gives the same again."""
    x = lucid.tensor(values()).requires_grad_()
    loss = (x[0] * x[1]).sum()
    loss.backward(retain_graph=True)
    first = x.grad.numpy().copy()
    loss.backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * first)
    with pytest.raises(RuntimeError, match="a second time"):
        loss.backward()


def test_parts_are_written_once() -> None:
    """Three parts that are all of a tensor, as queries, keys and values are, take one kernel and no arrays of zeros."""
    x = lucid.tensor(values()).requires_grad_()
    y = x * 1.0
    loss = (y[0] * y[1] * y[2]).sum()
    names = []
    with backends.observe(lambda name, *rest: names.append(name)):
        loss.backward()
    assert names.count("assemble") == 1
    assert "scatter_new" not in names
    assert "add" not in names


def test_assembled_in_the_order_of_memory() -> None:
    """The gradient of a permuted view is laid out as the view, so that the way back to the dense tensor copies nothing."""
    x = lucid.tensor(values()).requires_grad_()
    y = (x * 1.0).permute(1, 2, 0)
    strides: list[Any] = []
    y.register_hook(lambda g: strides.append(g.stride()))
    (y[0] * y[1] * y[2] * y[3]).sum().backward()
    assert strides == [y.stride()]


def test_hooks_see_whole_gradients() -> None:
    """On the tensor, on its parts and on their nodes."""
    seen: list[Any] = []
    x = lucid.tensor(values()).requires_grad_()
    y = x * 1.0
    y.register_hook(lambda g: seen.append(g.shape))
    a, b = y[0], y[1]
    a.register_hook(lambda g: g * 2)
    b.grad_fn.register_hook(lambda into, out: seen.append(into[0].shape))
    (a * b).sum().backward()
    assert seen == [(3, 4, 5), (3, 4, 5)]
    expected = np.zeros((3, 4, 5), np.float32)
    expected[0], expected[1] = values()[1] * 2, values()[0]
    np.testing.assert_allclose(x.grad.numpy(), expected)


def test_anomaly_mode_finds_nan_in_a_part() -> None:
    """There every gradient is computed as its rule says."""
    x = lucid.zeros(3, requires_grad=True)
    with lucid.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="returned nan"):
        (x[0].sqrt() * 0).backward()


def test_wanted_part_and_whole() -> None:
    """`grad` for a tensor and for a part of it."""
    x = lucid.tensor(values()).requires_grad_()
    y = x * 1.0
    part = y[1]
    g_part, g_y = lucid.autograd.grad((part * y[0]).sum(), [part, y])
    np.testing.assert_array_equal(g_part.numpy(), values()[0])
    np.testing.assert_array_equal(g_y.numpy()[1], values()[0])
    assert not g_y.numpy()[2].any()


# ---- in place, and never where it shows --------------------------------------------------------------------------------
def test_only_the_first_sum_is_a_new_array() -> None:
    """The others are added into it."""
    x = lucid.tensor(values()).requires_grad_()
    y = x * 1.0
    loss = (y.exp() + y.sin() + y.cos() + y.sinh()).sum()
    sums = []

    def note(name: str, arrays: Any, attributes: Any, result: Any) -> None:
        if name == "add":
            sums.append(result is arrays[0])

    with backends.observe(note):
        loss.backward()
    assert sums == [False, True, True]


@pytest.mark.parametrize("hold", [
    lambda g: g, lambda g: g.detach(), lambda g: g.numpy(), lambda g: g[0], lambda g: g.numpy().reshape(-1),
    lambda g: memoryview(g.numpy()), lambda g: g.numpy().T])
def test_held_gradients_stay(hold: Callable[[Any], Any]) -> None:
    """What a hook keeps, in any form, is not added to."""
    kept: list[Any] = []
    x = lucid.tensor(values()).requires_grad_()
    y = x * 1.0
    z = y + x  # its gradient is that of y too, which is not complete yet
    z.register_hook(lambda g: kept.append((hold(g), np.array(hold(g)))))
    (z * z + y * y).sum().backward()
    (held, before), = kept
    np.testing.assert_array_equal(np.asarray(held), before)


def test_shared_gradients_stay_apart() -> None:
    """Both operands of a sum get one tensor as gradient: neither is written."""
    a, b, c = (lucid.tensor(values()).requires_grad_() for _ in range(3))
    x, y = a * 1.0, b * 1.0
    ((x + y) * 3.0 + x * c).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), 3 + values())
    np.testing.assert_allclose(b.grad.numpy(), np.full((3, 4, 5), 3, np.float32))


def test_gradient_that_a_rule_keeps() -> None:
    """A vjp may return a tensor of its closure, which a retained graph needs again."""
    from lucid.autograd.node import Node
    from lucid.tensor import wrap

    x = lucid.tensor(values()).requires_grad_()
    y = x * 1.0
    constant = lucid.ones(3, 4, 5)
    z = wrap(y._array.copy(), Node("kept", (y._node,), lambda g, _: (constant,)))
    loss = (z + y.exp()).sum() + y.sum()
    loss.backward(retain_graph=True)
    loss.backward()
    np.testing.assert_array_equal(constant.numpy(), np.ones((3, 4, 5), np.float32))


def test_upstream_gradient_stays() -> None:
    """The caller's array, also where the caller has let go of the tensor."""
    array = np.ones((3, 4, 5), np.float32)
    x = lucid.tensor(values()).requires_grad_()
    y = x * 1.0
    (y + y * 2.0 + y.exp()).backward(lucid.from_numpy(array))
    np.testing.assert_array_equal(array, np.ones((3, 4, 5), np.float32))


def test_large_gradients() -> None:
    """Beyond the size from which sums are kernels of our own."""
    x = lucid.rand(512, 256, requires_grad=True)
    y = x * 1.0
    (y * 2.0 + y * 3.0 + y * 4.0 + y[3] + y[:, :1]).sum().backward()
    expected = np.full((512, 256), 9, np.float32)
    expected[3] += 512
    expected[:, 0] += 256
    np.testing.assert_array_equal(x.grad.numpy(), expected)


def test_one_tensor_as_the_gradient_of_two(device):
    """Both add to it, and see what the other adds, as in PyTorch."""
    x, y = (lucid.ones(2, device=device, requires_grad=True) for _ in range(2))
    x.grad = y.grad = shared = lucid.zeros(2, device=device)
    (x.sum() * 2 + y.sum() * 3).backward()
    assert x.grad is y.grad is shared and shared.tolist() == [5, 5]
    upstream = lucid.ones(2, device=device)
    x.grad = y.grad = None
    (x + y).backward(upstream)  # no memory is shared that was not before
    x.grad.add_(5)
    assert y.grad.tolist() == upstream.tolist() == [1, 1]


def test_a_gradient_lies_as_its_leaf(device):
    """Without gaps, in the leaf's order of the dimensions if that has no gaps either: as in PyTorch."""
    def strides(leaf, other):
        leaf = leaf.requires_grad_()
        (leaf * other).sum().backward()
        assert leaf.grad.tolist() == other.tolist()
        return leaf.grad.stride()

    plain, turned = lucid.rand(3, 4, device=device), lucid.rand(4, 3, device=device).t()
    assert strides(turned.detach(), plain) == strides(turned.detach(), turned) == (1, 3)
    assert strides(plain.detach(), turned) == strides(plain.detach(), plain) == (4, 1)
    assert strides(lucid.rand(3, 8, device=device)[:, ::2], turned) == (4, 1)
    layer = lucid.nn.Conv2d(2, 3, 3, device=device).to(memory_format=lucid.channels_last)
    layer(lucid.rand(1, 2, 4, 4, device=device)).sum().backward()
    assert layer.weight.grad.stride() == layer.weight.stride() == (18, 1, 6, 2)


def test_grad_gives_what_lies_as_its_input_does_without_a_copy(device: str) -> None:
    x = lucid.rand(2, 8, 6, 6, device=device).contiguous(memory_format=lucid.channels_last).requires_grad_()
    y = lucid.nn.functional.max_pool2d(x, 3, 2, 1)
    g = lucid.rand(y.shape, device=device)
    (found,) = lucid.autograd.grad(y, [x], g, retain_graph=True)
    if device == "gpu":  # whose kernels take both orders
        assert found.stride() == x.stride()
    y.backward(g)
    assert x.grad.stride() == x.stride()
    assert found.tolist() == x.grad.tolist()
    upstream = lucid.rand(2, 8, 6, 6, device=device).contiguous(memory_format=lucid.channels_last)
    (apart,) = lucid.autograd.grad(x.clone(), [x], upstream)
    assert apart.tolist() == upstream.tolist() and apart.data_ptr() != upstream.data_ptr()  # the caller keeps its own
