"""Attention and its gradients in float64 NumPy, and the cases that the kernels of both backends are tested with."""
from __future__ import annotations

import numpy as np

# (batch, heads, groups, queries, keys, width, value width): one tile and several, tails of every kind, grouped heads.
SHAPES = [(1, 1, 1, 3, 5, 4, 6), (2, 4, 2, 70, 40, 20, 33), (1, 2, 2, 1, 150, 8, 8), (1, 1, 1, 100, 129, 33, 70),
          (1, 3, 1, 130, 9, 64, 1)]
# Which lengths of the mask are those of the scores (B, H, L, S); the others are 1.
MASKS = [None, "causal", (0, 0, 1, 1), (1, 0, 0, 1), (0, 1, 1, 0), (1, 1, 1, 1)]


def data(shape, mask, dtype, seed=0):
    """(g, q, k, v, mask or None) of one case.

    About a third of a mask is -inf, and where it has several rows, all of the first one.
    """
    batch, heads, groups, queries, keys, width, value_width = shape
    rng = np.random.default_rng(seed)
    shapes = ((batch, heads, queries, value_width), (batch, heads, queries, width), (batch, groups, keys, width),
              (batch, groups, keys, value_width))
    arrays = [rng.standard_normal(s).astype(dtype) for s in shapes]
    if mask is None or mask == "causal":
        return (*arrays, None)
    lengths = [n if full else 1 for n, full in zip((batch, heads, queries, keys), mask, strict=True)]
    values = np.where(rng.random(lengths) < 0.3, -np.inf, rng.standard_normal(lengths))
    if values.shape[2] > 1:
        values[0, 0, 0] = -np.inf
        values[0, 0, -1, :64] = -np.inf  # the first tile, and perhaps all
    return (*arrays, values.astype(dtype))


#: Fills of masks whose sum with any score is rounded to them.
LOWEST = ["lowest", -2.5e38, -1e36]


def masked_with(lowest, shape, dtype):
    """(g, q, k, v, mask) with a mask that is nearly -inf: above the diagonal, in all of the first row and of another one."""
    *arrays, _ = data(shape, None, dtype)
    fill = np.finfo(dtype).min if lowest == "lowest" else lowest
    mask = np.triu(np.full(shape[3:5], fill, dtype), 1)
    mask[[0, -1]] = fill
    return (*arrays, mask[None, None])


def logarithms(shift, factor, powers_of_two=False):
    """Of the sums of exponentials, from what the kernels keep of them."""
    with np.errstate(divide="ignore"):
        return shift * shift.dtype.type(np.log(2) if powers_of_two else 1) - np.log(factor)


def attention(q, k, v, mask, scale, is_causal):
    """(probabilities, y, lse) in float64; no probabilities and +inf for a query that sees no key."""
    q, k, v = (np.asarray(a, np.float64) for a in (q, k, v))
    repeats = q.shape[1] // max(1, k.shape[1])
    k, v = np.repeat(k, repeats, 1), np.repeat(v, repeats, 1)
    scores = q @ k.swapaxes(2, 3) * scale
    if mask is not None:
        scores = scores + np.asarray(mask, np.float64)
    if is_causal:
        scores = np.where(np.tri(*scores.shape[2:], dtype=bool), scores, -np.inf)
    top = scores.max(-1, keepdims=True, initial=-np.inf)
    blind = top == -np.inf
    exponentials = np.exp(scores - np.where(blind, 0, top))
    total = np.where(blind, 1, exponentials.sum(-1, keepdims=True))
    lse = np.where(blind, np.inf, top + np.log(total))[..., 0]
    probabilities = exponentials / total
    return probabilities, probabilities @ v, lse


def gradients(g, q, k, v, mask, scale, is_causal):
    """(dq, dk, dv) in float64."""
    g, q, k, v = (np.asarray(a, np.float64) for a in (g, q, k, v))
    batch, heads, groups = *q.shape[:2], k.shape[1]
    probabilities, y, _ = attention(q, k, v, mask, scale, is_causal)
    repeats = heads // max(1, groups)
    wide_k, wide_v = np.repeat(k, repeats, 1), np.repeat(v, repeats, 1)
    scores = probabilities * (g @ wide_v.swapaxes(2, 3) - (g * y).sum(-1, keepdims=True)) * scale
    dk, dv = scores.swapaxes(2, 3) @ q, probabilities.swapaxes(2, 3) @ g
    return scores @ wide_k, *(d.reshape(batch, groups, repeats, *d.shape[2:]).sum(2) for d in (dk, dv))


def expected(g, q, k, v, mask, scale=0.3, is_causal=False):
    """The result, the logarithms of the sums of exponentials, and the gradients."""
    _, y, lse = attention(q, k, v, mask, scale, is_causal)
    return (y, lse, *gradients(g, q, k, v, mask, scale, is_causal))
