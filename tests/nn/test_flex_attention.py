"""`flex_attention` against attention with dense masks: functions of scores, blocks, gradients, refusals."""
from __future__ import annotations

import math

import numpy as np
import pytest

import lucid
from lucid.autograd import gradcheck, gradgradcheck
from lucid.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    noop_mask,
    or_masks,
)


def inputs(*shapes, device="cpu", dtype=lucid.float64):
    rng = np.random.default_rng(0)
    return [lucid.tensor(rng.normal(size=shape), dtype=dtype, device=device, requires_grad=True) for shape in shapes]


def causal(b, h, q, k):
    return q >= k


def near(b, h, q, k):
    return (q - k).abs() < 7


def by_head(b, h, q, k):
    return q >= k * h


def dense(query, key, value, scores_of=None, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    scores = scores if scores_of is None else scores_of(scores)
    if mask is not None:
        scores = lucid.where(mask, scores, -math.inf)
    return scores.softmax(-1).nan_to_num(0) @ value, scores.logsumexp(-1)


def alike(found, expected, *tensors):
    np.testing.assert_allclose(found.detach().cpu().numpy(), expected.detach().cpu().numpy(), rtol=1e-10, atol=1e-12)
    gradients = [lucid.autograd.grad((x * x).sum(), tensors) for x in (found, expected)]
    for mine, other in zip(*gradients, strict=True):
        np.testing.assert_allclose(mine.cpu().numpy(), other.cpu().numpy(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("mask_mod", [causal, near, by_head, and_masks(causal, near), or_masks(by_head, near)])
def test_masks_by_blocks(mask_mod):
    query, key, value = inputs((2, 2, 21, 4), (2, 2, 30, 4), (2, 2, 30, 3))
    mask = create_block_mask(mask_mod, None, 2, 21, 30, BLOCK_SIZE=(4, 8))
    whole = create_mask(mask_mod, None, 2, 21, 30)
    found, lse = flex_attention(query, key, value, block_mask=mask, return_lse=True)
    expected, sums = dense(query, key, value, mask=whole)
    alike(found, expected, query, key, value), np.testing.assert_allclose(lse.detach().numpy(), sums.detach().numpy(), rtol=1e-12)
    used = np.pad(whole.numpy(), ((0, 0), (0, 0), (0, 3), (0, 2))).reshape(1, 2, 6, 4, 4, 8).any((3, 5))
    np.testing.assert_array_equal(mask.to_dense().numpy(), used)


def test_functions_of_scores(device):
    query, key, value, bias = inputs((1, 4, 9, 4), (1, 2, 12, 4), (1, 2, 12, 4), (4, 12), device=device)
    found = flex_attention(query, key, value, score_mod=lambda s, b, h, q, k: s + bias[h, k] * (q - k), enable_gqa=True)
    places = lucid.arange(9, device=device).unsqueeze(1) - lucid.arange(12, device=device)
    expected, _ = dense(query, key.repeat_interleave(2, 1), value.repeat_interleave(2, 1), lambda s: s + bias.unsqueeze(1) * places)
    alike(found, expected, query, key, value, bias)


def test_both_at_once_of_second_order():
    query, key, value, bias = inputs((1, 1, 5, 2), (1, 1, 6, 2), (1, 1, 6, 2), (6,))
    mask = create_block_mask(causal, None, None, 5, 6, BLOCK_SIZE=2)

    def function(query, key, value, bias):
        return flex_attention(query, key, value, lambda s, b, h, q, k: (s + bias[k]).tanh(), mask, scale=0.7)

    assert gradcheck(function, (query, key, value, bias), fast_mode=True)
    assert gradgradcheck(function, (query, key, value, bias), fast_mode=True)


def test_queries_that_see_nothing_and_what_else_is_returned():
    query, key, value = inputs((1, 1, 6, 2), (1, 1, 6, 2), (1, 1, 6, 2))
    mask = create_block_mask(lambda b, h, q, k: (q > 3) & (k > 1), 1, 1, 6, 6, BLOCK_SIZE=2)
    found, aux = flex_attention(query, key, value, block_mask=mask, return_aux=AuxRequest(lse=True, max_scores=True))
    assert not found[0, 0, :4].any() and aux.lse[0, 0, :4].tolist() == aux.max_scores[0, 0, :4].tolist() == [-math.inf] * 4
    found.sum().backward()
    assert not query.grad[0, 0, :4].any() and query.grad.isfinite().all()
    found, aux = flex_attention(query, key, value, return_aux=AuxRequest(max_scores=True))
    assert aux.lse is None and aux.max_scores.allclose((query @ key.mT / math.sqrt(2)).amax(-1))
    for shape in ((0, 1, 6, 2), (1, 1, 0, 2)):
        assert flex_attention(lucid.zeros(shape), lucid.zeros(1, 1, 6, 2), lucid.zeros(1, 1, 6, 3)).shape == (*shape[:3], 3)


def test_halves_are_computed_in_float32(device):
    query, key, value = inputs((1, 2, 8, 4), (1, 2, 8, 4), (1, 2, 8, 4), device=device, dtype=lucid.float16)
    found, lse = flex_attention(query, key, value, score_mod=lambda s, b, h, q, k: s * 2, return_lse=True)
    assert found.dtype == lucid.float16 and lse.dtype == lucid.float32
    expected, _ = dense(query.float(), key.float(), value.float(), lambda s: s * 2)
    np.testing.assert_allclose(found.detach().float().cpu().numpy(), expected.detach().cpu().numpy(), atol=3e-3)


def test_the_parts_of_a_mask():
    mask = create_block_mask(causal, 1, 2, 10, 10, BLOCK_SIZE=4)
    assert mask.shape == (1, 2, 10, 10) and mask.seq_lengths == (10, 10) and mask.BLOCK_SIZE == (4, 4)
    # What is beyond the last query or key is not kept, so its blocks are not kept whole.
    assert mask.kv_num_blocks[0, 1].tolist() == [1, 1, 3] and mask.kv_indices[0, 1, :2, 0].tolist() == [0, 1]
    assert mask.full_kv_num_blocks[0, 0].tolist() == [0, 1, 0] and mask.full_q_num_blocks[0, 0].tolist() == [1, 0, 0]
    assert mask.kv_num_blocks.dtype == lucid.int32 and mask.numel() == 200
    assert mask.to_dense()[0, 0].tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]] and mask[:, 1, 1:].to_dense().shape == (1, 1, 2, 3)
    assert "BlockMask(shape=(1, 2, 10, 10)" in repr(mask) and mask.to("cpu").to_dense().equal(mask.to_dense())
    again = BlockMask.from_kv_blocks(mask.kv_num_blocks, mask.kv_indices, BLOCK_SIZE=4)
    assert again.shape == (1, 2, 12, 12) and again.mask_mod is noop_mask and again.sparsity() == pytest.approx(100 * 4 / 9)
    together = create_block_mask(causal, 1, 2, 10, 10, BLOCK_SIZE=4, separate_full_blocks=False)
    assert together.full_kv_num_blocks is None and together.to_dense().equal(mask.to_dense())
    query, key, value = inputs((1, 2, 10, 2), (1, 2, 10, 2), (1, 2, 10, 2))
    for other in (together, BlockMask(*mask.as_tuple(flatten=False))):
        alike(flex_attention(query, key, value, block_mask=other), flex_attention(query, key, value, block_mask=mask), query, value)


@pytest.mark.parametrize(("shapes", "keywords", "message"), [
    (((1, 2, 3, 4), (1, 1, 3, 4), (1, 1, 3, 4)), {}, "Try setting enable_gqa=True"),
    (((1, 3, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4)), {"enable_gqa": True}, "multiple of kv heads"),
    (((1, 2, 3, 4), (1, 2, 3, 5), (1, 2, 3, 4)), {}, "same embedding dimension"), (((2, 3, 4),) * 3, {}, "4D tensor"),
    (((3, 2, 3, 4), (2, 2, 3, 4), (2, 2, 3, 4)), {}, "batch size"),
    (((1, 2, 9, 4),) * 3, {"block_mask": create_block_mask(causal, None, None, 8, 8, BLOCK_SIZE=4)}, "create a new block mask"),
    (((1, 2, 8, 4),) * 3, {"block_mask": create_block_mask(causal, None, 3, 8, 8, BLOCK_SIZE=4)}, "does not broadcast")])
def test_what_does_not_fit_is_refused(shapes, keywords, message):
    with pytest.raises(ValueError, match=message):
        flex_attention(*inputs(*shapes), **keywords)
    with pytest.raises(ValueError, match="same dtype"):
        flex_attention(lucid.ones(1, 1, 2, 2), lucid.ones(1, 1, 2, 2).double(), lucid.ones(1, 1, 2, 2))
    with pytest.raises(RuntimeError, match="callable"):
        and_masks(causal, 3)
