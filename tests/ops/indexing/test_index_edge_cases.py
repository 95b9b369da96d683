"""Reading and writing by index where tensors have no dimensions, indices repeat, and numbers do not fit: as in PyTorch."""
from __future__ import annotations

import numpy as np
import pytest

import lucid
from tests.ops.table.agreement import agree

ZERO, ONE = np.array(0), np.array([0])
VECTOR = np.array([1.0, 2.0, 3.0])


@pytest.mark.torch
@pytest.mark.parametrize("name", ["scatter", "scatter_add", "index_add", "index_copy"])
@pytest.mark.parametrize("x", [np.array(1.0), VECTOR], ids=["0-d", "1-d"])
@pytest.mark.parametrize("index", [ZERO, ONE], ids=["0-d index", "1-d index"])
@pytest.mark.parametrize("source", [np.array(5.0), np.array([5.0])], ids=["0-d source", "1-d source"])
def test_write_without_dimensions(name, x, index, source, device):
    def write(lib, x, source, i):
        return getattr(x, name)(0, i, source), getattr(x.clone(), f"{name}_")(0, i, source)

    # PyTorch's gradient of a source with more dimensions than the index raises.
    agree(write, x, source, index, device=device, grad=source.ndim <= index.ndim)


@pytest.mark.torch
@pytest.mark.parametrize("x", [np.array(1.0), VECTOR, np.ones((1, 3))], ids=["0-d", "1-d", "2-d"])
@pytest.mark.parametrize("index", [ZERO, ONE, ONE[None]], ids=["0-d index", "1-d index", "2-d index"])
def test_gather_without_dimensions(x, index, device):
    agree(lambda lib, x, i: x.gather(0, i), x, index, device=device)


def test_gradient_of_the_number_of_index_fill_counts_repeated_slices_once(device):
    agree(lambda lib, x, y, i: x.index_fill(1, i, y), np.ones((2, 3)), np.array(4.0), np.array([2, 0, 2]), device=device)


@pytest.mark.torch
@pytest.mark.parametrize("number", [-1, -255, -256, 255, 256, 128, -129])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.float32, np.bool_])
@pytest.mark.parametrize("write", ["masked_fill", "scatter", "assign", "index_fill", "full"])
def test_numbers_that_an_integer_dtype_does_not_hold(write, dtype, number):
    def run(lib, x, mask, index):
        if write == "full":
            return lib.full((2,), number, dtype=x.dtype)
        if write == "assign":
            x[mask] = number
            return x
        return x.masked_fill(mask, number) if write == "masked_fill" else getattr(x, write)(0, index, number)

    agree(run, np.zeros(3, dtype), np.array([True, False, True]), np.array([1]), grad=False)


def test_indices_without_dimensions(device):
    def written(shape, indices, values, accumulate=False):
        x = lucid.zeros(shape, device=device)
        values = lucid.tensor(values, device=device)
        result = x.index_put_(indices, values, accumulate)
        assert result is x
        assert lucid.index_put(lucid.zeros(shape, device=device), indices, values, accumulate).tolist() == x.tolist()
        return x.tolist()

    one, two = lucid.tensor(1, device=device), lucid.tensor(2)
    assert written((3,), (one,), 5.0) == written((3,), [one.int()], 5.0) == [0, 5, 0]
    assert written((2, 3), (one,), [5.0, 6.0, 7.0]) == written((2, 3), (-one,), [5.0, 6.0, 7.0]) == [[0, 0, 0], [5, 6, 7]]
    assert written((2, 3), (one, two), 5.0) == [[0, 0, 0], [0, 0, 5]]
    assert written((2, 3), (one, lucid.tensor([0, 2], device=device)), [5.0, 6.0]) == [[0, 0, 0], [5, 0, 6]]
    assert written((2, 3), (lucid.tensor([0, 1], device=device), two), [5.0, 6.0]) == [[0, 0, 5], [0, 0, 6]]
    assert written((2, 3), (one,), 1.0, accumulate=True) == [[0, 0, 0], [1, 1, 1]]
    assert written((2, 3), (one, lucid.tensor([0, 0], device=device)), [5.0, 6.0], accumulate=True) == [[0, 0, 0], [11, 0, 0]]
    assert written((3,), (lucid.tensor(True, device=device),), 5.0) == [5, 5, 5]
    assert written((3,), (lucid.tensor(False, device=device),), 5.0) == [0, 0, 0]
    for wrong in ((1,), (None, one), ()):
        with pytest.raises(TypeError, match="must be tensors"):
            lucid.zeros(2, 3, device=device).index_put_(wrong, lucid.tensor(5.0, device=device))


def test_gradients_at_indices_without_dimensions(device):
    x = lucid.ones(2, 3, device=device, requires_grad=True)
    values = lucid.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
    for accumulate in (False, True):
        y = (x * 2).index_put_((lucid.tensor(1, device=device),), values, accumulate)
        (y * y).sum().backward()
    assert x.grad.tolist() == [[16, 16, 16], [12, 16, 20]]
    assert values.grad.tolist() == [2 + 6, 4 + 8, 6 + 10]


def test_masks_of_uint8(device):
    mask = lucid.tensor([1, 0], dtype=lucid.uint8, device=device)
    x = lucid.zeros(2, 2, device=device)
    x[mask] = lucid.tensor([1.0, 2.0], device=device)
    assert x.tolist() == [[1, 2], [0, 0]]
    x[lucid.tensor([[0, 2], [0, 3]], dtype=lucid.uint8, device=device)] = lucid.tensor([7.0, 8.0], device=device)
    assert x.tolist() == [[1, 7], [0, 8]]
    with pytest.warns(UserWarning, match="uint8 condition"):
        assert lucid.where(mask, 1, 2).tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="boolean tensor"):
        lucid.where(mask.int(), 1, 2)
