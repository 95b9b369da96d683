"""Functions that PyTorch does not have.

>>> F.drop_path(lucid.ones(100, 2), p=0.5).unique(dim=0)  # they stand in `lucid.nn.functional`
Tensor([[0.0, 0.0],
        [2.0, 2.0]], requires_grad=False)
"""
from __future__ import annotations

import math
from typing import Any

from ..._dtypes import float64, get_default_dtype, int64
from ...ops.creation.creation import arange
from ...ops.elementwise.unary import exp
from ...ops.linalg.vector_norms import vector_norm
from ...ops.manipulation.grids import meshgrid
from ...ops.manipulation.joining import cat, stack
from ...ops.manipulation.padding import pad
from ...ops.nn.pooling import max_pool2d
from ...ops.random.random import rand
from ...tensor import Tensor

__all__ = ["drop_block", "drop_path", "global_response_norm", "rotary_pos_embedding", "rotate", "rotations",
           "sinusoidal_pos_embedding", "turned"]


def drop_block(input_: Tensor, block_size: int, p: float = 0.1, eps: float = 1e-7) -> Tensor:
    """`input_` (N, C, H, W) with squares of `block_size` zeroed, which cover about the share `p`, the rest divided by ``1 - p``.

    Raises ValueError for another number of dimensions, a block larger than the map, and a `p` outside [0, 1).

    Source: Ghiasi, Lin and Le, "DropBlock", 2018.

    >>> y = F.drop_block(lucid.ones(1, 1, 16, 16), 3, p=0.2)
    >>> y.min().item(), 0.0 < (y == 0).float().mean().item() < 0.5
    (0.0, True)
    """
    if not 0 <= p < 1:
        raise ValueError(f"drop_block: p must be at least 0 and less than 1, not {p}")
    if input_.ndim != 4:
        raise ValueError("Only supports 4D tensors; Shape of '(N, C, H, W)'.")
    height, width = input_.shape[2:]
    if not 1 <= block_size <= min(height, width):
        raise ValueError(f"drop_block: block_size {block_size} does not fit into a map of {height} by {width}")
    centres = (height - block_size + 1) * (width - block_size + 1)
    chance = p * height * width / block_size**2 / (centres + eps)
    dropped = (rand(input_.shape, device=input_.device) < chance).to(input_.dtype)
    before = block_size // 2
    padded = pad(dropped, (before, block_size - 1 - before) * 2)
    covered = max_pool2d(padded, block_size, stride=1)
    return input_ * ((1 - covered) / (1 - p))


def drop_path(input_: Tensor, p: float = 0.1, scale_by_keep: bool = True) -> Tensor:
    """`input_` with whole samples, along the first dimension, zeroed with probability `p`; the others are divided by ``1 - p``.

    Raises ValueError for a `p` outside [0, 1].

    Source: Huang et al., "Deep Networks with Stochastic Depth", 2016.

    >>> F.drop_path(lucid.ones(100, 2), p=0.5).unique(dim=0)  # whole samples
    Tensor([[0.0, 0.0],
            [2.0, 2.0]], requires_grad=False)
    """
    if not 0 <= p <= 1:
        raise ValueError(f"drop_path: p must be between 0 and 1, not {p}")
    if p == 0:
        return input_
    shape = (input_.shape[0], *[1] * (input_.ndim - 1))
    kept = (rand(shape, device=input_.device) >= p).to(input_.dtype)
    return input_ * (kept / (1 - p) if scale_by_keep and p < 1 else kept)


def global_response_norm(input_: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-6) -> Tensor:
    """``gamma * input_ * n + beta * input_`` of (N, C, H, W), n the norm of a channel by the mean of those of its sample.

    Source: Woo et al., "ConvNeXt V2", 2023.

    >>> F.global_response_norm(lucid.tensor([1.0, 3.0]).view(1, 2, 1, 1), lucid.tensor(1.0), lucid.tensor(0.0)).flatten()
    Tensor([0.5, 4.5], requires_grad=False)
    """
    norms = vector_norm(input_, dim=(-2, -1), keepdim=True)
    share = norms / (norms.mean(1, keepdim=True) + eps)
    return gamma * (input_ * share) + beta * input_


def sinusoidal_pos_embedding(seq_len: int, embed_dim: int, device: Any = "cpu", dtype: Any = None) -> Tensor:
    """Sines, in the even columns, and cosines of the positions, with wavelengths from 2 pi to 20000 pi: (seq_len, embed_dim).

    Raises ValueError for lengths that are not positive.

    Source: Vaswani et al., "Attention is all you need", 2017.

    >>> F.sinusoidal_pos_embedding(2, 4)
    Tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]], requires_grad=False)
    """
    if seq_len <= 0 or embed_dim <= 0:
        raise ValueError("seq_len and embed_dim must be positive.")
    position = arange(seq_len, device=device, dtype=float64).unsqueeze(1)
    even = arange(0, embed_dim, 2, device=device, dtype=float64)
    angles = position * exp(even * (-math.log(1e4) / embed_dim))
    pairs = stack([angles.sin(), angles.cos()], -1).flatten(1)
    return pairs[:, :embed_dim].to(dtype or get_default_dtype())


def rotations(positions: Tensor, embed_dim: int, interleaved: bool) -> tuple[Tensor, Tensor]:
    """The cosines and sines by which `rotary_pos_embedding` turns pairs of elements at `positions`, in float64.

    Raises ValueError for an odd number of elements.

    >>> from lucid.nn.extras.functional import rotations
    >>> cos, sin = rotations(lucid.arange(2), 2, interleaved=True)
    >>> cos
    Tensor([[1.0000, 1.0000],
            [0.5403, 0.5403]], dtype=float64, requires_grad=False)
    """
    if embed_dim % 2:
        raise ValueError(f"Expected even input embedding dimension, got '{embed_dim}'.")
    pair = arange(embed_dim // 2, device=positions.device, dtype=float64)
    angles = positions.to(float64).unsqueeze(-1) * exp(pair * (-2 * math.log(1e4) / embed_dim))
    angles = angles.repeat_interleave(2, -1) if interleaved else cat([angles, angles], -1)
    return angles.cos(), angles.sin()


def rotary_pos_embedding(input_: Tensor, position_ids: Tensor | None = None, interleaved: bool = True) -> Tensor:
    """`input_` (..., L, E) with pairs of elements turned by angles that grow with the position, in the dtype of `input_`.

    Pairs are neighbours, or the halves of the row where not `interleaved`. `position_ids` (L,) are the positions, by default in
    order. Raises ValueError for an odd E and for other positions.

    Source: Su et al., "RoFormer", 2021.

    >>> F.rotary_pos_embedding(lucid.tensor([[1.0, 0.0], [1.0, 0.0]]))
    Tensor([[1.0000, 0.0000],
            [0.5403, 0.8415]], requires_grad=False)
    """
    if position_ids is None:
        position_ids = arange(input_.shape[-2], device=input_.device)
    elif position_ids.shape != input_.shape[-2:-1]:
        raise ValueError("position_ids must be 1-D with length equal to input_.shape[-2].")
    return turned(input_, *rotations(position_ids.to(input_.device), input_.shape[-1], interleaved), interleaved)


def turned(input_: Tensor, cos: Tensor, sin: Tensor, interleaved: bool) -> Tensor:
    """Pairs of elements of `input_` turned by the angles with these cosines and sines.

    >>> from lucid.nn.extras.functional import rotations, turned
    >>> cos, sin = rotations(lucid.arange(2), 2, interleaved=True)
    >>> turned(lucid.tensor([[1.0, 0.0], [1.0, 0.0]]), cos.float(), sin.float(), interleaved=True)
    Tensor([[1.0000, 0.0000],
            [0.5403, 0.8415]], requires_grad=False)
    """
    x = input_.to(float64)
    if interleaved:
        partners = stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)
    else:
        first, second = x.chunk(2, -1)
        partners = cat([-second, first], -1)
    return (x * cos + partners * sin).to(input_.dtype)


def rotate(input_: Tensor, angle: float, center: tuple[float, float] | None = None) -> Tensor:
    """Pictures (N, C, H, W) turned by `angle` degrees around `center` (x, y), by default (W / 2, H / 2).

    Each place takes the element at the place that is turned there, whose coordinates are rounded down; beyond the edge it is that
    at the edge.

    >>> F.rotate(lucid.arange(9.0).view(1, 1, 3, 3), 90.0, center=(1.0, 1.0))
    Tensor([[[[6.0, 3.0, 0.0],
              [7.0, 4.0, 1.0],
              [8.0, 5.0, 2.0]]]], requires_grad=False)
    """
    height, width = input_.shape[-2:]
    x0, y0 = (width / 2, height / 2) if center is None else center
    cos, sin = math.cos(math.radians(-angle)), math.sin(math.radians(-angle))
    y, x = meshgrid(arange(float(height), dtype=float64, device=input_.device) - y0,
                          arange(float(width), dtype=float64, device=input_.device) - x0, indexing="ij")
    rounding = 1e-9 * (height + width)  # what is whole but for rounding is not one less
    column = (x * cos - y * sin + x0 + rounding).clip(0, width - 1).to(int64)
    row = (x * sin + y * cos + y0 + rounding).clip(0, height - 1).to(int64)
    return input_[..., row, column]
