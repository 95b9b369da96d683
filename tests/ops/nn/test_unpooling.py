"""Maxima back at their places: values, derivatives, output sizes, dtypes, errors, PyTorch."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from tests.ops.table.derivatives import check_derivatives, raises_like_torch, same_as_torch, uniform

SHAPES = {1: (2, 3, 9), 2: (2, 3, 6, 7), 3: (2, 2, 5, 6, 4)}
WINDOWS: list[tuple[Any, ...]] = [(2,), (3, 2), (3, 2, 1)]


@pytest.mark.torch
@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("dims", SHAPES)
def test_what_max_pooling_took(dims: int, window: tuple[Any, ...], device: str) -> None:
    """Overlapping windows find some maxima twice."""
    def apply(t: Any, F: Any, x: Any) -> Any:
        y, indices = getattr(F, f"max_pool{dims}d")(x, *window, return_indices=True)
        return getattr(F, f"max_unpool{dims}d")(y, indices, *window, output_size=SHAPES[dims][2:])

    same_as_torch(apply, uniform(*SHAPES[dims]), device=device)
    same_as_torch(lambda t, F, x: apply(t, F, x[0]), uniform(*SHAPES[dims]), device=device)


@pytest.mark.parametrize("dims", SHAPES)
def test_derivatives(dims: int, device: str) -> None:
    """Of equal places too: the last one counts forward, all of them have its gradient, as in PyTorch."""
    shape = (1, 2, *(2,) * dims)
    places = lucid.tensor(np.random.default_rng(0).permutation(4 ** dims)[:2 ** dims], device=device).expand(1, 2, -1)
    unpool = getattr(F, f"max_unpool{dims}d")
    check_derivatives(lambda x: unpool(x, places.reshape(shape), 2), device, uniform(*shape))
    same_as_torch(lambda t, F, x: getattr(F, f"max_unpool{dims}d")(x, t.zeros_like(x).long(), 2), uniform(*shape), device=device)


def test_sizes(device: str) -> None:
    x, places = lucid.tensor([[[1.0, 2.0]]], device=device), lucid.tensor([[[0, 3]]], device=device)
    assert F.max_unpool1d(x, places, 2).tolist() == [[[1, 0, 0, 2]]]
    assert F.max_unpool1d(x, places, 2, output_size=(5,)).tolist() == [[[1, 0, 0, 2, 0]]]
    assert F.max_unpool1d(x, places, 2, output_size=(1, 1, 5)).shape == (1, 1, 5)
    assert F.max_unpool1d(x, places, 3, 3, 1).shape == (1, 1, 4)
    assert F.max_unpool2d(lucid.ones(0, 3, 2, 2, device=device), lucid.ones(0, 3, 2, 2, device=device).long(), 2).shape == (0, 3, 4, 4)


def test_strides_and_special_numbers(device: str) -> None:
    x = lucid.tensor([[[[np.nan, np.inf], [-np.inf, -0.0]]]], device=device).transpose(2, 3)
    places = lucid.tensor([[[[5, 6], [9, 10]]]], device=device).transpose(2, 3)
    expected = np.zeros((1, 1, 4, 4))
    expected[0, 0, 1:3, 1:3] = [[np.nan, np.inf], [-np.inf, -0.0]]
    np.testing.assert_array_equal(F.max_unpool2d(x, places, 2).numpy(force=True), expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_dtypes(dtype: str, device: str) -> None:
    x = lucid.tensor([[[1.5, 2.5]]], dtype=getattr(lucid, dtype), device=device)
    y = F.max_unpool1d(x, lucid.tensor([[[1, 2]]], device=device), 2)
    assert y.dtype == x.dtype and y.tolist() == [[[0, 1.5, 2.5, 0]]]


def test_meta() -> None:
    for dims, shape in SHAPES.items():
        x = lucid.ones(shape, device="meta", requires_grad=True)
        y = getattr(F, f"max_unpool{dims}d")(x, lucid.ones(shape, dtype=lucid.int64, device="meta"), 2)
        assert y.is_meta and y.shape == (*shape[:2], *(2 * n for n in shape[2:]))
        y.sum().backward()
        assert x.grad.shape == shape


@pytest.mark.parametrize("bad", [-1, 16])
def test_indices_outside_the_plane(bad: int) -> None:
    raises_like_torch(lambda t, F: F.max_unpool2d(t.ones(1, 1, 2, 2), t.full((1, 1, 2, 2), bad), 2), "invalid max index")


def test_indices_outside_the_plane_on_a_gpu() -> None:
    x = lucid.ones(1, 1, 2, 2, device="gpu")
    with pytest.raises(IndexError, match="out of range"):
        F.max_unpool2d(x, lucid.full((1, 1, 2, 2), 16, device="gpu"), 2).tolist()


@pytest.mark.parametrize(("call", "match"), [
    (lambda t, F: F.max_unpool2d(t.ones(1, 1, 2, 2), t.ones(1, 1, 2, 2).long(), 2, output_size=(6, 6)), "invalid output_size"),
    (lambda t, F: F.max_unpool2d(t.ones(1, 1, 2, 2), t.ones(1, 1, 2, 2).long(), 2, output_size=(2, 4)), "invalid output_size"),
    (lambda t, F: F.max_unpool2d(t.ones(1, 1, 2, 2), t.ones(1, 1, 2, 2).long(), 2, output_size=(5,)), "2 or 4 elements"),
    (lambda t, F: F.max_unpool2d(t.ones(1, 1, 2, 2), t.ones(1, 1, 2, 2).int(), 2), "should be type int64 but got: Int"),
    (lambda t, F: F.max_unpool2d(t.ones(1, 1, 2, 2), t.ones(1, 1, 2, 1).long(), 2), "Expected shape of indices to be same"),
    (lambda t, F: F.max_unpool2d(t.ones(1, 1, 2, 2).long(), t.ones(1, 1, 2, 2).long(), 2), "not implemented for 'Long'"),
    (lambda t, F: F.max_unpool2d(t.ones(2, 2), t.ones(2, 2).long(), 2), "should be a 3d or 4d Tensor"),
    (lambda t, F: F.max_unpool2d(t.ones(1, 0, 2, 2), t.ones(1, 0, 2, 2).long(), 2), "non-zero size for non-batch dimensions"),
    (lambda t, F: F.max_unpool3d(t.ones(2, 2, 2), t.ones(2, 2, 2).long(), 2), "should be a 4d or 5d Tensor"),
    (lambda t, F: F.max_unpool3d(t.ones(1, 1, 2, 2), t.ones(1, 1, 2, 2).long(), 2, (0, 1, 1)), "greater than zero"),
    (lambda t, F: F.max_unpool1d(t.ones(1, 1, 2, 2), t.ones(1, 1, 2, 2).long(), 2), None),
])
def test_errors(call: Any, match: str) -> None:
    raises_like_torch(call, match)


def test_module_prints_its_window() -> None:
    assert repr(lucid.nn.MaxUnpool2d((2, 3), 1)) == "MaxUnpool2d(kernel_size=(2, 3), stride=(1, 1), padding=(0, 0))"
    y = lucid.nn.MaxUnpool1d(2)(lucid.ones(1, 1, 2), lucid.tensor([[[0, 3]]]), output_size=(5,))
    assert y.tolist() == [[[1, 0, 0, 1, 0]]]
