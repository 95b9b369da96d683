"""Embeddings of positions, added to a sequence or turning it."""
from __future__ import annotations

from ..._dtypes import int64
from ...autograd import no_grad
from ...ops.creation.creation import arange
from ...ops.reduction.max_min import aminmax
from ...tensor import Tensor
from ..modules.module import Module
from ..modules.sparse import Embedding
from .functional import rotations, sinusoidal_pos_embedding, turned

__all__ = ["LearnedPosEmbedding", "RotaryPosEmbedding", "SinusoidalPosEmbedding"]


def _require_sequence(module: Module, x: Tensor, ndims: tuple[int, ...] = (2, 3)) -> None:
    if x.ndim not in ndims:
        raise ValueError(f"{type(module).__name__} expects 2D and 3D Tensor inputs.")
    if not x.is_floating_point():
        raise TypeError(f"'{type(module).__name__}' expects a float Tensor.")


class SinusoidalPosEmbedding(Module):
    """`functional.sinusoidal_pos_embedding` added to (L, E) or (N, L, E); the lengths given, if they are, must be those.

    >>> nn.SinusoidalPosEmbedding()(lucid.zeros(1, 2, 4))
    Tensor([[[0.0000, 1.0000, 0.0000, 1.0000],
             [0.8415, 0.5403, 0.0100, 0.9999]]], requires_grad=False)
    """

    def __init__(self, seq_len: int | None = None, embed_dim: int | None = None) -> None:
        super().__init__()
        self.seq_len, self.embed_dim = seq_len, embed_dim

    def forward(self, input_: Tensor) -> Tensor:
        """The sum. Raises ValueError for other lengths, TypeError for a dtype that is not floating-point."""
        _require_sequence(self, input_)
        for name, length, found in (("seq_len", self.seq_len, input_.shape[-2]), ("embed_dim", self.embed_dim, input_.shape[-1])):
            if length not in (None, found):
                raise ValueError(f"{name} does not match: '{length}', '{found}'. Use '{name}=None' for dynamic length inference.")
        return input_ + sinusoidal_pos_embedding(input_.shape[-2], input_.shape[-1], input_.device, input_.dtype)


class LearnedPosEmbedding(Module):
    """A parameter for each of `max_len` positions, added to (L, E) or (N, L, E) from position `offset` on.

    >>> nn.LearnedPosEmbedding(10, 4)(lucid.randn(2, 5, 4)).shape
    lucid.Size([2, 5, 4])
    """

    def __init__(self, max_len: int, embed_dim: int) -> None:
        super().__init__()
        self.max_len, self.embed_dim = max_len, embed_dim
        self.pos_emb = Embedding(max_len, embed_dim)

    def forward(self, input_: Tensor, offset: int = 0) -> Tensor:
        """The sum. Raises ValueError for other lengths and positions, TypeError for a dtype that is not floating-point."""
        _require_sequence(self, input_)
        length, embed_dim = input_.shape[-2:]
        if embed_dim != self.embed_dim:
            raise ValueError(f"embed_dim does not match: '{self.embed_dim}', '{embed_dim}'.")
        if offset < 0 or length + offset > self.max_len:
            raise ValueError(f"Invalid position: {offset} to {offset + length} of {self.max_len}.")
        return input_ + self.pos_emb.weight[offset:offset + length]


class RotaryPosEmbedding(Module):
    """`functional.rotary_pos_embedding` with its cosines and sines kept from one call to the next.

    >>> x = lucid.randn(2, 5, 4)
    >>> y = nn.RotaryPosEmbedding()(x)
    >>> lucid.allclose(y.norm(dim=-1), x.norm(dim=-1))  # turned, as long as before
    True
    """

    def __init__(self, embed_dim: int | None = None, max_seq_len: int | None = None, interleaved: bool = True) -> None:
        super().__init__()
        self.embed_dim, self.max_seq_len, self.interleaved = embed_dim, max_seq_len, interleaved
        self._kept: tuple[Tensor, Tensor] | None = None

    def forward(self, input_: Tensor, position_ids: Tensor | None = None) -> Tensor:
        """`input_` (..., L, E) turned. Raises ValueError for other lengths and positions, TypeError for other dtypes."""
        _require_sequence(self, input_, tuple(range(2, 65)))
        length, embed_dim = input_.shape[-2:]
        if self.embed_dim not in (None, embed_dim):
            raise ValueError(f"Expected embed_dim of '{self.embed_dim}', got '{embed_dim}'")
        needed = length
        if position_ids is not None:
            if position_ids.shape != (length,):
                raise ValueError("position_ids must be 1-D with length equal to input_.shape[-2].")
            first, last = (int(end) for end in aminmax(position_ids))
            if first < 0:
                raise ValueError("position_ids must be non-negative.")
            needed = last + 1
        if self.max_seq_len is not None and needed > self.max_seq_len:
            raise ValueError(f"Required sequence length '{needed}' exceeds max_seq_len '{self.max_seq_len}'.")
        cos, sin = self._tables(needed, embed_dim, input_)
        where = slice(length) if position_ids is None else position_ids.to(input_.device, int64)
        return turned(input_, cos[where], sin[where], self.interleaved)

    def _tables(self, needed: int, embed_dim: int, input_: Tensor) -> tuple[Tensor, Tensor]:
        kept = self._kept
        if kept is None or kept[0].shape[0] < needed or kept[0].shape[1] != embed_dim or kept[0].device != input_.device:
            with no_grad():
                positions = arange(self.max_seq_len or needed, device=input_.device)
                kept = self._kept = rotations(positions, embed_dim, self.interleaved)
        return kept
