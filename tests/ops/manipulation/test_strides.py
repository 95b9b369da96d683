"""Views by strides, diagonals and methods that reshape in place: memory is shared, writes and gradients follow."""
from __future__ import annotations

import numpy as np
import pytest

import lucid
from tests.ops.table.agreement import agree

X = np.random.default_rng(0).normal(size=(4, 5))


def test_diagonal_is_a_view(device):
    x = lucid.zeros(3, 3, device=device)
    x.diagonal().fill_(2)
    x.diagonal(1).add_(1)
    assert x.tolist() == [[2.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 2.0]]
    assert x.diagonal()._base is x
    assert lucid.empty(3, 4, device="meta").diagonal().stride() == (5,)


def test_as_strided(device):
    agree(lambda lib, x: x.as_strided((3, 2, 2), (1, 2, 4), 1) * 2, X, device=device)
    agree(lambda lib, x: x.t()[1:].as_strided((3, 2), (1, 2)), X, device=device)
    agree(lambda lib, x: x[1:].as_strided((0, 3), (1, 2)), X, device=device)
    agree(lambda lib, x: x.expand(2, 4, 5).as_strided((2, 3), (1, 1)), X, device=device)
    for size, stride, offset in (((30,), (1,), 0), ((2,), (-1,), 0), ((2,), (1, 1), 0), ((2,), (1,), -1), ((2,), (1,), 19)):
        agree(lambda lib, x: x.as_strided(size, stride, offset), X, device=device)  # noqa: B023
    assert lucid.tensor(X, device=device)[1, 2:].storage_offset() == 7


def test_windows(device):
    for dim, size, step in ((0, 2, 1), (1, 3, 2), (-1, 5, 1), (0, 0, 1), (1, 6, 1), (0, 2, 0), (2, 1, 1)):
        agree(lambda lib, x: x.unfold(dim, size, step), X, device=device)  # noqa: B023
    agree(lambda lib, x: x.unfold(0, 1, 1), np.array(1.0), device=device)


def test_writes_through_overlapping_views(device):
    def program(lib, a):
        x = a * 2
        y = x.t()
        part = y.as_strided((2, 3), (4, 1), 2)
        part.mul_(a[:2, :3])
        x.diagonal().mul_(3)
        windows = x.unfold(1, 2, 2)
        windows[0].mul_(2)
        return (x * x).sum(), (part ** 3).sum(), (y ** 2).sum(), (windows ** 3).sum()

    agree(program, X, device=device)


@pytest.mark.torch
@pytest.mark.parametrize(("name", "arguments"), [
    ("squeeze_", ()), ("unsqueeze_", (0,)), ("transpose_", (0, 1)), ("swapaxes_", (0, 1)), ("swapdims_", (0, 1)), ("t_", ()),
    ("tril_", (1,)), ("triu_", (-1,)), ("as_strided_", ((2, 2), (1, 2)))])
def test_reshaped_in_place(name, arguments, device):
    agree(lambda lib, a: getattr(a * 2, name)(*arguments) ** 2, X, device=device)
    agree(lambda lib, a: getattr(a, name)(*arguments), X, device=device)  # a leaf that requires grad
    agree(lambda lib, a: getattr(a, name)(*arguments), X, device=device, grad=False)


def test_views_survive_a_transposition_in_place(device):
    def program(lib, a):
        x = a * 2
        row = x[1]
        x.t_()
        x.mul_(3)
        row.mul_(a[0])
        x.unsqueeze_(0).squeeze_()
        x[0].mul_(2)
        rest = x[1:]
        rest.transpose_(0, 1)
        rest.mul_(3)
        return (x ** 2).sum(), (row ** 3).sum(), (rest ** 2)[0].sum()

    agree(program, X, device=device)


def test_saved_tensors_notice_a_transposition_in_place(device):
    def program(lib, a):
        x = a * 1
        y = x * x
        x.t_()
        y.sum().backward()

    agree(program, X, device=device)


@pytest.mark.parametrize("offset", [-2, 0, 1])
def test_diagonals(offset, device):
    for name in ("diagonal", "diag", "diag_embed", "diagflat"):
        agree(lambda lib, x: getattr(lib, name)(x, offset), X, device=device)  # noqa: B023
        agree(lambda lib, x: getattr(lib, name)(x, offset), X[0], device=device)  # noqa: B023
    agree(lambda lib, x: lib.diag_embed(x, offset, 0, 2), X, device=device)
    agree(lambda lib, x: x.diagonal_scatter(x.diagonal(offset) ** 2, offset), X, device=device)
    agree(lambda lib, x: lib.diag_embed(x, offset, 1, -2), X, device=device)


def test_copies_with_a_part_replaced(device):
    agree(lambda lib, a: a.select_scatter(a[0] * 2, 0, -1), X, device=device)
    agree(lambda lib, a: a.slice_scatter(a[:2] * 2, 0, 1, 4, 2), X, device=device)
    agree(lambda lib, a: a.select_scatter(a[0, :2], 0, -1), X, device=device)
    agree(lambda lib, a: a.slice_scatter(a, step=0), X, device=device)
    agree(lambda lib, a: a.as_strided_scatter(a[0, :4].reshape(2, 2), (2, 2), (5, 2), 1), X, device=device, grad=False)
    agree(lambda lib, a: a.sum_to_size(4, 1), X, device=device)
    agree(lambda lib, a: a.sum_to_size(3, 1), X, device=device)
