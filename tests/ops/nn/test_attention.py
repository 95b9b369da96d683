"""Scaled dot-product attention: values, derivatives, masks, grouped heads, dtypes, errors, PyTorch."""
from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from tests.ops.table.derivatives import check_derivatives, close, leaf, raises_like_torch, same_as_torch, uniform

attend = F.scaled_dot_product_attention


def qkv(*batch, queries=3, keys=4, width=2, value_width=2, groups=()):
    """Arrays for query, key and value."""
    return (uniform(*batch, queries, width), uniform(*(groups or batch), keys, width, seed=1),
            uniform(*(groups or batch), keys, value_width, seed=2))


MASK = np.array([[True, False, True, True], [False, True, False, True], [True, True, True, False]])
ADDITIVE = np.where(MASK, uniform(3, 4, seed=3), -np.inf)


@pytest.mark.torch
@pytest.mark.parametrize(("arrays", "keywords"), [
    (qkv(2, 2, value_width=3), {}),
    (qkv(2, 3), {"is_causal": True}),
    (qkv(2), {"scale": 0.3}),
    (qkv(), {"scale": -1.0}),
    (qkv(2, 1, 3), {}),
    (qkv(4, groups=(2,)), {"enable_gqa": True}),
    (qkv(2, 4, groups=(1, 2)), {"enable_gqa": True, "is_causal": True}),
    (qkv(2, 2, queries=1), {}),
    (qkv(1, 2, queries=5, keys=2), {"is_causal": True}),
    ((uniform(2, 1, 3, 2), uniform(3, 4, 2, seed=1), uniform(1, 4, 2, seed=2)), {}),
    ((uniform(3, 2), uniform(2, 4, 2, seed=1), uniform(2, 1, 4, 2, seed=2)), {}),
    ((uniform(1, 4, 3, 2), uniform(1, 2, 4, 2, seed=1), uniform(1, 1, 4, 2, seed=2)), {"enable_gqa": True}),
])
def test_values_and_derivatives(arrays, keywords, device):
    same_as_torch(lambda t, F, q, k, v: F.scaled_dot_product_attention(q, k, v, **keywords), *arrays, device=device)
    check_derivatives(lambda q, k, v: attend(q, k, v, **keywords), device, *arrays)


@pytest.mark.torch
@pytest.mark.parametrize("batch", [(2, 3), (2,), (), (2, 1, 2)])
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_masks(batch, kind, device):
    arrays = qkv(*batch)
    values = MASK if kind == "bool" else ADDITIVE
    shapes = [(3, 4), (1, 4), (3, 1), (1, 1), *([(*batch, 3, 4), (*batch[:-1], 1, 3, 4)] if batch else [])]
    for shape in shapes:
        mask = np.broadcast_to(values[:shape[-2], :shape[-1]], shape).copy()
        same_as_torch(masked(mask), *arrays, device=device)
        check_derivatives(partial(attend, attn_mask=lucid.tensor(mask, device=device)), device, *arrays)


def masked(mask):
    """Attention with a constant mask, for `same_as_torch`."""
    return lambda t, F, q, k, v: F.scaled_dot_product_attention(q, k, v, t.tensor(mask, device=q.device))


def test_a_mask_has_a_gradient(device):
    arrays = qkv(2, 2)
    for shape in ((3, 4), (2, 1, 1, 4), (1, 2, 3, 1)):
        mask = uniform(*shape, seed=4)
        same_as_torch(lambda t, F, q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), *arrays, mask, device=device)
        check_derivatives(attend, device, *arrays, mask)
    mask = leaf(uniform(3, 4), device)
    with lucid.no_grad():
        close(attend(*(lucid.tensor(a, device=device) for a in arrays), mask),
              attend(*(lucid.tensor(a, device=device) for a in arrays), mask.detach()).cpu().numpy(), 1e-12)


def test_a_query_that_sees_nothing_gets_zeros(device):
    values = MASK.copy()
    values[1] = False
    for mask in (values, np.where(values, 0.0, -np.inf)):
        same_as_torch(masked(mask), *qkv(1, 2), device=device)
        inputs = [leaf(a, device) for a in qkv(1, 2)]
        y = attend(*inputs, lucid.tensor(mask, device=device))
        first = lucid.autograd.grad(y.sum(), inputs, create_graph=True)
        assert (y[:, :, 1] == 0).all() and (first[0][:, :, 1] == 0).all()
        second = lucid.autograd.grad(sum((g * g).sum() for g in first), inputs)
        assert all(g.isfinite().all() for g in second)
    mask = leaf(np.where(values, 0.0, -np.inf), device)
    y = attend(*(lucid.tensor(a, device=device) for a in qkv(1, 2)), mask)
    y.sum().backward()
    assert (mask.grad[1] == 0).all() and mask.grad.isfinite().all()


def test_the_gradients_of_the_kernel_and_of_the_operations_are_the_same(device):
    inputs = [leaf(a, device) for a in qkv(2, 4, groups=(2, 2), queries=70, keys=66, width=5)]
    g = lucid.tensor(uniform(2, 4, 70, 2, seed=5), device=device)
    for keywords in ({}, {"is_causal": True}, {"attn_mask": lucid.tensor(uniform(70, 66) > 0, device=device)}):
        y = attend(*inputs, enable_gqa=True, **keywords)
        fused = lucid.autograd.grad(y, inputs, g, retain_graph=True)
        composed = lucid.autograd.grad(y, inputs, g, create_graph=True)
        for a, b in zip(fused, composed, strict=True):
            close(a, b.detach().cpu().numpy(), 1e-10)


def test_only_the_needed_gradients(device):
    q, k, v = (lucid.tensor(a, device=device) for a in qkv(1, 2))
    k.requires_grad_()
    attend(q, k, v).sum().backward()
    assert k.grad is not None and q.grad is None and v.grad is None


def test_memory_order_does_not_matter(device):
    arrays = qkv(2, 3, queries=4)
    plain = attend(*(lucid.tensor(a, device=device) for a in arrays))
    moved = [lucid.tensor(np.ascontiguousarray(a.swapaxes(1, 2)), device=device).transpose(1, 2) for a in arrays]
    close(attend(*moved), plain.cpu().numpy(), 1e-12)


@pytest.mark.parametrize("shapes", [
    ((0, 2, 3, 4), (0, 2, 5, 4), (0, 2, 5, 4)), ((1, 2, 0, 4), (1, 2, 5, 4), (1, 2, 5, 4)),
    ((1, 2, 3, 4), (1, 2, 0, 4), (1, 2, 0, 4)), ((1, 2, 3, 0), (1, 2, 5, 0), (1, 2, 5, 4)),
    ((1, 2, 3, 4), (1, 2, 5, 4), (1, 2, 5, 0)), ((3, 0), (5, 0), (5, 4)),
])
def test_empty(shapes, device):
    arrays = [uniform(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    same_as_torch(lambda t, F, q, k, v: F.scaled_dot_product_attention(q, k, v), *arrays, device=device)
    same_as_torch(lambda t, F, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), *arrays, device=device)
    with_mask = [leaf(a, device) for a in arrays]
    mask = lucid.ones(shapes[0][-2], shapes[1][-2], dtype=lucid.bool, device=device)
    y = attend(*with_mask, mask, dropout_p=0.5)
    y.sum().backward()
    assert y.shape == (*shapes[0][:-1], shapes[2][-1])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves(dtype, device):
    inputs = [lucid.tensor(a, device=device).to(getattr(lucid, dtype)).requires_grad_() for a in qkv(2, 2)]
    wide = [leaf(t.detach().float().cpu().numpy(), device) for t in inputs]
    g = lucid.tensor(uniform(2, 2, 3, 2, seed=6), device=device).to(getattr(lucid, dtype))
    for mask in (None, lucid.tensor(MASK, device=device), lucid.tensor(ADDITIVE, dtype=lucid.float32, device=device)):
        y, exact = attend(*inputs, mask), attend(*wide, mask)
        assert y.dtype == inputs[0].dtype
        close(y.float(), exact.detach().cpu().numpy(), 2e-2)
        for create_graph in (False, True):
            grads = lucid.autograd.grad(y, inputs, g, create_graph=create_graph, retain_graph=True)
            wanted = lucid.autograd.grad(exact, wide, g.float(), retain_graph=True)
            for a, b in zip(grads, wanted, strict=True):
                assert a.dtype == y.dtype
                close(a.float(), b.cpu().numpy(), 4e-2)


@pytest.mark.parametrize(("dtype", "fill"), [("bfloat16", "min"), ("bfloat16", -1e9), ("float32", "min"), ("float32", -1e9),
                                             ("float32", -2.5e38), ("float64", "min"), ("float64", -2.5e38)])
@pytest.mark.parametrize(("queries", "width"), [(1, 8), (4, 8), (20, 8), (20, 64)])
def test_a_query_whose_keys_are_all_as_low_as_can_be_gets_their_mean(dtype, fill, queries, width, device):
    """Language models mask with the lowest number of a dtype, or nearly so. It is not -inf: gradients are those of the mean."""
    dtype, keys = getattr(lucid, dtype), 16
    arrays = qkv(1, 2, queries=queries, keys=keys, width=width)
    inputs = [lucid.tensor(a, device=device).to(dtype).requires_grad_() for a in arrays]
    mask = lucid.full((queries, keys), lucid.finfo(dtype).min if fill == "min" else fill, dtype=dtype, device=device)
    y = attend(*inputs, mask)
    q, k, v = (t.detach().double().cpu().numpy() for t in inputs)
    scores = (v.sum(-1) - v.mean(-2).sum(-1, keepdims=True))[:, :, None] / keys / np.sqrt(width)  # their gradient, of each query
    wanted = (np.broadcast_to(scores @ k, q.shape), scores.swapaxes(2, 3) * q.sum(-2, keepdims=True),
              np.full(v.shape, queries / keys))
    tolerance = {2: 4e-2, 4: 1e-5, 8: 1e-12}[dtype.itemsize]
    close(y.double(), np.broadcast_to(v.mean(-2, keepdims=True), y.shape), tolerance)
    for create_graph in (True, False):
        for got, gradient in zip(lucid.autograd.grad(y.sum(), inputs, create_graph=create_graph, retain_graph=True), wanted,
                                 strict=True):
            close(got.double(), gradient, tolerance * max(1, queries / 2))


def test_float16_masked_with_its_lowest_number(device):
    """Scores still count beside it, as it is small: rows are of their own softmax."""
    arrays = qkv(1, 2, queries=20, keys=16, width=8)
    mask = np.full((20, 16), -65504.0)
    half = [lucid.tensor(a, device=device).half().requires_grad_() for a in arrays]
    wide = [leaf(t.detach().double().cpu().numpy(), device) for t in half]
    y, exact = attend(*half, lucid.tensor(mask, device=device).half()), attend(*wide, lucid.tensor(mask, device=device))
    close(y.double(), exact.detach().cpu().numpy(), 1e-2)
    for got, wanted in zip(lucid.autograd.grad(y.sum(), half), lucid.autograd.grad(exact.sum(), wide), strict=True):
        close(got.double(), wanted.cpu().numpy(), 2e-2)


def test_dropout(device):
    q, k, v = (lucid.tensor(a, device=device) for a in qkv(1, 1, queries=20, keys=50))
    ones = lucid.ones(1, 1, 50, 1, device=device, dtype=lucid.float64)
    assert (attend(q, k, v, dropout_p=1.0) == 0).all()
    lucid.manual_seed(0)
    share = attend(q * 0, k, ones, dropout_p=0.25)
    assert abs(share.mean().item() - 1) < 0.1 and share.std() > 0.01
    lucid.manual_seed(0)
    assert lucid.equal(attend(q * 0, k, ones, dropout_p=0.25), share)
    inputs = [leaf(a, device) for a in qkv(1, 1)]

    def dropped(q, k, v):
        lucid.manual_seed(1)
        return attend(q, k, v, dropout_p=0.5)

    assert lucid.autograd.gradcheck(dropped, inputs, fast_mode=device != "cpu", nondet_tol=1e-10)
    close(attend(q, k, v, dropout_p=-1.0), attend(q, k, v).cpu().numpy(), 1e-12)


def test_nan_stays_in_its_row(device):
    arrays = [a.copy() for a in qkv(1, 1)]
    arrays[0][0, 0, 1, 0] = np.nan
    y = attend(*(lucid.tensor(a, device=device) for a in arrays)).cpu()
    assert y[0, 0, 1].isnan().all() and y[0, 0, [0, 2]].isfinite().all()


def test_changed_inputs_are_noticed(device):
    q, k, v = (leaf(a, device) for a in qkv(1, 2))
    scaled = q * 1
    y = attend(scaled, k, v)
    scaled.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_on_the_device_meta():
    q = lucid.empty(2, 4, 3, 8, device="meta", requires_grad=True)
    k, v = lucid.empty(2, 2, 5, 8, device="meta"), lucid.empty(2, 2, 5, 6, device="meta")
    y = attend(q, k, v, enable_gqa=True)
    y.sum().backward()
    assert y.shape == (2, 4, 3, 6) and y.is_meta and q.grad.shape == q.shape


@pytest.mark.torch
@pytest.mark.parametrize(("call", "match"), [
    (lambda t, f: f(t.ones(4), t.ones(4), t.ones(4)), "at least 2 dimensional"),
    (lambda t, f: f(t.ones(1, 3, 4), t.ones(1, 5, 3), t.ones(1, 5, 4)), "do not fit"),
    (lambda t, f: f(t.ones(2, 3, 4), t.ones(3, 5, 4), t.ones(3, 5, 4)), "must match the size"),
    (lambda t, f: f(t.ones(3, 4), t.ones(5, 4).double(), t.ones(5, 4)), "to have the same dtype"),
    (lambda t, f: f(t.ones(3, 4).long(), t.ones(5, 4).long(), t.ones(5, 4).long()), "found Long"),
    (lambda t, f: f(*[t.ones(3, 4, dtype=t.complex64)] * 3), "found ComplexFloat"),
    (lambda t, f: f(1, t.ones(5, 4), t.ones(5, 4)), r"argument 'query' \(position 1\) must be Tensor, not int"),
    (lambda t, f: f(t.ones(3, 4), t.ones(5, 4), t.ones(5, 4), [1]), r"'attn_mask' \(position 4\) must be Tensor, not list"),
    (lambda t, f: f(t.ones(3, 4), t.ones(5, 4), t.ones(5, 4), t.ones(3, 5), is_causal=True), "Explicit attn_mask should not"),
    (lambda t, f: f(t.ones(3, 4), t.ones(5, 4), t.ones(5, 4), t.ones(3, 5).double()), "Expected attn_mask dtype"),
    (lambda t, f: f(t.ones(3, 4), t.ones(5, 4), t.ones(5, 4), t.ones(3, 5).long()), "Expected attn_mask dtype"),
    (lambda t, f: f(t.ones(3, 4), t.ones(5, 4), t.ones(5, 4), t.ones(3, 4)), "must match the size"),
    (lambda t, f: f(t.ones(1, 3, 4), t.ones(1, 5, 4), t.ones(1, 5, 4), t.ones(2, 3, 5)), "doesn't match the broadcast"),
    (lambda t, f: f(t.ones(1, 1, 3, 4), t.ones(1, 1, 5, 4), t.ones(1, 1, 5, 4), t.ones(5)), "Dimension out of range"),
    (lambda t, f: f(t.ones(3, 4), t.ones(5, 4), t.ones(5, 4), dropout_p=1.5), "between 0 and 1"),
    (lambda t, f: f(t.ones(4, 3, 4), t.ones(3, 5, 4), t.ones(3, 5, 4), enable_gqa=True), "must divide the number of heads"),
    (lambda t, f: f(t.ones(4, 3, 4), t.ones(2, 5, 4), t.ones(2, 5, 4)), "must match the size"),
    (lambda t, f: f(t.ones(3, 4), t.ones(5, 4), t.ones(5, 4), enable_gqa=True), "Dimension out of range"),
])
def test_errors(call, match):
    raises_like_torch(lambda t, functional: call(t, functional.scaled_dot_product_attention), match)
