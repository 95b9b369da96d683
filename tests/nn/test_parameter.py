"""Parameter and Buffer: stable handles over arrays."""
from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import Tensor, nn


def test_parameter_of_a_tensor_shares_its_memory() -> None:
    data = lucid.zeros(3)
    parameter = nn.Parameter(data)
    assert parameter.requires_grad
    assert parameter.is_leaf
    assert not data.requires_grad
    data.fill_(2.0)
    assert parameter.tolist() == [2.0, 2.0, 2.0]


def test_parameter_prints_as_in_torch() -> None:
    assert repr(nn.Parameter(lucid.ones(2))) == "Parameter containing:\nTensor([1.0, 1.0], requires_grad=True)"


def test_empty_parameter_and_buffer() -> None:
    assert nn.Parameter().shape == (0,)
    assert nn.Buffer().shape == (0,)


def test_integer_parameters_cannot_require_grad() -> None:
    with pytest.raises(RuntimeError, match="floating point"):
        nn.Parameter(lucid.tensor([1, 2]))
    assert nn.Parameter(lucid.tensor([1, 2]), requires_grad=False).dtype == lucid.int64


def test_operations_return_plain_tensors() -> None:
    for handle in (nn.Parameter(lucid.ones(2)), nn.Buffer(lucid.ones(2))):
        for result in (handle + 1, handle * handle, handle.detach(), handle.clone(), handle[0], handle.sum()):
            assert type(result) is Tensor
        assert isinstance(handle, Tensor)


def test_buffer_keeps_the_flag_of_a_leaf_and_drops_a_graph() -> None:
    leaf = lucid.ones(2, requires_grad=True)
    assert nn.Buffer(leaf).requires_grad
    computed = nn.Buffer(leaf * 2)
    assert not computed.requires_grad
    assert computed.grad_fn is None


def test_buffer_shares_memory_and_its_version_with_the_tensor() -> None:
    x = lucid.ones(2, requires_grad=True)
    data = lucid.ones(2)
    buffer = nn.Buffer(data)
    y = x * buffer
    data.add_(1)
    assert buffer.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("make", [nn.Parameter, nn.Buffer], ids=["parameter", "buffer"])
def test_moving_swaps_the_array_inside_the_object(make: Any, device: str) -> None:
    handle = make(Tensor([1.0, 2.0]))
    if handle.requires_grad:
        handle.grad = lucid.ones(2)
    gradient = handle.grad
    assert handle.to(device) is handle
    assert handle.device == device
    assert handle.tolist() == [1.0, 2.0]
    assert handle.is_leaf
    assert handle.grad is gradient
    if gradient is not None:
        assert gradient.device == device
    assert handle.to(lucid.ones(1, device=device)) is handle
    assert handle.to("cpu") is handle
    assert handle.device == "cpu"


def test_gpu_and_cuda_move_too(device: str) -> None:
    if device == "cpu":
        pytest.skip("needs the device 'gpu'")
    handle = nn.Buffer([1.0])
    assert handle.gpu() is handle
    host = handle.cpu()
    assert host is not handle
    assert (host.device, handle.device) == ("cpu", "gpu")
    assert nn.Parameter(lucid.ones(1)).cuda().is_cuda
    weight = nn.Parameter(lucid.ones(2, 3, 4, 5))
    laid = weight.cuda(memory_format=lucid.channels_last)
    assert laid is not weight and laid.is_contiguous(memory_format=lucid.channels_last)
    assert (laid.device, weight.device) == ("gpu", "cpu")
    assert weight.cuda(memory_format=lucid.preserve_format) is weight


def test_what_makes_other_numbers_returns_a_new_tensor(device: str) -> None:
    handle = nn.Buffer([1.0, 2.0], device=device)
    for other in (handle.to(lucid.float64), handle.double(), handle.to(device, lucid.float16), handle.to(device, copy=True),
                  handle.to("cpu", copy=True)):
        assert other is not handle
        assert type(other) is Tensor
    assert (handle.dtype, handle.device) == (lucid.float32, device)


def test_a_dtype_cast_of_a_parameter_is_differentiable() -> None:
    parameter = nn.Parameter(lucid.ones(2))
    parameter.to(lucid.float64).sum().backward()
    assert parameter.grad is not None
    assert parameter.grad.dtype == lucid.float32


def test_moving_between_forward_and_backward_is_an_error_that_names_it(device: str) -> None:
    if device == "cpu":
        pytest.skip("needs the device 'gpu'")
    module = nn.Linear(2, 2)
    loss = (module.weight * module.weight).sum()
    module.to("gpu")
    with pytest.raises(RuntimeError, match="parameter 'weight'"):
        loss.backward()


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"])
def test_copies_keep_class_and_flags(duplicate: Any) -> None:
    frozen = duplicate(nn.Parameter(lucid.ones(2), requires_grad=False))
    assert type(frozen) is nn.Parameter
    assert not frozen.requires_grad
    original = nn.Parameter(lucid.ones(2))
    original.tag = "kept"
    same = duplicate(original)
    assert type(same) is nn.Parameter
    assert same.requires_grad
    assert same.tag == "kept"
    same.data.fill_(5.0)
    assert original.tolist() == [1.0, 1.0]
    buffer = duplicate(nn.Buffer([1.0], persistent=False))
    assert type(buffer) is nn.Buffer
    assert not buffer.persistent


def test_a_deep_copy_of_a_parameter_has_no_gradient() -> None:
    parameter = nn.Parameter(lucid.ones(2))
    parameter.sum().backward()
    assert copy.deepcopy(parameter).grad is None
    assert parameter.grad is not None


def test_buffer_of_a_numpy_array_is_a_copy() -> None:
    array = np.zeros(2)
    buffer = nn.Buffer(array)
    array[0] = 1
    assert buffer.tolist() == [0.0, 0.0]
