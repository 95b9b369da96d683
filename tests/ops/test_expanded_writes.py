"""In-place writes to views of expanded tensors: where elements have memory of their own they are written, else they are refused."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import lucid

# What is written to x = [0, 1, 2, 3] through a part of ``x.expand(3, 4)`` in which no two elements share memory, and what x is then.
WRITES: dict[str, tuple[Any, list[float]]] = {
    "add_": (lambda t, y: y[0].add_(1), [1, 2, 3, 4]),
    "mul_ with a slice": (lambda t, y: y[1:2].mul_(2), [0, 2, 4, 6]),
    "iadd of a transpose": (lambda t, y: y.t()[:, 1].__iadd__(1), [1, 2, 3, 4]),
    "zero_": (lambda t, y: y[2].zero_(), [0, 0, 0, 0]),
    "fill_": (lambda t, y: y[2].fill_(5), [5, 5, 5, 5]),
    "copy_": (lambda t, y: y[0].copy_(t.ones(4)), [1, 1, 1, 1]),
    "clamp_": (lambda t, y: y[0].clamp_(1, 2), [1, 1, 2, 2]),
    "sqrt_": (lambda t, y: y[0].mul_(y[1]).sqrt_(), [0, 1, 2, 3]),
    "out": (lambda t, y: t.add(y[0], 1, out=y[0]), [1, 2, 3, 4]),
    "masked_fill_": (lambda t, y: y[0].masked_fill_(y[0] > 1, 9), [0, 1, 9, 9]),
    "scatter_": (lambda t, y: y[0].scatter_(0, t.tensor([3]), t.ones(1)), [0, 1, 2, 1]),
    "index_add_": (lambda t, y: y[0].index_add_(0, t.tensor([0, 0]), t.ones(2)), [2, 1, 2, 3]),
    "cumsum_": (lambda t, y: y[0].cumsum_(0), [0, 1, 3, 6]),
    "addcmul_": (lambda t, y: y[0].addcmul_(t.ones(4), t.ones(4)), [1, 2, 3, 4]),
    "flat": (lambda t, y: y[0].view(2, 2).t().add_(1), [1, 2, 3, 4]),
    "assign a row": (lambda t, y: y.__setitem__(0, t.ones(4)), [1, 1, 1, 1]),
    "assign an element": (lambda t, y: y.__setitem__((0, 1), 7.0), [0, 7, 2, 3]),
    "assign in a row": (lambda t, y: y[2].__setitem__(1, 7.0), [0, 7, 2, 3]),
    "assign by a vector": (lambda t, y: y[2].__setitem__(t.tensor([0, 3]), 7.0), [7, 1, 2, 7]),
    "assign by a vector in a row": (lambda t, y: y.__setitem__((2, t.tensor([0, 3])), 7.0), [7, 1, 2, 7]),
    "zero_ of all": (lambda t, y: y.zero_(), [0, 0, 0, 0]),
    "fill_ of all": (lambda t, y: y.fill_(3), [3, 3, 3, 3]),
}

# Writes in which elements share memory.
OVERLAPPING: dict[str, Any] = {
    "add_": lambda t, y: y.add_(1),
    "mul_ of two rows": lambda t, y: y[:2].mul_(2),
    "copy_": lambda t, y: y.copy_(t.ones(3, 4)),
    "exp_": lambda t, y: y.exp_(),
    "out": lambda t, y: t.exp(y, out=y),
    "assign a column": lambda t, y: y.__setitem__((slice(None), 1), 7.0),
    "scatter_": lambda t, y: y.scatter_(0, t.tensor([[0, 0, 0, 0]]), 9.0),
    "index_add_": lambda t, y: y.index_add_(0, t.tensor([0]), t.ones(1, 4)),
    "uniform_": lambda t, y: y.uniform_(),
    "clamp_": lambda t, y: y.clamp_(1, 2),
    "addmm_": lambda t, y: y.addmm_(t.ones(3, 3), t.ones(3, 4)),
    "cumsum_": lambda t, y: y.cumsum_(0),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("expand", ["expand", "broadcast_to", "of a view"])
def test_elements_with_memory_of_their_own_are_written(name: str, expand: str, device: str) -> None:
    lucid.set_default_device(device)
    try:
        write, expected = WRITES[name]
        whole = lucid.arange(6.0)
        x = whole[1:5].sub_(1) if expand == "of a view" else lucid.arange(4.0)
        y = lucid.broadcast_to(x, (3, 4)) if expand == "broadcast_to" else x.expand(3, 4)
        write(lucid, y)
        assert x.tolist() == expected
        assert y.tolist() == [expected] * 3
        assert whole[5].item() == 5
    finally:
        lucid.set_default_device(None)


@pytest.mark.parametrize("name", OVERLAPPING)
def test_elements_that_share_memory_are_refused(name: str, device: str) -> None:
    lucid.set_default_device(device)
    try:
        x = lucid.arange(4.0)
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor|some elements of the input tensor"):
            OVERLAPPING[name](lucid, x.expand(3, 4))
        assert x.tolist() == [0, 1, 2, 3]
    finally:
        lucid.set_default_device(None)


def test_both_kinds_are_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch")
    for name, (write, expected) in WRITES.items():
        x = torch.arange(4.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            write(torch, x.expand(3, 4))
        assert x.tolist() == expected, name
    for write in OVERLAPPING.values():
        with pytest.raises(RuntimeError):
            write(torch, torch.arange(4.0).expand(3, 4))


def test_gradient_of_a_row_of_an_expanded_tensor(device: str) -> None:
    x = lucid.tensor([1.0, 2.0], device=device).requires_grad_()
    z = x * 1
    y = z.expand(3, 2)
    y[0].mul_(3)
    y[1, 0] = 5.0
    assert z.tolist() == [5.0, 6.0] and y.tolist() == [[5.0, 6.0]] * 3
    z.sum().backward()
    assert x.grad.tolist() == [0.0, 3.0]


def test_an_expanded_view_is_written_to_by_numpy_where_its_memory_is() -> None:
    x = lucid.arange(2.0)
    x.expand(3, 2)[0].numpy()[0] = 9
    assert x.tolist() == [9.0, 1.0]
    fixed = np.arange(2.0)
    fixed.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        part = lucid.from_numpy(fixed).expand(3, 2)[0]
    with pytest.raises(RuntimeError):
        part.add_(1)
    assert fixed.tolist() == [0.0, 1.0]


def test_expanded_tensors_on_meta_are_written() -> None:
    x = lucid.zeros(2, 3, device="meta")
    for view in (x[None], x.expand(4, 2, 3)[1], x[:, None], x.expand(4, 2, 3)):
        assert view.zero_().device == "meta"
    with pytest.raises(RuntimeError, match="single memory location"):
        x.expand(4, 2, 3).add_(1)


def test_nothing_is_written_where_there_is_nothing(device: str) -> None:
    x = lucid.tensor([1.0, 2.0], device=device)
    x.expand(0, 2).add_(1)
    x.expand(1, 2).add_(1)
    assert x.tolist() == [2.0, 3.0]
