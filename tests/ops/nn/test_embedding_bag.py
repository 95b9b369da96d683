"""Bags of rows: sums, means, maxima, derivatives, padding, frequencies, norms, errors, PyTorch."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from tests.ops.table.derivatives import check_derivatives, close, raises_like_torch, same_as_torch, uniform

INDICES, OFFSETS = np.array([0, 3, 3, 1, 4, 0, 3]), np.array([0, 2, 2, 7])
OPTIONS: list[dict[str, Any]] = [{}, {"include_last_offset": True}, {"padding_idx": 3}, {"padding_idx": -5},
                                 {"padding_idx": 0, "include_last_offset": True}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_matches_torch(mode: str, options: dict[str, Any], device: str) -> None:
    def apply(t: Any, F: Any, i: Any, o: Any, w: Any) -> Any:
        return F.embedding_bag(i, w, o, mode=mode, **options)

    same_as_torch(apply, INDICES, OFFSETS, uniform(5, 3), device=device)
    same_as_torch(apply, INDICES.astype("i4"), OFFSETS.astype("i4"), uniform(5, 3).astype("f4"), rtol=1e-6, device=device)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_many(mode: str) -> None:
    """Our kernels, which serve larger inputs on the CPU; and rows of a matrix as bags."""
    rng = np.random.default_rng(0)
    indices, offsets = rng.integers(0, 50, 900), np.sort(rng.integers(0, 900, 200))
    offsets[0] = 0
    same_as_torch(lambda t, F, i, o, w: F.embedding_bag(i, w, o, mode=mode, padding_idx=7), indices, offsets, uniform(50, 21))
    same_as_torch(lambda t, F, i, w: F.embedding_bag(i, w, mode=mode), indices.reshape(90, 10), uniform(50, 21))


def test_gradients_divided_by_frequencies(device: str) -> None:
    """Those of the rows themselves; PyTorch's are divided by numbers of other rows in some cases."""
    weight = lucid.tensor(uniform(5, 3), device=device, requires_grad=True)
    indices, offsets = lucid.tensor(INDICES, device=device), lucid.tensor(OFFSETS, device=device)
    for padding_idx, expected in ((None, [1, 1, 0, 1, 1]), (3, [1, 1, 0, 0, 1])):
        y = F.embedding_bag(indices, weight, offsets, mode="sum", scale_grad_by_freq=True, padding_idx=padding_idx)
        close(lucid.autograd.grad(y.sum(), weight)[0][:, 0], expected)


def test_numbers_after_the_last_offset_are_in_no_bag(device: str) -> None:
    indices, weight = lucid.tensor([0, 1, 2], device=device), lucid.tensor([[1.0], [2.0], [4.0]], device=device, requires_grad=True)
    y = F.embedding_bag(indices, weight, lucid.tensor([0, 1, 2], device=device), mode="sum", include_last_offset=True)
    assert y.tolist() == [[1.0], [2.0]]
    assert lucid.autograd.grad(y.sum(), weight)[0].tolist() == [[1.0], [1.0], [0.0]]


def test_weights_of_samples(device: str) -> None:
    def apply(t: Any, F: Any, i: Any, o: Any, w: Any, p: Any) -> Any:
        return F.embedding_bag(i, w, o, mode="sum", per_sample_weights=p, padding_idx=1)

    same_as_torch(apply, INDICES, OFFSETS, uniform(5, 3), uniform(7, seed=1), device=device)
    rng = np.random.default_rng(0)
    same_as_torch(apply, rng.integers(0, 50, 900), np.arange(0, 900, 9), uniform(50, 21), uniform(900, seed=1))
    same_as_torch(lambda t, F, i, w, p: F.embedding_bag(i, w, mode="sum", per_sample_weights=p), INDICES[:6].reshape(3, 2),
                  uniform(5, 3), uniform(3, 2, seed=1), device=device)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_derivatives(mode: str, device: str) -> None:
    indices, offsets = lucid.tensor(INDICES, device=device), lucid.tensor(OFFSETS, device=device)
    check_derivatives(lambda w: F.embedding_bag(indices, w, offsets, mode=mode) ** 2, device, uniform(5, 3))
    if mode == "sum":
        check_derivatives(lambda w, p: F.embedding_bag(indices, w, offsets, mode=mode, per_sample_weights=p), device,
                          uniform(5, 3), uniform(7, seed=1))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves(dtype: str, device: str) -> None:
    indices, weight = lucid.tensor([[0, 1], [1, 1]], device=device), lucid.tensor([[1.0], [2.5]], device=device)
    for mode, expected in (("sum", [[3.5], [5.0]]), ("mean", [[1.75], [2.5]]), ("max", [[2.5], [2.5]])):
        y = F.embedding_bag(indices, weight.to(getattr(lucid, dtype)), mode=mode)
        assert y.dtype == getattr(lucid, dtype) and y.tolist() == expected


def test_nan_and_nothing(device: str) -> None:
    weight = np.array([[np.nan], [1.0], [2.0], [np.nan]])
    for mode in ("sum", "max"):
        same_as_torch(lambda t, F, i, w: F.embedding_bag(i, w, mode=mode), np.array([[0, 1], [1, 0], [2, 3], [3, 3]]), weight,  # noqa: B023
                      device=device)
    for mode in ("sum", "mean", "max"):
        for offsets in (np.array([0, 0]), np.empty(0, int)):
            same_as_torch(lambda t, F, i, o, w: F.embedding_bag(i, w, o, mode=mode), np.empty(0, int), offsets, uniform(3, 2),  # noqa: B023
                          device=device)


def test_norms_are_limited_in_place(device: str) -> None:
    """Of rows that are named, and of `embedding` too."""
    table = np.array([[3.0, 4.0], [0.1, 0.2], [5.0, 12.0], [np.nan, 1.0]])
    for order in (2.0, 1.0):
        for call in (lambda F, i, w: F.embedding_bag(i.reshape(1, -1), w, max_norm=1.0, norm_type=order),  # noqa: B023
                     lambda F, i, w: F.embedding(i, w, max_norm=1.0, norm_type=order)):  # noqa: B023
            def apply(t: Any, F: Any, w: Any, call: Any = call) -> Any:
                with t.no_grad():
                    own = w.clone()
                y = call(F, t.tensor([0, 1, 3, 0], device=w.device), own)
                return t.cat([y.reshape(-1), own.reshape(-1)])

            same_as_torch(apply, table, device=device)
    weight = lucid.tensor(table, device=device, requires_grad=True)
    F.embedding(lucid.tensor([0], device=device), weight, max_norm=1.0).sum().backward()
    close(weight[0], [0.6, 0.8])
    assert weight.grad[:2].tolist() == [[1.0, 1.0], [0.0, 0.0]]


def test_meta() -> None:
    weight = lucid.ones(5, 3, device="meta", requires_grad=True)
    y = F.embedding_bag(lucid.ones(4, 2, dtype=lucid.int64, device="meta"), weight)
    assert y.is_meta and y.shape == (4, 3)
    y.sum().backward()
    assert weight.grad.shape == (5, 3)


def test_module(device: str) -> None:
    torch = pytest.importorskip("torch")
    for options in ({}, {"max_norm": 1.0, "norm_type": 1.0, "scale_grad_by_freq": True, "mode": "sum", "padding_idx": -1}):
        ours, theirs = lucid.nn.EmbeddingBag(5, 3, **options).to(device), torch.nn.EmbeddingBag(5, 3, **options)
        assert repr(ours) == repr(theirs)
        with torch.no_grad():
            theirs.weight.copy_(torch.tensor(ours.weight.tolist()))
        assert ours.padding_idx == theirs.padding_idx and (ours.padding_idx is None or not ours.weight[4].any())
        close(ours(lucid.tensor(INDICES, device=device), lucid.tensor(OFFSETS, device=device)),
              theirs(torch.tensor(INDICES), torch.tensor(OFFSETS)).detach().numpy())
    frozen = lucid.nn.EmbeddingBag.from_pretrained(lucid.ones(2, 3), mode="sum")
    assert not frozen.weight.requires_grad and frozen(lucid.tensor([[0, 1]])).tolist() == [[2.0] * 3]
    for wrong in (lambda: lucid.nn.EmbeddingBag(3, 2, padding_idx=3), lambda: lucid.nn.EmbeddingBag(3, 2, _weight=lucid.ones(2, 2)),
                  lambda: lucid.nn.EmbeddingBag.from_pretrained(lucid.ones(3))):
        with pytest.raises(AssertionError):
            wrong()


@pytest.mark.parametrize("index", [5, -1])
def test_an_index_out_of_range(index: int, device: str) -> None:
    with pytest.raises(IndexError, match=r"not in the valid range \[0, 5\)"):
        F.embedding_bag(lucid.tensor([[0, index]], device=device), lucid.ones(5, 2, device=device)).cpu()


@pytest.mark.parametrize(("call", "match"), [
    (lambda t, F: F.embedding_bag(t.tensor([0, 5]), t.ones(5, 2), t.tensor([0])), "not in the valid range"),
    (lambda t, F: F.embedding_bag(t.tensor([0.0]), t.ones(5, 2), t.tensor([0])), "scalar types: Long, Int"),
    (lambda t, F: F.embedding_bag(t.tensor([0]), t.ones(5, 2).long(), t.tensor([0])), "Half, BFloat16, Float, Double"),
    (lambda t, F: F.embedding_bag(t.tensor([0]), t.ones(5), t.tensor([0])), "weight has to be a 2D Tensor"),
    (lambda t, F: F.embedding_bag(t.tensor(0), t.ones(5, 2)), "input has to be 1D or 2D"),
    (lambda t, F: F.embedding_bag(t.tensor([0]), t.ones(5, 2)), "offsets has to be a 1D Tensor"),
    (lambda t, F: F.embedding_bag(t.tensor([[0]]), t.ones(5, 2), t.tensor([0])), "offsets has to be None"),
    (lambda t, F: F.embedding_bag(t.tensor([0]), t.ones(5, 2), t.tensor([1])), r"offsets\[0\] has to be 0"),
    (lambda t, F: F.embedding_bag(t.tensor([0]), t.ones(5, 2), t.tensor([0, 2])), "can not be greater than input's length"),
    (lambda t, F: F.embedding_bag(t.tensor([0]), t.ones(5, 2), t.tensor([0]).narrow(0, 0, 0), include_last_offset=True), "at least 1"),
    (lambda t, F: F.embedding_bag(t.tensor([[0]]), t.ones(5, 2), mode="best"), "mode has to be one of"),
    (lambda t, F: F.embedding_bag(t.tensor([[0]]), t.ones(5, 2), mode="max", scale_grad_by_freq=True), "does not support scaling"),
    (lambda t, F: F.embedding_bag(t.tensor([[0]]), t.ones(5, 2), padding_idx=5), "padding_idx must be within"),
    (lambda t, F: F.embedding_bag(t.tensor([[0]]), t.ones(5, 2), per_sample_weights=t.ones(1)), "must have the same shape"),
    (lambda t, F: F.embedding_bag(t.tensor([[0]]), t.ones(5, 2), per_sample_weights=t.ones(1, 1)), "only supported for mode='sum'"),
    (lambda t, F: F.embedding_bag(t.tensor([[0]]), t.ones(5, 2), mode="sum", per_sample_weights=t.ones(1, 1).double()), "same type"),
])
def test_errors(call: Any, match: str) -> None:
    raises_like_torch(call, match)


def test_offsets_that_decrease(device: str) -> None:
    """An error here; PyTorch raises one or reads outside of the indices, by the processor."""
    indices, offsets = lucid.tensor([0, 1, 2], device=device), lucid.tensor([0, 2, 1], device=device)
    with pytest.raises(RuntimeError, match="embedding_bag: offsets must not decrease"):
        F.embedding_bag(indices, lucid.ones(5, 2, device=device), offsets).cpu()


def test_the_function_of_the_namespace_itself(device) -> None:
    weight, indices = lucid.arange(12.0, device=device).reshape(4, 3), lucid.tensor([1, 2, 3, 0, 1], device=device)
    offsets = lucid.tensor([0, 2, 2], device=device)
    for mode, name in enumerate(("sum", "mean", "max")):
        result, bags, lengths, rows = lucid.embedding_bag(weight, indices, offsets, mode=mode)
        assert bool((result == F.embedding_bag(indices, weight, offsets, mode=name)).all())
        assert bags.tolist() == [0, 0, 2, 2, 2] and lengths.tolist() == [2, 0, 3]
        assert rows.tolist() == ([2, 0, 3] if mode < 2 else [[2, 2, 2], [0, 0, 0], [3, 3, 3]])
