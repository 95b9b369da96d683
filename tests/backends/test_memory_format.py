"""Memory formats: strides and values, on and between devices."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
from lucid.backends.memory_format import format_of, in_memory_order, memory_axes


def tensor(dtype: Any = None) -> Any:
    return lucid.arange(120, device="cpu").to(dtype).reshape(2, 3, 4, 5)


@pytest.mark.parametrize("dtype", [lucid.float32, lucid.float16, lucid.bfloat16, lucid.bool, lucid.int64, lucid.complex64])
def test_a_dense_tensor_keeps_its_format_on_the_way(dtype: Any, device: str) -> None:
    for x in (tensor(dtype).to(memory_format=lucid.channels_last), tensor(dtype).permute(3, 0, 2, 1), tensor(dtype)):
        there = x.to(device)
        back = there.to("cpu")
        assert there.stride() == back.stride() == x.stride()
        assert back.tolist() == x.tolist()


def test_a_view_with_gaps_becomes_dense_in_its_own_order(device: str) -> None:
    x = tensor(lucid.float32).to(device)[:, ::2].transpose(1, 2)
    assert x.clone().stride() == x.to(lucid.float64).stride() == (40, 5, 20, 1)
    assert x.clone().tolist() == x.tolist()


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3, 4), (1, 1, 1, 1)])
def test_odd_shapes(shape: tuple[int, ...], device: str) -> None:
    x = lucid.ones(shape, device=device)
    assert x.clone().shape == x.to("cpu").shape == lucid.zeros_like(x).shape == shape
    if len(shape) == 4:
        y = x.to(memory_format=lucid.channels_last)
        assert y.tolist() == x.tolist()
        assert y.is_contiguous(memory_format=lucid.channels_last)


def test_the_format_that_strides_suggest() -> None:
    array = np.zeros((2, 3, 4, 5))
    assert format_of(array) is lucid.contiguous_format
    assert format_of(array.transpose(0, 3, 1, 2)) is lucid.channels_last
    assert format_of(array.transpose(0, 2, 1, 3)) is lucid.contiguous_format  # neither: as PyTorch answers
    assert format_of(np.zeros((2, 3, 4, 5, 6)).transpose(0, 4, 1, 2, 3)) is lucid.channels_last_3d
    assert format_of(np.zeros((2, 1, 4, 5))) is lucid.contiguous_format  # ambiguous


def test_the_order_of_broadcast_dimensions_is_their_own() -> None:
    array = np.broadcast_to(np.arange(3).reshape(1, 3, 1), (2, 3, 4))
    assert memory_axes(array) == (0, 1, 2)
    assert in_memory_order(array, lambda ordered: ordered.copy()).strides == np.zeros((2, 3, 4), int).strides


def test_in_place_writes_go_through_the_strides(device: str) -> None:
    y = tensor(lucid.float32).to(device).to(memory_format=lucid.channels_last)
    y[:, 1].fill_(7.0)
    y.mul_(2)
    expected = tensor(lucid.float32)
    expected[:, 1] = 7.0
    assert y.tolist() == (expected * 2).tolist()
    assert y.is_contiguous(memory_format=lucid.channels_last)
