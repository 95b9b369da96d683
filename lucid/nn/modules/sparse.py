"""Look-up tables, of vectors and of bags of them."""
from __future__ import annotations

from typing import Any

from ... import _dtypes
from ...autograd.grad_mode import no_grad
from ...ops.creation.creation import empty
from ...tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module


class _Table(Module):
    """What both layers have: a table `weight` (num_embeddings, embedding_dim), one row of which may be padding."""

    padding_idx: int | None

    def _set_table(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None, weight: Tensor | None, device: Any,
                   dtype: Any) -> None:
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError(f"padding_idx must be within num_embeddings, {num_embeddings}, but is {padding_idx}")
            padding_idx %= num_embeddings
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        if weight is None:
            self.weight = Parameter(empty((num_embeddings, embedding_dim), device=device, dtype=dtype))
            self.reset_parameters()
        elif weight.shape == (num_embeddings, embedding_dim):
            self.weight = Parameter(weight, requires_grad=_dtypes.is_differentiable(weight.dtype))
        else:
            raise AssertionError(f"Shape of weight does not match num_embeddings and embedding_dim: {tuple(weight.shape)}, "
                                 f"{num_embeddings}, {embedding_dim}")

    def reset_parameters(self) -> None:
        """Draw a new table; the row of the padding is zeros.

        >>> layer = nn.Embedding(3, 2, padding_idx=0)
        >>> layer.reset_parameters()
        >>> layer.weight[0].detach()
        Tensor([0.0, 0.0], requires_grad=False)
        """
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx] = 0


    def _options(self) -> str:
        """The options of both for `extra_repr`; what has its default is left out."""
        text = ""
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        return text


class Embedding(_Table):
    """A table of vectors, looked up by number: integers (…) to (…, embedding_dim).

    `weight` is (num_embeddings, embedding_dim), normally distributed at first. The row `padding_idx` starts as zeros and
    gets no gradient. With `max_norm`, rows that are looked up are first scaled down to that norm.
    Raises IndexError for a number outside the table, AssertionError for a `padding_idx` outside it.

    >>> layer = nn.Embedding(10, 3, padding_idx=0)
    >>> layer(lucid.tensor([[1, 2], [4, 0]])).shape
    lucid.Size([2, 2, 3])
    >>> layer(lucid.tensor([0]))
    Tensor([[0.0, 0.0, 0.0]], requires_grad=True)
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
                 max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                 sparse: bool = False, _weight: Tensor | None = None, _freeze: bool = False, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        self._set_table(num_embeddings, embedding_dim, padding_idx, _weight, device, dtype)
        self.weight.requires_grad = not _freeze
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse

    def forward(self, input: Tensor) -> Tensor:
        """Integers (…) to (…, embedding_dim)."""
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq,
                           self.sparse)

    def extra_repr(self) -> str:
        """Sizes; what has its default is left out."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        text += self._options()
        if self.sparse:
            text += ", sparse=True"
        return text

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None,
                        max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                        sparse: bool = False) -> Embedding:
        """An embedding over a given table, which is not trained unless ``freeze=False``. Raises AssertionError unless it has
        2 dimensions.

        >>> layer = nn.Embedding.from_pretrained(lucid.tensor([[1.0, 2.0], [3.0, 4.0]]))
        >>> layer(lucid.tensor([1])), layer.weight.requires_grad
        (Tensor([[3.0, 4.0]], requires_grad=False), False)
        """
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight=embeddings,
                   _freeze=freeze)


class EmbeddingBag(_Table):
    """The sum, mean or maximum of the vectors of each bag of indices, without the vectors themselves: see `F.embedding_bag`.

    `weight` is (num_embeddings, embedding_dim), normally distributed at first. The row `padding_idx` starts as zeros, is left out
    of bags and gets no gradient. With `max_norm`, rows that are looked up are first scaled down to that norm.
    Raises AssertionError for a `padding_idx` outside the table.

    >>> layer = nn.EmbeddingBag.from_pretrained(lucid.tensor([[1.0], [2.0], [4.0]]), mode="sum")
    >>> layer(lucid.tensor([0, 2, 1]), offsets=lucid.tensor([0, 2]))
    Tensor([[5.0],
            [2.0]], requires_grad=False)
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
                 scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight: Tensor | None = None,
                 include_last_offset: bool = False, padding_idx: int | None = None, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        self._set_table(num_embeddings, embedding_dim, padding_idx, _weight, device, dtype)
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """Bags (B, n), or (n,) with `offsets` (B,), to (B, embedding_dim)."""
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
                               self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx)

    def extra_repr(self) -> str:
        """Sizes and mode; what else has its default is left out."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        text += self._options()
        text += f", mode={self.mode!r}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, max_norm: float | None = None, norm_type: float = 2.0,
                        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                        include_last_offset: bool = False, padding_idx: int | None = None) -> EmbeddingBag:
        """Bags of rows of a given table, which is not trained unless ``freeze=False``. Raises AssertionError unless it has 2
        dimensions.

        >>> layer = nn.EmbeddingBag.from_pretrained(lucid.tensor([[1.0], [2.0], [4.0]]), mode="sum")
        >>> layer(lucid.tensor([[0, 2]]))
        Tensor([[5.0]], requires_grad=False)
        """
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        bags = cls(rows, columns, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings, include_last_offset,
                   padding_idx)
        bags.weight.requires_grad = not freeze
        return bags
