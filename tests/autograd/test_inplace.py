"""In-place writes: versions, views, history."""
from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import lucid
from lucid import Tensor
from lucid import _clock as clock
from lucid.autograd.inplace import increment


def leaf(values, device="cpu"):
    return lucid.tensor(values, requires_grad=True, device=device)


def test_version_counts_writes_through_every_alias(device):
    x = lucid.zeros(2, 3, device=device)
    row, flat, detached = x[0], x.reshape(6), x.detach()
    assert x._version == 0
    row.add_(1)
    flat[5] = 2.0
    detached.mul_(2)
    assert x._version == row._version == flat._version == detached._version == 3
    assert x.tolist() == [[2.0, 2.0, 2.0], [0.0, 0.0, 4.0]]
    assert x.data._version == 0


def test_saved_tensor_that_was_written_raises_with_op_and_shape(device):
    x, w = leaf([1.0, 2.0], device), lucid.tensor([3.0, 4.0], device=device)
    y = x * w
    w.add_(1)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*float32\[2\].*'mul'"):
        y.sum().backward()
    assert x.grad is None


def test_saved_output_that_was_written_raises():
    x = leaf([1.0, 2.0])
    y = x.exp()
    z = y * 1
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation.*output.*'exp'"):
        z.sum().backward()


def test_write_to_what_is_not_needed_is_allowed():
    x = leaf([1.0, 2.0])
    w = Tensor([3.0, 4.0])
    y = x + w
    w.add_(1)
    x2 = (x * 2)
    y2 = x2 + 1
    x2.mul_(3)
    (y.sum() + y2.sum() + x2.sum()).backward()
    assert x.grad.tolist() == [9.0, 9.0]


def test_write_before_use_is_not_an_error():
    x, w = leaf([1.0, 2.0]), Tensor([3.0, 4.0])
    w.add_(1)
    (x * w).sum().backward()
    assert x.grad.tolist() == [4.0, 5.0]


def test_leaf_that_requires_grad_refuses_writes(device):
    x = leaf([1.0, 2.0], device)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
        x[0].add_(1)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        x[0] = 5.0
    with lucid.no_grad():
        x.add_(1)
        x[0] = 7.0
    assert x.tolist() == [7.0, 3.0]


def test_inplace_history(device):
    x = leaf([1.0, 2.0], device)
    y = x * 2
    y.mul_(3)
    y += x
    y.sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]


def test_inplace_op_that_keeps_its_output():
    x = leaf([0.0, 1.0])
    y = x * 1
    y.exp_()
    y.sum().backward()
    assert x.grad.tolist() == pytest.approx([1.0, 2.7182817], rel=1e-6)


def test_write_through_a_view_reaches_the_base(device):
    x, w = leaf([1.0, 2.0, 3.0], device), leaf([10.0], device)
    base = x * 2
    view = base[1:2]
    view.mul_(w)
    assert base.tolist() == [2.0, 40.0, 6.0]
    base.sum().backward()
    assert x.grad.tolist() == [2.0, 20.0, 2.0]
    assert w.grad.tolist() == [4.0]


def test_write_to_the_base_reaches_live_views(device):
    x = leaf([1.0, 2.0, 3.0], device)
    base = x * 2
    early, other = base[:2], base.reshape(3, 1)
    base.mul_(3)
    (early.sum() + other.sum()).backward()
    assert x.grad.tolist() == [12.0, 12.0, 6.0]


def test_view_of_view_and_a_constant_base(device):
    buffer = lucid.zeros(2, 3, device=device)
    w = leaf([1.0, 2.0], device)
    buffer.transpose(0, 1)[1].copy_(w * w)
    assert buffer.requires_grad
    (buffer * 2).sum().backward()
    assert w.grad.tolist() == [4.0, 8.0]


def test_result_must_fit():
    x = Tensor([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"output with shape \[2\] doesn't match the broadcast shape \[3, 2\]"):
        x.add_(lucid.ones(3, 2))
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        lucid.tensor([1, 2]).add_(0.5)
    assert x.tolist() == [1.0, 2.0] and x._version == 0
    with pytest.raises(RuntimeError, match="single memory location"):
        lucid.zeros(1).expand(3).add_(1)


def test_inplace_dtype_is_kept():
    x = lucid.tensor([1, 2], dtype=lucid.int32)
    x.add_(lucid.tensor([1, 1], dtype=lucid.int64))
    assert x.dtype == lucid.int32 and x.tolist() == [2, 3]
    y = lucid.ones(2, dtype=lucid.float32)
    y.mul_(lucid.tensor([0.1, 0.2], dtype=lucid.float64))
    assert y.dtype == lucid.float32


def test_inplace_makes_no_cycle():
    gc.disable()
    try:
        x, w = leaf([1.0, 2.0]), leaf([3.0, 4.0])
        y = x * 1
        y.mul_(w)
        view = y[0:1]
        view.add_(w[0])
        references = [weakref.ref(y), weakref.ref(y.grad_fn), weakref.ref(view)]
        del y, view
        assert [r() for r in references] == [None] * 3
    finally:
        gc.enable()


@pytest.mark.parametrize("overwrite", [
    lambda y: y.zero_(), lambda y: y.fill_(2.0), lambda y: y.copy_(lucid.zeros(3, device=y.device)),
    lambda y: y.normal_(), lambda y: y[1:].zero_()])
def test_tensor_that_is_overwritten_still_requires_grad(overwrite, device):
    x = leaf([1.0, 2.0, 3.0], device)
    y = x * 2
    overwrite(y)
    assert y.requires_grad
    (y * y).sum().backward()
    assert x.grad[1:].tolist() == [0.0, 0.0]


def test_detach_inplace():
    x = leaf([1.0])
    y = x * 2
    y.detach_()
    assert y.is_leaf and not y.requires_grad


def test_data_swaps_memory_and_is_noticed():
    x, w = leaf([1.0]), Tensor([2.0])
    y = x * w
    w.data = Tensor([5.0])
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.backward(Tensor([1.0]))


def test_write_to_a_saved_output_that_is_not_differentiable_is_noticed(device):
    x = leaf([[1.0, 3.0], [5.0, 2.0]], device)
    values, indices = x.max(1)
    indices.fill_(0)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*'max_with_indices'"):
        values.sum().backward()


def test_increment(device):
    """Counts in place, as a write that versions tell of; of a view, as every write to one."""
    counter = lucid.tensor(0, device=device)
    alias, version = counter.detach(), counter._version
    increment(counter)
    assert (alias.item(), alias._version) == (1, version + 1)
    pair = lucid.zeros(2, device=device)
    increment(pair[1])
    assert pair.tolist() == [0.0, 1.0]
    for dtype in (lucid.uint8, lucid.int32, lucid.float32):  # as a sum of the dtype
        other = lucid.tensor(255, dtype=dtype, device=device)
        increment(other)
        assert lucid.equal(other, lucid.tensor(255, dtype=dtype, device=device) + 1)
    several = lucid.zeros(2, dtype=lucid.int64, device=device)
    increment(several)
    assert several.tolist() == [1, 1]
    nowhere = lucid.tensor(0, device="meta")
    increment(nowhere)
    assert nowhere.is_meta


def test_small_arrays_written_at_once_raise_what_others_do() -> None:
    x, y = lucid.ones(3), lucid.tensor([1.0, 2.0, 3.0])
    with pytest.raises(TypeError):
        x.exp_(y)
    with pytest.raises(TypeError):
        x.add_(None)
    with pytest.raises(TypeError):
        x.mul_()
    frozen = np.ones(3, np.float32)
    frozen.flags.writeable = False
    with pytest.raises(RuntimeError):
        lucid.from_numpy(frozen).add_(y)
    assert x.tolist() == [1, 1, 1] and x._version == 0


def test_small_arrays_written_at_once_have_versions_and_gradients() -> None:
    x, y = lucid.ones(3), lucid.tensor([1.0, 2.0, 3.0], requires_grad=True)
    z = y * x
    assert x.mul_(2)._version == 1 and x.add_(0.5) is x
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    with lucid.no_grad():
        x.add_(y).clamp_(0, 4)  # nothing is recorded, whatever requires grad
    assert x.tolist() == [3.5, 4, 4] and x._node is None
    x.mul_(y)
    assert x.requires_grad
    x.sum().backward()
    assert y.grad is not None and y.grad.tolist() == [3.5, 4, 4]
    with pytest.raises(RuntimeError, match="leaf"):
        y.add_(1)
    with pytest.raises(RuntimeError, match="view of a leaf"):
        y[:2].add_(1)


def test_arithmetic_of_complex_numbers_in_place() -> None:
    for length in (3, 70_000):  # the second as many as go to all threads, if they are real
        x, y = lucid.full((length,), 1 + 2j), lucid.full((length,), 1j)
        assert x.add_(y)._version == 1
        assert x.mul_(2j).sub_(1).neg_().div_(y).eq(-2 - 7j).all()
        with pytest.raises(RuntimeError):
            lucid.ones(length).mul_(y)


def test_copy_of_a_leaf_is_no_leaf(device):
    x = leaf([1.0, 2.0], device)
    y = lucid.zeros(2, device=device).copy_(x)
    assert y.requires_grad and not y.is_leaf
    y.mul_(3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0] and y.tolist() == [3.0, 6.0]


def test_views_made_without_grad_follow_writes_with_one(device):
    x = leaf([1.0, 2.0], device)
    z = lucid.ones(2, device=device)
    with lucid.no_grad():
        v = z[:1]
    v.mul_(x[:1])  # a write through the view itself
    (2 * v + z.sum()).sum().backward(retain_graph=True)
    assert x.grad.tolist() == [3.0, 0.0]
    v.mul_(x[1:])
    x.grad = None
    (x.sum() + v).sum().backward()
    assert x.grad.tolist() == [3.0, 2.0]
    y = x * 1
    with lucid.no_grad():
        part, (first, _) = y[1:], y.split(1)
    assert not part.requires_grad
    y.mul_(3)  # and one to its base
    x.grad = None
    (part + first).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_an_updated_buffer_makes_others_stale_only_where_they_share_it() -> None:
    """Running statistics: the clock of writes stands still unless a graph, or an alias, has the memory too."""
    layer, batch = lucid.nn.BatchNorm1d(2), lucid.randn(4, 2)
    layer(batch)
    version, last = layer.running_mean._version, clock.last_write
    layer(batch)
    assert clock.last_write == last and layer.running_mean._version == version + 1
    alias = layer.running_mean.detach()
    layer(batch)
    assert clock.last_write > last and alias._version == layer.running_mean._version == version + 2
    del alias
    loss = (leaf([1.0, 2.0]) * layer.running_mean).sum()
    layer(batch)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
