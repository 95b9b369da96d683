"""Attention whose scores are changed by a function, and of which blocks are left out by a mask: PyTorch's `flex_attention`.

Of each block of queries only the keys in blocks that the mask does not leave out whole are looked at. Functions of scores and
masks get single numbers, as in PyTorch: they run by `vmap`, so gradients flow through them, also into tensors that they refer to.
All is made of recorded operations, so it differentiates any number of times.

>>> from lucid.nn.attention.flex_attention import create_block_mask, flex_attention
>>> causal = create_block_mask(lambda b, h, q, k: q >= k, None, None, 4, 4)
>>> x = lucid.randn(1, 2, 4, 8)
>>> y = flex_attention(x, x, x, block_mask=causal)
>>> lucid.allclose(y, F.scaled_dot_product_attention(x, x, x, is_causal=True), atol=1e-6)
True
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ... import _dtypes
from ...ops.creation.creation import arange, full, zeros
from ...ops.elementwise.where import where
from ...ops.manipulation.joining import cat
from ...tensor import Tensor
from .block_mask import BlockMask, and_masks, create_block_mask, create_mask, noop_mask, or_masks, over_indices

__all__ = ["AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention", "noop_mask",
           "or_masks"]

ScoreMod = Callable[..., Tensor]


class AuxRequest(NamedTuple):
    """What `flex_attention` shall return beside its result.

    >>> from lucid.nn.attention.flex_attention import AuxRequest
    >>> AuxRequest(lse=True)
    AuxRequest(lse=True, max_scores=False)
    """

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was asked for: the logarithms of the sums of exponentials of scores, and their maxima, (B, H, L).

    >>> from lucid.nn.attention.flex_attention import AuxRequest, flex_attention
    >>> x = lucid.zeros(1, 1, 2, 4)
    >>> y, aux = flex_attention(x, x, x, return_aux=AuxRequest(lse=True))
    >>> type(aux).__name__, aux.lse.exp()
    ('AuxOutput', Tensor([[[2.0, 2.0]]], requires_grad=False))
    """

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def flex_attention(query: Tensor, key: Tensor, value: Tensor, score_mod: ScoreMod | None = None,
                   block_mask: BlockMask | None = None, scale: float | None = None, enable_gqa: bool = False,
                   return_lse: bool = False, kernel_options: dict[str, Any] | None = None, *,
                   return_aux: AuxRequest | None = None) -> Any:
    """``softmax(score_mod(query @ key.T * scale)) @ value`` of the keys that `block_mask` keeps.

    query (B, Hq, L, E), key (B or 1, Hkv, S, E), value (B or 1, Hkv, S, Ev); with `enable_gqa` Hq is a multiple of Hkv.
    ``score_mod(score, b, h, q, k)`` is given single numbers. `scale` is 1 / sqrt(E) by default. Queries that see no key give 0,
    and minus infinity as `lse`. Scores are computed in float32, or float64. Returns the result (B, Hq, L, Ev), or a tuple of it
    and what is asked for. `kernel_options` is accepted for PyTorch's sake.

    Raises ValueError for shapes, dtypes, devices and masks that do not fit.

    >>> from lucid.nn.attention.flex_attention import flex_attention
    >>> x = lucid.randn(1, 2, 4, 8)
    >>> y = flex_attention(x, x, x, score_mod=lambda score, b, h, q, k: lucid.where(q >= k, score, -lucid.inf))
    >>> lucid.allclose(y, F.scaled_dot_product_attention(x, x, x, is_causal=True), atol=1e-6)
    True
    """
    _check(query, key, value, enable_gqa, block_mask)
    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    wide = _dtypes.float64 if query.dtype == _dtypes.float64 else _dtypes.float32
    rows = [_rows(query, key, value, part, wide, scale, score_mod, block_mask) for part in _parts(query, key, block_mask)]
    result, lse, largest = (cat(list(pieces), 2) for pieces in zip(*rows, strict=True))
    result = result.to(query.dtype)
    if return_aux is not None:
        return result, AuxOutput(lse if return_aux.lse else None, largest if return_aux.max_scores else None)
    return (result, lse) if return_lse else result


class _Part(NamedTuple):
    """A block of queries, the keys that it looks at (None: all), and whether the mask keeps all of these."""

    start: int
    stop: int
    keys: Tensor | None
    whole: bool


def _parts(query: Tensor, key: Tensor, mask: BlockMask | None) -> list[_Part]:
    length, keys = query.shape[2], key.shape[2]
    if mask is None or not length or not keys:
        return [_Part(0, length, None, mask is None)]
    rows, columns = mask.BLOCK_SIZE
    used, whole = mask.blocks_of_all()
    found = []
    for number, start in enumerate(range(0, length, rows)):
        blocks = [block for block, is_used in enumerate(used[number]) if is_used]
        kept = [arange(block * columns, min((block + 1) * columns, keys), device=query.device)
                for block in blocks if block * columns < keys]
        places = cat(kept) if kept else zeros(0, dtype=_dtypes.int64, device=query.device)
        found.append(_Part(start, min(start + rows, length), places, all(whole[number][block] for block in blocks)))
    return found


def _rows(query: Tensor, key: Tensor, value: Tensor, part: _Part, wide: Any, scale: float, score_mod: ScoreMod | None,
          mask: BlockMask | None) -> tuple[Tensor, Tensor, Tensor]:
    """The result for a block of queries, the logarithms of its sums of exponentials, and the largest scores."""
    query = query[:, :, part.start:part.stop]
    places = arange(key.shape[2], device=query.device) if part.keys is None else part.keys
    if part.keys is not None and places.shape[0] < key.shape[2]:
        key, value = key.index_select(2, places), value.index_select(2, places)
    batch, heads, length = query.shape[:3]
    if not places.shape[0] or not query.numel():
        nothing = full((batch, heads, length), -math.inf, dtype=wide, device=query.device)
        return zeros(batch, heads, length, value.shape[3], dtype=wide, device=query.device), nothing, nothing
    scores = (query @ key.mT).to(wide) * scale
    indices = (arange(batch, device=query.device), arange(heads, device=query.device),
               arange(part.start, part.stop, device=query.device), places)
    if score_mod is not None:
        scores = over_indices(score_mod, *indices, scores=scores).to(wide)
    if mask is not None and not part.whole:
        scores = where(over_indices(mask.mask_mod, *indices), scores, -math.inf)
    largest = scores.detach().amax(-1, keepdim=True)
    powers = (scores - largest.masked_fill(largest == -math.inf, 0)).exp()
    total = powers.sum(-1, keepdim=True)
    empty = total == 0
    weights = powers / total.masked_fill(empty, 1)
    lse = (total.masked_fill(empty, 1).log() + largest).squeeze(-1)
    return weights.to(query.dtype) @ value, lse, scores.amax(-1)


def _check(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool, mask: BlockMask | None) -> None:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if not isinstance(tensor, Tensor) or tensor.ndim != 4:
            raise ValueError(f"Expected {name} to be a 4D tensor, but got {getattr(tensor, 'ndim', type(tensor).__name__)}D.")
    if not query.dtype == key.dtype == value.dtype:
        raise ValueError("Expected query, key, and value to have the same dtype, but got "
                         f"query.dtype: {query.dtype}, key.dtype: {key.dtype}, and value.dtype: {value.dtype} instead.")
    if not query.device == key.device == value.device:
        raise ValueError("Expected query, key, and value to have the same device type, but got "
                         f"query.device: {query.device}, key.device: {key.device}, and value.device: {value.device} instead.")
    if query.shape[-1] != key.shape[-1]:
        raise ValueError("Expect query and key/value to have the same embedding dimension "
                         f"but got E={query.shape[-1]} and E={key.shape[-1]}.")
    if key.shape[:3] != value.shape[:3]:
        raise ValueError(f"Expect key and value to agree in all but their last dimension, but got {list(key.shape)} and "
                         f"{list(value.shape)}.")
    if key.shape[0] not in (1, query.shape[0]):
        raise ValueError("Expect query and key/value to have the same batch size, or key/value to have a batch size of 1, but "
                         f"got Bq={query.shape[0]} and Bkv={key.shape[0]}.")
    if not enable_gqa and query.shape[1] != key.shape[1]:
        raise ValueError(f"Expect query and key/value to have the same number of heads but got Hq={query.shape[1]} and "
                         f"Hkv={key.shape[1]}. Try setting enable_gqa=True for GQA.")
    if enable_gqa and query.shape[1] % key.shape[1]:
        raise ValueError("Expect number of query heads to be a multiple of kv heads for GQA but got "
                         f"Hq={query.shape[1]} and Hkv={key.shape[1]}.")
    if mask is not None:
        room = mask.kv_indices.shape[-2] * mask.BLOCK_SIZE[0]
        if query.shape[2] > min(room, mask.seq_lengths[0]) or key.shape[2] > mask.seq_lengths[1]:
            raise ValueError(f"block_mask was created for block_mask.shape={mask.shape} but got q_len={query.shape[2]} and "
                             f"kv_len={key.shape[2]}. As the block mask was created for a smaller length than you're using it "
                             "for, you likely need to create a new block mask.")
        for dim, have in zip(mask.shape[:2], query.shape[:2], strict=True):
            if dim not in (1, have):
                raise ValueError(f"block_mask of shape {mask.shape} does not broadcast to a query of shape {list(query.shape)}")
