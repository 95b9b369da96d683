"""Reading and writing by index where tensors have no dimensions, indices repeat, and numbers do not fit: as in PyTorch."""
from __future__ import annotations

import numpy as np
import pytest

from tests.ops.agreement import agree

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
