"""Dropout: shares, scale, the same numbers everywhere, gradients with the same mask, errors."""
from __future__ import annotations

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from tests.ops.table.derivatives import check_derivatives, leaf, raises_like_torch, same_as_torch, uniform


def seeded(function, seed=3):
    """`function` with the same random numbers in every call."""
    def call(*args):
        lucid.manual_seed(seed)
        return function(*args)

    return call


def test_share_and_scale(device):
    lucid.manual_seed(0)
    y = F.dropout(lucid.ones(4000, device=device), 0.3).cpu().numpy()
    assert set(np.unique(y)) == {np.float32(0), np.float32(1 / 0.7)}
    assert abs((y == 0).mean() - 0.3) < 0.03


def test_the_same_seed_gives_the_same_mask_on_every_device(device):
    drop = seeded(lambda x: F.dropout(x, 0.5))
    expected = drop(lucid.ones(3, 7)).tolist()
    assert drop(lucid.ones(3, 7, device=device)).tolist() == expected
    assert F.dropout(lucid.ones(3, 7), 0.5).tolist() != expected  # the generator went on
    # A view of other strides gets the mask by position.
    assert drop(lucid.ones(7, 3, device=device).t()).tolist() == expected


def test_gradients_have_the_mask_of_the_forward_pass(device):
    x = leaf(np.ones((4, 5)), device)
    y = F.dropout(x, 0.4)
    F.dropout(x, 0.4)  # draws other numbers in between
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()
    check_derivatives(seeded(lambda x: F.dropout(x, 0.3)), device, uniform(3, 4))
    check_derivatives(seeded(lambda x: F.dropout2d(x, 0.3)), device, uniform(2, 3, 2, 2))


def test_not_in_training_it_is_the_input_itself():
    x = lucid.ones(3)
    assert F.dropout(x, 0.5, training=False) is x
    assert F.dropout2d(lucid.ones(1, 2, 3, 3), 0.5, training=False).sum() == 18


def test_probability_zero_takes_no_numbers_and_gives_the_input_itself():
    x, counts = lucid.ones(2, 3), lucid.arange(3)
    before = lucid.get_rng_state()
    assert F.dropout(x, 0.0) is x and F.dropout(x, 0.0, inplace=True) is x and F.dropout(counts, 0.0) is counts
    assert lucid.equal(lucid.get_rng_state(), before)


def test_probabilities_zero_and_one(device):
    x = lucid.tensor([1.0, -2.0], device=device)
    assert F.dropout(x, 0.0).tolist() == [1.0, -2.0] and F.dropout(x, 1.0).tolist() == [0.0, 0.0]
    same_as_torch(lambda t, F, x: F.dropout(x, 1.0), np.array([np.inf, 1.0, np.nan]), device=device)


def test_whole_channels(device):
    lucid.manual_seed(1)
    for function, shape in ((F.dropout1d, (8, 8, 3)), (F.dropout2d, (8, 8, 3, 2)), (F.dropout3d, (8, 8, 3, 2, 2)),
                            (F.dropout1d, (64, 3)), (F.dropout3d, (64, 3, 2, 2))):
        y = function(lucid.ones(shape, device=device), 0.5).cpu().numpy()
        channels = y.reshape(64, -1)
        assert (channels == channels[:, :1]).all()
        assert set(np.unique(channels)) == {0.0, 2.0}


def test_inplace():
    base = leaf(np.ones(100))
    x = base * 1
    assert F.dropout(x, 0.5, inplace=True) is x
    x.sum().backward()
    assert base.grad.tolist() == x.tolist()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_dtypes_and_empty(dtype, device):
    x = lucid.ones(5, device=device).to(getattr(lucid, dtype))
    y = F.dropout(x, 0.5)
    assert y.dtype == x.dtype and set(y.tolist()) <= {0.0, 2.0}
    assert F.dropout(x[:0], 0.5).shape == (0,)


def test_complex():
    y = F.dropout(lucid.ones(50, dtype=lucid.complex64), 0.5)
    assert set(y.tolist()) == {0j, 2 + 0j}


def test_warnings():
    with pytest.warns(UserWarning, match="dropout1d"):
        F.dropout2d(lucid.ones(2, 3, 4), 0.5)
    with pytest.warns(UserWarning, match="2-D input"):
        F.dropout2d(lucid.ones(2, 3), 0.5)


@pytest.mark.parametrize(("call", "match"), [
    (lambda t, F: F.dropout(t.ones(2), 1.5), "dropout probability has to be between 0 and 1, but got 1.5"),
    (lambda t, F: F.dropout(t.ones(2), -0.1), "dropout probability"),
    (lambda t, F: F.dropout(t.ones(2).long(), 0.5), "can't be cast to the desired output type Long"),
    (lambda t, F: F.dropout1d(t.ones(2), 0.5), "Expected 2D or 3D input, but received a 1D input"),
    (lambda t, F: F.dropout2d(t.ones(2), 0.5), "at least 2 dimensions"),
])
def test_errors(call, match):
    raises_like_torch(call, match)
