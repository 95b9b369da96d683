"""Patterns for shapes, in the language of einops (Rogozhnikov, ICLR 2022, https://einops.rocks/).

A pattern such as ``'b (h p) w -> b h (p w)'`` names the axes before and after. Parentheses compose axes, the leftmost the
slowest; ``...`` stands for any number of axes; ``1`` and ``()`` are axes of length 1; other integers are axes without a name.

`patterns`: what a pattern says.
`transforms`: `rearrange`, `reduce` and `repeat`.
`contraction`: `einsum`.
`packing`: `pack` and `unpack`.
`shapes`: `parse_shape` and `asnumpy`.
`layers`: `Rearrange`, `Reduce` and `EinMix`.
`backend`: what the package einops knows of lucid.

>>> from lucid.einops import rearrange
>>> rearrange(lucid.arange(6), "(h w) -> w h", h=2)
Tensor([[0, 3],
        [1, 4],
        [2, 5]], requires_grad=False)
"""
from __future__ import annotations

from . import layers
from .contraction import einsum
from .packing import pack, unpack
from .patterns import EinopsError
from .shapes import asnumpy, parse_shape
from .transforms import rearrange, reduce, repeat

__all__ = ["EinopsError", "asnumpy", "einsum", "layers", "pack", "parse_shape", "rearrange", "reduce", "repeat", "unpack"]
