"""Masks by blocks: which blocks of keys each block of queries looks at, and which of those it sees whole."""
from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ... import _dtypes
from ...autograd.grad_mode import no_grad
from ...ops.creation.creation import arange, ones, zeros
from ...ops.manipulation.padding import pad
from ...tensor import Tensor

MaskMod = Callable[[Any, Any, Any, Any], Tensor]
_BLOCK = 128


def over_indices(function: Callable[..., Tensor], b: Tensor, h: Tensor, q: Tensor, k: Tensor, scores: Tensor | None = None
                 ) -> Tensor:
    """``function(b, h, q, k)``, or ``function(score, b, h, q, k)``, of single numbers for all of them: (B, H, Q, K)."""
    vmap = importlib.import_module("lucid.func.batches").vmap  # by its name: it stands on this package
    if scores is None:
        def wrapped(*numbers: Tensor) -> Tensor:
            return function(*numbers)

        first: tuple[Any, ...] = ()
    else:
        wrapped, first = function, (0,)
    for place in (3, 2, 1, 0):
        wrapped = vmap(wrapped, in_dims=(*first, *[0 if number == place else None for number in range(4)]))
    return wrapped(*(() if scores is None else (scores,)), b, h, q, k)


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """The mask that keeps everything.

    >>> from lucid.nn.attention.flex_attention import create_mask, noop_mask
    >>> create_mask(noop_mask, None, None, 2, 2)
    Tensor([[[[True, True],
              [True, True]]]], requires_grad=False)
    """
    return ones((), dtype=_dtypes.bool_, device=batch.device)


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask of what all of `mask_mods` keep. Raises RuntimeError for what cannot be called.

    >>> from lucid.nn.attention.flex_attention import and_masks, create_mask
    >>> window = and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: q - k < 2)
    >>> create_mask(window, None, None, 3, 3).int()
    Tensor([[[[1, 0, 0],
              [1, 1, 0],
              [0, 1, 1]]]], dtype=int32, requires_grad=False)
    """
    _require_callable(mask_mods)

    def both(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        result = ones((), dtype=_dtypes.bool_, device=b.device)
        for mod in mask_mods:
            result = result & mod(b, h, q, k)
        return result

    return both


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask of what one of `mask_mods` keeps. Raises RuntimeError for what cannot be called.

    >>> from lucid.nn.attention.flex_attention import create_mask, or_masks
    >>> create_mask(or_masks(lambda b, h, q, k: q == k, lambda b, h, q, k: k == 0), None, None, 3, 3).int()
    Tensor([[[[1, 0, 0],
              [1, 1, 0],
              [1, 0, 1]]]], dtype=int32, requires_grad=False)
    """
    _require_callable(mask_mods)

    def either(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
        result = zeros((), dtype=_dtypes.bool_, device=b.device)
        for mod in mask_mods:
            result = result | mod(b, h, q, k)
        return result

    return either


def _require_callable(mask_mods: tuple[Any, ...]) -> None:
    if not all(callable(mod) for mod in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")


class BlockMask:
    """A mask as its blocks: for each block of queries the numbers of the blocks of keys that are kept in part, and in whole.

    `kv_num_blocks` (B, H, rows) and `kv_indices` (B, H, rows, columns) tell those kept in part, `full_kv_num_blocks` and
    `full_kv_indices` those kept whole, of int32; `mask_mod` what is kept in them. B and H are 1 where all are alike. The same by
    columns are `q_num_blocks`, `q_indices` and the full ones.

    >>> from lucid.nn.attention.flex_attention import create_block_mask
    >>> mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 4, 4, BLOCK_SIZE=2)
    >>> mask.shape, mask.sparsity()
    ((1, 1, 4, 4), 25.0)
    """

    def __init__(self, seq_lengths: tuple[int, int], kv_num_blocks: Tensor, kv_indices: Tensor,
                 full_kv_num_blocks: Tensor | None, full_kv_indices: Tensor | None, q_num_blocks: Tensor | None,
                 q_indices: Tensor | None, full_q_num_blocks: Tensor | None, full_q_indices: Tensor | None,
                 BLOCK_SIZE: tuple[int, int], mask_mod: MaskMod) -> None:
        if kv_indices.ndim < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(cls, kv_num_blocks: Tensor, kv_indices: Tensor, full_kv_num_blocks: Tensor | None = None,
                       full_kv_indices: Tensor | None = None, BLOCK_SIZE: int | tuple[int, int] = _BLOCK,
                       mask_mod: MaskMod | None = None, seq_lengths: tuple[int, int] | None = None, compute_q_blocks: bool = True
                       ) -> BlockMask:
        """A mask of the blocks by rows; those by columns are found out. `seq_lengths` are those of whole blocks by default."""
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
        counts = indices = full_counts = full_indices = None
        if compute_q_blocks:
            counts, indices = _ordered(_dense(kv_num_blocks, kv_indices).mT)
            if full_kv_num_blocks is not None and full_kv_indices is not None:
                full_counts, full_indices = _ordered(_dense(full_kv_num_blocks, full_kv_indices).mT)
        lengths = seq_lengths or (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1])
        return cls(lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, counts, indices, full_counts,
                   full_indices, (size[0], size[1]), mask_mod or noop_mask)

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """What the constructor takes, with lengths and sizes of blocks as single numbers if `flatten`."""
        lengths: tuple[Any, ...] = self.seq_lengths if flatten else (self.seq_lengths,)
        size: tuple[Any, ...] = self.BLOCK_SIZE if flatten else (self.BLOCK_SIZE,)
        return (*lengths, self.kv_num_blocks, self.kv_indices, self.full_kv_num_blocks, self.full_kv_indices, self.q_num_blocks,
                self.q_indices, self.full_q_num_blocks, self.full_q_indices, *size, self.mask_mod)

    @property
    def shape(self) -> tuple[int, ...]:
        """(B, H, queries, keys)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """The number of elements of the mask."""
        count = 1
        for length in self.shape:
            count *= length
        return count

    def to_dense(self) -> Tensor:
        """Which blocks are kept, in part or whole: int32 (B, H, rows, columns)."""
        kept = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            kept = kept | _dense(self.full_kv_num_blocks, self.full_kv_indices)
        return kept.to(_dtypes.int32)

    def sparsity(self) -> float:
        """How much of the mask is in blocks that are left out, in percent."""
        dense = self.to_dense()
        kept = int(dense.sum()) * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1]
        return 100 * (1 - kept / self.numel()) if self.numel() else 0.0

    def blocks_of_all(self) -> tuple[list[list[bool]], list[list[bool]]]:
        """For each row and column of blocks whether one of the heads keeps something of it, and whether all keep it whole."""
        used = self.to_dense().bool().flatten(0, -3).any(0)
        if self.full_kv_num_blocks is None or self.full_kv_indices is None:
            return used.tolist(), (used & False).tolist()
        return used.tolist(), _dense(self.full_kv_num_blocks, self.full_kv_indices).flatten(0, -3).all(0).tolist()

    def __getitem__(self, index: Any) -> BlockMask:
        """The blocks of some batches, heads and rows of blocks, with the lengths of before, and with everything in them: set
        `mask_mod` to one of these rows.
        """
        entries = index if isinstance(index, tuple) else (index,)
        key = tuple([slice(entry, entry + 1 or None) if isinstance(entry, int) else entry for entry in entries])
        counts, indices, full_counts, full_indices = [None if part is None else part[key] for part in (
            self.kv_num_blocks, self.kv_indices, self.full_kv_num_blocks, self.full_kv_indices)]
        assert counts is not None and indices is not None
        return BlockMask.from_kv_blocks(counts, indices, full_counts, full_indices, self.BLOCK_SIZE, None, self.seq_lengths)

    def to(self, device: Any) -> BlockMask:
        """The mask with its tensors on `device`; `mask_mod` refers to what it referred to."""
        parts: list[Any] = [part.to(device) if isinstance(part, Tensor) else part for part in self.as_tuple(flatten=False)]
        return BlockMask(*parts)

    def __repr__(self) -> str:
        return (f"BlockMask(shape={tuple(self.shape)}, BLOCK_SIZE={self.BLOCK_SIZE}, sparsity={self.sparsity():.2f}%, "
                f"mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)})")


def _dense(counts: Tensor, indices: Tensor) -> Tensor:
    """The blocks with these numbers, of which the first ones count, as bools."""
    columns = indices.shape[-1]
    counted = arange(columns, device=indices.device) < counts.unsqueeze(-1)
    marked = zeros(*indices.shape[:-1], columns + 1, dtype=_dtypes.bool_, device=indices.device)
    places = indices.long().masked_fill(~counted, columns)
    return marked.scatter(-1, places, True)[..., :columns]


def _ordered(dense: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks of each row are kept, and their numbers, followed by those of the others."""
    return dense.sum(-1).to(_dtypes.int32), dense.int().argsort(-1, descending=True, stable=True).to(_dtypes.int32).contiguous()


def create_mask(mod_fn: Callable[..., Tensor], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
                ) -> Tensor:
    """``mod_fn(b, h, q, k)`` of all numbers, as bools (B, H, Q_LEN, KV_LEN); B and H are 1 where they are None.

    >>> from lucid.nn.attention.flex_attention import create_mask
    >>> create_mask(lambda b, h, q, k: q >= k, None, None, 3, 3).int()
    Tensor([[[[1, 0, 0],
              [1, 1, 0],
              [1, 1, 1]]]], dtype=int32, requires_grad=False)
    """
    with no_grad():
        indices = [arange(length or 1, device=device) for length in (B, H)] + [arange(n, device=device) for n in (Q_LEN, KV_LEN)]
        mask = over_indices(mod_fn, *indices)
        if mask.dtype != _dtypes.bool_:
            raise ValueError(f"a mask_mod returns bools, not {mask.dtype.name}")
        return mask


def create_block_mask(mask_mod: MaskMod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None,
                      BLOCK_SIZE: int | tuple[int, int] = _BLOCK, _compile: bool = False, separate_full_blocks: bool = True
                      ) -> BlockMask:
    """The blocks of the mask ``mask_mod(b, h, q, k)``, which is asked for all numbers once.

    B and H may be None where `mask_mod` does not depend on them.

    >>> from lucid.nn.attention.flex_attention import create_block_mask
    >>> mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 4, 4, BLOCK_SIZE=2)
    >>> mask.to_dense()
    Tensor([[[[1, 0],
              [1, 1]]]], dtype=int32, requires_grad=False)
    """
    rows, columns = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    batch, heads = mask.shape[:2]
    padded = pad(mask.int(), (0, -KV_LEN % columns, 0, -Q_LEN % rows))
    blocks = padded.reshape(batch, heads, padded.shape[2] // rows, rows, padded.shape[3] // columns, columns).sum((3, 5))
    whole = blocks == rows * columns
    part = (blocks > 0) & ~whole if separate_full_blocks else blocks > 0
    counts, indices = _ordered(part)
    full_counts, full_indices = _ordered(whole) if separate_full_blocks else (None, None)
    return BlockMask.from_kv_blocks(counts, indices, full_counts, full_indices, (rows, columns), mask_mod, (Q_LEN, KV_LEN))
