"""`lucid.Tensor(...)`: PyTorch's reading of its arguments, and that of lucid 2.x for those that PyTorch refuses."""
from __future__ import annotations

import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import Size, Tensor, nn


def test_integers_are_sizes(device: str) -> None:
    for made, shape in ((Tensor(5, device=device), (5,)), (Tensor(2, 0, device=device), (2, 0)), (Tensor(device=device), (0,)),
                        (Tensor(Size([2, 3]), device=device), (2, 3)), (Tensor(Size([]), device=device), ()),
                        (Tensor(np.int64(2), 3, device=device), (2, 3)), (Tensor(lucid.tensor(2), 1, device=device), (2, 1))):
        assert made.shape == shape
        assert made.dtype == lucid.float32
        assert made.device == device
        assert made.is_leaf
        assert not made.requires_grad
    with pytest.raises(RuntimeError, match="negative dimension -1: \\[2, -1\\]"):
        Tensor(2, -1)


@pytest.mark.parametrize("data", [[1, 2], (1, 2), [True, False], range(3), np.arange(2), np.arange(2.0), [[1, 2], [3, 4]],
                                  array.array("d", [1, 2]), [1 << 70], [np.float64(1), 2], []], ids=str)
def test_data_have_the_default_dtype(data: Any, device: str) -> None:
    made = Tensor(data, device=device)
    assert made.dtype == lucid.float32
    assert made.device == device
    assert made.tolist() == np.asarray(data, np.float32).tolist()


def test_default_dtype_and_complex_data() -> None:
    lucid.set_default_dtype(lucid.float64)
    try:
        assert Tensor(2).dtype == Tensor([1]).dtype == Tensor(np.ones(1, np.float32)).dtype == lucid.float64
    finally:
        lucid.set_default_dtype(lucid.float32)
    assert Tensor([1j, 2]).tolist() == [1j, 2]
    assert Tensor(np.ones(1, np.complex128)).dtype == lucid.complex64


def test_a_tensor_gives_a_view_of_it(device: str) -> None:
    integers = lucid.tensor([1, 2], device=device)
    view = Tensor(integers)
    assert view is not integers
    assert view.dtype == lucid.int64
    view[0] = 5
    assert integers.tolist() == [5, 2]
    x = lucid.ones(2, device=device, requires_grad=True)
    doubled = x * 2
    view = Tensor(doubled)
    doubled.mul_(3)  # a write to the base reaches the history of the view
    view.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [6, 6]
    assert Tensor(nn.Parameter(lucid.ones(2))).grad_fn is not None


def test_an_array_of_the_default_dtype_is_shared_as_in_pytorch() -> None:
    values = np.zeros(2, np.float32)
    Tensor(values)[0] = 1
    assert values.tolist() == [1, 0]
    copied = Tensor(values, requires_grad=True)
    assert not np.shares_memory(copied.detach().numpy(), values)


def test_the_constructor_of_lucid_2(device: str) -> None:
    for number, dtype in ((2.5, lucid.float32), (True, lucid.bool), (1j, lucid.complex64), (np.float64(2), lucid.float64)):
        made = Tensor(number)
        assert made.shape == ()
        assert made.dtype == dtype
        assert made.item() == number
    x = Tensor([1, 2], requires_grad=True, device=device)
    assert x.is_leaf
    assert x.requires_grad
    assert x.dtype == lucid.float32
    assert x.device == device
    assert Tensor([1, 2], dtype=lucid.int8).dtype == lucid.int8
    assert Tensor(5, dtype=lucid.float64).item() == 5.0
    by_position = Tensor([1.0], True, lucid.float64, device)
    assert by_position.requires_grad
    assert by_position.dtype == lucid.float64
    assert by_position.device == device
    source = lucid.ones(2, dtype=lucid.float64, requires_grad=True)
    copied = Tensor(source, requires_grad=True)
    assert copied.is_leaf
    assert copied.dtype == lucid.float64
    assert copied._array is not source._array
    assert Tensor(source, device=device).device == device


@pytest.mark.parametrize("make", [lambda: Tensor("ab"), lambda: Tensor(None), lambda: Tensor({1: 2}), lambda: Tensor([1], [2]),
                                  lambda: Tensor([1], lucid.float32), lambda: Tensor(2, 3.0), lambda: Tensor((2, 3), 4),
                                  lambda: Tensor([1], True, requires_grad=True), lambda: Tensor(["a"])])
def test_arguments_without_a_meaning(make: Callable[[], Tensor]) -> None:
    with pytest.raises(TypeError):
        make()


def test_subclasses_are_made_alike() -> None:
    class Named(Tensor):
        pass

    for arguments, shape in (((3,), (3,)), (([1, 2],), (2,)), ((lucid.ones(2, 2),), (2, 2))):
        made = Named(*arguments)
        assert type(made) is Named
        assert made.shape == shape


def test_shapes_and_dtypes_are_those_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    cases: list[tuple[Any, ...]] = [
        (), (5,), (0,), (2, 0), ((2, 3),), ([2, 3],), ([],), (np.int64(5),), (np.array(5),), (np.array(5.0),), (np.array([5]),),
        (np.array([1, 2]),), (np.ones(2),), ([True, False],), (range(3),), ([[]],), ((),), (5, True), (np.int64(3), 2)]
    for arguments in cases:
        ours, theirs = Tensor(*arguments), torch.Tensor(*arguments)
        assert tuple(ours.shape) == tuple(theirs.shape), arguments
        assert ours.dtype.name == str(theirs.dtype)[6:], arguments


def test_new_memory_is_on_the_default_device(device: str) -> None:
    before = lucid.get_default_device()
    lucid.set_default_device(device)
    try:
        made = Tensor(2, 3), Tensor([1.0]), Tensor(()), Tensor([1, 2], dtype=lucid.int64), Tensor(4.0, requires_grad=True)
    finally:
        lucid.set_default_device(before)
    assert {t.device.type for t in made} == {device}
